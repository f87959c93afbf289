"""Figures 12 and 13: how much variance count-sketch adds, by the formula of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gcwsnet.theory import count_sketch_ratio
from reproduction.charts import Chart, Line, Style, figure
from reproduction.experiment import Experiment
from reproduction.results import Results
from reproduction.statements import Claim

J = np.linspace(0.02, 0.98, 49)
REDUCTIONS = {8: (1, 2, 5, 10, 20, 50), 12: (1, 10, 50, 100, 200, 500), 16: (1, 10, 100, 500, 1000, 5000)}
BITS = (8, 12, 16, 20, 24)
LABEL = "ratio R of the variances"


def _line(label: str, b: int, m: float, style: Style) -> Line:
    ratio = count_sketch_ratio(b, J, m)
    return Line(label, tuple(J.tolist()), tuple(np.asarray(ratio).tolist()), style)


STYLES = tuple(Style(dashes, "", shade) for shade in (0.0, 0.5) for dashes in ("-", "--", "-."))


def _charts_12(_: Results) -> Iterator[Chart]:
    for b, reductions in REDUCTIONS.items():
        lines = [_line(f"m = {m}", b, m, style) for m, style in zip(reductions, STYLES, strict=True)]
        yield Chart(f"b = {b}", tuple(lines), x_label="J", y_label=LABEL, log_y=True)


def _charts_13(_: Results) -> Iterator[Chart]:
    strategies: tuple[tuple[str, Callable[[int], float]], ...] = (
        ("m = 2^(b/2), half of the bits", lambda b: 2.0 ** (b / 2)),
        ("m = 2^(b-8), 8 bits", lambda b: 2.0 ** (b - 8)),
    )
    for title, m in strategies:
        lines = [_line(f"b = {b}", b, m(b), style) for b, style in zip(BITS, STYLES, strict=False)]
        yield Chart(title, tuple(lines), x_label="J", y_label=LABEL, log_y=True)


MIDDLE = np.linspace(0.1, 0.9, 81)


def _sixteen_bits(_: Results) -> tuple[bool, str]:
    most = float(np.max(count_sketch_ratio(16, MIDDLE, 1000)))
    return most < 0.5, f"at most {most:.2f} for J from 0.1 to 0.9"


def _eight_bits(_: Results) -> tuple[bool, str]:
    least = float(np.min(count_sketch_ratio(8, MIDDLE, 10)))
    return least > 0.15, f"at least {least:.2f} for J from 0.1 to 0.9 with m = 10"


def _one_curve(_: Results) -> tuple[bool, str]:
    ratios = np.array([count_sketch_ratio(b, MIDDLE, 2.0 ** (b - 8)) for b in BITS])
    spread = float(np.max(ratios.max(axis=0) / ratios.min(axis=0)))
    return spread < 1.1, f"curves of b = {BITS[0]} to {BITS[-1]} differ by a factor of {spread:.3f} at most"


def _half_is_careful(_: Results) -> tuple[bool, str]:
    most = float(np.max(count_sketch_ratio(16, MIDDLE, 2**8)))
    return most < 0.1, f"b = 16, m = 256: at most {most:.3f} for J from 0.1 to 0.9"


FIGURE_12 = Experiment(
    "count-sketch-ratio",
    "Figure 12",
    "Variance that count-sketch adds, for b = 8, 12 and 16",
    (),
    lambda _: [],
    lambda results: figure(_charts_12(results)),
    (
        Claim(
            "When b = 16, the ratio is small even for m = 1000.",
            "b = 16, m = 1000: below 0.5 for J from 0.1 to 0.9",
            _sixteen_bits,
        ),
        Claim(
            "When b = 8, the ratio is not too small after m > 10.",
            "b = 8, m = 10: above 0.15 for J from 0.1 to 0.9",
            _eight_bits,
        ),
    ),
    note="A formula: nothing is run. The paper does not list its values of m.",
)
FIGURE_13 = Experiment(
    "count-sketch-strategies",
    "Figure 13",
    "Two strategies of choosing m",
    (),
    lambda _: [],
    lambda results: figure(_charts_13(results), columns=2),
    (
        Claim(
            "Always using 8 bits corresponds almost to a single curve.",
            "m = 2^(b-8): ratios of all b from 8 to 24 are within 10% of each other for J from 0.1 to 0.9",
            _one_curve,
        ),
        Claim(
            "Always using half of the bits is probably a bit conservative for b >= 16.",
            "b = 16, m = 2^8: the ratio is below 0.1 for J from 0.1 to 0.9",
            _half_is_careful,
        ),
    ),
    note="A formula: nothing is run.",
)
