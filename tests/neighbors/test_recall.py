"""The law of bands, 1 - (1 - P**r)**B, and the recall that the index promises, by statistics with fixed seeds."""

import numpy as np
import pytest

from gcwsnet import pgmm_kernel
from gcwsnet.neighbors import GCWSIndex, band_recall
from tests.neighbors.rows import clustered, pairs_of_similarity

N = 4000


@pytest.mark.parametrize("J", [0.3, 0.5, 0.7, 0.8, 0.9])
@pytest.mark.parametrize(("bits", "threshold"), [(8, 0.8), (8, 0.5), (2, 0.8)])
def test_pairs_share_a_bucket_as_often_as_the_formula_says(J: float, bits: int, threshold: float) -> None:
    """Pairs in columns of their own are independent: the share found is within five standard errors.

    All candidates are kept (least = 0), so that only the bands decide. Other rows than its partner share a bucket with
    a row by chance; they do not count.
    """
    A, B = pairs_of_similarity(N, J, seed=int(100 * J))
    np.testing.assert_allclose(pgmm_kernel(A[:3], B[:3]).diagonal(), J)
    index = GCWSIndex(128, bits=bits, threshold=threshold, keep_rows=False, random_state=5).fit(A)
    codes = GCWSIndex(128, bits=bits, keep_rows=False, random_state=5).fit(B)._store.segments[0].codes
    bands = index.bands_
    assert bands is not None
    found = index._search(None).found(codes, 2**62, np.zeros(N, np.uint32), bands)
    share = (found.query == found.row).mean() * len(found.query) / N
    wanted = band_recall(J, bits=bits, n_bands=bands.n_bands, width=bands.width)
    error = np.sqrt(wanted * (1 - wanted) / N)
    assert abs(share - wanted) < 5 * error + 1e-12


@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("threshold", [0.5, 0.8])
@pytest.mark.parametrize("method", ["scan", "bands"])
def test_the_wanted_recall_is_reached_at_the_threshold(threshold: float, recall: float, method: str) -> None:
    """Pairs exactly at the threshold are the hardest: their share is not five standard errors below the recall."""
    A, B = pairs_of_similarity(N, threshold * (1 + 1e-9), seed=3)
    index = GCWSIndex(512, threshold=threshold, recall=recall, method=method, random_state=1).fit(A)
    matches = index.query_threshold(B, threshold)
    assert (matches.queries == matches.ids).all()
    share = len(matches.ids) / N
    assert share > recall - 5 * np.sqrt(recall * (1 - recall) / N)


@pytest.mark.parametrize("recall", [0.7, 0.95])
@pytest.mark.parametrize("n_hashes", [32, 256])
def test_the_wanted_recall_is_reached_by_the_k_nearest(recall: float, n_hashes: int) -> None:
    """Of the 10 nearest rows at least the wanted share is found, five standard errors of a share allowed."""
    rows = np.abs(clustered(3000, d=30, noise=1.0))
    queries = rows[:200] * np.random.default_rng(1).uniform(0.7, 1.3, (200, 30))
    K = pgmm_kernel(queries, rows)
    found = GCWSIndex(n_hashes, recall=recall).fit(rows).query(queries, 10)
    tenth = np.sort(K, axis=1)[:, [-10]]
    share = (found.similarities >= tenth - 1e-12).mean()
    assert share > recall - 5 * np.sqrt(recall * (1 - recall) / 2000)


def test_fewer_hashes_with_a_lower_recall_do_miss_rows() -> None:
    """The test above can fail: with a low recall and few hashes, rows are missed."""
    rows = np.abs(clustered(3000, d=30, noise=1.0))
    K = pgmm_kernel(rows[:200], rows)
    found = GCWSIndex(16, recall=0.5).fit(rows).query(rows[:200], 10)
    share = (found.similarities >= np.sort(K, axis=1)[:, [-10]] - 1e-12).mean()
    assert share < 0.97


def test_a_threshold_that_the_codes_cannot_reach_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"with n_hashes=8 at most 0\.\d+ of the pairs .* take more hashes"):
        GCWSIndex(8, threshold=0.1).fit(clustered(10))
