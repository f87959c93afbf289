"""Learning curves in the folder of a model: as JSON, and as a picture where matplotlib is installed."""

from __future__ import annotations

import json
import math
from pathlib import Path

from gcwsnet._atomic import write_file, written_beside
from gcwsnet.estimators._base import GCWSNetEstimator

JSON, PICTURE = "curves.json", "curves.png"


def curve_files(folder: Path) -> list[Path]:
    """Return the files that `write_curves` writes into a folder."""
    return [folder / JSON, folder / PICTURE]


def write_curves(folder: Path, estimator: GCWSNetEstimator) -> None:
    """Write the curves of an estimator into a folder, without seconds: equal runs give equal files."""
    history = {name: values for name, values in estimator.history_.items() if name != "seconds"}
    length = len(next(iter(history.values()), []))
    records = [
        {name: values[i] for name, values in history.items() if not math.isnan(values[i])} for i in range(length)
    ]
    write_file(folder / JSON, (json.dumps(records, indent=1) + "\n").encode())
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        return
    measure = estimator.trainer_.targets.metric
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("loss", measure), strict=True):
        curves = {name: ("-o", "training rows, before they are learned"), f"eval_{name}": ("--s", "test rows")}
        for key, (style, label) in curves.items():
            points = [(record["rows"], record[key]) for record in records if key in record]
            if points:
                axes.semilogx(*zip(*points, strict=True), style, color="black", markersize=3, label=label)
        axes.set_xlabel("rows learned from")
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
        axes.legend()
    with written_beside(folder / PICTURE) as file:
        figure.savefig(file, dpi=100, format="png")
