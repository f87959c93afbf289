"""Scalings of columns before they are hashed: each is fitted on rows, transforms rows, and has a state of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._validation import (
    BATCH_BYTES,
    LARGEST,
    Matrix,
    all_finite,
    as_floats,
    check_choice,
    require_columns,
    rounded,
)

NUMERIC, BINARY, CONSTANT, UNSEEN = range(4)
KINDS_OF_COLUMNS = ("numeric", "binary", "constant", "unseen")
MAX_FITTED_ROWS = 10_000
"""Quantiles and knots are learned from at most so many rows, at equal distances."""

Arrays = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ColumnScaling:
    """A scaling of each column by itself: (x - shift) / divisor.

    Attributes
    ----------
    scale : {"numeric", "standard", "minmax"}
        The rule that it was learned by.
    kind : array of uint8, shape (D,)
        What was seen in each column: 1, binary (only 0 and 1), 2, constant, or 0, numeric; 3 are sparse columns without
        an entry.
    shift, divisor : arrays of float64, shape (D,)
        An infinite divisor drops the column: zero entries are not hashed. The shift of sparse rows is 0.
    """

    scale: str
    kind: NDArray[np.uint8]
    shift: Floats
    divisor: Floats

    @classmethod
    def fit(cls, X: Matrix, scale: str = "numeric") -> ColumnScaling:
        """Return the shift and the divisor of each column of X."""
        if sparse.issparse(X):
            require_columns(X.shape[1], 160, f"scale={scale!r}")
        least, most = _range(X)
        binary, constant = is_binary(X), least == most
        kind = np.where(constant, CONSTANT, np.where(binary, BINARY, NUMERIC))
        largest = np.maximum(np.abs(least), np.abs(most))
        if scale != "minmax":
            shift, divisor = _mean_and_deviation(X, largest)
        elif sparse.issparse(X):
            shift, divisor = np.zeros(X.shape[1]), largest
        else:
            with np.errstate(over="ignore"):
                shift, divisor = least, np.minimum(most - least, LARGEST[np.dtype(np.float64)])
        if scale == "numeric":
            shift, divisor = np.where(binary, 0.0, shift), np.where(binary, 1.0, divisor)
        if sparse.issparse(
            X
        ):  # a column without an entry may get some later, which are then scaled like those of others
            unseen = largest == 0
            seen = divisor[~constant]
            kind, constant = np.where(unseen, UNSEEN, kind), constant & ~unseen
            with np.errstate(over="ignore"):
                of_others = min(float(np.median(seen)), LARGEST[np.dtype(np.float64)]) if len(seen) else 1.0
            divisor = np.where(unseen, of_others, divisor)
        dropped = constant | (divisor == 0)
        return cls(scale, kind.astype(np.uint8), np.where(dropped, 0.0, shift), np.where(dropped, np.inf, divisor))

    @cached_property
    def constants(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        """The constant columns, their value, and how far from it they were, twice: 0 if they have not varied."""
        columns = np.flatnonzero(self.kind == CONSTANT)
        divisor = self.divisor[columns]
        with np.errstate(over="ignore"):
            return columns, self.shift[columns], np.where(np.isinf(divisor), 0.0, 2 * divisor)

    def transform(self, X: Matrix) -> Matrix:
        """Return X scaled, dense or CSR as it came, float32 if it was; no number becomes infinite."""
        X = as_floats(X)
        if sparse.issparse(X):
            if self.shift.any():
                raise ValueError(
                    "this scaling was learned from dense rows and shifts columns, which would fill a sparse matrix; "
                    "fit on sparse rows, or give dense ones"
                )
            scaled = X.copy()
            with np.errstate(over="ignore"):
                scaled.data = rounded(X.data / self.divisor[X.indices], X.dtype)
            return scaled
        step = _rows_at_once(X.shape[1])
        with np.errstate(over="ignore", under="ignore"):
            if len(X) <= step:
                return self._transform_some(X)
            out = np.empty(X.shape, dtype=X.dtype)
            for first in range(0, len(X), step):
                out[first : first + step] = self._transform_some(X[first : first + step])
        return out

    def _transform_some(self, X: NDArray[Any]) -> NDArray[Any]:
        rows = X - self.shift  # in float64
        if X.dtype == np.float64:
            scaled = rows / self.divisor
            if all_finite(scaled):  # nothing to round
                return scaled
        beyond = np.isinf(rows)
        if beyond.any():  # halves do not overflow
            rows = np.where(beyond, (X / 2 - self.shift / 2) / (self.divisor / 2), rows / self.divisor)
        else:
            rows /= self.divisor
        return rounded(rows, X.dtype)

    def __repr__(self) -> str:
        how = "put into [0, 1]" if self.scale == "minmax" else "standardised"
        of_binary = "standardised" if self.scale == "standard" else "left as they are"
        fate = {NUMERIC: how, BINARY: of_binary, CONSTANT: "dropped", UNSEEN: "scaled like the others"}
        return f"ColumnScaling({self.scale!r}: {_counted(self.kind, fate)})"


@dataclass(frozen=True, eq=False, repr=False)
class QuantileScaling:
    """A scaling of each number to its rank among those of its column, as a normal number.

    Attributes
    ----------
    kind : array of uint8, shape (D,)
        As of `ColumnScaling`: binary columns stay as they are, constant ones are dropped, numeric ones are transformed.
    quantiles : array of float64, shape (numeric columns, number of quantiles)
        Of each numeric column, ascending, at equal steps of the probability; at most 256.
    """

    kind: NDArray[np.uint8]
    quantiles: Floats
    scale: str = "quantile"

    @classmethod
    def fit(cls, X: Matrix, scale: str = "quantile") -> QuantileScaling:
        """Return the quantiles of the numeric columns of dense rows; NaN is left out."""
        least, most = _range(X)
        kind = np.where(least == most, CONSTANT, np.where(is_binary(X), BINARY, NUMERIC))
        some = as_floats(X[:: -(-X.shape[0] // MAX_FITTED_ROWS)])
        by_column = np.sort(np.ascontiguousarray(some[:, kind == NUMERIC].T), axis=1)  # NaN comes last
        there = np.count_nonzero(~np.isnan(by_column), axis=1)
        n = min(256, len(some))
        places = ((np.arange(n) + 0.5) / n * there[:, None]).astype(np.int64)
        return cls(kind.astype(np.uint8), np.take_along_axis(by_column, places, axis=1).astype(np.float64), scale)

    def transform(self, X: Matrix) -> Matrix:
        """Return X with numeric columns made normal, float32 if it was.

        A number between two quantiles is interpolated. One that equals several of them gets the middle of their places;
        one beyond the first or the last gets that one's.
        """
        if sparse.issparse(X):
            raise ValueError("quantiles are for dense rows: most entries of a sparse matrix would no longer be zero")
        X = as_floats(X)
        out = np.where(self.kind == CONSTANT, X.dtype.type(0), X)
        normal = normal_places(self.quantiles.shape[1])
        for column, quantiles in zip(np.flatnonzero(self.kind == NUMERIC), self.quantiles, strict=True):
            numbers = X[:, column].astype(np.float64)
            upper = np.interp(numbers, quantiles, normal)
            lower = -np.interp(-numbers, -quantiles[::-1], -normal[::-1])
            out[:, column] = (upper + lower) / 2
        return out

    def __repr__(self) -> str:
        fate = {NUMERIC: "made normal", BINARY: "left as they are", CONSTANT: "dropped"}
        return f"QuantileScaling({_counted(self.kind, fate)})"


def normal_places(n: int) -> NDArray[np.float64]:
    """Return the normal numbers of n quantiles, at the middles of n equal parts of the probability."""
    from scipy.special import ndtri  # noqa: PLC0415 - it takes long to import

    return ndtri((np.arange(n) + 0.5) / n)


@dataclass(frozen=True, eq=False, repr=False)
class WiderScaling:
    """A scaling that standardises columns, which come first, and adds columns that are made of some of them.

    Attributes
    ----------
    standardised : ColumnScaling
        The "numeric" scaling of the columns.
    """

    standardised: ColumnScaling

    @property
    def kind(self) -> NDArray[np.uint8]:
        """The kind of each column of the rows."""
        return self.standardised.kind

    @cached_property
    def source(self) -> NDArray[np.int64]:
        """The column that each column of the result is made of."""
        return np.concatenate([np.arange(len(self.kind)), self._added()])

    def _added(self) -> NDArray[np.int64]:
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class LocalScaling(WiderScaling):
    """A scaling that standardises numeric columns and adds hat functions over their quantiles.

    A hat function is 1 at its own knot, falls linearly to 0 at the knots beside it, and is 0 beyond them. So a number
    has at most two of them, which add up to 1: pGMM then compares where numbers lie, and not only how large they are.

    Attributes
    ----------
    knots : array of float64, shape (numeric columns, 8)
        The knots of each numeric column, ascending; where a column has fewer, the last one is repeated.
    """

    knots: Floats
    scale: str = "local"
    n_knots: ClassVar[int] = 8

    @classmethod
    def fit(cls, X: Matrix, scale: str = "local") -> LocalScaling:
        """Return the scaling of dense rows.

        The knots are the distinct numbers of a column, if there are at most 8, and else its quantiles at equal steps.
        """
        standardised = ColumnScaling.fit(X)
        some = as_floats(X[:: -(-X.shape[0] // MAX_FITTED_ROWS)])
        numeric = np.flatnonzero(standardised.kind == NUMERIC)
        n = cls.n_knots
        knots = np.empty((len(numeric), n))
        for number, column in enumerate(numeric):
            ordered = np.sort(some[:, column]).astype(np.float64)
            ordered = ordered[: len(ordered) - np.count_nonzero(np.isnan(ordered))]
            distinct = np.unique(ordered)
            if len(distinct) > n:
                distinct = np.unique(ordered[(len(ordered) - 1) * np.arange(n) // (n - 1)])
            if not len(distinct):  # all that is known of the column is in the other rows
                distinct = np.zeros(1)
            knots[number] = np.append(distinct, np.repeat(distinct[-1], n - len(distinct)))
        return cls(standardised, knots, scale)

    def _added(self) -> NDArray[np.int64]:
        return np.repeat(np.flatnonzero(self.kind == NUMERIC), self.knots.shape[1])

    def transform(self, X: Matrix) -> Matrix:
        """Return standardised columns and hat functions, float32 if X was; NaN gives NaN and no hat."""
        if sparse.issparse(X):
            raise ValueError(
                "hat functions are for dense rows: most entries of a sparse matrix would no longer be zero"
            )
        X = as_floats(X)
        n, n_knots = len(X), self.knots.shape[1]
        out = np.zeros((n, len(self.source)), dtype=X.dtype)
        out[:, : len(self.kind)] = self.standardised.transform(X)
        rows, first = np.arange(n), len(self.kind)
        for column, knots in zip(np.flatnonzero(self.kind == NUMERIC), self.knots, strict=True):
            numbers = X[:, column].astype(np.float64)
            known = ~np.isnan(numbers)
            numbers = np.where(known, numbers.clip(knots[0], knots[-1]), knots[0])
            last = np.searchsorted(knots, knots[-1])  # the first of the knots that are the last one
            left = np.clip(np.searchsorted(knots, numbers, side="right") - 1, 0, max(last - 1, 0))
            with np.errstate(over="ignore", invalid="ignore"):
                share = (numbers - knots[left]) / (knots[left + 1] - knots[left])
            share = np.where(np.isfinite(share), share, 0.0)  # knots whose distance overflows or is 0
            out[rows, first + left] = np.where(known, 1 - share, 0.0)
            out[rows, first + left + 1] = np.where(known, share, 0.0)
            first += n_knots
        return out

    def __repr__(self) -> str:
        hats = f"standardised, with {self.knots.shape[1]} hat functions each"
        return f"LocalScaling({_counted(self.kind, {NUMERIC: hats, CONSTANT: 'dropped', BINARY: 'left as they are'})})"


MAX_LOCAL_COLUMNS = 500
"""Tables with more columns are not tried with hat functions or levels."""
MAX_DENSE_LEVELS, MAX_FEW_VALUES = 256, 16
MIN_ROWS_OF_A_LEVEL = 4
"""Fewer rows say little about a level, and would have as many columns as they are."""


@dataclass(frozen=True, eq=False, repr=False)
class LevelScaling(WiderScaling):
    """A scaling that standardises numeric columns and adds a column of 0 and 1 for each level of categorical integers.

    Two categories whose numbers are close have nothing in common, and pGMM compares numbers by their size. With a
    column for each level it compares them by equality.

    Attributes
    ----------
    columns : array of int64
        The columns of categorical integers.
    counts : array of int64
        How many levels of each of them have a column.
    values : array of float64, shape (sum of counts,)
        These levels, ascending for each column.
    """

    columns: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: Floats
    scale: str = "levels"

    @classmethod
    def fit(cls, X: Matrix, scale: str = "levels", columns: NDArray[np.int64] | None = None) -> LevelScaling:
        """Return the scaling of dense rows with these columns as categorical integers, or all that may be.

        Levels of fewer than four rows have no column.
        """
        X = as_floats(X)
        columns = possible_levels(X) if columns is None else columns
        levels: list[Floats] = [np.empty(0)]
        for column in columns:
            distinct, counts = np.unique(X[:, column].astype(np.float64), return_counts=True)
            levels.append(distinct[(counts >= MIN_ROWS_OF_A_LEVEL) & ~np.isnan(distinct)])
        n_levels = np.array([len(one) for one in levels[1:]], dtype=np.int64)
        known = n_levels > 0  # a sample may have too few rows of each level
        return cls(ColumnScaling.fit(X), columns[known], n_levels[known], np.concatenate(levels), scale)

    def _added(self) -> NDArray[np.int64]:
        return np.repeat(self.columns, self.counts)

    def transform(self, X: Matrix) -> Matrix:
        """Return standardised columns and those of the levels, float32 if X was; an unknown level has no column.

        The result is dense if there are at most 256 levels, and else CSR.
        """
        if sparse.issparse(X):
            raise ValueError("levels are for dense rows: columns of sparse ones have no entry for most rows")
        X = as_floats(X)
        n, D = X.shape
        rows: list[NDArray[np.int64]] = []
        places: list[NDArray[np.int64]] = []
        ends = np.cumsum(self.counts)
        for column, end, count in zip(self.columns, ends, self.counts, strict=True):
            known = self.values[end - count : end]
            numbers = X[:, column].astype(np.float64)
            place = np.minimum(np.searchsorted(known, numbers), count - 1)
            there = np.flatnonzero(known[place] == numbers)
            rows.append(there)
            places.append(D + end - count + place[there])
        row, place = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (rows, places))
        scaled, width = self.standardised.transform(X), len(self.source)
        if len(self.values) <= MAX_DENSE_LEVELS:
            out = np.zeros((n, width), dtype=X.dtype)
            out[:, :D] = scaled
            out[row, place] = 1
            return out
        row = np.concatenate([np.repeat(np.arange(n), D), row])
        place = np.concatenate([np.tile(np.arange(D), n), place])
        data = np.concatenate([scaled.ravel(), np.ones(len(place) - n * D, dtype=X.dtype)])
        return sparse.csr_array((data, (row, place)), shape=(n, width))

    def __repr__(self) -> str:
        n_numeric = int(np.count_nonzero(self.kind == NUMERIC))
        return (
            f"LevelScaling({n_numeric} numeric standardised, {len(self.columns)} of them categorical with "
            f"{len(self.values)} levels)"
        )


def possible_levels(X: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Return the columns of integers with more than 16 values, where at least half of the rows share theirs."""

    def all_integers(numbers: NDArray[np.floating[Any]]) -> bool:
        return bool(np.all((numbers == np.floor(numbers)) | np.isnan(numbers)))

    found = []
    for column in range(X.shape[1]):
        numbers = X[:, column]
        if not all_integers(numbers[:100]) or not all_integers(numbers):
            continue
        _, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
        if len(counts) > MAX_FEW_VALUES and 2 * counts[counts > 1].sum() >= len(numbers):
            found.append(column)
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class TermScaling:
    """A scaling of columns by a weight and of rows by their length; zeros stay zeros.

    Attributes
    ----------
    scale : {"idf", "unit", "tfidf"}
        Weights, rows of length 1, or both.
    weight : array of float64, shape (D,)
        ln((1 + n) / (1 + df)) + 1 for a column with df non-zero entries in n rows, as in scikit-learn; 1 with "unit".
    """

    scale: str
    weight: Floats

    @classmethod
    def fit(cls, X: Matrix, scale: str) -> TermScaling:
        """Return the weights of the columns of X."""
        n, D = X.shape
        if sparse.issparse(X):
            require_columns(D, 32, f"scale={scale!r}")
        if scale == "unit":
            return cls(scale, np.ones(D))
        there = np.bincount(X.indices[X.data != 0], minlength=D) if sparse.issparse(X) else np.count_nonzero(X, axis=0)
        return cls(scale, np.log((1 + n) / (1 + there)) + 1)

    def transform(self, X: Matrix) -> Matrix:
        """Return X scaled, dense or CSR as it came, float32 if it was; no number becomes infinite."""
        X = as_floats(X)
        if not sparse.issparse(X):
            if self.scale == "idf":
                with np.errstate(over="ignore"):
                    return rounded(X.astype(np.float64) * self.weight, X.dtype)
            # A power of two that rows are divided by before they are weighted, so that nothing overflows
            near_one = np.ldexp(
                X.astype(np.float64), -_exponents(np.fmax.reduce(np.abs(X), axis=1, initial=0.0))[:, None]
            )
            weighted = near_one * self.weight
            return rounded(weighted / _lengths(weighted), X.dtype)
        numbers = X.data.astype(np.float64)
        if self.scale == "idf":
            with np.errstate(over="ignore"):
                weighted = numbers * self.weight[X.indices]
        else:
            row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            largest = np.zeros(X.shape[0])
            np.fmax.at(largest, row, np.abs(numbers))
            weighted = np.ldexp(numbers, -_exponents(largest)[row]) * self.weight[X.indices]
            weighted /= _lengths_of_rows(weighted, row, X.shape[0])[row]
        scaled = X.copy()
        scaled.data = rounded(weighted, X.dtype)
        return scaled

    def __repr__(self) -> str:
        how = {"idf": "columns by rarity", "unit": "rows of length 1", "tfidf": "columns by rarity, rows of length 1"}
        return f"TermScaling({self.scale!r}: {how[self.scale]})"


