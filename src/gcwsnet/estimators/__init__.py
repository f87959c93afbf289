"""Learning from hashed rows: scaling, and, to come, the estimators."""

from gcwsnet.estimators._scaling import ColumnScaling, learn_scaling

__all__ = ["ColumnScaling", "learn_scaling"]
