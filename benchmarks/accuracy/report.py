"""The results of the suite as tables and as a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.datasets import SuiteDataset
from benchmarks.accuracy.learners import Learner
from benchmarks.accuracy.runs import Run
from benchmarks.subject import markdown_table

OURS = "GCWSNet"
LEAST_CAPABLE = "HistGradientBoosting"  # it learns from the fewest datasets
AUTOMATIC = "auto auto"
STYLES = {
    "GCWSNet": ("o", "black"),
    "GCWSNet, k=1024, 5 epochs": ("D", "black"),
    "linear SGD": ("v", "0.55"),
    "linear SGD, 10 passes": ("^", "0.55"),
    "MLPClassifier": ("<", "0.35"),
    "MLPClassifier, 10 passes": (">", "0.35"),
    "RBFSampler + SGD": ("x", "0.45"),
    "Nystroem + SGD": ("+", "0.45"),
    "LightGBM": ("s", "0.2"),
    "HistGradientBoosting": ("P", "0.2"),
}


class SuiteResults:
    """The runs of one part of the suite, and the datasets that they are about.

    Parameters
    ----------
    runs : sequence of Run
    datasets : sequence of SuiteDataset
        Those without a run are left out.
    part : {"learners", "pairs"}
    """

    def __init__(self, runs: Sequence[Run], datasets: Sequence[SuiteDataset], part: str) -> None:
        self.runs = [run for run in runs if run.part == part]
        self.datasets = [one for one in datasets if self.of(one.name)]

    def of(self, dataset: str) -> list[Run]:
        """Return the runs on a dataset."""
        return [run for run in self.runs if run.dataset == dataset]

    def mean(self, dataset: str, learner: str, field: str = "accuracy") -> float | None:
        """Return the mean of a field of `Run` over seeds; None without a run."""
        found = [getattr(run, field) for run in self.of(dataset) if run.learner == learner]
        return float(np.mean(found)) if found else None

    def overall_accuracy(self, learner: str) -> float | None:
        """Return the mean accuracy over the datasets that all learn from; None if a run is missing."""
        names = [one.name for one in self.datasets if self.mean(one.name, LEAST_CAPABLE) is not None]
        found = [self.mean(name, learner) for name in names]
        known = [value for value in found if value is not None]
        return float(np.mean(known)) if known and len(known) == len(found) else None


def accuracy_table(results: SuiteResults, learners: list[Learner]) -> str:
    """Return a table with a line for each dataset, the best in bold, and the means over those that all learn from."""
    names = [learner.name for learner in learners]
    rows = []
    for one in results.datasets:
        first, means = results.of(one.name)[0], [results.mean(one.name, name) for name in names]
        best = max(mean for mean in means if mean is not None)
        cells = ["" if mean is None else f"**{mean:.1f}**" if mean == best else f"{mean:.1f}" for mean in means]
        rows.append([one.name, one.origin, f"{first.rows:,}", f"{first.columns:,}", *cells])
    means = [results.overall_accuracy(name) for name in names]
    rows.append(["mean, where all learned", "", "", "", *("" if mean is None else f"{mean:.1f}" for mean in means)])
    return markdown_table(["rows", "from", "train", "columns", *names], rows, align="ll")


def cost_table(results: SuiteResults, learners: list[Learner]) -> str:
    """Return a table of times and sizes as multiples of those of GCWSNet, medians over the datasets."""
    rows = []
    for learner in learners:
        rows.append([learner.name, str(learner.passes or "trees")])
        for field in ("fit_seconds", "predict_seconds", "bytes"):
            pairs = [
                (results.mean(one.name, learner.name, field), results.mean(one.name, OURS, field))
                for one in results.datasets
            ]
            ratios = [theirs / ours for theirs, ours in pairs if theirs is not None and ours]
            rows[-1].append(f"{np.median(ratios):.2g}" if ratios else "")
    return markdown_table(["", "passes", "fit", "predict", "size"], rows)


def choice_table(results: SuiteResults) -> str:
    """Return a table of the scaling and p that GCWSNet chose, next to the best fixed pair and to the default one."""
    head = ["rows", "chosen", "automatic", "best fixed pair", "difference", "numeric, p = 1", "as they are, p = 1"]
    rows = []
    for one in results.datasets:
        runs = results.of(one.name)
        means = {run.learner: results.mean(one.name, run.learner) or 0.0 for run in runs}
        automatic = means.pop(AUTOMATIC)
        best = max(means, key=lambda name: means[name])
        counts = Counter(run.chosen for run in runs if run.learner == AUTOMATIC)
        rows.append([one.name, ", ".join(f"{count} times {name}" for name, count in counts.most_common())])
        rows[-1] += [f"{automatic:.1f}", f"{means[best]:.1f} ({best})", f"{automatic - means[best]:+.1f}"]
        rows[-1] += [f"{means['numeric 1']:.1f}", f"{means['None 1']:.1f}"]
    return markdown_table(head, rows, align="llrl")


def draw(results: SuiteResults, learners: list[Learner], path: Path) -> None:
    """Draw accuracy against the seconds of a fit, a panel for each dataset, in shades of grey."""
    from matplotlib.figure import Figure

    columns = 4
    rows = -(-len(results.datasets) // columns)
    figure = Figure(figsize=(11, 2.5 * rows + 1), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, one in zip(panels, results.datasets, strict=False):
        for learner in learners:
            seconds = results.mean(one.name, learner.name, "fit_seconds")
            accuracy = results.mean(one.name, learner.name)
            if seconds is not None and accuracy is not None:
                marker, shade = STYLES[learner.name]
                axes.semilogx(seconds, accuracy, marker, color=shade, markersize=7, label=learner.name)
        axes.set_title(one.name, fontsize=9)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
    for axes in panels[len(results.datasets) :]:
        axes.set_axis_off()
    legends = [axes.get_legend_handles_labels() for axes in panels]
    handles = {label: handle for legend in legends for handle, label in zip(*legend, strict=True)}
    legend: dict[str, Any] = {"loc": "outside lower center", "ncols": 4, "fontsize": 8, "title_fontsize": 9}
    title = "accuracy in percent, against the seconds of a fit on one thread"
    figure.legend(handles.values(), handles.keys(), title=title, **legend)
    figure.savefig(path, dpi=80)
