"""The rows of an index: their ids, and segments of codes, buckets and kept rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet import _core
from gcwsnet.neighbors._index_settings import Bands, IndexSettings
from gcwsnet.tables._batch import mark_canonical
from gcwsnet.tables._encode import FNV_BASIS

ONE_KIND = "ids must be whole numbers below 2**63 in size or texts, all of one kind"
MERGED_ROWS = 1 << 20  # of a band, when an index is saved

Buckets = tuple[NDArray[np.uint32], NDArray[np.uint32]]
"""Keys and rows, of the shape (bands, rows), sorted within each band by key and then by row."""


class Ids:
    """The ids of rows, immutable: whole numbers, or the UTF-8 bytes of texts one after the other.

    Text i is ``content[ends[i]:ends[i + 1]]``.
    """

    def __init__(self, numbers: NDArray[np.int64] | None, content: Any = (), ends: Any = (0,)) -> None:
        self.numbers, self.content, self.ends = numbers, np.asarray(content, np.uint8), np.asarray(ends, np.int64)
        self._by_key: tuple[NDArray[np.uint64], NDArray[np.intp]] | None = None

    @classmethod
    def checked(cls, ids: Any, n_rows: int) -> Ids:
        """Return the ids that a user gave for `n_rows` rows, which must all differ."""
        given = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        if len(given) != n_rows:
            raise ValueError(f"there must be one id for each row, got {len(given)} ids for {n_rows} rows")
        is_text = bool(given) and all(isinstance(one, str) for one in given)
        for one in () if is_text else given:
            if not isinstance(one, int | np.integer) or isinstance(one, bool) or not -(2**63) <= one < 2**63:
                raise TypeError(f"{ONE_KIND}, got {one!r} ({type(one).__name__})")
        if len(set(given)) < len(given):
            twice = next(one for one, n in Counter(given).items() if n > 1)
            raise ValueError(f"ids must differ, and {twice!r} occurs twice in the rows that are added; remove one")
        if not is_text:
            return cls(np.array(given, dtype=np.int64))
        texts = [text.encode("utf-8", "surrogatepass") for text in given]
        return cls(None, np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)]))

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

    def take(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of rows: an int64 array, or an array of str objects."""
        if self.numbers is not None:
            return np.asarray(self.numbers[rows])
        found = np.empty(len(rows), dtype=object)
        for i, row in enumerate(rows.tolist()):
            found[i] = self.content[self.ends[row] : self.ends[row + 1]].tobytes().decode("utf-8", "surrogatepass")
        return found

    def where(self, live: NDArray[np.bool_]) -> Ids:
        """Return the ids of some rows."""
        if self.numbers is not None:
            return Ids(self.numbers[live])
        lengths = np.diff(self.ends)
        return Ids(None, self.content[np.repeat(live, lengths)], np.append(0, np.cumsum(lengths[live])))

    def followed_by(self, others: Ids) -> Ids:
        """Return these ids and others of the same kind; where there are none, the kind does not matter."""
        if not len(self) or not len(others):
            return others if len(others) else self
        if self.numbers is not None:
            return Ids(np.concatenate([self.numbers, others.numbers]))
        content = np.concatenate([self.content, others.content])
        return Ids(None, content, np.concatenate([self.ends, others.ends[1:] + self.ends[-1]]))

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
        for i, text in zip(there.tolist(), wanted.take(there), strict=True):  # texts of one key may differ
            rows = order[first[i] : last[i]]
            found[i] = max(rows[self.take(rows) == text], default=-1)
        return found


