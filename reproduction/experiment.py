"""What all experiments are made of: a grid of runs, a figure, statements, and numbers of the paper to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reproduction.charts import BY_K, ORIGINAL, Chart, Figure, accuracy_over_epochs
from reproduction.experiment_data import COMPARABLE, availability
from reproduction.results import Outcome, Results
from reproduction.settings import SEEDED, Settings, gcws, key, original
from reproduction.statements import CLOSE, NOT_MEASURED, Statement


class PaperNumber(NamedTuple):
    """A number that the paper gives, and where it stands. Accuracies are in percent."""

    value: float
    place: str


class TableRow(NamedTuple):
    """A row of Table 1; None where the paper has a dash."""

    linear: float
    rbf: float | None
    gmm: float | None
    pgmm: float | None
    p: float | None


TABLE_1 = {
    "semg": TableRow(19.3, 29.0, 54.0, 56.1, 2),
    "dailysports": TableRow(77.7, 97.6, 99.6, 99.6, 0.6),
    "m-noise1": TableRow(60.3, 66.8, 71.4, 85.2, 80),
    "m-image": TableRow(70.7, 77.8, 80.9, 89.5, 50),
    "pamap101": TableRow(75.3, None, None, None, None),
    "covtype": TableRow(71.5, None, None, None, None),
}

SEMG_ORIGINAL_L1 = PaperNumber(20.0, "section 2: less than 20% with L = 1 on the original data")
SEMG_ORIGINAL_L2 = PaperNumber(25.0, "section 2: about 25% with L = 2 on the original data")
COVTYPE_ORIGINAL_1 = PaperNumber(77.0, "section 2: original data, L = 2, H = 200, after 1 epoch")
COVTYPE_ORIGINAL_100 = PaperNumber(89.0, "section 2: original data, L = 2, H = 200, after 100 epochs")
COVTYPE_GCWS_1 = PaperNumber(84.0, "section 2: k = 64, b = 8, L = 2, H = 200, after 1 epoch")
COVTYPE_GCWS_100 = PaperNumber(91.0, "section 2: k = 64, b = 8, L = 2, H = 200, after 100 epochs")
LAST_LAYER_NET = PaperNumber(20.0, "section 6: the net after the first batch")
LAST_LAYER_GCWS = PaperNumber(70.0, "section 6: GCWS on the hidden layer after the first batch")

BY_FORMULA = "by the formula"
"""The verdict on what follows from a formula, without a run that could contradict it."""
NO_VERDICT = "no verdict"
"""What stands for a verdict where the paper has no number."""


class Comparison(NamedTuple):
    """A number of the paper beside ours."""

    what: str
    paper: str
    ours: str
    verdict: str


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper.

    Attributes
    ----------
    name : str
        Its name on the command line.
    place, title : str
        Where it stands in the paper, for example "Figure 1", and what it shows.
    datasets : tuple of str
        The datasets of its runs.
    grid : callable
        Takes whether the grid is to be reduced, and returns the settings of all runs.
    figure : callable
        Takes the results, and returns the figure.
    statements : tuple of Statement
        What the paper says about it.
    compare : callable
        Takes the results, and returns the numbers of the paper beside ours.
    note : str
        What differs from the paper, or what the paper leaves open.
    """

    name: str
    place: str
    title: str
    datasets: tuple[str, ...]
    grid: Callable[[bool], list[Settings]]
    figure: Callable[[Results], Figure]
    statements: tuple[Statement, ...] = ()
    compare: Callable[[Results], list[Comparison]] = lambda _: []
    note: str = ""

    def runs(self) -> list[Settings]:
        """Return the settings of all runs of the reduced grid and of the full one."""
        return list({key(one): one for quick in (True, False) for one in self.grid(quick)}.values())

    def comparable(self, results: Results) -> Results:
        """Return results in which nets that the experiment compares are means over the same seeds."""
        return results.with_common_seeds(self.runs())

    def outcomes(self, results: Results) -> list[Outcome]:
        """Return the outcomes of the runs that are done."""
        return [outcome for one in self.runs() if (outcome := results.get(one)) is not None]


def seeds_of(outcomes: Iterable[Outcome]) -> tuple[int, ...]:
    """Return how many seeds the nets among outcomes have: the least and the most, one number if these are the same."""
    counts = sorted({outcome.seeds for outcome in outcomes if outcome.settings["method"] in SEEDED})
    return tuple(dict.fromkeys((counts[0], counts[-1]))) if counts else ()


def compare_accuracy(what: str, paper: float, ours: float, origin: str | None, more: str = "") -> Comparison:
    """Return an accuracy of the paper beside ours, with a verdict; `more` stands behind ours."""
    off = ours - paper
    if origin not in COMPARABLE:
        verdict = f"{origin} data: {off:+.1f}, not to be compared"
    elif abs(off) <= CLOSE:
        verdict = "agrees"
    else:
        verdict = f"differs by {off:+.1f}"
    return Comparison(what, f"{paper:g}", f"{ours:.1f}{more}", verdict)


def not_compared(what: str, paper: float, dataset: str) -> Comparison:
    """Return an accuracy of the paper that has not been measured here, with the reason."""
    found = availability(dataset)
    return Comparison(what, f"{paper:g}", "", NOT_MEASURED if found.available else found.state)


def compare_runs(results: Results, numbers: Iterable[tuple[PaperNumber, Settings]]) -> list[Comparison]:
    """Return numbers of the paper beside the accuracies of runs, where these are done."""
    rows = []
    for number, settings in numbers:
        outcome = results.get(settings)
        if outcome is None:
            rows.append(not_compared(number.place, number.value, settings["dataset"]))
        else:
            rows.append(compare_accuracy(number.place, number.value, outcome.accuracy, outcome.origin))
    return rows


K = (64, 128, 256, 512)
B = (1, 2, 4, 8)
Net = tuple[int, int]
"""A net: L, and H."""

NETS: tuple[Net, ...] = ((1, 0), (2, 200), (3, 200))


def net_label(net: Net) -> str:
    """Return a net in the words of the paper."""
    L, H = net
    return "L = 1" if L == 1 else f"L = {L}, H = {H}"


def gcws_and_original_grid(
    dataset: str, *, p: float, epochs: int, k: Sequence[int] = K, b: Sequence[int] = B, nets: Sequence[Net] = NETS
) -> list[Settings]:
    """Return the settings of GCWSNet with all k, b and nets, and of each net on the original data."""
    return [original(dataset, L=L, H=H, epochs=epochs) for L, H in nets] + [
        gcws(dataset, k=some_k, b=some_b, L=L, H=H, p=p, epochs=epochs) for L, H in nets for some_b in b for some_k in k
    ]


def curves(
    results: Results, dataset: str, *, p: float, epochs: int, panels: Sequence[tuple[int, Net]], title: str
) -> Iterator[Chart]:
    """Yield a chart of accuracy over epochs for each b and net: a series for each k, and one for the original data."""
    for b, (L, H) in panels:
        runs = [(f"k = {k}", gcws(dataset, k=k, b=b, L=L, H=H, p=p, epochs=epochs), BY_K[k]) for k in K]
        ours = accuracy_over_epochs(results, runs)
        theirs = accuracy_over_epochs(
            results, [("original data", original(dataset, L=L, H=H, epochs=epochs), ORIGINAL)]
        )
        yield Chart(f"{title}: b = {b}, {net_label((L, H))}", (*ours, *theirs) if ours else ())
