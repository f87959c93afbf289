"""The preprocessing of rows before they are hashed: columns are scaled and weighted, and missing values are marked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix, as_floats, require_columns, rounded
from gcwsnet.tables._relevance import column_weights, explained, explained_by_values, with_least
from gcwsnet.tables._scaling import (
    FOR_DENSE_ROWS,
    LevelScaling,
    Scaling,
    WiderScaling,
    arrays_of,
    categorical_columns,
    fit_scaling,
    scaling_of,
)

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Recipe:
    """The settings of a preprocessing.

    Attributes
    ----------
    scale : str or None
        The scaling of columns, see `fit_scaling`; None leaves them as they are.
    relevance : float
        The power of the columns' relevance that they are multiplied by; 0 treats all alike.
    indicators : bool
        Whether columns with missing values get a second column that marks these.
    """

    scale: str | None = "numeric"
    relevance: float = 0.0
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
            together = column_weights(with_least(np.concatenate(shares)), recipe.relevance)
            weights = list(np.split(together, np.cumsum([len(one) for one in shares])[:-1]))
        found = [
            Preprocessing(one, self.parts[part].shape[1], scalings[part], weights[part], self._missing_in(part, one))
            for part, one in enumerate(recipes)
        ]
        return found[0] if self.numeric is None else TablePreprocessing(self.numeric, *found)

    def _scaling(self, part: int, scale: str | None) -> Scaling | None:
        if (part, scale) not in self._scalings:
            X = self.parts[part]
            if scale == "codes" and self._levels is None and self.target is not None and not sparse.issparse(X):
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
