"""How a net learns from codes: the net, its targets, and the one loop over batches."""

from typing import TYPE_CHECKING

from gcwsnet._lazy import load_when_used

if TYPE_CHECKING:
    from gcwsnet.training._net import Net
    from gcwsnet.training._run import Observer, Plan
    from gcwsnet.training._settings import TrainingSettings
    from gcwsnet.training._targets import LabelIndicators, Labels, Numbers, Targets
    from gcwsnet.training._trainer import Trainer

__all__ = ["LabelIndicators", "Labels", "Net", "Numbers", "Observer", "Plan", "Targets", "Trainer", "TrainingSettings"]
__getattr__ = load_when_used(
    __name__,
    {
        "Net": "_net",
        "Trainer": "_trainer",
        "TrainingSettings": "_settings",
        **dict.fromkeys(("LabelIndicators", "Labels", "Numbers", "Targets"), "_targets"),
        **dict.fromkeys(("Observer", "Plan"), "_run"),
    },
)
