"""Rejection sampling: its laws, its table and its caps.

Bounds are four standard errors, for fixed seeds. Each law has a control: a wrong one that the same bound refuses.
"""

from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse, stats

from gcwsnet import _keys, gmm_transform, pgmm_kernel
from gcwsnet.hashing._caps import cap_table, check_caps, column_caps, expected_trials
from gcwsnet.hashing.elementary import exp
from gcwsnet.hashing.reference import gcws
from gcwsnet.hashing.samplers import MAX_TRIALS, drawn_features, rejection, trials
from tests.hashing.laws import GOLDEN_X, K, agree, shares, zero_bit_law

POWERS = [0.5, 1.0, 2.0]


def rows_more_and_more_unlike() -> np.ndarray:
    rng = np.random.default_rng(0)
    L = rng.normal(0, 0.6, 6)
    X = np.exp([L + rng.normal(0, noise, 6) for noise in (0, 0.1, 0.3, 0.6, 0.6)]) * rng.choice([-1, 1], 6)
    X[3, 0] *= -1
    X[3, 1] = X[0, 2] = 0
    X[4, 3] *= 6
    return X


X = rows_more_and_more_unlike()


@pytest.mark.parametrize("p", POWERS)
def test_collisions_are_the_kernel_and_those_of_i_star_have_their_own_law(p: float) -> None:
    J, Z = pgmm_kernel(X[:1], X[1:], p=p)[0], zero_bit_law(X, p)
    samples = rejection(X, K, p=p, seed=1, caps=column_caps(X))
    both, i_alone = shares(samples)
    assert samples[1].min() >= 0
    assert agree(both, J)
    assert agree(i_alone, Z)
    assert not agree(both, Z)
    assert not agree(i_alone, J)
    assert not agree(both, pgmm_kernel(X[:1], X[1:], p=p * 1.2)[0])
    assert not agree(i_alone, zero_bit_law(X, p, of_the_smaller=False))


@pytest.mark.parametrize("p", POWERS)
def test_the_fallback_keeps_the_law(p: float) -> None:
    """Caps so large that no trial is accepted in a good part of the hashes."""
    k = 4096
    weights = np.sum(gmm_transform(X) ** p, axis=1)
    caps = column_caps(X)
    caps *= (MAX_TRIALS * weights[0] / np.sum(caps**p)) ** (1 / p)
    i_star, t_star = rejection(X, k, p=p, seed=2, caps=caps)

    chance = weights / np.sum(caps**p)  # of a trial
    assert agree((t_star < 0).mean(axis=1), (1 - chance) ** MAX_TRIALS, k)
    J = pgmm_kernel(X[:1], X[1:], p=p)[0]
    both, _ = shares((i_star, t_star))
    assert agree(both, J, k)
    neither = (1 - (chance[0] + chance[1:]) / (1 + J)) ** MAX_TRIALS  # is under one of the two rows
    assert np.sum(neither > 0.1) >= 3
    assert not agree(both, J * (1 - neither), k)


def test_where_every_hash_falls_back_the_samples_are_those_of_gcws() -> None:
    wide = np.hstack([X, np.zeros((len(X), 1))])
    caps = np.concatenate([column_caps(X), [1e30, 0]])
    i_star, t_star = rejection(wide, 500, p=2, seed=3, caps=caps)
    i, t = gcws(wide, 500, p=2, seed=3)
    np.testing.assert_array_equal(i_star, i)
    assert t_star.min() >= -(2**23)
    assert t_star.max() < 0
    np.testing.assert_array_equal(t_star[1:] == t_star[0], t[1:] == t[0])


