"""Files are written whole or not at all, left-overs of others stay, and one run at a time writes to a folder."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gcwsnet
from gcwsnet._atomic import locked, remove_left_overs, write_file, written_beside

WRITING = """
import sys, time
from pathlib import Path
from gcwsnet._atomic import written_beside
with written_beside(Path(sys.argv[1]) / "a") as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
"""
LOCKING = """
import sys, time
from pathlib import Path
from gcwsnet._atomic import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(600)
"""


def start(program: str, folder: Path) -> subprocess.Popen[str]:
    """Start a program, and return when it has said its first word."""
    process = subprocess.Popen([sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip()
    return process


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_at_the_end_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_file(path, b"one", memoryview(b"two"))
    assert path.read_bytes() == b"onetwo"

    def half() -> None:
        with written_beside(path) as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        half()
    assert path.read_bytes() == b"onetwo"
    assert names(tmp_path) == ["a"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_pipe_or_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_file(path, b"one", b"two")
    assert os.read(number, 100) == b"onetwo"
    os.close(number)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(exists: bool, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / "a", tmp_path / "link"
    if exists:
        target.write_bytes(b"old")
    link.symlink_to(Path("store") / "a")
    write_file(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert names(tmp_path / "store") == ["a"]


def test_file_and_folder_are_synced_before_and_after_the_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = []
    sync, replace = os.fsync, Path.replace

    def fsync(number: int) -> None:
        events.append("sync folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "sync file")
        sync(number)

    def moved(self: Path, target: Path) -> Path:
        events.append("move")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", moved)
    write_file(tmp_path / "a", b"x")
    assert events == ["sync file", "move", "sync folder"]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_models_have_the_mode_of_the_umask(mask: int, tmp_path: Path) -> None:
    model = gcwsnet.GCWSNetClassifier(8, hidden=(4,), search="off", epochs=1).fit(np.eye(6), [0, 1] * 3)
    before = os.umask(mask)
    try:
        model.save(tmp_path / "m.safetensors")
        write_file(tmp_path / "a", b"")
    finally:
        os.umask(before)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_symbolic_link_in_the_way_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who could guess a name might put a link there; then writing fails, and what it shows is untouched."""
    (tmp_path / "victim").write_bytes(b"precious")
    monkeypatch.setattr("gcwsnet._atomic.secrets.token_hex", lambda n: "0" * 2 * n)
    (tmp_path / f".gcwsnet-{'0' * 16}.part").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "a", b"x")
    remove_left_overs(tmp_path)
    (tmp_path / ".gcwsnet.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic"), locked(tmp_path):
        pass
    assert (tmp_path / "victim").read_bytes() == b"precious"


def test_left_overs_are_those_of_dead_processes_with_names_of_our_own(tmp_path: Path) -> None:
    mine = [".notes.part", ".a.1234abcd.part", ".gcwsnet-x.part", ".tmpAbC123", "b.part"]
    for name in mine:
        (tmp_path / name).write_bytes(b"mine")
    killed, living = start(WRITING, tmp_path), start(WRITING, tmp_path)
    try:
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        assert len(names(tmp_path)) == len(mine) + 2
        remove_left_overs(tmp_path)
        assert len(names(tmp_path)) == len(mine) + 1
        assert set(mine) < set(names(tmp_path))
    finally:
        living.kill()
        living.communicate()
    remove_left_overs(tmp_path)
    assert names(tmp_path) == sorted(mine)


def test_a_model_leaves_no_file_of_another_library_behind(tmp_path: Path) -> None:
    """A model is killed while it is written: what stays has a name of our own, and is removed by the next run."""
    program = """
import os, sys, numpy as np
from pathlib import Path
from gcwsnet.estimators import _tensor_file
os.fsync = lambda number: os.kill(os.getpid(), 9)
_tensor_file.write_file(Path(sys.argv[1]) / "m.safetensors", {"x": np.zeros(1000)}, {})
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 1
    remove_left_overs(tmp_path)
    assert names(tmp_path) == []


def test_threads_that_save_one_path_all_succeed(tmp_path: Path) -> None:
    model = gcwsnet.GCWSNetClassifier(8, hidden=(4,), search="off", epochs=1).fit(np.eye(6), [0, 1] * 3)
    index = gcwsnet.neighbors.GCWSIndex(16, random_state=0).fit(np.random.default_rng(0).random((50, 4)))
    failures: list[BaseException] = []

    def save() -> None:
        try:
            for _ in range(5):
                model.save(tmp_path / "m.safetensors")
                index.save(tmp_path / "index")
                remove_left_overs(tmp_path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=save) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert names(tmp_path) == ["index", "m.safetensors"]
    gcwsnet.load(tmp_path / "m.safetensors")
    gcwsnet.neighbors.GCWSIndex.load(tmp_path / "index", verify=True)


def test_one_run_at_a_time_has_a_folder(tmp_path: Path) -> None:
    other = start(LOCKING, tmp_path)
    try:
        with pytest.raises(BlockingIOError, match="another run is writing to"), locked(tmp_path):
            pass
    finally:
        other.kill()
        other.communicate()
    for _ in range(2):
        with locked(tmp_path), pytest.raises(BlockingIOError), locked(tmp_path):
            pass
    assert names(tmp_path) == []
