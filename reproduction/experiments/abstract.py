"""What the abstract says of all datasets at once: GCWSNet beside the same net on the original data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from reproduction.charts import BY_NUMBER, ORIGINAL, Chart, Series, figure
from reproduction.datasets import DISPLAY_NAMES
from reproduction.experiment import (
    NETS,
    NO_VERDICT,
    B,
    Comparison,
    Experiment,
    Net,
    gcws_and_original_grid,
)
from reproduction.experiments import hundred_epochs as covtype
from reproduction.results import Results
from reproduction.settings import Settings, key, original
from reproduction.statements import OFTEN, Case, NotMeasuredError, Statement, all_pairs_done, better, spread, tally


class Nets(NamedTuple):
    """The nets of a figure: a dataset, p, epochs, and all b and nets, each with all k."""

    dataset: str
    p: float
    epochs: int
    bits: tuple[int, ...]
    nets: tuple[Net, ...]

    def grid(self) -> list[Settings]:
        """Return the settings of all runs of the figure."""
        return gcws_and_original_grid(self.dataset, p=self.p, epochs=self.epochs, b=self.bits, nets=self.nets)

    def pairs(self) -> list[tuple[Settings, Settings]]:
        """Return each run of GCWSNet with that of the same net on the original data."""
        ours = [one for one in self.grid() if one["method"] == "gcws"]
        return [(one, original(self.dataset, L=one["L"], H=one["H"], epochs=self.epochs)) for one in ours]

    def cases(self, results: Results) -> list[Case]:
        """Return cases in which GCWSNet must be better in the end than the same net on the original data."""
        return better(all_pairs_done(results, self.pairs()))


FIGURES = {
    "Figure 1": Nets("semg", 1, 5, B, NETS),
    "Figure 2": Nets("semg", 2, 5, (8,), NETS),
    "Figure 3": Nets(covtype.COVTYPE, 1, covtype.EPOCHS, covtype.COVTYPE_B, covtype.NETS),
    "Figure 4": Nets(covtype.COVTYPE, 1, 1, covtype.COVTYPE_B, covtype.NETS),
    "in place of Figure 7": Nets(covtype.MOMENTS, 1, 1, covtype.PAMAP101_B, covtype.NETS),
    "Figure 8": Nets("dailysports", 1, 1, B, NETS),
    "Figure 9": Nets("m-noise1", 80, 1, B, NETS),
    "Figure 10": Nets("m-image", 50, 1, B, NETS),
}


def _grid(quick: bool) -> list[Settings]:
    figures = list(FIGURES.values())[:1] if quick else FIGURES.values()
    runs = [one for nets in figures for one in nets.grid()]
    return list({key(one): one for one in runs}.values())


def _charts(results: Results) -> Iterator[Chart]:
    """Yield the accuracy of GCWSNet against that of the same net on the original data: above the line it is better."""
    by_dataset: dict[str, list[tuple[float, float]]] = {}
    for nets in FIGURES.values():
        for ours, theirs in nets.pairs():
            found = results.get(ours), results.get(theirs)
            if found[0] is not None and found[1] is not None:
                by_dataset.setdefault(nets.dataset, []).append((found[1].accuracy, found[0].accuracy))
    series = [Series("equal", (0.0, 100.0), (0.0, 100.0), ORIGINAL)] if by_dataset else []
    for (name, points), style in zip(by_dataset.items(), BY_NUMBER, strict=False):
        x, y = zip(*sorted(points), strict=True)
        series.append(Series(DISPLAY_NAMES[name], x, y, style._replace(dashes="")))
    yield Chart(
        "All k, b and nets", tuple(series), x_label="the net on the original data, in %", y_label="GCWSNet, in %"
    )


def _all_cases(results: Results) -> list[Case]:
    """Return the cases of all figures, with the figure in their names: two of them are about the same nets."""
    return [
        replace(case, what=f"{case.what} ({place})") for place, nets in FIGURES.items() for case in nets.cases(results)
    ]


def _compare(results: Results) -> list[Comparison]:
    rows = []
    for place, nets in FIGURES.items():
        try:
            cases = nets.cases(results)
        except NotMeasuredError:
            continue
        epochs = f"{nets.epochs} epoch{'s' * (nets.epochs > 1)}"
        what = f"{DISPLAY_NAMES[nets.dataset]}, p = {nets.p:g}, after {epochs} ({place})"
        numbers = f"{tally(case.holds for case in cases)}, {spread([case.value for case in cases], 'points')}"
        rows.append(Comparison(f"{what}: better than the original data", "often", numbers, NO_VERDICT))
    return rows


ABSTRACT = Experiment(
    "abstract",
    "Abstract",
    "GCWSNet beside the same net on the original data, on all datasets",
    tuple(dict.fromkeys(nets.dataset for nets in FIGURES.values())),
    _grid,
    lambda results: figure(_charts(results)),
    (
        Statement(
            "Our extensive experiments show that GCWSNet often improves the classification accuracy.",
            "better at the end than the same net on the original data; all k, b and nets of Figures 1 to 4, 8 to 10, "
            "and of the stand-in for Figure 7",
            _all_cases,
            share=OFTEN,
        ),
    ),
    _compare,
    "The runs of the figures, put together.",
)
