"""Count-sketch: long vectors summed into bins with random signs, Theorems 3 and 4 of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gcwsnet._keys import SKETCH, keys
from gcwsnet._validation import Matrix, as_floats, check_finite, check_integer, check_matrix, draw_seed, require_memory
from gcwsnet.hashing._hasher import MAX_POSITIONS, one_hot, reduction_factor

MAX_BINS = 2**32
MAX_FEATURE_NAMES = 2**24
DEFAULT_REDUCTION = 16
BATCH = 1 << 16  # entries at a time, so that what is made of them stays in the cache


def bins_and_signs(seed: int, positions: ArrayLike, n_bins: int) -> tuple[NDArray[np.uint64], NDArray[np.int8]]:
    """Return the bins, from 0 to n_bins - 1, and signs of positions below 2**52, a pure function of (seed, position).

    Key n of the stream of the sketch is that of position n: its upper half chooses the bin, its lowest bit the
    sign. Code c of hash j has position 2**b j + c, its column in the one-hot vector.
    """
    low, high = keys(seed, SKETCH, positions)
    bins = (high.astype(np.uint64) * np.uint64(n_bins)) >> np.uint64(32)
    return bins, 1 - 2 * (low & np.uint32(1)).astype(np.int8)


class CountSketch(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer that makes vectors shorter by summing their entries into B bins with random signs (count-sketch).

    Inner products of sketches are those of the vectors in the mean. With `bits` the rows are codes, and their one-hot
    vectors of 2**b k places are sketched without being formed: a model then has B inputs instead of 2**b k (Theorem 4
    of the paper). Without `bits` the rows are sketched as they are. The bin and the sign of a position are a pure
    function of (seed, position); no table of them is kept.

    Parameters
    ----------
    reduction : int, "8bit" or None, default=16
        m, the factor by which the vectors get shorter: B = 2**b k / m, rounded up where m does not divide. None and 1
        are no reduction: the vectors stay as they are, without signs and collisions. "8bit" is the practice that the
        paper recommends, 2**8 bins for each hash: m = 2**(b - 8), and no reduction for b up to 8.
    n_bins : int, default=None
        B itself, from 1 to 2**32, in place of `reduction`, which is then left at its default. The vectors are
        sketched in any case, even into as many bins as they have places.
    bits : int, default=None
        b, the bits of a code, from 1 to 32, with those that the hasher's `t_bits` appended. None for rows that are not
        codes.
    random_state : int, RandomState instance or None, default=None
        An int from 0 to 2**64 - 1 is the seed. None draws one when `fit` is called. Without a reduction nothing is
        random.

    Attributes
    ----------
    n_bins_ : int
        B, the columns of a sketch.
    seed_ : int
        The seed that chooses bins and signs.
    n_features_in_ : int
        The columns seen in `fit`; for codes k.
    feature_names_in_ : array of str
        Their names, where X has names that are all strings.

    Notes
    -----
    A parameter that is changed after `fit` takes effect with the next `fit`.

    With P_b of Theorem 2, the inner product of two sketches over k has the mean P_b and the variance
    P_b (1 - P_b) / k + (1 + P_b**2 - P_b**2 / k - P_b / k) / B (Theorem 4). The second part is the price of the sketch.

    The sketches of codes are of a small integer type, in which inner products overflow. Convert them first, for
    example with ``Z.astype(float)``; `estimate_similarity` does so itself.

    Examples
    --------
    >>> from gcwsnet import CountSketch, GCWSHasher, estimate_similarity
    >>> codes = GCWSHasher(n_hashes=4096, bits=16, random_state=0).fit_transform([[1.0, 5.0, -2.0], [1.5, 4.0, -2.0]])
    >>> Z = CountSketch("8bit", bits=16, random_state=0).fit_transform(codes)
    >>> Z.shape, Z.dtype
    ((2, 1048576), dtype('int16'))
    >>> estimate_similarity(Z, Z, bits=16, n_hashes=4096).round(2)
    array([[1.  , 0.83],
           [0.83, 1.  ]])
    """

    def __init__(
        self,
        reduction: int | Literal["8bit"] | None = DEFAULT_REDUCTION,
        *,
        n_bins: int | None = None,
        bits: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.reduction = reduction
        self.n_bins = n_bins
        self.bits = bits
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> CountSketch:  # noqa: ARG002
        """Fix the seed, the number of columns and the number of bins.

        Parameters
        ----------
        X : codes of shape (n, k); without `bits` array, CSR matrix or array, or frame, of shape (n, D)
            Only its columns matter; its entries are checked.
        y : ignored

        Returns
        -------
        self : CountSketch
        """
        bits = None if self.bits is None else check_integer("bits", self.bits, 1, 32)
        m, n_bins = 0, 0  # the one that is not given follows from the other
        if self.n_bins is None:
            m = reduction_factor(self.reduction, bits)
        elif self.reduction == DEFAULT_REDUCTION:
            n_bins = check_integer("n_bins", self.n_bins, 1, MAX_BINS)
        else:
            raise ValueError(
                "give reduction or n_bins, not both: one follows from the other; "
                f"got reduction={self.reduction!r} and n_bins={self.n_bins!r}"
            )
        X = self._check_input(X, bits, reset=True)
        n_positions = X.shape[1] << (bits or 0)
        if n_positions > MAX_POSITIONS:
            raise ValueError(
                f"there must be at most 2**52 positions, got 2**{bits} for each of {X.shape[1]} hashes; use fewer bits"
            )
        n_bins = n_bins or -(-n_positions // m)
        if m != 1 and n_bins > MAX_BINS:
            raise ValueError(
                f"a sketch must have at most 2**32 bins, got {n_bins} with reduction={m} of {n_positions} positions; "
                "use a larger reduction"
            )
        self.seed_ = draw_seed(self.random_state)
        self.n_bins_ = n_bins
        self._bits, self._is_sketched = bits, m != 1
        return self

    def transform(self, X: Any) -> Any:
        """Return the sketches of the rows of X.

        Parameters
        ----------
        X : codes of shape (n, k); without `bits` array, CSR matrix or array, or frame, of shape (n, D)
            Codes are integers below 2**b in an array or frame; other entries are finite numbers.

        Returns
        -------
        Z : CSR matrix of shape (n, B), or CSR array if X is one
            Of codes: the smallest signed integers that hold -k to k. Else float32 if that holds every number of the
            type of X, or float64. Indices are sorted and unique, and no zero is stored.
        """
        check_is_fitted(self)
        bits = self._bits
        X = self._check_input(X, bits, reset=False)
        form = sparse.csr_matrix if isinstance(X, np.ndarray) else type(X)
        dtype = as_floats(X[:1]).dtype if bits is None else np.min_scalar_type(-X.shape[1] - 1)
        self._require_memory(X, dtype)
        if not self._is_sketched:
            Z = form(as_floats(X), copy=True) if bits is None else one_hot(X, bits).astype(dtype)
            Z.eliminate_zeros()
            return Z
        if bits is None:
            parts = [_sketch_rows(rows, self.seed_, self.n_bins_, dtype) for rows in _batches_of_rows(X)]
        else:
            step = max(1, BATCH // X.shape[1])
            batches = (X[first : first + step] for first in range(0, X.shape[0], step))
            parts = [_sketch_codes(codes, bits, self.seed_, self.n_bins_, dtype) for codes in batches]
        counts, bins, sums = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        Z = form((sums, bins, np.append(0, np.cumsum(counts))), shape=(X.shape[0], self.n_bins_))
        if bits is None:
            _check_sums(Z)
        return Z

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the bins: the class in lower case and a number."""
        check_is_fitted(self)
        if self.n_bins_ > MAX_FEATURE_NAMES:
            raise ValueError(f"the sketch has {self.n_bins_} columns, too many to name one by one; use fewer bins")
        return super().get_feature_names_out(input_features)

    @property
    def _n_features_out(self) -> int:
        return self.n_bins_

    def _check_input(self, X: Any, bits: int | None, *, reset: bool) -> Matrix:
        if bits is None:
            X = check_matrix(X, estimator=self, reset=reset, max_columns=MAX_POSITIONS)
            check_finite(X, columns=getattr(self, "feature_names_in_", None))
            return X
        if sparse.issparse(X):
            raise TypeError(
                f"with bits={bits} X must be an array of codes, got a sparse matrix; "
                "a one-hot matrix is sketched with bits=None"
            )
        X = check_matrix(X, estimator=self, reset=reset)
        _check_codes(X, bits)
        return X

    def _require_memory(self, X: Matrix, dtype: np.dtype[Any]) -> None:
        n_entries = X.nnz if sparse.issparse(X) else X.size if self._bits else int(np.count_nonzero(X))
        n_stored = min(n_entries, X.shape[0] * self.n_bins_)
        bytes_each = dtype.itemsize + (4 if max(n_stored, self.n_bins_) < 2**31 else 8)
        require_memory(2 * n_stored * bytes_each, f"the sketches of {X.shape[0]} rows", "sketch them in batches")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.bits is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"] if self.bits is None else []
        return tags


def _check_codes(codes: NDArray[Any], bits: int) -> None:
    if codes.dtype.kind not in "ui":
        raise TypeError(
            f"with bits={bits} X must hold codes, which are integers, got the type {codes.dtype}; "
            "real numbers are sketched with bits=None"
        )
    if codes.dtype.kind == "u" and 8 * codes.itemsize <= bits:
        return
    if int(codes.min()) < 0 or int(codes.max()) >= 1 << bits:
        row, column = divmod(int(np.argmax((codes < 0) | (codes >= 1 << bits))), codes.shape[1])
        raise ValueError(
            f"codes must be from 0 to {(1 << bits) - 1} with bits={bits}, X[{row}, {column}] is {codes[row, column]}; "
            "give the bits of the hasher, with those that t_bits appended"
        )


def _check_sums(Z: Matrix) -> None:
    bad = np.flatnonzero(~np.isfinite(Z.data))
    if len(bad):
        row = int(np.searchsorted(Z.indptr, bad[0], side="right")) - 1
        raise ValueError(
            f"the sum of a bin must be in the range of {Z.dtype}, that of row {row} in bin {Z.indices[bad[0]]} "
            "is not; scale X down"
        )


SparseRows = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""CSR rows with the number of entries of each row in place of the index pointer: counts, columns, values."""


def _batches_of_rows(X: Matrix) -> Iterator[SparseRows]:
    """Yield the rows of X, some at a time."""
    first, n = 0, X.shape[0]
    while first < n:
        if isinstance(X, np.ndarray):
            end = min(n, first + max(1, BATCH // X.shape[1]))
            batch = as_floats(X[first:end])
            rows, columns = np.nonzero(batch)
            yield np.bincount(rows, minlength=end - first), columns, batch[rows, columns]
        else:
            full = int(np.searchsorted(X.indptr, int(X.indptr[first]) + BATCH, side="right")) - 1
            end = min(max(full, first + 1), first + BATCH)
            stored = slice(X.indptr[first], X.indptr[end])
            yield np.diff(X.indptr[first : end + 1]), X.indices[stored], X.data[stored]
        first = end


def _sketch_rows(rows: SparseRows, seed: int, n_bins: int, dtype: np.dtype[Any]) -> SparseRows:
    """Return the sketches of rows of numbers."""
    counts, columns, values = rows
    bins, signs = bins_and_signs(seed, columns, n_bins)
    places = np.repeat(np.arange(len(counts)), counts) * n_bins + bins.astype(np.int64)
    # Stable, and the sum of a bin in float64 from the first column to the last: the same for any batch.
    order = np.argsort(places, kind="stable")
    places = places[order]
    begins = np.ones(len(places), dtype=np.bool_)
    np.not_equal(places[1:], places[:-1], out=begins[1:])
    sums = np.bincount(np.cumsum(begins) - 1, weights=(values * signs)[order])
    return _without_zeros(len(counts), *np.divmod(places[begins], n_bins), sums, dtype)


def _sketch_codes(codes: NDArray[Any], bits: int, seed: int, n_bins: int, dtype: np.dtype[Any]) -> SparseRows:
    """Return the sketches of the one-hot vectors of codes."""
    n, k = codes.shape
    positions = codes.astype(np.uint64) + (np.arange(k, dtype=np.uint64) << np.uint64(bits))
    bins, signs = bins_and_signs(seed, positions, n_bins)
    # Bin and sign in one number, so that a plain sort brings together what a bin has.
    packed = ((bins << np.uint64(1)) | (signs < 0)).astype(np.min_scalar_type(2 * n_bins - 1))
    packed.sort(axis=1)
    bins = packed >> packed.dtype.type(1)
    begins = np.ones((n, k), dtype=np.bool_)
    np.not_equal(bins[:, 1:], bins[:, :-1], out=begins[:, 1:])
    starts = np.flatnonzero(begins)
    negative = np.zeros(n * k + 1, dtype=np.int64)
    np.cumsum(packed & packed.dtype.type(1), out=negative[1:])
    sums = np.diff(np.append(starts, n * k)) - 2 * np.diff(negative[np.append(starts, n * k)])
    index_type = np.int32 if n_bins < 2**31 else np.int64
    return _without_zeros(n, starts // k, bins.reshape(-1)[starts].astype(index_type), sums, dtype)


def _without_zeros(
    n: int, rows: NDArray[Any], bins: NDArray[Any], sums: NDArray[Any], dtype: np.dtype[Any]
) -> SparseRows:
    """Return n rows from the row, the bin and the sum of each place; sums that are zero are left out."""
    with np.errstate(over="ignore"):
        sums = sums.astype(dtype)
    there = np.flatnonzero(sums)
    return np.bincount(rows[there], minlength=n), bins[there], sums[there]
