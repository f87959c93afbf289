"""What all experiments are made of: runs, charts, statements, and printed numbers of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from reproduction.charts import BY_NUMBER, ORIGINAL, Chart, Drawn, Series, against, curve, drawn
from reproduction.experiment_data import DISPLAY_NAMES
from reproduction.results import Outcome, Results
from reproduction.settings import Settings, gcws, key, with_our_defaults
from reproduction.statements import Statement, plain


@dataclass(frozen=True)
class Number:
    """A number that the paper prints, and the runs whose best one is set beside it. Accuracies are in percent."""

    what: str
    value: float
    runs: Sequence[Settings]
    read: Callable[[Outcome], float] = field(default=lambda outcome: outcome.accuracy)

    def found(self, results: Results) -> tuple[float, str] | None:
        """Return our number and where the rows are from; None if a run is missing."""
        outcomes = [outcome for one in self.runs if (outcome := results.get(one)) is not None]
        if len(outcomes) < len(self.runs):
            return None
        best = max(outcomes, key=self.read)
        return self.read(best), str(best.origin)


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper.

    Attributes
    ----------
    name : str
        Its name on the command line.
    place, title : str
        Where it stands in the paper, for example "Figure 1", and what it shows.
    runs : sequence of Settings
        All its runs, in the setting of the paper.
    charts : sequence of Chart or callable
        Its figure; the callable takes the results.
    statements : sequence of Statement
        What the paper says about it.
    numbers : sequence of Number
        What the paper prints about it.
    result : str or callable
        What came out, in a sentence; the callable takes the results.
    note : str
        What differs from the paper, or what the paper leaves open.
    columns : int
        How many charts stand side by side.
    """

    name: str
    place: str
    title: str
    runs: Sequence[Settings] = ()
    charts: Sequence[Chart] | Callable[[Results], Sequence[Chart]] = ()
    statements: Sequence[Statement] = ()
    numbers: Sequence[Number] = ()
    result: str | Callable[[Results], str] = ""
    note: str = ""
    columns: int = 3

    @property
    def datasets(self) -> list[str]:
        """The datasets of its runs."""
        return list(dict.fromkeys(one["dataset"] for one in self.runs if "dataset" in one))

    @property
    def has_two_settings(self) -> bool:
        """Whether some of its runs differ between the setting of the paper and ours."""
        return any(key(one) != key(with_our_defaults(one)) for one in self.runs)

    def figure(self, results: Results) -> Drawn:
        """Return its charts with the points that they have in the results."""
        return drawn(self.charts(results) if callable(self.charts) else self.charts, results)

    def comparable(self, results: Results) -> Results:
        """Return results in which nets that the experiment compares are means over the same seeds."""
        return results.with_common_seeds(self.runs)


K = (64, 128, 256, 512)
B = (1, 2, 4, 8)
BY_K = dict(zip(K, BY_NUMBER, strict=False))
Net = tuple[int, int]
"""A net: L, and H."""

NETS: tuple[Net, ...] = ((1, 0), (2, 200), (3, 200))


def net_label(net: Net) -> str:
    """Return a net in the words of the paper."""
    L, H = net
    return "L = 1" if L == 1 else f"L = {L}, H = {H}"


def gcws_grid(
    dataset: str, *, p: float = 1, epochs: int = 1, b: Sequence[int] = B, nets: Sequence[Net] = NETS
) -> list[Settings]:
    """Return the settings of GCWSNet with all k, b and nets."""
    return [gcws(dataset, k=k, b=bits, L=L, H=H, p=p, epochs=epochs) for L, H in nets for bits in b for k in K]


def with_plain(grid: Iterable[Settings]) -> list[Settings]:
    """Return the settings of GCWSNet, and in front of them those of the same nets on the original data."""
    grid = list(grid)
    return list({key(one): one for one in (*map(plain, grid), *grid)}.values())


def curves(
    dataset: str, *, p: float = 1, epochs: int, b: Sequence[int], nets: Sequence[Net], title: str
) -> list[Chart]:
    """Return a chart of accuracy over epochs for each net and b: a series for each k, and one for the original data."""
    charts = []
    for L, H in nets:
        for bits in b:
            runs = {k: gcws(dataset, k=k, b=bits, L=L, H=H, p=p, epochs=epochs) for k in K}
            series = [Series(f"k = {k}", BY_K[k], curve(one)) for k, one in runs.items()]
            series.append(Series("original data", ORIGINAL, curve(plain(runs[64]))))
            charts.append(Chart(f"{title}b = {bits}, {net_label((L, H))}", tuple(series)))
    return charts


def over_k(dataset: str, *, p: float, b: Sequence[int], nets: Sequence[Net]) -> list[Chart]:
    """Return a chart of accuracy after one epoch against k for each net: a series for each b."""
    return [
        Chart(
            f"{DISPLAY_NAMES[dataset]}: {net_label((L, H))}",
            tuple(
                Series(f"b = {bits}", style, against(K, partial(_with_k, dataset, p, bits, (L, H))))
                for bits, style in zip(b, BY_NUMBER, strict=False)
            ),
            x_label="k, after one epoch",
            log_x=True,
        )
        for L, H in nets
    ]


def _with_k(dataset: str, p: float, b: int, net: Net, k: int) -> Settings:
    return gcws(dataset, k=k, b=b, L=net[0], H=net[1], p=p)
