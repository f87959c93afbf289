"""The estimators, the model file, and the predictor."""

__all__ = []
