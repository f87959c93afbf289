"""Runs that are resumed know their inputs by their contents, and one run at a time writes to a folder."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import gcwsnet
from gcwsnet._atomic import locked
from gcwsnet.files import DataError
from gcwsnet.files._hash import hash_file
from gcwsnet.files._sources import Inputs, fingerprint
from tests.cli.command import fail, start, succeed
from tests.cli.test_nothing_lost import SMALL, content, until, write_rows

HASHING = ["--n-hashes", 8, "--p", 1, "--scale", "numeric"]


def change_a_digit(path: Path) -> None:
    """Change the contents of a file of rows, but not its size nor its modification time."""
    status, text = path.stat(), bytearray(path.read_bytes())
    place = text.rindex(b".") + 1
    text[place] = ord("1") if text[place] != ord("1") else ord("2")
    path.write_bytes(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """rows.svm, test.svm, and the folder "m" of a run that was killed after a checkpoint."""
    folder = tmp_path_factory.mktemp("unfinished")
    write_rows(folder / "rows.svm", 30_000)
    write_rows(folder / "test.svm", 50, seed=1)
    process = start(*run_in(folder))
    until((folder / "m" / "checkpoint.safetensors").exists, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (folder / "m" / "checkpoint.safetensors").exists()
    return folder


def run_in(folder: Path) -> list[Any]:
    files = [folder / "rows.svm", "--test", folder / "test.svm", "--out", folder / "m"]
    return ["train", *files, *SMALL, "--checkpoint-every", 500]


def test_a_model_in_the_place_of_a_checkpoint_is_not_resumed(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 60)
    write_rows(tmp_path / "test.svm", 20, seed=1)
    succeed(*run_in(tmp_path))
    (tmp_path / "m" / "model.safetensors").rename(tmp_path / "m" / "checkpoint.safetensors")
    assert "is no checkpoint: it does not say of which files and settings" in fail(*run_in(tmp_path), "--resume")
    succeed(*run_in(tmp_path), "--restart")


@pytest.mark.parametrize(("name", "what"), [("rows.svm", "files"), ("test.svm", "test files")])
def test_a_run_is_not_resumed_with_other_contents_of_the_same_size(
    name: str, what: str, unfinished: Path, tmp_path: Path
) -> None:
    path = unfinished / name
    shutil.copy2(path, tmp_path)
    kept = content(unfinished / "m")
    try:
        change_a_digit(path)
        printed = fail(*run_in(unfinished), "--resume")
        assert f"is of a run with other {what}: {path} has other contents" in printed
        assert (
            content(unfinished / "m").items()
            >= {key: value for key, value in kept.items() if not key.startswith(".")}.items()
        )
    finally:
        shutil.copy2(tmp_path / name, path)


def test_a_finished_run_over_replaced_data_is_not_finished(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.svm", tmp_path / "m"
    write_rows(rows, 300)
    run = ["train", rows, "--out", out, *SMALL, "--resume"]
    succeed(*run)
    before = (out / "model.safetensors").read_bytes()
    assert not succeed(*run).stderr
    change_a_digit(rows)
    succeed(*run)
    assert (out / "model.safetensors").read_bytes() != before


def test_the_record_of_an_older_run_does_not_vouch_for_another_model(tmp_path: Path) -> None:
    """A second run was killed between its model and its record: resuming the first run trains again."""
    write_rows(tmp_path / "rows.svm", 300)
    out = tmp_path / "m"
    run = ["train", tmp_path / "rows.svm", "--out", out, *SMALL]
    succeed(*run)
    record = (out / "run.json").read_bytes()
    succeed(*run, "--random-state", 1)
    (out / "run.json").write_bytes(record)
    succeed(*run, "--resume")
    assert gcwsnet.load(out).seed_ == 0
    for damaged in (b"", b"3", b"{}", b"[" * 100_000):
        (out / "run.json").write_bytes(damaged)
        succeed(*run, "--resume")


def test_files_that_change_while_they_are_read_are_an_error(tmp_path: Path) -> None:
    rows = tmp_path / "rows.svm"
    write_rows(rows, 300)
    inputs = Inputs([str(rows)])
    inputs.check()
    change_a_digit(rows)
    os.utime(rows, ns=(0, 0))
    with pytest.raises(DataError, match=r"rows\.svm: the file must not change while it is read"):
        inputs.check()


def test_fewer_or_more_rows_than_before_are_an_error(tmp_path: Path) -> None:
    """The fingerprint is that of the old file, as if two files had the same one."""
    rows, out = tmp_path / "rows.svm", tmp_path / "m"
    write_rows(rows, 30_000)
    run = ["train", rows, "--out", out, *SMALL, "--checkpoint-every", 500]
    process = start(*run)
    until((out / "checkpoint.safetensors").exists, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    known = fingerprint(str(rows))
    lines = rows.read_text().splitlines(keepends=True)
    for text, got in ((lines[:100], "100"), (lines[:-1], "29,999"), ([*lines, lines[0]], "more")):
        rows.write_text("".join(text))
        with patch("gcwsnet.files._sources.fingerprint", lambda name, _: {**known, "name": name}):
            printed = fail(*run, "--resume")
        assert f"there must be 30,000 rows, as when the files were read first, got {got}" in printed


def test_large_files_are_known_by_blocks_and_their_modification_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gcwsnet.files._sources.WHOLE_BYTES", 1000)
    monkeypatch.setattr("gcwsnet.files._sources.BLOCK_BYTES", 10)
    path = tmp_path / "a"
    path.write_bytes(bytes(1000))
    os.utime(path, ns=(5, 5))
    assert "modified" not in fingerprint(str(path))
    path.write_bytes(bytes(5000))
    os.utime(path, ns=(5, 5))
    known = fingerprint(str(path))
    assert known["modified"] == 5
    for place in (0, 9, 4990, 4999):
        changed = bytearray(5000)
        changed[place] = 1
        path.write_bytes(changed)
        os.utime(path, ns=(5, 5))
        assert fingerprint(str(path))["sha256"] != known["sha256"]
    path.write_bytes(bytes(5000))
    assert fingerprint(str(path))["sha256"] == known["sha256"]
    assert fingerprint(str(path)) != known


def test_hashing_is_not_resumed_with_other_contents_of_the_same_size(tmp_path: Path) -> None:
    files = [tmp_path / f"rows{number}.svm" for number in range(2)]
    for number, file in enumerate(files):
        write_rows(file, 100, number)
    out = tmp_path / "codes"
    run = ["hash", *files, "--out", out, *HASHING]
    succeed(*run)
    whole = content(out)
    (out / "file-00001.json").unlink()
    shutil.copy2(files[1], tmp_path / "kept")
    change_a_digit(files[1])
    assert f"was begun with other files: {files[1]} has other contents" in fail(*run, "--resume")
    with pytest.raises(DataError, match="other contents than when hashing began"):
        hash_file(out, 1)
    shutil.copy2(tmp_path / "kept", files[1])
    succeed(*run, "--resume")
    assert content(out) == whole
    assert "they were" in fail("hash", files[0], "--out", out, *HASHING, "--resume")


def test_one_file_is_hashed_by_itself_to_the_same_bytes_however_often(tmp_path: Path) -> None:
    files = [tmp_path / f"rows{number}.svm" for number in range(3)]
    for number, file in enumerate(files):
        write_rows(file, 100, number)
    succeed("hash", *files, "--out", tmp_path / "codes", *HASHING)
    whole = content(tmp_path / "codes")
    for number in (2, 0, 1, 0):
        for path in (tmp_path / "codes").glob(f"*-{number:05d}*"):
            if path.name.startswith((f"file-{number:05d}", f"part-{number:05d}")):
                path.unlink()
        hashed = hash_file(tmp_path / "codes", number, n_jobs=2)
        assert hash_file(tmp_path / "codes", number) == hashed
        assert hashed.rows == 100
    assert content(tmp_path / "codes") == whole
    (tmp_path / "codes" / "part-00001-00000.labels.npy").unlink()
    hash_file(tmp_path / "codes", 1)
    assert content(tmp_path / "codes") == whole


def test_two_runs_do_not_write_to_one_folder(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 50)
    out = tmp_path / "m"
    out.mkdir()
    with locked(out):
        for command in (["train", *SMALL], ["hash", *HASHING]):
            assert "another run is writing to" in fail(*command, tmp_path / "rows.svm", "--out", out)
    succeed("train", tmp_path / "rows.svm", "--out", out, *SMALL)
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def test_a_folder_of_codes_with_other_rows_than_its_coder_knows_is_refused(tmp_path: Path) -> None:
    for number in range(2):
        write_rows(tmp_path / f"rows{number}.svm", 100, number)
    codes = tmp_path / "codes"
    succeed("hash", tmp_path / "rows0.svm", tmp_path / "rows1.svm", "--out", codes, *HASHING)
    manifest = json.loads((codes / "codes.json").read_bytes())
    assert [one["bytes"] for one in manifest["content"]["files"]] == [
        (tmp_path / f"rows{number}.svm").stat().st_size for number in range(2)
    ]
    (codes / "file-00001.json").unlink()
    assert "has the codes of 1 of 2 files" in fail("train", codes, "--out", tmp_path / "m")


def test_skipped_rows_are_counted_and_kept_for_each_file(tmp_path: Path) -> None:
    for number in range(2):
        write_rows(tmp_path / f"rows{number}.svm", 100, number)
        with (tmp_path / f"rows{number}.svm").open("a") as file:
            file.write(f"x{number} 1:1\n")
    rejects = tmp_path / "rejects"
    files = [tmp_path / "rows0.svm", tmp_path / "rows1.svm"]
    more = ["--on-error", "skip", "--rejects", rejects]
    done = succeed("hash", *files, "--out", tmp_path / "codes", *HASHING, *more)
    assert "skipped: 2" in done.stdout
    assert "rows1.svm: 100 rows, 1 skipped" in done.stderr
    assert (tmp_path / "rejects.00000").read_text() == "x0 1:1\n"
    assert (tmp_path / "rejects.00001").read_text() == "x1 1:1\n"
    assert np.load(tmp_path / "codes" / "part-00001-00000.codes.npy").shape == (100, 32)
