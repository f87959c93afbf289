"""CSV and TSV files: the rows that are read, and the errors for rows that break a rule."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gcwsnet.files import DataError, read
from gcwsnet.files._csv import is_header
from tests.files.conftest import Write, fault, same, whole

PEOPLE = 'age,city,label,w\n30,Rome,yes,1\n40.5,Oslo,no,2\n-5e1,"New ""York"", NY",yes,0.5\n+7,Rome,no,1\n'


def labels(found: Any) -> list[Any]:
    return list(found.y.tolist())


def test_columns_are_chosen_by_name_and_categories_have_columns(write: Write) -> None:
    batches = read(write("a.csv", PEOPLE), label="label", weight="w")
    found = whole(batches)
    assert batches.columns == ["age", "city"]
    assert batches.schema.feature_names() == ["age", 'city=New "York", NY', "city=Oslo", "city=Rome"]
    assert found.X.tolist() == [[30, 0, 0, 1], [40.5, 0, 1, 0], [-50, 1, 0, 0], [7, 0, 0, 1]]
    assert labels(found) == ["yes", "no", "yes", "no"]
    assert found.weight.tolist() == [1, 2, 0.5, 1]


def test_numbers_are_those_that_pandas_wrote(write: Write) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((5000, 6)) * 10.0 ** rng.integers(-300, 300, (5000, 6)))
    path = write("a.csv", table.to_csv(index=False, header=list("abcdef")))
    assert same(whole(read(path, batch_rows=700)).X, table.to_numpy())
    assert same(whole(read(path, batch_rows=700, columns=["c"])).X[:, 0], table[2].to_numpy())


def test_tabs_separate_the_columns_of_tsv(write: Write) -> None:
    for name in ("a.tsv", "a.txt"):
        assert whole(read(write(name, "a\tb\n1\t2\n3\t4\n"), label="b")).X.tolist() == [[1], [3]]


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        (["a,b", "1,2"], True),
        (["1,2", "3,4"], False),
        (["setosa,1", "setosa,2"], False),
        (["label,0,1", "7,1,2"], True),
        (["0,1,2", "5,5,5"], True),
        (["1,2,3", "5,5,5"], False),
        ([",x", "0,1"], True),
        (["x,y", "u,v"], True),
        (["1,,3", "1,2,3"], False),
    ],
)
def test_a_header_is_detected_by_the_rule(rows: list[str], header: bool, write: Write) -> None:
    assert is_header(rows[0].split(","), rows[1].split(",")) == header
    path = write("a.csv", "\n".join(rows))
    found = whole(read(path, missing="zero"))
    assert found.n_rows == (1 if header else 2)
    assert whole(read(path, header=False, missing="zero")).n_rows == 2


def test_columns_without_names_have_numbers(write: Write) -> None:
    path = write("a.csv", "5,1,2,1\n6,3,4,2\n")
    found = whole(read(path, label=0, weight=-1))
    assert found.X.tolist() == [[1, 2], [3, 4]]
    assert labels(found) == [5, 6]
    assert read(path).columns is None
    assert whole(read(path, columns=[2, 0])).X.tolist() == [[2, 5], [4, 6]]


def test_a_column_that_is_not_there_is_named(write: Write) -> None:
    path = write("a.csv", PEOPLE)
    for settings in ({"label": "y"}, {"columns": ["y"]}, {"categorical": ["y"]}, {"weight": "y"}):
        error = fault(read(path, **settings))
        assert str(error).startswith(f"{path}: there must be a column 'y', got age, city, label, w; give the name")
    assert "there must be a column number 4, got 4 columns" in str(fault(read(path, label=4)))


def test_the_error_names_a_similar_column_or_the_separator(write: Write) -> None:
    assert str(fault(read(write("a.csv", PEOPLE), label="lable"))).endswith("number of one as label, such as 'label'")
    wrong = write("b.csv", PEOPLE.replace(",", ";") + "1\n")
    assert "fields seem to be separated by ';'; give sep=';'" in str(fault(read(wrong, label="label")))


@pytest.mark.parametrize("gap", ["", "NA", "nan", "NULL", "None", "#N/A"])
def test_missing_values_follow_the_rule(gap: str, write: Write) -> None:
    path = write("a.csv", f"x,c\n1,a\n{gap},b\n3,{gap}\n")
    error = fault(read(path))
    assert (error.line, error.column) == (3, "x")
    assert "a value must not be missing; give missing=" in str(error)
    assert whole(read(path, missing="zero")).X.tolist() == [[1, 1, 0], [0, 0, 1], [3, 0, 0]]
    assert same(whole(read(path, missing="nan")).X, np.array([[1, 1, 0], [np.nan, 0, 1], [3, 0, 0]]))


def test_a_missing_label_or_weight_is_always_an_error(write: Write) -> None:
    path = write("a.csv", "x,y,w\n1,a,1\n2,,1\n3,b,\n4,b,-1\n")
    batches = read(path, label="y", weight="w", missing="zero", on_error="skip")
    assert whole(batches).X.tolist() == [[1]]
    assert [reason.removeprefix(str(path)) for reason in batches.reasons] == [
        ":3:y: a label must not be missing; drop the row",
        ":4: a weight must be a finite number of at least 0, got nan",
        ":5: a weight must be a finite number of at least 0, got -1.0",
    ]


FAULTS = [
    ("1,abc,a", "x", "a value must be a number, got 'abc'; if the column has categories, name it in categorical"),
    ("1,2", None, "a row must have 3 columns, got 2; drop the row"),
    ("1,2,a,4", None, "a row must have 3 columns, got 4; drop the row"),
    ("1,1e400,a", "x", "a number must be finite in float64, got inf; correct it, or drop the row"),
    ("1,-inf,a", "x", "a number must be finite in float64, got -inf; correct it, or drop the row"),
    ("1,1_000,a", "x", "a value must be a number, got '1_000'; if the column has categories, name it in categorical"),
    ("1,٣,a", "x", "a value must be a number, got '٣'; if the column has categories, name it in categorical"),
]


@pytest.mark.parametrize(("row", "column", "rule"), FAULTS)
def test_an_invalid_row_is_named_with_its_place(row: str, column: str | None, rule: str, write: Write) -> None:
    path = write("a.csv", f'y,x,c\n1,2,a\n\n2,3,"b\nc"\n{row}\n1,2,a\n')
    error = fault(read(path, label="y", hash_columns=4))
    assert str(error) == f"{path}:6:{f'{column}:' if column else ''} {rule}"
    assert (error.path, error.line, error.column) == (str(path), 6, column)


def test_invalid_rows_are_skipped_counted_and_saved(write: Write, tmp_path: Path) -> None:
    rows = [row for row, _, _ in FAULTS]
    path = write("a.csv", "y,x,c\n6,5,ok\n" + "\n7,+8,ok\n".join(rows) + "\n9,10,ok\n")
    batches = read(path, label="y", on_error="skip", rejects=tmp_path / "rejects")
    assert labels(whole(batches)) == [6, *[7] * (len(rows) - 1), 9]
    assert batches.skipped == len(rows)
    assert sorted((tmp_path / "rejects").read_text().splitlines()) == sorted(rows)
    assert batches.survey().n_rows == len(rows) + 1
    assert batches.survey().skipped == len(rows)
    assert batches.schema.feature_names() == ["x", "c=ok"]


def test_the_first_invalid_row_is_the_one_that_is_named(write: Write) -> None:
    path = write("a.csv", "x,z\n1,2\n3,\n4,abc\n")
    assert fault(read(path)).line == 3
    batches = iter(read(write("b.csv", "x\n1\n2\nabc\n"), batch_rows=1))
    assert [next(batches).X.item(), next(batches).X.item()] == [1, 2]
    with pytest.raises(DataError, match=r"b\.csv:4:x: a value must be a number, got 'abc'"):
        next(batches)


def test_empty_files_among_others_are_ignored(write: Write) -> None:
    paths = [write("a.csv", ""), write("b.csv", "x,y\n1,2\n"), write("c.csv", "\n"), write("d.csv", "x,y\n3,4\n")]
    assert whole(read(paths, label="y")).X.tolist() == [[1], [3]]


@pytest.mark.parametrize("text", ["", "\ufeff", "\ufeff\n", "\n \n", "\t", '""\n', "a,b\n"])
def test_a_file_without_rows_is_an_error(text: str, write: Write) -> None:
    with pytest.raises(DataError, match="there must be at least one row, got none"):
        whole(read(write("a.csv", text)))


def test_a_file_with_a_header_alone_does_not_tell_what_columns_hold(write: Write) -> None:
    found = whole(read([write("a.csv", "a,b\n"), write("b.csv", "a,b\nred,1\nblue,2\n")]))
    np.testing.assert_array_equal(found.X, [[0, 1, 1], [1, 0, 2]])


def test_the_header_may_be_in_the_first_file_alone(write: Write) -> None:
    paths = [write("a.csv", "x,y\n1,2\n"), write("b.csv", "3,4\n5,6\n")]
    assert whole(read(paths, label="y")).X.tolist() == [[1], [3], [5]]


def test_bytes_that_are_not_utf_8_are_named(write: Write) -> None:
    path = write("a.csv", b"x,c\n1,ok\n2,M\xfcnchen\n")
    error = fault(read(path))
    assert (error.line, error.column) == (3, "c")
    assert "a text must be UTF-8, got bytes as in Latin-1" in str(error)
    assert r"got '\\xfc'" in str(fault(read(write("b.csv", b"x,c\n1,1\n2,\xfc\n"))))


def test_a_byte_order_mark_is_not_part_of_a_name(write: Write) -> None:
    assert read(write("a.csv", b"\xef\xbb\xbfx,y\r\n1,2\r\n")).columns == ["x", "y"]


def test_labels_that_are_not_all_numbers_are_strings_after_a_survey(write: Write) -> None:
    path = write("a.csv", "x,y\n1,1\n2,b\n")
    assert "a value must be a number, got 'b'" in str(fault(read(path, label="y")))
    batches = read(path, label="y")
    survey = batches.survey()
    assert (survey.labels, survey.label_type) == (("1", "b"), "strings")
    assert labels(whole(batches)) == ["1", "b"]


@pytest.mark.parametrize(("values", "kind"), [("1 2 1", "integers"), ("1 2.5 1", "numbers"), ("a 2 a", "strings")])
def test_a_survey_lists_the_labels(values: str, kind: str, write: Write) -> None:
    first, second, _ = values.split()
    batches = read(write("a.csv", "y,x\n" + "".join(f"{value},0\n" for value in values.split())), label="y")
    expected = tuple(sorted({first, second} if kind == "strings" else {float(first), float(second)}))
    assert (batches.survey().labels, batches.survey().label_type) == (expected, kind)


def test_unknown_labels_are_named(write: Write) -> None:
    path = write("a.csv", PEOPLE)
    error = fault(read(path, label="label", weight="w", labels=["yes"]))
    assert str(error) == f"{path}:3: a label must be one of the known labels (yes), got 'no'; drop the row"


def test_column_names_must_differ(write: Write) -> None:
    assert "column names must differ, got 'x' twice" in str(fault(read(write("a.csv", "x,x\n1,2\n"))))


@pytest.mark.parametrize("text", ["", "\n\n", "a,b\n"])
def test_no_row_is_an_error(text: str, write: Write) -> None:
    assert "there must be at least one row, got" in str(fault(read(write("a.csv", text))))


def test_wide_rows_are_longer_than_the_head(write: Write) -> None:
    path = write("a.csv", ",".join(f"column{i}" for i in range(30_000)) + "\n" + ",".join(["1.25"] * 30_000) + "\n")
    assert whole(read(path)).X.tolist() == [[1.25] * 30_000]


def test_files_of_one_stream_may_have_their_columns_in_any_order(write: Write) -> None:
    paths = [write("a.csv", "x,y,c\n1,2,u\n"), write("b.csv", "c,y,x\nv,4,3\n")]
    assert whole(read(paths, label="y")).X.tolist() == [[1, 1, 0], [3, 0, 1]]
    with pytest.raises(DataError, match=r"b\.csv: there must be a column 'x', got y, c"):
        list(read([paths[0], write("b.csv", "y,c\n4,u\n")], label="y", hash_columns=2))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure the peak memory")
def test_a_wide_file_takes_memory_for_its_values_and_not_for_a_parser_of_each_column(write: Write) -> None:
    """20,000 columns took 190 MB, most of it for 20,000 copies of the texts that stand for missing values."""
    narrow = write("narrow.csv", "a,b\n1,2\n3,4\n")
    wide = write("wide.csv", "".join(",".join(f"{row}{i}" for i in range(20_000)) + "\n" for row in "a12"))
    program = (
        "import sys\n"
        "from gcwsnet.files import read\n"
        "peaks = []\n"
        "for path in sys.argv[1:]:\n"
        "    shape = [batch.X.shape for batch in read(path)]\n"
        "    peaks.append(int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]))\n"
        "print(shape[0][1], peaks[1] - peaks[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, narrow, wide], capture_output=True, text=True, check=True)
    columns, kilobytes = map(int, done.stdout.split())
    assert columns == 20_000
    assert kilobytes < 100_000
