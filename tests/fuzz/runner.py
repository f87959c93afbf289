"""The process that runs commands with faults and kills, each in a child that finds everything imported.

``python -m tests.fuzz.runner FOLDER SHIM`` is that process, with the shim loaded before the C library. It reads lines
of JSON and answers with lines of JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

FAULTS = {"ENOSPC": 28, "EIO": 5, "EINTR": 4, "SHORT": -1, "KILL": -2, "ENOMEM": 12}
OF_THE_DISK = ["EINTR", "EIO", "ENOSPC", "SHORT", "KILL"]
SECONDS_UNTIL_IT_HANGS = 120.0


class Runner:
    """A process that has imported the package and runs commands in children of its own.

    Parameters
    ----------
    folder : Path
        A folder of its own. The process adds a model and an index; commands write to FOLDER/out, where faults are.

    Attributes
    ----------
    written_before : dict
        The files that commands wrote which were run before others, by their arguments.
    """

    def __init__(self, folder: Path) -> None:
        shim = folder / "shim.so"
        source = Path(__file__).with_name("shim.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl"], check=True)
        self.folder, self.out = folder, folder / "out"
        self.written_before: dict[tuple[str, ...], dict[str, bytes]] = {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.runner", str(folder), str(shim)],
            env=os.environ | {"LD_PRELOAD": str(shim)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: list[str], *, at: int = -1, kind: str = "EIO", kill_after: float = -1.0) -> dict[str, Any]:
        """Run a command in a child, with a fault at a call or a kill after some seconds, and return how it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"arguments": arguments, "at": at, "kind": FAULTS[kind], "kill_after": kill_after}
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


def _run_here(arguments: list[str]) -> int:
    """Run a command in this process, and return its exit code."""
    import gcwsnet  # noqa: PLC0415
    from gcwsnet.cli._app import app  # noqa: PLC0415

    if arguments[0] == "save":
        try:
            gcwsnet.load(arguments[1]).save(arguments[2])
        except (MemoryError, OSError, ValueError) as error:
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


def _import_all() -> None:
    """Import what the commands work with, which a child would else do each time."""
    from gcwsnet.cli import _display  # noqa: F401, PLC0415
    from gcwsnet.files import _hash  # noqa: F401, PLC0415
    from gcwsnet.neighbors import Deduplicator, GCWSIndex  # noqa: F401, PLC0415

    for name in ("pyarrow.parquet", "onnx", "gcwsnet.export"):
        with contextlib.suppress(ImportError):
            __import__(name)
    sys.modules["matplotlib.figure"] = None  # type: ignore[assignment]  # pictures would take most of the time
    with contextlib.redirect_stdout(io.StringIO()):
        _run_here(["train", "--help"])  # it imports what reads arguments


def _make_model_and_index(folder: Path) -> None:
    from gcwsnet import GCWSNetClassifier  # noqa: PLC0415

    settings: dict[str, Any] = {"n_hashes": 128, "hidden": (64,), "epochs": 1, "p": 1.0, "relevance": 0, "scale": None}
    rng = np.random.default_rng(0)
    model = GCWSNetClassifier(**settings, random_state=0)
    model.fit(rng.normal(size=(200, 5)), rng.integers(0, 2, 200)).save(folder / "model")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert _run_here(["index", str(folder / "data.svm"), "--out", str(folder / "index"), "--n-hashes", "32"]) == 0


def _serve(folder: Path, shim_path: str) -> None:
    _import_all()
    shim = ctypes.CDLL(shim_path)
    shim.fault_arm.argtypes, shim.fault_calls.restype = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int], ctypes.c_long
    if not (folder / "index").exists():
        child = os.fork()  # this process keeps no thread and no table
        if child == 0:
            _make_model_and_index(folder)
            os._exit(0)
        os.waitpid(child, 0)
    errors, counted = folder / "stderr", folder / "calls"
    for line in sys.stdin:
        asked, start = json.loads(line), time.monotonic()
        child = os.fork()
        if child == 0:
            _child(asked, shim, str(folder / "out"), errors, counted)
        if asked["kill_after"] >= 0:
            time.sleep(asked["kill_after"])
            os.kill(child, 9)
        ended = {"code": _wait(child), "calls": int(counted.read_text() or 0) if counted.exists() else 0}
        said = errors.read_text() if errors.exists() else ""
        print(json.dumps(ended | {"stderr": said, "seconds": time.monotonic() - start}), flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2])
