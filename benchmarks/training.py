"""Rows trained per second by the hashed first layer and its optimizer, against torch: `python benchmarks/training.py`.

One step is forward, backward with a given gradient of the output, and the optimizer's step, of the first layer alone.
Uniform codes are the worst case: nearly every code of a batch picks a row of its own. Real codes are those of MNIST
where `gcwsnet.datasets.load` finds it, or of scikit-learn's digits.

The promises, on one thread with uniform codes, k=256, b=8 and H=200: at least 6 times the rows of `EmbeddingBag` with
the fused Adam in batches of 32 and 20 times those with the default Adam, 2.5 times fused in batches of 128; and two
threads at least 1.6 times one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

import numpy as np
import torch

from gcwsnet import GCWSHasher
from gcwsnet.bench._measure import Work, listed, machine, medians, one_thread, versions
from gcwsnet.datasets import load
from gcwsnet.nn import HashedLinear, LazyAdam

BITS = 8
BASELINE = "EmbeddingBag, Adam fused"
STEPS = 3  # of one repetition
Tensor = Any


def real_rows() -> tuple[str, Any]:
    """Name and rows of data that look like data."""
    try:
        return "MNIST", load("mnist").X_train[:8192]
    except FileNotFoundError:
        return "digits", load("digits").X_train


def batches(codes: Tensor, size: int) -> list[Tensor]:
    """Batches of one size, in random order, repeated if there are few."""
    order = torch.randperm(len(codes), generator=torch.Generator().manual_seed(0))
    return [batch for batch in codes[order].split(size) if len(batch) == size]


def ours(given: list[Tensor], gradient: Tensor, n_threads: int = 1, **settings: Any) -> Work:
    """Steps of HashedLinear with LazyAdam."""
    layer = HashedLinear(given[0].shape[1], BITS, gradient.shape[1])
    optimizer = LazyAdam(layer.parameters(), **settings)
    return steps(layer, optimizer, given, gradient, n_threads)


def theirs(
    given: list[Tensor], gradient: Tensor, make: Callable[..., Any], sparse: bool = False, **settings: Any
) -> Work:
    """Steps of EmbeddingBag with an optimizer of torch."""
    k = given[0].shape[1]
    bag = torch.nn.EmbeddingBag(k << BITS, gradient.shape[1], mode="sum", sparse=sparse)
    positions = [batch.long() + (torch.arange(k) << BITS) for batch in given]
    return steps(bag, make(bag.parameters(), **settings), positions, gradient, 1)


def steps(layer: Any, optimizer: Any, given: list[Tensor], gradient: Tensor, n_threads: int) -> Work:
    """A few steps, on the next batches with each call."""
    endless = cycle(given)

    def work() -> None:
        torch.set_num_threads(n_threads)
        for _ in range(STEPS):
            optimizer.zero_grad()
            layer(next(endless)).backward(gradient)
            optimizer.step()
        torch.set_num_threads(1)

    return work


def works(codes: Tensor, size: int, width: int) -> dict[str, Work]:
    """What is timed, all on the same batches."""
    given = batches(codes, size)
    gradient = torch.randn((size, width), generator=torch.Generator().manual_seed(0)) / size
    return {
        "EmbeddingBag, Adam": theirs(given, gradient, torch.optim.Adam),
        BASELINE: theirs(given, gradient, torch.optim.Adam, fused=True),
        "EmbeddingBag, SparseAdam": theirs(given, gradient, torch.optim.SparseAdam, sparse=True),
        "HashedLinear, LazyAdam": ours(given, gradient),
        "HashedLinear, LazyAdam, beta1=0": ours(given, gradient, betas=(0.0, 0.999)),
        "HashedLinear, LazyAdam, 2 threads": ours(given, gradient, n_threads=2),
    }


def table(times: Mapping[str, float], size: int) -> str:
    """Markdown table of rows per second, and of their ratio to the baseline's."""
    lines = ["| | rows per second | times fused Adam |", "| :-- | --: | --: |"]
    for name, seconds in times.items():
        lines.append(f"| {name} | {size * STEPS / seconds:,.0f} | {times[BASELINE] / seconds:.2f} |")
    return "\n".join(lines)


def traffic(codes: Tensor, size: int, width: int) -> str:
    """What a step must move at least: dense Adam the whole table, lazy Adam the rows of the batch."""
    k = codes.shape[1]
    positions = codes.long() + (torch.arange(k) << BITS)
    rows = np.mean([len(batch.unique()) for batch in batches(positions, size)[:8]])
    row, whole = 4 * width / 1e6, (k << BITS) * 4 * width / 1e6
    # Forward reads rows; a step reads and writes weights, means, squares. A dense gradient is cleared, added to, read.
    lazy, dense = rows * row * 7, rows * row * 3 + whole * 8
    return (
        f"{rows:,.0f} of {k << BITS:,} rows occur in a batch of {size}. LazyAdam moves {lazy:.0f} MB in a step, "
        f"a dense Adam {dense:.0f} MB."
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hashes", type=int, default=256)
    parser.add_argument("--outputs", type=int, default=200)
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--repetitions", type=int, default=7)
    given = parser.parse_args()
    print(machine())
    print(listed(versions("gcwsnet", "numpy", "torch")))
    print(f"k={given.hashes}, b={BITS}, H={given.outputs}; medians of {given.repetitions}, in turn")
    name, X = real_rows()
    hasher = GCWSHasher(given.hashes, bits=BITS, random_state=0)
    uniform = torch.randint(0, 1 << BITS, (4096, given.hashes), generator=torch.Generator().manual_seed(0))
    kinds = {"uniform": uniform.to(torch.uint8), name: torch.from_numpy(np.asarray(hasher.fit_transform(X)))}
    with one_thread():
        for size in given.batches:
            for kind, codes in kinds.items():
                print(f"\n{kind} codes, batches of {size}\n")
                print(table(medians(works(codes, size, given.outputs), given.repetitions), size))
                print(f"\n{traffic(codes, size, given.outputs)}")


if __name__ == "__main__":
    main()
