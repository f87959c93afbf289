"""One-hot vectors of codes."""

import numpy as np
import pytest
from scipy import sparse

from gcwsnet import GCWSHasher
from gcwsnet.encoding import one_hot

X = np.random.default_rng(0).normal(size=(30, 7))
X[3] = 0


@pytest.mark.parametrize(("bits", "t_bits"), [(1, 0), (3, 2), (8, 0), (20, 0)])
def test_one_hot_has_one_one_per_hash_at_its_code(bits: int, t_bits: int) -> None:
    codes = GCWSHasher(9, bits=bits, t_bits=t_bits, random_state=0).fit_transform(X)
    Z = GCWSHasher(9, bits=bits, t_bits=t_bits, output="onehot", random_state=0).fit_transform(X)
    width = 2 ** (bits + t_bits)
    assert sparse.isspmatrix_csr(Z)
    assert Z.shape == (30, 9 * width)
    assert Z.has_canonical_format
    np.testing.assert_array_equal(Z.data, 1)
    np.testing.assert_array_equal(Z.indices.reshape(30, 9), codes + width * np.arange(9))
    np.testing.assert_array_equal(np.diff(Z.indptr), 9)


def test_wide_one_hot_has_64_bit_indices() -> None:
    Z = GCWSHasher(3, bits=32, t_bits=8, output="onehot", random_state=0).fit_transform(X)
    assert Z.shape[1] == 3 * 2**40
    assert Z.indices.dtype == np.int64
    assert Z.indices.max() > 2**41
    np.testing.assert_array_equal(Z.sum(axis=1), np.full((30, 1), 3))


def test_one_hot_of_one_code() -> None:
    assert one_hot(np.array([[2]], dtype=np.uint8), bits=2).toarray().tolist() == [[0, 0, 1, 0]]
