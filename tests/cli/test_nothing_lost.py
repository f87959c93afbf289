"""Runs that are killed, interrupted or meet a full disk: they go on to the same bytes, and leave what was there."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SMALL = ["--hashes", "16", "--hidden", "8", "--p", "1", "--scale", "numeric", "--batch-size", "4"]


def command(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "gcwsnet", *(str(one) for one in arguments)]


def finish(*arguments: Any) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result


def started(*arguments: Any, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def until(condition: Any, process: subprocess.Popen[str], seconds: float = 60) -> None:
    """Wait until a condition holds or the process has ended."""
    end = time.monotonic() + seconds
    while not condition() and process.poll() is None and time.monotonic() < end:
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


@pytest.mark.parametrize("seed", [0, 1])
def test_a_killed_run_ends_with_the_bytes_of_one_that_was_not(tmp_path: Path, seed: int) -> None:
    moments = random.Random(seed)
    write_rows(tmp_path / "rows.svm", 9000)
    settings = [
        *SMALL,
        "--test",
        tmp_path / "rows.svm",
        "--epochs",
        2,
        "--checkpoint-every",
        700,
        "--shuffle-rows",
        1500,
    ]
    finish("train", tmp_path / "rows.svm", "--out", tmp_path / "whole", *settings)
    wanted = (tmp_path / "whole" / "model.safetensors").read_bytes()

    out = tmp_path / "killed"
    checkpoint = out / "checkpoint.safetensors"
    kills = 0
    for _ in range(20):
        process = started("train", tmp_path / "rows.svm", "--out", out, *settings, "--resume")
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        if kills < 3:
            until(lambda: checkpoint.exists() and checkpoint.stat().st_mtime_ns != before, process)
            time.sleep(moments.uniform(0, 0.4))
            process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        if process.returncode == 0:
            break
    assert kills >= 2
    assert (out / "model.safetensors").read_bytes() == wanted
    assert (out / "curves.json").read_bytes() == (tmp_path / "whole" / "curves.json").read_bytes()
    assert not checkpoint.exists()
    assert not finish("train", tmp_path / "rows.svm", "--out", out, *settings, "--resume").stderr


def test_a_checkpoint_is_not_lost_by_accident(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 4000)
    out = tmp_path / "m"
    settings = [*SMALL, "--checkpoint-every", 400]
    process = started("train", tmp_path / "rows.svm", "--out", out, *settings)
    until((out / "checkpoint.safetensors").exists, process)
    process.kill()
    process.communicate()
    kept = (out / "checkpoint.safetensors").read_bytes()

    again = subprocess.run(
        command("train", tmp_path / "rows.svm", "--out", out, *settings), capture_output=True, text=True, check=False
    )
    assert again.returncode == 1
    assert "--resume" in again.stderr
    assert "--restart" in again.stderr
    other = command("train", tmp_path / "rows.svm", "--out", out, *settings, "--resume", "--seed", 3)
    changed = subprocess.run(other, capture_output=True, text=True, check=False)
    assert changed.returncode == 1
    assert "is of a run with seed 0, and now it is 3" in changed.stderr
    assert (out / "checkpoint.safetensors").read_bytes() == kept
    finish("train", tmp_path / "rows.svm", "--out", out, *settings, "--restart", "--seed", 3)


def test_an_interrupted_run_ends_within_a_second_and_says_what_is_kept(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 60_000)
    out = tmp_path / "m"
    process = started("train", tmp_path / "rows.svm", "--out", out, *SMALL, "--checkpoint-every", 500)
    until((out / "checkpoint.safetensors").exists, process)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - start < 5  # a second where nothing else runs
    assert process.returncode == 1
    assert "interrupted after" in errors
    assert "go on with --resume" in errors
    assert "Traceback" not in errors
    assert (out / "checkpoint.safetensors").exists()


def limited(n_bytes: int) -> Any:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def test_a_full_disk_leaves_the_old_model(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 500)
    out = tmp_path / "m"
    finish("train", tmp_path / "rows.svm", "--out", out, *SMALL)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for more in ([], ["--checkpoint-every", 100]):
        process = started(
            "train", tmp_path / "rows.svm", "--out", out, *SMALL, "--seed", 1, *more, preexec_fn=limited(20_000)
        )
        _, errors = process.communicate()
        assert process.returncode == 1, errors
        assert "could not be written" in errors.splitlines()[-1]
        assert "Traceback" not in errors
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_hashing_goes_on_with_the_files_that_are_left(tmp_path: Path) -> None:
    for number in range(4):
        write_rows(tmp_path / f"rows{number}.svm", 8000, number)
    files = [tmp_path / f"rows{number}.svm" for number in range(4)]
    settings = ["--hashes", 64, "--p", 1, "--scale", "numeric"]
    finish("hash", *files, "--out", tmp_path / "whole", *settings)
    out = tmp_path / "killed"
    moments = random.Random(0)
    kills = 0
    for _ in range(20):
        process = started("hash", *files, "--out", out, *settings, "--resume")
        before = len(list(out.glob("part-*.codes.npy"))) if out.exists() else 0
        if kills < 3:
            until(lambda: out.exists() and len(list(out.glob("part-*.codes.npy"))) > before, process)
            time.sleep(moments.uniform(0, 0.02))
            process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        if process.returncode == 0:
            break
    assert kills >= 1
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    found = {path.name: path.read_bytes() for path in out.iterdir() if not path.name.startswith(".")}
    assert found == whole


def test_codes_that_are_not_all_there_are_not_learned_from(tmp_path: Path) -> None:
    for number in range(2):
        write_rows(tmp_path / f"rows{number}.svm", 300, number)
    (tmp_path / "rows2.svm").write_text("1 1:2\nx 1:2\n")
    hashing = ["--hashes", 8, "--p", 1, "--scale", "numeric"]
    finish("hash", tmp_path / "rows0.svm", tmp_path / "rows1.svm", "--out", tmp_path / "codes", *hashing)
    (tmp_path / "codes" / "part-00001-00000.codes.npy").unlink()
    result = subprocess.run(
        command("train", tmp_path / "codes", "--out", tmp_path / "m"), capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "is missing" in result.stderr
    again = subprocess.run(
        command("hash", tmp_path / "rows0.svm", "--out", tmp_path / "codes", *hashing),
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1
    assert "--restart" in again.stderr


def test_a_pipe_that_is_closed_early_is_no_error(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 20_000)
    finish("train", tmp_path / "rows.svm", "--out", tmp_path / "m", *SMALL[:-2], "--batch-size", 256)
    line = f"{sys.executable} -m gcwsnet predict {tmp_path / 'm'} {tmp_path / 'rows.svm'} | head -1"
    result = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, text=True, check=False, env=os.environ
    )
    assert result.stdout == "predicted\n"
    assert result.stderr == ""
