"""Outcomes that tests make up, to see what is said of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction.results import Outcome, Results
from reproduction.settings import Settings

VERSIONS = {"gcwsnet": "0"}


def outcome(settings: Settings, accuracy: float, curve: Sequence[float] | None = None, **more: Any) -> Outcome:
    """An outcome; its curve rises by tenths of an epoch to the accuracy, if no other is given."""
    epochs = settings.get("epochs", 1)
    reached = list(curve) if curve is not None else [accuracy] * (10 * epochs)
    steps = [(number + 1) / len(reached) * epochs for number in range(len(reached))]
    result = {"accuracy": accuracy, "curve": {"epoch": steps, "accuracy": reached, "rows": 9}, **more}
    return Outcome(settings, "exact", result, 1.0, VERSIONS, "a machine")


def results(folder: Path, *outcomes: Outcome) -> Results:
    """Results that hold these outcomes."""
    made = Results(folder)
    for one in outcomes:
        made.save(one)
    return made
