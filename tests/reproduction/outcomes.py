"""Outcomes that tests make up, to see which verdicts and figures follow from them."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reproduction.results import Outcome, Results
from reproduction.settings import Settings

VERSIONS = {"gcwsnet": "0"}


def outcome(settings: Settings, accuracy: float, curve: Sequence[float] | None = None, **more: Any) -> Outcome:
    """Return an outcome with evenly spaced accuracies along its epochs; without `curve` all of them are `accuracy`."""
    epochs = settings.get("epochs", 1)
    accuracies = list(curve) if curve is not None else [accuracy] * (10 * epochs)
    steps = [(number + 1) / len(accuracies) * epochs for number in range(len(accuracies))]
    result = {"accuracy": accuracy, "curve": {"epoch": steps, "accuracy": accuracies, "rows": 9}, **more}
    return Outcome(settings, "exact", result, 1.0, VERSIONS, "a machine")


def results(folder: Path, *outcomes: Outcome) -> Results:
    """Return results in a folder that hold these outcomes, as one packed file."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(asdict(one)) + "\n" for one in outcomes)
    (folder / "made-up.jsonl").write_text(lines, encoding="utf-8")
    return Results(folder)
