"""Rows learned per second by the hashed first layer of `gcwsnet.nn` and its optimizer, next to torch.

One step is forward, backward with a given gradient of the output, and the optimizer's step, of the first layer alone.
Uniform codes are the worst case: nearly every code of a batch looks up a row of its own. Real codes are those of MNIST
where `reproduction.datasets.load` finds it, or of scikit-learn's digits.

The promises, with k=256, b=8 and H=200: on one thread at least 6 times the rows of `EmbeddingBag` with the fused Adam
in batches of 32 and 20 times those with the default Adam, 2.5 times fused in batches of 128; and two threads at least
1.6 times one, where the native core has a millisecond of work. What torch and Python do around it is done by one
thread, so real codes in batches of 32, of which few rows occur, gain less.

The parts of a step are timed one by one: the sums of rows forward, the sort of the lookups by row, and Adam on the rows
that occurred. The bytes that these must move at least are set against those that copying a large array moves in the
same time. Rows that one batch after the other looks up stay in the cache, so real codes can be faster than a copy.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from itertools import cycle, pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.subject import Section, add_count, environment, markdown_table
from benchmarks.timing import Work, copies_per_second, one_thread, seconds
from gcwsnet import GCWSHasher, _core
from gcwsnet.nn import HashedLinear, LazyAdam
from reproduction.datasets import load

BITS = 8
PARTS = ("forward", "sort", "Adam")
PEERS = {
    "Adam fused": "EmbeddingBag, Adam fused",
    "Adam": "EmbeddingBag, Adam",
    "SparseAdam": "EmbeddingBag, SparseAdam",
}
ONE, TWO = "HashedLinear, LazyAdam", "HashedLinear, LazyAdam, 2 threads"
Tensor = Any


class Steps(NamedTuple):
    """A call of n training steps; many where they are quick, since the first one finds a cold cache."""

    run: Work
    n: int


def real_rows() -> tuple[str, Any]:
    """Return the name and the rows of a real dataset: MNIST where it is found, else digits."""
    try:
        return "MNIST", load("mnist", download=False).X_train[:8192]
    except FileNotFoundError:
        return "digits", load("digits").X_train


def batches(codes: Tensor, size: int) -> list[Tensor]:
    """Return batches of one size, in random order; rows that do not fill a batch are dropped."""
    order = torch.randperm(len(codes), generator=torch.Generator().manual_seed(0))
    return [batch for batch in codes[order].split(size) if len(batch) == size]


def ours(given: list[Tensor], gradient: Tensor, n_threads: int = 1, **settings: Any) -> Steps:
    """Return steps of HashedLinear with LazyAdam."""
    layer = HashedLinear(given[0].shape[1], BITS, gradient.shape[1])
    optimizer = LazyAdam(layer.parameters(), **settings)
    return steps(layer, optimizer, given, gradient, n_threads, 20)


def theirs(
    given: list[Tensor], gradient: Tensor, make: Callable[..., Any], sparse: bool = False, **settings: Any
) -> Steps:
    """Return steps of EmbeddingBag with an optimizer of torch."""
    k = given[0].shape[1]
    bag = torch.nn.EmbeddingBag(k << BITS, gradient.shape[1], mode="sum", sparse=sparse)
    positions = [batch.long() + (torch.arange(k) << BITS) for batch in given]
    return steps(bag, make(bag.parameters(), **settings), positions, gradient, 1, 3)


def steps(layer: Any, optimizer: Any, given: list[Tensor], gradient: Tensor, n_threads: int, n: int) -> Steps:
    """Return n steps, which take the next batches with each call."""
    endless = cycle(given)

    def run() -> None:
        torch.set_num_threads(n_threads)
        for _ in range(n):
            optimizer.zero_grad()
            layer(next(endless)).backward(gradient)
            optimizer.step()
        torch.set_num_threads(1)

    return Steps(run, n)


def all_steps(given: list[Tensor], gradient: Tensor) -> dict[str, Steps]:
    """Return what is timed, all on the same batches."""
    return {
        "EmbeddingBag, Adam": theirs(given, gradient, torch.optim.Adam),
        "EmbeddingBag, Adam fused": theirs(given, gradient, torch.optim.Adam, fused=True),
        "EmbeddingBag, SparseAdam": theirs(given, gradient, torch.optim.SparseAdam, sparse=True),
        ONE: ours(given, gradient),
        TWO: ours(given, gradient, n_threads=2),
        f"{ONE}, beta1=0": ours(given, gradient, betas=(0.0, 0.999)),
    }


class NativeStep:
    """The native calls of a step, with tables of their own, timed one by one."""

    def __init__(self, given: list[Tensor], gradient: Tensor) -> None:
        k, width = given[0].shape[1], gradient.shape[1]
        self.codes, self.gradient = cycle([batch.numpy() for batch in given]), gradient.numpy()
        self.rows = _core.CodeToRow(k, BITS, k << BITS, False, 0)
        self.tables = [np.zeros((k << BITS, width), np.float32) for _ in range(3)]
        self.bias, self.out = np.zeros(width, np.float32), np.empty_like(self.gradient)

    def __call__(self, n_threads: int) -> list[float]:
        """Return the seconds of each part of one step."""
        codes, (weight, mean, square) = next(self.codes), self.tables
        times = [time.perf_counter()]
        self.rows.sum_rows(codes, weight, self.bias, self.out, n_threads)
        times.append(time.perf_counter())
        lookups = _core.LookupsByRow(self.rows, codes, n_threads)
        times.append(time.perf_counter())
        lookups.adam(self.gradient, weight, mean, square, 1e-3, 0.1, 1e-3, 1e-8, 1.0, n_threads)
        times.append(time.perf_counter())
        return [after - before for before, after in pairwise(times)]


def rows_that_occur(codes: Tensor, size: int) -> float:
    """Return how many rows of the table a batch looks up, on average."""
    positions = codes.long() + (torch.arange(codes.shape[1]) << BITS)
    return float(np.mean([len(batch.unique()) for batch in batches(positions, size)[:8]]))


def rates_table(times: Mapping[str, float], size: int) -> str:
    """Return a table of rows per second, and of their ratios to those of torch."""
    rows = [
        [name, f"{size / one:,.0f}", *(f"{times[peer] / one:.2f}" for peer in PEERS.values())]
        for name, one in times.items()
    ]
    return markdown_table(["", "rows per second", *(f"times {peer}" for peer in PEERS)], rows)


def account(parts: Mapping[int, list[float]], whole: Mapping[int, float], n_bytes: float, copied: Any) -> str:
    """Return where the time of a step goes, and how near its memory traffic is to that of a copy."""
    lines = []
    for n_threads, native in parts.items():
        shown = ", ".join(f"{name} {1e3 * part:.2f}" for name, part in zip(PARTS, native, strict=True))
        rest = whole[n_threads] - sum(native)
        rate = n_bytes / (native[0] + native[2])
        lines.append(
            f"- {n_threads} thread{'s' * (n_threads > 1)}: {1e3 * whole[n_threads]:.2f} ms a step: {shown}, torch and "
            f"Python {1e3 * rest:.2f}. Forward and Adam move {n_bytes / 1e6:.0f} MB, {rate / 1e9:.1f} GB/s; a copy "
            f"moves {copied[n_threads] / 1e9:.1f} GB/s."
        )
    native_ratio = sum(parts[1]) / sum(parts[2])
    return "\n".join(
        [*lines, f"- 2 threads: {whole[1] / whole[2]:.2f} times one; {native_ratio:.2f} times in the core."]
    )


def results_of(codes: Tensor, size: int, width: int, repetitions: int, copied: Mapping[int, float]) -> str:
    """Return all results for one kind of codes in batches of one size."""
    given = batches(codes, size)
    gradient = torch.randn((size, width), generator=torch.Generator().manual_seed(0)) / size
    works, native = all_steps(given, gradient), NativeStep(given, gradient)
    times: dict[str, list[float]] = {name: [] for name in works}
    parts: dict[int, list[list[float]]] = {1: [], 2: []}
    for work in works.values():
        work.run()
    for _ in range(repetitions):
        for name, work in works.items():
            times[name].append(seconds(work.run) / work.n)
        for n_threads, found in parts.items():
            native(n_threads)
            found += [native(n_threads) for _ in range(10)]
    median = {name: statistics.median(found) for name, found in times.items()}
    of_parts = {n: [statistics.median(part) for part in zip(*found, strict=True)] for n, found in parts.items()}
    rows = rows_that_occur(codes, size)
    # Forward reads the rows; a step reads and writes their weights, means and squares.
    n_bytes = rows * 4 * width * 7
    return (
        f"{rates_table(median, size)}\n\n- {rows:,.0f} of {codes.shape[1] << BITS:,} rows occur in a batch.\n"
        f"{account(of_parts, {1: median[ONE], 2: median[TWO]}, n_bytes, copied)}"
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--hashes", 256, "k, the codes of a row")
    add_count(parser, "--outputs", 200, "H, the outputs of the layer")
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 128], help="sizes of batches (default 32 128)")
    add_count(parser, "--repetitions", 7, "timed calls of each kind")


def run(options: argparse.Namespace) -> Section:
    """Time the steps on uniform and on real codes."""
    lines = environment("torch")
    lines += [f"k = {options.hashes}, b = {BITS}, H = {options.outputs}; medians of {options.repetitions}, in turn."]
    copied = {n_threads: copies_per_second(n_threads, options.repetitions) for n_threads in (1, 2)}
    name, X = real_rows()
    hasher = GCWSHasher(options.hashes, bits=BITS, random_state=0)
    uniform = torch.randint(0, 1 << BITS, (4096, options.hashes), generator=torch.Generator().manual_seed(0))
    kinds = {"uniform": uniform.to(torch.uint8), name: torch.from_numpy(np.asarray(hasher.fit_transform(X)))}
    with one_thread():
        for size in options.batches:
            for kind, codes in kinds.items():
                lines += ["", f"### {kind[0].upper()}{kind[1:]} codes, batches of {size}", ""]
                lines += [results_of(codes, size, options.outputs, options.repetitions, copied)]
    return Section("\n".join(lines))
