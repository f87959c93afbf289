"""What a run has found, as Markdown, as JSON and as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import isnan, nan
from pathlib import Path
from typing import Any

from benchmarks.hashing.cases import FULL_SCAN, N_HASHES, OURS
from benchmarks.hashing.peers import PEERS
from benchmarks.subject import EXTRA, environment, markdown_table
from benchmarks.timing import machine, versions
from gcwsnet._atomic import written_beside

OTHERS = (FULL_SCAN, *(peer.name for peer in PEERS))
TWO_THREADS = "two threads"
PACKAGES = ("scipy", "scikit-learn", "torch", "datasketch", "rensa")
AXIS_LABELS = {"D": "D, columns of a row (k = 256)", "k": "k, hashes of a row (D = 784)"}
STYLES = {
    OURS: ("-o", "black"),
    FULL_SCAN: ("--o", "black"),
    "NumPy": ("-s", "0.35"),
    "torch eager": ("--v", "0.35"),
    "torch compiled": ("-^", "0.35"),
    "datasketch": (":D", "0.5"),
    "RBFSampler": ("-.x", "0.5"),
}


@dataclass(frozen=True)
class Rates:
    """The rows of a case that were hashed per second, by everything that can hash them."""

    name: str
    title: str
    p: float
    n_hashes: int
    n_rows: int
    n_columns: int
    rows_per_second: dict[str, float]

    def ratio(self, one: str, other: str) -> float:
        """Return the rate of one as a multiple of the rate of another."""
        return self.rows_per_second[one] / self.rows_per_second[other]

    def other_ways(self) -> list[str]:
        """Return the other ways of gcwsnet that were measured: two threads, and older instruction sets."""
        return [name for name in self.rows_per_second if name not in (OURS, *OTHERS)]

    def as_json(self) -> dict[str, Any]:
        """Return the rates with their ratios.

        ``times_as_many[peer]`` is the rate of gcwsnet on one thread as a multiple of that of a peer;
        ``times_as_many_as_gcwsnet[way]`` is the rate with two threads or an older instruction set as a multiple of it.
        """
        return {
            **asdict(self),
            "times_as_many": {name: self.ratio(OURS, name) for name in OTHERS if name in self.rows_per_second},
            "times_as_many_as_gcwsnet": {name: self.ratio(name, OURS) for name in self.other_ways()},
        }


@dataclass(frozen=True)
class HashingReport:
    """One run.

    Attributes
    ----------
    load : float
        The highest load of the machine during the run, which makes 1 itself, and 2 with two threads.
    repetitions : int
    rates : list of Rates
    growth : dict of str to lists of Rates
        For a growing number of columns and of hashes.
    ready : str
        The rows whose first call was timed.
    seconds_until_ready : float
        The time of `fit` and of that first call.
    left_out : list of str
        What was not measured, and why.
    """

    load: float
    repetitions: int
    rates: list[Rates]
    growth: dict[str, list[Rates]]
    ready: str
    seconds_until_ready: float
    left_out: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and strings."""
        return {
            "machine": machine(),
            "versions": versions("gcwsnet", "numpy", *PACKAGES),
            **asdict(self),
            "rates": [one.as_json() for one in self.rates],
            "growth": {along: [one.as_json() for one in rates] for along, rates in self.growth.items()},
        }

    def as_markdown(self) -> str:
        """Return the tables, with a sentence for each."""
        load = f"The load of the machine was up to {self.load:.1f}, of which the run itself makes 1 to 2."
        what = (
            f"Rows per second, one thread, k = {N_HASHES}, medians of {self.repetitions}; in brackets how many times "
            "as many gcwsnet hashes:"
        )
        other_ways = (
            "The same rows with two threads, and on one thread with older instruction sets, as a multiple of one "
            "thread with the best:"
        )
        ready = (
            f"Time until ready, {self.ready}: `fit` and the first rows, with all tables made on the way, take "
            f"{self.seconds_until_ready:.2f} s."
        )
        parts = ["\n".join([*environment(*PACKAGES), load]), what, rates_table(self.rates)]
        parts += ["Where others hash more rows than gcwsnet:", bullets(losses(self.rates))]
        if any(one.other_ways() for one in self.rates):
            parts += [other_ways, other_ways_table(self.rates)]
        parts += [ready]
        if self.left_out:
            parts += ["Left out:", bullets(self.left_out)]
        return "\n\n".join(parts)


def rates_table(rates: Sequence[Rates]) -> str:
    """Return a table of the rates of gcwsnet and of all others that hashed something."""
    names = [name for name in OTHERS if any(name in one.rows_per_second for one in rates)]

    def cell(one: Rates, name: str) -> str:
        rate = one.rows_per_second.get(name)
        return f"{rate:,.0f} ({one.ratio(OURS, name):,.1f})" if rate else ""

    return markdown_table(
        ["rows", "p", OURS, *names],
        [
            [one.title, f"{one.p:g}", f"{one.rows_per_second[OURS]:,.0f}", *(cell(one, name) for name in names)]
            for one in rates
        ],
    )


def other_ways_table(rates: Sequence[Rates]) -> str:
    """Return a table of two threads and older instruction sets, as multiples of one thread with the best."""
    names = list(dict.fromkeys(name for one in rates for name in one.other_ways()))
    return markdown_table(
        ["rows", "p", *names],
        [[one.title, f"{one.p:g}", *(f"{one.ratio(name, OURS):.2f}" for name in names)] for one in rates],
    )


def losses(rates: Sequence[Rates]) -> list[str]:
    """Return a sentence for each case in which a peer hashes more rows; the full scan is no peer."""
    found = []
    for one in rates:
        peers = [name for name in OTHERS if name in one.rows_per_second and name != FULL_SCAN]
        faster = [f"{name} {one.ratio(name, OURS):.1f} times as many" for name in peers if one.ratio(name, OURS) > 1]
        if faster:
            found.append(f"{one.title}, p = {one.p:g}: {', '.join(faster)}.")
    return found or ["Nowhere in this run."]


def bullets(lines: Iterable[str]) -> str:
    """Return a list in Markdown."""
    return "\n".join(f"- {line}" for line in lines)


def check_picture(path: Path) -> None:
    """Raise an error, before anything is measured, where the picture could not be drawn."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"a picture needs matplotlib, which is not installed: {EXTRA}") from error
    kinds = sorted(Figure().canvas.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in kinds:
        raise ValueError(f"a picture must be one of {', '.join(kinds)}, got {str(path)!r}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"the folder of a picture must exist, got {str(path)!r}")


def draw(report: HashingReport, path: Path) -> None:
    """Draw the growth that a run has measured: rows per second against D and against k, in shades of grey."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 5), layout="constrained")
    for axes, (along, rates) in zip(figure.subplots(1, 2, sharey=True), report.growth.items(), strict=True):
        at = [one.n_columns if along == "D" else one.n_hashes for one in rates]
        for name, (style, shade) in STYLES.items():
            values = [one.rows_per_second.get(name, nan) for one in rates]
            if not all(isnan(value) for value in values):
                face = "white" if name == FULL_SCAN else shade
                width = 2.2 if name == OURS else 1
                axes.loglog(at, values, style, color=shade, markerfacecolor=face, linewidth=width, label=name)
        axes.set_xlabel(AXIS_LABELS[along])
        axes.set_xticks(at, [f"{x:,}" for x in at])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("rows per second, one thread")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    with written_beside(path) as beside:
        figure.savefig(beside, dpi=100, format=path.suffix.removeprefix(".").lower())
