"""Runs that are killed, interrupted or meet a full disk: they are resumed to the same bytes, and leave what was there.

What is killed or interrupted runs in a process of its own, and all else in that of the tests.
"""

import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gcwsnet
from tests.cli.command import fail, run, start, succeed

SMALL = ["--n-hashes", "16", "--hidden", "8", "--p", "1", "--scale", "numeric", "--batch-size", "4"]


def until(condition: Any, process: subprocess.Popen[str]) -> None:
    """Wait until a condition holds or the process has ended."""
    while not condition() and process.poll() is None:
        time.sleep(0.01)


def write_rows(path: Path, n: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 6)), rng.integers(0, 3, n)
    X[:, 0] += y
    lines = (
        f"{label} " + " ".join(f"{i + 1}:{value:.4f}" for i, value in enumerate(row))
        for label, row in zip(y, X, strict=True)
    )
    path.write_text("\n".join(lines) + "\n")


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def killed_and_resumed(arguments: list[Any], marker: Any, kills: int) -> int:
    """Run, kill after `marker()` has changed once or twice, and resume until the run ends; return the kills."""
    changes = random.Random(0)
    for killed in range(kills + 1):
        process = start(*arguments, "--resume")
        if killed < kills:
            for _ in range(changes.randint(1, 2)):
                before = marker()
                until(lambda before=before: marker() != before, process)
            process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        if process.returncode == 0:
            return killed
        assert process.returncode == -signal.SIGKILL, errors
    raise AssertionError("a run that was not killed must end")


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [1, 3])
def test_a_killed_run_ends_with_the_bytes_of_one_that_was_not(ensemble: int, tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 5000)
    write_rows(tmp_path / "test.svm", 200, seed=1)
    run = ["train", tmp_path / "rows.svm", "--test", tmp_path / "test.svm", *SMALL, "--epochs", 2]
    run += ["--ensemble", ensemble, "--checkpoint-every", 700]
    succeed(*run, "--out", tmp_path / "whole")
    out = tmp_path / "killed"
    checkpoint = out / "checkpoint.safetensors"

    def written() -> int:
        return checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0

    assert killed_and_resumed([*run, "--out", out], written, kills=2) == 2
    assert content(out) == content(tmp_path / "whole")
    assert not succeed(*run, "--out", out, "--resume").stderr


def test_a_model_is_the_same_with_and_without_checkpoints(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 2000)
    for name, more in (("without", []), ("with", ["--checkpoint-every", 36])):
        succeed("train", tmp_path / "rows.svm", "--out", tmp_path / name, *SMALL, *more)
    assert content(tmp_path / "with") == content(tmp_path / "without")


