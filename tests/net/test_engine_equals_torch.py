"""torch judges the native engine: for each option the same losses and weights after some hundred steps."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from gcwsnet.nn import GCWSNet, LazyAdam
from tests.net.engine import Rows, make_net, make_rows, train

LOSSES: dict[str, Any] = {
    "squared_error": functional.mse_loss,
    "absolute_error": functional.l1_loss,
    "huber": functional.huber_loss,
}
# Both round each operation to float32, in other orders. Adam makes steps of equal size from small and from large
# gradients, so that where gradients nearly cancel the differences grow with each step.
CLOSE_AT_FIRST: dict[str, Any] = {"rtol": 2e-5}
CLOSE: dict[str, Any] = {"rtol": 5e-3, "atol": 2e-3}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The nets are small: more threads of torch would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def torch_loss(rows: Rows, outputs: Any, targets: Any) -> Any:
    if rows.loss == "cross_entropy":
        return functional.cross_entropy(outputs, targets, reduction="none")
    return LOSSES[rows.loss](outputs, targets, reduction="none").mean(1)


def assert_trained_as_by_torch(
    rows: Rows,
    *,
    bits: int = 4,
    hidden: Any = (20,),
    n_outputs: int = 3,
    reduction: int = 1,
    batch_size: int = 32,
    rate: float = 0.003,
    lazy: bool = True,
    betas: tuple[float, float] = (0.0, 0.999),
    weight_decay: float = 0.0,
    eps: float = 1e-8,
) -> None:
    net = make_net(rows, bits, hidden, n_outputs, reduction=reduction, seed=5)
    initial = np.array(net.weights()["layers.0.weight"])
    judge = GCWSNet(
        net.n_hashes,
        bits,
        n_outputs,
        hidden=hidden,
        reduction=None if reduction == 1 else reduction,
        seed=5,
        sparse=lazy,
    )
    judge.load_state_dict(
        {name: torch.from_numpy(np.array(array)) for name, array in net.weights().items()}, strict=False
    )
    settings: dict[str, Any] = {"betas": betas, "weight_decay": weight_decay, "eps": eps}
    optimizer = LazyAdam(judge.parameters(), **settings) if lazy else torch.optim.AdamW(judge.parameters(), **settings)

    record = train(net, rows, batch_size, rate, lazy=lazy, **settings)
    order = np.arange(len(rows.codes)) if rows.order is None else rows.order
    ends = [*range(0, len(order), batch_size), len(order)]
    losses, outputs = [], []
    for number, (begin, end) in enumerate(pairwise(ends)):
        batch = order[begin:end]
        optimizer.param_groups[0]["lr"] = rate * (1 - number / (len(ends) - 1))
        out = judge(torch.from_numpy(rows.codes[batch]))
        loss = torch_loss(rows, out, torch.from_numpy(rows.targets[batch]))
        weight = 1.0 if rows.weights is None else torch.from_numpy(rows.weights[batch])
        optimizer.zero_grad()
        (loss * weight).mean().backward()
        optimizer.step()
        losses.append(float(loss.detach().sum()))
        outputs.append(out.detach().numpy())

    assert net.n_steps == len(ends) - 1 >= 200
    assert net.rows_seen == len(order)
    np.testing.assert_allclose(record.losses[:30], losses[:30], **CLOSE_AT_FIRST)
    np.testing.assert_allclose(record.losses, losses, **CLOSE)
    np.testing.assert_allclose(record.outputs, np.concatenate(outputs), **CLOSE)
    for name, array in net.weights().items():
        np.testing.assert_allclose(array, judge.state_dict()[name].numpy(), err_msg=name, **CLOSE)
    if rows.loss == "cross_entropy":
        right = np.add.reduceat(record.outputs.argmax(1) == rows.targets[order], ends[:-1], dtype=np.float64)
    else:
        right = np.add.reduceat((record.outputs - rows.targets[order]).astype(np.float64) ** 2, ends[:-1])
    np.testing.assert_allclose(record.successes, right, rtol=1e-5)
    moved = np.abs(net.weights()["layers.0.weight"] - initial).max()
    assert moved > 0.02, "weights that do not move say little"


@pytest.mark.parametrize("hidden", [(), (1,), (20,), (33, 17), (8, 20, 5)])
@pytest.mark.parametrize("loss", ["cross_entropy", *LOSSES])
def test_each_loss_behind_any_hidden_layers(loss: str, hidden: Any) -> None:
    # Slopes of absolute errors are all of one size, and cancel: what is left of them by rounding is not to count.
    eps = 1e-3 if loss == "absolute_error" else 1e-8
    assert_trained_as_by_torch(make_rows(7000, loss=loss), hidden=hidden, eps=eps)


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("beta1", [0.0, 0.9])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("reduction", [1, 3])
def test_adam_on_rows_used_and_on_all(lazy: bool, beta1: float, weight_decay: float, reduction: int) -> None:
    rows = make_rows(7000, bits=6)
    settings: dict[str, Any] = {"lazy": lazy, "betas": (beta1, 0.99), "weight_decay": weight_decay}
    assert_trained_as_by_torch(rows, bits=6, reduction=reduction, **settings)


@pytest.mark.parametrize("loss", ["cross_entropy", "squared_error"])
@pytest.mark.parametrize("batch_size", [1, 7, 32, 100])
def test_weights_of_rows_their_order_and_a_last_batch_that_is_smaller(loss: str, batch_size: int) -> None:
    rows = make_rows(103 * batch_size + 1, loss=loss, weighted=True, ordered=True)
    assert_trained_as_by_torch(rows, batch_size=batch_size)


@pytest.mark.parametrize(
    ("bits", "dtype"),
    [(1, np.uint8), (1, np.uint32), (8, np.uint8), (8, np.uint16), (13, np.uint16), (13, np.uint32)],
)
@pytest.mark.parametrize("reduction", [1, 2, 100])
def test_codes_of_any_type_with_and_without_a_sketch(bits: int, dtype: Any, reduction: int) -> None:
    rows = make_rows(6500, n_hashes=9, bits=bits, dtype=dtype)
    assert_trained_as_by_torch(rows, bits=bits, reduction=reduction)


def test_one_output() -> None:
    assert_trained_as_by_torch(make_rows(7000, n_outputs=1, loss="squared_error"), n_outputs=1)
