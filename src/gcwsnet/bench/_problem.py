"""Rows to hash, and what those who hash them share."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from scipy import sparse

from gcwsnet.bench._tables import ByHash, Floats, by_feature, by_hash
from gcwsnet.kernels import gmm_transform


class Problem:
    """Rows X, each to be hashed k times at the power p."""

    def __init__(self, X: Any, p: float, n_hashes: int) -> None:
        self.X, self.p, self.n_hashes = X, p, n_hashes
        self.is_sparse = bool(sparse.issparse(X))
        self.is_signed = bool((X.data if self.is_sparse else X).min() < 0)
        self.is_zero_one = bool(((X.data if self.is_sparse else X) == 1).all())

    @property
    def features(self) -> range:
        """Features that can have a weight: all, or only the positive parts of the columns."""
        return range(0, 2 * self.X.shape[1], 1 if self.is_signed else 2)

    @property
    def entries(self) -> int:
        """Features of a row that whoever looks at all of them looks at."""
        return max(1, self.X.nnz // self.X.shape[0]) if self.is_sparse else len(self.features)

    @cached_property
    def table(self) -> Any:
        """Parameters for those who hold them: made once."""
        make: Any = by_feature if self.is_sparse else by_hash
        table: ByHash | Floats = make(self.features, self.n_hashes)
        return table

    def weights(self, X: Any) -> Any:
        """Non-negative weights of rows of X: for those who take no negative numbers."""
        return gmm_transform(X) if self.is_signed else X
