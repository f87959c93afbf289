"""The hasher of GCWS, which needs neither scikit-learn nor SciPy, and the codes that it makes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._validation import (
    Matrix,
    check_choice,
    check_finite,
    check_integer,
    check_power,
    require_memory,
    row_batches,
)
from gcwsnet.hashing._caps import cap_table, check_caps
from gcwsnet.hashing.parameters import HASH_VERSION

MAX_HASHES = 2**20
MAX_POSITIONS = 2**52  # of one-hot vectors that are sketched
DEFAULT_TABLE_MEMORY = 2**28
METHODS = {
    "gcws": _core.Method.GCWS,
    "rejection": _core.Method.REJECTION,
    "binwise": _core.Method.BINWISE,
    "extremal": _core.Method.EXTREMAL,
    "minwise": _core.Method.MINWISE,
}


@dataclass(frozen=True)
class Origin:
    """All that decides the codes of a row besides the row itself: codes of equal origins can be compared.

    `bits` counts those appended from t*, `columns` is D where the encoding depends on it, and `caps` is a digest of the
    caps of rejection sampling.
    """

    method: str
    hash_version: int
    seed: int
    p: float
    bits: int
    t_bits: int | str
    encoding: str
    columns: int | None = None
    caps: str | None = None


class Codes(np.ndarray[Any, Any]):
    """An array of codes with its `origin`, which its slices and copies keep.

    What is computed from codes is a plain array. `origin` is None where it is not known, as for codes that were put
    together from several arrays.

    Examples
    --------
    >>> from gcwsnet import GCWSHasher
    >>> codes = GCWSHasher(4, random_state=7).fit_transform([[1.0, 2.0], [3.0, 0.0]])
    >>> codes[:1].origin.method, codes.origin.seed
    ('gcws', 7)
    >>> type(codes % 2).__name__
    'ndarray'
    """

    origin: Origin | None

    def __new__(cls, codes: Any, origin: Origin) -> Codes:
        """Return `codes`, not copied, as codes of that origin."""
        array = np.asarray(codes).view(cls)
        array.origin = origin
        return array

    def __array_finalize__(self, base: Any) -> None:
        self.origin = getattr(base, "origin", None)

    def __array_wrap__(self, result: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(result)
        return plain[()] if return_scalar else plain

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __reduce__(self) -> Any:
        plain: Any = super().__reduce__()
        make, arguments, state = plain
        return make, arguments, (state, self.origin)

    def __setstate__(self, state: Any) -> None:
        array_state, self.origin = state
        super().__setstate__(array_state)


def check_comparable(arrays: Iterable[Any], bits: int) -> None:
    """Raise a ValueError if codes are known to be of different origins, or not to have `bits` bits."""
    origins = [array.origin for array in arrays if isinstance(array, Codes) and array.origin is not None]
    for origin in origins:
        if origin.bits != bits:
            raise ValueError(f"bits must be the bits of the codes, which is {origin.bits}, got bits={bits}")
        for field in fields(Origin):
            first, other = getattr(origins[0], field.name), getattr(origin, field.name)
            if first != other:
                raise ValueError(
                    "codes can only be compared if one hasher made them, or hashers that agree in all that decides "
                    f"a code; these have {field.name}={first!r} and {field.name}={other!r}"
                )


def one_hot(codes: NDArray[Any], bits: int) -> Any:
    """Return the one-hot vectors of codes side by side: 2**bits columns for each hash, exactly one 1 in each.

    Examples
    --------
    The paper's example, k = 3 and b = 2 (the paper counts the places of a block from the right):

    >>> one_hot(np.array([[3, 0, 1]], dtype=np.uint8), bits=2).toarray().astype(int)
    array([[0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0]])
    """
    n, k = codes.shape
    n_columns = k << bits
    index_type = np.int32 if max(n_columns, n * k) <= np.iinfo(np.int32).max else np.int64
    indices: NDArray[Any] = codes.astype(index_type)
    indices += np.arange(0, n_columns, 1 << bits, dtype=index_type)
    indptr = np.arange(0, n * k + 1, k, dtype=index_type)
    return sparse.csr_matrix((np.ones(n * k, dtype=np.float32), indices.reshape(-1), indptr), shape=(n, n_columns))


def reduction_factor(reduction: int | str | None, bits: int | None) -> int:
    """Return m, the factor by which a sketch makes vectors shorter, for a `reduction` as `CountSketch` takes it."""
    if reduction is None:
        return 1
    if not isinstance(reduction, str):
        return check_integer("reduction", reduction, 1, MAX_POSITIONS)
    if reduction != "8bit":
        raise ValueError(f"reduction must be an integer, '8bit' or None, got reduction={reduction!r}")
    if bits is None:
        raise ValueError("reduction='8bit' is 2**8 bins for each hash and needs the bits of codes, got bits=None")
    return 1 << max(bits - 8, 0)


class Hasher:
    """A fitted hasher, which is not changed any more: a function from checked rows to samples (i*, t*) and codes.

    The parameters are those of `GCWSHasher`, with the seed and the columns D of a row; "rejection" needs `caps`, the
    largest size of each column of `gmm_transform`. Each `scan` gives the same samples; tests compare them.

    Examples
    --------
    >>> Hasher(4, seed=0, n_features=2).codes(np.array([[-3.0, 17.0]]))
    array([[ 38, 176,  41,  36]], dtype=uint8)
    """

    def __init__(
        self,
        n_hashes: int = 256,
        *,
        seed: int,
        n_features: int,
        p: float = 1.0,
        bits: int = 8,
        t_bits: int | Literal["all"] = "all",
        encoding: str = "mixed",
        method: str = "gcws",
        missing: str = "error",
        table_memory: int = DEFAULT_TABLE_MEMORY,
        caps: NDArray[np.float64] | None = None,
        scan: _core.Scan = _core.Scan.AUTO,
    ) -> None:
        self.seed = check_integer("seed", seed, 0, 2**64 - 1)
        self.n_features = n_features
        self.n_hashes = check_integer("n_hashes", n_hashes, 1, MAX_HASHES)
        self.p = check_power(p)
        self.bits = check_integer("bits", bits, 1, 32)
        self.encoding = check_choice("encoding", encoding, ["mixed", "lowbits"])
        self.method = check_choice("method", method, list(METHODS))
        self.missing = check_choice("missing", missing, ["error", "zero"])
        self.table_memory = check_integer("table_memory", table_memory, 0, 2**48)
        self.caps = caps
        self.scan = scan
        self.t_bits = t_bits
        if not isinstance(t_bits, str):
            self.t_bits = check_integer("t_bits", t_bits, 0, 8)
        elif t_bits != "all":
            raise ValueError(f"t_bits must be 'all' or from 0 to 8, got t_bits={t_bits!r}")
        elif self.encoding == "lowbits":
            raise ValueError(
                "encoding='lowbits' keeps bits of i* and needs a number as t_bits, got t_bits='all'; "
                "the paper's practice is t_bits=0"
            )
        if self.method == "minwise" and self.p != 1:
            raise ValueError(
                f"p has no effect with method='minwise', which takes rows as sets, got p={self.p:g}; leave it out"
            )
        if self.method in ("extremal", "minwise") and self.table_memory != DEFAULT_TABLE_MEMORY:
            raise ValueError(
                f"table_memory has no effect with method={method!r}, which keeps no tables, got "
                f"table_memory={self.table_memory}; leave it out"
            )
        self.appended_bits = 0 if isinstance(self.t_bits, str) else self.t_bits
        self.code_bits = self.bits + self.appended_bits
        self.code_dtype = np.min_scalar_type((1 << self.code_bits) - 1)
        self._core = _core.Hasher(self.seed, n_features, self.n_hashes, self.table_memory, scan, METHODS[self.method])
        self._encoding = _core.Encoding(
            self.encoding == "mixed", t_bits == "all", self.bits, self.appended_bits, n_features % 2**32
        )
        if caps is not None:
            self._core.use_caps(*cap_table(caps, self.p))
        self.origin = Origin(
            method=self.method,
            hash_version=HASH_VERSION,
            seed=self.seed,
            p=self.p,
            bits=self.code_bits,
            t_bits=self.t_bits,
            encoding=self.encoding,
            columns=n_features if self.encoding == "lowbits" else None,
            caps=None if caps is None else hashlib.sha256(caps.tobytes()).hexdigest()[:16],
        )

    def codes(self, X: Matrix, n_threads: int = 1, columns: Any = None) -> NDArray[Any]:
        """Return the codes of checked rows, of shape (n, k); `columns` are the names of columns for errors."""
        n, k = X.shape[0], self.n_hashes
        n_bytes = n * k * self.code_dtype.itemsize
        require_memory(n_bytes, f"the codes of {n} rows with {k} hashes each", "hash in batches")
        codes = np.empty((n, k), dtype=self.code_dtype)
        self._write("codes", X, n_threads, columns, (self._encoding,), (codes,))
        return codes

    def samples(
        self, X: Matrix, n_threads: int = 1, columns: Any = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the samples (i*, t*) of checked rows, each of shape (n, k)."""
        n, k = X.shape[0], self.n_hashes
        require_memory(16 * n * k, f"the samples of {n} rows with {k} hashes each", "hash in batches")
        i_star, t_star = np.empty((n, k), dtype=np.int64), np.empty((n, k), dtype=np.int64)
        self._write("samples", X, n_threads, columns, (), (i_star, t_star))
        return i_star, t_star

    def _write(
        self, what: str, X: Matrix, n_threads: int, columns: Any, how: tuple[Any, ...], outputs: tuple[Any, ...]
    ) -> None:
        """Let the native core write the codes or the samples of X to the outputs."""
        if self.caps is not None:
            self.check_finite(X, columns)
            check_caps(X, self.caps, columns=columns)
        is_dense = isinstance(X, np.ndarray)
        write = getattr(self._core, f"{what}_of_{'dense' if is_dense else 'csr'}")
        try:
            for first, batch in row_batches(X):
                parts = (batch,) if is_dense else (batch.data, batch.indices, batch.indptr)
                to = (out[first : first + batch.shape[0]] for out in outputs)
                write(*parts, self.p, self.missing == "zero", *how, *to, n_threads)
        except FloatingPointError:
            self.check_finite(X, columns)
            raise

    def check_finite(self, X: Matrix, columns: Any = None) -> None:
        """Raise an error that names the first entry that is infinite, or NaN unless that counts as zero."""
        check_finite(
            X,
            nan_is_fine=self.missing == "zero",
            columns=columns,
            way_out_of_nan=", or take NaN as zero with missing='zero'",
        )

    def replace(self, **changes: Any) -> Hasher:
        """Return a hasher with other settings."""
        return Hasher(**self.__getstate__() | changes)

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters of the constructor, from which all else follows, as the native tables do."""
        derived = ("appended_bits", "code_bits", "code_dtype", "origin", "_core", "_encoding")
        return {name: value for name, value in vars(self).items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
