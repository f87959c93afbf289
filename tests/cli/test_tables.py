"""Tables with columns of all kinds: Python and the command, CSV and Parquet, one schema and equal probabilities."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import gcwsnet
from gcwsnet import GCWSNetClassifier, pgmm_kernel
from gcwsnet.tables._scaling import fit_scaling
from tests.cli.command import fail, run, start, succeed
from tests.estimators.tables import mixed_table, shuffled

SETTINGS: dict[str, Any] = {"n_hashes": 32, "hidden": 8, "p": 1.0, "scale": "numeric", "random_state": 0}
OPTIONS = ["--n-hashes", 32, "--hidden", 8, "--p", 1, "--scale", "numeric"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train and test rows as CSV and Parquet, those of test with another order of columns, and models of them."""
    folder = tmp_path_factory.mktemp("tables")
    for name, n, seed in (("train", 400, 0), ("test", 80, 1)):
        X, y = mixed_table(n, seed=seed)
        frame = X.assign(label=y) if name == "train" else shuffled(X.assign(label=y))
        frame.to_csv(folder / f"{name}.csv", index=False)
        frame.to_parquet(folder / f"{name}.parquet")
    GCWSNetClassifier(**SETTINGS).fit(*mixed_table(400)).save(folder / "python.safetensors")
    for form in ("csv", "parquet"):
        succeed("train", folder / f"train.{form}", "--label", "label", "--out", folder / form, *OPTIONS)
    return folder


def probabilities(model: Path, file: Path, out: Path) -> Any:
    succeed("predict", model, file, "--probabilities", "--out", out)
    return pd.read_parquet(out)[["probability_no", "probability_yes"]].to_numpy()


@pytest.mark.parametrize("model", ["python.safetensors", "csv", "parquet"])
@pytest.mark.parametrize("file", ["test.csv", "test.parquet"])
def test_python_and_the_command_give_equal_probabilities(model: str, file: str, folder: Path, tmp_path: Path) -> None:
    loaded = gcwsnet.load(folder / model)
    X, _ = mixed_table(80, seed=1)
    expected = loaded.predict_proba(X)
    assert_array_equal(probabilities(folder / model, folder / file, tmp_path / "out.parquet"), expected)
    read_back = pd.read_csv(folder / "test.csv").drop(columns="label")
    assert_array_equal(loaded.predict_proba(read_back), expected)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_python_and_the_command_learn_the_same_codes(form: str, folder: Path) -> None:
    """Where the table has the same types: a CSV file has neither ordered categories nor numbers that are categories."""
    X = (pd.read_csv if form == "csv" else pd.read_parquet)(folder / f"train.{form}")
    of_frame = GCWSNetClassifier(**SETTINGS).fit(X.drop(columns="label"), X["label"])
    of_file = gcwsnet.load(folder / form)
    assert of_frame.schema_ is not None
    assert of_file.schema_.columns == of_frame.schema_.columns
    rows = np.random.default_rng(0).normal(size=(20, of_frame.coder_.n_features))
    assert_array_equal(of_file.coder_.codes(rows), of_frame.coder_.codes(rows))


@pytest.mark.parametrize("model", ["python.safetensors", "csv", "parquet"])
def test_a_model_evaluates_files_of_either_format(model: str, folder: Path) -> None:
    label = ["--label", "label"] if model == "python.safetensors" else []
    results = [
        json.loads(succeed("evaluate", folder / model, folder / f"test.{form}", "--json", *label).stdout)
        for form in ("csv", "parquet")
    ]
    assert results[0] == results[1]
    assert results[0]["rows"] == 80


@pytest.mark.parametrize("values", [[0, 1], [False, True], ["a", "b"], ["1", "b"], [0.5, 1.5]])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_labels_of_any_type_are_evaluated_in_the_other_format(values: list[Any], form: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(40.0), "y": values * 20})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    succeed("train", tmp_path / f"rows.{form}", "--label", "y", "--out", tmp_path / "m", *OPTIONS)
    found = [succeed("evaluate", tmp_path / "m", tmp_path / f"rows.{one}").stdout for one in ("csv", "parquet")]
    assert found[0] == found[1]


