"""The picture of the suite: scores against the time of a fit and the size of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.accuracy.learners import Learner
from benchmarks.accuracy.report import RIVAL, SuiteResults

MARKERS = "oDdhsPX*p8v^<>x+1"
SCORES = {"accuracy": ("accuracy, points", 1.0), "r2": ("R2", 0.01)}
"""The name of a score, and the differences up to which the axis is linear."""
COSTS_DRAWN = {"fit_seconds": "processor time of a fit", "bytes": "size of a model"}


def draw(results: Mapping[str, SuiteResults], learners: Sequence[Learner], path: Path) -> None:
    """Draw the means, minus LightGBM's, against the median time of a fit and size: a row for each kind of datasets."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    drawn = {title: found for title, found in results.items() if _has_rival(found, learners)}
    figure = Figure(figsize=(11, 0.8 + 3.1 * len(drawn)), layout="constrained")
    rows = figure.subplots(max(len(drawn), 1), len(COSTS_DRAWN), squeeze=False, sharey="row")
    handles: dict[str, Any] = {}
    for row, (title, found) in zip(rows, drawn.items(), strict=False):
        compared, names = found.compared(learners)
        name, linear = SCORES[found.main_score]
        rival = found.overall(RIVAL, names)
        row[0].set_title(f"{title}, {len(names)} of {found.n_datasets} sets", fontsize=9, loc="left")
        row[0].set_ylabel(f"{name}, minus {RIVAL}'s", fontsize=8)
        for axes, (cost, label) in zip(row, COSTS_DRAWN.items(), strict=True):
            axes.set_xscale("log")
            axes.set_yscale("symlog", linthresh=linear)
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_major_formatter("{x:.2g}")
            axes.set_xlabel(f"{label}, {RIVAL}'s = 1 (median)", fontsize=8)
            axes.tick_params(labelsize=8)
            axes.grid(alpha=0.3)
            for marker, learner in zip(MARKERS, learners, strict=False):
                ratio = found.ratio(learner.name, cost)
                if learner in compared and ratio is not None:
                    shade = "black" if learner.name.startswith("GCWSNet") else "0.5"
                    gain = found.overall(learner.name, names) - rival
                    (handles[learner.name],) = axes.plot(ratio, gain, marker, color=shade, markersize=8)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, fontsize=8)
    figure.savefig(path, dpi=80)


def _has_rival(found: SuiteResults, learners: Sequence[Learner]) -> bool:
    compared, names = found.compared(learners)
    return len(names) > 0 and RIVAL in [one.name for one in compared]
