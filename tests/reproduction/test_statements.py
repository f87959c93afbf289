"""Statements are checked against results: made-up ones, for and against."""

from dataclasses import replace
from pathlib import Path

import pytest

from reproduction import EXPERIMENTS, Outcome
from reproduction.experiments.table_1 import C
from reproduction.settings import Settings, gcws, last_layer, nrff, original, svm, zero_bit
from reproduction.statements import FAILS, HOLDS, NOT_MEASURED, Verdict
from tests.reproduction.outcomes import outcome, results


def verdict(folder: Path, name: str, beginning: str, *outcomes: Outcome) -> Verdict:
    """Return the verdict of made-up outcomes on the statement with this beginning."""
    (statement,) = (statement for statement in EXPERIMENTS[name].statements if statement.text.startswith(beginning))
    return statement.verdict(results(folder, *outcomes))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_without_runs_only_formulas_have_a_verdict(name: str, tmp_path: Path) -> None:
    for statement in EXPERIMENTS[name].statements:
        found = statement.verdict(results(tmp_path))
        formula = name.startswith("count-sketch-") or statement.text.startswith("The variance of NRFF")
        assert found.state == (HOLDS if formula else NOT_MEASURED), statement.text


def by_power(way: str, p: float, accuracy: float) -> Outcome:
    return outcome(original("pendigits", L=2, transform=way, p=p), accuracy)


def test_powers_from_15_must_fail(tmp_path: Path) -> None:
    text = "After p >= 15"
    good = [by_power("power", 1, 90), by_power("power", 10, 60)]
    assert verdict(tmp_path / "a", "power-pendigits", text, *good).state == NOT_MEASURED
    failing = [by_power("power", 15, 12), by_power("power", 100, 10)]
    found = verdict(tmp_path / "b", "power-pendigits", text, *good, *failing)
    assert found == (HOLDS, "p = 10: 60%, p = 15: 12%, p = 100: 10%; best below 15: 90%")
    learning = [by_power("power", 15, 80), by_power("power", 100, 10)]
    assert verdict(tmp_path / "c", "power-pendigits", text, *good, *learning).state == FAILS


@pytest.mark.parametrize(("best", "state"), [(2.0, HOLDS), (20.0, FAILS)])
def test_the_best_p_must_be_in_the_range(best: float, state: str, tmp_path: Path) -> None:
    runs = [
        outcome(gcws("pendigits", k=k, b=8, L=1, p=p), 95 if p == best else 80) for k in (64, 512) for p in (1, 2, 20)
    ]
    assert verdict(tmp_path, "power-pendigits", "Using p from 0.5 to 5", *runs).state == state


@pytest.mark.parametrize(("ours", "state"), [(84.9, HOLDS), (81.0, FAILS)])
def test_covtype_must_be_close_to_84(ours: float, state: str, tmp_path: Path) -> None:
    runs = [outcome(gcws("covtype", k=64, b=8, L=2), ours), outcome(original("covtype", L=2), 76.4)]
    found = verdict(tmp_path, "covtype-1", "After one epoch the accuracy is 84%", *runs)
    assert found == (state, f"GCWSNet {ours}%, original data 76.4%")


def test_stopping_early_is_compared_by_shares(tmp_path: Path) -> None:
    ours = outcome(gcws("covtype", k=64, b=8, L=2, epochs=100), 91, [84.0] + 99 * [91.0])
    theirs = outcome(original("covtype", L=2, epochs=100), 89, [77.0] + 99 * [89.0])
    found = verdict(tmp_path, "covtype-100", "If training stops", ours, theirs)
    assert found == (HOLDS, "stopping after one epoch costs 7.7% with GCWS and 13.5% without")


@pytest.mark.parametrize(("loss", "state"), [(1.0, HOLDS), (4.0, FAILS)])
def test_count_sketch_may_lose_little(loss: float, state: str, tmp_path: Path) -> None:
    runs = [outcome(gcws("m-noise1", k=512, b=8, L=2, p=80, m=m), 79 - (m > 1) * loss) for m in (1, 16)]
    assert verdict(tmp_path, "count-sketch", "With m = 16", *runs).state == state


