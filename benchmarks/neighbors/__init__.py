"""Near neighbours under the pGMM kernel: recall, time and memory next to datasketch, rensa and faiss.

The ten nearest rows, and all rows from a similarity on, of MNIST, DailySports (where they are found; see
reproduction/DATASETS.md) and paragraphs of package documentation. Recall counts against the exact pGMM kernel. Each
method builds and searches on one thread in a process of its own; times are those of the processor. datasketch hashes
all rows at once (`MinHash.bulk`) and is then asked one query after the other, as its interface has it; GCWSIndex is
asked for all queries at a time, and one by one for the last column. The memory of a peer is the growth of this process,
that of GCWSIndex the size of its arrays, without the tables of the hasher. Paragraphs are sets of words, for which pGMM
is the Jaccard similarity that datasketch and rensa estimate. faiss finds neighbours by cosine, which is another
similarity.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.neighbors.cases import TEXT_QUERIES, TOP, Case, load_cases, part_of
from benchmarks.neighbors.methods import (
    Measured,
    Method,
    all_kernels,
    datasketch_forest,
    datasketch_lsh,
    datasketch_lsh_top,
    datasketch_weighted,
    faiss_hnsw,
    gcwsnet_threshold,
    gcwsnet_top,
    measure,
    rensa_lsh,
    rensa_lsh_top,
)
from benchmarks.subject import Section, add_count, environment, log, markdown_table
from benchmarks.timing import HighestLoad
from gcwsnet import _core

OURS = "GCWSIndex"
HEAD = ["method", "similarity", "recall", "rows/s built", "bytes per row", "ms per query", "ms alone"]
SCANNED_BYTES = 1 << 28
ROWS_OF_WEIGHTED = {"mnist": 10_000, "dailysports": 1_000}
"""How many rows datasketch hashes with weights, which takes it about half a minute."""


class Line(NamedTuple):
    """A measured method: its recall, and its precision where rows from a similarity on are found."""

    method: Method
    recall: float
    precision: float | None
    n_rows: int
    measured: Measured

    @property
    def milliseconds(self) -> float:
        """The time of a query, one of many."""
        return 1000 * self.measured.query / len(self.measured.found)

    @property
    def rate(self) -> float:
        """Rows per second of building."""
        return self.n_rows / self.measured.build

    @property
    def bytes_per_row(self) -> float:
        """The memory that an index takes."""
        return self.measured.bytes / self.n_rows

    def cells(self) -> list[str]:
        """Return the line of a table; what is built in no time has no rate."""
        recall = f"{self.recall:.3f}" if self.precision is None else f"{self.recall:.3f} | {self.precision:.3f}"
        rate = f"{self.rate:,.0f}" if self.measured.build > 1e-4 else ""
        times = f"{self.milliseconds:.3f}", f"{1000 * self.measured.alone:.2f}"
        numbers = rate, f"{self.bytes_per_row:,.0f}", *times
        return [self.method.name, self.method.similarity, recall, *numbers]


def lines_of(case: Case, methods: Sequence[Method], t: float | None = None) -> list[Line]:
    """Return the measurements of a case, of the ten nearest rows or of all from a similarity on."""
    lines = []
    for method in methods:
        measured = measure(method, case.X, case.Q)
        recall, precision = (case.recall(measured.found), None) if t is None else (0.0, 0.0)
        if t is not None:
            recall, precision = case.recall_and_precision(measured.found, t)
        lines.append(Line(method, recall, precision, case.n_rows, measured))
        log(case.name, *lines[-1].cells())
    return lines


def methods_of(case: Case) -> list[Method]:
    """Return the methods that find the ten nearest rows of a case."""
    found = [gcwsnet_top(k) for k in (32, 64, 128, 256, 512)]
    found += [gcwsnet_top(k, keep_rows=False) for k in (32, 64, 256, 1024)] + [all_kernels()]
    found += [gcwsnet_top(k, keep_rows=False, bits=bits) for k, bits in ((256, 4), (512, 2), (1024, 1))]
    on_sets = [datasketch_forest(8), rensa_lsh_top(32)]
    if case.name == "texts":
        found += [gcwsnet_top(k, sets=True) for k in (128, 256)]
        found += [gcwsnet_top(k, sets=True, keep_rows=False) for k in (32, 64, 256, 1024)]
        on_sets += [datasketch_forest(16, 256), *(datasketch_lsh_top(t) for t in (0.5, 0.3)), rensa_lsh_top(64)]
        return [*found, *on_sets]
    if case.name == "mnist":
        found += on_sets
    return [*found, *(faiss_hnsw(ef) for ef in (16, 64, 256))]


def threshold_methods(t: float) -> list[Method]:
    """Return the methods that find all rows from a similarity on."""
    ours = [gcwsnet_threshold(t, 256, keep_rows=keep) for keep in (True, False)]
    ours += [gcwsnet_threshold(t, 256, keep_rows=keep, sets=True) for keep in (True, False)]
    ours += [gcwsnet_threshold(t, 128, sets=True, recall=recall) for recall in (0.5, 0.7, 0.8)]
    ours += [gcwsnet_threshold(t, 256, keep_rows=False, sets=True, recall=recall) for recall in (0.5, 0.7, 0.8)]
    return [*ours, datasketch_lsh(t), rensa_lsh(t, 32 if t < 0.6 else 16)]


def equal_recall(lines: Sequence[Line]) -> list[list[str]]:
    """Return for each method of datasketch our quickest one with at least its recall, and the ratios."""
    rows = []
    for peer in lines:
        if "datasketch" not in peer.method.name:
            continue
        ours = [one for one in lines if one.method.name.startswith(OURS) and one.recall >= peer.recall]
        if not ours:
            rows.append([peer.method.name, f"{peer.recall:.3f}", "none", "", "", "", "", ""])
            continue
        best = min(ours, key=lambda one: one.milliseconds)
        ratios = (
            f"{best.rate / peer.rate:.1f}",
            f"{best.bytes_per_row / peer.bytes_per_row:.2f}",
            f"{peer.milliseconds / best.milliseconds:.1f}",
            f"{peer.measured.alone / best.measured.alone:.1f}",
        )
        rows.append([peer.method.name, f"{peer.recall:.3f}", best.method.name, f"{best.recall:.3f}", *ratios])
    return rows


def scan_share(repetitions: int) -> tuple[float, float]:
    """Return the bytes of codes that one query scans in a second, and the bytes that a copy copies in a second."""
    codes = np.random.default_rng(0).integers(0, 256, (SCANNED_BYTES // 256, 256), dtype=np.uint8)
    copy = np.empty_like(codes)
    least = np.zeros(1, np.uint32)

    def seconds(work: Callable[[], object]) -> float:
        work()
        times = []
        for _ in range(repetitions):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return float(np.median(times))

    scanning = seconds(lambda: _core.scan(codes[:1], codes, 256, 8, None, 0, TOP, least, -1, 1))
    copying = seconds(lambda: np.copyto(copy, codes))
    return codes.nbytes / scanning, codes.nbytes / copying


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--queries", 200, "queries of each case")
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the rows that is used")


def run(options: argparse.Namespace) -> Section:
    """Measure all cases."""
    load = HighestLoad()
    parts: list[str] = []
    curves: dict[str, list[Line]] = {}
    equal: list[list[str]] = []
    for case in load_cases(options.queries, options.scale):
        lines = curves[case.about] = lines_of(case, methods_of(case))
        parts += [f"### The ten nearest rows: {case.about}", "", markdown_table(HEAD, map(Line.cells, lines), "ll"), ""]
        if case.name in ROWS_OF_WEIGHTED:
            small = part_of(case, min(ROWS_OF_WEIGHTED[case.name], case.n_rows), min(50, options.queries))
            ours = [gcwsnet_top(k, keep_rows=False) for k in (16, 32, 64, 256)]
            lines = lines_of(small, [gcwsnet_top(256), *ours, datasketch_weighted(8)])
            parts += [f"### {small.about}", "", markdown_table(HEAD, map(Line.cells, lines), "ll"), ""]
        if case.name == "texts":
            for t in (0.5, 0.7):
                above = lines_of(case, threshold_methods(t), t)
                head = [*HEAD[:2], "recall", "precision", *HEAD[3:]]
                rows = [" | ".join(one.cells()).split(" | ") for one in above]
                parts += [f"### All rows from {t:g} on: {case.about}", "", markdown_table(head, rows, "ll"), ""]
                equal += equal_recall(above)
        equal += equal_recall(lines)
        load.update()
    scanned, copied = scan_share(5)
    load.update()
    head = [
        "datasketch",
        "recall",
        "gcwsnet",
        "recall",
        "build rate, times",
        "memory, share",
        "queries, times",
        "alone, times",
    ]
    text = [
        *environment("datasketch", "rensa", "faiss-cpu"),
        f"The load of the machine was up to {load.value:.1f}, of which the run itself makes 1: times are rough.",
        f"One thread. {options.queries} queries at a time, {TEXT_QUERIES * options.queries} of paragraphs; alone is",
        "the mean of queries that are asked one by one. Times are those of the processor.",
        "Recall counts against the exact pGMM kernel.",
        "",
        *parts,
        "### At equal recall",
        "",
        "The quickest setting of gcwsnet above with at least the recall of datasketch.",
        "",
        markdown_table(head, equal, "lll"),
        "",
        "### Scan",
        "",
        f"One query scans {scanned / copied:.2f} times the bytes that a copy copies, {copied / 1e9:.1f} GB per second.",
    ]
    return Section("\n".join(text), {"images/neighbors.png": lambda path: draw(path, curves)})


def draw(path: Path, curves: dict[str, list[Line]]) -> None:
    """Draw recall against the time of a query."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(5 * len(curves), 4), squeeze=False, layout="constrained")
    for axis, (about, lines) in zip(axes[0], curves.items(), strict=True):
        for family in dict.fromkeys(one.method.family for one in lines if one.method.family):
            points = [(one.milliseconds, one.recall) for one in lines if one.method.family == family]
            axis.plot(*zip(*points, strict=True), "o-", label=family)
        axis.set(xscale="log", xlabel="ms per query", ylabel="recall of the ten nearest rows", ylim=(0, 1.03))
        axis.set_title(about, fontsize=8)
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=110)
    plt.close(figure)
