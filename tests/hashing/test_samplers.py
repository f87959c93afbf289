"""The other samplers: their laws, and what holds for the samples of any rows.

Bounds are four standard errors, for fixed seeds. Each law has a control: a wrong one that the same bound refuses. A
Kolmogorov-Smirnov statistic of n draws exceeds 2 / sqrt(n) with probability 7e-4.
"""

from collections.abc import Callable
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse, stats

from gcwsnet import GCWSHasher, _keys, estimate_similarity, gmm_transform, pgmm_kernel
from gcwsnet.hashing._caps import cap_table, column_caps, expected_trials
from gcwsnet.hashing._hasher import Hasher
from gcwsnet.hashing.elementary import minus_log1m
from gcwsnet.hashing.reference import gcws
from gcwsnet.hashing.samplers import (
    E8,
    MAX_TRIALS,
    WIDTH,
    Points,
    bins_of_columns,
    binwise,
    donors,
    extremal,
    lowest_points,
    minwise_words,
    rejection,
)

K = 32_768
Samples = tuple[np.ndarray, np.ndarray]
POWERS = [0.5, 1.0, 2.0]


def native(method: str, X: np.ndarray, k: int, *, seed: int, p: float = 1.0, caps: np.ndarray | None = None) -> Samples:
    """Samples of many hashes by the native core, which gives those of the reference, and is quicker."""
    return Hasher(k, seed=seed, n_features=X.shape[1], p=p, method=method, caps=caps).samples(X)


def shares(samples: Samples) -> Samples:
    """How often the first row agrees with the others: in (i*, t*) and in i* alone."""
    i, t = samples
    return ((i[1:] == i[0]) & (t[1:] == t[0])).mean(axis=1), (i[1:] == i[0]).mean(axis=1)


def agree(share: np.ndarray, law: np.ndarray, n: int = K) -> bool:
    return bool(np.all(np.abs(share - law) <= 4 * np.sqrt(law * (1 - law) / n)))


def zero_bit_law(X: np.ndarray, p: float, *, of_the_smaller: bool = True) -> np.ndarray:
    """Law (Z) of the specification, of the first row and each other one."""
    W = gmm_transform(X) ** p
    u, v = W[0], W[1:]
    least, most = np.minimum(u, v), np.maximum(u, v)
    total = np.where((u <= v) == of_the_smaller, u.sum(), v.sum(axis=1, keepdims=True))
    law: np.ndarray = (least.sum(axis=1) + ((most - least) * least / total).sum(axis=1)) / most.sum(axis=1)
    return law


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
@pytest.mark.parametrize("method", ["rejection", "extremal"])
def test_collisions_are_the_kernel_and_those_of_i_star_have_their_own_law(method: str, p: float) -> None:
    J, Z = pgmm_kernel(X[:1], X[1:], p=p)[0], zero_bit_law(X, p)
    samples = native(method, X, K, p=p, seed=1, caps=column_caps(X) if method == "rejection" else None)
    both, i_alone = shares(samples)
    assert method == "extremal" or samples[1].min() >= 0
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
    i_star, t_star = native("rejection", X, k, p=p, seed=2, caps=caps)

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


def test_the_expected_number_of_trials_is_the_mean_number() -> None:
    for k, factor in ((K, 1), (2048, 30)):
        caps = factor * column_caps(X)
        _, t_star = native("rejection", X, k, seed=5, caps=caps)
        expected = expected_trials(X, caps, p=1)
        assert np.all(np.abs(np.mean(t_star + 1, axis=1) - expected) <= 4 * np.sqrt(expected * (expected - 1) / k))
    np.testing.assert_allclose(expected_trials(sparse.csr_matrix(X), caps, p=1), expected)


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


def test_streams_are_all_different() -> None:
    streams = [value for name, value in vars(_keys).items() if name.isupper() and name not in ("GOLDEN", "_WORD")]
    assert len(set(streams)) == len(streams) >= 10


def points_of(L: list[float], n_features: int, n_hashes: int, seed: int = 4) -> Points:
    """Lowest points under each weight exp(L): weights x (features and hashes)."""
    features = np.tile(np.arange(n_features), len(L))
    found = lowest_points(seed, features, np.repeat(np.array(L, dtype=np.float32), n_features), n_hashes)
    return Points(found.y.reshape(len(L), -1), found.number.reshape(len(L), -1))


