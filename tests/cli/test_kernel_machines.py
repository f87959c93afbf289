"""`gcwsnet train --model kernel`, and `predict | evaluate | info` for kernel machines that were saved in Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gcwsnet
from gcwsnet import PGMMClassifier, PGMMRegressor
from tests.cli.command import fail, succeed
from tests.estimators.tables import mixed_table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder with rows of mixed columns as CSV, a classifier of them, and the rows."""
    folder = tmp_path_factory.mktemp("machines")
    X, y = mixed_table(400)
    X = X[["height", "city", "flag"]]
    model = PGMMClassifier(p=1.0, random_state=0).fit(X[:300], y[:300])
    model.save(folder / "classes.safetensors")
    X[300:].assign(label=y[300:]).to_csv(folder / "rows.csv", index=False)
    return folder, model, X[300:], y[300:]


def test_predict_writes_what_the_estimator_predicts(table: Any, tmp_path: Path) -> None:
    folder, model, X, _ = table
    out = tmp_path / "predicted.csv"
    succeed("predict", folder / "classes.safetensors", folder / "rows.csv", "--probabilities", "--out", out)
    found = pd.read_csv(out)
    assert found["predicted"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(found[["probability_no", "probability_yes"]], model.predict_proba(X), rtol=1e-12)


def test_evaluate_measures_it(table: Any) -> None:
    folder, model, X, y = table
    command = ["evaluate", folder / "classes.safetensors", folder / "rows.csv", "--label", "label", "--json"]
    found = json.loads(succeed(*command).stdout)
    assert found["rows"] == 100
    assert found["accuracy"] == pytest.approx(model.score(X, y))
    probability = model.predict_proba(X)[np.arange(100), np.searchsorted(model.classes_, y)]
    assert found["log_loss"] == pytest.approx(-np.log(probability).mean())


def test_evaluate_measures_numbers_of_arrays(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = X[:, 0] + X[:, 1]
    model = PGMMRegressor(p=1.0, random_state=0).fit(X[:200], y[:200])
    model.save(tmp_path / "model.safetensors")
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y])[200:], delimiter=",", header="a,b,y", comments="")
    command = ["evaluate", tmp_path / "model.safetensors", tmp_path / "rows.csv", "--label", "y", "--json"]
    assert json.loads(succeed(*command).stdout)["r2"] == pytest.approx(model.score(X[200:], y[200:]))


def test_info_describes_it(table: Any) -> None:
    folder, model, _, _ = table
    found = json.loads(succeed("info", folder / "classes.safetensors", "--json").stdout)
    assert (found["kind"], found["estimator"], found["classes"]) == ("model", "PGMMClassifier", ["no", "yes"])
    assert (found["alpha"], found["p"], found["rows_seen"]) == (model.alpha_, 1.0, 300)
    assert list(found["table"]) == ["height", "city", "flag"]
    assert "hidden" not in found


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_train_learns_what_the_estimator_learns_from_the_frame(task: str, tmp_path: Path) -> None:
    X, y = mixed_table(300)
    X = X[["height", "city", "flag"]]
    target = y if task == "classification" else np.nan_to_num(X["height"].to_numpy() ** 2).round(3)
    file = tmp_path / "rows.csv"
    X.assign(y=target).to_csv(file, index=False)
    command = ["train", file, "--label", "y", "--model", "kernel", "--p", 1, "--out", tmp_path / "model", "--json"]
    found = json.loads(succeed(*command).stdout)
    make: Any = PGMMClassifier if task == "classification" else PGMMRegressor
    model, loaded = make(p=1.0, random_state=0).fit(X, target), gcwsnet.load(tmp_path / "model")
    assert type(loaded) is make
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert (found["rows"], found["alpha"], found["p"]) == (300, model.alpha_, 1.0)
    score = found["held_out"]
    assert score["rows"] + score["rows_learned"] == 300
    assert score["accuracy" if task == "classification" else "r2"] > 0.8
    known = json.loads(succeed("info", tmp_path / "model", "--json").stdout)
    assert known["held_out"]["importances"] == score["importances"]


def test_train_refuses_what_a_kernel_machine_cannot_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.csv"
    pd.DataFrame({"a": range(30), "y": np.arange(30) / 7}).to_csv(file, index=False)
    command = ["train", file, "--label", "y", "--model", "kernel", "--out", tmp_path / "model"]
    of_nets: list[list[Any]] = [["--hidden", 8], ["--bits", 4], ["--resume"], ["--test", file]]
    for more in of_nets:
        error = fail(*command, *more, code=2)
        assert more[0] in error
        assert "a kernel machine has no net and no codes" in error
    error = fail(
        "train", "-", "--label", "y", "--model", "kernel", "--out", tmp_path / "model", input=file.read_bytes()
    )
    assert "put the rows into a file" in error
    monkeypatch.setattr("gcwsnet.estimators._pgmm.MAX_ROWS", 20)
    assert "at most 20 rows" in fail(*command)


def test_train_leaves_the_checkpoint_of_another_run(tmp_path: Path) -> None:
    file, checkpoint = tmp_path / "rows.csv", tmp_path / "model" / "checkpoint.safetensors"
    pd.DataFrame({"a": range(30), "y": np.arange(30) / 7}).to_csv(file, index=False)
    checkpoint.parent.mkdir()
    checkpoint.write_bytes(b"")
    command = ["train", file, "--label", "y", "--model", "kernel", "--out", tmp_path / "model"]
    assert "a run that did not finish; drop it with --restart" in fail(*command)
    succeed(*command, "--restart")
    assert not checkpoint.exists()
