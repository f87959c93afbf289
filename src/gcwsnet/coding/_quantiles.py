"""Numeric columns brought to a normal distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix, as_floats

N_QUANTILES = 256
MOST_ROWS = 10_000
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
    some = as_floats(X[:: -(-X.shape[0] // MOST_ROWS)])
    by_column = np.sort(np.ascontiguousarray(some[:, kind == "numeric"].T), axis=1)  # NaN comes last
    there = np.count_nonzero(~np.isnan(by_column), axis=1)
    n = min(N_QUANTILES, len(some))
    places = ((np.arange(n) + 0.5) / n * there[:, None]).astype(np.int64)
    return QuantileScaling(kind, np.take_along_axis(by_column, places, axis=1).astype(np.float64))