@pytest.mark.parametrize(
    ("low", "high", "wrong"),
    [(0.5, 0.6, 1.05), (7.9, 8.1, 1.05), (0.0, 0.7, 1.05), (7.0, 9.0, 1.1), (-0.2, 8.1, 4), (15.9, 24.2, 4)],
)
def test_two_weights_of_a_feature_have_one_point_as_often_as_their_ratio(low: float, high: float, wrong: float) -> None:
    """Within a cell, across the border of two, and with a cell in between."""
    _, number = points_of([low, high], 60, 1000)
    same = number[0] == number[1]
    ratio = np.array(np.exp(low - high))
    assert agree(np.mean(same), ratio, same.size)
    assert not agree(np.mean(same), ratio * wrong, same.size)


def test_features_five_cells_down_cannot_win() -> None:
    """The least height there can be, against the largest that the heaviest feature can have."""
    least = minus_log1m(np.array([2**-31], dtype=np.float32)) / WIDTH
    most = minus_log1m(np.array([1], dtype=np.float32)) / WIDTH * E8[1]
    assert least[0] * np.exp(8 * len(E8)) > 1000 * most[0]
    np.testing.assert_allclose(E8, np.exp(8.0 * np.arange(5)), rtol=2**-24)
    np.testing.assert_allclose(WIDTH, np.expm1(8), rtol=2**-24)


def test_the_largest_powers_leave_the_heaviest_feature() -> None:
    X = np.array([[1e300, 1e-300, 2.0], [1e300, 3.0, 1e299], [-1e300, 1.0, 1e300], [1e-300, 0.0, 1e-299]])
    i_star, t_star = extremal(X, 50, p=1e6)
    assert np.all(i_star[:2] == 0)
    np.testing.assert_array_equal(t_star[0], t_star[1])
    assert set(i_star[2]) == {1, 4}
    assert np.all(i_star[3] == 4)


def law_given_bins(X: np.ndarray, k: int, p: float, seed: int, *, fill: bool = True) -> np.ndarray:
    """P[samples of hash j agree] of two rows: the kernel of the columns of its source. Without `fill` of its bin."""
    u, v = gmm_transform(X) ** p
    bins = bins_of_columns(seed, np.arange(len(u)) >> 1, k)
    least, most = (np.bincount(bins, weights, k) for weights in (np.minimum(u, v), np.maximum(u, v)))
    J: np.ndarray = np.divide(least, most, out=np.zeros(k), where=most > 0)
    return J[donors(seed, most > 0)] if fill else J


def pair(n_columns: int, seed: int) -> np.ndarray:
    """Two rows with different zeros and some different signs. A tenth of the columns is heavy, and differs more."""
    rng = np.random.default_rng(seed)
    heavy = rng.random(n_columns) < 0.1
    u = rng.lognormal(0, 0.5, n_columns) * (rng.random(n_columns) < 0.8)
    v = u * np.exp(rng.normal(0, 0.3, n_columns)) * (rng.random(n_columns) < 0.9)
    u[heavy] *= 20
    v[heavy] *= rng.choice([2, 50], heavy.sum())
    v[0] *= -1
    return np.array([u, v])


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize(("n_columns", "k", "n_seeds"), [(200, 32, 80), (12, 64, 80)], ids=["few empty", "most empty"])
def test_collisions_have_the_law_given_the_bins(p: float, n_columns: int, k: int, n_seeds: int) -> None:
    found, law, unfilled = [], [], []
    kernel = 0.0
    for seed in range(n_seeds):
        X = pair(n_columns, seed)
        i, t = binwise(X, k, p=p, seed=seed)
        found.append((i[0] == i[1]) & (t[0] == t[1]))
        law.append(law_given_bins(X, k, p, seed))
        unfilled.append(law_given_bins(X, k, p, seed, fill=False))
        kernel += pgmm_kernel(X[:1], X[1:], p=p)[0, 0] / n_seeds
    J = np.array(law)
    assert np.all(np.array(found)[J == 0] == 0)  # one of the rows is empty there
    bound = 4 * np.sqrt(np.sum(J * (1 - J))) / J.size
    share = np.mean(found)
    assert abs(share - J.mean()) <= bound
    assert abs(share - kernel) > bound
    if n_columns < k:
        assert abs(share - np.mean(unfilled)) > bound


@pytest.mark.parametrize("p", POWERS)
def test_hashes_that_share_their_columns_are_independent(p: float) -> None:
    """Twelve columns, 64 bins: most samples are of donors. Their number of collisions varies as if drawn again."""
    k, z = 64, []
    for seed in range(200):
        X = pair(12, 1)
        J = law_given_bins(X, k, p, seed)
        i, t = binwise(X, k, p=p, seed=seed)
        z.append((np.sum((i[0] == i[1]) & (t[0] == t[1])) - J.sum()) / np.sqrt(np.sum(J * (1 - J))))
    assert abs(np.var(z) - 1) < 4 * np.sqrt(2 / len(z))


