"""A process forks while another thread builds tables of a hasher: the child hashes with the same hasher."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")

PROGRAM = """
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
BUILDING = {
    "parameters": ("GCWS", "FULL", 4, 6000, 512),
    "sorted lists": ("GCWS", "SORTED", 4, 1500, 512),
    "columns": ("BINWISE", "AUTO", 3, 2_000_000, 64),
    "trials": ("REJECTION", "AUTO", 3, 500, 4000),
}


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("built", BUILDING)
def test_a_forked_process_uses_a_hasher_whose_tables_were_being_built(built: str, n_threads: int) -> None:
    """None of the threads that were building exists in the child, so nothing may wait for one of them."""
    method, scan, n_rows, n_columns, n_hashes = BUILDING[built]
    program = PROGRAM.format(
        method=method, scan=scan, n_rows=n_rows, n_columns=n_columns, n_hashes=n_hashes, n_threads=n_threads
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
