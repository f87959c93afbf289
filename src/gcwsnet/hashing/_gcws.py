"""The GCWS hasher as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gcwsnet._threads import n_threads
from gcwsnet._validation import Matrix, as_floats, check_choice, check_matrix, draw_seed, require_memory, without_nan
from gcwsnet.hashing._caps import column_caps, expected_trials
from gcwsnet.hashing._hasher import DEFAULT_TABLE_MEMORY, Codes, Hasher, one_hot

MAX_FEATURE_NAMES = 2**24


class GCWSHasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer of rows to k hash codes, on which two rows agree the more often the larger their pGMM kernel.

    This is generalized consistent weighted sampling (Algorithm 1 of the paper). The random parameters are a pure
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
        The sampler; ``docs/internals.md`` compares them.

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
        n_threads(self.n_jobs)
        output = check_choice("output", self.output, ["codes", "onehot"])
        X = check_matrix(X, estimator=self, reset=True)
        hasher = Hasher(
            self.n_hashes,
            seed=draw_seed(self.random_state),
            n_features=X.shape[1],
            p=self.p,
            bits=self.bits,
            t_bits=self.t_bits,
            encoding=self.encoding,
            method=self.method,
            missing=self.missing,
            table_memory=self.table_memory,
        )
        hasher.check_finite(X, getattr(self, "feature_names_in_", None))
        self._hasher, self._output, self.seed_ = hasher, output, hasher.seed
        if hasher.method == "rejection":
            self._raise_caps(X)
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
        if not hasattr(self, "_hasher"):
            return self.fit(X, y)
        X, names = self._check_input(X)
        self._hasher.check_finite(X, names)
        if self._hasher.method == "rejection":
            self._raise_caps(X)
        return self

    def _raise_caps(self, X: Matrix) -> None:
        """Raise the caps to the rows of X, and warn if rejection sampling is slow with them."""
        require_memory(16 * X.shape[1] * 8, f"the caps of {X.shape[1]} columns", "use method='gcws'")
        self.caps_: NDArray[np.float64] = column_caps(X, self._hasher.caps)
        self._hasher = self._hasher.replace(caps=self.caps_)
        rows = as_floats(X[:: -(-X.shape[0] // 1000)])
        trials = expected_trials(without_nan(rows), self.caps_, self._hasher.p)
        self.expected_trials_ = float(trials[trials > 0].mean()) if trials.any() else 0.0
        if self.expected_trials_ > 100:
            warnings.warn(
                f"method='rejection' needs {self.expected_trials_:.3g} trials for each hash of these rows, and is "
                "quick only where some 100 do; use method='gcws', whose time does not depend on it",
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
        X, names = self._check_input(X)
        hasher = self._hasher
        if self._output == "onehot":
            n, k, n_bytes = X.shape[0], hasher.n_hashes, hasher.code_dtype.itemsize + 12
            require_memory(n * k * n_bytes, f"the codes of {n} rows with {k} hashes each", "hash in batches")
        codes = hasher.codes(X, n_threads(self.n_jobs), names)
        return one_hot(codes, hasher.code_bits) if self._output == "onehot" else Codes(codes, hasher.origin)

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
        X, names = self._check_input(X)
        return self._hasher.samples(X, n_threads(self.n_jobs), names)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the output columns: the class in lower case and a number."""
        check_is_fitted(self)
        if self._n_features_out > MAX_FEATURE_NAMES:
            raise ValueError(
                f"the one-hot output has {self._n_features_out} columns, too many to name one by one; "
                "use output='codes' or fewer bits"
            )
        return super().get_feature_names_out(input_features)

    @property
    def _n_features_out(self) -> int:
        return self._hasher.n_hashes << (self._hasher.code_bits if self._output == "onehot" else 0)

    @property
    def code_bits(self) -> int:
        """The bits of a code of a fitted hasher, with those of t* that are appended."""
        check_is_fitted(self)
        return self._hasher.code_bits

    def _check_input(self, X: Any) -> tuple[Matrix, Any]:
        """Return X, checked, and the names of its columns."""
        if not hasattr(self, "_hasher"):  # quicker than scikit-learn's function, which a row hashed alone would feel
            check_is_fitted(self)
        return check_matrix(X, estimator=self, reset=False), getattr(self, "feature_names_in_", None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "zero"
        tags.transformer_tags.preserves_dtype = []
        return tags