def test_a_sample_is_that_of_gcws_on_the_columns_of_its_source() -> None:
    X = np.random.default_rng(1).normal(size=(1, 20)) * (np.arange(20) % 3 > 0)
    k = 16
    i_star, t_star = binwise(X, k, seed=4)
    bins = bins_of_columns(4, np.arange(20), k)
    full = np.isin(np.arange(k), bins[X[0] != 0])
    for j, source in enumerate(donors(4, full)):
        i, t = gcws(np.where(bins == source, X, 0), k, seed=4)
        assert (i_star[0, j], t_star[0, j]) == (i[0, j], t[0, j])


def test_columns_fall_into_bins_uniformly_and_independently() -> None:
    bins = bins_of_columns(5, np.arange(100_000), 50)
    assert stats.chisquare(np.bincount(bins, minlength=50)).pvalue > 1e-4
    neighbours = np.bincount(bins[1:] * 50 + bins[:-1], minlength=2500)
    assert stats.chisquare(neighbours).pvalue > 1e-4
    assert bins_of_columns(0, [0, 1, 2, 3, 2**31 - 1], 256).tolist() == [80, 13, 183, 29, 13]


def test_donors_are_drawn_uniformly_and_those_of_different_bins_independently() -> None:
    k = 4000
    full = np.arange(k) % 2 == 0
    found = donors(6, full)[1::2]
    assert np.all(found % 2 == 0)
    assert stats.kstest(found / k, "uniform").statistic < 2 / np.sqrt(len(found))
    copies = np.bincount(found, minlength=k)[::2]
    assert abs(copies.var() - copies.mean()) < 4 * np.sqrt(2 / len(copies))  # Poisson


@given(
    k=st.integers(1, 60),
    full_u=st.sets(st.integers(0, 59), min_size=1),
    full_v=st.sets(st.integers(0, 59), min_size=1),
    seed=st.integers(0, 2**64 - 1),
)
@settings(max_examples=60)
def test_two_rows_have_the_first_common_donor_or_different_ones(
    k: int, full_u: set[int], full_v: set[int], seed: int
) -> None:
    """The donor of a row with the entries of both decides: who is full there takes it."""
    u, v = (np.isin(np.arange(k), [b % k for b in bins]) for bins in (full_u, full_v))
    both = donors(seed, u | v)
    assert np.all((u | v)[both])
    for full in (u, v):
        np.testing.assert_array_equal(donors(seed, full)[full[both]], both[full[both]])


NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, -2.5, 1e300])


def sets(n: int, d: int, share: float, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random((n, d)) < share).astype(np.float32)


def test_codes_collide_with_the_jaccard_similarity() -> None:
    """Within four standard errors; half of the similarity is not."""
    X = sets(1, 300, 0.4, 0) * np.ones((6, 1), np.float32)
    for row, n in enumerate([0, 10, 40, 80, 200, 300]):
        X[row, :n] = sets(1, n, 0.4, row + 1)
    J = pgmm_kernel(X[:1], X)[0]
    hasher = GCWSHasher(K, bits=16, method="minwise", random_state=2).fit(X)
    codes = hasher.transform(X)
    bound = 4 * np.sqrt(J * (1 - J) / K) + 2.0**-15
    estimate = estimate_similarity(codes[0], codes, bits=16)
    assert np.all(np.abs(estimate - J) <= bound)
    assert np.any(np.abs(estimate - J / 2) > bound)


