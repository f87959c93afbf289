"""GCWSIndex(sets=True): rows are sets, found by their Jaccard similarity."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet import GCWSHasher, pgmm_kernel
from gcwsnet.neighbors import Deduplicator, GCWSIndex


def similar_sets(n: int, d: int = 400, seed: int = 0) -> np.ndarray:
    """Return numbers whose non-zero places are alike in groups of five, and whose sizes tell nothing."""
    rng = np.random.default_rng(seed)
    members = np.repeat(rng.random((n // 5, d)) < 0.1, 5, axis=0) ^ (rng.random((n, d)) < 0.01)
    return members * rng.lognormal(0, 3, (n, d)) * rng.choice([-1, 1], d)


X = similar_sets(600)
Q = X[::7]
J = pgmm_kernel(np.sign(Q), np.sign(X))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", ["scan", "bands"])
def test_the_exact_similarity_of_sets_decides(form: Any, method: str) -> None:
    index = GCWSIndex(sets=True, threshold=0.5, recall=0.9999, method=method).add(form(X))
    found = index.query_threshold(form(Q), 0.5)
    wanted = np.nonzero(J >= 0.5)
    assert len(wanted[0]) > 2 * len(Q)
    assert set(zip(found.queries.tolist(), found.ids.tolist(), strict=True)) == set(
        zip(*(one.tolist() for one in wanted), strict=True)
    )
    np.testing.assert_allclose(found.similarities, J[found.queries, found.ids])


def test_codes_are_those_of_minwise_hashing_and_of_no_other() -> None:
    index = GCWSIndex(64, sets=True, keep_rows=False).add(X)
    codes = GCWSHasher(64, method="minwise", random_state=0).fit_transform(X)
    np.testing.assert_array_equal(index.codes(X), codes)
    np.testing.assert_array_equal(index.query(codes[:9], 1).ids.ravel(), np.arange(9))
    with pytest.raises(ValueError, match="method='minwise' and method='gcws'"):
        index.query(GCWSHasher(64, random_state=0).fit_transform(X), 1)


def test_files_remember_that_rows_are_sets(tmp_path: Path) -> None:
    index = GCWSIndex(sets=True, threshold=0.6).add(X)
    index.save(tmp_path)
    loaded = GCWSIndex.load(tmp_path)
    assert loaded.sets
    np.testing.assert_array_equal(loaded.query(Q, 4).ids, index.query(Q, 4).ids)
    with pytest.raises(ValueError, match="sets=True and sets=False"):
        loaded.merge(GCWSIndex(threshold=0.6).add(X, ids=np.arange(1000, 1600)))


def test_a_stream_of_sets_is_deduplicated() -> None:
    kept = Deduplicator(0.5, sets=True, recall=0.99)(X).kept
    assert 100 <= kept.sum() <= 140  # 120 groups
    assert Deduplicator(0.5)(X).kept.sum() > 400  # their sizes differ


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sets": "yes"}, TypeError, "sets must be True or False, got sets='yes'"),
        ({"sets": True, "p": 2.0}, ValueError, "p has no effect with sets=True, got p=2"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(change: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        GCWSIndex(**change).add(X)
