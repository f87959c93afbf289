"""The preprocessing of rows before they are hashed: columns are scaled and weighted, and missing values are marked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix, as_floats, require_columns, rounded
from gcwsnet.tables._scaling import (
    FOR_DENSE_ROWS,
    LevelScaling,
    Scaling,
    WiderScaling,
    arrays_of,
    fit_scaling,
    possible_levels,
    scaling_of,
)

Arrays = dict[str, NDArray[Any]]

Floats = NDArray[np.float64]

BINS = 16

MAX_ROWS, MAX_NUMBERS = 4000, 4_000_000
NUMBERS_AT_ONCE = 1 << 19

LEAST = 1e-3
"""The least relevance of a column, as a share of the largest one: no column is dropped."""


@dataclass(frozen=True)
class Recipe:
    """The settings of a preprocessing.

    Attributes
    ----------
    scale : str or None
        The scaling of columns, see `fit_scaling`; None leaves them as they are.
    relevance : float or "learned"
        The power of the columns' relevance that they are multiplied by, or "learned" weights; 0 treats all alike.
    indicators : bool
        Whether columns with missing values get a second column that marks these.
    """

    scale: str | None = "numeric"
    relevance: float | Literal["learned"] = 0.0
    indicators: bool = False


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """The fitted preprocessing of rows that are all dense or all sparse.

    Attributes
    ----------
    recipe : Recipe
    n_features : int
        The columns of the rows.
    scaling : ColumnScaling, QuantileScaling, LocalScaling, LevelScaling, TermScaling or None
    weight : array of float64, shape (n_features,), or None
        The factor of each column after scaling.
    incomplete : array of int64
        The columns with missing values, each of which has an indicator: 1 (times `weight`) where a value is missing.
    """

    recipe: Recipe
    n_features: int
    scaling: Scaling | None = None
    weight: NDArray[np.float64] | None = None
    incomplete: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def n_columns(self) -> int:
        """The columns of the result."""
        n_scaled = len(self.scaling.source) if isinstance(self.scaling, WiderScaling) else self.n_features
        return n_scaled + len(self.incomplete)

    @property
    def source(self) -> NDArray[np.int64]:
        """The column of the rows that each column of the result was made of."""
        scaled = self.scaling.source if isinstance(self.scaling, WiderScaling) else np.arange(self.n_features)
        return np.concatenate([scaled, self.incomplete]).astype(np.int64)

    def with_factors(self, factors: NDArray[np.float64]) -> Preprocessing:
        """Return this preprocessing with columns that are multiplied by learned factors, too."""
        weight = factors if self.weight is None else self.weight * factors
        return replace(self, recipe=replace(self.recipe, relevance="learned"), weight=weight)

    def transform(self, X: Matrix) -> Matrix:
        """Return rows as they are hashed, dense or CSR as they came; a missing value stays NaN."""
        out = X if self.scaling is None else self.scaling.transform(X)
        if self.weight is not None:
            weight = self.weight[self.scaling.source] if isinstance(self.scaling, WiderScaling) else self.weight
            out = _weighted(as_floats(out), weight)
        if not len(self.incomplete):
            return out
        marks = _marks(X, self.incomplete, as_floats(out).dtype)
        if self.weight is not None:
            marks = _weighted(marks, self.weight[self.incomplete])
        return sparse.hstack([out, marks], format="csr") if sparse.issparse(out) else np.hstack([out, marks])

    def state(self, prefix: str = "preprocessing.") -> tuple[Arrays, dict[str, Any]]:
        """Return all of it as arrays, whose names start with `prefix`, and as what JSON can hold."""
        arrays = {} if self.scaling is None else arrays_of(self.scaling, f"{prefix}scaling.")
        arrays[f"{prefix}incomplete"] = self.incomplete
        if self.weight is not None:
            arrays[f"{prefix}weight"] = self.weight
        return arrays, {**vars(self.recipe), "n_features": self.n_features}

    @classmethod
    def from_state(cls, arrays: Arrays, description: dict[str, Any], prefix: str = "preprocessing.") -> Preprocessing:
        """Return the preprocessing whose state this is."""
        recipe = Recipe(**{name: description[name] for name in Recipe.__dataclass_fields__})
        scaling = None if recipe.scale is None else scaling_of(arrays, recipe.scale, f"{prefix}scaling.")
        weight, incomplete = arrays.get(f"{prefix}weight"), arrays[f"{prefix}incomplete"]
        return cls(recipe, description["n_features"], scaling, weight, incomplete)


@dataclass(frozen=True, eq=False)
class TablePreprocessing:
    """The fitted preprocessing of sparse rows, some of whose columns are numbers that are treated like dense ones.

    Attributes
    ----------
    numeric : array of bool, shape (n_features,)
        The columns of numbers, which come first in the result.
    of_numbers, of_others : Preprocessing
        Of these columns, and of the others.
    """

    numeric: NDArray[np.bool_]
    of_numbers: Preprocessing
    of_others: Preprocessing

    @property
    def recipe(self) -> Recipe:
        """The settings."""
        return self.of_numbers.recipe

    @property
    def n_features(self) -> int:
        """The columns of the rows."""
        return len(self.numeric)

    @property
    def scaling(self) -> Scaling | None:
        """The scaling of the columns of numbers."""
        return self.of_numbers.scaling

    @property
    def n_columns(self) -> int:
        """The columns of the result."""
        return self.of_numbers.n_columns + self.of_others.n_columns

    @property
    def source(self) -> NDArray[np.int64]:
        """The column of the rows that each column of the result was made of."""
        numbers, others = np.flatnonzero(self.numeric), np.flatnonzero(~self.numeric)
        return np.concatenate([numbers[self.of_numbers.source], others[self.of_others.source]])

    def with_factors(self, factors: NDArray[np.float64]) -> TablePreprocessing:
        """Return this preprocessing with columns that are multiplied by learned factors, too."""
        numbers, others = factors[self.numeric], factors[~self.numeric]
        return TablePreprocessing(
            self.numeric, self.of_numbers.with_factors(numbers), self.of_others.with_factors(others)
        )

    def transform(self, X: Matrix) -> Matrix:
        """Return rows as they are hashed, as CSR; a missing value stays NaN."""
        numbers, others = split_columns(X, self.numeric)
        parts = [sparse.csr_array(self.of_numbers.transform(numbers)), self.of_others.transform(others)]
        return sparse.hstack(parts, format="csr")

    def state(self, prefix: str = "preprocessing.") -> tuple[Arrays, dict[str, Any]]:
        """Return all of it as arrays, whose names start with `prefix`, and as what JSON can hold."""
        arrays, numbers = self.of_numbers.state(f"{prefix}numbers.")
        more, others = self.of_others.state(f"{prefix}others.")
        mask = {f"{prefix}numeric": self.numeric.astype(np.uint8)}
        return arrays | more | mask, {"numbers": numbers, "others": others}


AnyPreprocessing: TypeAlias = "Preprocessing | TablePreprocessing"


def preprocessing_from_state(arrays: Arrays, description: dict[str, Any]) -> AnyPreprocessing:
    """Return the preprocessing whose state this is."""
    if "numbers" not in description:
        return Preprocessing.from_state(arrays, description)
    parts = [
        Preprocessing.from_state(arrays, description[part], f"preprocessing.{part}.") for part in ("numbers", "others")
    ]
    return TablePreprocessing(arrays["preprocessing.numeric"].astype(bool), *parts)


def fit_preprocessing(
    X: Matrix,
    recipe: Recipe,
    target: NDArray[Any] | None = None,
    numeric: NDArray[np.bool_] | None = None,
    levels: NDArray[np.int64] | None = None,
) -> AnyPreprocessing:
    """Return the preprocessing of rows like X, see `PreprocessingFit`."""
    return PreprocessingFit(X, target, numeric, levels).fit(recipe)


class PreprocessingFit:
    """A fit of preprocessings to the same rows: what several of them need is computed once.

    Parameters
    ----------
    X : array or CSR of shape (n, D)
        Real numbers; NaN is a missing one.
    target : array of shape (n,) or (n, m), optional
        The numbers of classes, or numbers, that columns may be relevant for; needed if their relevance counts.
        Categorical integers are told from numbers by them.
    numeric : array of bool, shape (D,), optional
        The columns of a CSR matrix that are numbers and treated like dense ones.
    levels : array of int64, optional
        The columns of categorical integers, counted among the columns of numbers, where they are known.
    """

    def __init__(
        self,
        X: Matrix,
        target: NDArray[Any] | None = None,
        numeric: NDArray[np.bool_] | None = None,
        levels: NDArray[np.int64] | None = None,
    ) -> None:
        self.target = target
        self.numeric = numeric if numeric is not None and sparse.issparse(X) and numeric.any() else None
        self.parts = [X] if self.numeric is None else list(split_columns(X, self.numeric))
        self._levels = levels
        self._scalings: dict[tuple[int, str | None], Scaling | None] = {}
        self._shares: dict[tuple[int, bool], NDArray[np.float64]] = {}
        self._incomplete: dict[int, NDArray[np.int64]] = {}

    def fit(self, recipe: Recipe) -> AnyPreprocessing:
        """Return the preprocessing with these settings."""
        if recipe.relevance and self.target is None:
            raise ValueError("the relevance of columns needs the targets that they may be relevant for")
        for_sparse = replace(recipe, scale="numeric") if recipe.scale in FOR_DENSE_ROWS else recipe
        recipes = [recipe, for_sparse][: len(self.parts)]
        scalings = [self._scaling(part, one.scale) for part, one in enumerate(recipes)]
        weights: list[NDArray[np.float64] | None] = [None] * len(recipes)
        if recipe.relevance:
            shares = [self._explained_by(part, scaling) for part, scaling in enumerate(scalings)]
            together = column_weights(with_least(np.concatenate(shares)), float(recipe.relevance))
            weights = list(np.split(together, np.cumsum([len(one) for one in shares])[:-1]))
        found = [
            Preprocessing(one, self.parts[part].shape[1], scalings[part], weights[part], self._missing_in(part, one))
            for part, one in enumerate(recipes)
        ]
        return found[0] if self.numeric is None else TablePreprocessing(self.numeric, *found)

    def _scaling(self, part: int, scale: str | None) -> Scaling | None:
        if (part, scale) not in self._scalings:
            X = self.parts[part]
            if scale == "levels" and self._levels is None and self.target is not None and not sparse.issparse(X):
                self._levels = categorical_columns(X, self.target)
            self._scalings[part, scale] = fit_scaling(X, scale, self._levels)
        return self._scalings[part, scale]

    def _explained_by(self, part: int, scaling: Scaling | None) -> NDArray[np.float64]:
        """Return the share of the targets' variance that each column explains; levels count one by one."""
        has_levels = isinstance(scaling, LevelScaling) and len(scaling.columns) > 0
        if (part, has_levels) not in self._shares:
            if isinstance(scaling, LevelScaling) and has_levels:
                shares = self._explained_by(part, None).copy()
                by_value, _ = explained_by_values(self.parts[part][:, scaling.columns], self._known_target)
                shares[scaling.columns] = np.maximum(shares[scaling.columns], by_value)
            else:
                shares = explained(self.parts[part], self._known_target)
            self._shares[part, has_levels] = shares
        return self._shares[part, has_levels]

    @property
    def _known_target(self) -> NDArray[Any]:
        assert self.target is not None  # noqa: S101
        return self.target

    def _missing_in(self, part: int, recipe: Recipe) -> NDArray[np.int64]:
        if not recipe.indicators:
            return np.empty(0, dtype=np.int64)
        if part not in self._incomplete:
            self._incomplete[part] = incomplete_columns(self.parts[part])
        return self._incomplete[part]


