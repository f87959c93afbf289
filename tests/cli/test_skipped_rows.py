"""Rows that cannot be read: `predict` keeps their places empty, and `predict` and `evaluate` say how many there are."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet.tables._errors import row_positions
from tests.cli.command import fail, succeed
from tests.cli.test_nothing_lost import SMALL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model "m" of two classes, and a.csv, b.csv with rows 1, 2, 5 and 7 of 8 that cannot be read."""
    folder = tmp_path_factory.mktemp("skipped")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    lines = ["a,b,y", *(f"{a:.3f},{b:.3f},{int(a > 0)}" for a, b in X)]
    (folder / "train.csv").write_text("\n".join(lines) + "\n")
    succeed("train", folder / "train.csv", "--label", "y", "--out", folder / "m", *SMALL)
    (folder / "a.csv").write_text("a,b,y\n3,0,1\nx,0,1\ninf,1,0\n-3,0,0\n3,0,1\n1\n")
    (folder / "b.csv").write_text("a,b,y\n-3,0,0\n-3,0,zero\n")
    (folder / "c.csv").write_text("a,b,y\n-3,0,0\n-3,z,0\n")
    return folder


def predict(folder: Path, *more: Any) -> Any:
    return succeed("predict", folder / "m", folder / "a.csv", folder / "c.csv", "--on-error", "skip", *more)


EXPECTED = ["1", "", "", "0", "1", "", "0", ""]


