"""The accuracy suite: datasets, learners, stored runs, tables and the picture."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.accuracy.datasets import Split, SuiteDataset, load_docstrings, suite_datasets
from benchmarks.accuracy.learners import Learner, all_learners, can_learn
from benchmarks.accuracy.report import SuiteResults, accuracy_table, choice_table, cost_table, draw
from benchmarks.accuracy.runs import Run, append_run, read_runs, run_learners, run_pairs


def blobs(seed: int) -> Split:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 240)
    X = rng.normal(size=(240, 3)) + 2 * y[:, None]
    return Split(X[:160], y[:160], X[160:], y[160:])


BLOBS = SuiteDataset("blobs", "generated", blobs)


def a_run(**changes: Any) -> Run:
    fields: dict[str, Any] = {"part": "learners", "dataset": "blobs", "learner": "GCWSNet", "seed": 0}
    fields |= {"rows": 160, "columns": 3, "accuracy": 90.0, "fit_seconds": 2.0, "predict_seconds": 0.5, "bytes": 100}
    return Run(**fields | changes)


def test_all_learners_that_can_learn_are_run_and_no_run_is_done_twice(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    file = tmp_path / "runs.jsonl"
    quick = [one for one in all_learners() if one.name in ("GCWSNet", "linear SGD", "RBFSampler + SGD", "LightGBM")]
    for run in run_learners(BLOBS, quick, 2, set()):
        append_run(file, run)
    found = read_runs(file)
    assert [(run.learner, run.seed) for run in found] == [
        *((learner.name, 0) for learner in quick),
        *((learner.name, 1) for learner in quick if learner.random),
    ]
    assert all(run.accuracy > 80 and run.bytes > 0 and run.fit_seconds > 0 for run in found)
    assert not list(run_learners(BLOBS, quick, 2, {run.key for run in found}))


def test_each_pair_is_run_and_the_choice_is_noted() -> None:
    found = list(run_pairs(BLOBS, 1, set()))
    assert [run.learner for run in found][:3] == ["auto auto", "numeric 1", "numeric 0.5"]
    assert found[0].chosen == "numeric 1"
    assert found[0].accuracy == found[1].accuracy


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    append_run(file, a_run())
    with file.open("a") as open_file:
        open_file.write('{"part": "lear')
    assert read_runs(file) == [a_run()]
    assert read_runs(tmp_path / "nothing") == []


def test_the_tables_have_means_and_ratios() -> None:
    runs = [
        a_run(accuracy=90.0),
        a_run(accuracy=94.0, seed=1),
        a_run(learner="LightGBM", accuracy=91.0, fit_seconds=6.0),
        a_run(learner="HistGradientBoosting", accuracy=89.0, fit_seconds=1.0),
    ]
    results = SuiteResults(runs, [BLOBS, SuiteDataset("other", "generated", blobs)], "learners")
    some = [Learner(name, 1, lambda seed, _: seed) for name in ("GCWSNet", "LightGBM", "HistGradientBoosting")]
    lines = accuracy_table(results, some).splitlines()
    assert lines[2:] == [
        "| blobs | generated | 160 | 3 | **92.0** | 91.0 | 89.0 |",
        "| mean, where all learned |  |  |  | 92.0 | 91.0 | 89.0 |",
    ]
    assert results.overall_accuracy("MLPClassifier") is None
    assert cost_table(results, some).splitlines()[3] == "| LightGBM | 1 | 3 | 1 | 1 |"


def test_the_choice_is_next_to_the_best_fixed_pair() -> None:
    runs = [
        a_run(part="pairs", learner="auto auto", accuracy=80.0, chosen="numeric 1"),
        a_run(part="pairs", learner="numeric 1", accuracy=80.0),
        a_run(part="pairs", learner="None 1", accuracy=83.0),
    ]
    line = choice_table(SuiteResults(runs, [BLOBS], "pairs")).splitlines()[2]
    assert line == "| blobs | 1 times numeric 1 | 80.0 | 83.0 (None 1) | -3.0 | 80.0 | 83.0 |"


def test_accuracy_and_time_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(SuiteResults([a_run()], [BLOBS], "learners"), all_learners(), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_generated_and_bundled_datasets_have_the_shapes_they_promise() -> None:
    datasets = suite_datasets()
    for name, (rows, columns, classes) in {
        "iris": (100, 4, 3),
        "moons": (4000, 10, 2),
        "shells": (6000, 8, 3),
        "clicks": (20_000, 10_000, 2),
    }.items():
        X, y, X_test, y_test = datasets[name].load(0)
        assert X.shape == (rows, columns)
        assert len(np.unique(y)) == classes
        assert X_test.shape[0] == len(y_test)


def test_only_small_datasets_depend_on_the_seed() -> None:
    datasets = suite_datasets()
    assert not np.array_equal(datasets["iris"].load(0).X_train, datasets["iris"].load(1).X_train)
    assert datasets["clicks"].load(0) is datasets["clicks"].load(1)


def test_a_learner_without_sparse_input_does_not_get_sparse_rows() -> None:
    X, y, _, _ = suite_datasets()["clicks"].load(0)
    dense_only = [learner.name for learner in all_learners() if not can_learn(learner, X, y)]
    assert dense_only == ["HistGradientBoosting"]


def test_docstrings_do_not_name_their_package() -> None:
    texts, labels = load_docstrings(("numpy", "scipy"))
    assert set(labels) == {"numpy", "scipy"}
    assert len(texts) == len(labels) == len(set(zip(texts, labels, strict=True)))
    assert not any("numpy" in text or "scipy" in text for text in texts)
    assert len(texts) > 1000