class Interrupted(NamedTuple):
    folder: Path
    returncode: int
    errors: str


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Interrupted:
    """A run that got a Ctrl-C after its first checkpoint: rows.svm, and the folder "m" of the model."""
    folder = tmp_path_factory.mktemp("interrupted")
    write_rows(folder / "rows.svm", 30_000)
    process = start("train", folder / "rows.svm", "--out", folder / "m", *SMALL, "--checkpoint-every", 500)
    until((folder / "m" / "checkpoint.safetensors").exists, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    return Interrupted(folder, process.returncode, errors)


def test_an_interrupted_run_ends_and_says_what_is_kept(interrupted: Interrupted) -> None:
    assert interrupted.returncode == 130
    assert "interrupted after" in interrupted.errors
    assert "continue with --resume" in interrupted.errors
    assert "Traceback" not in interrupted.errors
    assert (interrupted.folder / "m" / "checkpoint.safetensors").exists()


def test_a_checkpoint_is_not_lost_by_accident(interrupted: Interrupted, tmp_path: Path) -> None:
    out = tmp_path / "m"
    shutil.copytree(interrupted.folder / "m", out)
    kept = (out / "checkpoint.safetensors").read_bytes()
    run = ["train", interrupted.folder / "rows.svm", "--out", out, *SMALL, "--checkpoint-every", 500]
    printed = fail(*run)
    assert "--resume" in printed
    assert "--restart" in printed
    assert "is of a run with --random-state 0, and now it is 3" in fail(*run, "--resume", "--random-state", 3)
    assert "Give --resume or --restart, and not both." in fail(*run, "--resume", "--restart", code=2)
    assert (out / "checkpoint.safetensors").read_bytes() == kept
    write_rows(tmp_path / "few.svm", 50)
    succeed("train", tmp_path / "few.svm", "--out", out, *SMALL, "--restart", "--random-state", 3)
    assert not (out / "checkpoint.safetensors").exists()


@contextmanager
def largest_file(n_bytes: int) -> Iterator[None]:
    """Let writing beyond this many bytes of a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_old_model(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 500)
    out = tmp_path / "m"
    succeed("train", tmp_path / "rows.svm", "--out", out, *SMALL)
    before = content(out)
    for more in ([], ["--checkpoint-every", 100]):
        with largest_file(4_000):
            printed = fail("train", tmp_path / "rows.svm", "--out", out, *SMALL, "--random-state", 1, *more)
        assert "could not be written" in printed
        assert content(out) == before


@pytest.mark.slow
def test_hashing_is_resumed_with_the_files_that_are_left(tmp_path: Path) -> None:
    files = [tmp_path / f"rows{number}.svm" for number in range(4)]
    for number, file in enumerate(files):
        write_rows(file, 8000, number)
    settings = ["--n-hashes", 64, "--p", 1, "--scale", "numeric"]
    succeed("hash", *files, "--out", tmp_path / "whole", *settings)
    out = tmp_path / "killed"
    run = ["hash", *files, "--out", out, *settings]
    assert killed_and_resumed(run, lambda: len(list(out.glob("part-*.codes.npy"))), kills=2) >= 1
    assert content(out) == content(tmp_path / "whole")


def test_codes_that_are_not_all_there_are_not_learned_from(tmp_path: Path) -> None:
    for number in range(2):
        write_rows(tmp_path / f"rows{number}.svm", 300, number)
    hashing = ["--n-hashes", 8, "--p", 1, "--scale", "numeric"]
    succeed("hash", tmp_path / "rows0.svm", tmp_path / "rows1.svm", "--out", tmp_path / "codes", *hashing)
    (tmp_path / "codes" / "part-00001-00000.codes.npy").unlink()
    assert "is missing" in fail("train", tmp_path / "codes", "--out", tmp_path / "m")
    assert "--restart" in fail("hash", tmp_path / "rows0.svm", "--out", tmp_path / "codes", *hashing)


def test_a_finished_run_on_codes_is_not_that_on_codes_of_the_same_size(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 300)
    hashing = ["hash", tmp_path / "rows.svm", "--out", tmp_path / "codes", "--n-hashes", 8, "--p", 1]
    for seed in (0, 7):
        succeed(*hashing, "--restart", "--random-state", seed)
        succeed("train", tmp_path / "codes", "--out", tmp_path / "m", "--hidden", 4, "--resume")
        assert gcwsnet.load(tmp_path / "m").seed_ == seed


def test_a_pipe_that_is_closed_early_is_no_error(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 20_000)
    succeed("train", tmp_path / "rows.svm", "--out", tmp_path / "m", *SMALL[:-2], "--batch-size", 256)
    line = f"{sys.executable} -m gcwsnet predict {tmp_path / 'm'} {tmp_path / 'rows.svm'} | head -1"
    result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert result.stdout == "predicted\n"
    assert result.stderr == ""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows, texts, a model and an index."""
    folder = tmp_path_factory.mktemp("written")
    write_rows(folder / "rows.svm", 60)
    (folder / "rows.csv").write_text("a,b\n1,2\n3,4\n5,6\n7,\n")
    (folder / "texts.txt").write_text("one two three\nfour five six\n")
    succeed("train", folder / "rows.svm", "--out", folder / "model", *SMALL)
    succeed("index", folder / "rows.svm", "--out", folder / "index", "--n-hashes", 16)
    return folder


SKIP = "--on-error skip --rejects"
OVERLAPS = {
    "train rows.svm --out new --p 1 " + SKIP: ["rows.svm", "new/model.safetensors", "new/checkpoint.safetensors"],
    "train rows.svm --test rows.csv --p 1 --out new " + SKIP: ["rows.csv"],
    "train rows.svm --p 1 --out": ["rows.svm"],
    "predict model rows.svm " + SKIP: ["rows.svm", "model/model.safetensors"],
    "predict model rows.svm --out same.csv " + SKIP: ["same.csv"],
    "evaluate model rows.svm " + SKIP: ["rows.svm", "model/model.safetensors"],
    "hash rows.svm --p 1 --out new " + SKIP: ["rows.svm", "new/codes.json", "new/part-00000-00000.codes.npy"],
    "hash rows.svm --p 1 --out": ["rows.svm"],
    "index rows.svm --out new " + SKIP: ["rows.svm", "new/index.safetensors"],
    "index rows.svm --out": ["rows.svm"],
    "search index rows.svm " + SKIP: ["rows.svm", "index/index.safetensors"],
    "search index *.svm " + SKIP: ["rows.svm"],
    "dedup rows.svm --threshold 0.8 " + SKIP: ["rows.svm"],
    "dedup texts.txt --threshold 0.8 --kept": ["texts.txt"],
    "dedup rows.csv --threshold 0.8 --out": ["rows.csv"],
    "kernel rows.csv rows.csv --missing zero --out": ["rows.csv"],
    "info rows.svm " + SKIP: ["rows.svm"],
    "export model --onnx": ["model/model.safetensors"],
}


CASES = [(line, target, link) for line, some in OVERLAPS.items() for target in some for link in ("same", "symlink")]
CASES += [(line, some[0], "hard link") for line, some in OVERLAPS.items() if some[0] != "same.csv"]


@pytest.mark.parametrize(("line", "target", "link"), CASES)
def test_an_output_that_is_an_input_or_another_output_is_refused(
    line: str, target: str, link: str, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(written, folder)
    monkeypatch.chdir(folder)
    given = target
    if link != "same":
        given = f"link{Path(target).suffix}"
        Path(given).symlink_to(folder / target) if link == "symlink" else Path(given).hardlink_to(target)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    printed = run(*line.split(), given)
    assert printed.exit_code in (1, 2), printed.stdout
    assert "an output must be a file of its own" in printed.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_standard_streams_that_are_one_file_or_an_input_are_refused(written: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.svm"
    shutil.copy(written / "rows.svm", rows)
    before = rows.read_bytes()
    command = f"{sys.executable} -m gcwsnet predict {written / 'model'}"
    for line in (
        f"{command} {rows} >> {rows}",
        f"{command} - < {rows} {SKIP} {rows}",
        f"{command} - < {rows} >> {rows}",
    ):
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "an output must be a file of its own" in done.stderr
        assert rows.read_bytes() == before


def test_a_file_that_an_old_run_left_may_be_an_output_again(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    rows, model = tmp_path / "rows.svm", tmp_path / "model"
    for _ in range(2):
        for out in (model / "labels.csv", tmp_path / "labels.csv"):
            succeed("predict", model, rows, "--out", out, "--on-error", "skip", "--rejects", tmp_path / "rejects.svm")
        succeed("predict", model, rows, "--on-error", "skip", "--rejects", "/dev/null")
        succeed("train", rows, "--out", tmp_path, *SMALL)
        succeed("hash", rows, "--out", tmp_path, "--n-hashes", 8, "--p", 1, "--restart")


def test_files_of_others_in_a_folder_of_codes_or_of_an_index_stay(tmp_path: Path) -> None:
    parts = [tmp_path / "part-1.svm", tmp_path / "part-2.svm"]
    for path in parts:
        write_rows(path, 40)
    succeed("hash", *parts, "--out", tmp_path, "--n-hashes", 8, "--p", 1)
    assert all(path.exists() for path in parts)
    rows = tmp_path / "folder" / "rows.npy"
    rows.parent.mkdir()
    np.save(rows, np.random.default_rng(0).random((30, 4)))
    succeed("index", rows, "--out", rows.parent)
    succeed("index", rows, "--out", rows.parent, "--append")
    assert rows.exists()


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "arguments", ["predict {0}/model {0}/rows.svm", "info -", "evaluate {0}/model {0}/rows.svm", "--no"]
)
def test_closed_streams_are_no_traceback(arguments: str, closed: str, written: Path) -> None:
    line = f"exec {sys.executable} -m gcwsnet {arguments.format(written)} {closed}"
    done = subprocess.run(["bash", "-c", line], input="", capture_output=True, text=True, check=False)
    assert done.returncode == (0 if "rows" in arguments else 2 if "no" in arguments else 1)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
