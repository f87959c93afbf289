"""The picture of the suite: scores against the time of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.accuracy.learners import Learner
from benchmarks.accuracy.report import RIVAL, SuiteResults

MARKERS = "oDdhsPX*p8v^<>x+1"
SCORES = {"accuracy": ("accuracy, points", 1.0), "r2": ("R2", 0.01)}
"""The name of a score, and the differences up to which the axis is linear."""


def draw(results: Mapping[str, SuiteResults], learners: Sequence[Learner], path: Path) -> None:
    """Draw the means, minus LightGBM's, against the median time of a fit, a panel for each kind of datasets."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8.5), layout="constrained")
    panels = figure.subplots(2, 2, squeeze=False).ravel()
    handles: dict[str, Any] = {}
    for axes, (title, found) in zip(panels, results.items(), strict=True):
        compared, names = found.compared(learners)
        axes.set_title(f"{title}, {len(names)} of {found.n_datasets} sets", fontsize=9)
        name, linear = SCORES[found.main_score]
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=linear)
        axes.set_ylabel(f"{name}, minus {RIVAL}'s", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)
        if not names or RIVAL not in [one.name for one in compared]:
            continue
        rival = found.overall(RIVAL, names)
        for marker, learner in zip(MARKERS, learners, strict=False):
            ratio = found.ratio(learner.name, "fit_seconds")
            if learner in compared and ratio is not None:
                shade = "black" if learner.name.startswith("GCWSNet") else "0.5"
                (handles[learner.name],) = axes.plot(
                    ratio, found.overall(learner.name, names) - rival, marker, color=shade, markersize=8
                )
    note = f"processor time of a fit, as a multiple of {RIVAL}'s (median)"
    figure.legend(handles.values(), handles.keys(), title=note, loc="outside lower center", ncols=5, fontsize=8)
    figure.savefig(path, dpi=80)
