"""Statements are checked against results: made-up ones, for and against."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gcwsnet import GCWSHasher, pgmm_kernel
from reproduction import EXPERIMENTS, Outcome
from reproduction.experiments.table_1 import C
from reproduction.settings import Settings, gcws, last_layer, original, svm
from reproduction.statements import (
    ALL,
    FAILS,
    HOLDS,
    NOT_MEASURED,
    OFTEN,
    OTHER_ROWS,
    OWN_ROWS,
    TYPICALLY,
    Case,
    Share,
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


@pytest.mark.parametrize(("share", "state"), [(ALL, FAILS), (TYPICALLY, HOLDS), (OFTEN, HOLDS)])
def test_words_of_the_paper_say_in_how_many_cases_it_must_hold(share: Share, state: str, tmp_path: Path) -> None:
    cases = [Case(str(one), one, one > 0) for one in range(5)]
    found = Statement("Four of five.", "positive", lambda _: cases, share=share).verdict(results(tmp_path))
    assert (found.state, found.against) == (state, ("0: 0 points",))
    few = [replace(one, holds=one.value > 3) for one in cases]
    worse = Statement("One of five.", "large", lambda _: few, share=OFTEN)
    assert worse.verdict(results(tmp_path)).state == FAILS


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


def test_a_figure_that_is_against_what_is_said_of_all_is_named(tmp_path: Path) -> None:
    few = {"dataset": "covtype", "epochs": 100, "b": 8, "k": 64, "H": 100}
    runs = everywhere(
        lambda one: 40.0 if one["method"] == "original" or one.items() & few.items() == few.items() else 50.0 + one["b"]
    )
    found = verdict(tmp_path, "abstract", "We recommend", *runs)
    assert found.state == FAILS
    assert found.against == ("Covtype, k = 64, b = 8, L = 2, H = 100 (Figure 3): -14 points",)


@pytest.mark.parametrize(("least", "state"), [(0.5, HOLDS), (2.0, FAILS)])
def test_p_must_be_as_robust_as_with_both_alternatives(least: float, state: str, tmp_path: Path) -> None:
    """The accuracy is reasonable from some p on, which is larger for u^p than for p log u."""
    from_p = {"gcws": least, "power": 5.0, "log": 1.0}

    def accuracy(one: Settings) -> float:
        return 80.0 if one["p"] >= from_p[one.get("transform", "gcws")] else 60.0

    found = verdict(tmp_path, "power-m-noise1", "GCWSNet has one single", *grid_outcomes("power-m-noise1", accuracy))
    n = 12 if state == HOLDS else 6
    assert (found.state, found.numbers.partition(",")[0]) == (state, f"{n} of 12 cases")


@pytest.mark.parametrize(("high", "state"), [(12.0, HOLDS), (80.0, FAILS)])
def test_powers_from_15_must_fail(high: float, state: str, tmp_path: Path) -> None:
    runs = grid_outcomes("power-pendigits", lambda one: high if one["p"] >= 15 else 90.0)
    assert verdict(tmp_path, "power-pendigits", "After p >= 15", *runs).state == state


@pytest.mark.parametrize(("best", "worst", "state"), [(2.0, 91.0, HOLDS), (20.0, 91.0, FAILS), (2.0, 90.0, FAILS)])
def test_the_range_must_have_the_best_p_and_no_bad_one(best: float, worst: float, state: str, tmp_path: Path) -> None:
    runs = grid_outcomes("power-pendigits", lambda one: 95 if one["p"] == best else worst)
    assert verdict(tmp_path, "power-pendigits", "Using p from 0.5 to 5", *runs).state == state


@pytest.mark.parametrize(("k", "state"), [(None, HOLDS), (64, FAILS)])
def test_both_k_must_beat_the_power_transformation(k: int | None, state: str, tmp_path: Path) -> None:
    runs = grid_outcomes("power-m-noise1", lambda one: 60.0 if one["method"] == "original" or one["k"] == k else 80.0)
    found = verdict(tmp_path, "power-m-noise1", "Applying the power transformation directly", *runs)
    assert (found.state, found.numbers.partition(" cases")[0]) == (state, "6 of 6" if k is None else "3 of 6")


@pytest.mark.parametrize(("ours", "state"), [(84.9, HOLDS), (81.0, FAILS)])
def test_covtype_must_be_close_to_84(ours: float, state: str, tmp_path: Path) -> None:
    runs = [outcome(gcws("covtype", k=64, b=8, L=2), ours), outcome(original("covtype", L=2), 76.4)]
    assert verdict(tmp_path, "covtype-1", "After one epoch the accuracy is 84%", *runs).state == state


@pytest.mark.parametrize(("first", "state"), [(84.0, HOLDS), (76.0, FAILS)])
def test_stopping_early_is_compared_by_shares(first: float, state: str, tmp_path: Path) -> None:
    ours = [outcome(gcws("covtype", k=64, b=8, L=2, epochs=epochs), end) for epochs, end in ((1, first), (100, 91))]
    theirs = [outcome(original("covtype", L=2, epochs=epochs), end) for epochs, end in ((1, 77), (100, 89))]
    assert verdict(tmp_path, "covtype-100", "If training stops", *ours, *theirs).state == state


def test_nets_that_only_guess_say_nothing(tmp_path: Path) -> None:
    for place, (plain, state) in enumerate(((17.0, NOT_MEASURED), (25.0, HOLDS))):
        runs = grid_outcomes("semg-p1", lambda one: 50.0 if one["method"] == "gcws" else plain)  # noqa: B023
        found = verdict(tmp_path / str(place), "semg-p1", "Two layers of hidden units", *runs)
        assert found.state == state
        assert ("17.0% and 17.0%, a guess 16.7%" in found.numbers) == (state == NOT_MEASURED)


@pytest.mark.parametrize(("loss", "state"), [(1.0, HOLDS), (4.0, FAILS)])
def test_count_sketch_may_lose_little_in_every_case(loss: float, state: str, tmp_path: Path) -> None:
    runs = grid_outcomes("count-sketch", lambda one: 79 - loss * ((one["m"], one["k"], one["L"]) == (16, 64, 1)))
    assert verdict(tmp_path, "count-sketch", "When m <= 16", *runs).state == state


@pytest.mark.parametrize(("ours", "state"), [(60, HOLDS), (54, FAILS)])
def test_one_bit_must_beat_the_best_nrff(ours: float, state: str, tmp_path: Path) -> None:
    def accuracy(one: Settings) -> float:
        if one["method"] == "gcws":
            return ours
        return 50.0 if (one["gamma"], one["length"]) == (10.0, "sqrt(k)") else 30.0

    runs = grid_outcomes("nrff", accuracy)
    found = verdict(tmp_path, "nrff", "GCWS performs considerably better than NRFF at the same k, even", *runs)
    assert found.state == state
    assert f"from {ours - 50} to {ours - 50}, " in found.numbers


def test_one_epoch_must_be_close_to_the_best_of_five(tmp_path: Path) -> None:
    text = "GCWSNet reaches the close-to-the-best"
    flat, slow = ([50.0] * 50, [20.0] * 10 + [50.0] * 40)
    for place, (curve, state) in enumerate(((flat, HOLDS), (slow, FAILS))):
        runs = [outcome(one, 50, curve) for one in EXPERIMENTS["semg-p1"].grid(False)]
        assert verdict(tmp_path / str(place), "semg-p1", text, *runs).state == state


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


def test_a_missing_number_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path))
    (tmp_path / "covtype.npz").touch()
    rows = {row.what: row.verdict for row in EXPERIMENTS["table1"].compare(results(tmp_path / "none"))}
    assert rows["Covtype, linear"] == NOT_MEASURED
    assert rows["PAMAP101, linear"] == "dataset not available"


def test_numbers_that_are_far_off_or_from_other_data_are_marked(tmp_path: Path) -> None:
    def row(settings: Settings, accuracy: float, origin: str) -> tuple[str, ...]:
        one = outcome(settings, accuracy)
        made = results(tmp_path / f"{accuracy}{origin}", replace(one, origin=origin))
        return tuple(EXPERIMENTS["covtype-1"].compare(made)[0])[1:]

    ours = gcws("covtype", k=64, b=8, L=2)
    assert row(ours, 84.7, "exact") == ("84", "84.7", "agrees")
    assert row(ours, 80.0, "rounded") == ("84", "80.0", "differs by -4.0")
    assert row(ours, 84.7, "derived") == ("84", "84.7", "derived data: +0.7, not to be compared")


@pytest.mark.parametrize(("i", "state"), [([0.11, 0.52], HOLDS), ([0.11, 0.55], FAILS)])
def test_equal_i_must_be_close_to_the_kernel(i: list[float], state: str, tmp_path: Path) -> None:
    runs = [outcome(one, 0, J=[0.1, 0.5], i=i, i_and_t=[0.1, 0.5]) for one in EXPERIMENTS["zero-bit"].grid(False)]
    assert verdict(tmp_path, "zero-bit", "P[i* of u", *runs).state == state


def test_equal_i_say_nothing_about_the_kernel_of_one_column() -> None:
    hasher = GCWSHasher(256, random_state=0).fit([[1.0]])
    i = hasher.samples([[1.0], [0.25]])[0]
    assert np.array_equal(i[0], i[1])
    assert pgmm_kernel([[1.0]], [[0.25]])[0, 0] == 0.25


@pytest.mark.parametrize(("best", "state"), [(90.5, HOLDS), (93.0, FAILS)])
@pytest.mark.parametrize("L", [1, 2])
def test_no_other_learning_rate_may_be_better(best: float, state: str, L: int, tmp_path: Path) -> None:
    runs = grid_outcomes("learning-rates", lambda one: best if (one["learning_rate"], one["L"]) == (0.01, L) else 90.0)
    assert verdict(tmp_path, "learning-rates", "Learning rates other", *runs).state == state


@pytest.mark.parametrize(("gain", "state"), [(9.0, HOLDS), (0.5, FAILS)])
def test_all_noise_sets_must_gain_from_a_large_p(gain: float, state: str, tmp_path: Path) -> None:
    def accuracy(one: Settings) -> float:
        return 70 + (one["p"] == 80) * (gain if one["dataset"] == "m-noise6" else 9.0)

    runs = grid_outcomes("m-noise-levels", accuracy)
    assert verdict(tmp_path, "m-noise-levels", "M-Noise2", *runs).state == state
