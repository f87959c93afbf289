"""The suite as tables and as a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gcwsnet.bench.suite._results import Result
from gcwsnet.bench.suite._rivals import Rival
from gcwsnet.bench.suite._sets import Set

OURS = "GCWSNet"
LEAST = "HistGradientBoosting"
"""Who learns from the fewest sets."""
AUTOMATIC = "auto auto"
STYLES = {
    "GCWSNet": ("o", "black"),
    "GCWSNet, oversample=4": ("*", "black"),
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


def mean_of(results: list[Result], set_name: str, who: str, what: Callable[[Result], float]) -> float | None:
    """The mean over seeds; None where there is no run."""
    found = [what(one) for one in results if (one.set, one.who) == (set_name, who)]
    return float(np.mean(found)) if found else None


def accuracies(results: list[Result], sets: list[Set], rivals: list[Rival]) -> Iterator[str]:
    """Markdown: a line for each set, the best of a line in bold, and the means of those who learn from all sets."""
    results = [one for one in results if one.part == "rivals"]
    names = [rival.name for rival in rivals]
    yield f"| rows | from | train | columns | {' | '.join(names)} |"
    yield "| :-- | :-- | --: | --: |" + " --: |" * len(names)
    for one in sets:
        of_set = [result for result in results if result.set == one.name]
        if not of_set:
            continue
        means = [mean_of(results, one.name, name, lambda result: result.accuracy) for name in names]
        best = max(mean for mean in means if mean is not None)
        cells = ["" if mean is None else f"**{mean:.1f}**" if mean == best else f"{mean:.1f}" for mean in means]
        yield f"| {one.name} | {one.kind} | {of_set[0].rows:,} | {of_set[0].columns:,} | {' | '.join(cells)} |"
    means = [overall(results, sets, name, lambda result: result.accuracy) for name in names]
    yield f"| mean, where all learned | | | | {' | '.join('' if mean is None else f'{mean:.1f}' for mean in means)} |"


def overall(results: list[Result], sets: list[Set], who: str, what: Callable[[Result], float]) -> float | None:
    """The mean over the sets that all learn from; None if one is missing."""
    who_learned = {one.set for one in results if one.who == LEAST}
    common = [one.name for one in sets if one.name in who_learned]
    found = [mean_of(results, name, who, what) for name in common]
    return None if not found or None in found else float(np.mean([value for value in found if value is not None]))


def costs(results: list[Result], rivals: list[Rival]) -> Iterator[str]:
    """Markdown: time and size as multiples of those of GCWSNet, medians over the sets."""
    results = [one for one in results if one.part == "rivals"]
    sets = list(dict.fromkeys(one.set for one in results))
    yield "| | passes | fit | predict | size |"
    yield "| :-- | --: | --: | --: | --: |"
    for rival in rivals:
        cells = []
        for what in (_fit_seconds, _predict_seconds, _bytes):
            pairs = [(mean_of(results, name, rival.name, what), mean_of(results, name, OURS, what)) for name in sets]
            ratios = [theirs / ours for theirs, ours in pairs if theirs is not None and ours]
            cells.append(f"{np.median(ratios):.2g}" if ratios else "")
        yield f"| {rival.name} | {rival.passes or 'trees'} | {' | '.join(cells)} |"


def _fit_seconds(result: Result) -> float:
    return result.fit_seconds


def _predict_seconds(result: Result) -> float:
    return result.predict_seconds


def _bytes(result: Result) -> float:
    return result.bytes


def choices(results: list[Result], sets: list[Set]) -> Iterator[str]:
    """Markdown: what was chosen, next to the best of the fixed pairs and to the default one."""
    results = [one for one in results if one.part == "pairs"]
    yield "| rows | chosen | automatic | best fixed pair | difference | numeric, p = 1 | as they are, p = 1 |"
    yield "| :-- | :-- | --: | :-- | --: | --: | --: |"
    for one in sets:
        of_set = [result for result in results if result.set == one.name]
        if not of_set:
            continue
        names = list(dict.fromkeys(result.who for result in of_set))
        means = {name: mean_of(results, one.name, name, lambda result: result.accuracy) or 0.0 for name in names}
        automatic = means.pop(AUTOMATIC)
        best = max(means, key=lambda name: means[name])
        counts = Counter(result.note for result in of_set if result.who == AUTOMATIC)
        chosen = ", ".join(f"{count} times {name}" for name, count in counts.most_common())
        yield (
            f"| {one.name} | {chosen} | {automatic:.1f} | {means[best]:.1f} ({best}) | "
            f"{automatic - means[best]:+.1f} | {means['numeric 1']:.1f} | {means['None 1']:.1f} |"
        )


def draw(results: list[Result], sets: list[Set], rivals: list[Rival], path: Path) -> None:
    """Accuracy against seconds of a fit, a panel for each set; in shades of grey, each who learns with a marker."""
    from matplotlib.figure import Figure

    results = [one for one in results if one.part == "rivals"]
    shown = [one for one in sets if any(result.set == one.name for result in results)]
    columns = 4
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(11, 2.5 * rows + 1), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, one in zip(panels, shown, strict=False):
        for rival in rivals:
            seconds = mean_of(results, one.name, rival.name, _fit_seconds)
            accuracy = mean_of(results, one.name, rival.name, lambda result: result.accuracy)
            if seconds is not None and accuracy is not None:
                marker, shade = STYLES[rival.name]
                axes.semilogx(seconds, accuracy, marker, color=shade, markersize=7, label=rival.name)
        axes.set_title(one.name, fontsize=9)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    legends = [axes.get_legend_handles_labels() for axes in panels]
    handles = {label: handle for legend in legends for handle, label in zip(*legend, strict=True)}
    legend: dict[str, Any] = {"loc": "outside lower center", "ncols": 4, "fontsize": 8, "title_fontsize": 9}
    title = "accuracy in percent, against the seconds of a fit on one thread"
    figure.legend(handles.values(), handles.keys(), title=title, **legend)
    figure.savefig(path, dpi=80)
