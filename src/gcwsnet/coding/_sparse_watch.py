"""What is watched of the columns of sparse rows: the size of their entries, in memory that does not grow with rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet.coding._scaling import CONSTANT, UNSEEN, ColumnScaling
from gcwsnet.coding._version import BLOCK_ROWS, ColumnVersion
from gcwsnet.data._batch import canonical_csr

ENTRIES = 16
"""A column is judged by the mean size of its latest entries, once there are 16 of them."""
MOVED, MOVED_FAR, ALIKE = 3.0, 6.0, 1.0
"""In powers of two, as for dense columns: 8 times as large twice in a row and alike, or 64 times as large."""
TIMES_LARGER, TIMES_SMALLER = 2, 16
"""How often in a row entries must be 8 times as large or small: rows that follow each other are often alike."""
SMALLEST, LARGEST = -1022, 1023
"""The powers of two that a column can be multiplied by."""
NAMES = ("constant", "value", "learned", "now", "unseen", "total", "count", "before", "run")

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


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
        alike = np.abs(mean - self.before[judged]) <= ALIKE
        larger = np.where(above > MOVED, np.where(alike & (run > 0), run + 1, 1), 0)
        run = np.where(above < -MOVED, np.minimum(run, 0) - 1, larger)
        is_first = self.unseen[judged]
        moved = (
            (above > MOVED_FAR) | (run >= TIMES_LARGER) | (run <= -TIMES_SMALLER) | (is_first & (np.abs(above) > MOVED))
        )
        self.before[judged], self.run[judged], self.unseen[judged] = mean, np.where(moved, 0, run), False
        if not moved.any():
            return version
        columns = judged[moved]
        self.now[columns] = mean[moved]
        factor = version.factor.copy()
        power = np.clip(np.rint(self.learned[columns] - mean[moved]), SMALLEST, LARGEST)
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
        arrays: Arrays = {name: getattr(self, name) for name in NAMES}
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
        kept: dict[str, Any] = {name: own[name].copy() for name in NAMES}
        kept |= {name: own[name].astype(bool) for name in ("constant", "unseen")}
        parts = []
        if "indptr" in own:
            parts.append(canonical_csr(own["data"], own["indices"], own["indptr"], len(own["now"])))
        return cls(**kept, parts=parts)


def _entries(X: Any) -> tuple[NDArray[np.int64], Floats]:
    """Return the columns and the sizes of all entries that are finite and not zero."""
    entries = np.isfinite(X.data) & (X.data != 0)
    return X.indices[entries].astype(np.int64), size(X.data[entries])
