"""Theorems 1 to 5, and the limit of the GMM kernel: simulations next to formulas."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from gcwsnet.theory import nrff_variance, rff_variance
from reproduction._simulation import MOST_ERRORS, Simulation
from reproduction.charts import Chart, Figure, Line, Style, figure
from reproduction.experiment import Experiment
from reproduction.results import Results
from reproduction.settings import Settings, theorem
from reproduction.statements import Claim, NotMeasuredError
from reproduction.theorems import THEOREMS

FULL, QUICK = 20, 2
STYLES = (("-", "o", 0.0), ("--", "s", 0.3), ("-.", "^", 0.45), (":", "D", 0.55))
STATEMENTS = {
    "theorem1": "P[(i*, t*) of u = (i*, t*) of v] = pGMM(u, v).",
    "theorem2": "Codes of b bits agree with probability J + (1 - J) / 2^b.",
    "theorem3": "Count-sketch is unbiased, and its variance vanishes with the number of bins only for s = 1.",
    "theorem4": "Mean and variance of the estimate of P_b from count-sketches of GCWS.",
    "theorem5": "Asymptotic variances of RFF and NRFF.",
    "gmm-limit": "GMM(u, v) goes to (1 - s) / (1 + s) with s = sqrt((1 - rho) / 2).",
}


def _simulation(results: Results, name: str) -> Simulation | None:
    """The largest simulation that has been done."""
    for size in (FULL, QUICK):
        outcome = results.get(theorem(name, size=size))
        if outcome is not None:
            return Simulation.from_json(json.dumps(outcome.result))
    return None


def _charts(results: Results, name: str) -> Iterator[Chart]:
    found = _simulation(results, name)
    for panel in found.panels if found else ():
        lines = []
        for curve, (dashes, marker, shade) in zip(panel.curves, STYLES, strict=False):
            order = np.argsort(curve.x)
            x, formula, simulated, errors = (
                tuple(np.asarray(values)[order].tolist())
                for values in (curve.x, curve.formula, curve.simulated, curve.error)
            )
            lines += [
                Line("", x, formula, Style(dashes, "", shade)),
                Line(curve.label, x, simulated, Style("", marker, shade), errors),
            ]
        by_powers = panel.x_label.startswith(("B,", "m,"))
        yield Chart(panel.title, tuple(lines), panel.x_label, panel.y_label, log_x=by_powers, log_y=panel.log)


def _agrees(name: str) -> Claim:
    def check(results: Results) -> tuple[bool, str]:
        found = _simulation(results, name)
        if found is None:
            raise NotMeasuredError("it has not been simulated")
        return found.agrees, f"the worst number is off by {found.errors_off:.1f} standard errors"

    return Claim(STATEMENTS[name], f"no simulated number is off by more than {MOST_ERRORS} standard errors", check)


def _limit(results: Results) -> tuple[bool, str]:
    """The limit is of many columns: what is off must shrink with them."""
    found = _simulation(results, "gmm-limit")
    if found is None:
        raise NotMeasuredError("it has not been simulated")
    off = [
        [max(abs(a - b) for a, b in zip(curve.simulated, curve.formula, strict=True)) for curve in panel.curves]
        for panel in found.panels
    ]
    told = "; ".join(f"{few:.4f} with D = 100, {many:.4f} with D = 10,000" for few, many in off)
    return all(many < few and many < 0.01 for few, many in off), f"off by at most {told}"


def _normalizing_helps(_: Results) -> tuple[bool, str]:
    rho = np.linspace(-0.99, 0.99, 199)
    ratios = [np.asarray(nrff_variance(rho, g)) / np.asarray(rff_variance(rho, g)) for g in (0.1, 0.5, 1, 4, 10, 100)]
    worst = float(np.max(ratios))
    return worst <= 1 + 1e-9, f"the ratio of the variances is at most {worst:.4f}"


def _claims(name: str) -> tuple[Claim, ...]:
    if name == "gmm-limit":
        return (Claim(STATEMENTS[name], "what is off shrinks with D, and is below 0.01 for D = 10,000", _limit),)
    if name == "theorem5":
        text = "The variance of NRFF is below that of RFF: it is always a good idea to normalize."
        return _agrees(name), Claim(text, "for rho from -0.99 to 0.99 and gamma from 0.1 to 100", _normalizing_helps)
    return (_agrees(name),)


def _experiment(name: str) -> Experiment:
    def grid(quick: bool) -> list[Settings]:
        return [theorem(name, size=QUICK if quick else FULL)]

    def draw(results: Results) -> Figure:
        return figure(_charts(results, name), columns=2)

    place, _, title = THEOREMS[name][0].partition(": ")
    return Experiment(
        name,
        place if title else "Section 1",
        title or place,
        (),
        grid,
        draw,
        _claims(name),
        note="Lines are the formula; markers with bars of one standard error are simulated by what this package does.",
    )


ALL = tuple(map(_experiment, THEOREMS))
