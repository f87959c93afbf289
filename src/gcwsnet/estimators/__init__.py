"""Learning from rows of real numbers: the classifier, the regressor, and the model file."""

from typing import TYPE_CHECKING

from gcwsnet._lazy import load_when_used

if TYPE_CHECKING:
    from gcwsnet.estimators._classifier import GCWSNetClassifier
    from gcwsnet.estimators._model_file import load
    from gcwsnet.estimators._pgmm import PGMMClassifier, PGMMRegressor
    from gcwsnet.estimators._predictor import Predictor
    from gcwsnet.estimators._regressor import GCWSNetRegressor

__all__ = [
    "GCWSNetClassifier",
    "GCWSNetRegressor",
    "PGMMClassifier",
    "PGMMRegressor",
    "Predictor",
    "load",
]
__getattr__ = load_when_used(
    __name__,
    {
        "GCWSNetClassifier": "_classifier",
        "GCWSNetRegressor": "_regressor",
        "PGMMClassifier": "_pgmm",
        "PGMMRegressor": "_pgmm",
        "Predictor": "_predictor",
        "load": "_model_file",
    },
)
