"""Commands that meet faults and kills: each runs in a child of a process that has imported all it needs.

``python -m tests.fuzz.commands FOLDER SHIM`` is that process, with the shim loaded before the C library. It reads lines
of JSON and answers with lines of JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

SMALL = ["--n-hashes", "16", "--p", "1", "--scale", "numeric"]
NET = [*SMALL, "--hidden", "8", "--checkpoint-every", "300", "--epochs", "1"]
OLD = b"what was there before"
ERRORS = {"ENOSPC": 28, "EIO": 5, "EINTR": 4, "SHORT": -1, "ENOMEM": 12}
OF_THE_DISK = ["EINTR", "EIO", "ENOSPC", "SHORT"]
SECONDS_UNTIL_IT_HANGS = 120.0
RUN_FILES = ["model.safetensors", "curves.json", "run.json"]


class Command(NamedTuple):
    """A command, how it is finished after a fault, and the files in which its result lies.

    Attributes
    ----------
    arguments, again : list of str
        What is run, and what is added when it is run again.
    results : list of str
        The names of files.
    replaces : bool
        Whether it replaces files that were there before. They are `OLD`, or what `before` wrote.
    before : list of str or None
        A command that wrote into the same folder before.
    """

    arguments: list[str]
    again: list[str]
    results: list[str]
    replaces: bool = False
    before: list[str] | None = None


def commands(folder: Path) -> dict[str, Command]:
    """Return the commands; FOLDER/data.svm and FOLDER/model are there, and OUT is the folder that they write to."""
    data, model, out = str(folder / "data.svm"), str(folder / "model"), str(folder / "out")
    train, hashing = ["train", data, "--out", out, *NET], ["hash", data, "--out", out, *SMALL]
    predict = ["predict", model, data, "--out", f"{out}/labels.csv"]
    index = ["index", data, "--out", out, "--threshold", "0.8", "--n-hashes", "32"]
    dedup = ["dedup", data, "--threshold", "0.8", "--n-hashes", "32", "--out", f"{out}/pairs.csv"]
    retrain = [*train, "--random-state", "1"]
    return {
        "train": Command(train, ["--resume"], ["model.safetensors"]),
        "retrain": Command(retrain, ["--resume"], RUN_FILES, replaces=True, before=train),
        "hash": Command(hashing, ["--resume"], ["coder.safetensors", "part-00000-00000.codes.npy"]),
        "predict": Command(predict, [], ["labels.csv"], replaces=True),
        "index": Command(index, [], ["index.json"]),
        "dedup": Command(dedup, [], ["pairs.csv"], replaces=True),
        "save": Command(["save", model, f"{out}/copy.safetensors"], [], ["copy.safetensors"], replaces=True),
    }


def prepare(folder: Path) -> None:
    """Write rows, and train the model that predicts."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 5)), rng.integers(0, 2, 1500)
    lines = (
        f"{label} " + " ".join(f"{i + 1}:{x:.3f}" for i, x in enumerate(row)) for label, row in zip(y, X, strict=True)
    )
    (folder / "data.svm").write_text("\n".join(lines) + "\n")


