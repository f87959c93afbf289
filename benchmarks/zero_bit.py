"""The bias of the 0-bit approximation: how far P[i*_u = i*_v] is from pGMM(u, v).

Data and hashes have fixed seeds. Rows of two matrices are compared pair by pair; all pairs share the hashes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.subject import Section, markdown_table
from gcwsnet import GCWSHasher, pgmm_kernel

N_PAIRS = 20
N_HASHES = 20_000
POWERS = (0.25, 1, 2, 5, 20, 80)
PICTURE = "images/zero-bit.png"

Matrix = NDArray[np.float64]
MakePairs = Callable[[np.random.Generator], tuple[Matrix, Matrix]]


class Bias(NamedTuple):
    """For one kind of pairs and one p: the mean of pGMM, and by how much the share of collisions exceeds it."""

    pgmm: float
    bias_i: float
    error_i: float
    largest_bias_i: float
    bias_it: float
    error_it: float


def independent_uniform(rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return independent rows of uniform numbers."""
    U, V = rng.random((2, N_PAIRS, 100))
    return U, V


def independent_lognormal(rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return independent rows of lognormal numbers."""
    U, V = rng.lognormal(size=(2, N_PAIRS, 100))
    return U, V


def sparse_counts(rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return two draws from one list of rates: 1,000 columns, about 55 of them not zero."""
    rates = rng.gamma(0.05, size=(N_PAIRS, 1000)) * 2
    return rng.poisson(rates).astype(np.float64), rng.poisson(rates).astype(np.float64)


def noisy_copies(rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return lognormal rows, and the same rows with noise of 20%."""
    U = rng.lognormal(size=(N_PAIRS, 100))
    return U, U * rng.lognormal(sigma=0.2, size=U.shape)


def near_duplicates(rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return uniform rows, and the same rows with noise of 1%."""
    U = rng.random((N_PAIRS, 100))
    return U, U * rng.lognormal(sigma=0.01, size=U.shape)


def one_feature_dominates(rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return near-duplicates whose first feature is a hundred times as large as the others."""
    U = rng.random((N_PAIRS, 100))
    U[:, 0] = 100.0
    return U, U * rng.lognormal(sigma=0.01, size=U.shape)


KINDS: dict[str, MakePairs] = {
    "independent, uniform": independent_uniform,
    "independent, lognormal": independent_lognormal,
    "sparse counts": sparse_counts,
    "noisy copies (20%)": noisy_copies,
    "near-duplicates (1%)": near_duplicates,
    "near-duplicates (1%), one feature dominates": one_feature_dominates,
}


def mean_and_error(collide: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the mean over pairs and hashes, and its standard error; only the hashes are independent."""
    per_hash = collide.mean(axis=0)
    return float(per_hash.mean()), float(per_hash.std(ddof=1) / np.sqrt(len(per_hash)))


def bias(U: Matrix, V: Matrix, p: float) -> Bias:
    """Return the bias of collisions between the rows of U and V."""
    exact = np.diagonal(pgmm_kernel(U, V, p=p))
    hasher = GCWSHasher(N_HASHES, p=p, random_state=0).fit(U)
    (i_u, t_u), (i_v, t_v) = hasher.samples(U), hasher.samples(V)
    same_i = i_u == i_v
    (share_i, error_i), (share_it, error_it) = mean_and_error(same_i), mean_and_error(same_i & (t_u == t_v))
    mean = float(exact.mean())
    largest = float((same_i.mean(axis=1) - exact).max())
    return Bias(mean, share_i - mean, error_i, largest, share_it - mean, error_it)


def measure() -> dict[str, list[Bias]]:
    """Return the bias for each kind of pairs at each power."""
    results = {}
    for number, (kind, make_pairs) in enumerate(KINDS.items()):
        U, V = make_pairs(np.random.default_rng(number))
        results[kind] = [bias(U, V, p) for p in POWERS]
    return results


def bias_table(results: dict[str, list[Bias]]) -> str:
    """Return a table with a line for each kind of pairs and each power."""
    head = ["pairs", "p", "mean pGMM", "bias of i* alone", "largest in a pair", "bias of (i*, t*)"]
    rows = []
    for kind, found in results.items():
        for p, one in zip(POWERS, found, strict=True):
            rows.append([kind, f"{p:g}", f"{one.pgmm:.3f}", f"{one.bias_i:+.4f} ± {one.error_i:.4f}"])
            rows[-1] += [f"{one.largest_bias_i:+.3f}", f"{one.bias_it:+.4f} ± {one.error_it:.4f}"]
    return markdown_table(head, rows)


def draw(results: dict[str, list[Bias]], path: Path) -> None:
    """Draw the bias against p, for i* alone and for (i*, t*)."""
    figure = Figure(figsize=(9.5, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    styles = ("-o", "--s", ":^", "-.D", "-v", "--*")
    for (kind, row), style in zip(results.items(), styles, strict=True):
        left.plot(POWERS, [m.bias_i for m in row], style, color="black", markersize=5, linewidth=1)
        right.plot(POWERS, [m.bias_it for m in row], style, color="black", label=kind, markersize=5, linewidth=1)
    left.set(title="i* alone (0-bit)", ylabel="share of collisions minus pGMM, mean over pairs")
    right.set(title="(i*, t*)")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xticks(POWERS, [f"{p:g}" for p in POWERS], minor=False)
        axes.minorticks_off()
        axes.set_xlabel("p")
        axes.grid(alpha=0.3)
    right.legend(loc="upper center")
    figure.savefig(path, dpi=100)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark: none."""


def run(options: argparse.Namespace) -> Section:  # noqa: ARG001
    """Measure all kinds of pairs."""
    results = measure()
    return Section(bias_table(results), {PICTURE: partial(draw, results)})
