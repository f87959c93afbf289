"""Columns shifted and divided one by one, so that they have the same scale before they are hashed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._memory import require_columns
from gcwsnet._validation import BATCH_BYTES, LARGEST, Matrix, all_finite, as_floats, rounded
from gcwsnet.tables._relevance import BINS, explained_by_values

SCALINGS = ("numeric", "standard", "minmax")

BYTES_OF_A_COLUMN = 160

"""What is kept and made for each column while a scaling is learned."""

NUMERIC, BINARY, CONSTANT, UNSEEN = KINDS_OF_COLUMNS = "numeric", "binary", "constant", "unseen"


@dataclass(frozen=True, eq=False, repr=False)
class ColumnScaling:
    """A scaling of each column by itself: (x - shift) / divisor.

    Attributes
    ----------
    scale : {"numeric", "standard", "minmax"}
        The rule that it was learned by.
    kind : array of str, shape (D,)
        What was seen in each column: "binary" (only 0 and 1), "constant" or "numeric"; "unseen" are sparse columns
        without an entry.
    shift, divisor : arrays of float64, shape (D,)
        An infinite divisor drops the column: zero entries are not hashed. The shift of sparse rows is 0.
    """

    scale: str
    kind: NDArray[np.str_]
    shift: NDArray[np.float64]
    divisor: NDArray[np.float64]

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
        counts = {kind: int(np.count_nonzero(self.kind == kind)) for kind in KINDS_OF_COLUMNS}
        fate = {
            "numeric": {NUMERIC: "standardised", BINARY: "left as they are", CONSTANT: "dropped"},
            "standard": {NUMERIC: "standardised", BINARY: "standardised", CONSTANT: "dropped"},
            "minmax": {NUMERIC: "put into [0, 1]", BINARY: "left as they are", CONSTANT: "dropped"},
        }[self.scale]
        fate[UNSEEN] = "scaled like the others"
        parts = [f"{count} {kind} {fate[kind]}" for kind, count in counts.items() if count]
        return f"ColumnScaling({self.scale!r}: {', '.join(parts)})"


def learn_scaling(X: Matrix, scale: str) -> ColumnScaling:
    """Return the shift and the divisor of each column of X; see `learn_preprocessing`."""
    if sparse.issparse(X):
        require_columns(X.shape[1], BYTES_OF_A_COLUMN, f"scale={scale!r}")
    least, most = _range(X)
    binary, constant = is_binary(X), least == most
    kind = _kinds(binary, constant)
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
    if sparse.issparse(X):  # a column without an entry may get some later, which are then scaled like those of others
        unseen = largest == 0
        seen = divisor[~constant]
        kind, constant = np.where(unseen, UNSEEN, kind), constant & ~unseen
        with np.errstate(over="ignore"):
            of_others = min(float(np.median(seen)), LARGEST[np.dtype(np.float64)]) if len(seen) else 1.0
        divisor = np.where(unseen, of_others, divisor)
    dropped = constant | (divisor == 0)
    return ColumnScaling(scale, kind, np.where(dropped, 0.0, shift), np.where(dropped, np.inf, divisor))


def kinds_of_columns(X: Matrix) -> NDArray[np.str_]:
    """Return "constant", "binary" or "numeric" for each column."""
    least, most = _range(X)
    return _kinds(is_binary(X), least == most)


def _kinds(binary: NDArray[np.bool_], constant: NDArray[np.bool_]) -> NDArray[np.str_]:
    return np.where(constant, CONSTANT, np.where(binary, BINARY, NUMERIC))


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


N_QUANTILES = 256

MAX_QUANTILE_ROWS = 10_000

FATE = {"numeric": "made normal", "binary": "left as they are", "constant": "dropped"}


@dataclass(frozen=True, eq=False, repr=False)
class QuantileScaling:
    """A scaling of each number to its rank among those of its column, as a normal number.

    Attributes
    ----------
    kind : array of str, shape (D,)
        "binary" columns stay as they are, "constant" ones are dropped, "numeric" ones are transformed.
    quantiles : array of float64, shape (numeric columns, number of quantiles)
        Of each numeric column, ascending, at equal steps of the probability.
    """

    kind: NDArray[np.str_]
    quantiles: NDArray[np.float64]
    scale: str = "quantile"

    def transform(self, X: Matrix) -> Matrix:
        """Return X with numeric columns made normal, float32 if it was.

        A number between two quantiles is interpolated. One that equals several of them gets the middle of their places;
        one beyond the first or the last gets that one's.
        """
        if sparse.issparse(X):
            raise ValueError("quantiles are for dense rows: most entries of a sparse matrix would no longer be zero")
        X = as_floats(X)
        out = np.where(self.kind == "constant", X.dtype.type(0), X)
        normal = normal_places(self.quantiles.shape[1])
        for column, quantiles in zip(np.flatnonzero(self.kind == "numeric"), self.quantiles, strict=True):
            numbers = X[:, column].astype(np.float64)
            upper = np.interp(numbers, quantiles, normal)
            lower = -np.interp(-numbers, -quantiles[::-1], -normal[::-1])
            out[:, column] = (upper + lower) / 2
        return out

    def __repr__(self) -> str:
        counts = {kind: int(np.count_nonzero(self.kind == kind)) for kind in FATE}
        return f"QuantileScaling({', '.join(f'{n} {kind} {FATE[kind]}' for kind, n in counts.items() if n)})"


def normal_places(n: int) -> NDArray[np.float64]:
    """Return the normal numbers of n quantiles, at the middles of n equal parts of the probability."""
    from scipy.special import ndtri  # noqa: PLC0415 - it takes long to import

    return ndtri((np.arange(n) + 0.5) / n)


def learn_quantiles(X: Matrix, kind: NDArray[np.str_]) -> QuantileScaling:
    """Return the scaling of columns of these kinds, from at most 10,000 rows at equal distances; NaN is left out."""
    some = as_floats(X[:: -(-X.shape[0] // MAX_QUANTILE_ROWS)])
    by_column = np.sort(np.ascontiguousarray(some[:, kind == "numeric"].T), axis=1)  # NaN comes last
    there = np.count_nonzero(~np.isnan(by_column), axis=1)
    n = min(N_QUANTILES, len(some))
    places = ((np.arange(n) + 0.5) / n * there[:, None]).astype(np.int64)
    return QuantileScaling(kind, np.take_along_axis(by_column, places, axis=1).astype(np.float64))


KNOTS = 8

MAX_LOCAL_ROWS = 10_000

MAX_LOCAL_COLUMNS = 500

"""The most numeric columns that candidates of the search are spread."""


@dataclass(frozen=True, eq=False, repr=False)
class LocalScaling:
    """A scaling that standardises numeric columns and adds hat functions over their quantiles.

    A hat function is 1 at its own knot, falls linearly to 0 at the knots beside it, and is 0 beyond them. So a number
    has at most two of them, which add up to 1: pGMM then compares where numbers lie, and not only how large they are.

    Attributes
    ----------
    standardised : ColumnScaling
        The "numeric" scaling of the columns, which come first.
    knots : array of float64, shape (numeric columns, 8)
        The knots of each numeric column, ascending; where a column has fewer, the last one is repeated.
    """

    standardised: ColumnScaling
    knots: NDArray[np.float64]
    scale: str = "local"

    @property
    def kind(self) -> NDArray[np.str_]:
        """The kind of each column of the rows."""
        return self.standardised.kind

    @property
    def source(self) -> NDArray[np.int64]:
        """The column that each column of the result is made of."""
        numeric = np.flatnonzero(self.kind == NUMERIC)
        return np.concatenate([np.arange(len(self.kind)), np.repeat(numeric, self.knots.shape[1])])

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
        counts = {kind: int(np.count_nonzero(self.kind == kind)) for kind in np.unique(self.kind)}
        fate = {NUMERIC: f"standardised, with {self.knots.shape[1]} hat functions each", BINARY: "left as they are"}
        parts = [f"{n} {kind} {fate.get(kind, 'dropped')}" for kind, n in sorted(counts.items(), reverse=True)]
        return f"LocalScaling({', '.join(parts)})"


def learn_local(X: Matrix) -> LocalScaling:
    """Return the scaling of dense rows; knots are learned from at most 10,000 rows at equal distances.

    The knots are the distinct numbers of a column, if there are at most 8, and else its quantiles at equal steps.
    """
    standardised = learn_scaling(X, "numeric")
    some = as_floats(X[:: -(-X.shape[0] // MAX_LOCAL_ROWS)])
    numeric = np.flatnonzero(standardised.kind == NUMERIC)
    knots = np.empty((len(numeric), KNOTS))
    for number, column in enumerate(numeric):
        ordered = np.sort(some[:, column]).astype(np.float64)
        ordered = ordered[: len(ordered) - np.count_nonzero(np.isnan(ordered))]
        distinct = np.unique(ordered)
        if len(distinct) > KNOTS:
            distinct = np.unique(ordered[(len(ordered) - 1) * np.arange(KNOTS) // (KNOTS - 1)])
        if not len(distinct):  # all that is known of the column is in the other rows
            distinct = np.zeros(1)
        knots[number] = np.append(distinct, np.repeat(distinct[-1], KNOTS - len(distinct)))
    return LocalScaling(standardised, knots)


MAX_CODE_ROWS = 20_000

"""The most rows that tell whether a column is of codes."""

MOST_DENSE_COLUMNS = 256

"""With more columns for values the result is sparse."""

LEAST_ROWS_OF_A_VALUE = 4

"""Fewer rows say little about a value, and would have as many columns as they are."""

LEAST_SHARE, LEAST, ERRORS = 0.2, 0.002, 3.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class CodeScaling:
    """A scaling that standardises numeric columns and adds a column of 0 and 1 for each value of a code.

    Two codes that are close to each other as numbers have nothing in common, and pGMM compares numbers by their size.
    With a column for each value it compares codes by equality.

    Attributes
    ----------
    standardised : ColumnScaling
        The "numeric" scaling of the columns, which come first.
    columns : array of int64, shape (codes,)
        The columns of codes.
    counts : array of int64, shape (codes,)
        How many values of each of them have a column.
    values : array of float64, shape (sum of counts,)
        These values, ascending for each column of codes.
    """

    standardised: ColumnScaling
    columns: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: Floats
    scale: str = "codes"

    @property
    def kind(self) -> NDArray[np.str_]:
        """The kind of each column of the rows."""
        return self.standardised.kind

    @cached_property
    def source(self) -> NDArray[np.int64]:
        """The column that each column of the result is made of."""
        return np.concatenate([np.arange(len(self.kind)), np.repeat(self.columns, self.counts)])

    def transform(self, X: Matrix) -> Matrix:
        """Return standardised columns and those of the values, float32 if X was; an unknown value has no column.

        The result is dense if the values have at most 256 columns, and else CSR.
        """
        if sparse.issparse(X):
            raise ValueError("codes are told from dense rows: columns of sparse ones have no entry for most rows")
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
        if len(self.values) <= MOST_DENSE_COLUMNS:
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
            f"CodeScaling({n_numeric} numeric standardised, {len(self.columns)} of them codes with "
            f"{len(self.values)} columns for their values)"
        )


def learn_codes(X: Matrix, columns: NDArray[np.int64] | None = None) -> CodeScaling:
    """Return the scaling of dense rows, with these columns as codes, or all that may be codes.

    Values of fewer than four rows have no column.
    """
    X = as_floats(X)
    columns = possible_codes(X) if columns is None else columns
    values: list[Floats] = [np.empty(0)]
    for column in columns:
        distinct, counts = np.unique(X[:, column].astype(np.float64), return_counts=True)
        values.append(distinct[(counts >= LEAST_ROWS_OF_A_VALUE) & ~np.isnan(distinct)])
    n_values = np.array([len(one) for one in values[1:]], dtype=np.int64)
    known = n_values > 0  # a sample may have too few rows of each value
    return CodeScaling(learn_scaling(X, "numeric"), columns[known], n_values[known], np.concatenate(values))


def possible_codes(X: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Return the columns of integers with more than 16 values, where at least half of the rows share theirs."""
    found = []
    for column in range(X.shape[1]):
        numbers = X[:, column]
        if not _all_integers(numbers[:100]) or not _all_integers(numbers):
            continue
        _, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
        if len(counts) > BINS and 2 * counts[counts > 1].sum() >= len(numbers):
            found.append(column)
    return np.array(found, dtype=np.int64)