def test_columns_are_left_out(folder: Path, tmp_path: Path) -> None:
    left_out = ["--label", "label", "--exclude", "when,long"]
    succeed("train", folder / "train.csv", *left_out, "--out", tmp_path / "m", *OPTIONS)
    model = gcwsnet.load(tmp_path / "m")
    assert model.feature_names_in_.tolist() == ["height", "city", "size", "flag", "code"]
    succeed("predict", tmp_path / "m", folder / "test.parquet")
    assert "there must be a column 'nope'" in fail(
        "train", folder / "train.csv", "--label", "label", "--exclude", "nope", "--out", tmp_path / "n", *OPTIONS
    )


def test_info_reads_what_train_reads(folder: Path, tmp_path: Path) -> None:
    reading = ["--label", "label", "--exclude", "when", "--categorical", "code", "--json"]
    found = json.loads(succeed("info", folder / "train.csv", folder / "train.csv", *reading).stdout)
    assert (found["n_rows"], found["labels"]) == (800, ["no", "yes"])
    expected = {"height": "number", "city": "3 categories", "size": "3 categories", "flag": "boolean"}
    assert found["table"] == expected | {"long": "duration", "code": "5 categories"}
    model = json.loads(succeed("info", folder / "python.safetensors", "--json").stdout)
    assert model["table"]["size"] == "3 ordered categories"
    (tmp_path / "bad.csv").write_text("x,y\n1,0\nz,1\n3,1\n")
    skipping = ["--on-error", "skip", "--rejects", tmp_path / "rejects", "--label", "y", "--json"]
    assert json.loads(succeed("info", tmp_path / "bad.csv", *skipping).stdout)["skipped"] == 1
    assert "--missing" in fail("info", folder / "csv", "--missing", "zero", code=2)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("written", ["csv", "parquet"])
def test_predict_keeps_columns_beside_the_predictions(form: str, written: str, folder: Path, tmp_path: Path) -> None:
    X, y = mixed_table(9000, seed=2)  # more than a batch
    frame = X.assign(label=y, name=[f"00{i}" for i in range(len(X))])
    source = tmp_path / f"rows.{form}"
    frame.to_csv(source, index=False) if form == "csv" else frame.to_parquet(source)
    out = tmp_path / f"out.{written}"
    succeed("predict", folder / "csv", source, "--keep", "name,city", "--out", out)
    found = pd.read_csv(out, dtype=str, keep_default_na=False) if written == "csv" else pd.read_parquet(out)
    assert list(found.columns) == ["name", "city", "predicted"]
    assert found["name"].tolist() == frame["name"].tolist()
    assert found["city"].fillna("").tolist() == frame["city"].astype(object).fillna("").tolist()
    alone = succeed("predict", folder / "csv", source).stdout.split()[1:]
    assert found["predicted"].tolist() == alone


def test_kept_columns_of_skipped_rows_are_empty_as_their_predictions_are(folder: Path, tmp_path: Path) -> None:
    X, _ = mixed_table(6)
    rows = X.assign(name=list("abcdef"))
    rows["height"] = rows["height"].astype(object)
    rows.loc[2, "height"] = "tall"
    rows.to_csv(tmp_path / "rows.csv", index=False)
    shown = succeed("predict", folder / "csv", tmp_path / "rows.csv", "--keep", "name", "--on-error", "skip").stdout
    assert [line.partition(",")[0] for line in shown.splitlines()] == ["name", "a", "b", "", "d", "e", "f"]
    assert shown.splitlines()[3] == ","
    (tmp_path / "rows.svm").write_text("1 1:1 2:3\n0 1:2 2:1\n" * 20)
    succeed("train", tmp_path / "rows.svm", *OPTIONS, "--holdout", 0, "--out", tmp_path / "m")
    assert "--keep" in fail("predict", tmp_path / "m", tmp_path / "rows.svm", "--keep", "name", code=2)


def test_kept_numbers_are_as_the_file_has_them(folder: Path, tmp_path: Path) -> None:
    X, _ = mixed_table(4)
    rows = X.astype(object).assign(height=["007", "1e2", "x", "8"])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    shown = succeed("predict", folder / "csv", tmp_path / "rows.csv", "--keep", "height", "--on-error", "skip")
    assert [line.partition(",")[0] for line in shown.stdout.splitlines()] == ["height", "007", "1e2", "", "8"]
    assert "a value must be a number, got 'x'" in shown.stderr
    assert "categorical" not in shown.stderr  # which is no option of predict


