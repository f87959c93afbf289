"""Theorems 1 to 5, the limit of the GMM kernel, equation (7), and Figures 12 and 13: formulas and simulations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gcwsnet.theory import count_sketch_ratio, nrff_variance, rff_variance
from reproduction.charts import BLUE, BY_NUMBER, COLORS, ORIGINAL, RED, Chart, Points, Series, Style, constant
from reproduction.experiment import Experiment
from reproduction.experiment_data import DISPLAY_NAMES
from reproduction.results import Outcome, Results
from reproduction.rules import MAX_ERRORS
from reproduction.settings import Settings, theorem, zero_bit
from reproduction.statements import Statement, at_most
from reproduction.theorems import THEOREMS, errors_off

SIZE = 20
TEXTS = {
    "theorem1": "P[(i*, t*) of u = (i*, t*) of v] = pGMM(u, v).",
    "theorem2": "Codes of b bits agree with probability J + (1 - J) / 2^b.",
    "theorem3": "Count-sketch is unbiased, and its variance vanishes with the number of bins only for s = 1.",
    "theorem4": "Mean and variance of the estimate of P_b from count-sketches of GCWS.",
    "theorem5": "NRFF is asymptotically normal around the RBF kernel, and NRFF and RFF have the stated variances.",
    "gmm-limit": "GMM(u, v) goes to (1 - s) / (1 + s) with s = sqrt((1 - rho) / 2).",
    "resemblance": "For 0/1 data the pGMM kernel is the resemblance, and GCWS is minwise hashing, also of three rows.",
    "projections": "The variances of count-sketch and of dense random projections.",
    "picked": "In GCWS, data entries with (relatively) higher values are more likely to be picked as i*, in a "
    "probabilistic manner.",
}
NOTES = {
    "projections": "The rows have 8 numbers: few, as the advantage of count-sketch is of the order of one over their "
    "number. It is the accuracy alone that is compared here, not the time.",
    "theorem5": "The estimates are of 512 features each. That they become normal is checked at five quantiles.",
    "picked": "The paper gives no formula. By consistent weighted sampling the probability is |u_i|^p divided by the "
    "sum over the row, which grows with |u_i|.",
}
"""What to know of single theorems."""
SIMULATED = "Lines are the formula; markers with bars of one standard error are simulated by what this package does."


def _charts(run: Settings, results: Results) -> list[Chart]:
    outcome, charts = results.get(run), []
    for panel in outcome.result["panels"] if outcome is not None else ():
        series = []
        for found, style in zip(panel["curves"], BY_NUMBER, strict=False):
            order = np.argsort(found["x"])
            names = ("x", "formula", "simulated", "error")
            x, formula, simulated, error = (np.asarray(found[name])[order].tolist() for name in names)
            series += [
                Series("", style._replace(marker=""), constant(Points(x, formula))),
                Series(found["label"], style._replace(line=""), constant(Points(x, simulated, error))),
            ]
        by_powers = panel["x_label"].startswith(("B,", "m,"))
        charts.append(Chart(panel["title"], tuple(series), panel["x_label"], panel["y_label"], by_powers, panel["log"]))
    return charts


def _all_off(outcome: Outcome) -> list[float]:
    return [off for panel in outcome.result["panels"] for found in panel["curves"] for off in errors_off(found)]


def _off_limit(outcome: Outcome) -> list[float]:
    """Return how far the kernel of many columns is from its limit; infinite where that of few columns is closer."""
    far = []
    for panel in outcome.result["panels"]:
        few, many = (np.abs(np.subtract(one["simulated"], one["formula"])) for one in panel["curves"])
        far += (many if many.max() < few.max() else np.full_like(many, np.inf)).tolist()
    return far


def _sketch_beside_dense(outcome: Outcome) -> list[float]:
    """Return the variance of count-sketch as a part of that of dense random projections, for each B."""
    sketched, dense = (one["simulated"] for one in outcome.result["panels"][0]["curves"])
    return np.divide(sketched, dense).tolist()


def _statements(name: str, run: Settings) -> list[Statement]:
    runs = [(run,)]
    if name == "gmm-limit":
        rule = "the kernel of 10,000 columns is within 0.01 of the limit, and closer than that of 100 columns"
        return [Statement(TEXTS[name], rule, runs, _off_limit, lambda off: off < 0.01, unit="off")]
    rule = f"a simulated number is off by at most {MAX_ERRORS} standard errors; all numbers of the figure"
    agrees = Statement(TEXTS[name], rule, runs, _all_off, at_most(MAX_ERRORS), unit="standard errors")
    if name != "projections":
        return [agrees]
    text = "To estimate inner products, count-sketch is (slightly) more accurate than dense random projections."
    rule = "its simulated variance is smaller, for each B"
    return [agrees, Statement(text, rule, runs, _sketch_beside_dense, lambda ratio: ratio < 1, unit="times")]


def _normalizing() -> str:
    rho, gammas = np.linspace(-0.999, 0.999, 1999), np.geomspace(1e-3, 1e3, 61)
    ratios = [np.asarray(nrff_variance(rho, gamma)) / np.asarray(rff_variance(rho, gamma)) for gamma in gammas]
    return (
        f"By the formulas the variance of NRFF is {np.min(ratios):.2f} to {np.max(ratios):.2f} times that of RFF, for "
        "rho from -0.999 to 0.999 and gamma from 0.001 to 1000."
    )


def _agreement(more: str, run: Settings, results: Results) -> str:
    outcome = results.get(run)
    if outcome is None:
        return ""
    off = _all_off(outcome)
    within = sum(one <= MAX_ERRORS for one in off)
    return f"{within} of {len(off)} simulated numbers are within five standard errors of the formula. {more}".strip()


def _experiment(name: str) -> Experiment:
    run = theorem(name, size=SIZE)
    place, _, title = THEOREMS[name][0].partition(": ")
    return Experiment(
        name,
        place,
        title,
        [run],
        partial(_charts, run),
        _statements(name, run),
        result=partial(_agreement, _normalizing() if name == "theorem5" else "", run),
        note=f"{SIMULATED} {NOTES.get(name, '')}".strip(),
        columns=2,
    )


ALL = tuple(map(_experiment, TEXTS))


PAIRS = {
    f"{DISPLAY_NAMES[name]}, p = {p:g}": zero_bit(name, p=p, k=4096, pairs=60)
    for name, p in (
        ("dailysports", 1.0),
        ("pendigits", 1.0),
        ("pendigits", 20.0),
        ("m-noise1", 80.0),
        ("m-image", 50.0),
    )
}


def _shares(run: Settings, kind: str, results: Results) -> Points | None:
    outcome = results.get(run)
    return None if outcome is None else Points(outcome.result["J"], outcome.result[kind])


def _off_kernel(kind: str, outcome: Outcome) -> list[float]:
    """Return by how many standard errors the share of equal hashes is off the kernel, for each pair of rows."""
    J, shares = (np.asarray(outcome.result[name]) for name in ("J", kind))
    off: list[float] = (np.abs(shares - J) / np.sqrt(J * (1 - J) / outcome.settings["k"])).tolist()
    return off


EQUATION_7 = Experiment(
    "zero-bit",
    "Equation 7",
    "The 0-bit approximation on pairs of rows",
    list(PAIRS.values()),
    [
        Chart(
            title,
            (
                Series("pGMM", ORIGINAL, constant(Points((0.0, 1.0), (0.0, 1.0)))),
                Series("equal i*", Style("", "o", BLUE), partial(_shares, run, "i")),
                Series("equal (i*, t*)", Style("", "x", RED), partial(_shares, run, "i_and_t")),
            ),
            "pGMM(u, v; p)",
            "share of 4,096 hashes",
        )
        for title, run in PAIRS.items()
    ],
    [
        Statement(
            text,
            f"the share of equal {what} is within {MAX_ERRORS} standard errors of the kernel; all pairs",
            [(run,) for run in PAIRS.values()],
            partial(_off_kernel, kind),
            at_most(MAX_ERRORS),
            unit="standard errors",
        )
        for text, what, kind in (
            ("P[i* of u = i* of v] is approximately P[(i*, t*) of u = (i*, t*) of v] = pGMM(u, v).", "i*", "i"),
            ("P[(i*, t*) of u = (i*, t*) of v] = pGMM(u, v), on rows of datasets.", "(i*, t*)", "i_and_t"),
        )
    ],
    note="Not a figure of the paper, which says approximately, and gives no bound. The error is up to 0.047 on "
    "Pendigits with p = 20, up to 0.021 with p = 1, and at most 0.01 on the other datasets. There is no bound: rows of "
    "one column have the same i* always, whatever their kernel is ([how large it "
    "gets](internals.md#the-0-bit-approximation)).",
)


J = np.linspace(0.02, 0.98, 49)
EVERY_J = np.linspace(0.001, 0.999, 999)
REDUCTIONS = {8: (1, 2, 5, 10, 20, 50), 12: (1, 10, 50, 100, 200, 500), 16: (1, 10, 100, 500, 1000, 5000)}
BITS = (8, 12, 16, 20, 24)
STRATEGIES: dict[str, Callable[[int], float]] = {
    "m = 2^(b/2), half of the bits": lambda b: 2.0 ** (b / 2),
    "m = 2^(b-8), 8 bits": lambda b: 2.0 ** (b - 8),
}
STYLES = tuple(Style(line, "", color) for line, color in zip(2 * ("-", "--", "-."), COLORS, strict=True))


def _ratios(title: str, curves: dict[str, tuple[int, float]]) -> Chart:
    series = tuple(
        Series(label, style, constant(Points(J.tolist(), np.asarray(count_sketch_ratio(b, J, m)).tolist())))
        for (label, (b, m)), style in zip(curves.items(), STYLES, strict=False)
    )
    return Chart(title, series, "J", "ratio R of the variances", log_y=True)


def _below(b: int, m: float, limit: float) -> str:
    """Return the range of J in which the ratio is below a limit."""
    small = EVERY_J[np.asarray(count_sketch_ratio(b, EVERY_J, m)) < limit]
    return (
        f"below {limit:g} for J from {small.min():g} to {small.max():g}" if len(small) else f"nowhere below {limit:g}"
    )


def _single_curve() -> str:
    ratios: Any = np.array([count_sketch_ratio(b, EVERY_J, 2.0 ** (b - 8)) for b in BITS])
    factor = ratios.max(axis=0) / ratios.min(axis=0)
    return (
        f"With m = 2^(b-8) the curves of b = 8 to 24 are within 10% of each other for J from "
        f"{EVERY_J[factor < 1.1].min():g}, and a factor of {factor.max():.1f} apart at J = 0.001 (the paper: almost a "
        "single curve)."
    )


FIGURE_12 = Experiment(
    "count-sketch-ratio",
    "Figure 12",
    "Variance that count-sketch adds, for b = 8, 12 and 16",
    charts=[_ratios(f"b = {b}", {f"m = {m}, b = {b}": (b, float(m)) for m in some}) for b, some in REDUCTIONS.items()],
    result=f"The ratio is {_below(16, 1000.0, 0.5)} for b = 16 and m = 1000 (the paper: small), and "
    f"{_below(8, 10.0, 0.5)} for b = 8 and m = 10 (the paper: not too small).",
    note="A formula: nothing is run. The paper does not list its values of m.",
)
FIGURE_13 = Experiment(
    "count-sketch-strategies",
    "Figure 13",
    "Two strategies of choosing m",
    charts=[_ratios(title, {f"b = {b}": (b, m(b)) for b in BITS}) for title, m in STRATEGIES.items()],
    result=_single_curve(),
    note="A formula: nothing is run.",
    columns=2,
)