class Runner:
    """A process that has imported the package and runs commands in children of its own."""

    def __init__(self, folder: Path) -> None:
        shim = folder / "shim.so"
        source = Path(__file__).with_name("shim.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl"], check=True)
        self.folder, self.out = folder, folder / "out"
        self._before: dict[tuple[str, ...], dict[str, bytes]] = {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.commands", str(folder), str(shim)],
            env=os.environ | {"LD_PRELOAD": str(shim)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: list[str], *, at: int = -1, kind: str = "EIO", kill_after: float = -1.0) -> dict[str, Any]:
        """Run a command in a child, with a fault at a call or a kill after some seconds, and return how it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"arguments": arguments, "at": at, "kind": ERRORS[kind], "kill_after": kill_after}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def clear(self, command: Command) -> None:
        """Remove what commands wrote, and write the files that the command replaces."""
        old = self.old(command)
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        for name, content in old.items():
            (self.out / name).write_bytes(content)

    def old(self, command: Command) -> dict[str, bytes]:
        """Return the files that a command replaces."""
        if command.before is None:
            return dict.fromkeys(command.results, OLD) if command.replaces else {}
        key = tuple(command.before)
        if key not in self._before:
            shutil.rmtree(self.out, ignore_errors=True)
            assert self.run(command.before)["code"] == 0
            self._before[key] = {path.name: path.read_bytes() for path in self.out.iterdir()}
        return self._before[key]

    def found(self, command: Command) -> dict[str, bytes]:
        """Return the files of the result that are there."""
        paths = [self.out / name for name in command.results]
        return {path.name: path.read_bytes() for path in paths if path.is_file()}


def check_end(runner: Runner, command: Command, expected: dict[str, bytes], ended: dict[str, Any], what: str) -> str:
    """Return how a run ended: the result is there whole or not at all, an error is said, and it can be repeated."""
    assert ended["code"] is not None, f"{what}: it hung: {ended['stderr']}"
    assert "Traceback" not in ended["stderr"], f"{what}: {ended['stderr']}"
    found = runner.found(command)
    if ended["code"] == 0:
        assert found == expected, f"{what}: success, and another result"
        return "success"
    assert ended["code"] in (-9, 1), f"{what}: ended with {ended['code']}: {ended['stderr']}"
    assert ended["code"] < 0 or ended["stderr"].strip(), f"{what}: an error without a word"
    if command.replaces:
        old = runner.old(command)
        assert command.results[0] in found, f"{what}: the file that was there is lost"
        of_one = any(all(content == one[name] for name, content in found.items()) for one in (old, expected))
        assert of_one, f"{what}: files of two runs beside each other: {sorted(found)}"
    begun = any(runner.out.iterdir())
    again = runner.run([*command.arguments, *(command.again if begun else [])])
    if again["code"] != 0 and command.again:
        again = runner.run([*command.arguments, "--restart"])
        assert again["code"] == 0, f"{what}: cannot be repeated: {again['stderr']}"
    assert again["code"] == 0, f"{what}: cannot be repeated: {again['stderr']}"
    assert runner.found(command) == expected, f"{what}: another result when it was repeated"
    return "killed" if ended["code"] < 0 else "error"


def _whole(runner: Runner, name: str, kind: str) -> tuple[Command, dict[str, bytes], int]:
    """Return a command, its result without a fault, and its calls that a fault of a kind can be at."""
    command = commands(runner.folder)[name]
    runner.clear(command)
    ended = runner.run(command.arguments, at=10**9, kind=kind)
    assert ended["code"] == 0, ended["stderr"]
    expected = runner.found(command)
    assert list(expected) == command.results
    return command, expected, max(1, ended["calls"])


def _with_faults(runner: Runner, name: str, random: Random, n: int, kinds: list[str]) -> dict[str, int]:
    command, expected, calls = _whole(runner, name, kinds[0])
    ends = {"calls": calls}
    for _ in range(n):
        runner.clear(command)
        at, kind = random.randrange(calls), random.choice(kinds)
        ended = runner.run(command.arguments, at=at, kind=kind)
        end = check_end(runner, command, expected, ended, f"{name}, {kind} at call {at}")
        ends[end] = ends.get(end, 0) + 1
    return ends


def faults(runner: Runner, name: str, random: Random, n: int) -> dict[str, int]:
    """Run a command with n faults of the disk, each of a random kind at a random call, and return how runs ended."""
    return _with_faults(runner, name, random, n, OF_THE_DISK)


def allocations(runner: Runner, name: str, random: Random, n: int) -> dict[str, int]:
    """Run a command n times without memory from a random allocation of 64 KB or more on, and return how runs ended."""
    return _with_faults(runner, name, random, n, ["ENOMEM"])


def kills(runner: Runner, name: str, random: Random, n: int) -> dict[str, int]:
    """Kill a command n times at random moments, and return how the runs ended."""
    command, expected, _ = _whole(runner, name, "EIO")
    runner.clear(command)
    start = time.monotonic()
    runner.run(command.arguments)
    seconds, ends = time.monotonic() - start, dict[str, int]()
    for _ in range(n):
        runner.clear(command)
        after = random.random() * seconds
        ended = runner.run(command.arguments, kill_after=after)
        end = check_end(runner, command, expected, ended, f"{name}, killed after {after:.3f} s")
        ends[end] = ends.get(end, 0) + 1
    return ends


def _run_here(arguments: list[str]) -> int:
    """Run a command in this process, and return its exit code."""
    import gcwsnet  # noqa: PLC0415
    from gcwsnet.cli import app  # noqa: PLC0415

    if arguments[0] == "save":
        try:
            gcwsnet.load(arguments[1]).save(arguments[2])
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
        return 0
    try:
        app(arguments)
    except SystemExit as ended:
        return int(ended.code or 0) if not isinstance(ended.code, str) else 1
    return 0


def _child(asked: dict[str, Any], shim: Any, out: str, errors: Path, counted: Path) -> None:
    with errors.open("w") as file, contextlib.redirect_stderr(file), contextlib.redirect_stdout(io.StringIO()):
        shim.fault_arm(out.encode(), asked["at"], asked["kind"])
        code = _run_here(asked["arguments"])
        counted.write_text(str(shim.fault_calls()))
    os._exit(code)


def _wait(child: int) -> int | None:
    """Return the exit code of a child; None if it did not end and had to be killed."""
    end = time.monotonic() + SECONDS_UNTIL_IT_HANGS
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None


def _serve(folder: Path, shim_path: str) -> None:
    from gcwsnet import GCWSNetClassifier  # noqa: PLC0415
    from gcwsnet.cli import _dedup, _hash, _index, _predict, _train  # noqa: F401, PLC0415
    from gcwsnet.estimators import _hash_files, _predictions, _train_files  # noqa: F401, PLC0415
    from gcwsnet.neighbors import Deduplicator, GCWSIndex  # noqa: F401, PLC0415

    sys.modules["matplotlib.figure"] = None  # type: ignore[assignment]  # pictures would take most of the time
    with contextlib.redirect_stdout(io.StringIO()):
        _run_here(["train", "--help"])  # it imports what reads arguments
    shim = ctypes.CDLL(shim_path)
    shim.fault_arm.argtypes, shim.fault_calls.restype = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int], ctypes.c_long
    rng = np.random.default_rng(0)
    settings: dict[str, Any] = {"n_hashes": 16, "hidden": (8,), "epochs": 1, "p": 1.0, "relevance": 0, "scale": None}
    if not (folder / "model").exists():
        child = os.fork()
        if child == 0:
            model = GCWSNetClassifier(**settings, random_state=0)
            model.fit(rng.normal(size=(200, 5)), rng.integers(0, 2, 200)).save(folder / "model")
            os._exit(0)
        os.waitpid(child, 0)
    errors, counted = folder / "stderr", folder / "calls"
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _child(asked, shim, str(folder / "out"), errors, counted)
        if asked["kill_after"] >= 0:
            time.sleep(asked["kill_after"])
            os.kill(child, 9)
        ended = {"code": _wait(child), "calls": int(counted.read_text() or 0) if counted.exists() else 0}
        print(json.dumps(ended | {"stderr": errors.read_text() if errors.exists() else ""}), flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2])