def split_columns(X: Matrix, numeric: NDArray[np.bool_]) -> tuple[NDArray[Any], Matrix]:
    """Return the columns of numbers as a dense array, and the others."""
    require_columns(X.shape[1], 32, "a table")
    return X[:, np.flatnonzero(numeric)].toarray(), X[:, np.flatnonzero(~numeric)]


def incomplete_columns(X: Matrix) -> NDArray[np.int64]:
    """Return the columns with missing values."""
    if sparse.issparse(X):
        return np.unique(X.indices[np.isnan(X.data)]).astype(np.int64)
    return np.flatnonzero(np.isnan(X).any(axis=0)) if X.dtype.kind == "f" else np.empty(0, dtype=np.int64)


def _marks(X: Matrix, columns: NDArray[np.int64], dtype: np.dtype[Any]) -> Matrix:
    """Return 1 where a value of these columns is missing."""
    some = X[:, columns]
    if not sparse.issparse(some):
        return np.isnan(some).astype(dtype)
    marks = some.copy()
    marks.data = np.isnan(some.data).astype(dtype)
    return marks


def _weighted(X: Matrix, weight: NDArray[np.float64]) -> Matrix:
    """Return X with its columns multiplied, in the type of X."""
    if sparse.issparse(X):
        out = X.copy()
        out.data = rounded(X.data * weight[X.indices], X.dtype)
        return out
    return rounded(X * weight, X.dtype)


