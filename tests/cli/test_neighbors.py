"""`gcwsnet index`, `search` and `dedup`: the neighbours of files are those of their rows."""

import csv
import inspect
import io
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from gcwsnet.cli._app import COMMANDS
from gcwsnet.neighbors import Deduplicator, GCWSIndex
from gcwsnet.neighbors._index import spilling
from tests.cli.command import fail, run, succeed
from tests.cli.files import write_digits

TEXTS = [
    "The quick brown fox jumps over the lazy dog in the garden.",
    "Nothing of this is like any other line that stands here.",
    "the quick brown fox JUMPS over the lazy dog in the garden!",
    "",
    "two words",
    "A line that has a café and an umlaut, ä, and many more words after it.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("neighbors")
    write_digits(folder, 200, 60)
    (folder / "texts.txt").write_text("".join(f"{one}\n" for one in TEXTS), encoding="utf-8")
    lines = [["name", "body"], *([f"n{i}", one] for i, one in enumerate(TEXTS))]
    with (folder / "texts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(lines)
    return folder


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("keep", [[], ["--keep-rows"]])
def test_a_search_of_files_is_that_of_their_rows(folder: Path, tmp_path: Path, keep: list[str]) -> None:
    succeed("index", folder / "train.svm", "--out", tmp_path / "index", *keep, "--n-jobs", 2)
    found = table(succeed("search", tmp_path / "index", folder / "test.svm", "--top", 3).stdout)
    X, _ = load_svmlight_file(str(folder / "train.svm"), n_features=64)
    Q, _ = load_svmlight_file(str(folder / "test.svm"), n_features=64)
    wanted = GCWSIndex(keep_rows=bool(keep)).add(X).query(Q, 3)
    assert [int(one["id"]) for one in found] == wanted.ids.ravel().tolist()
    assert [int(one["query"]) for one in found] == np.repeat(np.arange(60), 3).tolist()
    np.testing.assert_allclose([float(one["similarity"]) for one in found], wanted.similarities.ravel(), atol=1e-6)


def test_an_index_of_parts_is_that_of_all_files(folder: Path, tmp_path: Path) -> None:
    parts = [folder / "parts" / f"{i}.svm" for i in range(3)]
    options = ["--threshold", 0.7, "--n-features", 64, "--index-base", 1]
    succeed("index", *parts, "--out", tmp_path / "once", *options)
    succeed("index", parts[0], "--out", tmp_path / "grown", *options)
    summary = json.loads(succeed("index", *parts[1:], "--out", tmp_path / "grown", "--append", "--json").stdout)
    assert summary["rows"] == 198
    for path in (tmp_path / "once").iterdir():
        assert path.read_bytes() == (tmp_path / "grown" / path.name).read_bytes()


@pytest.mark.parametrize("keep", [[], ["--keep-rows", "--sets"]])
def test_an_index_larger_than_its_memory_is_the_same(
    folder: Path, tmp_path: Path, keep: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [folder / "parts" / f"{i}.svm" for i in range(3)]
    options = ["--threshold", 0.7, "--n-features", 64, "--index-base", 1, *keep]
    succeed("index", *parts, "--out", tmp_path / "once", *options)
    monkeypatch.setattr("gcwsnet.neighbors._index.spilling", partial(spilling, memory=1))
    succeed("index", *parts, "--out", tmp_path / "bounded", *options)
    once, bounded = (
        {one.name: one.read_bytes() for one in (tmp_path / name).iterdir()} for name in ("once", "bounded")
    )
    assert once == bounded
    assert GCWSIndex.load(tmp_path / "bounded").sets == ("--sets" in keep)


def test_texts_as_sets_of_shingles_are_deduplicated(folder: Path) -> None:
    found = table(succeed("dedup", folder / "texts.txt", "--threshold", 0.9, "--sets").stdout)
    assert [(one["row"], one["duplicate_of"]) for one in found] == [("2", "0")]


def test_tables_have_ids_and_leave_the_label_out(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "digits.csv").read_text().splitlines()
    named = ["name," + lines[0], *(f"digit {i}," + line for i, line in enumerate(lines[1:]))]
    (tmp_path / "named.csv").write_text("\n".join(named) + "\n")
    options = ["--label", "digit", "--ids", "name", "--keep-rows", "--threshold", 0.8]
    summary = json.loads(succeed("index", tmp_path / "named.csv", *options, "--out", tmp_path / "i", "--json").stdout)
    assert (summary["rows"], summary["columns"]) == (200, 64)
    result = succeed("search", tmp_path / "i", tmp_path / "named.csv", "--ids", "name", "--threshold", 0.999, "--json")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["query"] for one in found if one["query"] == one["id"]] == [f"digit {i}" for i in range(200)]
    out = tmp_path / "similar.parquet"
    succeed("search", tmp_path / "i", tmp_path / "named.csv", "--top", 1, "--out", out)
    assert out.exists()


def test_texts_are_found_by_their_shingles(folder: Path, tmp_path: Path) -> None:
    succeed("index", folder / "texts.txt", "--out", tmp_path / "lines", "--keep-rows")
    succeed(
        "index", folder / "texts.csv", "--text", "body", "--ids", "name", "--out", tmp_path / "column", "--keep-rows"
    )
    lines = table(succeed("search", tmp_path / "lines", folder / "texts.txt", "--threshold", 0.9).stdout)
    column = table(succeed("search", tmp_path / "column", folder / "texts.csv", "--threshold", 0.9).stdout)
    assert [(one["query"], one["id"]) for one in lines] == [
        ("0", "0"),
        ("0", "2"),
        ("1", "1"),
        ("2", "0"),
        ("2", "2"),
        ("3", "3"),
        ("4", "4"),
        ("5", "5"),
    ]
    assert [one["id"] for one in column] == [f"n{one['id']}" for one in lines]


def test_a_text_without_an_id_is_an_error_and_one_that_is_missing_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,body\nx,some words here\n,other words there\n")
    arguments = ["--text", "body", "--ids", "name", "--out", tmp_path / "index"]
    assert "a label must not be missing" in fail("index", tmp_path / "a.csv", *arguments)
    (tmp_path / "a.csv").write_text("name,body\nx,some words here\ny,\nz,\n")
    succeed("index", tmp_path / "a.csv", *arguments)
    found = table(succeed("search", tmp_path / "index", tmp_path / "a.csv", "--threshold", 0.9).stdout)
    assert [(one["query"], one["id"]) for one in found] == [("0", "x"), ("1", "y"), ("1", "z"), ("2", "y"), ("2", "z")]


def test_dedup_keeps_the_first_of_near_duplicates(folder: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    result = succeed("dedup", folder / "texts.txt", "--threshold", 0.8, "--kept", kept)
    assert table(result.stdout) == [{"row": "2", "duplicate_of": "0", "similarity": "1.0"}]
    assert result.stderr.endswith("6 rows, 1 near-duplicates\n")
    assert kept.read_text(encoding="utf-8") == "".join(f"{one}\n" for one in TEXTS[:2] + TEXTS[3:])
    by_column = succeed("dedup", folder / "texts.csv", "--text", "body", "--threshold", 0.8)
    assert by_column.stdout == result.stdout
    stream = succeed("dedup", "-", "--format", "text", "--threshold", 0.8, input=(folder / "texts.txt").read_bytes())
    assert stream.stdout == result.stdout


def test_lines_that_are_not_utf_8_are_kept_as_they_are(tmp_path: Path) -> None:
    text = b"caf\xe9 one two three\nanother line here\r\nlast without an end"
    (tmp_path / "old.txt").write_bytes(text)
    succeed("dedup", tmp_path / "old.txt", "--threshold", 0.9, "--kept", tmp_path / "kept.txt")
    assert (tmp_path / "kept.txt").read_bytes() == text.replace(b"\r", b"") + b"\n"


def test_dedup_of_numbers_is_that_of_python(folder: Path) -> None:
    X, _ = load_svmlight_file(str(folder / "train.svm"), n_features=64)
    wanted = Deduplicator(0.75)(X)
    found = table(succeed("dedup", folder / "train.svm", "--threshold", 0.75).stdout)
    assert 5 < len(found) < 195
    assert [(int(one["row"]), int(one["duplicate_of"])) for one in found] == list(
        zip(wanted.rows.tolist(), wanted.originals.tolist(), strict=True)
    )


@pytest.mark.parametrize(
    ("line", "message", "code"),
    [
        ("index train.svm --out used", "has an index; add to it with --append", 1),
        ("index train.svm --out used --append --bits 4", "--bits", 2),
        ("index train.svm --out none --append", "is missing", 1),
        ("index train.svm --out new --shingle 2", "--shingle", 2),
        ("index digits.csv --text pixel1 --ids nothing --out new", "nothing", 1),
        ("search used digits.csv", "", 1),
        ("search used test.svm --top 3 --threshold 0.5", "--top", 2),
        ("search train.svm test.svm", "is missing", 1),
        ("dedup train.svm --threshold 0.5 --kept kept.txt", "--kept", 2),
        ("dedup train.svm --threshold 1.5", "--threshold", 2),
        ("dedup train.svm --threshold 0.01 --n-hashes 8", "take more hashes", 1),
        ("dedup train.svm --text body --threshold 0.5", "CSV, TSV, Parquet or Arrow", 1),
    ],
)
def test_wrong_calls_say_what_is_wrong(
    folder: Path, line: str, message: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    if not (folder / "used").exists():
        succeed("index", "train.svm", "--out", "used")
    before = sorted(folder.rglob("*"))
    assert message in fail(*line.split(), code=code)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("command", ["index", "search", "dedup"])
def test_options_have_the_defaults_of_the_index(command: str) -> None:
    python = inspect.signature(GCWSIndex).parameters
    for name, option in inspect.signature(COMMANDS[command]).parameters.items():
        if name in python and name not in ("keep_rows", "n_jobs", "threshold"):
            assert option.default == python[name].default, name


def test_a_damaged_index_is_one_line_of_error(folder: Path, tmp_path: Path) -> None:
    succeed("index", folder / "train.svm", "--out", tmp_path / "index")
    path = tmp_path / "index" / "index.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    assert path.name in fail("search", tmp_path / "index", folder / "test.svm")


@pytest.mark.parametrize(
    "rows",
    [2, {}, {"schema": None, "lines": 1, "column": None, "shingle": 3}, {"schema": {"version": 1}}, {"colour": 1}],
    ids=str,
)
def test_metadata_that_was_changed_is_one_line_of_error(rows: object, folder: Path, tmp_path: Path) -> None:
    succeed("index", folder / "test.svm", "--out", tmp_path / "index", "--n-hashes", 8)
    made = GCWSIndex.load(tmp_path / "index")
    known = made.metadata["rows"]
    made.metadata["rows"] = known | rows if isinstance(rows, dict) and rows and "lines" not in rows else rows
    made.save(tmp_path / "index")
    for arguments in (("search", tmp_path / "index", folder / "test.svm"), ("index", folder / "test.svm", "--append")):
        more = () if arguments[0] == "search" else ("--out", tmp_path / "index")
        assert "was changed" in fail(*arguments, *more)


def test_memory_for_texts_does_not_grow_with_their_length(tmp_path: Path) -> None:
    """What is held of 100 long texts is what is held of 100 short ones."""
    sizes = []
    for n_words in (20, 2000):
        lines = [" ".join(f"w{(7 * i + j * (i + 1)) % 9973}" for j in range(n_words)) for i in range(100)]
        (tmp_path / f"{n_words}.txt").write_text("\n".join(lines))
        result = run(
            "index", tmp_path / f"{n_words}.txt", "--threshold", 0.7, "--json", "--out", tmp_path / f"{n_words}"
        )
        sizes.append(json.loads(result.stdout)["bytes"])
    assert sizes[0] == sizes[1]
