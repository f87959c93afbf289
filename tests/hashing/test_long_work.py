"""Long work: Ctrl-C ends it, and other threads and forked processes use the same hasher meanwhile."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from gcwsnet import GCWSHasher
from tests.beside import another_thread_runs_during

# Each of these would take minutes.
PROGRAMS = {
    "hashing": """
import numpy as np, gcwsnet
X = np.ones((2_000, 20_000), dtype=np.float32)
work = gcwsnet.GCWSHasher(100_000, n_jobs={n_jobs}).fit(X[:1])
print("ready", flush=True)
work.samples(X)
""",
    "one long row": """
import numpy as np, gcwsnet
X = np.ones((1, 20_000_000), dtype=np.float32)
work = gcwsnet.GCWSHasher(2**20, bits=1, n_jobs={n_jobs}).fit(X)
print("ready", flush=True)
work.transform(X)
""",
    "kernel": """
import numpy as np, gcwsnet
X = np.ones((8_000, 20_000), dtype=np.float32)
print("ready", flush=True)
gcwsnet.pgmm_kernel(X, n_jobs={n_jobs})
""",
}


def assert_ctrl_c_ends(program: str) -> None:
    """The program says that it is ready and then works for minutes."""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)  # so that it is in the midst of its work, as a rule
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("work", PROGRAMS)
def test_ctrl_c_ends_long_work(work: str, n_jobs: int) -> None:
    assert_ctrl_c_ends(PROGRAMS[work].format(n_jobs=n_jobs))


def test_other_threads_run_while_rows_are_hashed() -> None:
    X = np.ones((4000, 200), dtype=np.float32)
    hasher = GCWSHasher(256, random_state=0).fit(X)._hasher
    assert another_thread_runs_during(lambda: hasher.codes(X))


@pytest.mark.parametrize("method", ["gcws", "rejection", "binwise", "extremal", "minwise"])
@pytest.mark.filterwarnings("ignore:method='rejection' needs")
def test_threads_share_one_hasher(method: str) -> None:
    """The tables are built once, by all threads that come."""
    X = np.random.default_rng(0).normal(size=(300, 50)) ** 5
    expected = GCWSHasher(40, method=method, random_state=1).fit(X).transform(X)
    hasher = GCWSHasher(40, method=method, random_state=1, n_jobs=2).fit(X)
    found: list[np.ndarray] = []
    workers = [threading.Thread(target=lambda: found.append(hasher.transform(X))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 8
    assert all(np.array_equal(codes, expected) for codes in found)


# Python calls the handler of a signal in the midst of the building, which goes on only after the other thread is done.

# Method, scan, columns and hashes with which the building takes some tenths of a second.


FORK_PROGRAM = """
import os, threading, time, warnings
import numpy as np
from gcwsnet import _core

warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on, of any fork of a process with threads
X = np.random.default_rng(0).normal(size=({n_rows}, {n_columns})).astype(np.float32)
encoding = _core.Encoding(True, True, 8, 0, {n_columns})
ends = np.linspace(0, 2**63, 2 * {n_columns} + 1)[1:].astype(np.uint64)

def new_hasher():
    hasher = _core.Hasher(0, {n_columns}, {n_hashes}, 1 << 30, _core.Scan.{scan}, _core.Method.{method})
    if hasher_has_caps:
        hasher.use_caps(np.full(2 * {n_columns}, 4, dtype=np.float32), ends)
    return hasher

def codes(hasher, n_threads):
    out = np.empty(({n_rows}, {n_hashes}), dtype=np.uint8)
    hasher.codes_of_dense(X, 1.0, False, encoding, out, n_threads)
    return out

hasher_has_caps = _core.Method.{method} == _core.Method.REJECTION
expected = codes(new_hasher(), 1)
n_forks_meanwhile = 0
for attempt in range(6):
    hasher, started, done = new_hasher(), threading.Event(), threading.Event()

    def work():
        started.set()  # until the call below lets go of the GIL, no other thread runs
        codes(hasher, {n_threads})
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    started.wait()
    time.sleep(0.003 * attempt)  # another moment of the building each time
    child = os.fork()
    if child == 0:
        os._exit(0 if all(np.array_equal(codes(hasher, n), expected) for n in (1, 3)) else 1)
    n_forks_meanwhile += not done.is_set()
    assert os.waitpid(child, 0)[1] == 0
    worker.join()
    assert np.array_equal(codes(hasher, 2), expected)
assert n_forks_meanwhile > 0
"""

# Method, scan, rows, columns and hashes with which most of the time goes into building.
BUILT_AT_A_FORK = {
    "parameters": ("GCWS", "FULL", 4, 6000, 512),
    "sorted lists": ("GCWS", "SORTED", 4, 1500, 512),
    "columns": ("BINWISE", "AUTO", 3, 2_000_000, 64),
    "trials": ("REJECTION", "AUTO", 3, 500, 4000),
}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("built", BUILT_AT_A_FORK)
def test_a_forked_process_uses_a_hasher_whose_tables_were_being_built(built: str, n_threads: int) -> None:
    """None of the threads that were building exists in the child, so nothing may wait for one of them."""
    method, scan, n_rows, n_columns, n_hashes = BUILT_AT_A_FORK[built]
    program = FORK_PROGRAM.format(
        method=method, scan=scan, n_rows=n_rows, n_columns=n_columns, n_hashes=n_hashes, n_threads=n_threads
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
