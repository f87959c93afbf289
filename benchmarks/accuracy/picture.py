"""The pictures of the suite: log loss against the time of a fit, and the difference to LightGBM on each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.learners import Learner
from benchmarks.accuracy.report import OURS, RIVAL, SuiteResults
from benchmarks.subject import save_svg

UNITS = {"accuracy": "accuracy, points", "r2": "R2"}
OUR_COLOR, OTHER_COLOR = "#c8102e", "0.45"


def draw_log_loss(found: SuiteResults, learners: Sequence[Learner], path: Path) -> None:
    """Draw the mean log loss of each learner against the median time of its fits, without variants of GCWSNet."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    compared, names = found.compared(learners)
    for learner in compared:
        ratio = found.ratio(learner.name, "fit_seconds")
        if ratio is None or learner.name.startswith(f"{OURS}, "):
            continue
        ours = learner.name == OURS
        at = ratio, found.overall(learner.name, names, "log_loss")
        axes.plot(*at, "o", markersize=11 if ours else 8, color=OUR_COLOR if ours else OTHER_COLOR)
        weight, color = ("bold", OUR_COLOR) if ours else ("normal", "black")
        label = f"{learner.name}  {at[1]:.3f}"
        axes.annotate(label, at, (9, 5), textcoords="offset points", fontsize=11, weight=weight, color=color)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(x=0.35, y=0.15)  # room for the names
    axes.invert_yaxis()
    axes.grid(alpha=0.3)
    axes.set_xlabel(f"time of a fit, as a multiple of {RIVAL}'s (median, logarithmic)")
    axes.set_ylabel("log loss (better upwards)")
    axes.set_title(f"Mean over {len(names)} held-out tables, all learners with default settings", fontsize=11)
    save_svg(figure, path)


def draw_differences(parts: Sequence[SuiteResults], path: Path) -> None:
    """Draw how much better GCWSNet is than LightGBM on each dataset: a column of bars for each part."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    for axes, found in zip(figure.subplots(1, len(parts), squeeze=False)[0], parts, strict=True):
        bars = []
        for one in found.datasets:
            ours, rival = found.mean(one.name, OURS), found.mean(one.name, RIVAL)
            if ours is not None and rival is not None:
                first = found.of(one.name)[0]
                bars.append((ours - rival, f"{one.name}  ({first.rows:,} x {first.columns:,})"))
        bars.sort()
        gains = [gain for gain, _ in bars]
        axes.barh([label for _, label in bars], gains, color=[OUR_COLOR if x > 0 else OTHER_COLOR for x in gains])
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_xlabel(f"{UNITS[found.main_score]}, minus {RIVAL}'s", fontsize=11)
        axes.set_title(found.task.capitalize(), fontsize=11)
        axes.tick_params(labelsize=10)
        axes.set_axisbelow(True)
        axes.grid(axis="x", alpha=0.3)
    save_svg(figure, path)
