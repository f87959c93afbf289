"""The score that `gcwsnet train` prints is that of rows which the scored model did not learn from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import gcwsnet
from gcwsnet.estimators._load import load_with_description
from gcwsnet.files import Batches, read, split
from tests.cli.command import fail, succeed

SMALL = ["--n-hashes", 16, "--hidden", 4, "--epochs", 2]
NAMES = ["a", "b", "c"]


def write_table(path: Path, task: str, n: int = 300) -> None:
    X = np.random.default_rng(0).normal(size=(n, 3)).round(5)
    y: Any = {"two": X[:, 0] + X[:, 1] > 0, "three": np.digitize(X[:, 0], [-0.5, 0.5]), "number": X[:, 0] + 2 * X[:, 2]}
    pd.DataFrame(X, columns=NAMES).assign(y=np.array(y[task], dtype=float)).to_csv(path, index=False)


def train(file: Path, out: Path, *more: Any) -> dict[str, Any]:
    result = succeed("train", file, "--label", "y", "--out", out, *SMALL, "--json", *more)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def write_part(part: Batches, path: Path) -> None:
    frames = [pd.DataFrame(batch.X, columns=NAMES).assign(y=batch.y) for batch in part]
    pd.concat(frames).to_csv(path, index=False)


@pytest.mark.parametrize("task", ["two", "three", "number"])
def test_the_score_is_that_of_a_model_that_never_saw_the_held_out_rows(task: str, tmp_path: Path) -> None:
    write_table(tmp_path / "all.csv", task)
    score = train(tmp_path / "all.csv", tmp_path / "m")["held_out"]
    parts = split(read(tmp_path / "all.csv", label="y"), 0.2, seed=0)
    for part, name in zip(parts, ("learned.csv", "held_out.csv"), strict=True):
        write_part(part, tmp_path / name)
    assert "held_out" not in train(tmp_path / "learned.csv", tmp_path / "apart", "--holdout", 0)
    found = json.loads(succeed("evaluate", tmp_path / "apart", tmp_path / "held_out.csv", "--json").stdout)
    expected = {"number": ["mae", "r2", "rmse", "rows"], "two": ["accuracy", "auc", "log_loss", "rows"]}
    names = expected.get(task, ["accuracy", "log_loss", "rows"])
    assert sorted(score) == sorted([*names, "rows_learned", "importances"])
    assert {name: found[name] for name in names} == {name: score[name] for name in names}
    tells = {"two": {"a", "b"}, "three": {"a"}, "number": {"a", "c"}}[task]
    assert {name for name, _, _ in score["importances"][: len(tells)]} == tells
    assert score["rows"] + score["rows_learned"] == 300
    assert 30 <= score["rows"] <= 90


def test_the_model_has_learned_from_all_rows_whatever_was_held_out(tmp_path: Path) -> None:
    write_table(tmp_path / "all.csv", "two")
    shown = [train(tmp_path / "all.csv", tmp_path / str(share), "--holdout", share) for share in (0, 0.2, 0.5)]
    models = [gcwsnet.load(tmp_path / str(share)) for share in (0, 0.2, 0.5)]
    for model in models[1:]:
        for name, weights in models[0].trainer_.net.weights().items():
            assert_array_equal(model.trainer_.net.weights()[name], weights)
    assert [one["rows"] for one in shown] == [300, 300, 300]
    held_out = [one.get("held_out", {"rows": 0})["rows"] for one in shown]
    assert held_out[0] == 0 < held_out[1] < held_out[2]


def test_the_score_is_a_table_in_the_terminal_and_an_entry_of_the_model(tmp_path: Path) -> None:
    write_table(tmp_path / "all.csv", "two")
    result = succeed("train", tmp_path / "all.csv", "--label", "y", "--out", tmp_path / "m", *SMALL)
    score = load_with_description(tmp_path / "m")[1]["held_out"]
    lines = result.stdout.splitlines()
    place = lines.index(
        f"{score['rows']} held-out rows, of a model that learned from the other {score['rows_learned']}:"
    )
    assert [line.split() for line in lines[place + 1 :]] == [
        ["accuracy", f"{score['accuracy']:.4f}"],
        ["log", "loss", f"{score['log_loss']:.4f}"],
        ["AUC", f"{score['auc']:.4f}"],
    ]
    assert "progressive" not in result.stdout
    assert f"held out: accuracy {score['accuracy']:.4f}" in result.stderr


def test_early_stopping_on_held_out_rows_decides_how_often_all_rows_are_learned(tmp_path: Path) -> None:
    write_table(tmp_path / "all.csv", "two")
    found = train(tmp_path / "all.csv", tmp_path / "m", "--epochs", 20, "--early-stopping", "--learning-rate", 0.05)
    assert 1 <= found["epochs"] < 20
    train(tmp_path / "all.csv", tmp_path / "same", "--epochs", found["epochs"], "--learning-rate", 0.05)
    early, same = (gcwsnet.load(tmp_path / name).trainer_.net.weights() for name in ("m", "same"))
    for name, weights in same.items():
        assert_array_equal(early[name], weights)
    assert gcwsnet.load(tmp_path / "m").early_stopping


def test_few_rows_and_rare_classes_give_a_score_or_none(tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("a,y\n1,0\n2,1\n")
    assert train(tmp_path / "two.csv", tmp_path / "m")["rows"] == 2
    rows = [f"{i},{'rare' if i == 7 else 'xy'[i % 2]}" for i in range(60)]
    (tmp_path / "rare.csv").write_text("a,y\n" + "\n".join(rows) + "\n")
    for seed in range(4):
        found = train(tmp_path / "rare.csv", tmp_path / "r", "--random-state", seed)["held_out"]
        assert 0 <= found["accuracy"] <= 1
        assert found["log_loss"] > 0


def test_rows_cannot_be_held_out_of_a_stream_or_of_codes(tmp_path: Path) -> None:
    write_table(tmp_path / "all.csv", "two", 60)
    holdout = ["--out", tmp_path / "m", "--holdout", 0.5]
    piped: dict[str, Any] = {"input": (tmp_path / "all.csv").read_bytes()}
    assert "--holdout" in fail("train", "-", "--format", "csv", "--label", "y", *holdout, **piped)
    succeed("train", "-", "--format", "csv", "--label", "y", "--out", tmp_path / "stream", *SMALL[:4], **piped)
    succeed("hash", tmp_path / "all.csv", "--label", "y", "--out", tmp_path / "codes", *SMALL[:2])
    assert "--holdout" in fail("train", tmp_path / "codes", *holdout, code=2)
    assert "--holdout" in fail("train", tmp_path / "all.csv", "--workers", 1, *holdout, code=2)
