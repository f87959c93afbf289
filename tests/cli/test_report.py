"""`gcwsnet train --report` writes a page about the rows that were held out, and the model file has importances."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.cli.command import fail, run, succeed

SMALL = ["--n-hashes", 16, "--hidden", 4, "--epochs", 5, "--search", "off"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    X = np.random.default_rng(0).normal(size=(400, 3)).round(5)
    y = np.where(X[:, 1] + 0.3 * X[:, 2] > 0, "yes", "no")
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def train(table: Path, *more: Any) -> Any:
    return succeed("train", table, "--label", "y", *SMALL, "--out", table.parent / "m", *more)


def test_the_page_has_the_score_that_is_printed(table: Path) -> None:
    report = table.parent / "report.html"
    score = json.loads(train(table, "--report", report, "--json").stdout)["held_out"]
    page = report.read_text()
    found = dict(re.findall(r"<div><span>(.*?)</span><b>([^ <]*)", page))
    assert found == {
        "accuracy": f"{score['accuracy']:.3f}",
        "log loss": f"{score['log_loss']:.3f}",
        "AUC": f"{score['auc']:.3f}",
    }
    assert "<h1>rows.csv: y</h1>" in page
    assert f"are of {score['rows']} held-out rows, which it has not seen." in page
    assert f"It learned from {score['rows_learned']} others." in page
    assert [name for name, _, _ in score["importances"]][:2] == ["b", "c"]


def test_the_model_has_the_importances_of_its_columns(table: Path) -> None:
    train(table)
    shown = succeed("info", table.parent / "m").stdout
    order = [line.split()[0] for line in shown.splitlines() if re.match(r"[abc] +number +-?\d", line)]
    assert order[0] == "b"
    assert sorted(order) == ["a", "b", "c"]


def test_there_is_no_report_without_held_out_rows(table: Path) -> None:
    report = ["--report", table.parent / "report.html"]
    given = ["train", table, "--label", "y", *SMALL, "--out", table.parent / "m", *report]
    assert "--report" in fail(*given, "--holdout", 0, code=2)
    assert "--report" in fail(*given, "--workers", 1, code=2)
    stream = ["train", "-", "--format", "csv", "--label", "y", *SMALL, "--epochs", 1, "--out", table.parent / "m"]
    assert "--report" in fail(*stream, *report, code=2, input=table.read_bytes())
    succeed("hash", table, "--label", "y", *SMALL[:2], "--search", "off", "--out", table.parent / "codes")
    assert "--report" in fail("train", table.parent / "codes", "--out", table.parent / "m", *report, code=2)
    train(table)
    assert "a resumed run has been scored before" in train(table, "--resume", *report).stderr
    table.write_text("a,y\n1,0\n")
    assert "too few to hold some out" in run(*given[:-1], table.parent / "report.html", "--restart").stderr
    assert not (table.parent / "report.html").exists()


def test_the_report_does_not_replace_the_rows(table: Path) -> None:
    assert "report" in fail("train", table, "--label", "y", "--out", table.parent / "m", "--report", table, code=2)


@pytest.mark.parametrize("name", ["m/model.safetensors", "m/run.json", "m", "."])
def test_the_report_does_not_replace_files_of_the_model_nor_a_folder(name: str, table: Path) -> None:
    given = ["train", table, "--label", "y", *SMALL, "--out", table.parent / "m", "--report", table.parent / name]
    assert name.rpartition("/")[2] in fail(*given, code=2)
    assert not (table.parent / "m").exists()


def test_the_folder_of_a_report_is_made(table: Path) -> None:
    train(table, "--report", table.parent / "new" / "report.html")
    assert (table.parent / "new" / "report.html").is_file()


def test_notes_say_what_is_odd_about_the_rows(tmp_path: Path) -> None:
    lines = [f"{i},{i},5,{'rare' if i == 50 else 'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "rows.csv").write_text(",x,same,y\n" + "\n".join(lines) + "\n")
    said = succeed("train", tmp_path / "rows.csv", "--label", "y", *SMALL, "--out", tmp_path / "m").stderr
    assert (
        "rows.csv: the column 'Unnamed: 0' has no name, as the row numbers that pandas writes; if it is that, " in said
    )
    assert "name it with --exclude" in said
    assert "note: 'same' has the same value in all rows, and says nothing about a label" in said
    assert "note: the label 'rare' has one row, which cannot be both learned and held out for a score" in said
