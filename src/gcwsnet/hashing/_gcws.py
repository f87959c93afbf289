"""The GCWS hasher as a scikit-learn transformer."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gcwsnet import _core
from gcwsnet._memory import require_memory
from gcwsnet._threads import n_threads
from gcwsnet._validation import (
    Matrix,
    as_floats,
    check_choice,
    check_finite,
    check_integer,
    check_matrix,
    check_power,
    draw_seed,
    row_batches,
)
from gcwsnet.encoding import Codes, Origin, one_hot
from gcwsnet.hashing.parameters import HASH_VERSION
from gcwsnet.hashing.samplers.caps import cap_table, check_caps, clip_to_caps, column_caps, expected_trials, without_nan

MOST_HASHES = 2**20
MOST_HASH_NUMBER = 2**31 - 1
MOST_FEATURE_NAMES = 2**24
METHODS = {
    "gcws": _core.Method.GCWS,
    "rejection": _core.Method.REJECTION,
    "binwise": _core.Method.BINWISE,
    "extremal": _core.Method.EXTREMAL,
}
MANY_TRIALS = 100
ROWS_TO_ESTIMATE_TRIALS = 1000


class GCWSHasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Hash rows of real numbers to k small integers whose collision probability is the pGMM kernel.

    Generalized consistent weighted sampling (Algorithm 1 of the paper), exact. The parameters are a pure
    function of (seed, feature, hash), so a code does not depend on the batch, the row order, the number of
    threads, dense or CSR input, the process or the machine.

    Parameters
    ----------
    n_hashes : int, default=256
        k, from 1 to 2**20. The standard error of an estimated similarity J is sqrt(J (1 - J) / k).
    p : float, default=1.0
        The power of the pGMM kernel, from 1e-6 to 1e6. Only p ln u is ever formed: no power overflows.
    bits : int, default=8
        b, from 1 to 32.
    t_bits : "all" or int from 0 to 8, default="all"
        "all" mixes t* into the b bits: the collision law is then exactly Theorem 2. 0 leaves t* out (the
        0-bit approximation, biased upwards where one feature dominates and p is large). A number from 1 to 8
        appends so many low bits of t* to the b bits of i*.
    encoding : {"mixed", "lowbits"}, default="mixed"
        "mixed": b bits of a mix salted by seed and hash. "lowbits": the paper's practice, the low b bits of
        i*, counted column first (positive part of column i is i, negative part D + i); needs a number as
        `t_bits`, in the paper 0.
    output : {"codes", "onehot"}, default="codes"
        "codes": array of the smallest unsigned type, (n, k). "onehot": CSR, 2**(bits + t_bits) k columns with
        exactly k ones in each row.
    method : {"gcws", "rejection", "binwise", "extremal"}, default="gcws"
        The sampler; ``docs/samplers.md`` compares them.

        - "gcws": Algorithm 1. Take this one unless there is a reason.
        - "rejection": points under the largest values of each column, which `fit` learns, until one lies under the
          row. The same law as "gcws"; quick only where most rows come close to these largest values, so for dense
          data and a small p.
        - "binwise": each hash looks at its own share of the columns, so that the time grows little with the number
          of hashes. It estimates the mean of the kernels of these shares, which is another number.
        - "extremal": the lowest point of an extremal process. (i*, t*) has the law of "gcws"; i* alone
          (``t_bits=0``) has a law of its own in closed form. Slow.
    hash_numbers : sequence of `n_hashes` int, default=None
        The numbers of the hashes, for "gcws" alone; None is 0, 1, 2, ... A hash depends on its number and the seed, so
        that some of many hashes can be kept: their codes are columns of the codes of all.
    above_cap : {"error", "clip"}, default="error"
        For "rejection": what happens to a value beyond the largest one seen in `fit`. "clip" puts it to that one
        and counts it in `n_clipped_`.
    missing : {"error", "zero"}, default="error"
        What NaN means: an error, or a zero, that is, an entry that is not there.
    random_state : int, RandomState instance or None, default=None
        An int from 0 to 2**64 - 1 is the seed. None draws one when `fit` is called.
    n_jobs : int, default=None
        Threads; None is 1 and -1 is all, but not more than OMP_NUM_THREADS. It changes no code.
    table_memory : int, default=2**28
        Bytes that tables may take: 32 D k for the parameters and up to 98304 k for sorted lists of features; for
        0/1 rows only 2 D k, or 4 D k if there are -1 too. They are made when enough rows come. Where they do not
        fit, parameters are generated for every entry again, which is slower. It changes no code.

    Attributes
    ----------
    seed_ : int
        The seed that chooses the parameters.
    n_features_in_ : int
        D, the columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, where X has names that are all strings.
    caps_ : array of float64, shape (2D,)
        With "rejection": the largest size of each column of `gmm_transform`.
    expected_trials_ : float
        With "rejection": how many trials a hash of a row of `fit` needs on average, estimated from at most 1000 rows.
    n_clipped_ : int
        With "rejection": values clipped since `fit`.

    Notes
    -----
    A zero entry is not there, whether it is stored or not. A row of zeros has the reserved sample i* = -1,
    t* = 0, which collides with other rows of zeros and, but for chance, with nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet import GCWSHasher
    >>> X = np.array([[-3.0, 17.0], [-2.0, 20.0], [4.0, 0.0]])
    >>> hasher = GCWSHasher(n_hashes=6, random_state=0).fit(X)
    >>> hasher.transform(X)
    array([[ 38, 176,  41,  36, 244, 118],
           [ 38, 182,  41,  62, 244, 118],
           [153, 221, 192,  49,  52, 135]], dtype=uint8)
    >>> i_star, t_star = hasher.samples(X)
    >>> i_star
    array([[2, 1, 1, 2, 2, 2],
           [2, 2, 1, 2, 2, 2],
           [0, 0, 0, 0, 0, 0]])
    """

    def __init__(
        self,
        n_hashes: int = 256,
        *,
        p: float = 1.0,
        bits: int = 8,
        t_bits: int | Literal["all"] = "all",
        encoding: str = "mixed",
        output: str = "codes",
        method: str = "gcws",
        hash_numbers: Sequence[int] | NDArray[Any] | None = None,
        above_cap: str = "error",
        missing: str = "error",
        random_state: Any = None,
        n_jobs: int | None = None,
        table_memory: int = 2**28,
    ) -> None:
        self.n_hashes = n_hashes
        self.p = p
        self.bits = bits
        self.t_bits = t_bits
        self.encoding = encoding
        self.output = output
        self.method = method
        self.hash_numbers = hash_numbers
        self.above_cap = above_cap
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.table_memory = table_memory

    def fit(self, X: Any, y: Any = None) -> GCWSHasher:  # noqa: ARG002
        """Fix the seed, the number of columns and, with ``method="rejection"``, the caps.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
            Its entries are checked to be finite. But for the caps only its columns matter.
        y : ignored

        Returns
        -------
        self : GCWSHasher
        """
        return self._learn(X, first=True)

    def partial_fit(self, X: Any, y: Any = None) -> GCWSHasher:  # noqa: ARG002
        """Go on fitting with further rows, as of a stream; the first call is a `fit`.

        With ``method="rejection"`` the caps are raised to the rows of X. Codes made with lower caps are others
        and cannot be compared with those made afterwards. With other methods nothing changes.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
        y : ignored

        Returns
        -------
        self : GCWSHasher
        """
        return self._learn(X, first=not hasattr(self, "seed_"))

    def _learn(self, X: Any, first: bool) -> GCWSHasher:
        self._check_parameters()
        n_threads(self.n_jobs)
        X = check_matrix(X, estimator=self, reset=first)
        self._check_finite(X)
        if first:
            self.seed_ = draw_seed(self.random_state)
            self._fitted_hashes = int(self.n_hashes)
            self._fitted_method = self.method
            self._fitted_numbers = None if self.hash_numbers is None else np.array(self.hash_numbers, dtype=np.uint32)
        if self._fitted_method == "rejection":
            self._learn_caps(X, first)
        if first:
            self._make_core()
        elif self._fitted_method == "rejection":
            self._use_caps()
        return self

    def _learn_caps(self, X: Matrix, first: bool) -> None:
        require_memory(16 * X.shape[1] * 8, f"the caps of {X.shape[1]} columns", "use method='gcws'")
        caps: NDArray[np.float64] | None = None if first else self.caps_
        self.caps_: NDArray[np.float64] = column_caps(X, caps)
        rows = as_floats(X[:: -(-X.shape[0] // ROWS_TO_ESTIMATE_TRIALS)])
        trials = expected_trials(without_nan(rows), self.caps_, float(self.p))
        self.expected_trials_ = float(trials[trials > 0].mean()) if trials.any() else 0.0
        if first:
            self.n_clipped_ = 0
        if self.expected_trials_ > MANY_TRIALS:
            warnings.warn(
                f"method='rejection' needs {self.expected_trials_:.3g} trials for each hash of these rows, and is "
                f"quick only where some {MANY_TRIALS} do; use method='gcws', whose time does not depend on it",
                stacklevel=4,
            )

    def transform(self, X: Any) -> Any:
        """Codes of the rows of X, or their one-hot vectors.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
            Finite numbers; NaN only with ``missing="zero"``.

        Returns
        -------
        codes : array of unsigned integers, shape (n, k), or CSR matrix of shape (n, 2**(bits + t_bits) k)
        """
        X = self._check_input(X)
        n, k = X.shape[0], self._fitted_hashes
        total_bits = self.code_bits
        dtype = np.min_scalar_type((1 << total_bits) - 1)
        bytes_per_code = dtype.itemsize + (12 if self.output == "onehot" else 0)
        require_memory(n * k * bytes_per_code, f"the codes of {n} rows with {k} hashes each", "hash in batches")
        codes = np.empty((n, k), dtype=dtype)
        encoding = _core.Encoding(
            self.encoding == "mixed",
            self.t_bits == "all",
            int(self.bits),
            total_bits - int(self.bits),
            X.shape[1] % 2**32,
        )
        how = (float(self.p), self.missing == "zero", encoding)
        self._hash(X, "codes", how, (codes,))
        return one_hot(codes, total_bits) if self.output == "onehot" else Codes(codes, self._origin())

    def samples(self, X: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The samples (i*, t*) of Algorithm 1, before they are encoded.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)

        Returns
        -------
        i_star, t_star : arrays of int64, shape (n, k)
            `i_star` counts the columns of `gmm_transform`. A row of zeros has -1 and 0.
        """
        X = self._check_input(X)
        shape = (X.shape[0], self._fitted_hashes)
        require_memory(
            16 * shape[0] * shape[1],
            f"the samples of {shape[0]} rows with {shape[1]} hashes each",
            "hash in batches",
        )
        i_star, t_star = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        self._hash(X, "samples", (float(self.p), self.missing == "zero"), (i_star, t_star))
        return i_star, t_star

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the output columns: the class in lower case and a number."""
        check_is_fitted(self)
        if self._n_features_out > MOST_FEATURE_NAMES:
            raise ValueError(
                f"the one-hot output has {self._n_features_out} columns, too many to name one by one; "
                "use output='codes' or fewer bits"
            )
        return super().get_feature_names_out(input_features)

    @property
    def _n_features_out(self) -> int:
        return self._fitted_hashes << (self.code_bits if self.output == "onehot" else 0)

    @property
    def code_bits(self) -> int:
        """The bits of a code, with those of t* that are appended."""
        return int(self.bits) + (0 if self.t_bits == "all" else int(self.t_bits))

    def _check_parameters(self) -> None:
        check_integer("n_hashes", self.n_hashes, 1, MOST_HASHES)
        check_power(self.p)
        check_integer("bits", self.bits, 1, 32)
        check_choice("encoding", self.encoding, ["mixed", "lowbits"])
        check_choice("output", self.output, ["codes", "onehot"])
        check_choice("method", self.method, list(METHODS))
        if self.hash_numbers is not None:
            self._check_hash_numbers(np.asarray(self.hash_numbers))
        check_choice("above_cap", self.above_cap, ["error", "clip"])
        check_choice("missing", self.missing, ["error", "zero"])
        if not isinstance(self.t_bits, str):
            check_integer("t_bits", self.t_bits, 0, 8)
        elif self.t_bits != "all":
            raise ValueError(f"t_bits must be 'all' or from 0 to 8, got t_bits={self.t_bits!r}")
        elif self.encoding == "lowbits":
            raise ValueError(
                "encoding='lowbits' keeps bits of i* and needs a number as t_bits, got t_bits='all'; "
                "the paper's practice is t_bits=0"
            )
        check_integer("table_memory", self.table_memory, 0, 2**48)

    def _check_hash_numbers(self, numbers: NDArray[Any]) -> None:
        if self.method != "gcws":
            raise ValueError(f"hash_numbers are for method='gcws' alone, got method={self.method!r}")
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise TypeError(f"hash_numbers must be a vector of integers, got {numbers.dtype} of shape {numbers.shape}")
        if len(numbers) != self.n_hashes:
            raise ValueError(f"there must be n_hashes={self.n_hashes} hash_numbers, got {len(numbers)}")
        bad = np.flatnonzero((numbers < 0) | (numbers > MOST_HASH_NUMBER))
        if len(bad):
            at = int(bad[0])
            raise ValueError(f"hash_numbers must be from 0 to {MOST_HASH_NUMBER}, hash_numbers[{at}] is {numbers[at]}")

    def _check_finite(self, X: Matrix) -> None:
        check_finite(
            X,
            nan_is_fine=self.missing == "zero",
            columns=getattr(self, "feature_names_in_", None),
            way_out_of_nan=", or take NaN as zero with missing='zero'",
        )

    def _check_input(self, X: Any) -> Matrix:
        if not hasattr(self, "seed_"):
            check_is_fitted(self)
        self._check_parameters()
        return check_matrix(X, estimator=self, reset=False)

    def _hash(self, X: Matrix, what: str, how: tuple[Any, ...], outputs: tuple[NDArray[Any], ...]) -> None:
        threads = n_threads(self.n_jobs)
        if self._fitted_method == "rejection":
            X = self._under_caps(X)
            if self._caps_power != float(self.p):
                self._use_caps()
        form = "csr" if sparse.issparse(X) else "dense"
        write = getattr(self._core, f"{what}_of_{form}")
        try:
            for first, batch in row_batches(X):
                rows = slice(first, first + batch.shape[0])
                parts = (batch.data, batch.indices, batch.indptr) if form == "csr" else (batch,)
                write(*parts, *how, *(out[rows] for out in outputs), threads)
        except FloatingPointError:
            self._check_finite(X)
            raise

    def _under_caps(self, X: Matrix) -> Matrix:
        """X if no size is above its cap, else an error or X clipped."""
        self._check_finite(X)
        if self.above_cap == "error":
            check_caps(X, self.caps_, columns=getattr(self, "feature_names_in_", None))
            return X
        X, n_above = clip_to_caps(X, self.caps_)
        self.n_clipped_ += n_above
        return X

    def _use_caps(self) -> None:
        """Give the native core the caps to the power p."""
        self._core.use_caps(*cap_table(self.caps_, float(self.p)))
        self._caps_power = float(self.p)

    def _origin(self) -> Origin:
        """What decides the codes, beside the row."""
        rejection = self._fitted_method == "rejection"
        return Origin(
            method=self._fitted_method,
            hash_version=HASH_VERSION,
            seed=self.seed_,
            p=float(self.p),
            bits=self.code_bits,
            t_bits=self.t_bits if isinstance(self.t_bits, str) else int(self.t_bits),
            encoding=self.encoding,
            columns=self.n_features_in_ if self.encoding == "lowbits" else None,
            caps=_digest(self.caps_) if rejection else None,
            hash_numbers=None if self._fitted_numbers is None else _digest(self._fitted_numbers),
        )

    def _make_core(self, scan: _core.Scan = _core.Scan.AUTO) -> None:
        """Make the native hasher. Every scan gives the same samples; tests and benchmarks name one to compare them."""
        method = METHODS[self._fitted_method]
        self._core = _core.Hasher(
            self.seed_,
            self.n_features_in_,
            self._fitted_hashes,
            self.table_memory,
            scan,
            method,
            None if self._fitted_numbers is None else self._fitted_numbers.tolist(),
        )
        if self._fitted_method == "rejection":
            self._use_caps()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the native tables, which follow from the rest."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_core"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "seed_"):
            self._make_core()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "zero"
        tags.transformer_tags.preserves_dtype = []
        return tags


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]
