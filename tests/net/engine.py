"""What the tests of the native training engine share: nets, rows to learn from, and the bytes that come out."""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from gcwsnet import _core


class Rows(NamedTuple):
    """Rows to learn from."""

    codes: Any
    targets: Any
    weights: Any
    order: Any
    loss: str


def make_rows(
    n: int,
    n_hashes: int = 12,
    bits: int = 4,
    n_outputs: int = 3,
    *,
    loss: str = "cross_entropy",
    dtype: Any = np.uint8,
    weighted: bool = False,
    ordered: bool = False,
    seed: int = 0,
) -> Rows:
    """Codes of which few are frequent, as in real data, and targets that depend on them: the same on all machines."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2**bits, (3, n, n_hashes)).min(0)
    effect = rng.integers(-100, 101, (n_hashes, 2**bits, n_outputs))
    scores = effect[np.arange(n_hashes), codes].sum(1)
    targets = scores.argmax(1) if loss == "cross_entropy" else (scores / 256).astype(np.float32)
    weights = rng.integers(1, 24, n).astype(np.float32) / 8 if weighted else None
    order = rng.integers(0, n, 2 * n) if ordered else None
    return Rows(codes.astype(dtype), targets, weights, order, loss)


class Record(NamedTuple):
    """What `train` writes."""

    losses: Any
    successes: Any
    outputs: Any


def train(net: Any, rows: Rows, batch_size: int = 32, rate: float = 0.01, **settings: Any) -> Record:
    """Learn from rows with learning rates that fall from `rate`."""
    n = len(rows.codes) if rows.order is None else len(rows.order)
    n_steps = -(-n // batch_size)
    shape = (n_steps,) if rows.loss == "cross_entropy" else (n_steps, net.n_outputs)
    record = Record(np.full(n_steps, np.nan), np.full(shape, np.nan), np.full((n, net.n_outputs), np.nan, np.float32))
    net.train(
        rows.codes,
        rows.targets,
        weights=rows.weights,
        order=rows.order,
        batch_size=batch_size,
        rates=rate * (1 - np.arange(n_steps) / n_steps),
        losses=record.losses,
        successes=record.successes,
        outputs=record.outputs,
        loss=rows.loss,
        **settings,
    )
    return record


def state(net: Any) -> dict[str, Any]:
    """Copies of all that training changes."""
    found = {f"weights.{name}": array for name, array in net.weights().items()}
    if net.has_first_moments:
        found |= {f"first.{name}": array for name, array in net.first_moments().items()}
    if net.has_second_moments:
        found |= {f"second.{name}": array for name, array in net.second_moments().items()}
    if net.is_averaging:
        found |= net.averages() | {"averaging_rows": np.array(net.averaging_rows[:3])}
    found |= {"n_steps": np.array(net.n_steps), "rows_seen": np.array(net.rows_seen)}
    return {name: np.array(array) for name, array in found.items()}


def digest(arrays: dict[str, Any]) -> str:
    """A short text that is another one if any byte is."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()[:16]


def assert_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    """All arrays are equal, by their bytes."""
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.tobytes() == other[name].tobytes(), name


def make_net(rows: Rows, bits: int = 4, hidden: Any = (20,), n_outputs: int = 3, **settings: Any) -> _core.Net:
    """A net for such rows."""
    return _core.Net(rows.codes.shape[1], bits, hidden, n_outputs, **settings)
