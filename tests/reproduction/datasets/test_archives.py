"""Files inside archives are found below any folder, never unpacked into a folder, and never read beyond the bound."""

import gzip
from pathlib import Path

import pytest

from reproduction.datasets import _archives
from reproduction.datasets._archives import open_files
from tests.reproduction.datasets.layouts import tarred, zipped

CONTENT = b"1 2 3\n" * 1000


def read(path: Path, *inside: str) -> list[bytes]:
    found = []
    with open_files([path], inside) as files:
        for file in files:
            with file.open() as stream:
                found.append(stream.read())
    return found


@pytest.mark.parametrize("above", ["", "folder/", "a/b c/", "/", "../../", "C:/"])
def test_a_file_is_found_below_any_folder_and_nothing_is_written(above: str, tmp_path: Path) -> None:
    place = tmp_path / "deep" / "deeper"
    place.mkdir(parents=True)
    path = place / "some.zip"
    path.write_bytes(zipped({f"{above}day 1/x.dat": CONTENT, "other/y.dat": b"other"}))
    before = sorted(tmp_path.rglob("*"))
    assert read(path, "day 1/x.dat", "y.dat") == [CONTENT, b"other"]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_that_is_not_an_archive_is_named(tmp_path: Path) -> None:
    for content in (b"", b"<html>sorry</html>", zipped({"x": CONTENT})[:-30]):
        (tmp_path / "a.zip").write_bytes(content)
        with pytest.raises(
            ValueError, match=r"a\.zip must be a zip archive, and cannot be read .*put an undamaged copy"
        ):
            read(tmp_path / "a.zip", "x")


@pytest.mark.parametrize("kind", ["zip", "nested zip", "gzip", "gzip in zip", "tar", "tar with another file"])
def test_a_file_beyond_the_bound_is_not_read(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose header gives a greater length is not read; any other file is read up to the bound."""
    monkeypatch.setattr(_archives, "MAX_BYTES", 100_000)
    bomb = bytes(10_000_000)
    files = {
        "zip": ("a.zip", zipped({"x": bomb})),
        "nested zip": ("a.zip", zipped({"b.zip": zipped({"x": bomb})})),
        "gzip": ("x.gz", gzip.compress(bomb)),
        "gzip in zip": ("a.zip", zipped({"x": gzip.compress(bomb)})),
        "tar": ("a.tar.gz", tarred({"x": bomb})),
        "tar with another file": ("a.tar.gz", tarred({"y": bomb, "x": b"small"})),
    }
    name, content = files[kind]
    assert len(content) < 100_000
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"bytes unpacked; at most 100,000 are read"):
        read(tmp_path / name, *([] if name == "x.gz" else ["x"]))