def test_every_member_of_a_set_is_the_sample_as_often_as_the_others() -> None:
    """Chi-squared over seven members and 16,384 hashes: below 30 with a probability of 0.99996."""
    X = np.zeros((1, 40))
    X[0, [0, 3, 4, 17, 18, 30, 39]] = 1
    i_star, _ = GCWSHasher(K, method="minwise", random_state=0).fit(X).samples(X)
    counts = np.bincount(i_star[0] // 2, minlength=40)[X[0] > 0]
    assert counts.sum() == K
    assert ((counts - K / 7) ** 2 / (K / 7)).sum() < 30


def test_two_hashes_choose_independently() -> None:
    X = np.ones((1, 4))
    i_star, _ = GCWSHasher(2 * K, method="minwise", random_state=0).fit(X).samples(X)
    pairs = np.bincount((i_star[0, ::2] // 2) * 4 + i_star[0, 1::2] // 2, minlength=16)
    assert ((pairs - K / 16) ** 2 / (K / 16)).sum() < 50


@given(hnp.arrays(np.float64, (5, 9), elements=NUMBERS))
def test_sizes_do_not_matter_and_signs_do(X: np.ndarray) -> None:
    hasher = GCWSHasher(30, method="minwise", random_state=1).fit(X)
    np.testing.assert_array_equal(hasher.transform(X), hasher.transform(np.sign(X)))
    i_star, _ = hasher.samples(X)
    of_negative, _ = hasher.samples(-X)
    assert np.all((i_star == -1) | (i_star != of_negative))


def test_words_never_change() -> None:
    """Golden numbers: codes are the same in every version."""
    assert minwise_words(0, [0, 1, 2**31], [0, 1, 255]).tolist() == GOLDEN_WORDS
    X = np.array([[1, 0, 1, 1, 0, 1, 1]])
    assert GCWSHasher(8, method="minwise", random_state=42).fit_transform(X).tolist() == [GOLDEN_CODES]


GOLDEN_WORDS = [
    [-550176690, -1608174004, -542361558],
    [376810506, 39174392, 1755609468],
    [747309723, -1055778288, -1050361517],
]
GOLDEN_CODES = [234, 247, 10, 7, 12, 65, 128, 64]


EXTREMES = [0.0, -0.0, 5e-324, -1e-300, 1e-40, 1.0, -1.0, 1 - 2**-53, 1e300, -1.79e308]
Sampler = Callable[..., Samples]


def with_caps(X: np.ndarray, n_hashes: int, *, p: float, seed: int, caps_of: np.ndarray | None = None) -> Samples:
    """Rejection sampling under the caps of X, or of other rows."""
    return rejection(X, n_hashes, p=p, seed=seed, caps=column_caps(X if caps_of is None else caps_of))


def without_caps(sampler: Sampler) -> Sampler:
    """A sampler that is not fitted to data, with the signature of `with_caps`."""

    def sample(X: np.ndarray, n_hashes: int, *, p: float, seed: int, caps_of: np.ndarray | None = None) -> Samples:
        del caps_of
        return sampler(X, n_hashes, p=p, seed=seed)

    return sample


every_sampler = pytest.mark.parametrize(
    ("sample", "least_t", "most_t"),
    [
        pytest.param(with_caps, -(2**23), MAX_TRIALS - 1, id="rejection"),
        pytest.param(without_caps(binwise), -(2**63), 2**63 - 1, id="binwise"),
        pytest.param(without_caps(extremal), -(2**23), 2**23 - 1, id="extremal"),
    ],
)


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    numbers = st.one_of(st.floats(-10, 10), st.sampled_from(EXTREMES), st.floats(allow_nan=False, allow_infinity=False))
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 16)))
    return draw(hnp.arrays(np.float64, shape, elements=numbers, fill=st.sampled_from([0.0, 1.0, -2.0])))


@every_sampler
@given(
    X=matrices(), k=st.integers(1, 12), p=st.sampled_from([1e-6, 0.01, 1.0, 80.0, 1e6]), seed=st.integers(0, 2**64 - 1)
)
@settings(max_examples=60)
def test_samples_are_features_of_the_row_and_numbers_that_can_be_encoded(
    sample: Sampler, least_t: int, most_t: int, X: np.ndarray, k: int, p: float, seed: int
) -> None:
    i_star, t_star = sample(X, k, p=p, seed=seed)
    u = gmm_transform(X)
    for row in range(len(X)):
        if not u[row].any():
            assert i_star[row].tolist() == [-1] * k
            assert t_star[row].tolist() == [0] * k
        else:
            assert np.all(u[row, i_star[row]] > 0)
    assert np.all((least_t <= t_star) & (t_star <= most_t))
    np.testing.assert_array_equal(t_star.astype(np.float32).astype(np.int64), t_star)


@every_sampler
@given(
    X=matrices(), k=st.integers(1, 12), p=st.sampled_from([0.01, 1.0, 80.0]), factor=st.floats(1, 100), data=st.data()
)
@settings(max_examples=40)
def test_a_larger_number_takes_samples_over_and_changes_no_other(
    sample: Sampler, least_t: int, most_t: int, X: np.ndarray, k: int, p: float, factor: float, data: st.DataObject
) -> None:
    del least_t, most_t
    column = data.draw(st.integers(0, X.shape[1] - 1))
    raised = X[:1].copy()
    largest = np.finfo(np.float64).max
    raised[0, column] = np.clip(float(X[0, column]) * factor, -largest, largest)
    both = np.vstack([X, raised])
    (i, t), (new_i, new_t) = (sample(Z, k, p=p, seed=2, caps_of=both) for Z in (X[:1], raised))
    same = (i == new_i) & (t == new_t)
    assert np.all(same | (new_i == 2 * column + (raised[0, column] < 0)))
    if sample is with_caps:  # a larger number accepts the same trial or an earlier one
        assert np.all((new_t <= t)[(t >= 0) & (new_t >= 0)])