def test_trials_are_uniform_under_the_caps() -> None:
    caps = np.array([1.0, 3.0, 0.0, 4.0, 1e-30, 0.5])
    feature, log_height = trials(4, np.arange(200), np.arange(MAX_TRIALS), cap_table(caps, 1))
    counts = np.bincount(feature.ravel(), minlength=6)
    expected = feature.size * caps / caps.sum()
    drawn = caps > 0.1
    assert counts[~drawn].sum() == 0
    assert stats.chisquare(counts[drawn], expected[drawn] * counts.sum() / expected[drawn].sum()).pvalue > 1e-4
    assert stats.kstest(np.exp(log_height.ravel()), "uniform").statistic < 2 / np.sqrt(feature.size)
    assert abs(np.corrcoef(feature.ravel(), log_height.ravel())[0, 1]) < 4.5 / np.sqrt(feature.size)


def test_the_expected_number_of_trials_is_the_mean_number() -> None:
    for k, factor in ((K, 1), (2048, 30)):
        caps = factor * column_caps(X)
        _, t_star = rejection(X, k, seed=5, caps=caps)
        expected = expected_trials(X, caps, p=1)
        assert np.all(np.abs(np.mean(t_star + 1, axis=1) - expected) <= 4 * np.sqrt(expected * (expected - 1) / k))
    np.testing.assert_allclose(expected_trials(sparse.csr_matrix(X), caps, p=1), expected)


def test_the_expected_number_of_trials_has_no_limit() -> None:
    Z = np.array([[1e-300, 0.0], [0.0, 1e300], [0.0, 0.0]])
    np.testing.assert_array_equal(expected_trials(Z, column_caps(Z), p=1e6), [np.inf, 1, 0])
    np.testing.assert_array_equal(expected_trials(Z[2:], np.zeros(4), p=1), [0])


def test_the_exponential_is_accurate() -> None:
    x = np.concatenate([np.random.default_rng(0).uniform(-100, 8, 500), [-100, -1e-9, 0.0, 1e-300, 7.999]])
    with localcontext() as context:
        context.prec = 40
        error = [abs(Decimal(float(e)) / Decimal(float(a)).exp() - 1) for a, e in zip(x, exp(x), strict=True)]
    assert max(error) < 2**-45
    np.testing.assert_array_equal(exp(np.array([-100.1, -1e9, -np.inf])), 0)


@pytest.mark.parametrize("p", [1e-6, 0.5, 1.0, 3.0])
def test_the_table_has_the_right_shares(p: float) -> None:
    caps = np.random.default_rng(1).lognormal(0, 3, 300)
    caps[::7] = 0
    table = cap_table(caps, p)
    with localcontext() as context:
        context.prec = 40
        weight = [Decimal(float(M)).exp() for M in table.log_caps]
        exact = [w / sum(weight) * 2**63 for w in weight]
    ends = [0, *table.ends.tolist()]
    assert ends[-1] == 2**63
    sizes = [end - start for start, end in pairwise(ends)]
    errors = [abs(size - e) for size, e in zip(sizes, exact, strict=True)]
    heaviest = int(np.argmax(caps))
    assert all(error <= 1 + e / 2**44 for i, (error, e) in enumerate(zip(errors, exact, strict=True)) if i != heaviest)
    assert errors[heaviest] <= sum(1 + e / 2**44 for e in exact)
    assert {size for size, cap in zip(sizes, caps, strict=True) if cap == 0} == {0}


def test_a_point_belongs_to_the_feature_whose_end_is_the_first_above_it() -> None:
    table = cap_table(np.array([0.0, 2.0, 0.0, 0.0, 1.0, 5.0, 0.0]), 1)
    end = [int(table.ends[feature]) for feature in (1, 4, 5)]
    points = np.array([0, end[0] - 1, end[0], end[1] - 1, end[1], end[2] - 1], dtype=np.uint64)
    assert end[2] == 2**63
    assert drawn_features(table, points).tolist() == [1, 1, 4, 4, 5, 5]