@dataclass(eq=False)
class Segment:
    """Rows of an index. Nothing changes but the buckets, which are built when they are needed first."""

    settings: IndexSettings
    codes: NDArray[Any]  # as the packing of the settings holds them
    ids: Ids
    rows: Any = None  # if they are kept
    built: Buckets | None = None
    live: NDArray[np.uint8] | None = None  # 0 for rows that were removed
    mapped: bool = False  # the arrays are memory maps of a file; they are merged only when the index is saved

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
        arrays = [self.codes, *(self.built or ())]
        if sparse.issparse(self.rows):
            arrays += [self.rows.data, self.rows.indices, self.rows.indptr]
        elif self.rows is not None:
            arrays.append(self.rows)
        return sum(one.nbytes for one in arrays) + self.ids.nbytes

    def buckets(self, bands: Bands, threads: int) -> Buckets:
        """Return the buckets of the bands of the settings, and build them first if that was not done yet."""
        if self.built is None:
            keys, rows = np.empty((2, bands.n_bands, self.n_rows), np.uint32)
            _core.build_buckets(self.codes, *self.settings.packing, bands.width, keys, rows, threads)
            self.built = keys, rows
        return self.built

    def find(self, ids: Ids) -> NDArray[np.int64]:
        """Return the rows that have these ids and were not removed, -1 where there is none."""
        rows = self.ids.find(ids)
        if self.live is not None:
            rows[(rows >= 0) & (self.live[rows] == 0)] = -1
        return rows

    def without(self, rows: NDArray[np.int64]) -> Segment:
        """Return the segment with some rows marked as removed."""
        live = np.ones(self.n_rows, np.uint8) if self.live is None else self.live.copy()
        live[rows] = 0
        return replace(self, live=live)

    def compacted(self) -> Segment:
        """Return the segment without the rows that were removed."""
        if self.live is None:
            return self
        live, built = self.live.astype(bool), None
        if self.built is not None:
            keys, places = self.built
            shape, number = (len(places), self.n_live), (np.cumsum(live) - 1).astype(np.uint32)
            try:
                kept = live[places]
                built = keys[kept].reshape(shape), number[places[kept]].reshape(shape)
            except (IndexError, ValueError) as error:  # of files that were not verified
                raise ValueError("the buckets of this index are damaged; load it with verify=True") from error
        rows = None if self.rows is None else take_rows(self.rows, live)
        return Segment(self.settings, self.codes[live], self.ids.where(live), rows, built)

    def followed_by(self, other: Segment, threads: int) -> Segment:
        """Return one segment with the rows of both, without those that were removed."""
        a, b = self.compacted(), other.compacted()
        built = None if a.built is None or b.built is None else _merge_buckets(a.built, b.built, a.n_rows, threads)
        codes = np.concatenate([a.codes, b.codes])
        rows = None if a.rows is None else join_rows([a.rows, b.rows])
        return Segment(self.settings, codes, a.ids.followed_by(b.ids), rows, built)


