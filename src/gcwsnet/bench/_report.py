"""What a run has found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gcwsnet.bench._cases import N_HASHES
from gcwsnet.bench._measure import listed
from gcwsnet.bench._ours import FULL_SCAN, OURS, READY_COLUMNS, READY_HASHES
from gcwsnet.bench._peers import PEERS

OTHERS = (FULL_SCAN, *(peer.name for peer in PEERS))


@dataclass(frozen=True)
class Line:
    """Rows per second on rows of one kind."""

    name: str
    title: str
    p: float
    n_hashes: int
    n_rows: int
    n_columns: int
    rows_per_second: dict[str, float]

    def ratio(self, one: str, other: str) -> float:
        """How many times as many rows one hashes in the time of the other."""
        return self.rows_per_second[one] / self.rows_per_second[other]

    def as_json(self) -> dict[str, Any]:
        """The line with its ratios.

        ``times_as_many[peer]`` is how many times as many rows gcwsnet hashes on one thread;
        ``times_as_many_as_gcwsnet[way]`` is what two threads or a lesser instruction set make of that.
        """
        return {
            **asdict(self),
            "times_as_many": {name: self.ratio(OURS, name) for name in OTHERS if name in self.rows_per_second},
            "times_as_many_as_gcwsnet": {name: self.ratio(name, OURS) for name in ways(self)},
        }


@dataclass(frozen=True)
class Report:
    """One run: where, with what, and how fast."""

    machine: str
    versions: dict[str, str]
    load: float  # of the machine, the most while it ran: the run itself makes 1, and 2 with two threads
    repetitions: int
    lines: list[Line]
    growth: dict[str, list[Line]]
    seconds_until_ready: float
    left_out: list[str]

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain dicts, lists, numbers and strings."""
        return {
            **asdict(self),
            "lines": [line.as_json() for line in self.lines],
            "growth": {along: [line.as_json() for line in lines] for along, lines in self.growth.items()},
        }

    def as_markdown(self) -> str:
        """The tables, with a sentence for each thing that was measured."""
        what = (
            f"Rows per second, one thread, k = {N_HASHES}, medians of {self.repetitions}; in brackets how many times "
            "as many gcwsnet hashes:"
        )
        multiples = (
            "The same rows with two threads, and on one thread with lesser instruction sets, as a multiple of one "
            "thread with the best:"
        )
        ready = (
            f"Time until ready, {READY_COLUMNS:,} signed columns, k = {READY_HASHES}: `fit` and the first rows, with "
            f"all tables made on the way, take {self.seconds_until_ready:.2f} s."
        )
        where = (
            f"{self.machine}.\n{listed(self.versions)}.\nThe load of the machine was up to {self.load:.1f}, of which "
            "the run itself makes 1 to 2."
        )
        parts = [where, what, rates_table(self.lines)]
        parts += ["Where others hash more rows than gcwsnet:", bullets(losses(self.lines))]
        if any(ways(line) for line in self.lines):
            parts += [multiples, ways_table(self.lines)]
        parts += [ready]
        if self.left_out:
            parts += ["Left out:", bullets(self.left_out)]
        return "\n\n".join(parts) + "\n"


def ways(line: Line) -> list[str]:
    """Other ways of gcwsnet than one thread with the best instruction set: two threads, lesser instruction sets."""
    return [name for name in line.rows_per_second if name not in (OURS, *OTHERS)]


def rates_table(lines: Sequence[Line]) -> str:
    """Rows per second of gcwsnet and of all who hashed something."""
    others = [name for name in OTHERS if any(name in line.rows_per_second for line in lines)]

    def cell(line: Line, name: str) -> str:
        rate = line.rows_per_second.get(name)
        return f"{rate:,.0f} ({line.ratio(OURS, name):,.1f})" if rate else ""

    return table(
        ["rows", "p", OURS, *others],
        [
            [line.title, f"{line.p:g}", f"{line.rows_per_second[OURS]:,.0f}", *(cell(line, name) for name in others)]
            for line in lines
        ],
    )


def ways_table(lines: Sequence[Line]) -> str:
    """Two threads and lesser instruction sets, as multiples of one thread with the best."""
    names = list(dict.fromkeys(name for line in lines for name in ways(line)))
    return table(
        ["rows", "p", *names],
        [[line.title, f"{line.p:g}", *(f"{line.ratio(name, OURS):.2f}" for name in names)] for line in lines],
    )


def losses(lines: Sequence[Line]) -> list[str]:
    """A sentence for each kind of rows of which a peer hashes more; the full scan is no peer."""
    found = []
    for line in lines:
        peers = [name for name in OTHERS if name in line.rows_per_second and name != FULL_SCAN]
        faster = [name for name in peers if line.ratio(name, OURS) > 1]
        if faster:
            who = ", ".join(f"{name} {line.ratio(name, OURS):.1f} times as many" for name in faster)
            found.append(f"{line.title}, p = {line.p:g}: {who}.")
    return found or ["Nowhere in this run."]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, the first column aligned left."""
    lines = [head, [":--", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(lines: Iterable[str]) -> str:
    """A list in Markdown."""
    return "\n".join(f"- {line}" for line in lines)
