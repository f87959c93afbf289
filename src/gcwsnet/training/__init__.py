"""How a net learns from codes: the net, its targets, and the one loop over batches."""

from gcwsnet.training._settings import TrainingSettings
from gcwsnet.training._targets import LabelIndicators, Labels, Numbers, Targets
from gcwsnet.training._trainer import Observer, Plan, Trainer

__all__ = ["LabelIndicators", "Labels", "Numbers", "Observer", "Plan", "Targets", "Trainer", "TrainingSettings"]
