"""Random Fourier features for the RBF kernel, plain (RFF) and normalized (NRFF)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import norm as norm_of_csr
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gcwsnet._validation import Matrix, check_finite, check_integer, check_matrix, check_number, require_memory

BLOCK_BYTES = 1 << 24  # of the rows that are transformed at a time, besides the result


class RandomFourierFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer to features whose inner products estimate the RBF kernel exp(-gamma (1 - rho)).

    rho is the cosine of two rows: rows are first brought to length one. Feature j of a row u of length one is
    sqrt(2) cos(sqrt(gamma) <u, r_j> + w_j), with r_j normal and w_j uniform from 0 to 2 pi. The row of these k numbers
    is divided by its length (NRFF), or by sqrt(k) (RFF). Either way the inner product of two output rows estimates
    their kernel, with the variance of Theorem 5 of the paper.

    Parameters
    ----------
    n_components : int, default=1024
        k, the number of features, from 1 to 2**20. The standard error of an estimated kernel is at most 1 / sqrt(k).
    gamma : float, default=1.0
        The parameter of the kernel, from 1e-6 to 1e6, as the paper has it. It is twice the gamma of scikit-learn's
        `rbf_kernel` and `RBFSampler` on rows of length one: ||u - v||**2 = 2 (1 - rho), so that
        exp(-gamma (1 - rho)) = exp(-(gamma / 2) ||u - v||**2).
    normalize : bool, default=True
        Whether output rows have length one (NRFF). The variance is then less for all pairs of rows, most of all for
        similar ones. With False, output rows are left as they are (RFF), and the estimates have no bias. Input rows
        are brought to length one in both cases.
    random_state : int, RandomState instance or None, default=None
        An int gives the same features every time.

    Attributes
    ----------
    random_weights_ : float64 array of shape (D, k)
        sqrt(gamma) r_j in column j.
    random_offset_ : float64 array of shape (k,)
        w_j.
    n_features_in_ : int
        D, the columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, where X has names that are all strings.

    Notes
    -----
    A parameter that is changed after `fit` takes effect with the next `fit`.

    A row of zeros has no direction and stays a row of zeros. Its kernel is that of the origin: 1 with another row of
    zeros and exp(-gamma / 2) with every other row.

    The features of a row do not depend on the rows it comes with, nor on whether it is dense or CSR, but for the
    rounding of sums: some 1e-13 in float64 and 1e-5 in float32, more where gamma is large.

    See Also
    --------
    gcwsnet.theory.rbf_kernel, gcwsnet.theory.rff_variance, gcwsnet.theory.nrff_variance

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet import RandomFourierFeatures
    >>> X = np.array([[3.0, 4.0], [30.0, 40.0], [4.0, 3.0], [-3.0, -4.0]])
    >>> features = RandomFourierFeatures(10_000, gamma=2.0, random_state=0).fit_transform(X)
    >>> (features @ features[0]).round(2)
    array([1.  , 1.  , 0.92, 0.02])

    The exact kernel in scikit-learn, with half the gamma:

    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from sklearn.preprocessing import normalize
    >>> rbf_kernel(normalize(X), gamma=1.0)[0].round(2)
    array([1.  , 1.  , 0.92, 0.02])

    `RBFSampler` with half the gamma draws the same numbers as RFF:

    >>> from sklearn.kernel_approximation import RBFSampler
    >>> ours = RandomFourierFeatures(100, gamma=2.0, normalize=False, random_state=0).fit_transform(X)
    >>> theirs = RBFSampler(n_components=100, gamma=1.0, random_state=0).fit_transform(normalize(X))
    >>> np.allclose(ours, theirs)
    True
    """

    def __init__(
        self,
        n_components: int = 1024,
        *,
        gamma: float = 1.0,
        normalize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.normalize = normalize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RandomFourierFeatures:  # noqa: ARG002
        """Draw the random weights.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
            Only its columns matter; its entries are checked to be finite.
        y : ignored

        Returns
        -------
        self : RandomFourierFeatures
        """
        k = check_integer("n_components", self.n_components, 1, 2**20)
        gamma = check_number("gamma", self.gamma, 1e-6, 1e6)
        if not isinstance(self.normalize, (bool, np.bool_)):
            raise TypeError(f"normalize must be True or False, got normalize={self.normalize!r}")
        X = check_matrix(X, estimator=self, reset=True)
        self._check_finite(X)
        D = X.shape[1]
        require_memory(
            8 * D * k,
            f"the random weights of {D} columns and {k} components",
            "use fewer components, or feature-hash to fewer columns",
        )
        random = check_random_state(self.random_state)
        self.random_weights_ = random.standard_normal((D, k))
        self.random_weights_ *= math.sqrt(gamma)
        self.random_offset_ = random.uniform(0, 2 * np.pi, k)
        self._is_normalized = bool(self.normalize)
        return self

    def transform(self, X: Any) -> Any:
        """Return the random Fourier features of the rows of X.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
            Finite numbers of any size.

        Returns
        -------
        features : array of shape (n, k)
            float32 for float32, else float64.
        """
        check_is_fitted(self)
        given = X
        X = check_matrix(X, estimator=self, reset=False)
        self._check_finite(X)
        given_dtype = given.dtype if sparse.issparse(given) else X.dtype
        dtype = np.dtype(np.float32 if given_dtype.kind == "f" and given_dtype.itemsize == 4 else np.float64)
        n, (D, k) = X.shape[0], self.random_weights_.shape
        require_memory(
            dtype.itemsize * (n * k + (D * k if dtype == np.float32 else 0)),
            f"the features of {n} rows with {k} components each",
            "transform in batches",
        )
        weights = self.random_weights_.astype(dtype, copy=False)
        offset = self.random_offset_.astype(dtype, copy=False)
        features = np.empty((n, k), dtype=dtype)
        step = max(1, BLOCK_BYTES // (dtype.itemsize * (k if sparse.issparse(X) else max(D, k))))
        for first in range(0, n, step):
            block = features[first : first + step]
            block[:] = _unit_rows(X[first : first + step].astype(dtype)) @ weights
            block += offset
            np.cos(block, out=block)
            if self._is_normalized:
                block /= np.linalg.norm(block, axis=1, keepdims=True)
            else:
                block *= math.sqrt(2 / k)
        return features

    @property
    def _n_features_out(self) -> int:
        return int(self.random_weights_.shape[1])

    def _check_finite(self, X: Matrix) -> None:
        check_finite(X, columns=getattr(self, "feature_names_in_", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _unit_rows(X: Matrix) -> Matrix:
    """Divide the rows of a float matrix by their lengths, in place, and return it; rows of zeros are left alone.

    Entries are divided by the largest of their row first, so that no square overflows or vanishes.
    """
    for norm in ("max", "l2"):
        if isinstance(X, np.ndarray):
            lengths = np.maximum(X.max(axis=1), -X.min(axis=1)) if norm == "max" else np.linalg.norm(X, axis=1)
        elif norm == "max":
            lengths = abs(X).max(axis=1).toarray().ravel()
        else:
            lengths = norm_of_csr(X, axis=1)
        lengths[lengths == 0] = 1
        if isinstance(X, np.ndarray):
            X /= lengths[:, np.newaxis]
        else:
            X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X
