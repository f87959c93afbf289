"""The additive model beside the nets: a weight for each bin of each column, learned with them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, Predictor
from gcwsnet.files import Batch
from gcwsnet.net._net import RATE_OF_ADDITIVE, Net, make_net
from gcwsnet.net._packed import mixed
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._trainer import Trainer
from gcwsnet.search import NetScore
from gcwsnet.tables._bins import BIN_BITS
from tests.net.learners import CODE_BITS, N_HASHES, SETTINGS, THREE_CLASSES, rows_of, run

N_BINS = 5
RNG = np.random.default_rng(0)
SMALL: dict[str, Any] = {"n_hashes": 16, "hidden": (8,), "epochs": 2, "search": "off", "random_state": 0}
X = RNG.normal(size=(600, 4)).round(1)
X[RNG.random(X.shape) < 0.05] = np.nan
EFFECT = np.nan_to_num(np.abs(X)).sum(axis=1) + np.isnan(X[:, 0])
LABELS = {
    "two classes": np.median(EFFECT) < EFFECT,
    "three classes": np.digitize(EFFECT, np.quantile(EFFECT, [1 / 3, 2 / 3])),
    "several labels": np.column_stack([EFFECT > 3, EFFECT > 4]).astype(int),
}


def with_bins(rows: Batch) -> Batch:
    """Rows whose bins say something about their classes."""
    assert rows.y is not None
    bins = np.random.default_rng(1).integers(0, 3, (rows.n_rows, N_BINS))
    bins[:, 0] = rows.y
    return rows._replace(X=np.hstack([rows.X, bins.astype(rows.X.dtype)]))


def begin(n_bins: int = N_BINS, **settings: Any) -> Trainer:
    made: dict[str, Any] = {"n_hashes": N_HASHES, "code_bits": CODE_BITS, "seed": 5, "n_bins": n_bins}
    return Trainer(make_net(replace(SETTINGS, **{"additive": 0.25} | settings), THREE_CLASSES, **made))


class Reference:
    """Softmax regression on bins by Adam with a first beta of 0, on the weights that occur in a batch."""

    def __init__(self) -> None:
        self.table, self.bias = np.zeros((N_BINS << BIN_BITS, 3)), np.zeros(3)
        self.squares, self.squares_of_bias, self.n_steps = np.zeros_like(self.table), np.zeros(3), 0

    def outputs(self, bins: Any) -> Any:
        return self.bias + self.table[bins + (np.arange(N_BINS) << BIN_BITS)].sum(axis=1)

    def step(self, bins: Any, target: Any, weight: Any, rate: float) -> None:
        beta, epsilon = 0.999, 1e-8
        self.n_steps += 1
        outputs = self.outputs(bins)
        share = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        gradient = (share / share.sum(axis=1, keepdims=True) - np.eye(3)[target]) * weight[:, np.newaxis] / len(target)
        of_table = np.zeros_like(self.table)
        np.add.at(of_table, bins + (np.arange(N_BINS) << BIN_BITS), gradient[:, np.newaxis])
        corrected = rate * np.sqrt(1 - beta**self.n_steps)
        occurred = np.unique(bins + (np.arange(N_BINS) << BIN_BITS))
        self.squares[occurred] += (1 - beta) * (of_table[occurred] ** 2 - self.squares[occurred])
        self.table[occurred] -= corrected * of_table[occurred] / (np.sqrt(self.squares[occurred]) + epsilon)
        of_bias = gradient.sum(axis=0)
        self.squares_of_bias += (1 - beta) * (of_bias**2 - self.squares_of_bias)
        self.bias -= corrected * of_bias / (np.sqrt(self.squares_of_bias) + epsilon * np.sqrt(1 - beta**self.n_steps))


def test_steps_are_those_of_plain_numpy() -> None:
    rows, reference = with_bins(rows_of(320, 1, weighted=True)), Reference()
    net: Any = begin(betas=(0.0, 0.999)).net
    rates = np.linspace(0.01, 0.002, 10)
    assert rows.y is not None
    assert rows.weight is not None
    net.train(rows.X, rows.y, rows.weight, rates, batch_size=32, n_jobs=1)
    bins = rows.X[:, N_HASHES:].astype(np.int64)
    for number, rate in enumerate(rates):
        batch = slice(32 * number, 32 * (number + 1))
        reference.step(bins[batch], rows.y[batch], rows.weight[batch], RATE_OF_ADDITIVE * rate)
    assert np.abs(reference.table).max() > 0.2
    found = net.outputs_of_cores(rows.X, n_jobs=1)[1]
    assert_allclose(found, reference.outputs(bins), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("ensemble", [1, 2])
def test_the_nets_learn_as_if_they_were_alone(ensemble: int) -> None:
    rows = with_bins(rows_of(200, ensemble, weighted=True))
    mixed = run(begin(ensemble=ensemble), rows).net
    alone = run(begin(0, ensemble=ensemble), rows._replace(X=rows.X[:, :-N_BINS])).net
    for core, other in zip(mixed.cores, alone.cores, strict=False):
        for name, weights in other.weights().items():
            assert_array_equal(core.weights()[name], weights)
    of_nets, of_bins = alone.outputs(rows.X[:, :-N_BINS], n_jobs=1), mixed.outputs_of_cores(rows.X, n_jobs=1)[-1]
    expected = 0.75 * of_nets.astype(np.float64) + 0.25 * of_bins.astype(np.float64)
    assert_array_equal(mixed.outputs(rows.X, n_jobs=1), expected.astype(np.float32))


def test_bins_that_never_occurred_weigh_nothing() -> None:
    rows = with_bins(rows_of(200, 1))
    net: Any = run(begin(), rows).net
    unseen = rows.X.copy()
    unseen[:, N_HASHES:] = 63
    bias = net.cores[-1].weights()["layers.0.bias"]
    assert_array_equal(net.outputs_of_cores(unseen, n_jobs=1)[1], np.tile(bias, (len(unseen), 1)))
    packed = net.pack("int4")
    assert packed.additive.arrays["layers.0.weight"].shape == (3 * N_BINS, 3)
    assert_array_equal(packed.additive.weights()["layers.0.weight"], net.cores[-1].weights()["layers.0.weight"])


@pytest.mark.parametrize("y", [*LABELS.values(), EFFECT], ids=[*LABELS, "numbers"])
@pytest.mark.parametrize("ensemble", [1, 2])
def test_a_model_predicts_the_same_after_saving(y: Any, ensemble: int, tmp_path: Path) -> None:
    make = GCWSNetRegressor if y is EFFECT else GCWSNetClassifier
    model = make(additive=0.4, ensemble=ensemble, **SMALL).fit(X, y)
    expected = model.predict(X)
    model.save(tmp_path / "model")
    model.save(tmp_path / "state", training_state=True)
    assert_array_equal(Predictor.load(tmp_path / "model").predict(X), expected)
    loaded, going_on = gcwsnet.load(tmp_path / "model"), gcwsnet.load(tmp_path / "state")
    assert_array_equal(loaded.predict(X), expected)
    assert loaded.trainer_.settings.additive == 0.4
    for one in (model, going_on):
        one.partial_fit(X[:100], y[:100])
    assert_array_equal(going_on.trainer_.net.outputs(model.coder_.codes(X), n_jobs=1), model_outputs(model))


def model_outputs(model: Any) -> Any:
    return model.trainer_.net.outputs(model.coder_.codes(X), n_jobs=1)


def test_weights_are_the_same_for_any_number_of_threads() -> None:
    one, two = (
        GCWSNetClassifier(additive=0.4, ensemble=2, n_jobs=jobs, **SMALL).fit(X, LABELS["three classes"])
        for jobs in (1, 2)
    )
    for name, weights in one.trainer_.net.weights().items():
        assert_array_equal(two.trainer_.net.weights()[name], weights)
    assert_array_equal(model_outputs(one), model_outputs(two))


@pytest.fixture(scope="module")
def many_rows() -> tuple[Any, Any, Any]:
    """Rows with the effects of single columns, and those of a product, on two targets."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(11_000, 6))
    logit = 3 * np.cos(2 * rows[:, :3]).sum(axis=1)
    return rows, rng.random(len(rows)) < 1 / (1 + np.exp(-logit)), np.sign(rows[:, 3] * rows[:, 4]) > 0


