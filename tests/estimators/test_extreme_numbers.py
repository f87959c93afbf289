"""Numbers at the ends of their range: weights, targets and integers are exact or refused, and no model has a NaN."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse

import gcwsnet
from gcwsnet import GCWSHasher, GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier, PGMMRegressor
from gcwsnet.net._targets import Numbers
from gcwsnet.net._trainer import Trainer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] > 0).astype(np.int64)
SMALL: dict[str, Any] = {"n_hashes": 16, "bits": 4, "hidden": (8,), "epochs": 2, "random_state": 0, "search": "off"}
CLASSIFIERS: list[Any] = [GCWSNetClassifier(**SMALL), PGMMClassifier(p=1.0, scale="numeric", relevance=0, alpha=0.1)]
NAMES = ["net", "machine"]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=NAMES)
@pytest.mark.parametrize("weight", [1e16, 1e39, np.inf, np.nan, -1.0])
def test_weights_that_would_overflow_are_refused(model: Any, weight: float) -> None:
    """1e39 is infinite in float32: all probabilities were NaN."""
    weights = np.ones(120)
    weights[7] = weight
    with pytest.raises(ValueError, match=r"sample_weight|Negative values in data"):
        model.fit(X, Y, sample_weight=weights)
    with pytest.raises(ValueError, match="class_weight must be from 0 to 1e\\+15, that of 1 is"):
        model.set_params(class_weight={1: weight}).fit(X, Y)
    model.set_params(class_weight={1: 1e10})
    with pytest.raises(ValueError, match="sample_weight times class_weight must be from 0 to 1e"):
        model.fit(X, Y, sample_weight=np.full(120, 1e10))
    model.set_params(class_weight=None)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=NAMES)
@pytest.mark.parametrize("weight", [1e-15, 1e15])
def test_weights_of_any_scale_that_is_taken_give_finite_probabilities(model: Any, weight: float) -> None:
    found = model.fit(X, Y, sample_weight=np.full(120, weight)).predict_proba(X)
    assert np.isfinite(found).all()
    weights = np.ones(120)
    weights[7] = weight
    assert np.isfinite(model.fit(X, Y, sample_weight=weights).predict_proba(X)).all()


def test_weights_that_all_vanish_in_float32_are_refused() -> None:
    with pytest.raises(ValueError, match="the largest sample_weight must be at least 1e-15, got 1e-50"):
        CLASSIFIERS[0].fit(X, Y, sample_weight=np.full(120, 1e-50))


@pytest.mark.parametrize("exponent", [-1060, -700, 530, 1020])
@pytest.mark.parametrize(
    "model", [GCWSNetRegressor(**SMALL), PGMMRegressor(p=1.0, alpha=0.1, random_state=0)], ids=NAMES
)
def test_targets_times_a_power_of_two_are_learned_alike(model: Any, exponent: int) -> None:
    """1e160 overflowed where it was squared, and 1e-200 counted as constant."""
    y = np.ldexp(np.round(np.ldexp(X[:, :2], 4)), -8)  # few bits, so that none is lost below 1e-308
    plain = model.fit(X, y).predict(X)
    history = dict(getattr(model, "history_", {}))
    far = model.fit(X, np.ldexp(y, exponent))
    found = far.predict(X)
    assert np.isfinite(found).all()
    if exponent > -1000:
        np.testing.assert_array_equal(found, np.ldexp(plain, exponent))
    if history and exponent > -1000:  # below that the standard deviation itself loses bits
        np.testing.assert_array_equal(far.history_["loss"], history["loss"])
        np.testing.assert_allclose(far.history_["rmse"], np.ldexp(history["rmse"], exponent), rtol=1e-2)


def test_the_targets_of_ordinary_size_have_the_bits_that_they_had() -> None:
    y = RNG.normal(size=(50, 2)) * [1e3, 1e-3] + [7.0, 0.1]
    targets = Numbers.learn(y, "squared_error")
    np.testing.assert_array_equal(targets.mean, y.mean(axis=0))
    np.testing.assert_array_equal(targets.deviation, y.std(axis=0))
    encoded = targets.encode(y)
    np.testing.assert_array_equal(encoded, ((y - y.mean(axis=0)) / y.std(axis=0)).astype(np.float32))
    np.testing.assert_array_equal(targets.predictions(encoded), encoded * y.std(axis=0) + y.mean(axis=0))


def test_a_net_that_is_not_finite_is_an_error_and_no_model() -> None:
    model = GCWSNetClassifier(**SMALL).fit(X, Y)
    net = model.trainer_.net
    net.weights()["layers.0.weight"][3, 2] = np.nan
    with pytest.raises(ValueError, match="weights of the net are not finite"):
        model.save("nowhere", training_state=True)
    with pytest.raises(ValueError, match="not finite"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(X)


def test_a_fit_whose_last_step_is_not_finite_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss is that before a step, so that of the last step says nothing about the net."""
    model = GCWSNetClassifier(**SMALL)
    finish = Trainer.start_run

    def spoiled(trainer: Trainer, **more: Any) -> None:
        finish(trainer, **more)
        trainer.net.weights()["layers.0.weight"][-1, -1] = np.inf  # of a code that no row has

    monkeypatch.setattr(Trainer, "start_run", spoiled)
    with pytest.raises(ValueError, match="not finite"):
        model.fit(X[:6], Y[:6])
    assert "trainer_" not in vars(model)


