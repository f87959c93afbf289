"""The GCWS hasher as a scikit-learn transformer."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gcwsnet import _core
from gcwsnet._memory import require_memory
from gcwsnet._threads import n_threads
from gcwsnet._validation import Matrix, as_floats, check_matrix, draw_seed, without_nan
from gcwsnet.hashing._codes import Codes, Origin, one_hot
from gcwsnet.hashing._hasher import DEFAULT_TABLE_MEMORY, FittedHasher, HasherSettings
from gcwsnet.hashing.parameters import HASH_VERSION
from gcwsnet.hashing.samplers import cap_table, check_caps, column_caps, expected_trials

MOST_FEATURE_NAMES = 2**24
MANY_TRIALS = 100
ROWS_TO_ESTIMATE_TRIALS = 1000


class GCWSHasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer that hashes rows of real numbers to k small integers, whose collision probability is pGMM.

    It is generalized consistent weighted sampling (Algorithm 1 of the paper), exact. The random parameters are a pure
    function of (seed, feature, hash), so a code does not depend on the batch, the row order, the number of threads,
    dense or CSR input, the process or the machine.

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
        appends that many low bits of t* to the b bits of i*.
    encoding : {"mixed", "lowbits"}, default="mixed"
        "mixed": b bits of a mix salted by seed and hash. "lowbits": the paper's practice, the low b bits of
        i*, counted column first (positive part of column i is i, negative part D + i); needs a number as
        `t_bits`, in the paper 0.
    output : {"codes", "onehot"}, default="codes"
        "codes": array of the smallest unsigned type, (n, k). "onehot": CSR, 2**(bits + t_bits) k columns with
        exactly k ones in each row.
    method : {"gcws", "rejection", "binwise", "extremal", "minwise"}, default="gcws"
        The sampler; ``docs/samplers.md`` compares them.

        - "gcws": Algorithm 1. Take this one unless there is a reason.
        - "rejection": points under the largest values of each column, which `fit` learns, until one lies under the
          row. The same law as "gcws"; quick only where most rows come close to these largest values, so for dense
          data and a small p. A larger value in `transform` is an error.
        - "binwise": each hash looks at its own share of the columns, so that the time grows little with the number
          of hashes. It estimates the mean of the kernels of these shares, which is another number.
        - "extremal": the lowest point of an extremal process. (i*, t*) has the law of "gcws"; i* alone
          (``t_bits=0``) has a law of its own in closed form. Slow.
        - "minwise": a row is the set of its non-zero entries, and the similarity that of Jaccard: minwise hashing.
          Quicker than "gcws" for 0/1 rows of many columns. The size of a number does not matter, its sign does. `p`
          has no effect, and another value than the default is an error.
    missing : {"error", "zero"}, default="error"
        What NaN means: an error, or a zero, that is, an entry that is not there.
    random_state : int, RandomState instance or None, default=None
        An int from 0 to 2**64 - 1 is the seed. None draws one when `fit` is called.
    n_jobs : int, default=None
        Number of threads; None is 1 and -1 is all, but not more than OMP_NUM_THREADS. The hash codes are the same for
        any `n_jobs`. It is the only parameter that may be changed after `fit`: each call reads it.
    table_memory : int, default=2**28
        Bytes that tables may take: 32 D k for the parameters and up to 98304 k for sorted lists of features; for
        0/1 rows only 2 D k, or 4 D k if there are -1 too. They are built when enough rows come. Where they do not
        fit, parameters are generated for every entry again, which is slower. The hash codes are the same for any
        `table_memory`. With "extremal" and "minwise", which keep no tables, another value than the default is an error.

    Attributes
    ----------
    code_bits : int
        The bits of a code: `bits`, and those of t* that a number as `t_bits` appends.
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

    Notes
    -----
    A parameter that is changed after `fit` takes effect with the next `fit`, except for `n_jobs`.

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
        missing: str = "error",
        random_state: Any = None,
        n_jobs: int | None = None,
        table_memory: int = DEFAULT_TABLE_MEMORY,
    ) -> None:
        self.n_hashes = n_hashes
        self.p = p
        self.bits = bits
        self.t_bits = t_bits
        self.encoding = encoding
        self.output = output
        self.method = method
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.table_memory = table_memory

    def fit(self, X: Any, y: Any = None) -> GCWSHasher:  # noqa: ARG002
        """Fix the parameters, the seed, the number of columns and, with ``method="rejection"``, the caps.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
            Its entries are checked to be finite. Except for the caps only its columns matter.
        y : ignored

        Returns
        -------
        self : GCWSHasher
        """
        settings = HasherSettings.checked(self.get_params(deep=False))
        n_threads(self.n_jobs)
        X = check_matrix(X, estimator=self, reset=True)
        settings.check_finite(X, self._column_names)
        seed = draw_seed(self.random_state)
        self._fitted, self.seed_ = settings, seed
        if settings.method == "rejection":
            self._learn_caps(X, None)
        self._make_core()
        return self

    def partial_fit(self, X: Any, y: Any = None) -> GCWSHasher:
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
        if not hasattr(self, "seed_"):
            return self.fit(X, y)
        X = check_matrix(X, estimator=self, reset=False)
        self._fitted.check_finite(X, self._column_names)
        if self._fitted.method == "rejection":
            self._learn_caps(X, self.caps_)
            self._use_caps()
        return self

    def _learn_caps(self, X: Matrix, caps: NDArray[np.float64] | None) -> None:
        require_memory(16 * X.shape[1] * 8, f"the caps of {X.shape[1]} columns", "use method='gcws'")
        self.caps_: NDArray[np.float64] = column_caps(X, caps)
        rows = as_floats(X[:: -(-X.shape[0] // ROWS_TO_ESTIMATE_TRIALS)])
        trials = expected_trials(without_nan(rows), self.caps_, self._fitted.p)
        self.expected_trials_ = float(trials[trials > 0].mean()) if trials.any() else 0.0
        if self.expected_trials_ > MANY_TRIALS:
            warnings.warn(
                f"method='rejection' needs {self.expected_trials_:.3g} trials for each hash of these rows, and is "
                f"quick only where some {MANY_TRIALS} do; use method='gcws', whose time does not depend on it",
                stacklevel=3,
            )

    def transform(self, X: Any) -> Any:
        """Return the codes of the rows of X, or their one-hot vectors.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
            Finite numbers; NaN only with ``missing="zero"``.

        Returns
        -------
        codes : array of unsigned integers, shape (n, k), or CSR matrix of shape (n, 2**(bits + t_bits) k)
        """
        X = self._check_input(X)
        fitted = self._fitted
        if fitted.output == "onehot":
            n, k, n_bytes = X.shape[0], fitted.n_hashes, self._native.code_dtype.itemsize + 12
            require_memory(n * k * n_bytes, f"the codes of {n} rows with {k} hashes each", "hash in batches")
        codes = self._native.codes(X, n_threads(self.n_jobs), self._column_names)
        return one_hot(codes, fitted.code_bits) if fitted.output == "onehot" else Codes(codes, self._origin())

    def samples(self, X: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the samples (i*, t*) of Algorithm 1, before they are encoded.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)

        Returns
        -------
        i_star, t_star : arrays of int64, shape (n, k)
            `i_star` counts the columns of `gmm_transform`. A row of zeros has -1 and 0.
        """
        X = self._check_input(X)
        return self._native.samples(X, n_threads(self.n_jobs), self._column_names)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the output columns: the class in lower case and a number."""
        check_is_fitted(self)
        if self._n_features_out > MOST_FEATURE_NAMES:
            raise ValueError(
                f"the one-hot output has {self._n_features_out} columns, too many to name one by one; "
                "use output='codes' or fewer bits"
            )
        return super().get_feature_names_out(input_features)

    @property
    def _n_features_out(self) -> int:
        return self._fitted.n_hashes << (self._fitted.code_bits if self._fitted.output == "onehot" else 0)

    @property
    def code_bits(self) -> int:
        """The bits of a code of a fitted hasher, with those of t* that are appended."""
        if not hasattr(self, "_fitted"):
            check_is_fitted(self)
        return self._fitted.code_bits

    @property
    def _column_names(self) -> Any:
        return getattr(self, "feature_names_in_", None)

    def _check_input(self, X: Any) -> Matrix:
        if not hasattr(self, "seed_"):
            check_is_fitted(self)
        X = check_matrix(X, estimator=self, reset=False)
        if self._fitted.method == "rejection":
            self._fitted.check_finite(X, self._column_names)
            check_caps(X, self.caps_, columns=self._column_names)
        return X

    def _use_caps(self) -> None:
        """Give the native core the caps to the power p."""
        self._native.core.use_caps(*cap_table(self.caps_, self._fitted.p))

    def _origin(self) -> Origin:
        """Return what decides the codes of a row, besides the row itself."""
        fitted = self._fitted
        return Origin(
            method=fitted.method,
            hash_version=HASH_VERSION,
            seed=self.seed_,
            p=fitted.p,
            bits=fitted.code_bits,
            t_bits=fitted.t_bits,
            encoding=fitted.encoding,
            columns=self.n_features_in_ if fitted.encoding == "lowbits" else None,
            caps=_digest(self.caps_) if fitted.method == "rejection" else None,
        )

    def _make_core(self, scan: _core.Scan = _core.Scan.AUTO) -> None:
        """Make the native hasher. Every scan gives the same samples; tests and benchmarks name one to compare them."""
        self._native = FittedHasher(self._fitted, self.seed_, self.n_features_in_, scan=scan)
        if self._fitted.method == "rejection":
            self._use_caps()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the native tables, which follow from the rest."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_native"}

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