def code_columns(X: Matrix, target: NDArray[Any]) -> NDArray[np.int64]:
    """Return the columns of dense rows that are codes for the targets.

    These are possible codes that explain clearly less of the targets' variance if each value is taken together with
    the next one: numbers that are neighbours mean nearly the same, and codes do not. What is lost must be a fifth of
    what the values explain, 0.002 of the variance, and three standard errors of what values without a meaning explain.
    At most 20,000 rows at equal distances are looked at.
    """
    step = -(-X.shape[0] // MAX_CODE_ROWS)
    X, target = as_floats(X[::step]), target[::step]
    columns = possible_codes(X)
    if not len(columns):
        return columns
    by_value, n_values = explained_by_values(X[:, columns], target)
    by_two, _ = explained_by_values(X[:, columns], target, together=2)
    error = np.sqrt(2 * n_values) / len(X)
    least = np.maximum(LEAST, np.maximum(LEAST_SHARE * by_value, ERRORS * error))
    return columns[by_value - by_two > least]


def _all_integers(numbers: NDArray[np.floating[Any]]) -> bool:
    return bool(np.all((numbers == np.floor(numbers)) | np.isnan(numbers)))


KINDS_OF_TERMS = ("idf", "unit", "tfidf")


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
    weight: NDArray[np.float64]

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


def learn_terms(X: Matrix, scale: str) -> TermScaling:
    """Return the weights of the columns of X."""
    n, D = X.shape
    if sparse.issparse(X):
        require_columns(D, 32, f"scale={scale!r}")
    if scale == "unit":
        return TermScaling(scale, np.ones(D))
    there = np.bincount(X.indices[X.data != 0], minlength=D) if sparse.issparse(X) else np.count_nonzero(X, axis=0)
    return TermScaling(scale, np.log((1 + n) / (1 + there)) + 1)


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
