"""`gcwsnet evaluate`: the metrics are those of scikit-learn, and JSON is JSON where one of them is undefined."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from tests.cli.command import fail, succeed

SMALL = ["--n-hashes", 16, "--hidden", 4, "--p", 1, "--scale", "numeric", "--epochs", 2]


def strict(text: str) -> Any:
    """JSON as the standard has it."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def write(path: Path, X: Any, target: Any, weight: Any) -> Path:
    columns = np.column_stack([X, target, weight])
    np.savetxt(path, columns, delimiter=",", header="a,b,target,weight", comments="")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of two classes and of numbers, and a model of each."""
    folder = tmp_path_factory.mktemp("evaluate")
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(300, 2)), rng.random(300)
    number = 3 * X[:, 0] + rng.normal(size=300)
    reading = ["--label", "target", "--weight", "weight"]
    for name, target in (("classes", number > 0), ("numbers", number)):
        write(folder / f"{name}.csv", X, target, weight)
        succeed("train", folder / f"{name}.csv", *reading, "--out", folder / name, *SMALL)
    write(folder / "one-class.csv", X, np.ones(300), weight)
    write(folder / "constant.csv", X, np.full(300, 0.1), weight)
    return folder


def evaluated(files: Path, model: str, rows: str, *more: Any) -> Any:
    return strict(succeed("evaluate", files / model, files / f"{rows}.csv", "--json", *more).stdout)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_classification_is_measured_as_by_scikit_learn(weighted: bool, files: Path) -> None:
    found = evaluated(files, "classes", "classes", *(["--weight", "weight"] if weighted else []))
    printed = succeed("predict", files / "classes", files / "classes.csv", "--probabilities", "--json").stdout
    rows = [json.loads(line) for line in printed.splitlines()]
    predicted = [row["predicted"] for row in rows]
    probability = [row["probability_1"] for row in rows]
    truth, weight = np.loadtxt(files / "classes.csv", delimiter=",", skiprows=1, usecols=(2, 3)).T
    how = {"sample_weight": weight} if weighted else {}
    assert found["rows"] == 300
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, predicted, **how))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, probability, **how))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(truth, probability, **how), abs=1e-3)
    assert found["f1_macro"] == pytest.approx(metrics.f1_score(truth, predicted, average="macro", **how))
    np.testing.assert_allclose(found["confusion_matrix"], metrics.confusion_matrix(truth, predicted, **how))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_regression_is_measured_as_by_scikit_learn(weighted: bool, files: Path) -> None:
    found = evaluated(files, "numbers", "numbers", *(["--weight", "weight"] if weighted else []))
    predicted = np.array(succeed("predict", files / "numbers", files / "numbers.csv").stdout.split()[1:], dtype=float)
    truth, weight = np.loadtxt(files / "numbers.csv", delimiter=",", skiprows=1, usecols=(2, 3)).T
    how = {"sample_weight": weight} if weighted else {}
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(truth, predicted, **how))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(truth, predicted, **how))
    assert found["r2"] == pytest.approx(metrics.r2_score(truth, predicted, **how))


def test_a_constant_target_has_no_r2(files: Path) -> None:
    found = evaluated(files, "numbers", "constant")
    assert found["r2"] is None
    assert found["rmse"] > 0
    assert "r2: undefined" in succeed("evaluate", files / "numbers", files / "constant.csv").stdout


def test_one_class_has_no_auc(files: Path) -> None:
    assert evaluated(files, "classes", "one-class")["auc"] is None
    assert "auc: undefined" in succeed("evaluate", files / "classes", files / "one-class.csv").stdout


def test_rows_without_any_weight_have_no_metrics(files: Path, tmp_path: Path) -> None:
    for name in ("classes", "numbers"):
        lines = (files / f"{name}.csv").read_text().splitlines()
        unweighted = [lines[0], *(line.rpartition(",")[0] + ",0" for line in lines[1:])]
        (tmp_path / f"{name}.csv").write_text("\n".join(unweighted) + "\n")
        found = strict(
            succeed("evaluate", files / name, tmp_path / f"{name}.csv", "--json", "--weight", "weight").stdout
        )
        assert found["rows"] == 300
        assert found["accuracy" if name == "classes" else "rmse"] is None


def test_weights_that_are_not_there_are_an_error(files: Path) -> None:
    assert "nothing" in fail("evaluate", files / "classes", files / "classes.csv", "--weight", "nothing")
