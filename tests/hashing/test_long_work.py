"""Long work: other threads go on meanwhile, and Ctrl-C ends it."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from gcwsnet import GCWSHasher

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
    """With the GIL held, this thread would wake up about once while the other one hashes."""
    X = np.ones((4000, 1000), dtype=np.float32)
    hasher = GCWSHasher(512, random_state=0).fit(X)
    worker = threading.Thread(target=hasher.transform, args=(X,))
    worker.start()
    wakes = 0
    while worker.is_alive():
        time.sleep(0.001)
        wakes += 1
    assert wakes > 20


def test_threads_share_one_hasher() -> None:
    """The tables are built once, by all threads that come."""
    X = np.random.default_rng(0).normal(size=(300, 50))
    expected = GCWSHasher(40, random_state=1).fit(X).transform(X)
    hasher = GCWSHasher(40, random_state=1, n_jobs=2).fit(X)
    found: list[np.ndarray] = []
    workers = [threading.Thread(target=lambda: found.append(hasher.transform(X))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 8
    assert all(np.array_equal(codes, expected) for codes in found)
