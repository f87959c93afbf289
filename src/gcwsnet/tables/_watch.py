"""Versions of a preprocessing: columns of a stream that moved are brought back to where they were, others wake up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix, as_floats, rounded
from gcwsnet.tables._batch import canonical_csr
from gcwsnet.tables._scaling import CONSTANT, UNSEEN, ColumnScaling

BLOCK_ROWS, SETTLED_BLOCKS = 32, 8

"""Columns are looked at in blocks of 32 rows; a version is corrected once, by the 8 blocks after it."""

MOVED, MOVED_FAR = 8.0, 64.0

"""A column has moved if its interquartile range is 8 times as large or its median is 8 ranges away in two blocks that
are alike, or 64 times and 64 ranges in one block."""

ALIKE = 2.0

"""Two blocks are alike if their interquartile ranges differ by a factor of at most 2."""

SMALLEST, LARGEST = np.finfo(np.float64).tiny, np.finfo(np.float64).max

"""The factors that a column can be multiplied by."""

BLOCKS_OF_SHRINKING = 16

"""A column has shrunk if all numbers of 16 blocks lie 8 times as close: rows that follow each other are often alike."""

NAMES = ("shift", "factor", "place", "awake", "mean", "deviation")

Floats = NDArray[np.float64]

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class ColumnVersion:
    """A version of a preprocessing: what is done to columns before it, and to those that it drops.

    Of the rows of a table it is for the columns of numbers. Sparse columns are multiplied alone: `shift`, `place` and
    `mean` are 0.

    Attributes
    ----------
    number : int
        0 is the preprocessing as it was learned.
    shift, factor : arrays of float64, shape (D,)
        A column x is (x - shift) * factor + place before it is preprocessed.
    place : array of float64, shape (D,)
    awake : array of bool, shape (D,)
        Columns that were constant when the preprocessing was learned, and are not any more. They are
        (x - mean) / deviation after preprocessing.
    mean, deviation : arrays of float64, shape (D,)
    """

    number: int
    shift: Floats
    factor: Floats
    place: Floats
    awake: NDArray[np.bool_]
    mean: Floats
    deviation: Floats

    @classmethod
    def first(cls, n_columns: int) -> ColumnVersion:
        """Return the version that changes nothing."""
        zero, one = np.zeros(n_columns), np.ones(n_columns)
        return cls(0, zero, one, zero, np.zeros(n_columns, dtype=bool), zero, one)

    def align(self, X: Matrix) -> Matrix:
        """Return rows with columns brought back to where they were; those that did not move keep their bits."""
        columns, shift, factor, place = self._moved
        if not len(columns):
            return X
        out = as_floats(X).copy()
        if sparse.issparse(out):
            with np.errstate(over="ignore"):
                out.data = rounded(out.data * self.factor[out.indices], out.dtype)
            return out
        with np.errstate(over="ignore", invalid="ignore"):
            out[:, columns] = rounded((out[:, columns] - shift) * factor + place, out.dtype)
        return out

    @cached_property
    def _moved(self) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
        """The columns that moved, with their shift, factor and place."""
        columns = np.flatnonzero(self.factor != 1)
        return columns, self.shift[columns], self.factor[columns], self.place[columns]

    def wake(self, X: Matrix, preprocessed: Matrix) -> Matrix:
        """Return preprocessed rows with the columns that woke up."""
        columns, mean, deviation = self._woken
        if not len(columns):
            return preprocessed
        out = as_floats(preprocessed).copy()
        if sparse.issparse(out):  # with all entries of X, row by row, and perhaps others behind them
            entries = self.awake[X.indices]
            mine = out.indices < X.shape[1]
            mine[mine] = self.awake[out.indices[mine]]
            out.data[mine] = rounded(X.data[entries] / self.deviation[X.indices[entries]], out.dtype)
            return out
        with np.errstate(over="ignore"):
            scaled = (X[:, columns] - mean) / deviation
        out[:, columns] = rounded(scaled, out.dtype)
        return out

    @cached_property
    def _woken(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        """The columns that woke up, with their mean and deviation."""
        columns = np.flatnonzero(self.awake)
        return columns, self.mean[columns], self.deviation[columns]

    def state(self) -> tuple[Arrays, int]:
        """Return the arrays, and the number."""
        arrays: Arrays = {f"version.{name}": getattr(self, name) for name in NAMES}
        return arrays | {"version.awake": self.awake.astype(np.uint8)}, self.number

    @classmethod
    def from_state(cls, arrays: Arrays, number: int) -> ColumnVersion:
        """Return the version whose state this is."""
        own: dict[str, Any] = {name: arrays[f"version.{name}"] for name in NAMES}
        return cls(number, **own | {"awake": own["awake"].astype(bool)})


@dataclass
class ColumnWatch:
    """What is watched of the columns of a stream, to notice when a new version is due.

    Attributes
    ----------
    constant : array of bool, shape (D,)
        The columns that are dropped as constant, with their numbers `value`.
    value : array of float64, shape (D,)
    learned, now : arrays of float64, shape (2, D)
        Medians and interquartile ranges: of the rows that the preprocessing was learned from, and of the rows that the
        present version is for. A range of 0 is not followed.
    latest : list of arrays of float64, shape (2, D)
        Those of the latest blocks, at most 16.
    parts : list of arrays
        The rows of the block that is not full yet.
    settling : list of arrays
        The blocks since the last version.
    unsettled : array of bool, shape (D,)
        The columns that the last version changed, which are corrected once.
    blocks_to_settle : int
        The blocks until then.
    """

    constant: NDArray[np.bool_]
    value: Floats
    learned: Floats
    now: Floats
    latest: list[Floats] = field(default_factory=list)
    parts: list[NDArray[Any]] = field(default_factory=list)
    settling: list[NDArray[Any]] = field(default_factory=list)
    unsettled: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    blocks_to_settle: int = 0

    @classmethod
    def of(cls, X: NDArray[Any], constant: NDArray[np.bool_]) -> ColumnWatch:
        """Return the watch of columns that a preprocessing was learned from, of which it drops the constant ones."""
        learned = _median_and_range(X)
        value = np.where(constant & ~np.isnan(X[0]), X[0], 0.0).astype(np.float64)
        return cls(constant, value, learned, learned.copy(), unsettled=np.zeros(len(constant), dtype=bool))

    def is_full_with(self, X: NDArray[Any]) -> bool:
        """Return whether a block is full with more rows, of which a copy is kept; then it is time to look at it."""
        self.parts.append(X.astype(np.float64))
        return sum(map(len, self.parts)) >= BLOCK_ROWS

    def look(self, version: ColumnVersion) -> ColumnVersion | None:
        """Look at blocks that are full; return a new version if one is due."""
        rows = np.concatenate(self.parts)
        full = len(rows) // BLOCK_ROWS * BLOCK_ROWS
        self.parts = [rows[full:]] if full < len(rows) else []
        made = None
        for first in range(0, full, BLOCK_ROWS):
            latest = self._look(rows[first : first + BLOCK_ROWS], version if made is None else made)
            made = made if latest is None else latest
        return made

    def _look(self, block: Floats, version: ColumnVersion) -> ColumnVersion | None:
        found = _median_and_range(block)
        moved = _moved(self.now, found, MOVED_FAR)
        if self.latest:
            before = self.latest[-1]
            moved |= _moved(self.now, found, MOVED) & _moved(self.now, before, MOVED) & _alike(before, found)
        self.latest = [*self.latest[1 - BLOCKS_OF_SHRINKING :], found]
        moved |= self._shrunk()
        waking = self.constant & ~version.awake & ((block != self.value) & ~np.isnan(block)).any(axis=0)
        made = self._aligned(version, moved, found) if moved.any() else version
        made = _awake(made, waking, block) if waking.any() else made
        if made is not version:
            self.unsettled = self.unsettled | moved | waking if self.blocks_to_settle else moved | waking
            self.blocks_to_settle, self.settling = SETTLED_BLOCKS, []
            return made
        if self.blocks_to_settle:
            self.settling.append(block)
            self.blocks_to_settle -= 1
            if not self.blocks_to_settle:
                rows, self.settling = np.concatenate(self.settling), []
                return self._corrected(rows, version)
        return None

    def _shrunk(self) -> NDArray[np.bool_]:
        if len(self.latest) < BLOCKS_OF_SHRINKING:
            return np.zeros(len(self.constant), dtype=bool)
        medians, ranges = np.stack(self.latest, axis=1)
        with np.errstate(over="ignore"):
            spread = medians.max(axis=0) - medians.min(axis=0) + ranges.max(axis=0)
            return (ranges[-1] > 0) & (self.now[1] > 0) & (MOVED * spread < self.now[1])

    def _corrected(self, rows: Floats, version: ColumnVersion) -> ColumnVersion:
        found = _median_and_range(rows)
        made = self._aligned(version, self.unsettled & ~version.awake & (found[1] > 0), found)
        return _awake(made, self.unsettled & version.awake, rows)

    def _aligned(self, version: ColumnVersion, moved: NDArray[np.bool_], found: Floats) -> ColumnVersion:
        self.now = np.where(moved, found, self.now)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            factor = np.where(moved, np.clip(self.learned[1] / found[1], SMALLEST, LARGEST), version.factor)
        return replace(
            version,
            number=version.number + 1,
            shift=np.where(moved, found[0], version.shift),
            factor=np.where(moved & (factor == 1), np.nextafter(1.0, 2.0), factor),
            place=np.where(moved, self.learned[0], version.place),
        )

    def state(self) -> tuple[Arrays, int]:
        """Return the arrays, with the rows of unfinished blocks, and the number of blocks to settle."""
        arrays: Arrays = {"constant": self.constant.astype(np.uint8), "value": self.value, "learned": self.learned}
        arrays |= {"now": self.now, "unsettled": self.unsettled.astype(np.uint8)}
        for name, parts in (("parts", self.parts), ("settling", self.settling), ("latest", self.latest)):
            arrays |= {name: np.concatenate(parts).astype(np.float64)} if parts else {}
        return {f"watch.{name}": value for name, value in arrays.items()}, self.blocks_to_settle

    @classmethod
    def from_state(cls, arrays: Arrays, blocks_to_settle: int) -> ColumnWatch:
        """Return the watch whose state this is."""
        own = {name.removeprefix("watch."): value for name, value in arrays.items() if name.startswith("watch.")}
        kept = {name: [own[name]] if name in own else [] for name in ("parts", "settling")}
        latest = list(own["latest"].reshape(-1, *own["now"].shape)) if "latest" in own else []
        return cls(
            own["constant"].astype(bool),
            own["value"],
            own["learned"],
            own["now"],
            latest,
            **kept,
            unsettled=own["unsettled"].astype(bool),
            blocks_to_settle=blocks_to_settle,
        )


def _median_and_range(X: NDArray[Any]) -> Floats:
    """Return medians and interquartile ranges of columns; NaN where a number is missing or a range is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        lower, middle, upper = np.percentile(X.astype(np.float64), [25, 50, 75], axis=0)
        found = np.stack([middle, upper - lower])
    return np.where(np.isfinite(found).all(axis=0), found, np.nan)


