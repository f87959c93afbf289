"""Folders of codes: what was put in comes out, and whatever was changed in between is an error that names the file."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gcwsnet._paths import is_codes_folder
from gcwsnet.files import Batch, DataError
from gcwsnet.files._codes import (
    FileCoder,
    HashedFile,
    Manifest,
    digest_of_file,
    hashed_files,
    remove_codes,
    write_parts,
)
from gcwsnet.search import fit_coder
from gcwsnet.tables._coder import Coder, CoderSettings

FILE = {"name": "a.csv", "bytes": 1, "sha256": "00"}


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(500, 4)), rng.integers(0, 3, 500)


def coder_of(X: np.ndarray, seed: int = 7) -> Coder:
    return fit_coder(X, CoderSettings(n_hashes=16, p=2.0, scale="minmax"), seed=seed)[0]


def write_folder(folder: Path, batches: list[Batch], coder: Coder) -> None:
    folder.mkdir(exist_ok=True)
    FileCoder(coder, None, []).write(folder)
    manifest = Manifest({"params": {}}, [FILE], digest_of_file(folder / "coder.safetensors"))
    manifest.write(folder)
    parts = write_parts(folder, 0, batches)
    HashedFile(0, FILE, manifest.coder, sum(part.rows for part in parts), 0, parts).write(folder)


def read_folder(folder: Path) -> list[Batch]:
    return [batch for one in hashed_files(folder, Manifest.read(folder)) for batch in one.batches(folder)]


@pytest.mark.parametrize("labels", ["integers", "strings", "numbers", "objects"])
def test_a_folder_gives_back_what_was_put_in(labels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gcwsnet.files._codes.BYTES_OF_A_PART", 16 * 150)
    X, numbers = rows()
    trees = np.array(["ash", "elm", "oak"])[numbers]
    y = {"integers": numbers, "strings": trees, "numbers": X[:, 0], "objects": trees.astype(object)}[labels]
    weight = np.random.default_rng(1).random(500)
    coder = coder_of(X)
    batches = [Batch(coder.codes(X[i : i + 70]), y[i : i + 70], weight[i : i + 70]) for i in range(0, 500, 70)]
    assert not is_codes_folder(tmp_path)
    write_folder(tmp_path, batches, coder)
    assert is_codes_folder(tmp_path)
    (hashed,) = hashed_files(tmp_path, Manifest.read(tmp_path))
    assert [part.rows for part in hashed.parts] == [150, 150, 150, 50]
    found = read_folder(tmp_path)
    assert_array_equal(np.concatenate([batch.X for batch in found]), coder.codes(X))
    assert_array_equal(np.concatenate([batch.y for batch in found]), y)
    assert_array_equal(np.concatenate([batch.weight for batch in found]), weight)
    assert_array_equal(FileCoder.read(tmp_path).coder.codes(X), coder.codes(X))
    remove_codes(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = rows()
    made = tmp_path_factory.mktemp("codes") / "codes"
    coder = coder_of(X)
    write_folder(made, [Batch(coder.codes(X), y, np.ones(500))], coder)
    return made


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_flipped_bit_of_any_file_is_an_error(folder: Path, tmp_path: Path) -> None:
    for name in names(folder):
        content = (folder / name).read_bytes()
        for place in np.linspace(0, len(content) - 1, 25).astype(int):
            copy = shutil.copytree(folder, tmp_path / "copy")
            (copy / name).write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
            changed_space = name.endswith(".json") and json.loads(content) == _json(copy / name)
            if not changed_space:
                with pytest.raises(ValueError, match=r"hash the files again|take another copy|train again"):
                    read_folder(copy)
            shutil.rmtree(copy)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        return None


def test_a_file_that_is_cut_or_missing_is_an_error_that_names_it(folder: Path, tmp_path: Path) -> None:
    for name in names(folder):
        if name.startswith("part"):
            copy = shutil.copytree(folder, tmp_path / "copy")
            content = (copy / name).read_bytes()
            (copy / name).write_bytes(content[: len(content) // 2])
            with pytest.raises(DataError, match=f"{name}: the folder of codes is damaged: .*checksum"):
                read_folder(copy)
            (copy / name).unlink()
            with pytest.raises(DataError, match=f"{name}: the file is missing"):
                read_folder(copy)
            shutil.rmtree(copy)


def test_a_file_without_manifest_is_not_finished(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "file-00000.json").unlink()
    assert hashed_files(copy, Manifest.read(copy)) == []
    (copy / "codes.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"codes\.json is missing"):
        Manifest.read(copy)


def test_codes_and_coders_of_another_seed_are_not_mixed(folder: Path, tmp_path: Path) -> None:
    X, y = rows()
    other = coder_of(X, seed=8)
    write_folder(tmp_path / "other", [Batch(other.codes(X), y, np.ones(500))], other)
    copy = shutil.copytree(folder, tmp_path / "coder")
    shutil.copy(tmp_path / "other" / "coder.safetensors", copy)
    with pytest.raises(DataError, match=r"coder\.safetensors: .* it is another one"):
        read_folder(copy)
    copy = shutil.copytree(folder, tmp_path / "parts")
    for path in (tmp_path / "other").glob("part-*codes.npy"):
        shutil.copy(path, copy)
    with pytest.raises(DataError, match="checksum"):
        read_folder(copy)
    shutil.copy(tmp_path / "other" / "file-00000.json", copy)
    with pytest.raises(DataError, match="its codes must be made by the coder"):
        read_folder(copy)


def rewrite(path: Path, change: Callable[[Any], None]) -> None:
    """Change the content of a manifest, and its checksum with it, as somebody who wants to deceive can."""
    content = json.loads(path.read_bytes())["content"]
    change(content)
    text = json.dumps(content, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps({"version": 5, "sha256": digest, "content": content}))


CHANGES: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("file-00000.json", "together", lambda one: one.update(rows=250)),
    ("file-00000.json", "must have 250 rows", lambda one: (one.update(rows=250), one["parts"][0].update(rows=250))),
    ("file-00000.json", "together", lambda one: one["parts"].append(one["parts"][0])),
    ("file-00000.json", "rows must be a whole number", lambda one: one.update(rows=-500)),
    ("file-00000.json", "rows must be a whole number", lambda one: one.update(rows="500")),
    ("file-00000.json", "parts is missing", lambda one: one.pop("parts")),
    ("file-00000.json", r"parts\[0\] must be an object", lambda one: one.update(parts=[3])),
    ("file-00000.json", r"parts\[0\].files must be files of this", lambda one: one["parts"][0].update(files=[])),
    (
        "file-00000.json",
        "files of this folder",
        lambda one: one["parts"][0].update(files={"../x.npy": "0"}),
    ),
    ("file-00000.json", "files of this folder", lambda one: one["parts"][0].update(files={"/etc/hostname": "0"})),
    (
        "file-00000.json",
        "with checksums",
        lambda one: one["parts"][0].update(files={"part-00000-00000.codes.npy": 1}),
    ),
    ("file-00000.json", "file number 0", lambda one: one.update(number=1)),
    ("file-00000.json", "names", lambda one: one.update(input={"name": "b.csv"})),
    ("codes.json", "names", lambda one: one["files"][0].update(sha256="ff")),
    ("codes.json", "files must be a list", lambda one: one.update(files=3)),
    ("codes.json", "name is missing", lambda one: one.update(files=[{}])),
    ("codes.json", "settings is missing", lambda one: one.pop("settings")),
    ("codes.json", "hash_version must be one of 1", lambda one: one.update(hash_version=0)),
]


@pytest.mark.parametrize(("name", "message", "change"), CHANGES)
def test_a_manifest_that_lies_is_an_error(
    name: str, message: str, change: Callable[[Any], None], folder: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    rewrite(copy / name, change)
    with pytest.raises(DataError, match=message):
        read_folder(copy)


@pytest.mark.parametrize("name", ["codes.json", "file-00000.json"])
@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"3", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"version": 5, "content": ' + b'{"a":' * 100_000],
)
def test_a_manifest_that_is_none_is_an_error(name: str, content: bytes, folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}: the folder of codes is damaged"):
        read_folder(copy)


def test_a_folder_of_another_format_says_what_to_do(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "codes.json").write_text('{"version": 1, "settings": {}, "files": [], "n_files": 0}')
    with pytest.raises(DataError, match="it is of format 1, and this gcwsnet reads 5; hash the files again"):
        read_folder(copy)
