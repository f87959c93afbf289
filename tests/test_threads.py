"""How many threads a call uses, and the threads that the native core keeps."""

import os
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest

from gcwsnet import _core
from gcwsnet._threads import n_threads


def test_none_is_one_and_minus_one_is_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert n_threads(None) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) == joblib.cpu_count()


def test_a_joblib_context_counts_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with joblib.parallel_config("threading", n_jobs=2):
        assert n_threads(None) == 2
        assert n_threads(1) == 1


@pytest.mark.parametrize("value", ["1", "1,4", " 1 "])
def test_all_is_at_most_omp_num_threads(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert n_threads(-1) == 1
    assert n_threads(2) == 2


def test_workers_of_joblib_share_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    workers = max(2, joblib.cpu_count())
    found = joblib.Parallel(n_jobs=workers, backend="loky")(joblib.delayed(n_threads)(-1) for _ in range(workers))
    assert max(found) == 1


# `right(n_threads)` hashes on that many threads and compares with one.
PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
from gcwsnet import _core

X = np.random.default_rng(0).normal(size=(500, 30))
encoding = _core.Encoding(True, False, 8, 0, 30)

def codes(n_threads):
    out = np.empty((500, 64), dtype=np.uint8)
    _core.Hasher(0, 30, 64, 1 << 20, _core.Scan.AUTO).codes_of_dense(X, 1.0, False, encoding, out, n_threads)
    return out

def tasks():
    return set(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else set()

expected, before = codes(1), tasks()

def right(n_threads):
    return np.array_equal(codes(n_threads), expected)

assert right(3)
"""


def run(program: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM + program], capture_output=True, text=True, timeout=600, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_process_ends_while_threads_wait_for_work() -> None:
    run("right(4)")
    run("import atexit; atexit.register(right, 3); right(2); sys.exit(0)")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
@pytest.mark.parametrize("meanwhile", ["nothing", "work"])
def test_a_forked_process_has_threads_of_its_own(meanwhile: str) -> None:
    """It hashes as its parent does, though it has none of the parent's threads, and what they locked stays locked."""
    others = "threading.Thread(target=lambda: [right(3) for _ in range(200)]).start()" if meanwhile == "work" else ""
    run(f"""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on, of any fork of a process with threads
{others}
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0 if right(3) and right(2) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert right(3)
""")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not list threads")
def test_threads_are_kept_and_no_new_ones_started() -> None:
    run("""
kept = tasks()
assert all(right(n) for n in (2, 3) * 20)
assert tasks() == kept
while len(tasks()) < len(kept) + 2:  # where helpers lose their processors, calls begin alone for a while
    assert right(5)
    time.sleep(0.01)
assert len(tasks()) == len(kept) + 2
""")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not list threads")
def test_signals_are_left_to_the_threads_of_the_program() -> None:
    run("""
assert len(tasks()) == len(before) + 2
for task in tasks() - before:
    fields = dict(line.split(":", 1) for line in open(f"/proc/self/task/{task}/status"))
    blocked = int(fields["SigBlk"], 16)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM):
        assert blocked >> (number - 1) & 1, number
""")


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_an_error_of_one_thread_ends_all_and_leaves_them_for_the_next_call(n_threads: int) -> None:
    good = np.random.default_rng(0).normal(size=(2000, 20))
    encoding = _core.Encoding(True, False, 8, 0, 20)
    hasher = _core.Hasher(0, 20, 64, 1 << 20, _core.Scan.AUTO)
    expected, out = (np.empty((2000, 64), dtype=np.uint8) for _ in range(2))
    hasher.codes_of_dense(good, 1.0, False, encoding, expected, 1)
    for row in range(0, 2000, 100):
        bad = good.copy()
        bad[row, 3] = np.nan
        with pytest.raises(FloatingPointError, match="an entry is infinite or NaN"):
            hasher.codes_of_dense(bad, 1.0, False, encoding, out, n_threads)
        hasher.codes_of_dense(good, 1.0, False, encoding, out, n_threads)
        np.testing.assert_array_equal(out, expected)
