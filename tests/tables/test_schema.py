"""A schema that is learned from one file, saved as JSON, and used for another file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gcwsnet.files import DataError, Schema, read
from gcwsnet.tables._columns import kind_of_texts
from gcwsnet.tables._frames import learn_schema, open_frame
from tests.files.conftest import Write, fault, whole

TRAINING = "age,city,label,plan,w\n30,Rome,yes,a,1\n40,Oslo,no,b,2\n50,Rome,yes,a,1\n"


def saved(schema: Schema) -> Schema:
    """Return the schema after it was saved as JSON and loaded."""
    return Schema.from_json(json.loads(json.dumps(schema.to_json())))


@pytest.fixture
def learned(write: Write) -> Schema:
    return saved(read(write("training.csv", TRAINING), label="label", weight="w").schema)


def test_json_keeps_all_of_a_schema(write: Write, learned: Schema) -> None:
    assert learned == read(write("training.csv", TRAINING), label="label", weight="w").schema
    assert learned.n_features == 5
    assert learned.feature_names() == ["age", "city=Oslo", "city=Rome", "plan=a", "plan=b"]
    hashed = read(write("training.csv", TRAINING), label="label", weight="w", hash_columns=8).schema
    assert saved(hashed) == hashed
    assert saved(hashed).feature_names() == ["age", *(f"hashed[{i}]" for i in range(8))]


def test_columns_are_found_by_name_in_any_order(write: Write, learned: Schema) -> None:
    batches = read(write("a.csv", "plan,other,city,age\nb,1,Oslo,7\na,2,Rome,8\n"), schema=learned)
    found = whole(batches)
    assert found.X.tolist() == [[7, 1, 0, 0, 1], [8, 0, 1, 1, 0]]
    assert found.y is None
    assert found.weight is None
    assert batches.n_features == 5


def test_label_and_weight_are_read_where_a_file_has_them(write: Write, learned: Schema) -> None:
    found = whole(read(write("a.csv", "plan,w,city,label,age\nb,3,Oslo,no,7\n"), schema=learned))
    assert found.y.tolist() == ["no"]
    assert found.weight.tolist() == [3]
    path = write("b.csv", "plan,city,target,age\nb,Oslo,no,7\n")
    again = whole(read(path, schema=learned, label="target"))
    assert again.y.tolist() == ["no"]
    assert "there must be a column 'label'" in str(fault(read(path, schema=learned, label="label")))


def test_a_column_that_is_missing_is_named(write: Write, learned: Schema) -> None:
    error = fault(read(write("a.csv", "plan,age\nb,1\n"), schema=learned))
    assert "a.csv: there must be a column 'city', got plan, age; all columns of training are needed" in str(error)


def test_an_unknown_category_sets_no_column_and_is_counted(write: Write, learned: Schema) -> None:
    batches = read(write("a.csv", "age,city,plan\n1,Paris,a\n2,Rome,c\n3,Nice,b\n"), schema=learned)
    with pytest.warns(UserWarning, match="none of its categories"):
        assert whole(batches).X.tolist() == [[1, 0, 0, 1, 0], [2, 0, 1, 0, 0], [3, 0, 0, 0, 1]]
    assert batches.unknown_categories == 3


def test_files_without_names_have_all_columns_or_those_of_x(write: Write, learned: Schema) -> None:
    found = whole(read(write("a.csv", "7,Oslo,no,b,1\n"), schema=learned, header=False))
    assert found.X.tolist() == [[7, 1, 0, 0, 1]]
    assert found.y.tolist() == ["no"]
    assert whole(read(write("b.csv", "7,Oslo,b\n"), schema=learned, header=False)).X.tolist() == [[7, 1, 0, 0, 1]]
    error = fault(read(write("c.csv", "7,Oslo\n"), schema=learned, header=False))
    assert "a row must have 5 columns, or 3 without label and weight, got 2" in str(error)


def test_a_label_given_by_number_is_kept_by_name(write: Write) -> None:
    schema = read(write("training.csv", "a,b,c\n1,2,3\n"), label=-1).schema
    assert whole(read(write("b.csv", "x,y,a,b\n9,9,1,2\n"), schema=schema)).y is None


def test_libsvm_keeps_width_and_index_base(write: Write) -> None:
    schema = saved(read(write("a.svm", "1 1:1 5:1\n")).schema)
    assert (schema.n_features, schema.index_base) == (5, 1)
    other = write("b.svm", "1 2:1\n")
    assert np.array_equal(whole(read(other, schema=schema)).X, [[0, 1, 0, 0, 0]])
    error = fault(read(write("b.svm", "1 2:1\n1 6:1\n"), schema=schema))
    assert error.line == 2
    assert "an index must be at least 1, got '0'" in str(fault(read(write("b.svm", "1 0:1\n"), schema=schema)))


def test_options_that_are_part_of_the_schema_must_not_be_given_with_it(write: Write, learned: Schema) -> None:
    path = write("a.csv", TRAINING)
    settings: dict[str, Any]
    for settings in ({"n_features": 3}, {"columns": ["age"]}, {"categorical": ["age"]}, {"hash_columns": 4}):
        with pytest.raises(ValueError, match="is part of the schema and must not be given with it"):
            read(path, schema=learned, **settings)


def test_the_rule_for_missing_values_is_kept_unless_another_is_given(write: Write) -> None:
    schema = read(write("a.csv", "x,z\n1,2\n"), missing="zero").schema
    other = write("b.csv", "x,z\n,2\n")
    assert whole(read(other, schema=schema)).X.tolist() == [[0, 2]]
    assert "must not be missing" in str(fault(read(other, schema=schema, missing="error")))


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"n_features": 4}, {"surplus": 1}, {"columns": [{"kind": "code"}]}],
    ids=["version", "width", "surplus", "column"],
)
def test_json_that_is_not_a_schema_is_an_error(change: dict[str, Any], learned: Schema) -> None:
    given = learned.to_json()
    if "columns" in change:
        change = {"columns": [{**given["columns"][0], **change["columns"][0]}, *given["columns"][1:]]}
    with pytest.raises(
        ValueError, match=r"a schema must have the version|must make up n_features|the kind of a column"
    ):
        Schema.from_json({**given, **change})


@pytest.mark.parametrize("texts", [["1,5", "2,75"], ["3", "-2,5"], ["1.234,5", "7,0"], ["1,234", "1,234,567.5"]])
def test_numbers_with_commas_are_an_error_that_names_column_value_and_ways_out(
    texts: list[str], tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"km": texts[::-1], "mm": [1.0, 2.0]})
    frame.to_csv(tmp_path / "trips.csv", index=False)
    rule = "numbers must have a decimal point and nothing between thousands, got numbers with commas, such as "
    with pytest.raises(DataError, match=rf"trips\.csv:km: {rule}.*; write them so, or.* name it in categorical"):
        _ = read(tmp_path / "trips.csv").schema
    assert read(tmp_path / "trips.csv", categorical=["km"]).schema.columns[0].kind == "onehot"
    with pytest.raises(DataError, match=rf"column 'km': {rule}.*make it a column of categories"):
        learn_schema(open_frame(frame), "nan")
    learn_schema(open_frame(frame.astype({"km": "category"})), "nan")


@pytest.mark.parametrize("texts", [["1,5", "Rome"], ["1,2,3", "4,5"], ["Rome", "Bonn"], [",", "1"]])
def test_other_texts_with_commas_are_categories(texts: list[str]) -> None:
    assert kind_of_texts(texts) == "text"


def test_columns_between_semicolons_are_columns(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text("km;mm\n1,5;2,7\n3;4,25\n")
    assert next(iter(read(tmp_path / "trips.csv"))).X.tolist() == [[1.5, 2.7], [3, 4.25]]
    (tmp_path / "notes.csv").write_text("note\na;b\nc\n")
    assert read(tmp_path / "notes.csv").schema.columns[0].kind == "onehot"