def _moved(now: Floats, found: Floats, limit: float) -> NDArray[np.bool_]:
    live = (now[1] > 0) & (found[1] > 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = np.abs(found[0] - now[0]) > limit * np.maximum(found[1], now[1])
        return live & ((found[1] > limit * now[1]) | far)


def _alike(one: Floats, other: Floats) -> NDArray[np.bool_]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = one[1] / other[1]
    return (ratio <= ALIKE) & (ratio >= 1 / ALIKE)


def _awake(version: ColumnVersion, columns: NDArray[np.bool_], rows: Floats) -> ColumnVersion:
    """Return a version in which columns are awake, standardised as these rows are; 0 and 1 stay as they are.

    Columns are divided by a power of two near their largest absolute value, so that no square overflows.
    """
    known = ~np.isnan(rows)
    exponent = np.frexp(np.where(known, np.abs(rows), 0.0).max(axis=0))[1]
    scaled, n = np.ldexp(rows, -exponent), np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, scaled, 0.0).sum(axis=0) / n
    deviation = np.sqrt((np.where(known, scaled - mean, 0.0) ** 2).sum(axis=0) / n)
    mean, deviation = np.ldexp(mean, exponent), np.ldexp(deviation, exponent)
    binary = ((rows == 0) | (rows == 1) | ~known).all(axis=0)
    mean, deviation = np.where(binary, 0.0, mean), np.where(binary | (deviation == 0), 1.0, deviation)
    return replace(
        version,
        number=version.number + 1,
        awake=version.awake | columns,
        mean=np.where(columns, mean, version.mean),
        deviation=np.where(columns, deviation, version.deviation),
    )


