"""What is learned from files one by one and merged is what is learned from all of them together."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.files import read
from gcwsnet.files._hash import FileReading, one_by_one, sample_files, survey_files
from gcwsnet.files._learn import sample
from tests.cli.command import fail, run, succeed
from tests.cli.test_nothing_lost import content, write_rows

HASHING = ["--n-hashes", "8", "--p", "1", "--scale", "numeric"]


def elsewhere(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """A map whose tasks come and go as bytes, as between processes, and end in the reversed order."""
    there = pickle.loads(pickle.dumps(function))
    for number in reversed(range(len(items))):
        yield number, pickle.loads(pickle.dumps(there(pickle.loads(pickle.dumps(items[number])))))


def libsvm(folder: Path) -> list[str]:
    texts = ["3 1:1 4:2.5\n-1 2:1\n", "3 7:1\n\n2 1:1\n", "2 5:1 # comment\n1 1:2\n"]
    return written(folder, "svm", texts)


def libsvm_from_zero(folder: Path) -> list[str]:
    return written(folder, "svm", ["1 1:1\n", "1.5 0:1 3:4\n", "0 2:1\n"])


def csv_with_categories(folder: Path) -> list[str]:
    rows = ["1,Rome,a,7", "2,Oslo,b,8", ",Rome,a,9"]
    more = [f"{number},Lima,name{number},{number % 3}" for number in range(150)]
    texts = ["x,city,name,label\n" + "\n".join(one) + "\n" for one in (rows, more, rows[::-1])]
    return written(folder, "csv", texts)


def csv_with_labels_of_text(folder: Path) -> list[str]:
    texts = ["x,label\n1,1\n2,2\n", "label,x\n01,3\n", "x,label\n4,other\n5,1\n"]
    return written(folder, "csv", texts)


def arrays(folder: Path) -> list[str]:
    rng = np.random.default_rng(0)
    paths = [folder / f"{number}.npz" for number in range(3)]
    for number, path in enumerate(paths):
        np.savez(path, X=rng.normal(size=(5 + number, 3)), y=rng.integers(0, 4, 5 + number))
    return [str(path) for path in paths]


def parquet(folder: Path) -> list[str]:
    pandas = pytest.importorskip("pandas")
    sizes = pandas.CategoricalDtype(["small", "large"], ordered=True)
    paths = [folder / f"{number}.parquet" for number in range(2)]
    for number, path in enumerate(paths):
        frame = pandas.DataFrame({"a": [1.0, None], "b": [f"x{number}", "y"], "label": [number, 3]})
        frame["size"] = pandas.Series(["large", "small"], dtype=sizes)
        frame.to_parquet(path)
    return [str(path) for path in paths]


def written(folder: Path, ending: str, texts: list[str]) -> list[str]:
    paths = [folder / f"{number}.{ending}" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (libsvm, {}),
        (libsvm, {"n_features": 9}),
        (libsvm, {"n_features": 4, "on_error": "skip"}),
        (libsvm, {"n_features": 9, "index_base": 0}),
        (libsvm_from_zero, {}),
        (csv_with_categories, {"label": "label", "missing": "nan"}),
        (csv_with_categories, {"label": -1, "weight": "label", "on_error": "skip"}),
        (csv_with_categories, {"hash_columns": 16, "missing": "zero"}),
        (csv_with_labels_of_text, {"label": "label"}),
        (arrays, {}),
        (parquet, {"label": "label", "missing": "nan"}),
    ],
)
@pytest.mark.parametrize("over", [one_by_one, elsewhere])
def test_a_merge_over_files_equals_a_pass_over_all_of_them(
    make: Any, settings: dict[str, Any], over: Any, tmp_path: Path
) -> None:
    names = make(tmp_path)
    if settings.get("weight") == "label":
        settings = {**settings, "label": "x"}
    together = read(names, **settings)
    survey = together.survey()
    reading = FileReading(settings, "")
    found = survey_files(names, reading, over)
    assert found.survey == survey
    assert found.schema == together.schema
    assert sum(found.n_rows) == survey.n_weighted
    assert [one["name"] for one in found.fingerprints.values()] == names
    assert found.failures == {}
    expected, drawn = sample(together, survey.n_rows, 3), sample_files(found, reading, 3, over)
    for one, other in zip(expected, drawn, strict=True):
        assert type(one) is type(other)
        if one is not None:
            np.testing.assert_array_equal(*(x.toarray() if sparse.issparse(x) else x for x in (one, other)))


def test_a_sample_over_files_is_drawn_from_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gcwsnet.files._learn.SAMPLE_ROWS", 40)
    names = [str(tmp_path / f"{number}.svm") for number in range(7)]
    for number, name in enumerate(names):
        write_rows(Path(name), 1 + 30 * number, number)
    together, reading = read(names), FileReading({}, "")
    found = survey_files(names, reading, elsewhere)
    one, other = sample(together, 637, 1), sample_files(found, reading, 1, elsewhere)
    assert one.n_rows == 40
    assert (one.X != other.X).nnz == 0
    np.testing.assert_array_equal(one.y, other.y)
    monkeypatch.setattr("gcwsnet.files._learn.SAMPLE_BYTES", 30 * 6 * 12)
    assert sample_files(found, reading, 1, elsewhere).n_rows == sample(together, 637, 1).n_rows < 40


def test_files_that_cannot_be_read_are_left_out_and_named(tmp_path: Path) -> None:
    names = csv_with_categories(tmp_path)
    (tmp_path / "0.csv").write_text("x,city\n1,Rome\n")
    (tmp_path / "2.csv").write_bytes(b"PAR1" + bytes(100))
    found = survey_files(names, FileReading({"label": "label"}, ""), elsewhere)
    assert list(found.fingerprints) == names[1:2]
    assert found.schema == read(names[1], label="label").schema
    assert "label" in str(found.failures[names[0]])
    assert "one format, got parquet here and csv before" in str(found.failures[names[2]])
    with pytest.raises(ValueError, match="there must be a column 'missing'"):
        survey_files(names[1:], FileReading({"label": "missing"}, ""), elsewhere)


def test_ordered_categories_and_labels_must_be_those_of_the_files_before(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    names = parquet(tmp_path)
    other = pandas.read_parquet(names[1])
    other["size"] = other["size"].cat.reorder_categories(["large", "small"], ordered=True)
    other.to_parquet(names[1])
    found = survey_files(names, FileReading({"label": "label", "missing": "nan"}, ""), elsewhere)
    assert list(found.failures) == names[1:]
    assert f"{names[1]}:size: ordered categories must have the same order" in str(found.failures[names[1]])
    npz = arrays(tmp_path)
    np.savez(npz[1], X=np.ones((4, 3)))
    found = survey_files(npz, FileReading({}, ""), elsewhere)
    assert "must all have label and weight, or none" in str(found.failures[npz[1]])
    assert found.n_rows == [5, 7]


def test_a_damaged_file_fails_alone_and_is_finished_when_it_is_repaired(tmp_path: Path) -> None:
    files = [tmp_path / f"rows{number}.svm" for number in range(3)]
    for number, file in enumerate(files):
        write_rows(file, 100, number)
    intact = files[1].read_text()
    files[1].write_text(intact + "0 1:x\n")
    hashing = ["hash", *files, "--out", tmp_path / "codes", *HASHING]
    result = run(*hashing)
    assert result.exit_code == 1
    assert "rows: 200" in result.stdout
    assert f"failed: {files[1]}" in result.stdout
    reason, last = result.stderr.splitlines()[-2:]
    assert reason.startswith(f"not hashed: {files[1]}:101:5: a value must be a number")
    assert last.startswith("gcwsnet: 1 of 3 files have no codes, and the others are done; correct them, and finish")
    assert f"{files[1]}:101:5" in last
    assert "has the codes of 2 of 3 files" in fail("train", tmp_path / "codes", "--out", tmp_path / "m")
    before = content(tmp_path / "codes")
    assert "1 of 3 files have no codes" in fail(*hashing, "--resume")
    assert content(tmp_path / "codes") == before
    files[1].write_text(intact)
    finished = succeed(*hashing, "--resume")
    assert finished.stderr == f"2 of 3 files are finished\n{files[1]}: 100 rows\n"
    after = content(tmp_path / "codes")
    assert before.items() < after.items()
    assert set(after) - set(before) == {"file-00001.json", "part-00001-00000.codes.npy", "part-00001-00000.labels.npy"}
    succeed("train", tmp_path / "codes", "--out", tmp_path / "m", "--hidden", 4, "--epochs", 1)
    files[1].write_text(intact.replace("1:", "2:", 1).replace(" 2:", " 3:", 1))
    assert f"{files[1]} has other contents" in fail(*hashing, "--resume")


def test_a_repaired_file_with_labels_that_no_other_has_is_an_error(tmp_path: Path) -> None:
    files = [tmp_path / f"rows{number}.svm" for number in range(2)]
    for number, file in enumerate(files):
        write_rows(file, 100, number)
    (tmp_path / "rows1.svm").write_text("9 1:x\n")
    hashing = ["hash", *files, "--out", tmp_path / "codes", *HASHING]
    fail(*hashing)
    (tmp_path / "rows1.svm").write_text("9 1:1\n")
    assert "must be one of the 3 classes known so far, got 9" in fail(*hashing, "--resume")


def test_where_all_files_are_damaged_the_first_is_named(tmp_path: Path) -> None:
    files = written(tmp_path, "svm", ["0 1:x\n", "0 1:y\n"])
    assert "0.svm:1:5" in fail("hash", *files, "--out", tmp_path / "codes", *HASHING)
    assert not (tmp_path / "codes" / "coder.safetensors").exists()
