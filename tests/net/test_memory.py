"""Memory for a net and for all that training keeps of it is asked for before it is taken."""

import re
from typing import Any

import numpy as np
import pytest

from gcwsnet.net._net import make_net
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Labels

MIB = 1 << 20
TABLE = 16 * MIB + 256  # bytes of 65,537 rows of 64 numbers, just above what is not worth a check


def available(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    monkeypatch.setattr("gcwsnet._validation.available_bytes", lambda: n_bytes)


def net(**settings: Any) -> Any:
    made = TrainingSettings(hidden=(64,), ensemble=1, reduction=64, **settings)
    return make_net(made, Labels(np.array([0, 1])), n_hashes=65_537, code_bits=6, seed=0)


@pytest.mark.parametrize(("betas", "n_tables"), [((0.0, 0.999), 2), ((0.9, 0.999), 3)])
def test_weights_and_moments_ask_for_memory(
    betas: tuple[float, float], n_tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    available(monkeypatch, n_tables * TABLE)
    net(betas=betas)
    available(monkeypatch, n_tables * TABLE - 1)
    what = f"{n_tables} tables of 65537 rows and 64 columns, for weights and the moments of Adam,"
    with pytest.raises(MemoryError, match=re.escape(f"{what} would take {16 * n_tables}.0 MiB")):
        net(betas=betas)


@pytest.mark.parametrize(("mean", "n_tables"), [("average", 2), ("recent", 1)])
def test_averages_ask_for_memory_and_nothing_is_averaged_without(
    mean: str, n_tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = net()
    available(monkeypatch, n_tables * TABLE - 1)
    message = "averages of a table of 65537 rows and 64 columns would take .*; use a reduction"
    with pytest.raises(MemoryError, match=message):
        made.start_averaging(0, mean)
    assert made.averaging is None
    available(monkeypatch, n_tables * TABLE)
    made.start_averaging(0, mean)
    assert made.averaging == mean