@pytest.mark.parametrize(("ours", "state"), [(60, HOLDS), (40, FAILS)])
def test_one_bit_must_beat_the_best_nrff(ours: float, state: str, tmp_path: Path) -> None:
    runs = [
        outcome(gcws("dailysports", k=64, b=1, L=2), ours),
        *(outcome(nrff("dailysports", k=64, gamma=gamma, L=2), 30 + gamma / 10) for gamma in (1, 10, 100)),
        outcome(nrff("dailysports", k=64, gamma=10, length="sqrt(k)", L=2), 50),
    ]
    found = verdict(tmp_path, "nrff", "GCWS performs considerably better than NRFF at the same k, even", *runs)
    assert found.state == state
    assert f"by {ours - 50:.1f}" in found.numbers


def test_one_epoch_must_be_close_to_the_best_of_five(tmp_path: Path) -> None:
    settings = gcws("semg", k=64, b=8, L=2, epochs=5)
    flat, slow = ([50.0] * 50, [20.0] * 10 + [50.0] * 40)
    text = "With b = 8 bits"
    assert verdict(tmp_path / "a", "semg-p1", text, outcome(settings, 50, flat)).state == HOLDS
    assert verdict(tmp_path / "b", "semg-p1", text, outcome(settings, 50, slow)).state == FAILS


@pytest.mark.parametrize(("gcws_first", "state"), [(70.0, HOLDS), (40.0, FAILS)])
def test_the_last_layer_must_gain_after_the_first_batch(gcws_first: float, state: str, tmp_path: Path) -> None:
    settings = last_layer("dailysports", k=256, b=8, H=200, every=1)
    curve = {"epoch": [0.1, 1.0], "batch": [1, 143], "net": [20.0, 80.0], "gcws": [gcws_first, 90.0], "accuracy": []}
    run = outcome(settings, 90.0, curve=None)
    run.result["curve"] = curve
    found = verdict(tmp_path, "last-layer", "GCWS drastically improves", run)
    assert found == (state, f"after the first batch, H = 200: from 20% to {gcws_first:.0f}%")


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


@pytest.mark.parametrize(("i", "state"), [([0.11, 0.52], HOLDS), ([0.11, 0.7], FAILS)])
def test_equal_i_must_be_close_to_the_kernel(i: list[float], state: str, tmp_path: Path) -> None:
    run = outcome(zero_bit("pendigits", p=20, k=4096, pairs=60), 0, J=[0.1, 0.5], i=i, i_and_t=[0.1, 0.5])
    assert verdict(tmp_path, "zero-bit", "P[i* of u", run).state == state


@pytest.mark.parametrize(("best", "state"), [(90.5, HOLDS), (93.0, FAILS)])
def test_no_other_learning_rate_may_be_better(best: float, state: str, tmp_path: Path) -> None:
    runs = [
        outcome(gcws(name, k=256, b=8, L=2, p=p, rate=rate), accuracy)
        for name, p in (("dailysports", 1), ("pendigits", 2))
        for rate, accuracy in ((0.001, 90.0), (0.01, best))
    ]
    assert verdict(tmp_path, "learning-rates", "Learning rates other", *runs).state == state


@pytest.mark.parametrize(("gain", "state"), [(5.0, HOLDS), (0.5, FAILS)])
def test_all_noise_sets_must_gain_from_a_large_p(gain: float, state: str, tmp_path: Path) -> None:
    runs = [
        outcome(gcws(f"m-noise{level}", k=512, b=8, L=2, p=p), 70 + gain * (p == 80))
        for level in (1, 6)
        for p in (1, 80)
    ]
    assert verdict(tmp_path, "m-noise-levels", "M-Noise2", *runs).state == state
