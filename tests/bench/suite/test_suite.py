"""The suite: sets, who learns, results that are kept, and the page."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gcwsnet.bench.suite import _docstrings, _sets
from gcwsnet.bench.suite._page import accuracies, choices, costs, draw, overall
from gcwsnet.bench.suite._results import Result, read_results, run_pairs, run_rivals, write_result
from gcwsnet.bench.suite._rivals import Rival, rivals, suits
from gcwsnet.bench.suite._sets import Set, Split, all_sets


def blobs(seed: int) -> Split:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 240)
    X = rng.normal(size=(240, 3)) + 2 * y[:, None]
    return Split(X[:160], y[:160], X[160:], y[160:])


BLOBS = Set("blobs", "generated", blobs)


def result(**changes: Any) -> Result:
    kept: dict[str, Any] = {"part": "rivals", "set": "blobs", "who": "GCWSNet", "seed": 0, "rows": 160, "columns": 3}
    kept |= {"accuracy": 90.0, "fit_seconds": 2.0, "predict_seconds": 0.5, "bytes": 100}
    return Result(**kept | changes)


def test_all_who_can_learn_learn_and_nothing_is_run_twice(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    quick = [rival for rival in rivals() if rival.name in ("GCWSNet", "linear SGD", "RBFSampler + SGD", "LightGBM")]
    pytest.importorskip("lightgbm")
    for one in run_rivals(BLOBS, quick, 2, set()):
        write_result(file, one)
    found = read_results(file)
    assert [(one.who, one.seed) for one in found] == [
        *((rival.name, 0) for rival in quick),
        *((rival.name, 1) for rival in quick if rival.random),
    ]
    assert all(one.accuracy > 80 and one.bytes > 0 and one.fit_seconds > 0 for one in found)
    assert not list(run_rivals(BLOBS, quick, 2, {one.key for one in found}))


def test_each_pair_is_run_and_the_choice_is_noted() -> None:
    found = list(run_pairs(BLOBS, 1, set()))
    assert [one.who for one in found][:3] == ["auto auto", "numeric 1", "numeric 0.5"]
    assert found[0].note == "numeric 1"
    assert found[0].accuracy == found[1].accuracy


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    write_result(file, result())
    with file.open("a") as open_file:
        open_file.write('{"part": "riv')
    assert read_results(file) == [result()]
    assert read_results(tmp_path / "nothing") == []


def test_the_tables_have_means_and_ratios() -> None:
    results = [
        result(accuracy=90.0),
        result(accuracy=94.0, seed=1),
        result(who="LightGBM", accuracy=91.0, fit_seconds=6.0),
        result(who="HistGradientBoosting", accuracy=89.0, fit_seconds=1.0),
    ]
    some = [Rival(name, 1, lambda seed, _: seed) for name in ("GCWSNet", "LightGBM", "HistGradientBoosting")]
    lines = list(accuracies(results, [BLOBS], some))
    assert lines[2] == "| blobs | generated | 160 | 3 | **92.0** | 91.0 | 89.0 |"
    assert lines[3] == "| mean, where all learned | | | | 92.0 | 91.0 | 89.0 |"
    assert overall(results, [BLOBS], "MLPClassifier", lambda one: one.accuracy) is None
    assert list(costs(results, some))[3] == "| LightGBM | 1 | 3 | 1 | 1 |"


def test_the_choice_is_next_to_the_best_fixed_pair(tmp_path: Path) -> None:
    results = [
        result(part="pairs", who="auto auto", accuracy=80.0, note="numeric 1"),
        result(part="pairs", who="numeric 1", accuracy=80.0),
        result(part="pairs", who="None 1", accuracy=83.0),
    ]
    line = list(choices(results, [BLOBS]))[2]
    assert line == "| blobs | 1 times numeric 1 | 80.0 | 83.0 (None 1) | -3.0 | 80.0 | 83.0 |"
    draw([result()], [BLOBS], rivals(), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_generated_and_bundled_sets_are_what_they_say() -> None:
    by_name = {one.name: one for one in all_sets()}
    for name, (rows, columns, classes) in {
        "iris": (100, 4, 3),
        "moons": (4000, 10, 2),
        "shells": (6000, 8, 3),
        "clicks": (20_000, 10_000, 2),
    }.items():
        X, y, X_test, y_test = by_name[name].load(0)
        assert X.shape == (rows, columns)
        assert len(np.unique(y)) == classes
        assert X_test.shape[0] == len(y_test)
    assert not np.array_equal(by_name["iris"].load(0).X_train, by_name["iris"].load(1).X_train)
    assert by_name["clicks"].load(0) is by_name["clicks"].load(1)
    X = _sets.Split(*by_name["clicks"].load(0)).X_train
    assert not suits(next(rival for rival in rivals() if not rival.takes_sparse), X, np.zeros(X.shape[0]))


def test_docstrings_do_not_name_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_docstrings, "PACKAGES", ("numpy", "scipy"))
    texts, labels = _docstrings.load_docstrings()
    assert set(labels) == {"numpy", "scipy"}
    assert len(texts) == len(labels) == len(set(zip(texts, labels, strict=True)))
    assert not any("numpy" in text or "scipy" in text for text in texts)
    assert len(texts) > 1000
