"""A trained net has the same bytes on every instruction set and for any number of threads."""

from typing import Any

import numpy as np
import pytest

from gcwsnet import _core
from gcwsnet._keys import keys
from tests.net.engine import Rows, assert_equal, digest, make_net, make_rows, state, train

WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"hidden": ()},
    "two layers": {"hidden": (70, 33)},
    "sketch": {"reduction": 3},
    "wide groups": {"bits": 14, "hidden": (16,)},
    "wide groups of a sketch": {"bits": 14, "hidden": (16,), "reduction": 2},
    "momentum": {"betas": (0.9, 0.99)},
    "all rows": {"lazy": False, "weight_decay": 0.1},
    "all rows of a sketch": {"lazy": False, "reduction": 3, "betas": (0.9, 0.99)},
    "numbers": {"loss": "squared_error", "hidden": (17,)},
    "averaged": {"average": True},
}
# Of the weights and of all that is kept to go on from them. They change only with the version of the engine.
GOLDEN = {
    "default": "a3cad02b39b89b90",
    "linear": "e864f99fe6e083e8",
    "two layers": "23a9122f83d582e0",
    "sketch": "cbe481d257308ae9",
    "wide groups": "521cacb9452e50f5",
    "wide groups of a sketch": "9ae8372d265b4465",
    "momentum": "1730e63e26810b04",
    "all rows": "7d429af806d5ae63",
    "all rows of a sketch": "7b1ec5130e998d2a",
    "numbers": "23e8a26f0b6797b4",
    "averaged": "1fecd39d5f529c3f",
}


def rows_for(way: dict[str, Any], n: int = 1200) -> Rows:
    bits = way.get("bits", 5)
    dtype = np.uint8 if bits <= 8 else np.uint32
    return make_rows(n, 40, bits, 3, loss=way.get("loss", "cross_entropy"), dtype=dtype, weighted=True)


def trained(way: dict[str, Any], n_threads: int, batch_size: int = 64) -> dict[str, Any]:
    rows = rows_for(way)
    net = make_net(rows, way.get("bits", 5), way.get("hidden", (200,)), reduction=way.get("reduction", 1), seed=9)
    if way.get("average"):
        net.start_averaging()
    adam = {name: way[name] for name in ("betas", "lazy", "weight_decay") if name in way}
    record = train(net, rows, batch_size, n_threads=n_threads, **adam)
    found = state(net) | {"losses": record.losses, "successes": record.successes, "outputs": record.outputs}
    if way.get("average"):
        found |= {f"mean.{name}": np.array(array) for name, array in net.averaged(n_threads).weights().items()}
    return found


@pytest.mark.parametrize("way", WAYS)
def test_every_instruction_set_and_any_number_of_threads(way: str, instruction_set: str) -> None:
    assert instruction_set == _core.instruction_set()
    for n_threads in (1, 2, 3):
        assert digest(trained(WAYS[way], n_threads)) == GOLDEN[way]


@pytest.mark.parametrize("hidden", [(), (20,), (33, 17)])
@pytest.mark.parametrize("reduction", [1, 3])
def test_a_row_alone_has_the_outputs_that_it_has_among_others(
    hidden: Any, reduction: int, instruction_set: str
) -> None:
    assert instruction_set == _core.instruction_set()
    rows = make_rows(300, 100, 6)
    net = make_net(rows, 6, hidden, reduction=reduction)
    train(net, rows)
    together = net.outputs(rows.codes, 3)
    assert together.dtype == np.float32
    for row in range(0, 300, 7):
        assert net.outputs(rows.codes[row : row + 1])[0].tobytes() == together[row].tobytes()
    assert net.outputs(rows.codes[:37]).tobytes() == together[:37].tobytes()
    assert net.outputs(rows.codes[:0]).shape == (0, 3)


def test_training_in_pieces_is_training_at_once() -> None:
    rows = make_rows(640, ordered=True)
    rates = np.linspace(0.01, 0.001, 40)

    def learn(net: Any, pieces: list[int]) -> dict[str, Any]:
        for begin, end in zip([0, *pieces], [*pieces, 40], strict=True):
            net.train(
                rows.codes,
                rows.targets,
                order=rows.order[32 * begin : 32 * end],
                batch_size=32,
                rates=rates[begin:end],
                losses=np.empty(end - begin),
                successes=np.empty(end - begin),
            )
        return state(net)

    nets = [make_net(rows) for _ in range(2)]
    for net in nets:
        net.start_averaging()
    assert_equal(learn(nets[0], []), learn(nets[1], [1, 2, 17]))


def test_initial_weights_are_those_that_are_described() -> None:
    """The description in net.hpp, in NumPy."""
    seed = 2**63 + 11
    net = _core.Net(7, 3, (5, 4), 2, reduction=3, seed=seed, scale=0.7)
    shapes = {
        "layers.0.weight": ((19, 5), np.float32(0.7 / np.sqrt(7))),
        "layers.2.weight": ((4, 5), np.float32(1 / np.sqrt(5))),
        "layers.2.bias": ((4,), np.float32(1 / np.sqrt(5))),
        "layers.4.weight": ((2, 4), np.float32(1 / np.sqrt(4))),
        "layers.4.bias": ((2,), np.float32(1 / np.sqrt(4))),
    }
    first = 0
    for name, (shape, bound) in shapes.items():
        n = first + np.arange(np.prod(shape))
        low, high = keys(seed, 14, n // 2)
        t = np.where(n % 2 == 0, low, high) >> 8
        u = ((2 * t.astype(np.int64) + 1 - 2**24) / 2**24).astype(np.float32)
        np.testing.assert_array_equal(net.weights()[name], (u * bound).reshape(shape), err_msg=name)
        first += len(n)
    np.testing.assert_array_equal(net.weights()["layers.0.bias"], np.zeros(5, np.float32))
    assert not any(array.any() for array in _core.Net(7, 3, (5,), 2, initialize=False).weights().values())


def test_softmax_is_that_of_float64() -> None:
    outputs = np.random.default_rng(0).normal(scale=30, size=(100, 7)).astype(np.float32)
    exact = np.exp(outputs.astype(np.float64) - outputs.max(1, keepdims=True))
    np.testing.assert_allclose(_core.softmax(outputs), exact / exact.sum(1, keepdims=True), rtol=1e-14, atol=1e-300)
    assert np.isnan(_core.softmax(np.array([[np.inf, 1.0], [np.nan, 0.0]], np.float32))).all()
