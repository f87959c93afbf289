"""Theorems 1 to 5, the limit of the GMM kernel, equation (7), and Figures 12 and 13: formulas and simulations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np

from gcwsnet.theory import count_sketch_ratio, nrff_variance, rff_variance
from reproduction.charts import Chart, Figure, Series, Style, figure
from reproduction.datasets import DISPLAY_NAMES
from reproduction.experiment import Experiment
from reproduction.results import Outcome, Results
from reproduction.settings import Settings, theorem, zero_bit
from reproduction.statements import NotMeasuredError, Statement, completed
from reproduction.theorems import MOST_ERRORS, THEOREMS, Simulation

FULL, QUICK = 20, 2
THEOREM_STYLES = (("-", "o", 0.0), ("--", "s", 0.3), ("-.", "^", 0.45), (":", "D", 0.55))
THEOREM_TEXTS = {
    "theorem1": "P[(i*, t*) of u = (i*, t*) of v] = pGMM(u, v).",
    "theorem2": "Codes of b bits agree with probability J + (1 - J) / 2^b.",
    "theorem3": "Count-sketch is unbiased, and its variance vanishes with the number of bins only for s = 1.",
    "theorem4": "Mean and variance of the estimate of P_b from count-sketches of GCWS.",
    "theorem5": "Asymptotic variances of RFF and NRFF.",
    "gmm-limit": "GMM(u, v) goes to (1 - s) / (1 + s) with s = sqrt((1 - rho) / 2).",
}


def _simulation(results: Results, name: str) -> Simulation | None:
    """Return the largest simulation that is done."""
    for size in (FULL, QUICK):
        outcome = results.get(theorem(name, size=size))
        if outcome is not None:
            return Simulation.from_json(json.dumps(outcome.result))
    return None


def _theorem_charts(results: Results, name: str) -> Iterator[Chart]:
    found = _simulation(results, name)
    for panel in found.panels if found else ():
        series = []
        for curve, (dashes, marker, shade) in zip(panel.curves, THEOREM_STYLES, strict=False):
            order = np.argsort(curve.x)
            x, formula, simulated, errors = (
                tuple(np.asarray(values)[order].tolist())
                for values in (curve.x, curve.formula, curve.simulated, curve.error)
            )
            series += [
                Series("", x, formula, Style(dashes, "", shade)),
                Series(curve.label, x, simulated, Style("", marker, shade), errors),
            ]
        by_powers = panel.x_label.startswith(("B,", "m,"))
        yield Chart(panel.title, tuple(series), panel.x_label, panel.y_label, log_x=by_powers, log_y=panel.log)


def _agrees(name: str) -> Statement:
    def check(results: Results) -> tuple[bool, str]:
        found = _simulation(results, name)
        if found is None:
            raise NotMeasuredError("it has not been simulated")
        return found.agrees, f"the worst number is off by {found.errors_off:.1f} standard errors"

    return Statement(
        THEOREM_TEXTS[name], f"no simulated number is off by more than {MOST_ERRORS} standard errors", check
    )


def _limit(results: Results) -> tuple[bool, str]:
    """Check a limit of many columns: the differences must shrink with them."""
    found = _simulation(results, "gmm-limit")
    if found is None:
        raise NotMeasuredError("it has not been simulated")
    off = [
        [max(abs(a - b) for a, b in zip(curve.simulated, curve.formula, strict=True)) for curve in panel.curves]
        for panel in found.panels
    ]
    numbers = "; ".join(f"{few:.4f} with D = 100, {many:.4f} with D = 10,000" for few, many in off)
    return all(many < few and many < 0.01 for few, many in off), f"off by at most {numbers}"


def _normalizing_helps(_: Results) -> tuple[bool, str]:
    rho = np.linspace(-0.99, 0.99, 199)
    ratios = [np.asarray(nrff_variance(rho, g)) / np.asarray(rff_variance(rho, g)) for g in (0.1, 0.5, 1, 4, 10, 100)]
    worst = float(np.max(ratios))
    return worst <= 1 + 1e-9, f"the ratio of the variances is at most {worst:.4f}"


def _theorem_statements(name: str) -> tuple[Statement, ...]:
    if name == "gmm-limit":
        return (Statement(THEOREM_TEXTS[name], "what is off shrinks with D, and is below 0.01 for D = 10,000", _limit),)
    if name == "theorem5":
        text = "The variance of NRFF is below that of RFF: it is always a good idea to normalize."
        return _agrees(name), Statement(
            text, "for rho from -0.99 to 0.99 and gamma from 0.1 to 100", _normalizing_helps
        )
    return (_agrees(name),)


def _experiment(name: str) -> Experiment:
    def grid(quick: bool) -> list[Settings]:
        return [theorem(name, size=QUICK if quick else FULL)]

    def draw(results: Results) -> Figure:
        return figure(_theorem_charts(results, name), columns=2)

    place, _, title = THEOREMS[name][0].partition(": ")
    return Experiment(
        name,
        place if title else "Section 1",
        title or place,
        (),
        grid,
        draw,
        _theorem_statements(name),
        note="Lines are the formula; markers with bars of one standard error are simulated by what this package does.",
    )


ALL = tuple(map(_experiment, THEOREMS))


CASES = (("dailysports", 1.0), ("pendigits", 1.0), ("pendigits", 20.0), ("m-noise1", 80.0), ("m-image", 50.0))
DATASETS = ("dailysports", "pendigits", "m-noise1", "m-image")


def _zero_bit_run(name: str, p: float) -> Settings:
    return zero_bit(name, p=p, k=4096, pairs=60)


def _zero_bit_grid(quick: bool) -> list[Settings]:
    return [_zero_bit_run(*case) for case in (CASES[1:3] if quick else CASES)]


def _zero_bit_charts(results: Results) -> Iterator[Chart]:
    for name, p in CASES:
        outcome = results.get(_zero_bit_run(name, p))
        if outcome is not None:
            J = tuple(outcome.result["J"])
            series = (
                Series("pGMM", (0.0, 1.0), (0.0, 1.0), Style("--", "", 0.0)),
                Series("equal i*", J, tuple(outcome.result["i"]), Style("", "o", 0.0)),
                Series("equal (i*, t*)", J, tuple(outcome.result["i_and_t"]), Style("", "x", 0.5)),
            )
            yield Chart(f"{DISPLAY_NAMES[name]}, p = {p:g}", series, "pGMM(u, v; p)", "share of 4,096 hashes")


def _off(outcome: Outcome, kind: str) -> float:
    """Return the largest difference from the kernel."""
    return float(np.max(np.abs(np.subtract(outcome.result[kind], outcome.result["J"]))))


def _worst(results: Results, kind: str) -> list[tuple[str, float]]:
    found = completed(results, _zero_bit_grid(False))
    return [(f"{DISPLAY_NAMES[o.settings['dataset']]}, p = {o.settings['p']:g}", _off(o, kind)) for o in found]


def _approximately(results: Results) -> tuple[bool, str]:
    worst = _worst(results, "i")
    return all(off <= 0.08 for _, off in worst), "; ".join(f"{name}: off by up to {off:.3f}" for name, off in worst)


def _exactly(results: Results) -> tuple[bool, str]:
    worst = _worst(results, "i_and_t")
    return all(off <= 0.04 for _, off in worst), "; ".join(f"{name}: off by up to {off:.3f}" for name, off in worst)


EQUATION_7 = Experiment(
    "zero-bit",
    "Equation 7",
    "The 0-bit approximation on pairs of rows",
    DATASETS,
    _zero_bit_grid,
    lambda results: figure(_zero_bit_charts(results)),
    (
        Statement(
            "P[i* of u = i* of v] is approximately P[(i*, t*) of u = (i*, t*) of v] = pGMM(u, v).",
            "the share of equal i* is within 0.08 of the kernel for all pairs (five standard errors are 0.04)",
            _approximately,
        ),
        Statement(
            "P[(i*, t*) of u = (i*, t*) of v] = pGMM(u, v), on rows of datasets.",
            "the share of equal (i*, t*) is within 0.04, five standard errors, of the kernel for all pairs",
            _exactly,
        ),
    ),
    note="Not a figure of the paper. Pairs are taken of 400 rows for testing so that their kernels are spread evenly.",
)


J = np.linspace(0.02, 0.98, 49)
REDUCTIONS = {8: (1, 2, 5, 10, 20, 50), 12: (1, 10, 50, 100, 200, 500), 16: (1, 10, 100, 500, 1000, 5000)}
BITS = (8, 12, 16, 20, 24)
RATIO_LABEL = "ratio R of the variances"


def _ratio_series(label: str, b: int, m: float, style: Style) -> Series:
    ratio = count_sketch_ratio(b, J, m)
    return Series(label, tuple(J.tolist()), tuple(np.asarray(ratio).tolist()), style)


RATIO_STYLES = tuple(Style(dashes, "", shade) for shade in (0.0, 0.5) for dashes in ("-", "--", "-."))


def _charts_12(_: Results) -> Iterator[Chart]:
    for b, reductions in REDUCTIONS.items():
        series = [_ratio_series(f"m = {m}", b, m, style) for m, style in zip(reductions, RATIO_STYLES, strict=True)]
        yield Chart(f"b = {b}", tuple(series), x_label="J", y_label=RATIO_LABEL, log_y=True)


def _charts_13(_: Results) -> Iterator[Chart]:
    strategies: tuple[tuple[str, Callable[[int], float]], ...] = (
        ("m = 2^(b/2), half of the bits", lambda b: 2.0 ** (b / 2)),
        ("m = 2^(b-8), 8 bits", lambda b: 2.0 ** (b - 8)),
    )
    for title, m in strategies:
        series = [_ratio_series(f"b = {b}", b, m(b), style) for b, style in zip(BITS, RATIO_STYLES, strict=False)]
        yield Chart(title, tuple(series), x_label="J", y_label=RATIO_LABEL, log_y=True)


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
        Statement(
            "When b = 16, the ratio is small even for m = 1000.",
            "b = 16, m = 1000: below 0.5 for J from 0.1 to 0.9",
            _sixteen_bits,
        ),
        Statement(
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
        Statement(
            "Always using 8 bits corresponds almost to a single curve.",
            "m = 2^(b-8): ratios of all b from 8 to 24 are within 10% of each other for J from 0.1 to 0.9",
            _one_curve,
        ),
        Statement(
            "Always using half of the bits is probably a bit conservative for b >= 16.",
            "b = 16, m = 2^8: the ratio is below 0.1 for J from 0.1 to 0.9",
            _half_is_careful,
        ),
    ),
    note="A formula: nothing is run.",
)
