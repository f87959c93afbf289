"""Parquet and Arrow files: columns of all kinds, row groups and vectors."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from gcwsnet.files import read
from tests.files.conftest import fault, same, whole

Save = Callable[[Any, Path], None]


def parquet(table: Any, path: Path) -> None:
    pa.parquet.write_table(table, path, row_group_size=3)


def feather(table: Any, path: Path) -> None:
    pa.feather.write_feather(table, str(path), compression="lz4", chunksize=3)


def stream(table: Any, path: Path) -> None:
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


SAVES = [parquet, feather, stream]


@pytest.fixture(params=SAVES, ids=lambda save: save.__name__)
def save(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Any], Path]:
    def saved(table: Any) -> Path:
        path = tmp_path / "table"
        request.param(table, path)
        return path

    return saved


TABLE = pa.table(
    {
        "x": pa.array([1.5, 2.0, -3.0, 4.0, 5.0], "float32"),
        "n": pa.array([1, 2, 3, 4, 5], "int16"),
        "b": [True, False, True, False, True],
        "c": pa.array(["u", "v", "u", "w", "u"]).dictionary_encode(),
        "y": pa.array([3, 1, 3, 1, 3], "int64"),
        "w": [1.0, 2.0, 1.0, 2.0, 1.0],
        "when": pa.array([0] * 5, pa.timestamp("s")),
    }
)
Saved = Callable[[Any], Path]


def test_columns_of_numbers_and_text(save: Saved) -> None:
    batches = read(save(TABLE), label="y", weight="w", columns=["c", "x", "b"], batch_rows=2)
    found = whole(batches)
    assert batches.schema.feature_names() == ["c=u", "c=v", "c=w", "x", "b"]
    assert found.X.tolist() == [
        [1, 0, 0, 1.5, 1],
        [0, 1, 0, 2, 0],
        [1, 0, 0, -3, 1],
        [0, 0, 1, 4, 0],
        [1, 0, 0, 5, 1],
    ]
    assert found.y.dtype == np.int64
    assert found.y.tolist() == [3, 1, 3, 1, 3]
    assert found.weight.tolist() == [1, 2, 1, 2, 1]
    survey = batches.survey()
    assert (survey.n_rows, survey.labels, survey.label_type) == (5, (1, 3), "integers")


def test_a_type_that_cannot_be_read_is_named(save: Saved) -> None:
    table = TABLE.append_column("time", pa.array([0] * 5, pa.time64("us")))
    error = fault(read(save(table), label="y"))
    assert error.column == "time"
    assert "lists of numbers, got the type time64[us]; leave the column out, or convert it" in str(error)


def test_a_missing_label_of_a_long_text_type_is_named(save: Saved) -> None:
    table = TABLE.select(["x", "n"]).append_column("y", pa.array(["a", None, "b", "a", "b"], pa.large_string()))
    assert "a label must not be missing; drop the row" in str(fault(read(save(table), label="y")))
    assert whole(read(save(table), label="y", on_error="skip")).y.tolist() == ["a", "b", "a", "b"]


def test_numbers_alone_are_dense(save: Saved) -> None:
    batch = next(iter(read(save(TABLE.select(["x", "n"])), dtype="float32")))
    assert same(batch.X, np.array([[1.5, 1], [2, 2], [-3, 3], [4, 4], [5, 5]], np.float32))


@pytest.mark.parametrize("kind", [pa.list_(pa.float32(), 2), pa.list_(pa.float64()), pa.large_list(pa.int64())])
def test_lists_are_vectors(kind: Any, save: Saved) -> None:
    table = pa.table({"v": pa.array([[1, 2], [3, 4], [5, 6], [7, 8]], kind), "x": [0.5, 1.5, 2.5, 3.5]})
    path = save(table)
    assert whole(read(path, batch_rows=3)).X.tolist() == [[1, 2, 0.5], [3, 4, 1.5], [5, 6, 2.5], [7, 8, 3.5]]


def test_vectors_of_another_width_are_named(save: Saved) -> None:
    path = save(pa.table({"v": [[1.0, 2.0], [3.0], [4.0, 5.0], None]}))
    error = fault(read(path))
    assert str(error) == f"{path}:2:v: a vector must have 2 numbers, got 1; drop the row"
    batches = read(path, on_error="skip")
    assert whole(batches).X.tolist() == [[1, 2], [4, 5]]
    assert batches.skipped == 2


def test_missing_values_follow_the_rule(save: Saved) -> None:
    table = pa.table({"x": [1.0, None, float("nan"), 4.0], "n": pa.array([1, 2, 3, None]), "c": ["a", "a", "a", None]})
    path = save(table)
    error = fault(read(path))
    assert (error.line, error.column) == (2, "x")
    assert whole(read(path, missing="zero")).X.tolist() == [[1, 1, 1], [0, 2, 1], [0, 3, 1], [4, 0, 0]]
    found = whole(read(path, missing="nan")).X
    assert np.isnan(found).tolist() == [[False] * 3, [True, False, False], [True, False, False], [False, True, False]]


def test_invalid_rows_are_numbered_across_row_groups(save: Saved, tmp_path: Path) -> None:
    path = save(pa.table({"x": [1.0, 2.0, 3.0, 4.0, float("inf")], "y": [0, 1, None, 1, 0]}))
    batches = read(path, label="y", on_error="skip", rejects=tmp_path / "rejects")
    found = whole(batches)
    assert found.X.tolist() == [[1], [2], [4]]
    assert batches.reasons == [
        f"{path}:3:y: a label must not be missing; drop the row",
        f"{path}:5:x: a number must be finite in float64, got inf; correct it, or drop the row",
    ]
    assert (tmp_path / "rejects").read_text() == "row 3\nrow 5\n"


@pytest.mark.parametrize("part", [0.5, 0.95])
@pytest.mark.parametrize("save_", SAVES, ids=lambda save: save.__name__)
def test_a_truncated_file_is_an_error(save_: Save, part: float, tmp_path: Path) -> None:
    path = tmp_path / "table"
    save_(pa.table({"x": np.arange(10_000.0)}), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    error = fault(read(path, format="parquet" if save_ is parquet else "arrow"))
    assert "truncated or damaged" in str(error)
    assert error.path == str(path)


def test_no_row_is_an_error(save: Saved) -> None:
    path = save(TABLE.select(["x"]).slice(0, 0))
    assert "there must be at least one row, got none" in str(fault(read(path)))


@pytest.mark.parametrize(("save_", "name"), [(parquet, "Parquet"), (stream, "Arrow")])
def test_standard_input_is_an_error(save_: Save, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_(TABLE, tmp_path / "table")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "table").read_bytes())))
    assert f"{name} must be a file, not a stream" in str(fault(read("-", label="y")))
