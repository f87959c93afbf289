"""The parameters of a hasher, checked and frozen by `fit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._memory import require_memory
from gcwsnet._validation import Matrix, check_choice, check_finite, check_integer, check_power, row_batches

MOST_HASHES = 2**20

DEFAULT_TABLE_MEMORY = 2**28

METHODS = {
    "gcws": _core.Method.GCWS,
    "rejection": _core.Method.REJECTION,
    "binwise": _core.Method.BINWISE,
    "extremal": _core.Method.EXTREMAL,
    "minwise": _core.Method.MINWISE,
}

WITHOUT_TABLES = ("extremal", "minwise")


@dataclass(frozen=True, eq=False)
class HasherSettings:
    """The parameters of `GCWSHasher` that decide its output, as they were when `fit` was called.

    The attributes are the parameters of the same names, as plain Python values.
    """

    n_hashes: int
    p: float
    bits: int
    t_bits: int | Literal["all"]
    encoding: str
    output: str
    method: str
    missing: str
    table_memory: int

    @classmethod
    def checked(cls, parameters: Mapping[str, Any]) -> HasherSettings:
        """Return the settings that the parameters of a hasher mean.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of its range, or has no effect together with the others.
        """
        encoding = check_choice("encoding", parameters["encoding"], ["mixed", "lowbits"])
        method = check_choice("method", parameters["method"], list(METHODS))
        return cls(
            n_hashes=check_integer("n_hashes", parameters["n_hashes"], 1, MOST_HASHES),
            p=_check_p(parameters["p"], method),
            bits=check_integer("bits", parameters["bits"], 1, 32),
            t_bits=_check_t_bits(parameters["t_bits"], encoding),
            encoding=encoding,
            output=check_choice("output", parameters["output"], ["codes", "onehot"]),
            method=method,
            missing=check_choice("missing", parameters["missing"], ["error", "zero"]),
            table_memory=_check_table_memory(parameters["table_memory"], method),
        )

    @property
    def appended_bits(self) -> int:
        """The number of low bits of t* that are appended to the b bits."""
        return 0 if isinstance(self.t_bits, str) else self.t_bits

    @property
    def code_bits(self) -> int:
        """The bits of a code, with those of t* that are appended."""
        return self.bits + self.appended_bits

    @property
    def nan_is_zero(self) -> bool:
        """Whether NaN counts as zero."""
        return self.missing == "zero"

    def check_finite(self, X: Matrix, columns: Any = None) -> None:
        """Raise an error that names the first entry that is infinite, or NaN unless that counts as zero."""
        check_finite(
            X,
            nan_is_fine=self.nan_is_zero,
            columns=columns,
            way_out_of_nan=", or take NaN as zero with missing='zero'",
        )

    def native_encoding(self, n_columns: int) -> _core.Encoding:
        """Return the encoding for the native core."""
        return _core.Encoding(
            self.encoding == "mixed", self.t_bits == "all", self.bits, self.appended_bits, n_columns % 2**32
        )


def _check_t_bits(t_bits: Any, encoding: str) -> int | Literal["all"]:
    if not isinstance(t_bits, str):
        return check_integer("t_bits", t_bits, 0, 8)
    if t_bits != "all":
        raise ValueError(f"t_bits must be 'all' or from 0 to 8, got t_bits={t_bits!r}")
    if encoding == "lowbits":
        raise ValueError(
            "encoding='lowbits' keeps bits of i* and needs a number as t_bits, got t_bits='all'; "
            "the paper's practice is t_bits=0"
        )
    return "all"


def _check_table_memory(table_memory: Any, method: str) -> int:
    n_bytes = check_integer("table_memory", table_memory, 0, 2**48)
    if method in WITHOUT_TABLES and n_bytes != DEFAULT_TABLE_MEMORY:
        raise ValueError(
            f"table_memory has no effect with method={method!r}, which keeps no tables, got table_memory={n_bytes}; "
            "leave it out"
        )
    return n_bytes


def _check_p(p: Any, method: str) -> float:
    power = check_power(p)
    if method == "minwise" and power != 1:
        raise ValueError(
            f"p has no effect with method='minwise', which takes rows as sets, got p={power:g}; leave it out"
        )
    return power


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