# The relevance of columns: how much of the targets each of them explains by itself


def categorical_columns(X: Matrix, target: NDArray[Any]) -> NDArray[np.int64]:
    """Return the columns of dense rows that are categorical integers for the targets.

    These explain clearly less of the targets' variance if each value is taken together with the next one: numbers that
    are neighbours mean nearly the same, and categories do not. What is lost must be a fifth of what the values explain,
    0.002 of the variance, and three standard errors of what values without a meaning explain. At most 20,000 rows at
    equal distances are looked at.
    """
    step = -(-X.shape[0] // 20_000)
    X, target = as_floats(X[::step]), target[::step]
    columns = possible_levels(X)
    if not len(columns):
        return columns
    by_value, n_values = explained_by_values(X[:, columns], target)
    by_two, _ = explained_by_values(X[:, columns], target, together=2)
    error = np.sqrt(2 * n_values) / len(X)
    least = np.maximum(0.002, np.maximum(0.2 * by_value, 3.0 * error))
    return columns[by_value - by_two > least]


def with_least(explained: Floats) -> Floats:
    """Return the relevance of columns that explain these shares."""
    most = explained.max(initial=0.0)
    return np.maximum(explained, LEAST * most) if most > 0 else np.ones(len(explained))


def explained(X: Matrix, target: NDArray[Any]) -> Floats:
    """Return the share of the targets' variance that each column explains by itself.

    At most 16 distinct numbers of a column have a bin each, and more are put into 16 bins of equally many rows, or into
    fewer where many are equal. Missing numbers have a bin of their own. The variance between the bins, less what as
    many bins of noise would have, over the whole variance is the share; it is at least the standard error of that
    noise. For classes this is the relative decrease of the Gini impurity. At most 4,000 rows at equal distances are
    looked at. Of sparse rows it only matters which entries are there.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> explained(X, (X[:, 0] > 0).astype(np.int64)).round(2)
    array([0.95, 0.01, 0.01])
    """
    rows = max(500, min(MAX_ROWS, MAX_NUMBERS // max(1, X.shape[1]))) if not sparse.issparse(X) else MAX_ROWS
    step = -(-X.shape[0] // rows)
    X, target = X[::step], target[::step]
    targets = _Targets.of(target)
    return _of_sparse(X, targets) if sparse.issparse(X) else _of_dense(as_floats(X), targets)


def explained_by_values(X: NDArray[Any], target: NDArray[Any], together: int = 1) -> tuple[Floats, NDArray[np.int64]]:
    """Return the share of the targets' variance that the values of each dense column explain, and their number.

    Each value has a bin of its own, or as many neighbouring ones `together` have one. All rows count.
    """
    targets = _Targets.of(target)
    found, n_values = np.empty(X.shape[1]), np.empty(X.shape[1], dtype=np.int64)
    for column in range(X.shape[1]):
        values, bins = np.unique(X[:, column], return_inverse=True)
        bins, n_bins = bins // together, -(-len(values) // together)
        counts = np.bincount(bins, minlength=n_bins)
        found[column] = _explained(counts[None], targets.sums(bins, slice(None), n_bins)[None], targets)[0]
        n_values[column] = len(values)
    return found, n_values


def column_weights(relevance: Floats, power: float) -> Floats:
    """Return the factors of columns: a power of their relevance, 1 for the most relevant column."""
    share = relevance / relevance.max(initial=1e-300)
    return np.sqrt(share) if power == 0.5 else share**power


class _Targets(NamedTuple):
    """Targets to explain: one number for each class or for each column of numbers, and its variance."""

    of_row: NDArray[Any]
    n_classes: int
    total: Floats
    whole: float

    @classmethod
    def of(cls, target: NDArray[Any]) -> _Targets:
        n = len(target)
        if target.ndim == 1:
            classes, number = np.unique(target, return_inverse=True)
            total = np.bincount(number, minlength=len(classes)).astype(np.float64)
            return cls(number, len(classes), total, n - (total**2).sum() / n)
        values = target.astype(np.float64)
        total = values.sum(axis=0)
        return cls(values, 0, total, (values**2).sum() - (total**2).sum() / n)

    def binned(self, bins: NDArray[np.int64], n_bins: int) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows and the sums of the targets in each bin, for bins of shape (columns, rows)."""
        counts = np.bincount(bins.ravel(), minlength=n_bins)
        row = np.broadcast_to(np.arange(bins.shape[1]), bins.shape).ravel()
        return counts, self.sums(bins.ravel(), row, n_bins)

    def sums(self, bins: NDArray[np.int64], row: Any, n_bins: int) -> Floats:
        """Return the sums of the targets of the rows in each bin, of shape (n_bins, targets)."""
        of_row = self.of_row[row]
        if self.n_classes:
            counts = np.bincount(bins * self.n_classes + of_row, minlength=n_bins * self.n_classes)
            return counts.astype(np.float64).reshape(n_bins, self.n_classes)
        return np.stack([np.bincount(bins, column, minlength=n_bins) for column in of_row.T], axis=1)


def _of_dense(X: NDArray[np.floating[Any]], targets: _Targets) -> Floats:
    step = max(1, NUMBERS_AT_ONCE // max(1, len(X)))
    parts = [_of_columns(X[:, first : first + step], targets) for first in range(0, X.shape[1], step)]
    return np.concatenate([np.empty(0), *parts])


def _of_columns(X: NDArray[np.floating[Any]], targets: _Targets) -> Floats:
    by_column = np.ascontiguousarray(X.T)
    D, n = by_column.shape
    order = np.argsort(by_column, axis=1)  # NaN comes last
    ordered = np.take_along_axis(by_column, order, axis=1)
    there = n - np.count_nonzero(np.isnan(ordered), axis=1)[:, np.newaxis]
    place = np.arange(n)
    is_new = np.zeros((D, n), dtype=bool)  # where another number begins
    is_new[:, 1:] = (ordered[:, 1:] != ordered[:, :-1]) & (place[1:] < there)
    many = np.flatnonzero(np.count_nonzero(is_new, axis=1) >= BINS)
    steps = is_new.astype(np.int8)
    if len(many):
        first = np.maximum.accumulate(np.where(is_new[many], place, 0), axis=1)  # of the numbers that equal this one
        edges = np.take_along_axis(first, there[many] * np.arange(1, BINS) // BINS, axis=1)
        steps[many] = 0
        np.add.at(steps, (many[:, np.newaxis], edges), 1)
    of_place = np.cumsum(steps, axis=1, dtype=np.int64)
    of_place[place >= there] = BINS
    bins = np.empty((D, n), dtype=np.int64)
    np.put_along_axis(bins, order, of_place, axis=1)
    bins += (BINS + 1) * np.arange(D)[:, np.newaxis]
    counts, sums = targets.binned(bins, (BINS + 1) * D)
    return _explained(counts.reshape(D, -1), sums.reshape(D, BINS + 1, -1), targets)


def _of_sparse(X: Matrix, targets: _Targets) -> Floats:
    n, D = X.shape
    require_columns(D, 64 + 32 * len(targets.total), "the relevance of columns")
    there = X.data != 0
    row = np.repeat(np.arange(n), np.diff(X.indptr))[there]
    column = X.indices[there].astype(np.int64)
    present, sums = np.bincount(column, minlength=D), targets.sums(column, row, D)
    counts = np.stack([n - present, present], axis=1)
    return _explained(counts, np.stack([targets.total - sums, sums], axis=1), targets)


def _explained(counts: NDArray[Any], sums: Floats, targets: _Targets) -> Floats:
    """Return the share of the variance that lies between bins, less what is there by chance.

    Parameters
    ----------
    counts : array of shape (D, bins)
        The rows in each bin of each column.
    sums : array of shape (D, bins, targets)
        The sums of their targets.
    targets : _Targets
    """
    n = len(targets.of_row)
    if targets.whole <= 0:
        return np.zeros(len(counts))
    between = ((sums**2).sum(axis=2) / np.maximum(counts, 1)).sum(axis=1) - (targets.total**2).sum() / n
    more_bins = np.count_nonzero(counts, axis=1) - 1
    return np.maximum(between / targets.whole - more_bins / n, np.sqrt(2 * more_bins) / n)