FAST: dict[str, Any] = {"n_hashes": 32, "epochs": 2, "scale": "numeric", "p": 1.0, "relevance": 0.0, "random_state": 0}


def test_the_share_is_chosen_on_rows_that_are_not_learned(many_rows: Any) -> None:
    rows, of_columns, _ = many_rows
    model = GCWSNetClassifier(**FAST).fit(rows, of_columns)
    assert model.trainer_.settings.share() >= 0.5
    assert model.n_rows_seen_ == 2 * (len(rows) - len(rows) // 20)
    without = GCWSNetClassifier(additive=0, **FAST).fit(rows, of_columns)
    assert without.coder_.bins is None
    fresh = np.random.default_rng(1).normal(size=(4000, 6))
    y = np.random.default_rng(2).random(4000) < 1 / (1 + np.exp(-3 * np.cos(2 * fresh[:, :3]).sum(axis=1)))
    assert model.score(fresh, y) > without.score(fresh, y) + 0.01


def test_a_model_that_does_not_help_is_dropped(many_rows: Any) -> None:
    rows, _, of_product = many_rows
    model = GCWSNetClassifier(**FAST).fit(rows, of_product)
    assert model.trainer_.settings.additive == 0
    assert model.coder_.bins is None
    assert len(model.trainer_.net.cores) == 1


@pytest.mark.parametrize(
    "settings",
    [{"hidden": (48,)}, {"additive": 0.0}],
    ids=str,
)
def test_there_is_none_for_given_layers(settings: dict[str, Any], many_rows: Any) -> None:
    rows, of_columns, _ = many_rows
    model = GCWSNetClassifier(**FAST | settings).fit(rows, of_columns)
    assert model.coder_.bins is None
    assert model.n_rows_seen_ == 2 * len(rows)


def test_there_is_none_for_several_classes(many_rows: Any) -> None:
    rows, of_columns, of_product = many_rows
    assert GCWSNetClassifier(**FAST).fit(rows, of_columns + 2 * of_product).coder_.bins is None


def test_an_evaluation_at_the_end_is_that_of_the_fitted_model(many_rows: Any) -> None:
    rows, of_columns, _ = many_rows
    held_out = rows[:1000], of_columns[:1000]
    model = GCWSNetClassifier(**FAST).fit(rows[1000:], of_columns[1000:], eval_set=held_out)
    probability = model.predict_proba(held_out[0])[np.arange(1000), held_out[1].astype(int)]
    assert_allclose(model.history_["eval_loss"][-1], -np.log(probability).mean(), rtol=1e-6)


@pytest.mark.parametrize("additive", [-0.1, 1.1, "all"])
def test_a_share_is_from_0_to_1(additive: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="additive must be"):
        GCWSNetClassifier(additive=additive, **SMALL).fit(X, LABELS["two classes"])


def test_streams_and_sparse_rows_have_none() -> None:
    from scipy import sparse  # noqa: PLC0415

    with pytest.raises(ValueError, match=r"additive=0.5 has no effect"):
        GCWSNetClassifier(additive=0.5, **SMALL).partial_fit(X, LABELS["two classes"])
    rows = sparse.csr_array(np.nan_to_num(X))
    with pytest.raises(ValueError, match=r"additive=0.5 is for `fit` with dense rows"):
        GCWSNetClassifier(additive=0.5, **SMALL).fit(rows, LABELS["two classes"])


def test_a_net_of_torch_has_none() -> None:
    made: dict[str, Any] = {"n_hashes": N_HASHES, "code_bits": CODE_BITS, "seed": 5, "n_bins": N_BINS}
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="device='meta'"):
        make_net(SETTINGS, THREE_CLASSES, **made, device="meta")


