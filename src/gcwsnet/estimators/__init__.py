"""Estimators that learn from hashed rows: scaling, nets and their optimizer in one; saving and loading.

The names load when they are first used, so that scaling needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gcwsnet.estimators._classifier import GCWSNetClassifier
    from gcwsnet.estimators._regressor import GCWSNetRegressor
    from gcwsnet.estimators._saving import load
    from gcwsnet.estimators._scaling import ColumnScaling, learn_scaling

__all__ = ["ColumnScaling", "GCWSNetClassifier", "GCWSNetRegressor", "learn_scaling", "load"]

_WITHOUT_TORCH = {"ColumnScaling": "_scaling", "learn_scaling": "_scaling"}
_WITH_TORCH = {"GCWSNetClassifier": "_classifier", "GCWSNetRegressor": "_regressor", "load": "_saving"}


def __getattr__(name: str) -> object:
    home = _WITHOUT_TORCH.get(name)
    if name in _WITH_TORCH:
        import_module("gcwsnet.nn")  # it says what to install where torch is missing
        home = _WITH_TORCH[name]
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
