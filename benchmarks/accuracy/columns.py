"""Columns of numbers and of strings, with missing values, in the way each library documents for them.

Rows that are an array or a CSR matrix have neither strings nor missing values, and are given as they are, or
standardised (tf-idf for counts) where a learner needs that. A frame is prepared within the time of a fit.
"""

from __future__ import annotations

from typing import Any

from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MAX_ONE_HOT = 100
"""One-hot columns of a column of strings; rarer strings share one."""


def is_frame(X: Any) -> bool:
    """Return whether X is a pandas frame."""
    return hasattr(X, "columns")


def string_columns(frame: Any) -> list[str]:
    """Return the names of the columns that do not hold numbers."""
    from pandas.api.types import is_numeric_dtype

    return [name for name in frame.columns if not is_numeric_dtype(frame[name])]


class Categories(TransformerMixin, BaseEstimator):
    """A frame with columns of strings as pandas categories; strings that `fit` has not met are missing.

    Parameters
    ----------
    most : int, optional
        The most frequent strings of a column that are kept; the others are missing.
    impute : bool
        Whether missing numbers are the median of their column.
    """

    def __init__(self, most: int | None = None, impute: bool = False) -> None:
        self.most, self.impute = most, impute

    def fit(self, X: Any, y: Any = None) -> Categories:  # noqa: ARG002
        """Learn the strings and the medians."""
        self.categories_ = {name: list(X[name].value_counts().index[: self.most]) for name in string_columns(X)}
        self.medians_ = X.drop(columns=list(self.categories_)).median() if self.impute else {}
        return self

    def transform(self, X: Any) -> Any:
        """Return the frame with categories."""
        import pandas

        columns = {}
        for name, known in self.categories_.items():
            codes = pandas.Index(known).get_indexer(X[name])
            columns[name] = pandas.Categorical.from_codes(codes, categories=known)
        return X.assign(**columns).fillna(self.medians_) if len(self.medians_) else X.assign(**columns)


class Strings(TransformerMixin, BaseEstimator):
    """A frame whose missing strings are the string "missing", as CatBoost wants it."""

    def fit(self, X: Any, y: Any = None) -> Strings:  # noqa: ARG002
        """Learn which columns hold strings."""
        self.names_ = string_columns(X)
        return self

    def transform(self, X: Any) -> Any:
        """Return the frame without missing strings."""
        return X.assign(**{name: X[name].astype(object).fillna("missing").astype(str) for name in self.names_})


def with_categories(model: Any, X: Any, most: int | None = None, *, impute: bool = False) -> Any:
    """Return a model that is given pandas categories if X is a frame, and else the rows as they are."""
    return make_pipeline(Categories(most, impute), model) if is_frame(X) else model


def one_hot(X: Any, *models: Any, scaled: bool) -> Any:
    """Return a pipeline of models that are given one-hot columns for strings, and medians for missing numbers.

    With `scaled` columns of numbers are standardised, or rows of counts weighted by tf-idf.
    """
    scaler = [StandardScaler()] if scaled else []
    if not is_frame(X):
        return make_pipeline(*([TfidfTransformer()] if scaled and sparse.issparse(X) else scaler), *models)
    strings = string_columns(X)
    numbers = [name for name in X.columns if name not in strings]
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MAX_ONE_HOT, sparse_output=False)
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), *scaler), numbers), (encoder, strings)
    )
    return make_pipeline(columns, *models)