Scaling: TypeAlias = ColumnScaling | QuantileScaling | LocalScaling | LevelScaling | TermScaling
SCALINGS: dict[str, type[Scaling]] = {
    **dict.fromkeys(("numeric", "standard", "minmax"), ColumnScaling),
    "quantile": QuantileScaling,
    "local": LocalScaling,
    "levels": LevelScaling,
    **dict.fromkeys(("idf", "unit", "tfidf"), TermScaling),
}
KINDS = tuple(SCALINGS)
FOR_DENSE_ROWS = ("quantile", "local", "levels")


def fit_scaling(X: Matrix, scale: str | None, levels: NDArray[np.int64] | None = None) -> Scaling | None:
    """Return the scaling that suits the columns of X.

    Parameters
    ----------
    X : array or CSR of shape (n, D)
        Real numbers; NaN is left out of account.
    scale : {"numeric", "standard", "minmax", "quantile", "local", "levels", "idf", "unit", "tfidf"} or None
        "numeric": numeric columns get mean 0 and standard deviation 1, binary ones stay 0 and 1, constant ones are
        dropped. "standard": binary columns are treated like numeric ones. "minmax": columns are put into [0, 1].
        "quantile": numeric columns are made normal by their ranks, for dense rows only. "local": "numeric", and numeric
        columns also as hat functions over their quantiles, for dense rows only. "levels": "numeric", and a column of 0
        and 1 for each level of categorical integers, for dense rows only. "idf": columns weigh the more the fewer rows
        have them. "unit": rows get length 1. "tfidf": both.
        Sparse rows are not shifted, only divided: by the root mean square of all entries of the column, zeros
        included, or with "minmax" by the largest absolute value. A sparse column without an entry is divided by the
        median of what the others are divided by.
    levels : array of int64, optional
        The columns of categorical integers; without them all columns that may be such.

    Returns
    -------
    scaling : ColumnScaling, QuantileScaling, LocalScaling, LevelScaling, TermScaling or None

    Examples
    --------
    >>> X = np.array([[170.0, 1.0, 5.0], [180.0, 0.0, 5.0], [190.0, 1.0, 5.0]])
    >>> scaling = fit_scaling(X, "numeric")
    >>> scaling
    ColumnScaling('numeric': 1 numeric standardised, 1 binary left as they are, 1 constant dropped)
    >>> scaling.transform(X).round(2) + 0.0
    array([[-1.22,  1.  ,  0.  ],
           [ 0.  ,  0.  ,  0.  ],
           [ 1.22,  1.  ,  0.  ]])
    """
    if scale is None:
        return None
    check_choice("scale", scale, KINDS)
    X = as_floats(X)
    if scale in FOR_DENSE_ROWS and sparse.issparse(X):
        raise ValueError(f"scale={scale!r} is for dense rows; use 'numeric' or None for sparse ones")
    return LevelScaling.fit(X, scale, levels) if scale == "levels" else SCALINGS[scale].fit(X, scale)


