"""Segments of an index: rows that were added together, with their codes, ids, buckets and, if they are kept, numbers.

A segment never changes, but for the rows that are removed from it. Segments of similar sizes are merged, so that there
are few of them; what is found in them does not depend on how the rows are divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet import _core
from gcwsnet.data._batch import mark_canonical
from gcwsnet.neighbors._bands import Bands
from gcwsnet.neighbors._ids import Ids
from gcwsnet.neighbors._packing import Codes, PackedCodes

Buckets = tuple[NDArray[np.uint32], NDArray[np.uint32]]
"""Keys and rows, of the shape (bands, rows), sorted within each band by key and then by row."""
MERGED_ROWS = 1 << 20
"""How many rows of a band are merged at a time when an index is saved."""


class Segment:
    """Rows of an index.

    Parameters
    ----------
    codes : array of unsigned integers, shape (n, columns)
        Codes as `packing` holds them.
    packing : PackedCodes
    ids : Ids
    rows : float array, CSR array or None
        The rows themselves, if they are kept.
    buckets : Buckets or None
        None if they are not built yet, or if the index has no bands.
    mapped : bool
        Whether the arrays are memory maps of files. Such a segment is merged only when the index is saved.
    """

    def __init__(
        self,
        codes: Codes,
        packing: PackedCodes,
        ids: Ids,
        rows: Any = None,
        buckets: Buckets | None = None,
        *,
        mapped: bool = False,
    ) -> None:
        self.codes, self.packing, self.ids, self.rows, self.mapped = codes, packing, ids, rows, mapped
        self._buckets = buckets
        self.live: NDArray[np.uint8] | None = None

    @property
    def n_rows(self) -> int:
        """The rows, with those that were removed."""
        return len(self.codes)

    @property
    def n_live(self) -> int:
        """The rows that were not removed."""
        return self.n_rows if self.live is None else int(self.live.sum())

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        arrays = [self.codes, *(self._buckets or ())]
        if sparse.issparse(self.rows):
            arrays += [self.rows.data, self.rows.indices, self.rows.indptr]
        elif self.rows is not None:
            arrays.append(self.rows)
        return sum(one.nbytes for one in arrays) + self.ids.nbytes

    def nbytes_with(self, bands: Bands | None) -> int:
        """Return the bytes of all arrays once the buckets are built."""
        return self.nbytes + (8 * bands.n_bands * self.n_rows if bands is not None and self._buckets is None else 0)

    def buckets(self, bands: Bands, threads: int) -> Buckets:
        """Return the buckets, and build them first if that was not done yet."""
        if self._buckets is None:
            shape = (bands.n_bands, self.n_rows)
            keys, rows = np.empty(shape, np.uint32), np.empty(shape, np.uint32)
            _core.build_buckets(self.codes, *self.packing, bands.width, keys, rows, threads)
            self._buckets = keys, rows
        return self._buckets

    def remove(self, rows: NDArray[np.int64]) -> None:
        """Mark rows as removed."""
        live = np.ones(self.n_rows, np.uint8) if self.live is None else self.live.copy()
        live[rows] = 0
        self.live = live

    def copy(self) -> Segment:
        """Return a segment with the same arrays, from which rows can be removed without removing them here."""
        same = Segment(self.codes, self.packing, self.ids, self.rows, self._buckets, mapped=self.mapped)
        same.live = self.live
        return same

    def compacted(self) -> Segment:
        """Return the segment without the rows that were removed."""
        if self.live is None:
            return self
        live = self.live.astype(bool)
        buckets = None
        if self._buckets is not None:
            n_bands, n_live = len(self._buckets[0]), self.n_live
            number = (np.cumsum(self.live) - 1).astype(np.uint32)
            keep = live[self._buckets[1]]
            buckets = (
                self._buckets[0][keep].reshape(n_bands, n_live),
                number[self._buckets[1][keep]].reshape(n_bands, n_live),
            )
        rows = None if self.rows is None else rows_where(self.rows, live)
        return Segment(self.codes[live], self.packing, self.ids.kept(live), rows, buckets)


def signs(rows: Any) -> Any:
    """Return rows as sets: 1 for a number above 0, -1 for one below, in float32."""
    if not sparse.issparse(rows):
        return np.sign(rows).astype(np.float32)
    data = np.sign(rows.data).astype(np.float32)
    return mark_canonical(sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape))


def rows_where(rows: Any, chosen: NDArray[Any]) -> Any:
    """Return some of the kept rows, by a mask or by their numbers."""
    found = rows[chosen]
    return mark_canonical(found) if sparse.issparse(found) else found


def in_form_of(rows: Any, model: Any) -> Any:
    """Return rows as CSR if `model` is, else dense."""
    if sparse.issparse(rows) == sparse.issparse(model):
        return rows
    return rows.toarray() if sparse.issparse(rows) else mark_canonical(sparse.csr_array(rows))


def join_rows(parts: Sequence[Any]) -> Any:
    """Return kept rows, all dense or all CSR, one after the other, in a type that holds all of them."""
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    if sparse.issparse(parts[0]):
        return mark_canonical(sparse.csr_array(sparse.vstack(parts, format="csr")))
    return np.concatenate(parts)


def merge(a: Segment, b: Segment, bands: Bands | None, threads: int) -> Segment:
    """Return one segment with the rows of two, without those that were removed.

    If the buckets of both are built, they are merged. That gives the buckets that would be built of all rows.
    """
    a, b = a.compacted(), b.compacted()
    codes, ids = np.concatenate([a.codes, b.codes]), Ids.joined([a.ids, b.ids])
    merged = Segment(codes, a.packing, ids, join_rows([a.rows, b.rows]))
    if bands is not None and a._buckets is not None and b._buckets is not None:
        merged._buckets = merge_buckets(a._buckets, b._buckets, a.n_rows, threads)
    return merged


def merge_buckets(a: Buckets, b: Buckets, shift: int, threads: int) -> Buckets:
    """Return the buckets of the rows of `a` and of those of `b`, whose numbers grow by `shift`.

    Both may be parts of buckets that have all keys of the same range.
    """
    shape = (a[0].shape[0], a[0].shape[1] + b[0].shape[1])
    keys, rows = np.empty(shape, np.uint32), np.empty(shape, np.uint32)
    _core.merge_buckets(*a, *b, shift, keys, rows, threads)
    return keys, rows


def merged_buckets(segments: Sequence[Segment], bands: Bands, threads: int) -> Iterator[Buckets]:
    """Yield the buckets of all rows, band by band and some `MERGED_ROWS` rows at a time, of the shape (1, rows).

    Keys are nearly uniform, so that a part is what a range of keys has. The segments have no removed rows.
    """
    starts = firsts(segments)
    edges = np.linspace(0, 2**32, 1 + max(1, int(starts[-1]) // MERGED_ROWS)).astype(np.uint64)
    for band in range(bands.n_bands):
        places = [np.searchsorted(one.buckets(bands, threads)[0][band], edges) for one in segments]
        for part in range(len(edges) - 1):
            merged: Buckets | None = None
            for segment, place, first in zip(segments, places, starts.tolist(), strict=False):
                keys, rows = segment.buckets(bands, threads)
                here = slice(band, band + 1), slice(place[part], place[part + 1])
                one = keys[here], rows[here]
                merged = one if merged is None else merge_buckets(merged, one, first, threads)
            if merged is not None:
                yield merged


def append(segments: list[Segment], new: Segment, bands: Bands | None, threads: int) -> None:
    """Append a segment, and merge the last ones while one is not twice as large as the next.

    So each row is merged a number of times that grows with the logarithm of their number only.
    """
    segments.append(new)
    while len(segments) > 1 and not segments[-2].mapped and segments[-2].n_rows < 2 * segments[-1].n_rows:
        last = segments.pop()
        segments[-1] = merge(segments[-1], last, bands, threads)


def firsts(segments: Sequence[Segment]) -> NDArray[np.int64]:
    """Return the number of the first row of each segment, and the number of all rows at the end."""
    return np.cumsum([0, *(one.n_rows for one in segments)])
