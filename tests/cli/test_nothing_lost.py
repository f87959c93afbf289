"""Runs that are killed, interrupted or meet a full disk: they go on to the same bytes, and leave what was there."""

import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SMALL = ["--hashes", "16", "--hidden", "8", "--p", "1", "--scale", "numeric", "--batch-size", "4"]


def command(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "gcwsnet", *(str(one) for one in arguments)]


def finish(*arguments: Any) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result


def failed(*arguments: Any, **more: Any) -> str:
    """What a run says that ends with exit code 1."""
    result = subprocess.run(command(*arguments), capture_output=True, text=True, check=False, **more)
    assert result.returncode == 1, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


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


def killed_and_resumed(arguments: list[Any], marker: Any, kills: int, seed: int) -> int:
    """Run, kill at a random moment after `marker()` has changed, resume, until it ends; how often it was killed."""
    moments = random.Random(seed)
    for killed in range(30):
        before = marker()
        process = started(*arguments, "--resume")
        if killed < kills:
            until(lambda before=before: marker() != before, process)
            time.sleep(moments.uniform(0, 0.3))
            process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode == 0:
            return killed
        assert process.returncode == -signal.SIGKILL
    raise AssertionError("it never ended")


def test_a_killed_run_ends_with_the_bytes_of_one_that_was_not(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 5000)
    write_rows(tmp_path / "test.svm", 200, seed=1)
    run = ["train", tmp_path / "rows.svm", "--test", tmp_path / "test.svm", *SMALL, "--epochs", 2]
    run += ["--checkpoint-every", 700, "--shuffle-rows", 1500]
    finish(*run, "--out", tmp_path / "whole")
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    out = tmp_path / "killed"
    checkpoint = out / "checkpoint.safetensors"

    def written() -> int:
        return checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0

    assert killed_and_resumed([*run, "--out", out], written, kills=3, seed=0) >= 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == whole
    assert not finish(*run, "--out", out, "--resume").stderr


def test_a_checkpoint_is_not_lost_by_accident(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 4000)
    out = tmp_path / "m"
    settings = [*SMALL, "--checkpoint-every", 400]
    process = started("train", tmp_path / "rows.svm", "--out", out, *settings)
    until((out / "checkpoint.safetensors").exists, process)
    process.kill()
    process.communicate()
    kept = (out / "checkpoint.safetensors").read_bytes()

    said = failed("train", tmp_path / "rows.svm", "--out", out, *settings)
    assert "--resume" in said
    assert "--restart" in said
    said = failed("train", tmp_path / "rows.svm", "--out", out, *settings, "--resume", "--seed", 3)
    assert "is of a run with seed 0, and now it is 3" in said
    assert (out / "checkpoint.safetensors").read_bytes() == kept
    finish("train", tmp_path / "rows.svm", "--out", out, *settings, "--restart", "--seed", 3)


def test_an_interrupted_run_ends_and_says_what_is_kept(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 30_000)
    out = tmp_path / "m"
    process = started("train", tmp_path / "rows.svm", "--out", out, *SMALL, "--checkpoint-every", 500)
    until((out / "checkpoint.safetensors").exists, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
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
        run = ["train", tmp_path / "rows.svm", "--out", out, *SMALL, "--seed", 1, *more]
        assert "could not be written" in failed(*run, preexec_fn=limited(20_000)).splitlines()[-1]
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_hashing_goes_on_with_the_files_that_are_left(tmp_path: Path) -> None:
    for number in range(4):
        write_rows(tmp_path / f"rows{number}.svm", 8000, number)
    files = [tmp_path / f"rows{number}.svm" for number in range(4)]
    settings = ["--hashes", 64, "--p", 1, "--scale", "numeric"]
    finish("hash", *files, "--out", tmp_path / "whole", *settings)
    out = tmp_path / "killed"
    run = ["hash", *files, "--out", out, *settings]
    assert killed_and_resumed(run, lambda: len(list(out.glob("part-*.codes.npy"))), kills=3, seed=0) >= 1
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert {path.name: path.read_bytes() for path in out.iterdir()} == whole


def test_codes_that_are_not_all_there_are_not_learned_from(tmp_path: Path) -> None:
    for number in range(2):
        write_rows(tmp_path / f"rows{number}.svm", 300, number)
    hashing = ["--hashes", 8, "--p", 1, "--scale", "numeric"]
    finish("hash", tmp_path / "rows0.svm", tmp_path / "rows1.svm", "--out", tmp_path / "codes", *hashing)
    (tmp_path / "codes" / "part-00001-00000.codes.npy").unlink()
    assert "is missing" in failed("train", tmp_path / "codes", "--out", tmp_path / "m")
    assert "--restart" in failed("hash", tmp_path / "rows0.svm", "--out", tmp_path / "codes", *hashing)


def test_a_pipe_that_is_closed_early_is_no_error(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.svm", 20_000)
    finish("train", tmp_path / "rows.svm", "--out", tmp_path / "m", *SMALL[:-2], "--batch-size", 256)
    line = f"{sys.executable} -m gcwsnet predict {tmp_path / 'm'} {tmp_path / 'rows.svm'} | head -1"
    result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert result.stdout == "predicted\n"
    assert result.stderr == ""