def arrays_of(scaling: Scaling, prefix: str) -> Arrays:
    """Return the arrays of a scaling by the names of its fields, behind a prefix."""
    found: Arrays = {}
    for name, value in vars(scaling).items():
        if isinstance(value, ColumnScaling):
            found |= arrays_of(value, f"{prefix}{name}.")
        elif name in scaling.__dataclass_fields__ and isinstance(value, np.ndarray):
            found[f"{prefix}{name}"] = value
    return found


def scaling_of(arrays: Arrays, scale: str, prefix: str) -> Scaling:
    """Return the scaling whose arrays these are."""
    kind = SCALINGS[scale]
    names = kind.__dataclass_fields__
    own: dict[str, Any] = {name: arrays[f"{prefix}{name}"] for name in names if f"{prefix}{name}" in arrays}
    if "standardised" in names:
        own["standardised"] = scaling_of(arrays, "numeric", f"{prefix}standardised.")
    return kind(scale=scale, **own)


def _counted(kind: NDArray[np.uint8], fate: dict[int, str]) -> str:
    """Return in words how many columns there are of each kind, and what becomes of them."""
    counts = {one: int(np.count_nonzero(kind == one)) for one in fate}
    return ", ".join(f"{n} {KINDS_OF_COLUMNS[one]} {fate[one]}" for one, n in counts.items() if n)


