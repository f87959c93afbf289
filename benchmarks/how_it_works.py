"""The steps of the method as pictures, drawn from the numbers that the package itself computes for two small rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from numpy.typing import NDArray

from benchmarks.subject import Section, markdown_table, save_svg
from gcwsnet import GCWSHasher, estimate_similarity, gmm_transform, pgmm_kernel
from gcwsnet.hashing.parameters import parameters

NAMES = ("u", "v")
COLORS = ("#0072b2", "#d55e00")
ROWS = np.array([[2.0, -1.0, 3.0, 0.5], [1.5, -2.0, 3.5, 0.5]])
BITS = 3
SHOWN = 24
"""The hashes whose codes are drawn."""
LOWEST, HIGHEST = -2.6, 1.7
"""The logarithms that the picture of a hash shows."""


def _hasher(n_hashes: int, bits: int = 8, p: float = 1.0) -> GCWSHasher:
    return GCWSHasher(n_hashes, bits=bits, p=p, random_state=0).fit(ROWS)


def _labels() -> list[str]:
    """Return the names of the columns after the transformation: that of the column, and the sign."""
    return [f"{column}{sign}" for column in range(ROWS.shape[1]) for sign in "+\N{MINUS SIGN}"]


def draw_transform(path: Path) -> None:
    """Draw the row u, and its transformation without negative numbers."""
    figure = Figure(figsize=(7.4, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 2))
    left.bar(np.arange(4), ROWS[0], color=COLORS[0], width=0.6)
    left.axhline(0, color="black", linewidth=0.8)
    left.set(title="the row u", xlabel="column", xticks=range(4), ylim=(-1.5, 3.5))
    right.bar(np.arange(8), gmm_transform(ROWS)[0], color=COLORS[0], width=0.6)
    right.set(title="after the transformation", xlabel="column and sign", ylim=(0, 3.5))
    right.set_xticks(range(8), _labels())
    save_svg(figure, path)


def draw_kernel(path: Path) -> None:
    """Draw both rows over each other, for p = 1 and p = 3: the common part over the whole is the kernel."""
    figure = Figure(figsize=(7.4, 2.8), layout="constrained")
    for axes, p in zip(figure.subplots(1, 2), (1, 3), strict=True):
        u, v = gmm_transform(ROWS) ** p
        axes.bar(np.arange(8), np.maximum(u, v), color="#dddddd", width=0.7, label="larger of the two")
        axes.bar(np.arange(8), np.minimum(u, v), color="#009e73", width=0.7, label="smaller of the two")
        axes.set_xticks(range(8), _labels())
        J = pgmm_kernel(ROWS[0], ROWS[1], p=p)
        small, large = np.minimum(u, v).sum(), np.maximum(u, v).sum()
        axes.set(title=f"p = {p}: {small:.3g} / {large:.3g} = {J:.2f}", xlabel="column and sign")
    figure.axes[0].legend(fontsize="small")
    save_svg(figure, path)


def _steps(hash_number: int) -> dict[str, NDArray[np.float64]]:
    """Return what a hash of Algorithm 1 computes, arrays of shape (2 rows, 8 features) with NaN for zeros."""
    q = parameters(0, np.arange(8), [hash_number])
    r, log_c, beta = (np.asarray(one[:, 0], dtype=np.float64) for one in q)
    with np.errstate(divide="ignore", invalid="ignore"):
        L = np.log(gmm_transform(ROWS))
        L[~np.isfinite(L)] = np.nan
        t = np.floor(L / r + beta)
    return {"L": L, "t": t, "y": r * (t - beta), "a": log_c - r * (t + 1 - beta), "r": r[None], "beta": beta[None]}


def _draw_grid(axes: Axes, one: dict[str, NDArray[np.float64]], features: NDArray[np.int64]) -> None:
    for place, i in enumerate(features):
        r, beta = one["r"][0, i], one["beta"][0, i]
        levels = r * (np.arange(np.floor(LOWEST / r), np.ceil(HIGHEST / r) + 2) - beta)
        axes.hlines(levels, place - 0.4, place + 0.4, color="#bbbbbb", linewidth=0.8)
        for row, (name, color) in enumerate(zip(NAMES, COLORS, strict=True)):
            x = place + (row - 0.5) * 0.3
            if np.isnan(one["L"][row, i]):
                continue
            axes.plot([x, x], [one["y"][row, i], one["L"][row, i]], color=color, linewidth=1)
            axes.plot(x, one["L"][row, i], "o", color=color, markersize=5, label=name if place == 0 else None)
            axes.plot(x, one["y"][row, i], "_", color=color, markersize=11, markeredgewidth=2.5)


def draw_sample(path: Path) -> None:
    """Draw a hash on which the rows agree, and one on which they do not: levels, and whose value is lowest."""
    i_star, t_star = _hasher(SHOWN).samples(ROWS)
    agree = (i_star[0] == i_star[1]) & (t_star[0] == t_star[1])
    figure = Figure(figsize=(8.2, 5.4), layout="constrained")
    features = np.flatnonzero(gmm_transform(ROWS).any(axis=0))
    for pair, j in zip(figure.subplots(2, 2), (int(np.argmax(agree)), int(np.argmin(agree))), strict=True):
        one = _steps(j)
        for row in range(2):  # the picture shows what the hasher does
            if int(np.nanargmin(one["a"][row])) != i_star[row, j]:
                raise AssertionError(f"hash {j}: the picture and the hasher choose different features")
        _draw_grid(pair[0], one, features)
        pair[0].set(ylim=(LOWEST, HIGHEST), ylabel="logarithm of the entry")
        pair[0].set_title(f"hash {j}: round down to a random grid", fontsize="medium")
        for row, color in enumerate(COLORS):
            x = np.arange(len(features)) + (row - 0.5) * 0.3
            pair[1].plot(x, one["a"][row, features], "o", color=color, markersize=5)
            place = int(np.flatnonzero(features == i_star[row, j])[0])
            lowest = one["a"][row, i_star[row, j]]
            pair[1].plot(x[place], lowest, "o", color=color, markersize=13, fillstyle="none")
        words = ", ".join(f"{name} has ({_labels()[i_star[n, j]]}, {t_star[n, j]})" for n, name in enumerate(NAMES))
        pair[1].set_title(f"the lowest one wins: {words}", fontsize="medium")
        pair[1].set(ylabel="value of the feature")
        for axes in pair:
            axes.set_xticks(range(len(features)), [_labels()[i] for i in features])
    figure.axes[0].legend(loc="lower left")
    save_svg(figure, path)


def draw_codes(path: Path) -> None:
    """Draw the codes of both rows, with those marked on which they agree."""
    codes = np.asarray(_hasher(SHOWN, BITS).transform(ROWS))
    figure = Figure(figsize=(8.2, 1.4), layout="constrained")
    axes = figure.subplots()
    for j in range(SHOWN):
        same = codes[0, j] == codes[1, j]
        for row in range(2):
            axes.add_patch(Rectangle((j, 1 - row), 0.92, 0.92, color="#8fd3bb" if same else "#eeeeee"))
            axes.text(j + 0.46, 1.44 - row, str(codes[row, j]), ha="center", va="center", color=COLORS[row])
    axes.set(xlim=(-0.1, SHOWN), ylim=(-0.1, 2.1), yticks=[0.46, 1.46], yticklabels=["v", "u"])
    axes.set_xticks(np.arange(0, SHOWN, 4) + 0.46, [str(j) for j in range(0, SHOWN, 4)])
    axes.set_xlabel("hash")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    save_svg(figure, path)


def draw_table(path: Path) -> None:
    """Draw how four codes of two bits each pick a row of the table of the first layer."""
    bits, width = 2, 5
    codes = np.asarray(_hasher(4, bits).transform(ROWS))[0]
    figure = Figure(figsize=(7.4, 3.4), layout="constrained")
    axes = figure.subplots()
    for j, code in enumerate(codes):
        top = 16 - 4.4 * j
        axes.text(5.6, top - 1.6, f"code {j} is {code}", va="center", ha="right")
        for value in range(2**bits):
            chosen = value == code
            for unit in range(width):
                color = COLORS[0] if chosen else "#e8e8e8"
                axes.add_patch(Rectangle((6 + unit, top - value - 1), 0.9, 0.85, color=color))
        arrow: Any = {"arrowstyle": "-|>", "mutation_scale": 9, "color": "#777777", "linewidth": 0.8}
        axes.add_patch(FancyArrowPatch((6 + width, top - code - 0.55), (14, 7.9), **arrow))
    for unit in range(width):
        axes.add_patch(Rectangle((14.2 + unit, 7.5), 0.9, 0.85, color=COLORS[0]))
    axes.text(16.7, 6.4, "sum of the chosen rows:\nthe first hidden layer", ha="center", va="top")
    axes.text(8.5, 17.3, "the table of weights", ha="center", va="center")
    axes.set(xlim=(1.5, 20.5), ylim=(-2, 18))
    axes.axis("off")
    save_svg(figure, path)


def estimates() -> str:
    """Return a table of estimated similarities of the two rows by k and p, next to the exact ones."""
    rows = []
    for p in (0.5, 1.0, 3.0):
        found = [f"{p:g}", f"{pgmm_kernel(ROWS[0], ROWS[1], p=p):.3f}"]
        for k in (16, 64, 256, 4096):
            a, b = _hasher(k, p=p).transform(ROWS)
            found.append(f"{estimate_similarity(a, b, bits=8):.3f}")
        rows.append(found)
    return markdown_table(["p", "pGMM", *(f"from {k} codes" for k in (16, 64, 256, 4096))], rows)


PICTURES: dict[str, Any] = {
    "images/transform.svg": draw_transform,
    "images/kernel.svg": draw_kernel,
    "images/sample.svg": draw_sample,
    "images/codes.svg": draw_codes,
    "images/table.svg": draw_table,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark: none."""


def run(options: argparse.Namespace) -> Section:  # noqa: ARG001
    """Estimate the similarity of the two rows."""
    return Section(estimates(), PICTURES)
