"""`gcwsnet predict | evaluate | info` for kernel machines that were saved in Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gcwsnet import PGMMClassifier, PGMMRegressor
from tests.cli.command import succeed
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