ENTRIES = 16

"""A column is judged by the mean size of its latest entries, once there are 16 of them."""

SPARSE_MOVED, SPARSE_MOVED_FAR, SPARSE_ALIKE = 3.0, 6.0, 1.0

"""In powers of two, as for dense columns: 8 times as large twice in a row and alike, or 64 times as large."""

TIMES_LARGER, TIMES_SMALLER = 2, 16

"""How often in a row entries must be 8 times as large or small: rows that follow each other are often alike."""

MIN_EXPONENT, MAX_EXPONENT = -1022, 1023

"""The powers of two that a column can be multiplied by."""

SPARSE_NAMES = ("constant", "value", "learned", "now", "unseen", "total", "count", "before", "run")


def size(numbers: NDArray[Any]) -> Floats:
    """Return the logarithm to base 2 of the absolute values of numbers, linear between powers of two.

    It is computed from the bits of the numbers, so that it is the same on every machine.

    Examples
    --------
    >>> size(np.array([1.0, -8.0, 12.0]))
    array([0. , 3. , 3.5])
    """
    mantissa, exponent = np.frexp(np.abs(numbers.astype(np.float64)))
    return exponent + 2 * mantissa - 2


@dataclass
class SparseWatch:
    """What is watched of the columns of a sparse stream, to notice when a new version is due.

    Zeros say nothing about the unit of a column, so entries alone are looked at. A column of 0 and 1 never moves.

    Attributes
    ----------
    constant : array of bool, shape (D,)
        The columns that are dropped, as all rows had the same entry `value`.
    value : array of float64, shape (D,)
    learned, now : arrays of float64, shape (D,)
        The mean size of entries: of those that the preprocessing was learned from, and of those that the present
        version is for. Columns without entries are to be as large as others are, once they are scaled.
    unseen : array of bool, shape (D,)
        The columns without entries so far; the first 16 decide.
    total, count : arrays, shape (D,)
        The sum of the sizes of the entries since a column was judged, and their number.
    before : array of float64, shape (D,)
        The mean size when a column was judged last.
    run : array of int64, shape (D,)
        How often in a row it was larger (above 0) or smaller (below 0) than `now`.
    parts : list of CSR
        The rows of the block that is not full yet.
    """

    constant: NDArray[np.bool_]
    value: Floats
    learned: Floats
    now: Floats
    unseen: NDArray[np.bool_]
    total: Floats
    count: NDArray[np.int64]
    before: Floats
    run: NDArray[np.int64]
    parts: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, X: Any, scaling: ColumnScaling) -> SparseWatch:
        """Return the watch of columns that a scaling was learned from."""
        n_columns = X.shape[1]
        columns, sizes = _entries(X)
        count = np.bincount(columns, minlength=n_columns)
        learned = np.bincount(columns, sizes, n_columns) / np.maximum(count, 1)
        seen = (count > 0) & np.isfinite(scaling.divisor)
        typical = float(np.median(learned[seen] - size(scaling.divisor[seen]))) if seen.any() else 0.0
        unseen = (count == 0) & np.isfinite(scaling.divisor)
        learned[unseen] = typical + size(scaling.divisor[unseen])
        value = np.zeros(n_columns)
        known = ~np.isnan(X.data)
        value[X.indices[known]] = X.data[known]
        none = np.zeros(n_columns, dtype=np.int64)
        is_new = unseen & (scaling.kind == UNSEEN)
        return cls(
            scaling.kind == CONSTANT,
            value,
            learned,
            learned.copy(),
            is_new,
            np.zeros(n_columns),
            none,
            learned.copy(),
            none.copy(),
        )

    def is_full_with(self, X: Any) -> bool:
        """Return whether a block is full with more rows, of which a copy is kept; then it is time to look at it."""
        self.parts.append(X.copy())
        return sum(part.shape[0] for part in self.parts) >= BLOCK_ROWS

    def look(self, version: ColumnVersion) -> ColumnVersion | None:
        """Look at blocks that are full; return a new version if one is due."""
        rows = sparse.vstack(self.parts, format="csr")
        full = rows.shape[0] // BLOCK_ROWS * BLOCK_ROWS
        self.parts = [rows[full:]] if full < rows.shape[0] else []
        made = version
        for first in range(0, full, BLOCK_ROWS):
            block = rows[first : first + BLOCK_ROWS]
            made = self._woken(block, self._followed(block, made))
        return None if made is version else made

    def _followed(self, block: Any, version: ColumnVersion) -> ColumnVersion:
        """Return a version that brings columns back whose entries have become larger or smaller."""
        columns, sizes = _entries(block)
        np.add.at(self.total, columns, sizes)
        np.add.at(self.count, columns, 1)
        columns = np.unique(columns)
        judged = columns[(self.count[columns] >= ENTRIES) & ~self.constant[columns]]
        mean = self.total[judged] / self.count[judged]
        self.total[judged], self.count[judged] = 0.0, 0
        above, run = mean - self.now[judged], self.run[judged]
        alike = np.abs(mean - self.before[judged]) <= SPARSE_ALIKE
        larger = np.where(above > SPARSE_MOVED, np.where(alike & (run > 0), run + 1, 1), 0)
        run = np.where(above < -SPARSE_MOVED, np.minimum(run, 0) - 1, larger)
        is_first = self.unseen[judged]
        moved = (
            (above > SPARSE_MOVED_FAR)
            | (run >= TIMES_LARGER)
            | (run <= -TIMES_SMALLER)
            | (is_first & (np.abs(above) > SPARSE_MOVED))
        )
        self.before[judged], self.run[judged], self.unseen[judged] = mean, np.where(moved, 0, run), False
        if not moved.any():
            return version
        columns = judged[moved]
        self.now[columns] = mean[moved]
        factor = version.factor.copy()
        power = np.clip(np.rint(self.learned[columns] - mean[moved]), MIN_EXPONENT, MAX_EXPONENT)
        factor[columns] = np.ldexp(1.0, power.astype(np.int32))
        return replace(version, number=version.number + 1, factor=factor)

    def _woken(self, block: Any, version: ColumnVersion) -> ColumnVersion:
        """Return a version in which columns are awake that had the same entry in all rows, and have not any more."""
        asleep = self._dropped[~version.awake[self._dropped]]
        if not len(asleep):
            return version
        same = self.constant[block.indices] & ~version.awake[block.indices]
        same &= (block.data == self.value[block.indices]) | np.isnan(block.data)
        times = np.bincount(np.searchsorted(asleep, block.indices[same]), minlength=len(asleep))
        waking = asleep[times < block.shape[0]]
        if not len(waking):
            return version
        awake, deviation = version.awake.copy(), version.deviation.copy()
        awake[waking], deviation[waking] = True, np.abs(self.value[waking])
        return replace(version, number=version.number + 1, awake=awake, deviation=deviation)

    @cached_property
    def _dropped(self) -> NDArray[np.int64]:
        """The columns that are constant: few of very many."""
        return np.flatnonzero(self.constant)

    def state(self) -> tuple[Arrays, int]:
        """Return the arrays, with the rows of the unfinished block, and 0: nothing is corrected later."""
        arrays: Arrays = {name: getattr(self, name) for name in SPARSE_NAMES}
        arrays |= {name: arrays[name].astype(np.uint8) for name in ("constant", "unseen")}
        if self.parts:
            rows = sparse.vstack(self.parts, format="csr")
            arrays |= {"data": rows.data.astype(np.float64), "indices": rows.indices.astype(np.int64)}
            arrays["indptr"] = rows.indptr.astype(np.int64)
        return {f"watch.{name}": value for name, value in arrays.items()}, 0

    @classmethod
    def from_state(cls, arrays: Arrays) -> SparseWatch:
        """Return the watch whose state this is."""
        own = {name.removeprefix("watch."): value for name, value in arrays.items() if name.startswith("watch.")}
        kept: dict[str, Any] = {name: own[name].copy() for name in SPARSE_NAMES}
        kept |= {name: own[name].astype(bool) for name in ("constant", "unseen")}
        parts = []
        if "indptr" in own:
            parts.append(canonical_csr(own["data"], own["indices"], own["indptr"], len(own["now"])))
        return cls(**kept, parts=parts)


def _entries(X: Any) -> tuple[NDArray[np.int64], Floats]:
    """Return the columns and the sizes of all entries that are finite and not zero."""
    entries = np.isfinite(X.data) & (X.data != 0)
    return X.indices[entries].astype(np.int64), size(X.data[entries])