def test_info_shows_columns_and_labels_as_tables(tmp_path: Path) -> None:
    lines = [",age,city,when,flag,y", "0,31,Oslo,31/12/2024,true,1", "1,?,Rome,1/2/2024,false,0", "2,40,Oslo,,true,1"]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    result = succeed("info", tmp_path / "rows.csv", "--label", "y")
    shown = [line.split("  ") for line in result.stdout.splitlines()]
    table = [[cell.strip() for cell in line if cell.strip()] for line in shown]
    assert ["column", "holds", "missing", "values"] in table
    assert ["Unnamed: 0", "number", "0", "0 to 2"] in table
    assert ["age", "number", "1", "31 to 40"] in table
    assert ["city", "2 categories", "0", "Oslo (2), Rome (1)"] in table
    assert ["when", "date", "1", "2024-02-01 to 2024-12-31"] in table
    assert table[-2:] == [["1", "2", "66.7%"], ["0", "1", "33.3%"]]
    assert result.stdout.startswith("3 rows of 5 columns, 94 B\nthe labels are 2 classes\n")
    assert "1 value '?' of the column 'age' counts as missing" in result.stderr
    found = json.loads(succeed("info", tmp_path / "rows.csv", "--label", "y", "--json").stdout)
    assert found["column_values"]["age"] == {"missing": 1, "values": "31 to 40"}
    assert found["label_rows"] == {"1": 2, "0": 1}


def test_info_counts_one_row_of_one_column_in_the_singular(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,y\n1,0\n")
    shown = succeed("info", tmp_path / "rows.csv", "--label", "y").stdout
    assert shown.startswith("1 row of 1 column, 8 B\nall rows have the same label\n")


def test_info_counts_the_texts_of_columns_with_many_categories(tmp_path: Path) -> None:
    names = [f"n{i}" for i in range(150)] + ["n3", "n3", ""]
    rows = [f"{name},{i / 2}" for i, name in enumerate(names)]
    (tmp_path / "rows.csv").write_text("name,y\n" + "\n".join(rows) + "\n")
    found = json.loads(succeed("info", tmp_path / "rows.csv", "--label", "y", "--json").stdout)
    assert found["column_values"]["name"] == {"missing": 1, "values": "n3 (3), n0 (1), n1 (1)"}
    assert (
        "the labels are numbers, 0 to 76, on average 38"
        in succeed("info", tmp_path / "rows.csv", "--label", "y").stdout
    )


def test_info_shows_the_ranges_of_sparse_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("1 1:2 7:0.5\n0 7:3.5\n1\n")
    shown = succeed("info", tmp_path / "rows.svm").stdout
    assert "0 to 2 numbers in a row, on average 1.0; they are 0.5 to 3.5, in 2 columns, counted from 1" in shown
    found = json.loads(succeed("info", tmp_path / "rows.svm", "--json").stdout)
    assert found["table"] == {"1": "1 numbers", "7": "2 numbers"}
    assert found["column_values"]["7"] == {"missing": 0, "values": "0.5 to 3.5"}


def test_a_table_whose_rows_have_one_label_is_learned_and_a_note_says_what_follows(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,y\n" + "".join(f"{i},yes\n" for i in range(40)))
    result = succeed("train", tmp_path / "rows.csv", "--label", "y", *OPTIONS, "--holdout", 0, "--out", tmp_path / "m")
    assert "note: all rows have the label 'yes', and the model will predict nothing else" in result.stderr
    assert set(succeed("predict", tmp_path / "m", tmp_path / "rows.csv").stdout.split()[1:]) == {"yes"}


def test_info_shows_the_score_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(80)))
    trained = succeed("train", tmp_path / "rows.csv", "--label", "y", *OPTIONS, "--out", tmp_path / "m").stdout
    table = trained.splitlines()[-4:]
    assert table[0].endswith("held-out rows, of a model that learned from the other 65:")
    assert succeed("info", tmp_path / "m").stdout.splitlines()[-4:] == table


