"""Statements are checked against results: made-up ones, for and against."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reproduction import EXPERIMENTS, Outcome
from reproduction.experiments.table_1 import C
from reproduction.settings import Settings, gcws, last_layer, original, svm
from reproduction.statements import (
    FAILS,
    HOLDS,
    NOT_MEASURED,
    OFTEN,
    OTHER_ROWS,
    OWN_ROWS,
    Case,
    Statement,
    Verdict,
    faster,
    number,
)
from tests.reproduction.outcomes import outcome, results


def verdict(folder: Path, name: str, beginning: str, *outcomes: Outcome) -> Verdict:
    """Return the verdict of made-up outcomes on the statement with this beginning."""
    (statement,) = (statement for statement in EXPERIMENTS[name].statements if statement.text.startswith(beginning))
    return statement.verdict(results(folder, *outcomes))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_without_runs_nothing_has_a_verdict(name: str, tmp_path: Path) -> None:
    for statement in EXPERIMENTS[name].statements:
        assert statement.verdict(results(tmp_path)).state == NOT_MEASURED, statement.text


def grid_outcomes(name: str, accuracy: Callable[[Settings], float]) -> list[Outcome]:
    """Return made-up outcomes of the whole grid of an experiment."""
    return [outcome(one, accuracy(one)) for one in EXPERIMENTS[name].grid(False)]


def test_what_does_not_hold_rests_on_the_cases_against_it(tmp_path: Path) -> None:
    own, other = (outcome(original(name, L=1), 50.0) for name in ("covtype", "m-noise1"))
    cases = [Case("a", 1, True, (replace(other, origin="rebuilt"),)), Case("b", -1, False, (own,))]
    statement = Statement("Something.", "positive", lambda _: cases)
    found = statement.verdict(results(tmp_path))
    assert (found.state, found.origins, found.against) == (FAILS, {"covtype": "exact"}, ("Covtype, b: -1 points",))
    assert found.datasets == {"covtype": 1}
    often = replace(statement, share=OFTEN).verdict(results(tmp_path))
    assert (often.state, often.origins) == (HOLDS, {"covtype": "exact", "m-noise1": "rebuilt"})
    assert found.by_rows == often.by_rows == {OWN_ROWS: FAILS, OTHER_ROWS: HOLDS}


def test_a_statement_of_which_one_run_is_missing_is_not_measured(tmp_path: Path) -> None:
    runs = grid_outcomes("m-noise-levels", lambda _: 80.0)
    found = verdict(tmp_path / "a", "m-noise-levels", "M-Noise2", *runs)
    assert found.state == FAILS  # no p is better than another
    found = verdict(tmp_path / "b", "m-noise-levels", "M-Noise2", *runs[1:])
    assert (found.state, found.numbers) == (NOT_MEASURED, "1 of the 12 runs that it covers are not done")


def test_all_cases_of_a_figure_count_and_those_against_it_are_named(tmp_path: Path) -> None:
    def accuracy(one: Settings) -> float:
        few = one["method"] == "gcws" and (one["k"], one["b"], one["H"]) == (64, 2, 200)
        return 60.0 if one["method"] == "original" or few else 70.0

    found = verdict(
        tmp_path, "covtype-100", "The results for the original data", *grid_outcomes("covtype-100", accuracy)
    )
    assert found.state == FAILS
    assert found.numbers == "47 of 48 cases, from 0 to 10, median 10 points"
    assert found.against == ("k = 64, b = 2, L = 2, H = 200: 0 points",)
    assert found.origins == {"covtype": "exact"}


def test_much_faster_is_half_of_the_epochs() -> None:
    slow, fast = [10.0 * (step + 1) for step in range(10)], [50.0] * 4 + [100.0] * 6
    ours, theirs = gcws("semg", k=64, b=8, L=1), outcome(original("semg", L=1), 100, slow)
    cases = faster([(outcome(ours, 100, curve), theirs) for curve in (slow, fast)])
    assert [(case.value, case.holds) for case in cases] == [(1.0, False), (0.5, True)]
    early = outcome(original("semg", L=1), 100, [50.0] * 3 + [100.0] * 7)  # it needs 0.4 epochs
    assert [(case.value, case.holds) for case in faster([(outcome(ours, 100, fast), early)])] == [(1.25, False)]
    never = outcome(ours, 90), theirs
    (case,) = faster([never])
    assert math.isinf(case.value)
    assert not case.holds
    assert number(case.value, "times as long") == "never"


def everywhere(accuracy: Callable[[Settings], float]) -> list[Outcome]:
    """Return made-up outcomes of the figures of which the abstract speaks: GCWSNet is at its end at once."""
    made = []
    for one in EXPERIMENTS["abstract"].grid(False):
        n, end = one["epochs"] * one["checkpoints"], accuracy(one)
        steps = [end] * n if one["method"] == "gcws" else [end * (step + 1) / n for step in range(n)]
        made.append(outcome(one, end, steps))
    return made


def test_what_is_said_of_all_datasets_covers_all_figures_and_not_the_stand_in(tmp_path: Path) -> None:
    runs = everywhere(lambda one: 50.0 + one["b"] if one["method"] == "gcws" else 40.0)
    for place, (text, numbers) in enumerate(
        (
            ("Our extensive experiments", "300 of 300 cases"),
            ("It is evident", "240 of 240 cases"),
            ("GCWS often", "300 of 300 cases"),
            ("GCWS typically", "300 of 300 cases"),
            ("We recommend", "208 of 208 cases"),
        )
    ):
        found = verdict(tmp_path / str(place), "abstract", text, *runs)
        assert (found.state, found.numbers.partition(",")[0]) == (HOLDS, numbers)
        assert "dailysports-moments" not in found.origins


def test_nets_that_only_guess_say_nothing(tmp_path: Path) -> None:
    for place, (plain, state) in enumerate(((17.0, NOT_MEASURED), (25.0, HOLDS))):
        runs = grid_outcomes("semg-p1", lambda one: 50.0 if one["method"] == "gcws" else plain)  # noqa: B023
        found = verdict(tmp_path / str(place), "semg-p1", "Two layers of hidden units", *runs)
        assert found.state == state
        assert ("17.0% and 17.0%, a guess 16.7%" in found.numbers) == (state == NOT_MEASURED)


@pytest.mark.parametrize(("gcws_first", "state"), [(70.0, HOLDS), (40.0, FAILS)])
def test_the_last_layer_must_gain_after_the_first_batch(gcws_first: float, state: str, tmp_path: Path) -> None:
    curve = {"epoch": [0.1, 1.0], "batch": [1, 143], "net": [20.0, 80.0], "gcws": [gcws_first, 90.0], "accuracy": []}
    every = {"every": 1}, {"every": 143, "epochs": 10}
    runs = [outcome(last_layer("dailysports", k=256, b=8, H=H, **more), 90.0) for H in (200, 400) for more in every]
    for run in runs:
        run.result["curve"] = curve
    found = verdict(tmp_path / "a", "last-layer", "GCWS can drastically improve", *runs)
    assert found.state == state
    as_in_text = verdict(tmp_path / "d", "last-layer", "GCWS improves the test accuracy from 20%", *runs)
    assert as_in_text.state == state
    assert as_in_text.numbers.startswith("4 of 4 cases" if state == HOLDS else "2 of 4 cases")
    history = verdict(tmp_path / "b", "last-layer", "GCWS improves the test accuracy; the entire", *runs)
    assert history.numbers.startswith("4 of 4 cases")  # both runs of a net have the batches 1 and 143
    at_first = verdict(tmp_path / "c", "last-layer", "GCWS improves the test accuracy especially", *runs)
    assert at_first.state == HOLDS
    assert at_first.numbers.startswith("2 of 2 cases")


def machine(name: str, kernel: str, parameter: float, accuracy: float) -> Outcome:
    return outcome(svm(name, kernel=kernel, parameter=parameter, C=C), accuracy, best_C=1.0)


def test_a_table_takes_the_best_of_each_kernel(tmp_path: Path) -> None:
    made = results(
        tmp_path,
        machine("dailysports", "rbf", 10.0, 90.0),
        machine("dailysports", "rbf-scaled", 5.0, 97.0),
        machine("dailysports", "pgmm", 1.0, 99.5),
        machine("dailysports", "pgmm", 0.6, 99.6),
    )
    rows = EXPERIMENTS["table1"].compare(made)
    assert len(rows) == 18
    assert [tuple(row) for row in rows if row.ours] == [
        ("DailySports, RBF", "97.6", "97.0 (rows as they are, gamma = 5, C = 1)", "agrees"),
        ("DailySports, GMM", "99.6", "99.5 (p = 1, C = 1)", "agrees"),
        ("DailySports, pGMM (paper: p = 0.6)", "99.6", "99.6 (p = 0.6, C = 1)", "agrees"),
    ]


def test_numbers_that_are_far_off_or_from_other_data_are_marked(tmp_path: Path) -> None:
    def row(settings: Settings, accuracy: float, origin: str) -> tuple[str, ...]:
        one = outcome(settings, accuracy)
        made = results(tmp_path / f"{accuracy}{origin}", replace(one, origin=origin))
        return tuple(EXPERIMENTS["covtype-1"].compare(made)[0])[1:]

    ours = gcws("covtype", k=64, b=8, L=2)
    assert row(ours, 84.7, "exact") == ("84", "84.7", "agrees")
    assert row(ours, 80.0, "rounded") == ("84", "80.0", "differs by -4.0")
    assert row(ours, 84.7, "derived") == ("84", "84.7", "derived data: +0.7, not to be compared")
