"""Runs of each method, on the digits that come with scikit-learn."""

import math
import sys

import numpy as np
import pytest
import torch
from sklearn.svm import SVC
from torch import nn

from gcwsnet import GCWSNetClassifier, pgmm_kernel
from gcwsnet.nn import HashedLinear
from reproduction import settings as settings_of
from reproduction.execution import compute
from reproduction.experiment_data import length_one_on_average, load_rows
from reproduction.kernel_runs import _kernel
from reproduction.net_runs import _with_xavier_weights, accuracy_percent, plain_net, power_or_log

DIGITS = load_rows({"dataset": "digits", "standardized": False})


def test_a_run_of_gcws_is_the_classifier_with_the_settings_of_the_paper() -> None:
    found = compute(settings_of.gcws("digits", k=64, b=4, L=2, H=20, p=2, t_bits=1, m=2, seed=3))
    net = GCWSNetClassifier(
        64,
        bits=4,
        t_bits=1,
        p=2.0,
        scale=None,
        hidden=(20,),
        reduction=2,
        epochs=1,
        learning_rate=0.001,
        schedule="constant",
        betas=(0.9, 0.999),
        encoding="lowbits",
        random_state=3,
    ).fit(DIGITS.X_train, DIGITS.y_train)
    assert found.accuracy == pytest.approx(100 * net.score(DIGITS.X_test, DIGITS.y_test))
    assert found.origin == "bundled"
    assert found.seconds > 0
    assert {"gcwsnet", "hash", "numpy", "torch"} <= set(found.versions)


def test_curves_are_at_tenths_of_each_epoch_and_end_with_the_last_accuracy() -> None:
    for settings in (
        settings_of.gcws("digits", k=64, b=8, L=1, epochs=2),
        settings_of.original("digits", L=1, epochs=2),
        settings_of.nrff("digits", k=64, gamma=5, L=1, epochs=2),
    ):
        found = compute(settings)
        assert len(found.result["curve"]["epoch"]) == 20
        np.testing.assert_allclose(found.result["curve"]["epoch"], np.arange(1, 21) / 10, atol=0.03)
        assert found.result["curve"]["accuracy"][-1] == found.accuracy


