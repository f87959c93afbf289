"""Near-duplicates of a stream: the first is kept, however the stream is divided."""

import numpy as np
import pytest
from scipy import sparse

from gcwsnet import estimate_similarity
from gcwsnet.neighbors import Deduplicator, GCWSIndex
from tests.neighbors.rows import clustered

X = np.abs(clustered(600, noise=0.15))


def reference(t: float) -> tuple[list[bool], dict[int, int]]:
    """One row after the other, against all rows that were kept; at recall 0.9999 bands miss none of them."""
    codes = GCWSIndex(512, keep_rows=False).codes(X)
    J = estimate_similarity(codes, codes, bits=8)
    kept: list[int] = []
    original: dict[int, int] = {}
    for i in range(len(X)):
        best = max(kept, key=lambda j: (J[i, j], -j), default=None)
        if best is not None and J[i, best] >= t:
            original[i] = best
        else:
            kept.append(i)
    return [i not in original for i in range(len(X))], original


@pytest.mark.parametrize("step", [1, 37, 600])
def test_rows_are_kept_as_one_by_one(step: int) -> None:
    deduplicate = Deduplicator(0.7, n_hashes=512, recall=0.9999)
    parts = [deduplicate(X[i : i + step]) for i in range(0, 600, step)]
    kept, original = reference(0.7)
    assert 50 < sum(kept) < 500
    assert np.concatenate([one.kept for one in parts]).tolist() == kept
    rows, originals = (np.concatenate([one[which] for one in parts]).tolist() for which in (1, 2))
    assert dict(zip(rows, originals, strict=True)) == original


def test_sparse_rows_are_the_same() -> None:
    np.testing.assert_array_equal(Deduplicator(0.7)(sparse.csr_array(X)).kept, Deduplicator(0.7)(X).kept)


def test_only_kept_rows_are_held() -> None:
    deduplicate = Deduplicator(0.99)
    for _ in range(5):
        deduplicate(X[:100])
    assert deduplicate.index.n_samples_fit_ == int(Deduplicator(0.99)(X[:100]).kept.sum())
    assert deduplicate.n_rows == 500
