"""A net whose steps torch takes on a device learns what the native net learns, with every option.

After 200 steps of float32 the two differ by their rounding alone: losses by less than 1e-5 of their size, and weights
by less than 1e-4.
"""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gcwsnet
from gcwsnet import GCWSNetClassifier
from gcwsnet.net._net import Net
from gcwsnet.net._targets import Targets
from gcwsnet.net._torch_net import TorchNet
from gcwsnet.net._trainer import Trainer
from tests.conftest import Rows
from tests.net.learners import THREE_CLASSES, begin, coded_rows, content, largest_difference, numbers, run

TORCH = "cpu:0"  # "cpu" is the native net
LOSS_TOLERANCE, WEIGHT_TOLERANCE = 1e-5, 1e-4


def trained(device: str, targets: Targets, *, weighted: bool = False, **settings: Any) -> Trainer:
    """Return a trainer after 200 steps of 16 rows."""
    trainer = begin(targets, device=device, **settings)
    rows, held_out = coded_rows(targets, 1600, weighted=weighted), coded_rows(targets, 200, seed=3)
    return run(trainer, rows, fractions=(0.25, 0.5, 0.75, 1.0), held_out=[held_out])


def assert_close(native: Trainer, reference: Trainer) -> None:
    assert type(native.net) is Net
    assert isinstance(reference.net, TorchNet)
    assert native.net.n_steps == reference.net.n_steps
    for name, values in native.history.items():
        if name != "seconds":
            np.testing.assert_allclose(values, reference.history[name], rtol=LOSS_TOLERANCE, err_msg=name)
    assert native.history["loss"][-1] < native.history["loss"][0]
    assert largest_difference(native.net.weights(), reference.net.weights()) < WEIGHT_TOLERANCE


def test_both_begin_with_the_same_weights() -> None:
    for settings in ({}, {"hidden": ()}, {"hidden": (8, 5), "reduction": 4}):
        native, reference = (begin(device=device, **settings).net.weights() for device in ("cpu", TORCH))
        assert largest_difference(native, reference) == 0


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_numbers_with_weights_of_rows(loss: str) -> None:
    assert_close(*(trained(device, numbers(3, loss), weighted=True) for device in ("cpu", TORCH)))


@pytest.mark.parametrize(
    "settings",
    [
        {"reduction": 4},
        {"reduction": 4, "hidden": (), "optimizer": "adam"},
        {"optimizer": "adam"},
        {"optimizer": "adam", "betas": (0.9, 0.999), "weight_decay": 0.1},
        {"betas": (0.9, 0.99)},
        {"weight_decay": 0.1},
        {"schedule": "constant"},
        {"batch_size": 7},
    ],
    ids=str,
)
def test_every_setting(settings: dict[str, Any]) -> None:
    assert_close(*(trained(device, THREE_CLASSES, **settings) for device in ("cpu", TORCH)))


@pytest.mark.parametrize("settings", [{}, {"optimizer": "adam"}, {"betas": (0.9, 0.99), "ensemble": 2}], ids=str)
def test_a_trainer_on_torch_continues_from_its_state(settings: dict[str, Any]) -> None:
    rows = coded_rows(THREE_CLASSES, 160)
    rows = rows._replace(X=np.tile(rows.X, settings.get("ensemble", 1)))
    whole, stopped = (run(begin(device=TORCH, **settings), rows, epochs=1) for _ in range(2))
    again = Trainer.from_state(*stopped.state(training_state=True), device=TORCH)
    for trainer in (whole, again):
        trainer.start_run()
        run(trainer, rows)
    assert content(again) == content(whole)


def test_an_estimator_on_a_device_of_torch_leaves_its_generator_and_its_threads_alone(
    three_classes: Rows, tmp_path: Path
) -> None:
    X, y = three_classes
    settings: dict[str, Any] = {"p": 1.0, "n_hashes": 32, "hidden": (8,), "epochs": 2, "random_state": 0}
    torch.manual_seed(3)
    before = torch.get_num_threads(), torch.get_rng_state()
    native = GCWSNetClassifier(**settings).fit(X, y)
    model = GCWSNetClassifier(**settings, device=TORCH, n_jobs=1).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), native.predict_proba(X), atol=1e-4)
    model.partial_fit(X, y).save(tmp_path / "model", training_state=True)
    others = [gcwsnet.load(tmp_path / "model", device=TORCH), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    assert torch.get_num_threads() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])
    further = model.partial_fit(X, y).predict_proba(X)
    for other in others:
        assert isinstance(other.trainer_.net, TorchNet)
        np.testing.assert_array_equal(other.partial_fit(X, y).predict_proba(X), further)


def test_training_that_diverges_is_an_error_on_torch_too() -> None:
    rows = coded_rows(THREE_CLASSES, 160)._replace(weight=np.full(160, 1e30))
    for device in ("cpu", TORCH):
        trainer = begin(device=device, hidden=(64, 64, 64, 64), learning_rate=1e3)
        with pytest.raises(ValueError, match="the training diverges; use a smaller learning_rate"):
            run(trainer, rows, epochs=100)
        assert trainer.rows_seen == 16 * trainer.net.n_steps
