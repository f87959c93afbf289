"""Threads that need the tables of a hasher build them together: none waits for a lock while another one builds."""

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")

# Python calls the handler of a signal in the midst of the building, which goes on only after the other thread is done.
PROGRAM = """
import signal, threading
import numpy as np
from gcwsnet import _core

n_rows, n_columns, n_hashes = 4, {n_columns}, {n_hashes}
X = np.random.default_rng(0).normal(size=(n_rows, n_columns)).astype(np.float32)
encoding = _core.Encoding(True, True, 8, 0, n_columns)

def new_hasher(scan):
    return _core.Hasher(0, n_columns, n_hashes, 1 << 30, scan, _core.Method.{method})

def codes(hasher, n_threads):
    out = np.empty((n_rows, n_hashes), dtype=np.uint8)
    hasher.codes_of_dense(X, 1.0, False, encoding, out, n_threads)
    return out

def in_the_midst(*_):
    other = threading.Thread(target=lambda: of_other_threads.append(codes(hasher, 1)))
    other.start()
    other.join()

signal.signal(signal.SIGALRM, in_the_midst)
expected, of_other_threads = codes(new_hasher(_core.Scan.FULL), 1), []
for _ in range(2):
    hasher = new_hasher(_core.Scan.{scan})
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    found = codes(hasher, {n_threads})
    assert np.array_equal(found, expected)
assert len(of_other_threads) == 2
assert all(np.array_equal(others, expected) for others in of_other_threads)
"""

# Method, scan, columns and hashes with which the building takes some tenths of a second.
BUILDING = {
    "parameters": ("GCWS", "FULL", 6000, 1500),
    "sorted lists": ("GCWS", "SORTED", 1000, 3000),
    "columns": ("BINWISE", "AUTO", 3_000_000, 64),
}


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("built", BUILDING)
def test_a_thread_does_not_wait_for_one_that_is_building(built: str, n_threads: int) -> None:
    method, scan, n_columns, n_hashes = BUILDING[built]
    program = PROGRAM.format(method=method, scan=scan, n_columns=n_columns, n_hashes=n_hashes, n_threads=n_threads)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
