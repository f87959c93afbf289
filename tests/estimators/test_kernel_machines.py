"""The kernel machines: closed forms against refitting, choices, probabilities, files, and the same model everywhere."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_digits, make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

import gcwsnet
from gcwsnet import PGMMClassifier, PGMMRegressor, pgmm_kernel, search
from gcwsnet.estimators import _pgmm as _kernel_machine
from gcwsnet.estimators._pgmm import fit_calibration
from gcwsnet.kernels import _ridge
from gcwsnet.kernels._columns import Learned
from gcwsnet.kernels._ridge import fit_ridge
from tests.estimators.tables import mixed_table, shuffled

# Columns are scaled and weighted by what all rows say, and a row that is left out leaves its copy in. Rows of weight 0
# are equal to no rows, which test_zero_weights.py shows; these checks repeat rows, too.
REASON = "the rows that are left out and the scaling of columns count rows and not weights"
BY_NATURE = {
    "check_sample_weight_equivalence_on_dense_data": REASON,
    "check_sample_weight_equivalence_on_sparse_data": REASON,
}


@pytest.mark.filterwarnings("ignore:all rows have the label")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [PGMMClassifier(random_state=0), PGMMRegressor(random_state=0), PGMMRegressor(p=2.0, scale="minmax", alpha=0.1)],
    expected_failed_checks=lambda _: BY_NATURE,
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def some_kernel(n: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(n)
    return pgmm_kernel(rng.normal(size=(n, 3)), p=2), rng.normal(size=(n, 2)), rng.uniform(0.2, 3.0, n)


@pytest.mark.parametrize("block", [384, 7, 16])
@pytest.mark.parametrize("n_left_out", [40, 17, 1])
def test_left_out_predictions_are_those_of_refitting_without_the_row(
    monkeypatch: pytest.MonkeyPatch, block: int, n_left_out: int
) -> None:
    monkeypatch.setattr(_ridge, "BLOCK", block)
    n, alpha = 40, 0.3
    K, targets, weight = some_kernel(n)
    whole = fit_ridge(K.copy(), targets, alpha / weight, n_left_out)
    assert whole.left_out.shape == (n_left_out, 2)
    for i in range(n - n_left_out, n):
        others = np.arange(n) != i
        refitted = fit_ridge(K[np.ix_(others, others)], targets[others], (alpha / weight)[others], 0)
        expected = K[i, others] @ refitted.coefficients + refitted.bias
        np.testing.assert_allclose(whole.left_out[i - n], expected, atol=1e-10)


def test_the_fit_has_the_least_weighted_squared_error_with_its_penalty() -> None:
    K, targets, weight = some_kernel(30)
    fit = fit_ridge(K.copy(), targets, 0.3 / weight, 0)

    def objective(coefficients: NDArray[Any], bias: NDArray[Any]) -> float:
        error = targets - K @ coefficients - bias
        return float((weight[:, None] * error**2).sum() + 0.3 * np.sum(coefficients * (K @ coefficients)))

    least = objective(fit.coefficients, fit.bias)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert objective(fit.coefficients + 1e-3 * rng.normal(size=(30, 2)), fit.bias) > least
        assert objective(fit.coefficients, fit.bias + 1e-3 * rng.normal(size=2)) > least


def test_integer_weights_are_repeated_rows() -> None:
    K, targets, _ = some_kernel(20)
    weight = np.arange(1, 21, dtype=np.float64) % 3 + 1
    repeated = np.repeat(np.arange(20), weight.astype(int))
    weighted = fit_ridge(K.copy(), targets, 0.5 / weight, 0)
    plain = fit_ridge(K[np.ix_(repeated, repeated)], targets[repeated], np.full(len(repeated), 0.5), 0)
    np.testing.assert_allclose(K @ weighted.coefficients, K[:, repeated] @ plain.coefficients, atol=1e-10)
    np.testing.assert_allclose(weighted.bias, plain.bias, atol=1e-10)


def test_a_regressor_with_given_settings_is_kernel_ridge() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.normal(size=120)
    model = PGMMRegressor(p=2.0, scale=None, relevance=0.0, alpha=0.7).fit(X[:100], y[:100])
    K = pgmm_kernel(X[:100], p=2.0)
    kernel_ridge = KernelRidge(alpha=0.7, kernel="precomputed").fit(K, y[:100] - bias_of(model))
    expected = kernel_ridge.predict(pgmm_kernel(X[100:], X[:100], p=2.0)) + bias_of(model)
    np.testing.assert_allclose(model.predict(X[100:]), expected, rtol=1e-5, atol=1e-6)


def bias_of(model: PGMMRegressor) -> float:
    targets: Any = model.machine_.targets
    return float(model.machine_.bias[0] * targets.deviation[0] + targets.mean[0])


@pytest.mark.parametrize("kind", [PGMMClassifier, PGMMRegressor])
def test_the_model_is_the_same_for_any_number_of_threads(kind: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(_ridge, "BLOCK", 64)
    X, y = make_classification(700, 8, n_informative=5, random_state=0)
    files = []
    for n_jobs in (1, 2, 5):
        model = kind(random_state=1, n_jobs=n_jobs).fit(X, y)
        model.save(tmp_path / str(n_jobs), timings=False)
        files.append(((tmp_path / str(n_jobs)).read_bytes(), model.predict(X).tobytes()))
    assert files[0] == files[1] == files[2]


def test_everything_is_chosen_by_left_out_predictions() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 12))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = PGMMClassifier(random_state=0).fit(X[:600], y[:600])
    assert {one.stage for one in model.selection_} == {"first", "second", "last"}
    assert [one.chosen for one in model.selection_] == [False] * (len(model.selection_) - 1) + [True]
    second = [one for one in model.selection_ if one.stage == "second"]
    best = min(second, key=lambda one: one.loss)
    chosen = model.selection_[-1]
    assert (chosen.scale, chosen.relevance, chosen.p) == (best.scale, best.relevance, best.p)
    assert (model.p_, model.alpha_) == (chosen.p, chosen.alpha)
    assert model.score(X[600:], y[600:]) > PGMMClassifier(alpha=1000.0, p=80.0, scale="minmax").fit(
        X[:600], y[:600]
    ).score(X[600:], y[600:])


def test_given_settings_are_kept() -> None:
    X, y = load_digits(return_X_y=True)
    model = PGMMClassifier(p=3.0, scale="unit", relevance=0.0, alpha=0.25).fit(X[:300], y[:300])
    assert [(one.p, one.scale, one.relevance, one.alpha) for one in model.selection_] == [(3.0, "unit", 0.0, 0.25)]


def noisy_classes(n: int, seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    logits = np.stack([X[:, 0] + X[:, 1], X[:, 1] * X[:, 2], np.zeros(n)], axis=1)
    probability = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (rng.random((n, 1)) > probability.cumsum(axis=1)).sum(axis=1)
    return X, y, probability


def test_probabilities_are_calibrated() -> None:
    """Rows in bins of a class's probability have that class as often, within five standard errors of fit and bin."""
    X, y, _ = noisy_classes(6000, 0)
    model = PGMMClassifier(random_state=0).fit(X[:1500], y[:1500])
    probabilities = model.predict_proba(X[1500:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities.argmax(axis=1) == np.searchsorted(model.classes_, model.predict(X[1500:]))).all()
    for number in range(3):
        of_class, there = probabilities[:, number], y[1500:] == number
        bins = (of_class * 5).astype(int).clip(0, 4)
        for one in np.unique(bins):
            inside = bins == one
            if inside.sum() < 200:
                continue
            gap = abs(of_class[inside].mean() - there[inside].mean())
            error = 0.5 * (1 / np.sqrt(inside.sum()) + 1 / np.sqrt(1500 * inside.mean()))
            assert gap < 5 * error * 0.5, (number, one, gap, error)


def test_calibration_lowers_the_log_loss_of_the_rows_that_were_left_out() -> None:
    X, y, _ = noisy_classes(600, 1)
    K = pgmm_kernel(X)
    scores = fit_ridge(K, np.eye(3)[y], np.full(600, 0.3), 600).left_out
    calibration = fit_calibration(scores, y, np.ones(600), 3)
    calibrated = calibration.logits(scores)
    log_probability = calibrated - np.log(np.exp(calibrated).sum(axis=1, keepdims=True))
    rows = np.arange(600)
    clipped = np.clip(scores, 0.01, None)
    plain = np.log(clipped / clipped.sum(axis=1, keepdims=True))
    assert log_probability[rows, y].mean() > plain[rows, y].mean()


def test_class_weights_are_weights_of_rows() -> None:
    X, y, _ = noisy_classes(400, 2)
    weights = {0: 5.0, 1: 1.0, 2: 0.5}
    by_class = PGMMClassifier(class_weight=weights, random_state=0).fit(X, y)
    by_row = PGMMClassifier(random_state=0).fit(X, y, sample_weight=np.array([5.0, 1.0, 0.5])[y])
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    plain = PGMMClassifier(random_state=0).fit(X, y)
    assert (by_class.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    balanced = PGMMClassifier(class_weight="balanced", random_state=0).fit(X, y)
    assert len(balanced.classes_) == 3


@pytest.mark.parametrize("make", [np.array, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", [PGMMClassifier, PGMMRegressor])
def test_a_loaded_model_and_the_predictor_of_its_file_predict_the_same_bits(
    kind: Any, make: Any, tmp_path: Path
) -> None:
    X, y = load_digits(return_X_y=True)
    model, rows = kind(random_state=0).fit(make(X[:300]), y[:300]), make(X[300:400])
    model.save(tmp_path / "model")
    loaded, predictor = gcwsnet.load(tmp_path / "model"), gcwsnet.Predictor.load(tmp_path / "model", n_jobs=2)
    assert type(loaded) is kind
    assert (loaded.selection_, loaded.get_params()) == (model.selection_, model.get_params())
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    for one in (loaded, predictor):
        np.testing.assert_array_equal(one.predict(rows), model.predict(rows))
        if kind is PGMMClassifier:
            np.testing.assert_array_equal(one.predict_proba(rows), model.predict_proba(rows))
            np.testing.assert_array_equal(one.classes_, model.classes_)
    if kind is PGMMRegressor:
        with pytest.raises(AttributeError, match="a regression has no classes and no probabilities; use predict"):
            predictor.predict_proba(rows)


def test_frames_are_taken_as_they_are(tmp_path: Path) -> None:
    X, y = mixed_table(600)
    model = PGMMClassifier(random_state=0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.85
    np.testing.assert_array_equal(model.predict_proba(shuffled(X)), model.predict_proba(X))
    assert "city=Rome" in model.get_feature_names_out()
    model.save(tmp_path / "model")
    for load in (gcwsnet.load, gcwsnet.Predictor.load):
        np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_missing_numbers_follow_the_rule() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int)
    X[y == 1, 1] = np.nan
    assert PGMMClassifier(random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.99
    for missing in ("zero", "mean"):
        PGMMClassifier(missing=missing, random_state=0).fit(X, y).predict(X)
    with pytest.raises(ValueError, match="every entry must be finite"):
        PGMMClassifier(missing="error").fit(X, y)


def test_several_numbers_are_learned_as_each_of_them() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    Y = np.stack([X[:, 0] * 100, X[:, 1] ** 2], axis=1)
    settings: dict[str, Any] = {"p": 1.0, "scale": "numeric", "relevance": 0.0, "alpha": 0.1, "random_state": 0}
    both = PGMMRegressor(**settings).fit(X, Y).predict(X)
    assert both.shape == Y.shape
    for column in range(2):
        np.testing.assert_allclose(both[:, column], PGMMRegressor(**settings).fit(X, Y[:, column]).predict(X))


def test_too_many_rows_name_the_net(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernel_machine, "MAX_ROWS", 100)
    X = np.random.default_rng(0).normal(size=(101, 2))
    with pytest.raises(ValueError, match=r"at most 100 rows.* got 101; use GCWSNetRegressor"):
        PGMMRegressor().fit(X, X[:, 0])


def test_memory_is_asked_for_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gcwsnet._validation.available_bytes", lambda: 1 << 20)
    X = np.random.default_rng(0).normal(size=(2000, 2))
    with pytest.raises(MemoryError, match="the kernel matrix of 2000 rows would take"):
        PGMMRegressor(p=1.0, scale=None, relevance=0.0).fit(X, X[:, 0])


def test_above_2000_rows_alpha_is_that_of_2000_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_ROWS_OF_ALL_ALPHAS", 400)
    monkeypatch.setattr(search, "ROWS_FOR_ALPHA", 300)
    X, y, _ = noisy_classes(500, 4)
    settings: dict[str, Any] = {"p": 1.0, "scale": "numeric", "relevance": 0.0, "random_state": 0}
    model = PGMMClassifier(**settings).fit(X, y)
    assert [one.stage for one in model.selection_] == ["third", "last"]
    assert model.selection_[0].alpha == model.alpha_
    given = PGMMClassifier(**settings, alpha=model.alpha_).fit(X, y)
    assert [one.stage for one in given.selection_] == ["last"]
    np.testing.assert_array_equal(given.predict_proba(X), model.predict_proba(X))
    monkeypatch.setattr(search, "MAX_ROWS_OF_ALL_ALPHAS", 4000)
    assert [one.stage for one in PGMMClassifier(**settings).fit(X, y).selection_] == ["last"]


def products(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of ten columns, of which two tell the number, and neither of them alone."""
    X = np.random.default_rng(5).normal(size=(n, 10))
    return X, X[:, 2] * X[:, 7]


def test_columns_that_matter_only_together_are_found_by_the_gradient(tmp_path: Path) -> None:
    X, y = products(600)
    model: Any = PGMMRegressor(random_state=0).fit(X[:400], y[:400])
    before, learned = [one for one in model.selection_ if one.stage == "columns"]
    assert learned.loss < 0.7 * before.loss
    assert model.selection_[-1].relevance == learned.relevance == "learned"
    weight = model.coder_.preprocessing.weight
    assert set(np.argsort(-weight)[:2]) == {2, 7}
    plain = PGMMRegressor(relevance=0.0, random_state=0).fit(X[:400], y[:400])
    assert {one.stage for one in plain.selection_} == {"first", "last"}
    assert 1 - model.score(X[400:], y[400:]) < 0.7 * (1 - plain.score(X[400:], y[400:]))
    assert "multiplied by learned weights; the most: " in model.explain()
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(gcwsnet.load(tmp_path / "model").predict(X), model.predict(X))


def test_learned_weights_are_taken_only_if_left_out_rows_are_predicted_better(monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(*given: Any, **_: Any) -> Learned:
        start: Learned = given[-1]
        return start._replace(theta=np.where(np.isin(np.arange(10), [2, 7]), -8.0, 0.0))

    monkeypatch.setattr(search, "learn_columns", learn)
    X, y = products(400)
    model = PGMMRegressor(random_state=0).fit(X, y)
    before, learned = [one for one in model.selection_ if one.stage == "columns"]
    assert learned.loss > before.loss
    assert model.selection_[-1].relevance == before.relevance
    assert model.coder_.preprocessing.recipe.relevance != "learned"


def test_given_p_and_alpha_stay_while_columns_are_learned() -> None:
    X, y = products(300)
    model = PGMMRegressor(p=2.0, alpha=0.1, random_state=0).fit(X, y)
    assert (model.p_, model.alpha_) == (2.0, 0.1)
    assert model.selection_[-1].relevance == "learned"


def test_a_kernel_in_float32_gives_the_same_model_up_to_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = products(300)
    settings: dict[str, Any] = {"p": 1.0, "scale": "numeric", "relevance": 0.0, "alpha": 0.01, "random_state": 0}
    expected = PGMMRegressor(**settings).fit(X, y)
    monkeypatch.setattr(search, "MAX_ROWS_OF_DOUBLES", 100)
    monkeypatch.setattr(search, "ROWS_AT_ONCE", 64)
    found = PGMMRegressor(**settings).fit(X, y)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-5)
    assert found.machine_.coefficients.dtype == np.float64
    assert (found.machine_.coefficients != expected.machine_.coefficients).any()


@pytest.mark.parametrize("alpha", [1e-6, 0.01])
def test_where_float32_does_not_do_the_kernel_is_of_float64(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = products(300)
    settings: dict[str, Any] = {"p": 1.0, "scale": "numeric", "relevance": 0.0, "alpha": alpha, "random_state": 0}
    expected = PGMMRegressor(**settings).fit(X, y)
    types: list[Any] = []

    def fit_in_float64(K: NDArray[Any], *given: Any, **more: Any) -> Any:
        types.append(K.dtype)
        if K.dtype == np.float32:
            raise np.linalg.LinAlgError("not positive definite")
        return fit_ridge(K, *given, **more)

    monkeypatch.setattr(search, "MAX_ROWS_OF_DOUBLES", 100)
    monkeypatch.setattr(search, "fit_ridge", fit_in_float64)
    found = PGMMRegressor(**settings).fit(X, y)
    assert types == ([np.float64] if alpha < 1e-3 else [np.float32, np.float64])
    np.testing.assert_array_equal(found.machine_.coefficients, expected.machine_.coefficients)


def test_learned_weights_must_be_better_for_more_rows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "ROWS_FOR_COLUMNS", 150)
    X, y = products(600)
    model = PGMMRegressor(random_state=0).fit(X, y)
    before, learned = [one for one in model.selection_ if one.stage == "third"]
    assert (before.relevance, learned.relevance) == (0.0, "learned")
    assert model.selection_[-1].relevance == "learned"
    losses = search.KernelSearch.losses

    def worse_for_more_rows(self: Any, stage: str, n_rows: int, point: Any) -> NDArray[Any]:
        found = losses(self, stage, n_rows, point)
        if stage == "third" and self.factors is not None:
            found[:-150] += 1.0  # and as good as they were for the rows that the weights were learned from
            found[-150:] = 0.0
        return found

    monkeypatch.setattr(search.KernelSearch, "losses", worse_for_more_rows)
    model = PGMMRegressor(random_state=0).fit(X, y)
    assert model.selection_[-1].relevance == before.relevance
    assert model.coder_.preprocessing.recipe.relevance == before.relevance