BIG: NDArray[np.int64] = np.where(Y == 1, 2**53, 2**53 + 1)


@pytest.mark.parametrize("labels", [BIG, BIG.astype(object), BIG.astype(np.uint64) + np.uint64(2**63 - 2**53)])
def test_labels_beyond_2_to_the_53_are_exact(labels: NDArray[Any]) -> None:
    for model in CLASSIFIERS:
        model.fit(X, labels)
        assert model.classes_.tolist() == np.unique(labels).tolist()
        assert set(model.predict(X).tolist()) == set(labels.tolist())


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers_that_float64_does_not_hold_are_no_features(dtype: Any) -> None:
    """2**53 and 2**53 + 1 were one number."""
    numbers = np.stack([BIG, np.arange(120)], axis=1).astype(dtype)
    frame = pd.DataFrame({"id": BIG, "n": np.arange(120)})
    message = "integers beyond 2.*53 must be numbers that float64 holds, .* 9007199254740993"
    models: list[Any] = [*CLASSIFIERS, GCWSHasher(8, random_state=0)]
    for model in models:
        with pytest.raises(ValueError, match=message):
            model.fit(numbers, Y)
    with pytest.raises(ValueError, match=message):
        gcwsnet.pgmm_kernel(numbers)
    with pytest.raises(ValueError, match=message):
        GCWSNetClassifier(**SMALL).fit(frame, Y)
    with pytest.raises(ValueError, match=message):
        GCWSNetClassifier(**SMALL).fit(sparse.csr_array(numbers), Y)
    even = numbers - numbers % 2
    even[0, 0] = 2**62
    assert np.isfinite(GCWSNetClassifier(**SMALL).fit(even, Y).predict_proba(even)).all()
    assert np.isfinite(GCWSNetClassifier(**SMALL).fit(numbers.astype(np.float64), Y).predict_proba(even)).all()


@pytest.mark.parametrize("extreme", [2**63 - 1, -(2**63), -(2**63) + 1])
def test_the_largest_integers(extreme: int) -> None:
    numbers = np.array([[extreme], [1]], dtype=np.int64)
    if extreme == -(2**63):
        assert GCWSHasher(8, random_state=0).fit_transform(numbers).shape == (2, 8)
    else:
        with pytest.raises(ValueError, match=str(extreme)):
            GCWSHasher(8, random_state=0).fit(numbers)


def wide_rows() -> Any:
    rows = sparse.csr_array((np.ones(40), np.arange(40) * 50_000_000, np.arange(41)), shape=(40, 2**31))
    rows.indices = rows.indices.astype(np.int64)
    return rows


@pytest.mark.parametrize(
    "settings", [{"scale": s} for s in ("numeric", "minmax", "tfidf", "unit")] + [{"relevance": 1.0}]
)
def test_what_is_kept_for_each_of_2_to_the_31_columns_is_asked_for_first(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended in the killing of the process for want of memory."""
    monkeypatch.setattr("gcwsnet._validation.available_bytes", lambda: 1 << 32)
    model = GCWSNetClassifier(**SMALL | {"p": 1.0, "scale": None, "relevance": 0} | settings)
    with pytest.raises(MemoryError, match=r"with 2147483648 columns would take .*; use scale=None and relevance=0"):
        model.fit(wide_rows(), np.arange(40) % 2)


def test_rows_of_2_to_the_31_columns_need_no_more_memory_than_their_entries() -> None:
    rows, y = wide_rows(), np.arange(40) % 2
    model = GCWSNetClassifier(**SMALL | {"p": 1.0, "scale": None, "relevance": 0}).fit(rows, y)
    assert np.isfinite(model.predict_proba(rows)).all()
    assert gcwsnet.pgmm_kernel(rows, p=2).trace() == 40
