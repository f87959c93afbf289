"""R2 of GCWSNet that learns skewed targets as they are, and on monotone scales that bring their tail closer.

Predictions on another scale go back to the units of the target with Duan's smearing: the mean over what the residuals
of held-out rows would make of them. The best scale by the squared error of these held-out rows, in the units of the
target, is named, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.metrics import r2_score

from benchmarks.accuracy.datasets import select
from benchmarks.subject import Section, add_count, add_names, environment, log, markdown_table
from gcwsnet import GCWSNetRegressor

RESIDUALS = 33
SHARE_HELD_OUT = 5
Floats = NDArray[np.float64]


class Scale(NamedTuple):
    """A monotone scale of targets: from the units of the target, and back."""

    to: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]


def scales_of(y: Floats) -> dict[str, Scale]:
    """Return the scales that are compared, learned from targets.

    The signed root and asinh are about the median, in median absolute deviations.
    """
    center = float(np.median(y))
    unit = float(np.median(np.abs(y - center))) or float(np.abs(y - center).mean())
    quantiles, place = np.unique(np.quantile(y, np.linspace(0, 1, 257)), return_inverse=True)
    normal = ndtri(np.clip(np.linspace(0, 1, 257), 0.5 / len(y), 1 - 0.5 / len(y)))
    normal = np.bincount(place, normal) / np.bincount(place)

    def root(y: Floats) -> Floats:
        distance = (y - center) / unit
        return np.sign(distance) * (np.sqrt(1 + np.abs(distance)) - 1)

    return {
        "as it is": Scale(lambda y: y, lambda z: z),
        "signed root": Scale(root, lambda z: center + unit * np.sign(z) * ((np.abs(z) + 1) ** 2 - 1)),
        "asinh": Scale(lambda y: np.arcsinh((y - center) / unit), lambda z: center + unit * np.sinh(z)),
        "normal quantiles": Scale(lambda y: np.interp(y, quantiles, normal), lambda z: np.interp(z, normal, quantiles)),
    }


def smeared(scale: Scale, predicted: Floats, residuals: Floats, y: Floats) -> Floats:
    """Return predictions in the units of y, and within its range."""
    some = np.quantile(residuals, (np.arange(RESIDUALS) + 0.5) / RESIDUALS)
    return np.mean([scale.back(predicted + one) for one in some], axis=0).clip(y.min(), y.max())


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 4000, "the most rows to learn from")
    add_names(parser, "--datasets", ["skewed", "tables", "generated"], "groups of datasets")


def _rows(X: Any, rows: NDArray[np.int64]) -> Any:
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def _compare(X: Any, y: Floats, X_test: Any, y_test: Floats) -> tuple[list[float], str]:
    """Return R2 on test rows for each scale, and the scale that is best on held-out rows."""
    order = np.random.default_rng(0).permutation(len(y))
    held_out, learned = np.split(order, [len(y) // SHARE_HELD_OUT])
    found, errors = [], {}
    for name, scale in scales_of(y).items():
        z = scale.to(y)
        model = GCWSNetRegressor(n_hashes=128, hidden=64, epochs=3, search="off", random_state=0, n_jobs=1)
        predicted = model.fit(_rows(X, learned), z[learned]).predict(_rows(X, held_out))
        residuals = z[held_out] - predicted if name != "as it is" else np.zeros(1)
        errors[name] = float(((smeared(scale, predicted, residuals, y) - y[held_out]) ** 2).mean())
        found.append(r2_score(y_test, smeared(scale, model.fit(X, z).predict(X_test), residuals, y)))
    return found, min(errors, key=lambda name: errors[name])


def run(options: argparse.Namespace) -> Section:
    """Compare the scales on all regressions that are selected."""
    head, rows = [], []
    for one in select(options.datasets or ["skewed"]):
        if one.task != "regression" or one.held_out:
            continue
        try:
            X, y, X_test, y_test = one.load(0)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            log(f"{one.name} is left out: {error}")
            continue
        drawn = np.random.default_rng(1).permutation(len(y))[: options.rows]
        y = np.asarray(y, dtype=np.float64)[drawn]
        found, best = _compare(_rows(X, drawn), y, X_test, y_test)
        skewness = float((((y - y.mean()) / y.std()) ** 3).mean())
        head = ["rows", "skewness", *scales_of(y), "best on held-out rows"]
        rows.append([one.name, f"{skewness:.1f}", *(f"{value:.3f}" for value in found), best])
        log(" | ".join(rows[-1]))
    note = f"R2 on test rows after three epochs over at most {options.rows:,} rows, without a search."
    return Section("\n".join([*environment("scikit-learn"), "", note, "", markdown_table(head, rows, align="lr")]))