def test_a_kernel_of_scaled_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(100, 5, size=(12, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=1)
    frame[:4].to_csv(tmp_path / "a.csv", index=False)
    frame[4:].to_csv(tmp_path / "b.csv", index=False)
    given = ["--label", "y", "--scale", "numeric", "--out", tmp_path / "kernel.csv"]
    succeed("kernel", tmp_path / "a.csv", tmp_path / "b.csv", *given)
    scaling = fit_scaling(X[4:], "numeric")
    assert scaling is not None
    expected = pgmm_kernel(scaling.transform(X[:4]), scaling.transform(X[4:]))
    np.testing.assert_allclose(pd.read_csv(tmp_path / "kernel.csv").to_numpy(), expected, rtol=1e-12)
    assert "--scale" in fail("kernel", tmp_path / "a.csv", tmp_path / "b.csv", "--scale", "big", code=2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("day,y\n" + "2020-01-01,0\n" * 20_000 + "01/02/2020,1\n", "a.csv:20002:day: a value must be a date such as"),
        ("flag,y\n" + "true,0\n" * 20_000 + "maybe,1\n", "a.csv:20002:flag: a value must be true or false"),
    ],
)
def test_a_date_that_is_none_is_an_error_with_its_place(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert words in fail("train", tmp_path / "a.csv", "--label", "y", "--out", tmp_path / "m", *OPTIONS)
    named = ["--categorical", text.partition(",")[0]]
    assert run("train", tmp_path / "a.csv", "--label", "y", *named, "--out", tmp_path / "m", *OPTIONS).exit_code == 0


def test_unknown_categories_are_a_warning_in_one_line(tmp_path: Path) -> None:
    frame = pd.DataFrame({"c": ["a", "b"] * 20, "x": np.arange(40.0), "label": ["yes", "no"] * 20})
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame.assign(c="z").to_csv(tmp_path / "test.csv", index=False)
    succeed("train", tmp_path / "train.csv", "--label", "label", "--out", tmp_path / "model", *OPTIONS)
    process = start("predict", tmp_path / "model", tmp_path / "test.csv", "--out", tmp_path / "out.csv")
    _, said = process.communicate()
    assert process.returncode == 0
    warned = "gcwsnet: warning: 40 of 40 values of the column 'c' are none of its categories in training, such as 'z'"
    assert [line for line in said.splitlines() if line.startswith(warned)], said


def svm_lines(X: Any, y: Any) -> str:
    rows = zip(y, X, strict=True)
    return "".join(f"{label} " + " ".join(f"{i}:{v}" for i, v in enumerate(row, 1)) + "\n" for label, row in rows)


@pytest.mark.parametrize("as_stream", [False, True])
def test_a_libsvm_file_with_all_values_is_learned_as_the_same_table_in_csv_is(as_stream: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 5)) < 0.1, 0.0, rng.normal(3, 1, (400, 5))).round(4)
    y = (X[:, 0] > X[:, 1]).astype(int)
    pd.DataFrame(X).assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "rows.svm").write_text(svm_lines(X, y))
    for form in ("csv", "svm"):
        label = ["--label", "y"] if form == "csv" else []
        given: dict[str, Any] = {}
        source: Any = tmp_path / f"rows.{form}"
        if as_stream:
            more = ["--n-features", 5, "--format", "libsvm"] if form == "svm" else ["--format", "csv"]
            label, given, source = [*label, *more], {"input": source.read_bytes()}, "-"
        succeed("train", source, *label, "--n-hashes", 16, "--hidden", 4, "--out", tmp_path / form, **given)
    of_csv, of_svm = (gcwsnet.load(tmp_path / form) for form in ("csv", "svm"))
    assert repr(of_svm.scaling_) == repr(of_csv.scaling_)
    expected = of_csv.predict_proba(pd.DataFrame(X, columns=[str(i) for i in range(5)]))
    assert_array_equal(of_svm.predict_proba(X), expected)
    assert_array_equal(of_svm.predict_proba(sparse.csr_array(X)), expected)
    shown = [succeed("predict", tmp_path / form, tmp_path / f"rows.{form}").stdout for form in ("csv", "svm")]
    assert shown[0] == shown[1]


def test_a_libsvm_file_without_some_values_is_sparse(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(3, 1, (300, 5)).round(4)
    lines = svm_lines(X, (X[:, 0] > X[:, 1]).astype(int))
    (tmp_path / "rows.svm").write_text(lines.replace(f" 3:{X[0, 2]}", "", 1))
    succeed("train", tmp_path / "rows.svm", "--n-hashes", 16, "--hidden", 4, "--search", "off", "--out", tmp_path)
    X = np.where(np.arange(5) == 2, 0, X[:1])
    model = gcwsnet.load(tmp_path)
    assert_array_equal(model.scaling_.shift, np.zeros(5))
    assert_array_equal(model.predict_proba(X), model.predict_proba(sparse.csr_array(X)))
