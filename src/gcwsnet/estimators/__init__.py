"""Learning from rows of real numbers: the classifier, the regressor, and the model file."""

from gcwsnet.estimators._classifier import GCWSNetClassifier
from gcwsnet.estimators._model_file import load
from gcwsnet.estimators._regressor import GCWSNetRegressor

__all__ = ["GCWSNetClassifier", "GCWSNetRegressor", "load"]
