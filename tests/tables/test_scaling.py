"""The scaling of columns before they are hashed."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, QuantileTransformer, StandardScaler

from gcwsnet import _core
from gcwsnet.tables import _scaling as module

fit_scaling: Any = module.fit_scaling
RNG = np.random.default_rng(0)
NUMERIC = RNG.normal(5, 3, (200, 4)) * np.array([1, 1e-6, 1e6, -1])
BINARY = (RNG.random((200, 3)) < 0.3).astype(float)
X = np.hstack([NUMERIC, BINARY, np.full((200, 1), 7.0)])


def test_auto_standardises_numbers_keeps_binary_columns_and_drops_constant_ones() -> None:
    scaling = fit_scaling(X, "numeric")
    expected = np.hstack([StandardScaler().fit_transform(NUMERIC), BINARY, np.zeros((200, 1))])
    np.testing.assert_allclose(scaling.transform(X), expected, rtol=1e-9, atol=1e-12)
    assert scaling.kind.tolist() == [module.NUMERIC] * 4 + [module.BINARY] * 3 + [module.CONSTANT]
    assert "4 numeric standardised, 3 binary left as they are, 1 constant dropped" in repr(scaling)


def test_standard_and_minmax_are_those_of_scikit_learn() -> None:
    some = X[:, :-1]
    np.testing.assert_allclose(
        fit_scaling(some, "standard").transform(some), StandardScaler().fit_transform(some), atol=1e-9
    )
    np.testing.assert_allclose(
        fit_scaling(some, "minmax").transform(some), MinMaxScaler().fit_transform(some), atol=1e-9
    )
    assert not fit_scaling(X, "standard").transform(X)[:, -1].any()
    assert not fit_scaling(X, "minmax").transform(X)[:, -1].any()


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_rows_are_divided_and_not_shifted(form: Any) -> None:
    mostly_zero = X * (RNG.random(X.shape) < 0.2)
    S = form(mostly_zero)
    scaled = fit_scaling(S, "numeric").transform(S)
    assert isinstance(scaled, form)
    assert scaled.nnz == S.nnz
    root_mean_square = np.sqrt(np.mean(mostly_zero**2, axis=0))
    np.testing.assert_allclose(scaled.toarray()[:, :4], mostly_zero[:, :4] / root_mean_square[:4])
    np.testing.assert_array_equal(scaled.toarray()[:, 4:7], mostly_zero[:, 4:7])
    np.testing.assert_allclose(
        fit_scaling(S, "minmax").transform(S).toarray(), MaxAbsScaler().fit_transform(mostly_zero)
    )


def test_a_full_constant_sparse_column_is_dropped_and_an_empty_one_is_scaled_like_the_others() -> None:
    S = sparse.csr_array(np.array([[3.0, 0.0, 1.0], [3.0, 0.0, 0.0]]))
    scaling = fit_scaling(S, "numeric")
    assert scaling.kind.tolist() == [module.CONSTANT, module.UNSEEN, module.BINARY]
    np.testing.assert_array_equal(scaling.transform(S).toarray(), [[0, 0, 1], [0, 0, 0]])
    wider = sparse.csr_array(np.array([[0.0, 2.0, 0.0, 4.0], [0.0, 0.0, 3.0, 4.0]]))
    scaling = fit_scaling(wider, "numeric")  # whose root mean squares are 2 and 3, by the root of 2
    assert scaling.divisor[0] == pytest.approx(2.5 / 2**0.5)
    assert "1 unseen scaled like the others" in repr(scaling)


def test_rows_are_scaled_alike_in_any_batch_and_keep_their_type(monkeypatch: pytest.MonkeyPatch) -> None:
    for rows in (X, X.astype(np.float32)):
        whole: Any = fit_scaling(rows, "numeric")
        monkeypatch.setattr(module, "BATCH_BYTES", 8 * 8 * 7)
        pieces: Any = fit_scaling(rows, "numeric")
        np.testing.assert_allclose(pieces.shift, whole.shift, rtol=1e-12)
        np.testing.assert_allclose(pieces.divisor, whole.divisor, rtol=1e-12)
        assert whole.transform(rows).dtype == rows.dtype
        np.testing.assert_array_equal(
            np.vstack([whole.transform(rows[:50]), whole.transform(rows[50:])]), whole.transform(rows)
        )
        monkeypatch.undo()


def test_missing_numbers_are_left_out_of_account() -> None:
    some = X.copy()
    some[::5, 0] = np.nan
    scaled = fit_scaling(some, "numeric").transform(some)
    assert np.isnan(scaled[::5, 0]).all()
    assert np.nanmean(scaled[:, 0]) == pytest.approx(0, abs=1e-12)
    assert np.nanstd(scaled[:, 0]) == pytest.approx(1)
    fit_scaling(np.full((3, 2), np.nan), "numeric")


def test_huge_and_tiny_columns() -> None:
    rows = RNG.normal(size=(50, 3)) * np.array([1e300, 1e-300, 5e-324])
    scaled = fit_scaling(rows, "numeric").transform(rows)
    assert np.isfinite(scaled).all()
    np.testing.assert_allclose(scaled[:, :2].std(axis=0), 1)


def test_whole_numbers_and_booleans() -> None:
    rows = RNG.integers(0, 9, (30, 2))
    np.testing.assert_allclose(
        fit_scaling(rows, "numeric").transform(rows), StandardScaler().fit_transform(rows), atol=1e-6
    )
    np.testing.assert_array_equal(fit_scaling(rows > 4, "numeric").transform(rows > 4), rows > 4)


def test_a_scaling_of_dense_rows_refuses_sparse_ones() -> None:
    with pytest.raises(ValueError, match="shifts columns, which would fill a sparse matrix"):
        fit_scaling(X, "numeric").transform(sparse.csr_array(X))
    with pytest.raises(ValueError, match=r"scale must be one of 'numeric', .* got scale='robust'"):
        fit_scaling(X, "robust")


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_terms_are_weighted_as_by_scikit_learn(form: Any, dtype: Any) -> None:
    counts = np.random.default_rng(0).poisson(0.4, (60, 30)).astype(dtype)
    counts[7] = 0
    X = form(counts)
    settings_of: dict[str, dict[str, Any]] = {"idf": {"norm": None}, "unit": {"use_idf": False}, "tfidf": {}}
    for scale, settings in settings_of.items():
        scaled = fit_scaling(X, scale).transform(X)
        assert scaled.dtype == dtype
        assert sparse.issparse(scaled) == sparse.issparse(X)
        found = scaled.toarray() if sparse.issparse(scaled) else scaled
        expected = TfidfTransformer(**settings).fit_transform(counts.astype(np.float64)).toarray()
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_array_equal(X.toarray() if sparse.issparse(X) else X, counts)


def test_terms_with_signs_holes_and_huge_numbers() -> None:
    X = np.array([[3e200, -4e200, 0.0], [np.nan, 0.0, 2.0], [0.0, 0.0, 0.0], [1e-300, 0.0, 0.0]])
    expected = [[0.6, -0.8, 0.0], [np.nan, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    for form in (np.array, sparse.csr_matrix):
        scaled = fit_scaling(form(X), "unit").transform(form(X))
        found = scaled.toarray() if sparse.issparse(scaled) else scaled
        np.testing.assert_allclose(found, expected)
    most = np.finfo(np.float32).max
    huge = np.array([[most, 1], [0, 1], [0, 1]], dtype=np.float32)
    assert fit_scaling(huge, "idf").transform(huge)[0, 0] == most


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quantiles_make_columns_normal(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(3 * rng.normal(size=3000)), rng.integers(0, 2, 3000), np.full(3000, 4.0)]).astype(dtype)
    scaling = fit_scaling(X, "quantile")
    scaled = scaling.transform(X)
    assert scaled.dtype == dtype
    normal = norm.ppf((np.argsort(np.argsort(X[:, 0])) + 0.5) / 3000)
    middle = np.abs(normal) < 2
    np.testing.assert_allclose(scaled[middle, 0], normal[middle], atol=0.05)
    assert np.abs(scaled[:, 0]).max() == pytest.approx(norm.ppf(511 / 512))
    np.testing.assert_array_equal(scaled[:, 1], X[:, 1])
    assert not scaled[:, 2].any()
    assert repr(scaling) == "QuantileScaling(1 numeric made normal, 1 binary left as they are, 1 constant dropped)"
    sklearns = QuantileTransformer(n_quantiles=256, output_distribution="normal").fit_transform(X[:, :1].astype(float))
    np.testing.assert_allclose(scaled[middle, 0], sklearns[middle, 0], atol=0.05)


def test_quantiles_of_ties_lie_in_their_middle_and_keep_nan() -> None:
    X = np.repeat([0.0, 1.0, 2.0], [500, 300, 200])[:, None]
    scaled = fit_scaling(X, "quantile").transform(np.array([[0.0], [1.0], [2.0], [np.nan], [-9.0], [9.0]]))[:, 0]
    np.testing.assert_allclose(scaled[1], norm.ppf([0.5, 0.8]).mean(), atol=0.05)
    assert scaled[0] < scaled[1] < scaled[2]
    assert np.isnan(scaled[3])
    np.testing.assert_allclose(scaled[4:], [norm.ppf(1 / 512), norm.ppf(511 / 512)])
    holes = X.copy()
    holes[::7] = np.nan
    scaling = fit_scaling(holes, "quantile")
    assert np.isfinite(scaling.quantiles).all()


def test_quantiles_are_not_for_sparse_rows() -> None:
    with pytest.raises(ValueError, match="scale='quantile' is for dense rows"):
        fit_scaling(sparse.csr_array(X), "quantile")
    with pytest.raises(ValueError, match="quantiles are for dense rows"):
        fit_scaling(X, "quantile").transform(sparse.csr_array(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_summed_in_the_order_of_the_rows_however_they_lie_in_memory(dtype: type) -> None:
    rows: Any = RNG.normal(size=(3000, 5)) * np.array([1e-30, 1, 1, 1e30, 1])
    rows = rows.astype(dtype)
    rows[RNG.random(rows.shape) < 0.1] = np.nan
    exponent = np.array([-100, 0, 3, 100, 0], dtype=np.int32)
    scaled = np.ldexp(rows.astype(np.float64), -exponent)
    there = ~np.isnan(scaled)
    expected = np.cumsum(np.where(there, scaled, 0.0), axis=0)[-1]  # one after the other
    center = expected / there.sum(axis=0)
    squares = np.cumsum(np.where(there, scaled - center, 0.0) ** 2, axis=0)[-1]
    wide: Any = np.full((3000, 10), np.nan, dtype=dtype)
    wide[:, ::2] = rows
    for layout in (rows, np.asfortranarray(rows), wide[:, ::2], rows[::-1].copy()[::-1]):
        found, count, square = np.empty(5), np.empty(5, dtype=np.int64), np.empty(5)
        _core.column_sums(layout, exponent, found, count)
        _core.column_squares(layout, exponent, center, square)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(count, there.sum(axis=0))
        np.testing.assert_array_equal(square, squares)


def test_numbers_below_the_normal_ones_are_standardised() -> None:
    tiny = np.arange(-50.0, 50.0)[:, None] * 5e-324
    scaled = fit_scaling(tiny, "numeric").transform(tiny)
    np.testing.assert_allclose(scaled.std(), 1.0, rtol=0.05)  # the deviation is itself some 29 units