def _rows_at_once(n_columns: int) -> int:
    return max(1, BATCH_BYTES // (8 * n_columns))


def _range(X: Matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest number of each column, 0 and 0 where all are NaN."""
    if sparse.issparse(X):
        by_column = X.tocsc()
        stored = np.diff(by_column.indptr)
        column = np.repeat(np.arange(X.shape[1]), stored)
        missing = np.where(stored == X.shape[0], np.inf, 0.0)  # a zero that is not stored counts too
        least, most = missing.copy(), -missing
        np.fmin.at(least, column, by_column.data)
        np.fmax.at(most, column, by_column.data)
    else:
        least = np.fmin.reduce(X, axis=0, initial=np.inf).astype(np.float64)
        most = np.fmax.reduce(X, axis=0, initial=-np.inf).astype(np.float64)
    return np.where(least > most, 0.0, least), np.where(least > most, 0.0, most)


def is_binary(X: Matrix) -> NDArray[np.bool_]:
    """Return whether each column holds nothing but 0 and 1."""
    if sparse.issparse(X):
        other = ~((X.data == 0) | (X.data == 1))
        return np.bincount(X.indices[other], minlength=X.shape[1]) == 0
    binary = np.ones(X.shape[1], dtype=bool)
    for first in range(0, X.shape[0], step := _rows_at_once(X.shape[1])):
        rows = np.require(X[first : first + step], requirements=["ALIGNED"])
        binary &= np.all((rows == 0) | (rows == 1), axis=0)
    return binary


def _mean_and_deviation(X: Matrix, largest: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column; of sparse columns 0 and the root mean square.

    Columns are divided by a power of two near their largest absolute value, so that no square overflows.
    """
    exponent = np.frexp(largest)[1].astype(np.int32)
    n_rows = X.shape[0]
    if sparse.issparse(X):
        square = np.ldexp(X.data.astype(np.float64), -exponent[X.indices]) ** 2
        of_column = np.bincount(X.indices, np.nan_to_num(square), X.shape[1])
        return np.zeros(X.shape[1]), np.ldexp(np.sqrt(of_column / n_rows), exponent)
    count, mean, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    total_here, squares_here, n = np.empty(X.shape[1]), np.empty(X.shape[1]), np.empty(X.shape[1], dtype=np.int64)
    for first in range(0, n_rows, step := _rows_at_once(X.shape[1])):
        rows = np.require(X[first : first + step], requirements=["ALIGNED"])
        _core.column_sums(rows, exponent, total_here, n)
        total = count + n
        here = total_here / np.maximum(n, 1)
        moved = here - mean
        _core.column_squares(rows, exponent, here, squares_here)
        squares += squares_here
        squares += moved**2 * count * n / np.maximum(total, 1)  # Chan, Golub and LeVeque: two parts put together
        mean += moved * n / np.maximum(total, 1)
        count = total
    deviation = np.sqrt(squares / np.maximum(count, 1))
    return np.ldexp(mean, exponent), np.ldexp(deviation, exponent)


def _exponents(largest: NDArray[Any]) -> NDArray[np.int32]:
    return np.frexp(largest.astype(np.float64))[1]


def _lengths(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean length of each row, as a column; 1 for rows of zeros, and NaN counts as zero."""
    largest = np.fmax.reduce(np.abs(X), axis=1, initial=0.0, keepdims=True)
    largest[largest == 0] = 1.0
    squares = np.nan_to_num(X / largest) ** 2  # of shares, so none overflows
    length = largest * np.sqrt(np.cumsum(squares, axis=1)[:, -1:])  # one order of sums, whatever the layout of X
    return np.where(length > 0, length, 1.0)


def _lengths_of_rows(numbers: NDArray[np.float64], row: NDArray[np.int64], n_rows: int) -> NDArray[np.float64]:
    """Return the same for the entries of a sparse matrix, whose rows are given."""
    largest = np.zeros(n_rows)
    np.fmax.at(largest, row, np.abs(numbers))
    largest[largest == 0] = 1.0
    length = largest * np.sqrt(np.bincount(row, np.nan_to_num(numbers / largest[row]) ** 2, n_rows))
    return np.where(length > 0, length, 1.0)