def test_nets_with_the_defaults_of_paddle_start_with_xavier_weights() -> None:
    net = _with_xavier_weights(nn.Sequential(HashedLinear(16, 4, 30), nn.ReLU(), nn.Linear(30, 10)))
    for layer, columns in ((net[0], 16 * 2**4), (net[2], 30)):
        bound = math.sqrt(6 / (columns + layer.weight.numel() // columns))
        assert 0.95 * bound < float(layer.weight.detach().abs().max()) <= bound
        assert not layer.bias.detach().any()
    for settings in (settings_of.gcws("digits", k=256, b=4, L=3, H=50, epochs=3), settings_of.original("digits", L=2)):
        found = compute(settings_of.as_in_paddle(settings))
        assert found.accuracy > 70
        assert found.result != compute(settings).result


def test_fourier_features_of_scaled_rows_keep_their_lengths() -> None:
    X = np.array([[1.0, 0.0], [2.0, 0.0]])
    train, test = length_one_on_average(X, 2 * X)
    assert np.mean(np.sum(train**2, axis=1)) == pytest.approx(1)
    np.testing.assert_allclose(test, 2 * train)
    rows = [settings_of.nrff("digits", k=256, gamma=10, L=1, length="sqrt(k)", rows=one) for one in ("unit", "scaled")]
    first, second = (compute(one) for one in rows)
    assert min(first.accuracy, second.accuracy) > 80
    assert first.result != second.result


def test_the_same_settings_give_the_same_result() -> None:
    settings = settings_of.original("digits", L=3, H=16)
    assert compute(settings).result == compute(settings).result


def test_the_net_on_the_original_data_learns() -> None:
    assert compute(settings_of.original("digits", L=2, epochs=3)).accuracy > 90


def test_fourier_features_are_learned_faster_in_long_rows() -> None:
    short, long = (settings_of.nrff("digits", k=512, gamma=10, length=one, L=2) for one in ("1", "sqrt(k)"))
    assert 80 < compute(short).accuracy < compute(long).accuracy - 3


def test_powers_and_logarithms_keep_signs_and_zeros() -> None:
    X = np.array([[2.0, -3.0, 0.0, 100.0]], np.float32)
    assert power_or_log(X, "none", 5.0) is not None
    np.testing.assert_allclose(power_or_log(X, "power", 2.0), [[4, -9, 0, 10_000]])
    np.testing.assert_allclose(power_or_log(X, "log", 2.0), [2 * np.log([2, 1 / 3, 1, 100])], rtol=1e-6)
    assert power_or_log(X, "power", 2.0).dtype == np.float32


def test_training_on_large_powers_fails_and_is_reported_as_a_number() -> None:
    found = compute(settings_of.original("digits", L=2, transform="power", p=50))
    assert found.accuracy < 30


def test_rows_without_a_number_as_output_are_wrong() -> None:
    net = plain_net(2, (), 3)
    X, y = torch.full((4, 2), torch.nan), torch.zeros(4, dtype=torch.int64)
    assert accuracy_percent(net, X, y) == 0


def test_gcws_on_the_hidden_layer_leaves_the_net_alone() -> None:
    often, seldom = (compute(settings_of.last_layer("digits", k=64, b=8, H=20, every=n)) for n in (4, 20))
    by_batch = dict(zip(often.result["curve"]["batch"], often.result["curve"]["net"], strict=True))
    for batch, accuracy in zip(seldom.result["curve"]["batch"], seldom.result["curve"]["net"], strict=True):
        assert by_batch[batch] == accuracy
    curve = often.result["curve"]
    assert curve["batch"][0] == 1
    assert curve["epoch"][-1] == 1
    assert curve["gcws"][0] > curve["net"][0] + 20


def test_support_vector_machines_use_the_exact_kernels() -> None:
    found = compute(settings_of.svm("digits", kernel="pgmm", parameter=2.0, C=(0.01, 10)))
    K, K_test = pgmm_kernel(DIGITS.X_train, p=2), pgmm_kernel(DIGITS.X_test, DIGITS.X_train, p=2)
    for C, accuracy in found.result["by_C"]:
        machine = SVC(C=C, kernel="precomputed").fit(K, DIGITS.y_train)
        assert accuracy == pytest.approx(100 * machine.score(K_test, DIGITS.y_test))
    assert found.accuracy == max(accuracy for _, accuracy in found.result["by_C"])
    assert found.result["best_C"] == 10


def test_rbf_of_rows_of_length_1_is_the_kernel_of_section_7() -> None:
    unit = DIGITS.X_train / np.linalg.norm(DIGITS.X_train, axis=1, keepdims=True)
    settings = settings_of.svm("digits", kernel="rbf", parameter=3.0, C=(1,))
    kernel, X, _ = _kernel(settings, DIGITS)
    np.testing.assert_allclose(kernel(X[:9], X[:9]), np.exp(-3 * (1 - unit[:9] @ unit[:9].T)), atol=1e-6)
    _, scaled, _ = _kernel({**settings, "kernel": "rbf-scaled"}, DIGITS)
    assert np.mean(np.sum(scaled**2, axis=1)) == pytest.approx(1)
    np.testing.assert_allclose(scaled / scaled.max(), DIGITS.X_train / DIGITS.X_train.max())


def test_rbf_and_linear_machines_learn() -> None:
    assert compute(settings_of.svm("digits", kernel="rbf-scaled", parameter=20.0, C=(10,))).accuracy > 95
    assert compute(settings_of.svm("digits", kernel="rbf", parameter=20.0, C=(10,))).accuracy > 95
    assert compute(settings_of.svm("digits", kernel="linear", C=(0.001,))).accuracy > 90


def test_equal_samples_are_counted_next_to_the_exact_kernel() -> None:
    found = compute(settings_of.zero_bit("digits", p=1, k=2000, pairs=20)).result
    J, i, both = (np.array(found[name]) for name in ("J", "i", "i_and_t"))
    assert J.max() - J.min() > 0.4
    assert np.all(i >= both)
    np.testing.assert_allclose(both, J, atol=5 * np.sqrt(0.25 / 2000))


def test_a_method_that_is_not_known_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"method must be .*, got method='other'"):
        compute({"method": "other"})


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "reproduction.net_runs")
    with pytest.raises(ImportError, match=r"method gcws need torch; install it with: .*\.\[paper\]"):
        compute(settings_of.gcws("digits", k=64, b=4, L=1))