@dataclass(frozen=True, eq=False)
class Store:
    """The rows of an index, in segments, immutable: what changes rows returns another store."""

    settings: IndexSettings
    segments: tuple[Segment, ...] = ()

    @property
    def n_live(self) -> int:
        """The rows that were not removed."""
        return sum(one.n_live for one in self.segments)

    def added(self, codes: NDArray[Any], ids: Ids, rows: Any, threads: int) -> Store:
        """Return the store with further rows, whose ids were checked."""
        return self._with(Segment(self.settings, self.settings.packing.pack(codes), ids, rows), threads)

    def _with(self, new: Segment, threads: int) -> Store:
        """Return the store with one more segment.

        The last ones are merged while one is not twice as large as the next: so each row is merged a number of times
        that grows with the logarithm of their number only.
        """
        segments = list(self.segments)
        if segments and new.rows is not None and sparse.issparse(new.rows) != sparse.issparse(segments[0].rows):
            dense = sparse.issparse(new.rows)
            new = replace(new, rows=new.rows.toarray() if dense else mark_canonical(sparse.csr_array(new.rows)))
        while segments and not segments[-1].mapped and segments[-1].n_rows < 2 * new.n_rows:
            new = segments.pop().followed_by(new, threads)
        return Store(self.settings, (*segments, new))

    def checked_ids(self, ids: Any, n_rows: int) -> Ids:
        """Return the ids of new rows; None goes on from the largest one."""
        if ids is None:
            first = self.next_id()
            if first + n_rows > 2**63:
                raise ValueError(f"ids must be below 2**63, and the largest one is {first - 1}; give ids")
            return Ids(np.arange(first, first + n_rows, dtype=np.int64))
        made = Ids.checked(ids, n_rows)
        self._refuse_known(made)
        return made

    def next_id(self) -> int:
        """Return the number after the largest id, which is 0 for an empty store."""
        if any(one.ids.is_text and one.n_live for one in self.segments):
            raise ValueError("the rows before have texts as ids, which cannot be continued; give ids")
        numbers = [one.ids.numbers for one in self.segments if one.n_rows]
        return 1 + max((int(one.max()) for one in numbers if one is not None), default=-1)

    def _refuse_known(self, ids: Ids) -> None:
        """Raise a ValueError if one of these ids is in the store, or if they are of another kind."""
        for segment in self.segments:
            if segment.n_live and len(ids) and segment.ids.is_text != ids.is_text:
                raise ValueError("ids must be all numbers or all texts, and those of the rows before are others")
            known = np.flatnonzero(segment.find(ids) >= 0)
            if len(known):
                twice = ids.take(known[:1]).tolist()[0]
                raise ValueError(f"ids must differ, and {twice!r} is in the index already; nothing was added")

    def removed(self, ids: Ids) -> Store:
        """Return the store without some rows; an unknown id is an error."""
        found = [segment.find(ids) for segment in self.segments]
        unknown = np.flatnonzero(np.max([np.full(len(ids), -1), *found], axis=0) < 0)
        if len(unknown):
            one = ids.take(unknown[:1]).tolist()[0]
            raise ValueError(f"ids must be those of rows of the index, and {one!r} is not; nothing was removed")
        pairs = zip(self.segments, found, strict=True)
        return Store(
            self.settings, tuple(one.without(rows[rows >= 0]) if any(rows >= 0) else one for one, rows in pairs)
        )

    def merged(self, other: Store, threads: int) -> Store:
        """Return the store with the rows of another one behind those of this one."""
        theirs = asdict(other.settings)
        for name, value in asdict(self.settings).items():
            if theirs[name] != value:
                raise ValueError(
                    f"indexes can be merged if their settings are the same, and these have {name}={value!r} and "
                    f"{name}={theirs[name]!r}; build one of them again"
                )
        for segment in other.segments:
            self._refuse_known(segment.compacted().ids)
        merged = self
        for segment in other.segments:
            merged = merged._with(segment, threads)
        return merged

    def starts(self) -> NDArray[np.int64]:
        """Return the number of the first row of each segment, and the number of all rows at the end."""
        return np.cumsum([0, *(one.n_rows for one in self.segments)])

    def live(self) -> NDArray[np.bool_] | None:
        """Return which rows were not removed, None if that is all of them."""
        if all(one.live is None for one in self.segments):
            return None
        parts = [np.ones(one.n_rows, np.uint8) if one.live is None else one.live for one in self.segments]
        return np.concatenate(parts).astype(bool)

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of rows, counted without those that were removed."""
        live = self.live()
        return numbers if live is None else (np.cumsum(live) - 1)[numbers]

    def ids_of(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids of rows."""
        found = np.empty(len(numbers), object if any(one.ids.is_text for one in self.segments) else np.int64)
        for segment, chosen, rows in self.by_segment(numbers):
            found[chosen] = segment.ids.take(rows)
        return found

    def by_segment(self, numbers: NDArray[np.int64]) -> Iterator[tuple[Segment, NDArray[np.intp], NDArray[np.int64]]]:
        """Yield each segment that has some of the rows, which of them, and their numbers in the segment."""
        if len(self.segments) == 1:
            yield self.segments[0], np.arange(len(numbers)), numbers
            return
        starts = self.starts()
        number = np.searchsorted(starts, numbers, side="right") - 1
        for i, segment in enumerate(self.segments):
            chosen = np.flatnonzero(number == i)
            if len(chosen):
                yield segment, chosen, numbers[chosen] - starts[i]

    def merged_buckets(self, bands: Bands, threads: int) -> Iterator[Buckets]:
        """Yield the buckets of all rows, band by band and some `MERGED_ROWS` rows at a time, of the shape (1, rows).

        Keys are nearly uniform, so that a part is what a range of keys has. No rows have been removed.
        """
        starts = self.starts()
        edges = np.linspace(0, 2**32, 1 + max(1, int(starts[-1]) // MERGED_ROWS)).astype(np.uint64)
        built = [one.buckets(bands, threads) for one in self.segments]
        for band in range(bands.n_bands):
            places = [np.searchsorted(keys[band], edges) for keys, _ in built]
            for part in range(len(edges) - 1):
                merged: Buckets | None = None
                for (keys, rows), place, first in zip(built, places, starts.tolist(), strict=False):
                    here = slice(band, band + 1), slice(place[part], place[part + 1])
                    one = keys[here], rows[here]
                    merged = one if merged is None else _merge_buckets(merged, one, first, threads)
                if merged is not None:
                    yield merged


def _merge_buckets(a: Buckets, b: Buckets, shift: int, threads: int) -> Buckets:
    """Return the buckets of the rows of `a` and of those of `b`, whose numbers grow by `shift`."""
    keys, rows = np.empty((2, a[0].shape[0], a[0].shape[1] + b[0].shape[1]), np.uint32)
    _core.merge_buckets(*a, *b, shift, keys, rows, threads)
    return keys, rows


def signs(rows: Any) -> Any:
    """Return rows as sets: 1 for a number above 0, -1 for one below, in float32."""
    if not sparse.issparse(rows):
        return np.sign(rows).astype(np.float32)
    data = np.sign(rows.data).astype(np.float32)
    return mark_canonical(sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape))


def take_rows(rows: Any, chosen: NDArray[Any]) -> Any:
    """Return some of the kept rows, by a mask or by their numbers."""
    found = rows[chosen]
    return mark_canonical(found) if sparse.issparse(found) else found


def join_rows(parts: Sequence[Any]) -> Any:
    """Return kept rows, all dense or all CSR, one after the other, in a type that holds all of them."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return mark_canonical(sparse.csr_array(sparse.vstack(parts, format="csr")))
    return np.concatenate(parts)