def test_caps_of_batches_are_those_of_all_rows_dense_or_sparse() -> None:
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(2, 5, 7)) * rng.choice([0, 1], (2, 5, 7))
    whole = column_caps(np.vstack([A, B]))
    np.testing.assert_array_equal(whole, gmm_transform(np.vstack([A, B])).max(axis=0))
    np.testing.assert_array_equal(column_caps(B, column_caps(A)), whole)
    np.testing.assert_array_equal(column_caps(sparse.csr_matrix(B), column_caps(sparse.csr_matrix(A))), whole)
    A[0, 0] = np.nan
    np.testing.assert_array_equal(column_caps(A), column_caps(np.nan_to_num(A)))
    np.testing.assert_array_equal(column_caps(np.array([[3, -2]], dtype=np.int8)), [3, 0, 0, 2])


def test_a_size_above_its_cap_is_an_error_that_names_it() -> None:
    caps = column_caps(np.array([[1.0, -2.0, 3.0]]))
    Z = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, 2.0], [0.0, -2.5, 9.0]])
    for form in (Z, sparse.csr_matrix(Z)):
        with pytest.raises(ValueError, match=r"X\[2, 1\] \(column 'b'\) is -2\.5 and its cap 2\.0; .*clip them to"):
            check_caps(form, caps, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"X\[0, 1\] is 1\.0 and its cap 0\.0"):
        rejection(np.array([[1.0, 1.0, 1.0]]), 4, caps=caps)
    check_caps(Z[:2], caps)


def test_streams_are_all_different() -> None:
    streams = [value for name, value in vars(_keys).items() if name.isupper() and name not in ("GOLDEN", "_WORD")]
    assert len(set(streams)) == len(streams) >= 10


GOLDEN_CAPS = column_caps(np.array([[4.0, 20.0, 1.0, 2.0, 2.0], [-4.0, -9.0, 0.0, 0.0, 0.0]]))
GOLDEN: dict[float, tuple[list[list[int]], list[list[int]]]] = {
    0.5: (
        [[1, 2, 1, 8, 1, 2], [6, 8, 8, 8, 8, 3], [4, 4, 8, 8, 8, 2]],
        [[3, 3, 0, 0, 0, 3], [4, 4, 1, 0, 2, 1], [0, 2, 1, 0, 2, 3]],
    ),
    1.0: (
        [[1, 2, 1, 6, 2, 2], [3, 6, 8, 6, 8, 3], [2, 6, 8, 6, 2, 4]],
        [[3, 3, 0, 0, 0, 1], [0, 0, 1, 0, 3, 7], [14, 4, 1, 0, 0, 6]],
    ),
    80.0: (
        [[2, 2, 2, 2, 2, 2], [3, 3, 3, 3, 3, 3], [4, 8, 6, 4, 4, 2]],
        [
            [-7648372, -2776811, -6776961, -4598624, -5800879, -1651410],
            [-3850392, -5895564, -2122718, -4779402, -7971735, -8237875],
            [-1, -1, -1, -1, -1, -1],
        ],
    ),
}


@pytest.mark.parametrize("p", GOLDEN)
def test_golden_samples(p: float) -> None:
    i_star, t_star = rejection(GOLDEN_X, 6, p=p, seed=42, caps=GOLDEN_CAPS)
    assert (i_star.tolist(), t_star.tolist()) == GOLDEN[p]


def test_golden_table_and_trials() -> None:
    ends = cap_table(np.array([1, 3, 0, 4, 1e-30, 1e-10]), 0.01).ends
    assert ends.tolist() == [
        2134782044925085440,
        4293146370204632832,
        4293146370204632832,
        6457728861218053376,
        7527654383956839680,
        2**63,
    ]
    feature, log_height = trials(0, [0, 1, 255], [0, 1, 1023], cap_table(np.array([1.0, 3.0, 17.0, 0.0]), 1))
    assert feature.tolist() == [[2, 2, 2], [1, 2, 1], [2, 1, 2]]
    assert [f"{bits:08x}" for bits in log_height[0].view(np.uint32)] == ["bea8efe9", "bf79f8a8", "beb7466a"]
