"""A fitted hasher: settings, a seed and a number of columns, with the tables of the native core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._memory import require_memory
from gcwsnet._validation import Matrix, row_batches
from gcwsnet.hashing._settings import METHODS, HasherSettings


class FittedHasher:
    """A function from checked rows to samples and codes, which `GCWSHasher` and coders have.

    Parameters
    ----------
    settings : HasherSettings
    seed : int
    n_features : int
        D, the columns of a row.
    scan : Scan
        The way through the features; every one gives the same samples.
    """

    def __init__(
        self, settings: HasherSettings, seed: int, n_features: int, *, scan: _core.Scan = _core.Scan.AUTO
    ) -> None:
        self.settings, self.seed, self.n_features = settings, seed, n_features
        self.code_dtype = np.min_scalar_type((1 << settings.code_bits) - 1)
        self.core = _core.Hasher(
            seed, n_features, settings.n_hashes, settings.table_memory, scan, METHODS[settings.method]
        )
        self._encoding = settings.native_encoding(n_features)

    def __getstate__(self) -> dict[str, Any]:
        """Return what the native tables follow from; those are not kept."""
        return {"settings": self.settings, "seed": self.seed, "n_features": self.n_features}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def codes(self, X: Matrix, n_threads: int, columns: Any = None) -> NDArray[Any]:
        """Return the codes of checked rows, of shape (n, k), in the smallest unsigned type.

        Parameters
        ----------
        X : array or canonical CSR of shape (n, D)
        n_threads : int
        columns : array of str, optional
            The names of the columns, for the error about a number that is not finite.
        """
        n, k = X.shape[0], self.settings.n_hashes
        require_memory(
            n * k * self.code_dtype.itemsize, f"the codes of {n} rows with {k} hashes each", "hash in batches"
        )
        codes = np.empty((n, k), dtype=self.code_dtype)
        self._write("codes", X, n_threads, columns, (self._encoding,), (codes,))
        return codes

    def samples(self, X: Matrix, n_threads: int, columns: Any = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the samples (i*, t*) of checked rows, each of shape (n, k)."""
        n, k = X.shape[0], self.settings.n_hashes
        require_memory(16 * n * k, f"the samples of {n} rows with {k} hashes each", "hash in batches")
        i_star, t_star = np.empty((n, k), dtype=np.int64), np.empty((n, k), dtype=np.int64)
        self._write("samples", X, n_threads, columns, (), (i_star, t_star))
        return i_star, t_star

    def _write(
        self,
        what: str,
        X: Matrix,
        n_threads: int,
        columns: Any,
        how: tuple[Any, ...],
        outputs: tuple[NDArray[Any], ...],
    ) -> None:
        form = "csr" if sparse.issparse(X) else "dense"
        write = getattr(self.core, f"{what}_of_{form}")
        p, nan_is_zero = self.settings.p, self.settings.nan_is_zero
        try:
            for first, batch in row_batches(X):
                rows = slice(first, first + batch.shape[0])
                to = outputs if batch is X else tuple(out[rows] for out in outputs)
                parts = (batch.data, batch.indices, batch.indptr) if form == "csr" else (batch,)
                write(*parts, p, nan_is_zero, *how, *to, n_threads)
        except FloatingPointError:
            self.settings.check_finite(X, columns)
            raise