def test_the_predictions_of_skipped_rows_are_empty_and_in_their_places(folder: Path, tmp_path: Path) -> None:
    done = predict(folder)
    assert done.stdout.splitlines() == ["predicted", *(one or '""' for one in EXPECTED)]
    assert "gcwsnet: 4 of 8 rows could not be read, and their predictions are empty; the first: " in done.stderr
    assert "a.csv:3:a: a value must be a number, got 'x'" in done.stderr
    lines = predict(folder, "--json", "--probabilities").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert [one["predicted"] for one in found] == [None if one == "" else int(one) for one in EXPECTED]
    assert [one["probability_0"] is None for one in found] == [one == "" for one in EXPECTED]
    predict(folder, "--out", tmp_path / "p.parquet")
    written = pyarrow.parquet.ParquetFile(tmp_path / "p.parquet").metadata.row_group(0).column(0)
    assert written.compression == "ZSTD"  # snappy ends the process where it has no memory
    column = pyarrow.parquet.read_table(tmp_path / "p.parquet")["predicted"]
    assert column.to_pylist() == [None if one == "" else int(one) for one in EXPECTED]
    predict(folder, "--out", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == done.stdout


def test_nothing_is_said_where_all_rows_are_read(folder: Path) -> None:
    done = succeed("predict", folder / "m", folder / "train.csv", "--on-error", "skip")
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 201


def test_evaluate_counts_skipped_rows(folder: Path) -> None:
    files = [folder / "a.csv", folder / "b.csv"]
    done = succeed("evaluate", folder / "m", *files, "--on-error", "skip", "--json")
    assert "gcwsnet: 4 of 8 rows could not be read and do not count; the first: " in done.stderr
    values = json.loads(done.stdout)
    assert (values["rows"], values["skipped"], values["accuracy"]) == (4, 4, 1.0)
    assert "a.csv:3:a" in fail("evaluate", folder / "m", *files)


@pytest.mark.parametrize("label", [0, -1])
@pytest.mark.parametrize("weight", [None, 1])
def test_npy_files_have_their_label_and_weight_in_all_commands(label: int, weight: int | None, tmp_path: Path) -> None:
    """Trained, resumed, tested, predicted and evaluated; a file without label and weight can be predicted too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(float)
    columns = [X] if weight is None else [X[:, :1], np.ones(300), X[:, 1:]]
    matrix = np.column_stack([y, *columns] if label == 0 else [*columns, y])
    given = [] if weight is None else ["--weight", weight + (label == 0)]
    for name, rows in (("all", matrix), ("test", matrix[:50])):
        np.save(tmp_path / f"{name}.npy", rows)
    np.save(tmp_path / "X.npy", X)
    run = ["train", tmp_path / "all.npy", "--label", label, *given, "--test", tmp_path / "test.npy", *SMALL]
    run += ["--out", tmp_path / "m"]
    succeed(*run)
    assert succeed(*run, "--resume").stderr == ""
    predicted = succeed("predict", tmp_path / "m", tmp_path / "all.npy").stdout
    assert succeed("predict", tmp_path / "m", tmp_path / "X.npy").stdout == predicted
    found = np.array(predicted.splitlines()[1:], dtype=float)
    values = json.loads(succeed("evaluate", tmp_path / "m", tmp_path / "all.npy", "--json").stdout)
    assert values["accuracy"] == pytest.approx(np.mean(found == y))
    assert values["accuracy"] > 0.9
    np.save(tmp_path / "wide.npy", np.column_stack([matrix, X]))
    assert "rows must have 3 columns and" in fail("predict", tmp_path / "m", tmp_path / "wide.npy")
    assert "rows must have 3 columns and" in fail("evaluate", tmp_path / "m", tmp_path / "X.npy")


def test_a_run_on_npy_files_with_labels_is_resumed_after_a_checkpoint(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    np.save(tmp_path / "rows.npy", np.column_stack([X, X[:, 0] > 0]))
    run = ["train", tmp_path / "rows.npy", "--label", "-1", *SMALL, "--checkpoint-every", 500]
    succeed(*run, "--out", tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gcwsnet.files._train.digest_of_file", _stop)
        fail(*run, "--out", tmp_path / "m")
    assert (tmp_path / "m" / "checkpoint.safetensors").exists()
    succeed(*run, "--out", tmp_path / "m", "--resume")
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == (tmp_path / "whole/model.safetensors").read_bytes()


def _stop(*_: object) -> None:
    raise OSError("the disk is full")


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 7))
def test_positions_are_those_of_the_valid_rows(valid: list[bool], step: int) -> None:
    skipped = np.array([place for place, one in enumerate(valid) if not one], dtype=np.int64)
    expected = [place for place, one in enumerate(valid) if one]
    for first in range(0, len(expected), step):
        some = expected[first : first + step]
        assert row_positions(np.arange(first, first + len(some)), skipped).tolist() == some


def test_search_and_dedup_number_the_rows_of_the_file(tmp_path: Path) -> None:
    lines = ["a,b", "1,2", "x,2", "5,1", "1,2", "inf,1", "5,1"]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "good.csv").write_text("a,b\n1,2\n5,1\n")
    small = ["--n-hashes", 64, "--threshold", 0.9]
    succeed("index", tmp_path / "good.csv", "--out", tmp_path / "i", *small, "--quiet")
    skip = ["--on-error", "skip", "--json"]
    done = succeed("search", tmp_path / "i", tmp_path / "rows.csv", "--threshold", 0.9, *skip)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["query"], one["id"]) for one in found] == [(0, 0), (2, 1), (3, 0), (5, 1)]
    done = succeed("dedup", tmp_path / "rows.csv", *small, *skip)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["row"], one["duplicate_of"]) for one in found] == [(3, 0), (5, 2)]


def test_index_keeps_the_numbers_of_the_rows_of_the_file(tmp_path: Path) -> None:
    """The ids of rows do not move up where rows are skipped; rows of a second file go on from the largest one."""
    (tmp_path / "rows.csv").write_text("a,b\n1,2\nx,2\n5,1\n7,7\ninf,1\n2,9\ny,1\n")
    (tmp_path / "more.csv").write_text("a,b\nz,1\n3,8\n")
    (tmp_path / "all.csv").write_text("a,b\n1,2\n5,1\n7,7\n2,9\n3,8\n")
    run = ["index", tmp_path / "rows.csv", "--out", tmp_path / "i", "--n-hashes", 64, "--on-error", "skip", "--json"]
    done = succeed(*run)
    values = json.loads(done.stdout)
    assert (values["rows"], values["skipped"]) == (4, 3)
    assert "rows.csv:3:a: a value must be a number" in values["reasons"][0]
    assert "gcwsnet: 3 of 7 rows could not be read and are not in the index; the first: " in done.stderr
    done = succeed("index", tmp_path / "more.csv", "--out", tmp_path / "i", "--append", "--on-error", "skip")
    assert "gcwsnet: 1 of 2 rows could not be read" in done.stderr
    done = succeed("search", tmp_path / "i", tmp_path / "all.csv", "--top", 1, "--json")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, 2, 3, 5, 7]
    assert "rows.csv:3:a" in fail("index", tmp_path / "rows.csv", "--out", tmp_path / "j")


def test_search_and_dedup_say_how_many_rows_were_skipped(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\nx,2\n5,1\n")
    (tmp_path / "good.csv").write_text("a,b\n1,2\n5,1\n")
    succeed("index", tmp_path / "good.csv", "--out", tmp_path / "i", "--quiet")
    done = succeed("search", tmp_path / "i", tmp_path / "rows.csv", "--top", 1, "--on-error", "skip")
    assert "gcwsnet: 1 of 3 rows could not be read and are not searched for; the first: " in done.stderr
    done = succeed("dedup", tmp_path / "rows.csv", "--threshold", 0.9, "--on-error", "skip")
    assert "gcwsnet: 1 of 3 rows could not be read and are not compared; the first: " in done.stderr


def test_rows_of_a_text_column_that_cannot_be_read_are_skipped(tmp_path: Path) -> None:
    lines = ["id,text", "u,one two three four", "v", "w,five six seven eight", ",nine ten", "x,one two three four"]
    (tmp_path / "texts.csv").write_text("\n".join(lines) + "\n")
    of_text = [tmp_path / "texts.csv", "--text", "text"]
    skip = ["--on-error", "skip", "--json", "--rejects", tmp_path / "rejects"]
    done = succeed("dedup", *of_text, "--threshold", 0.9, *skip)
    assert [(one["row"], one["duplicate_of"]) for one in map(json.loads, done.stdout.splitlines())] == [(4, 0)]
    assert (tmp_path / "rejects").read_text() == "v\n"
    done = succeed("index", *of_text, "--out", tmp_path / "i", *skip)
    assert json.loads(done.stdout)["skipped"] == 1
    done = succeed("index", *of_text, "--ids", "id", "--out", tmp_path / "j", *skip)
    assert json.loads(done.stdout)["skipped"] == 2
    assert (tmp_path / "rejects").read_text() == "v\n,nine ten\n"
    done = succeed("search", tmp_path / "j", *of_text[:1], "--top", 1, "--ids", "id", *skip)
    assert [json.loads(line)["query"] for line in done.stdout.splitlines()] == ["u", "w", "x"]
    assert "texts.csv:3" in fail("index", *of_text, "--out", tmp_path / "k")
