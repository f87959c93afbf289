"""Learning from hashed rows: scaling, nets and their optimizer in one, and saving and loading."""

from gcwsnet import nn as _nn  # noqa: F401  (it says what to install where torch is missing)
from gcwsnet.estimators._classifier import GCWSNetClassifier
from gcwsnet.estimators._regressor import GCWSNetRegressor
from gcwsnet.estimators._saving import load
from gcwsnet.estimators._scaling import ColumnScaling, learn_scaling

__all__ = ["ColumnScaling", "GCWSNetClassifier", "GCWSNetRegressor", "learn_scaling", "load"]
