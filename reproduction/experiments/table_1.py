"""Table 1: support vector machines with the linear, RBF, GMM and pGMM kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from reproduction.charts import BY_NUMBER, Chart, accuracy_against, figure
from reproduction.experiment import TABLE_1, Comparison, Experiment, compare_accuracy, not_compared
from reproduction.experiment_data import DISPLAY_NAMES
from reproduction.results import Outcome, Results
from reproduction.settings import Settings, svm
from reproduction.statements import NOTICEABLE, OFTEN, SIMILAR, Case, NotMeasuredError, Statement, all_done

C = (0.1, 1.0, 10.0, 100.0)
C_LINEAR = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
GAMMAS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
RBF = ("rbf", "rbf-scaled")
POWERS = {
    "semg": (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0),
    "dailysports": (0.4, 0.6, 0.8, 1.0, 2.0),
    "m-noise1": (1.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0),
    "m-image": (1.0, 10.0, 20.0, 30.0, 50.0, 80.0),
}
"""Candidates for p; 1 is the GMM kernel. The paper does not list its own."""
SEMG_ROWS = (
    "SEMG is derived here: other rows, on which p = 1 is best for the kernel. The published rows would settle it."
)
COLUMNS = {"linear": "linear", "rbf": "RBF", "gmm": "GMM", "pgmm": "pGMM"}
QUICK = {"semg": (1.0, 2.0)}
QUICK_GAMMAS = (2.0, 10.0)


def _grid(quick: bool) -> list[Settings]:
    if quick:
        runs = [svm("semg", kernel="linear", C=C_LINEAR)]
        runs += [svm("semg", kernel=kernel, parameter=gamma, C=C) for kernel in RBF for gamma in QUICK_GAMMAS]
        return runs + [svm("semg", kernel="pgmm", parameter=p, C=C) for p in QUICK["semg"]]
    runs = []
    for name in TABLE_1:
        runs.append(svm(name, kernel="linear", C=C_LINEAR))
        if name in POWERS:
            ordered = sorted(POWERS[name], key=lambda p: p not in (1.0, TABLE_1[name].p))  # the paper's own first
            runs += [svm(name, kernel="pgmm", parameter=p, C=C) for p in ordered]
            runs += [svm(name, kernel=kernel, parameter=gamma, C=C) for kernel in RBF for gamma in GAMMAS]
    return runs


def _machine(name: str, kernel: str, parameter: float | None) -> Settings:
    return svm(name, kernel=kernel, parameter=parameter, C=C_LINEAR if kernel == "linear" else C)


def _machines(name: str, column: str) -> list[Settings]:
    """Return the machines of a column of the table."""
    return {
        "linear": [_machine(name, "linear", None)],
        "rbf": [_machine(name, kernel, gamma) for kernel in RBF for gamma in GAMMAS],
        "gmm": [_machine(name, "pgmm", 1.0)],
        "pgmm": [_machine(name, "pgmm", p) for p in POWERS.get(name, ())],
    }[column]


def best(results: Results, name: str, column: str) -> Outcome | None:
    """Return the best machine of a column of the table: "linear", "rbf", "gmm" or "pgmm"."""
    found = [results.get(machine) for machine in _machines(name, column)]
    return max((o for o in found if o is not None), key=lambda outcome: outcome.accuracy, default=None)


def _chosen(outcome: Outcome) -> str:
    """Return the parameters of the best machine."""
    settings = outcome.settings
    rows = {"rbf": "rows of length 1, ", "rbf-scaled": "rows as they are, "}.get(settings["kernel"], "")
    name = {"pgmm": "p", "linear": ""}.get(settings["kernel"], "gamma")
    parameter = f"{name} = {settings['parameter']:g}, " if name else ""
    return f"{rows}{parameter}C = {outcome.result['best_C']:g}"


def _compare(results: Results) -> list[Comparison]:
    rows = []
    for name, row in TABLE_1.items():
        for column, label in COLUMNS.items():
            paper, outcome = getattr(row, column), best(results, name, column)
            if paper is None:
                continue
            what = f"{DISPLAY_NAMES[name]}, {label}" + (f" (paper: p = {row.p:g})" if column == "pgmm" else "")
            if outcome is None:
                rows.append(not_compared(what, paper, name))
                continue
            rows.append(compare_accuracy(what, paper, outcome.accuracy, outcome.origin, f" ({_chosen(outcome)})"))
    return rows


def _charts(results: Results) -> Iterator[Chart]:
    for name, powers in POWERS.items():
        pgmm = accuracy_against(
            results, "pGMM", "parameter", sorted(powers), partial(_machine, name, "pgmm"), BY_NUMBER[0]
        )
        yield Chart(f"{DISPLAY_NAMES[name]}: pGMM at its best C", pgmm, x_label="p", log_x=True)
    for name in POWERS:
        series = [
            one
            for kernel, label, style in zip(RBF, ("rows of length 1", "rows as they are"), BY_NUMBER, strict=False)
            for one in accuracy_against(results, label, "parameter", GAMMAS, partial(_machine, name, kernel), style)
        ]
        yield Chart(f"{DISPLAY_NAMES[name]}: RBF at its best C", tuple(series), x_label="gamma", log_x=True)


def _both(results: Results, name: str, one: str, other: str) -> tuple[Outcome, Outcome]:
    """Return the best machines of two columns; an error if not all machines of both are done."""
    all_done(results, [machine for column in (one, other) for machine in _machines(name, column)])
    found = best(results, name, one), best(results, name, other)
    if found[0] is None or found[1] is None:
        raise NotMeasuredError(f"{DISPLAY_NAMES[name]} has no results for both {COLUMNS[one]} and {COLUMNS[other]}")
    return found[0], found[1]


def _gain(
    results: Results, name: str, one: str, other: str, enough: Callable[[float], bool] = lambda gain: gain > 0
) -> Case:
    """Return by how many points the best machine of a column is better than that of another, which must be enough."""
    ours, theirs = pair = _both(results, name, one, other)
    what = f"{COLUMNS[one]} {ours.accuracy:.1f}%, {COLUMNS[other]} {theirs.accuracy:.1f}%"
    gain = ours.accuracy - theirs.accuracy
    return Case(what, gain, enough(gain), pair)


def _in_order(results: Results) -> list[Case]:
    """Return by how many points RBF is better than linear, and GMM than RBF, for each dataset."""
    return [_gain(results, name, *pair) for name in POWERS for pair in (("rbf", "linear"), ("gmm", "rbf"))]


def _papers_p(results: Results) -> list[Case]:
    """Return by how many points the p of the paper is better than p = 1, where that is the best p of the paper."""
    cases = []
    for name in ("semg", "m-noise1", "m-image"):
        p = float(TABLE_1[name].p or 1)
        ours, plain = all_done(results, [_machine(name, "pgmm", p), _machine(name, "pgmm", 1.0)])
        gain = ours.accuracy - plain.accuracy
        cases.append(
            Case(f"p = {p:g} {ours.accuracy:.1f}%, p = 1 {plain.accuracy:.1f}%", gain, gain > 0, (ours, plain))
        )
    return cases


def _best_p(results: Results) -> list[Case]:
    cases = []
    for name in POWERS:
        machines = {one.settings["parameter"]: one for one in all_done(results, _machines(name, "pgmm"))}
        best_p = max(machines, key=lambda p: machines[p].accuracy)
        paper, ours = machines[TABLE_1[name].p], machines[best_p]
        what = f"p = {TABLE_1[name].p:g} {paper.accuracy:.1f}%, p = {best_p:g} {ours.accuracy:.1f}%"
        lost = ours.accuracy - paper.accuracy
        cases.append(Case(what, lost, lost <= NOTICEABLE, (paper, ours)))
    return cases


TABLE = Experiment(
    "table1",
    "Table 1",
    "Support vector machines with the linear, RBF, GMM and pGMM kernels",
    tuple(TABLE_1),
    _grid,
    lambda results: figure(_charts(results)),
    (
        Statement(
            "On all four datasets RBF is better than the linear kernel, and GMM is better than RBF.",
            "each kernel is better than the one before it; four datasets",
            _in_order,
        ),
        Statement(
            "p = 2 improves 54.0% to 56.1% on SEMG, p = 80 improves 71.4% to 85.2% on M-Noise1, and p = 50 improves "
            "80.9% to 89.5% on M-Image.",
            "the p of the paper is better than p = 1; three datasets",
            _papers_p,
            why=SEMG_ROWS,
        ),
        Statement(
            "The best p are 2 for SEMG, 0.6 for DailySports, 80 for M-Noise1 and 50 for M-Image.",
            f"the best p is better than the paper's by at most {NOTICEABLE:g} points; four datasets",
            _best_p,
            why="Here the best p are 1, 0.8, 60 and 30; only on SEMG does that make a difference of more than half a "
            f"point. {SEMG_ROWS}",
        ),
        Statement(
            "By adding this tuning parameter, the performance can often be improved.",
            f"the best p is better than p = 1 by more than {NOTICEABLE:g} points; four datasets",
            lambda results: [_gain(results, name, "pgmm", "gmm", lambda gain: gain > NOTICEABLE) for name in POWERS],
            share=OFTEN,
        ),
        Statement(
            "The pGMM kernel achieves comparable or better accuracy than the RBF kernel on a wide range of datasets.",
            f"pGMM is at most {SIMILAR:g} point worse than RBF; four datasets",
            lambda results: [_gain(results, name, "pgmm", "rbf", lambda gain: gain >= -SIMILAR) for name in POWERS],
        ),
    ),
    _compare,
    "As in the paper the best parameters on the test rows are reported. RBF is that of rows of length 1, as in "
    "section 7, or of rows as they are, whichever is better; its gammas were chosen after a first look, which favors "
    "it. LIBLINEAR works on the rows as they are, for Covtype with standardised columns, and stops after 100 steps. "
    "The best C is the largest that was tried for RBF, GMM and pGMM on DailySports and for GMM on M-Noise1 (100), and "
    "for the linear kernel on Covtype (1).",
)