def test_a_copy_of_a_net_is_the_same() -> None:
    import pickle  # noqa: PLC0415

    rows = with_bins(rows_of(200, 1))
    net: Net = run(begin(), rows).net
    copied = pickle.loads(pickle.dumps(net))
    assert_array_equal(copied.outputs(rows.X, n_jobs=1), net.outputs(rows.X, n_jobs=1))


def test_a_share_for_classes_must_be_clearly_better_than_none() -> None:
    rng = np.random.default_rng(0)
    target, numbers = np.repeat([0, 1, 2], 40), rng.normal(size=(120, 3)).astype(np.float32)
    outputs = 2 * np.eye(3, dtype=np.float32)[target] + numbers
    settings = TrainingSettings(hidden=(8,))
    for better, expected in ((0.02, 0.0), (2.0, 0.5)):
        additive = outputs + better * (np.eye(3, dtype=np.float32)[target] - 0.5) + 0.3 * numbers[::-1]
        score = NetScore(THREE_CLASSES, target, None, settings, (), seed=0, n_jobs=1)
        shares = [score._outcome(mixed(outputs, additive, share), np.arange(120), share) for share in (0.0, 0.1)]
        assert shares[1].losses.mean() < shares[0].losses.mean()
        assert score.outcome([outputs, additive], np.arange(120)).additive >= expected
        assert (score.outcome([outputs, additive], np.arange(120)).additive == 0) == (expected == 0)
