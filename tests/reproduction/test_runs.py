"""Runs of each method, on the digits that come with scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.svm import SVC
from torch import nn

from gcwsnet import GCWSHasher, GCWSNetClassifier, pgmm_kernel
from gcwsnet.nn import HashedLinear
from reproduction import net_runs
from reproduction import settings as settings_of
from reproduction.execution import compute
from reproduction.experiment_data import load_rows

DIGITS = load_rows({"dataset": "digits", "standardized": False})


def test_with_our_defaults_a_run_of_gcws_is_the_classifier() -> None:
    found = compute(
        settings_of.with_our_defaults(settings_of.gcws("digits", k=64, b=4, L=2, H=20, p=2, t_bits=1, m=2, seed=3))
    )
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
        search="off",
        random_state=3,
    ).fit(DIGITS.X_train, DIGITS.y_train)
    assert found.accuracy == pytest.approx(100 * net.score(DIGITS.X_test, DIGITS.y_test))
    assert found.origin == "bundled"
    assert found.seconds > 0
    assert {"gcwsnet", "hash", "numpy", "torch"} <= set(found.versions)


@pytest.mark.parametrize(("L", "t_bits", "m"), [(1, 0, 1), (3, 1, 4)])
def test_a_run_of_gcws_is_a_net_with_xaviers_weights_and_plain_adam(
    L: int, t_bits: int, m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(net_runs, "CURVE_ROWS", 200)  # a part of the rows, as on larger datasets
    settings = settings_of.gcws("digits", k=32, b=8, L=L, H=20, p=2, t_bits=t_bits, m=m, epochs=3, seed=3)
    hasher = GCWSHasher(32, bits=8, t_bits=t_bits, p=2.0, encoding="lowbits", random_state=3).fit(DIGITS.X_train)
    codes, test_codes = (torch.from_numpy(hasher.transform(X)) for X in (DIGITS.X_train, DIGITS.X_test))
    torch.manual_seed(3)
    layers: list[nn.Module] = [HashedLinear(32, 8 + t_bits, (10, 20)[L > 1], reduction=m, seed=3, sparse=False)]
    layers += [nn.ReLU(), nn.Linear(20, 10), nn.ReLU(), nn.Linear(10, 10)] if L > 1 else []
    for layer in layers:
        if not isinstance(layer, nn.ReLU):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    net, y = nn.Sequential(*layers), torch.from_numpy(DIGITS.y_train)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    for epoch in range(3):
        order = torch.from_numpy(np.random.default_rng([3, epoch]).permutation(len(y)))
        for batch in order.split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(codes[batch]), y[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        expected = 100 * float((net(test_codes).argmax(1).numpy() == DIGITS.y_test).mean())
    assert expected > 40
    assert compute(settings).accuracy == pytest.approx(expected, abs=0.3)


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


def test_equal_samples_are_counted_next_to_the_exact_kernel() -> None:
    found = compute(settings_of.zero_bit("digits", p=1, k=2000, pairs=20)).result
    J, i, both = (np.array(found[name]) for name in ("J", "i", "i_and_t"))
    assert J.max() - J.min() > 0.4
    assert np.all(i >= both)
    np.testing.assert_allclose(both, J, atol=5 * np.sqrt(0.25 / 2000))
