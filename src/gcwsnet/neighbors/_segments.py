"""The ids of rows: whole numbers, or texts held as their bytes one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet import _core
from gcwsnet.neighbors._settings import Bands, Codes, PackedCodes
from gcwsnet.tables._batch import mark_canonical

FNV_BASIS = 0xCBF29CE484222325

RULE = "ids must be whole numbers below 2**63 in size or texts, all of one kind"

NO_BYTES, NO_TEXTS = np.zeros(0, np.uint8), np.zeros(1, np.int64)


class Ids:
    """Ids of one kind, immutable.

    Attributes
    ----------
    numbers : int64 array or None
        The ids, if they are numbers.
    content, ends : uint8 array and int64 array
        The UTF-8 bytes of texts, and where each begins and ends: text i is ``content[ends[i]:ends[i + 1]]``.
    """

    def __init__(
        self,
        numbers: NDArray[np.int64] | None,
        content: NDArray[np.uint8] = NO_BYTES,
        ends: NDArray[np.int64] = NO_TEXTS,
    ) -> None:
        self.numbers, self.content, self.ends = numbers, content, ends
        self._by_key: tuple[NDArray[np.uint64], NDArray[np.intp]] | None = None

    @classmethod
    def checked(cls, ids: Any, n_rows: int) -> Ids:
        """Return the ids that a user gave for `n_rows` rows, which must all differ."""
        given = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        if len(given) != n_rows:
            raise ValueError(f"there must be one id for each row, got {len(given)} ids for {n_rows} rows")
        if all(isinstance(one, str) for one in given) and given:
            made = cls.of_texts(given)
        else:
            made = cls(_whole_numbers(given))
        keys = made.keys()
        if len(np.unique(keys)) < len(keys) and len(set(given)) < len(given):
            seen: set[Any] = set()
            twice = next(one for one in given if one in seen or seen.add(one))  # type: ignore[func-returns-value]
            raise ValueError(f"ids must differ, and {twice!r} occurs twice in the rows that are added; remove one")
        return made

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Ids:
        """Return texts as ids."""
        parts = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return cls(None, np.frombuffer(b"".join(parts), np.uint8), ends)

    @classmethod
    def joined(cls, parts: Sequence[Ids]) -> Ids:
        """Return the ids of several parts, one after the other. Parts without ids may be of any kind."""
        parts = [one for one in parts if len(one)] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        if any(one.is_text != parts[0].is_text for one in parts):
            raise ValueError(f"{RULE}, and some of them are numbers and some are texts")
        numbers = [one.numbers for one in parts if one.numbers is not None]
        if numbers:
            return cls(np.concatenate(numbers))
        ends, last = [np.zeros(1, np.int64)], 0
        for one in parts:
            ends.append(one.ends[1:] + last)
            last = int(ends[-1][-1])
        return cls(None, np.concatenate([one.content for one in parts]), np.concatenate(ends))

    @property
    def is_text(self) -> bool:
        """Whether the ids are texts."""
        return self.numbers is None

    def __len__(self) -> int:
        return len(self.ends) - 1 if self.numbers is None else len(self.numbers)

    @property
    def nbytes(self) -> int:
        """The bytes that the ids take."""
        return self.content.nbytes + self.ends.nbytes if self.numbers is None else self.numbers.nbytes

    @cached_property
    def largest(self) -> int:
        """The largest id that is a number, -1 if there is none."""
        return -1 if self.numbers is None or len(self) == 0 else int(self.numbers.max())

    def take(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of rows: an int64 array, or an array of str objects."""
        if self.numbers is not None:
            return np.asarray(self.numbers[rows])
        rows = np.asarray(rows)
        found = np.empty(rows.size, dtype=object)
        for i, row in enumerate(rows.ravel().tolist()):
            found[i] = self._text(row)
        return found.reshape(rows.shape)

    def _text(self, row: int) -> str:
        content = self.content[self.ends[row] : self.ends[row + 1]]
        return content.tobytes().decode("utf-8", "surrogatepass")

    def kept(self, live: NDArray[np.bool_]) -> Ids:
        """Return the ids of some rows."""
        if self.numbers is not None:
            return Ids(self.numbers[live])
        lengths = np.diff(self.ends)
        content = self.content[np.repeat(live, lengths)]
        return Ids(None, content, np.append(0, np.cumsum(lengths[live])).astype(np.int64))

    def keys(self) -> NDArray[np.uint64]:
        """Return 64-bit keys: of numbers they are the numbers, of texts a hash."""
        if self.numbers is not None:
            return np.ascontiguousarray(self.numbers).view(np.uint64)
        keys = np.empty(len(self), np.uint64)
        _core.text_keys(self.content.tobytes(), np.ascontiguousarray(self.ends), FNV_BASIS, keys)
        return keys

    def find(self, wanted: Ids) -> NDArray[np.int64]:
        """Return the rows of other ids, -1 where an id is not there."""
        found = np.full(len(wanted), -1, np.int64)
        if len(self) == 0 or self.is_text != wanted.is_text:
            return found
        if self._by_key is None:
            keys = self.keys()
            order = np.argsort(keys, kind="stable")
            self._by_key = keys[order], order
        keys, order = self._by_key
        asked = wanted.keys()
        first, last = np.searchsorted(keys, asked, "left"), np.searchsorted(keys, asked, "right")
        there = np.flatnonzero(last > first)
        if not self.is_text:
            found[there] = order[first[there]]
            return found
        for i in there.tolist():  # texts of one key may differ
            rows = order[first[i] : last[i]].tolist()
            found[i] = next((row for row in rows if self._text(row) == wanted._text(i)), -1)
        return found


def _whole_numbers(given: list[Any]) -> NDArray[np.int64]:
    for one in given:
        if not isinstance(one, int | np.integer) or isinstance(one, bool) or not -(2**63) <= one < 2**63:
            raise TypeError(f"{RULE}, got {one!r} ({type(one).__name__})")
    return np.array(given, dtype=np.int64)


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
