"""LIBSVM files: rows equal to those of scikit-learn, and the errors for lines that break a rule."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file, load_svmlight_files

from gcwsnet.files import DataError, read
from tests.files.conftest import Write, fault, same, whole


def dumped(n_rows: int = 300, n_columns: int = 40, *, zero_based: bool, seed: int = 0) -> bytes:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.3)
    file = io.BytesIO()
    dump_svmlight_file(X, rng.integers(-1, 3, n_rows), file, zero_based=zero_based)
    return file.getvalue()


def assert_equals_sklearn(path: Path, **settings: Any) -> None:
    X, y = load_svmlight_file(str(path))
    batches = list(read(path, format="libsvm", batch_rows=64, **settings))
    found = sparse.vstack([batch.X for batch in batches], format="csr")
    assert found.shape == X.shape
    assert same(found.data, X.data)
    assert np.array_equal(found.indices, X.indices)
    assert np.array_equal(found.indptr, X.indptr)
    assert same(np.concatenate([batch.y for batch in batches]), y)


@pytest.mark.parametrize("zero_based", [True, False])
def test_rows_equal_those_of_scikit_learn(zero_based: bool, write: Write) -> None:
    assert_equals_sklearn(write("a.svm", dumped(zero_based=zero_based)))


def test_indices_are_int32_sorted_and_unique(write: Write) -> None:
    for batch in read(write("a.svm", dumped(zero_based=False)), batch_rows=100):
        assert batch.X.indices.dtype == batch.X.indptr.dtype == np.int32
        assert batch.X.has_canonical_format
        assert sparse.csr_array((batch.X.data, batch.X.indices, batch.X.indptr), batch.X.shape).has_canonical_format


def test_float32_is_rounded_once_from_double(write: Write) -> None:
    path = write("a.svm", "1 1:0.1 2:1.00000005960464477539062500001 3:16777217 4:1e-46\n")
    X = next(iter(read(path, dtype="float32"))).X
    assert same(X.data, load_svmlight_file(str(path))[0].data.astype(np.float32))


TEXTS = [
    b"1 1:2\r\n-1 2:3\r\n",
    b"1 1:2\n-1 2:3",
    b"+1\t1:2\t\t2:3  \n\n\n   \n0 3:4\n",
    b"# only a comment\n1 1:2 # 5:6\n2 qid:7 3:4\n3 qid:x\n4 # nothing\n",
    b"1 1:2#3:4\n",
    b"1e3 1:1e-400 2:-1e-400 3:4.9e-324 4:2.4703282292062327e-324 5:2.4703282292062328e-324\n",
    b"1.5 1:+.5 2:5. 3:-0 4:00012.500 5:1E+5 6:9007199254740993.0 7:123456789012345678901234567890e-10\n",
    b"0.1 +3:1 0004:2\n1 1:1.7976931348623157e308\n",
    b"1\x0b1:2\x0c2:3\n",
    b"1 1:0.30000000000000004440892098500626 2:1.7976931348623158e308\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_other_ways_to_write_rows_are_read_as_by_scikit_learn(text: bytes, write: Write) -> None:
    assert_equals_sklearn(write("a.svm", text))


def test_unsorted_indices_are_sorted(write: Write) -> None:
    X = next(iter(read(write("a.svm", "1 3:3 1:1 2:2\n")))).X
    assert X.indices.tolist() == [0, 1, 2]
    assert X.data.tolist() == [1, 2, 3]


def test_auto_reads_all_rows_of_all_files(write: Write) -> None:
    late = write("a.svm", "1 1:1\n" * 1000 + "2 0:5\n")
    assert read(late).survey().index_base == 0
    other = write("b.svm", "1 1:1 4:2\n")
    assert read(other).survey().index_base == 1
    X_late, _, X_other, _ = load_svmlight_files([str(late), str(other)])
    found = whole(read([late, other]))
    assert np.array_equal(found.X, np.vstack([X_late.toarray(), X_other.toarray()]))


@pytest.mark.parametrize(("base", "columns"), [(0, [2, 5]), (1, [1, 4])])
def test_a_given_index_base_is_kept(base: int, columns: list[int], write: Write) -> None:
    batches = read(write("a.svm", "1 2:1 5:1\n"), index_base=base)
    assert next(iter(batches)).X.indices.tolist() == columns
    assert batches.n_features == columns[-1] + 1


def test_a_given_width_is_that_of_all_rows(write: Write) -> None:
    path = write("a.svm", "1 1:1\n2 3:4\n")
    assert whole(read(path, n_features=7)).X.shape == (2, 7)
    error = fault(read(path, n_features=2))
    assert (error.path, error.line, error.column) == (str(path), 2, 3)
    assert str(error) == (
        f"{path}:2:3: an index must be at most 2, the last of 2 columns, got '3'; give a larger n_features"
    )
    skipping = read(path, n_features=2, on_error="skip")
    assert skipping.survey().n_rows == 1
    assert skipping.survey().skipped == 1
    assert whole(skipping).y.tolist() == [1.0]


TOO_LARGE = "an index must be at most 2147483648, the last of 2147483648 columns"
FAULTS = [
    ("1 0:3", 3, "an index must be at least 1, got '0'; if indices are counted from 0, give index_base=0"),
    ("1 -2:3", 3, "an index must be at least 1, got '-2'; correct it, or drop the row"),
    ("1 x:3", 3, "an index must be a whole number, got 'x'; correct it, or drop the row"),
    ("1 1.5:3", 3, "an index must be a whole number, got '1.5'; correct it, or drop the row"),
    ("1 1:1 3", 7, "a feature must be index:value, got '3'; correct it, or drop the row"),
    ("1 :3", 3, "a feature must be index:value, got ':3'; correct it, or drop the row"),
    ("1 1:", 5, "a value must be a number, got ''; correct it, or drop the row"),
    ("1 1:2:3", 5, "a value must be a number, got '2:3'; correct it, or drop the row"),
    ("1 1:1e", 5, "a value must be a number, got '1e'; correct it, or drop the row"),
    ("1 1:0x10", 5, "a value must be a number, got '0x10'; correct it, or drop the row"),
    ("1 1:-1e400", 5, "a number must not overflow float64, got '-1e400'; scale the column, or drop the row"),
    ("1e999 1:1", 1, "a number must not overflow float64, got '1e999'; scale the column, or drop the row"),
    ("1 1:NaN", 5, "a value must not be missing, got 'NaN'; give missing=\"zero\" or another rule, or drop the row"),
    ("1 1:-Infinity", 5, "a value must be finite, got '-Infinity'; correct it, or drop the row"),
    ("nan 1:1", 1, "a label must be a finite number, got 'nan'; correct it, or drop the row"),
    ("cat 1:1", 1, "a label must be a number, got 'cat'; number the labels"),
    (" 1,2 1:1", 2, "a row must have one label, got '1,2'; make a row of each label"),
    ("3:1 4:1", 1, "a line must begin with a label, got '3:1'; put one before it, for example 0"),
    ("1 2:1 2:1", 7, "an index must occur only once in a row, got '2' again; correct it, or drop the row"),
    ("1 3:1 2:1 3:1", 11, "an index must occur only once in a row, got '3' again; correct it, or drop the row"),
    (
        "1 2147483650:1",
        3,
        f"{TOO_LARGE}, got '2147483650'; feature-hash it to fewer columns",
    ),
    (
        "1 99999999999999999999999999:1",
        3,
        f"{TOO_LARGE}, got '99999999999999999999999999'; feature-hash it to fewer columns",
    ),
]


@pytest.mark.parametrize(("line", "column", "rule"), FAULTS)
def test_an_invalid_line_is_named_with_its_place(line: str, column: int, rule: str, write: Write) -> None:
    path = write("a.svm", f"1 1:1\n\n{line}\n1 2:2\n")
    error = fault(read(path, index_base=1))
    assert str(error) == f"{path}:3:{column}: {rule}"
    assert (error.path, error.line, error.column) == (str(path), 3, column)


def test_invalid_lines_are_skipped_counted_and_saved(write: Write, tmp_path: Path) -> None:
    lines = [line for line, _, _ in FAULTS]
    path = write("a.svm", "1 1:1\n" + "\n2 2:2\n".join(lines) + "\n3 3:3")
    batches = read(path, index_base=1, on_error="skip", rejects=tmp_path / "rejects")
    for _ in range(2):
        assert whole(batches).y.tolist() == [1.0, *[2.0] * (len(lines) - 1), 3.0]
        assert batches.skipped == len(lines)
        assert batches.reasons[0] == f"{path}:2:3: {FAULTS[0][2]}"
        assert (tmp_path / "rejects").read_text().splitlines() == lines
    assert batches.survey().n_rows == len(lines) + 1


def test_the_file_of_rejects_is_replaced_when_all_rows_have_been_read(write: Write, tmp_path: Path) -> None:
    path, rejects = write("a.svm", "1 1:1\n2 2:x\n" * 10), tmp_path / "rejects"
    rejects.write_text("before")
    batches = iter(read(path, on_error="skip", rejects=rejects, batch_rows=2))
    next(batches)
    del batches
    assert rejects.read_text() == "before"
    whole(read(path, on_error="skip", rejects=rejects))
    assert rejects.read_text() == "2 2:x\n" * 10
    whole(read(write("b.svm", "1 1:1\n"), on_error="skip", rejects=rejects))
    assert rejects.read_text() == ""
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.svm", "b.svm", "rejects"]


def test_bytes_that_are_no_text_are_shown_escaped(write: Write) -> None:
    error = fault(read(write("a.svm", b"1 1:1\n\xff\xfe 1:1\n"), format="libsvm"))
    assert r"got '\\xff\\xfe'" in str(error)
    assert error.line == 2


def test_a_number_may_overflow_float32_alone(write: Write) -> None:
    path = write("a.svm", "1 1:1e39\n")
    assert next(iter(read(path))).X.data.tolist() == [1e39]
    assert "must not overflow float32, got '1e39'" in str(fault(read(path, dtype="float32")))


@pytest.mark.parametrize(("missing", "value"), [("zero", 0.0), ("nan", np.nan)])
def test_missing_values_follow_the_rule(missing: str, value: float, write: Write) -> None:
    X = next(iter(read(write("a.svm", "1 1:nan 2:3\n"), missing=missing))).X
    assert same(X.data, np.array([value, 3.0]))


def test_unknown_labels_are_named(write: Write) -> None:
    path = write("a.svm", "1 1:1\n# comment\n5 1:1\n2 1:1\n")
    error = fault(read(path, labels=[1, 2]))
    assert str(error) == f"{path}:3: a label must be one of the known labels (1, 2), got '5.0'; drop the row"
    batches = read(path, labels=[1, 2], on_error="skip")
    assert whole(batches).y.tolist() == [1.0, 2.0]
    assert batches.skipped == 1


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_no_row_is_an_error(text: str, write: Write) -> None:
    path = write("a.svm", text)
    for read_it in (lambda: read(path).survey(), lambda: list(read(path, n_features=2, index_base=0))):
        with pytest.raises(
            DataError, match=r"a\.svm: there must be at least one row, got none; is this the right file"
        ):
            read_it()


def test_only_invalid_rows_are_no_rows(write: Write) -> None:
    error = fault(read(write("a.svm", "x 1:1\ny 1:1\n"), format="libsvm", on_error="skip"))
    assert "got none besides the 2 skipped" in str(error)
