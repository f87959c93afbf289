"""What k, b and p change: the error of an estimated similarity, and the accuracy of a net after one pass.

Estimates are compared with the formula of the paper, on two of the digits. Nets with 200 hidden units learn once from
at most ``--rows`` rows, with columns standardised unless they share one unit. Datasets are read from the folder that
GCWSNET_DATA names, and left out with a notice where they are missing; the digits are always there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from benchmarks.subject import Section, add_count, environment, log, markdown_table, save_svg
from gcwsnet import GCWSHasher, GCWSNetClassifier, estimate_similarity, pgmm_kernel, theory
from reproduction import datasets

HASHES = (16, 32, 64, 128, 256, 512)
BITS = (1, 2, 4, 8)
POWERS = (0.25, 0.5, 1, 2, 5, 10, 20, 40, 80)
ESTIMATES = 2000
"""Seeds of the hashes over which the error of an estimate is taken."""


class Rows(NamedTuple):
    """A dataset, with the scaling of its columns and the number of times it is learned from."""

    name: str
    title: str
    scale: str | None
    epochs: int = 1


BY_HASHES = (Rows("covtype", "Covtype", "numeric"), Rows("dailysports", "DailySports", None))
BY_POWER = (
    Rows("digits", "digits, 8 passes", None, 8),
    Rows("pendigits", "Pendigits", None),
    Rows("covtype", "Covtype", "numeric"),
    Rows("dailysports", "DailySports", None),
    Rows("mnist", "MNIST", None),
    Rows("m-noise1", "MNIST on noise, rebuilt", None),
)
STYLES = ("-o", "--s", ":^", "-.D", "-v", "--*")


def _loaded(sets: Iterable[Rows], most_rows: int) -> Iterable[tuple[Rows, Any]]:
    """Yield the datasets that are there, each with at most `most_rows` rows for training and for testing."""
    for one in sets:
        try:
            data = datasets.load(one.name, download=False)
        except OSError as error:
            log(f"{one.title} is left out: {error}")
            continue
        for part in ("train", "test"):
            some = np.random.default_rng(0).permutation(data[f"X_{part}"].shape[0])[:most_rows]
            data[f"X_{part}"], data[f"y_{part}"] = data[f"X_{part}"][some], data[f"y_{part}"][some]
        yield one, data


def accuracy(one: Rows, data: Any, **settings: Any) -> float:
    """Return the accuracy on the test rows in percent, after learning from the training rows."""
    model = GCWSNetClassifier(
        scale=one.scale, epochs=one.epochs, search="off", hidden=(200,), ensemble=1, random_state=0, **settings
    )
    found = 100 * model.fit(data.X_train, data.y_train).score(data.X_test, data.y_test)
    log(f"{one.title}, {settings}: {found:.1f}%")
    return float(found)


def estimate_errors() -> dict[int, list[float]]:
    """Return for each b the root mean square error of the estimates with each k, for two digits with J near 0.5."""
    X = datasets.load("digits").X_train[:100]
    J = pgmm_kernel(X)
    u, v = divmod(int(np.abs(J - 0.5).argmin()), len(X))
    errors = {}
    for bits in BITS:
        hasher = GCWSHasher(ESTIMATES * HASHES[-1], bits=bits, random_state=0).fit(X)
        a, b = hasher.transform(X[[u, v]]).reshape(2, ESTIMATES, -1)
        found = [[estimate_similarity(s[:k], t[:k], bits=bits) for s, t in zip(a, b, strict=True)] for k in HASHES]
        errors[bits] = [float(np.sqrt(np.mean((np.asarray(one) - J[u, v]) ** 2))) for one in found]
    return errors


def by_hashes(most_rows: int) -> dict[str, dict[int, list[float]]]:
    """Return the accuracies for each dataset, each b and each k."""
    return {
        one.title: {b: [accuracy(one, data, n_hashes=k, bits=b, p=1.0) for k in HASHES] for b in BITS}
        for one, data in _loaded(BY_HASHES, most_rows)
    }


def by_power(most_rows: int) -> dict[str, list[float]]:
    """Return the accuracies for each dataset and each p."""
    return {one.title: [accuracy(one, data, p=p) for p in POWERS] for one, data in _loaded(BY_POWER, most_rows)}


def _axes_of(axes: Any, ticks: Sequence[float], label: str, values: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set(xlabel=label, ylabel=values)
    axes.grid(alpha=0.3)


def draw_hashes(errors: dict[int, list[float]], found: dict[str, dict[int, list[float]]], path: Path) -> None:
    """Draw the error of an estimate and the accuracy of nets against k, a line for each b."""
    figure = Figure(figsize=(3.6 * (1 + len(found)), 3.6), layout="constrained")
    first, *others = np.atleast_1d(figure.subplots(1, 1 + len(found)))
    for (bits, error), style in zip(errors.items(), STYLES, strict=False):
        (line,) = first.plot(HASHES, error, style, markersize=4, linewidth=1, label=f"b = {bits}")
        law = np.sqrt(theory.similarity_variance(J=0.5, n_hashes=np.array(HASHES), bits=bits))
        first.plot(HASHES, law, color=line.get_color(), linewidth=4, alpha=0.25)
    _axes_of(first, HASHES, "k", "error of an estimated similarity")
    first.set(title="Similarity (wide: the formula)", yscale="log", yticks=[0.02, 0.05, 0.1, 0.2])
    first.set_yticklabels(["0.02", "0.05", "0.1", "0.2"])
    first.minorticks_off()
    first.legend()
    for axes, (title, lines) in zip(others, found.items(), strict=True):
        for (bits, values), style in zip(lines.items(), STYLES, strict=False):
            axes.plot(HASHES, values, style, markersize=4, linewidth=1, label=f"b = {bits}")
        _axes_of(axes, HASHES, "k", "accuracy, %")
        axes.set(title=title)
    save_svg(figure, path)


def draw_powers(found: dict[str, list[float]], path: Path) -> None:
    """Draw the accuracy against p, a line for each dataset."""
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    axes = figure.subplots()
    for (title, values), style in zip(found.items(), STYLES, strict=False):
        axes.plot(POWERS, values, style, markersize=4, linewidth=1, label=title)
    _axes_of(axes, POWERS, "p", "accuracy, %")
    axes.legend(loc="lower center", ncols=2)
    axes.set(ylim=(0, 101))
    save_svg(figure, path)


def tables(
    errors: dict[int, list[float]], hashes: dict[str, dict[int, list[float]]], powers: dict[str, list[float]]
) -> str:
    """Return the numbers of the pictures as tables."""
    head = ["", *(f"k = {k}" for k in HASHES)]
    parts = ["Root mean square error of an estimated similarity, J near 0.5:", ""]
    parts += [markdown_table(head, [[f"b = {b}", *(f"{e:.3f}" for e in row)] for b, row in errors.items()]), ""]
    for title, lines in hashes.items():
        rows = [[f"b = {b}", *(f"{value:.1f}" for value in row)] for b, row in lines.items()]
        parts += [f"Accuracy on {title}, %:", "", markdown_table(head, rows), ""]
    head = ["accuracy, %", *(f"p = {p:g}" for p in POWERS)]
    rows = [[title, *(f"{value:.1f}" for value in row)] for title, row in powers.items()]
    return "\n".join([*parts, markdown_table(head, rows)])


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 20_000, "rows of a dataset at most")


def run(options: argparse.Namespace) -> Section:
    """Measure the estimates and the nets."""
    errors, hashes, powers = estimate_errors(), by_hashes(options.rows), by_power(options.rows)
    text = "\n".join([*environment("scikit-learn"), "", tables(errors, hashes, powers)])
    pictures: dict[str, Callable[[Path], None]] = {"images/choosing-p.svg": partial(draw_powers, powers)}
    pictures["images/choosing-k-and-b.svg"] = partial(draw_hashes, errors, hashes)
    return Section(text, pictures)
