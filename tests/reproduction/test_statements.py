"""Statements are checked against results: made-up ones, for and against."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reproduction import EXPERIMENTS, Outcome
from reproduction.experiments.kernels import C
from reproduction.rules import ALL, CONTRADICTED, HOLDS, HOLDS_BUT, OFTEN, TYPICALLY, UNTESTED
from reproduction.settings import Settings, gcws, last_layer, original, svm
from reproduction.statements import NOT_RUN, Case, Verdict, head_start, judge, percent_at, recommended
from tests.reproduction.outcomes import outcome, results


def verdict(folder: Path, name: str, beginning: str, *outcomes: Outcome) -> Verdict:
    """Return the verdict of made-up outcomes on the statement with this beginning."""
    (statement,) = (statement for statement in EXPERIMENTS[name].statements if statement.text.startswith(beginning))
    return statement.verdict(results(folder, *outcomes))


def held(found: Verdict) -> tuple[str, int, int]:
    return found.state, sum(case.holds for case in found.cases), len(found.cases)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_without_runs_nothing_has_a_verdict(name: str, tmp_path: Path) -> None:
    for statement in EXPERIMENTS[name].statements:
        assert statement.verdict(results(tmp_path)).state == NOT_RUN, statement.text


def made_up(name: str, accuracy: Callable[[Settings], float]) -> list[Outcome]:
    """Return made-up outcomes of all runs of an experiment."""
    return [outcome(one, accuracy(one)) for one in EXPERIMENTS[name].runs]


def cases(holds: Callable[[int, int], bool], origin: str | None = "exact") -> list[Case]:
    """Return cases with k from 64 to 512 and b from 1 to 8."""
    sizes = [(k, b) for k in (64, 128, 256, 512) for b in (1, 2, 4, 8)]
    return [Case(gcws("covtype", k=k, b=b, L=2), 1.0, holds(k, b), origin) for k, b in sizes]


def test_there_are_four_classes() -> None:
    assert judge(cases(lambda *_: True), ALL).state == HOLDS
    assert judge(cases(lambda *_: True, "rebuilt"), ALL).state == UNTESTED
    assert judge(cases(lambda *_: False), OFTEN).state == CONTRADICTED
    assert judge(cases(lambda k, b: b > 1 and k > 64), OFTEN).state == HOLDS
    for holds, small in (
        (lambda k, b: k > 64 or b > 2, "k = 64 with b of 1 and 2"),
        (lambda k, _: k > 64, "k = 64"),
        (lambda _, b: b > 1, "b = 1"),
        (lambda k, _: k > 128, "k of 64 and 128"),
    ):
        found = judge(cases(holds), ALL)
        assert (found.state, found.small) == (HOLDS_BUT, small)


def test_only_the_papers_own_rows_decide() -> None:
    found = judge([*cases(lambda *_: True, "rounded"), *cases(lambda *_: False, "derived")], ALL)
    assert (found.state, len(found.cases), len(found.others)) == (HOLDS, 16, 16)


def test_small_codes_are_not_left_out_if_no_others_are_left() -> None:
    few = [case for case in cases(lambda *_: False) if case.settings["k"] == 64 and case.settings["b"] == 1]
    plain = Case(original("covtype", L=2), 1.0, True, "exact")
    assert judge([*few, plain], ALL).state == CONTRADICTED


def test_a_statement_of_which_one_run_is_missing_has_no_verdict(tmp_path: Path) -> None:
    runs = made_up("m-noise-levels", lambda _: 80.0)
    found = verdict(tmp_path / "a", "m-noise-levels", "M-Noise2", *runs)
    assert held(found) == (CONTRADICTED, 0, 6)  # no p is better than another
    found = verdict(tmp_path / "b", "m-noise-levels", "M-Noise2", *runs[1:])
    assert (found.state, found.missing, found.cases) == (NOT_RUN, 1, ())


def test_all_cases_of_a_figure_count(tmp_path: Path) -> None:
    def accuracy(one: Settings) -> float:
        few = one["method"] == "gcws" and one["k"] == 64
        return 60.0 if one["method"] == "original" or few else 70.0

    found = verdict(tmp_path, "covtype-100", "The results for the original data", *made_up("covtype-100", accuracy))
    assert held(found) == (HOLDS_BUT, 36, 48)
    assert found.small == "k = 64"
    assert len(recommended(found.cases)) == 16


def test_much_faster_is_half_of_the_epochs() -> None:
    slow, fast = [10.0 * (step + 1) for step in range(10)], [50.0] * 4 + [100.0] * 6
    ours, theirs = gcws("semg", k=64, b=8, L=1), outcome(original("semg", L=1), 100, slow)
    assert [head_start(outcome(ours, 100, curve), theirs) for curve in (slow, fast)] == [-50, 0]
    early = outcome(original("semg", L=1), 100, [50.0] * 3 + [100.0] * 7)  # it needs 0.4 epochs
    assert head_start(outcome(ours, 100, fast), early) == -50
    assert head_start(outcome(ours, 90), theirs) == -10


def test_a_reasonable_accuracy_is_a_percentage_of_the_best_or_the_last() -> None:
    run = outcome(gcws("semg", k=64, b=8, L=1), 80, [20.0, 40.0, 100.0, 80.0])
    assert percent_at(0.5, run) == 40
    assert percent_at(0.5, run, last=1) == 50


def test_what_is_said_of_all_datasets_covers_all_figures_and_not_the_stand_in(tmp_path: Path) -> None:
    made = []
    for one in EXPERIMENTS["abstract"].runs:
        n, end = one["epochs"] * one["checkpoints"], 50.0 + one["b"] if one["method"] == "gcws" else 40.0
        steps = [end] * n if one["method"] == "gcws" else [end * (step + 1) / n for step in range(n)]
        made.append(outcome(one, end, steps))
    found = results(tmp_path, *made)
    counts = []
    for statement in EXPERIMENTS["abstract"].statements:
        given = statement.verdict(found)
        counts.append(len(given.cases))
        assert given.state == HOLDS
        assert "dailysports-moments" not in {case.settings["dataset"] for case in given.cases}
    assert counts == [300, 240, 300, 300, 208]
    assert [statement.share for statement in EXPERIMENTS["abstract"].statements[2:4]] == [OFTEN, TYPICALLY]


@pytest.mark.parametrize(("gcws_first", "state"), [(70.0, HOLDS), (40.0, CONTRADICTED)])
def test_the_last_layer_must_gain_after_the_first_batch(gcws_first: float, state: str, tmp_path: Path) -> None:
    curve = {"epoch": [0.1, 1.0], "batch": [1, 143], "net": [20.0, 80.0], "gcws": [gcws_first, 90.0], "accuracy": []}
    every = {"every": 1}, {"every": 143, "epochs": 10}
    runs = [outcome(last_layer("dailysports", k=256, b=8, H=H, **more), 90.0) for H in (200, 400) for more in every]
    for run in runs:
        run.result["curve"] = curve
    found = verdict(tmp_path / "a", "last-layer", "GCWS can drastically improve", *runs)
    assert found.state == state
    as_in_text = verdict(tmp_path / "d", "last-layer", "GCWS improves the test accuracy from 20%", *runs)
    assert held(as_in_text) == (state, 4 if state == HOLDS else 2, 4)
    history = verdict(tmp_path / "b", "last-layer", "GCWS improves the test accuracy; the entire", *runs)
    assert held(history) == (HOLDS, 4, 4)  # both runs of a net have the batches 1 and 143
    at_first = verdict(tmp_path / "c", "last-layer", "GCWS improves the test accuracy especially", *runs)
    assert held(at_first)[2] == 2


def test_a_table_takes_the_best_of_each_kernel(tmp_path: Path) -> None:
    def accuracy(one: Settings) -> float:
        return {"linear": 70.0, "rbf": 90.0, "rbf-scaled": 97.0 + (one["parameter"] == 5), "pgmm": 99.0}[one["kernel"]]

    made = results(tmp_path, *(outcome(one, accuracy(one), best_C=1.0) for one in EXPERIMENTS["table1"].runs))
    numbers = {number.what: number.found(made) for number in EXPERIMENTS["table1"].numbers}
    assert numbers["Table 1: DailySports, RBF"] == (98.0, "exact")
    assert svm("dailysports", kernel="rbf-scaled", parameter=5.0, C=C) in EXPERIMENTS["table1"].runs
    order = EXPERIMENTS["table1"].statements[0].verdict(made)
    assert [case.value for case in order.cases[:2]] == [28, 1]


def test_a_better_number_than_the_papers_is_not_against_it(tmp_path: Path) -> None:
    ours, theirs = gcws("covtype", k=64, b=8, L=2), original("covtype", L=2)
    for place, (accuracies, state) in enumerate(
        (((90, 77), HOLDS), ((81, 77), CONTRADICTED), ((84, 80), CONTRADICTED))
    ):
        runs = [outcome(one, accuracy) for one, accuracy in zip((ours, theirs), accuracies, strict=True)]
        found = verdict(tmp_path / str(place), "covtype-1", "After one epoch the accuracy is 84%", *runs)
        assert found.state == state
