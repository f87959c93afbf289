"""Hosts in network namespaces: one is cut off in the middle of hashing, and comes back.

``python -m tests.distributed.hosts`` needs root and `ip`, takes some minutes, and is no part of the test run. A
scheduler with the client and two hosts with a worker each have a network of their own. The cable of a host is pulled in
the middle of a run: no packet says so, and its worker is in the middle of a file. The run must end with the bytes of a
local one. Then the cable is plugged in again. The worker has ended when it lost the scheduler, as Dask's workers do; a
new one is started, as a service manager would, and takes part in a second run.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.cli.test_nothing_lost import content
from tests.distributed.test_hash import HASHING, write_table

ADDRESS = "tcp://10.77.0.1:8786"
CENTER, HOSTS = "gcwsnet-center", ("gcwsnet-a", "gcwsnet-b")
WAITING = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "15s",
}
PRELOAD = "from tests.distributed.faults import be_slow\n\n\ndef dask_setup(worker):\n    be_slow()\n"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def network() -> Iterator[None]:
    """Make the namespaces, and a bridge between them."""
    try:
        for name in (CENTER, *HOSTS):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", CENTER, "link", "add", "bridge", "type", "bridge")
        ip("-n", CENTER, "address", "add", "10.77.0.1/24", "dev", "bridge")
        ip("-n", CENTER, "link", "set", "bridge", "up")
        for number, name in enumerate(HOSTS):
            cable = f"cable{number}"
            ip("-n", CENTER, "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", CENTER, "link", "set", cable, "master", "bridge", "up")
            ip("-n", name, "address", "add", f"10.77.0.{number + 2}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        yield
    finally:
        for name in (CENTER, *HOSTS):
            with suppress(subprocess.CalledProcessError):
                ip("netns", "del", name)


def start(host: str, *words: Any) -> subprocess.Popen[bytes]:
    """Start a Python module on a host."""
    command = ["ip", "netns", "exec", host, sys.executable, "-m", *(str(word) for word in words)]
    return subprocess.Popen(command, env={**os.environ, **WAITING, "PYTHONPATH": os.getcwd()})


def wait_until(condition: Any, what: str, most: float = 180) -> float:
    """Wait for a condition, and return the seconds."""
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > most:
            raise TimeoutError(f"{what} must happen within {most} seconds")
        time.sleep(0.2)
    return time.monotonic() - begin


def n_workers() -> int:
    """Return how many workers the scheduler knows."""
    program = f"from distributed import Client; print(len(Client('{ADDRESS}').nthreads()))"
    command = ["ip", "netns", "exec", CENTER, sys.executable, "-c", program]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return int(found) if found.strip().isdigit() else 0


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # what was made is removed
    processes = []
    with TemporaryDirectory() as temporary, network():
        folder = Path(temporary)
        arguments = ["gcwsnet", "hash", *write_table(folder, n_files=24), "--label", "label", *HASHING]
        subprocess.run([sys.executable, "-m", *map(str, arguments), "--out", folder / "local", "--quiet"], check=True)
        (folder / "preload.py").write_text(PRELOAD)
        try:
            processes.append(start(CENTER, "dask", "scheduler", "--host", "10.77.0.1", "--no-dashboard"))
            preload = folder / "preload.py"
            worker = ["dask", "worker", ADDRESS, "--nthreads", "1", "--no-dashboard", "--preload", preload]
            processes += [start(host, *worker, "--local-directory", folder / host) for host in HOSTS]
            print(f"2 workers after {wait_until(lambda: n_workers() == 2, 'two workers'):.0f} s")
            out = folder / "codes"
            cluster = ["--engine", "dask", "--scheduler", ADDRESS, "--out", out]
            client = start(CENTER, *arguments, *cluster)
            wait_until(lambda: len(list(out.glob("file-*.json"))) >= 4, "four files")
            ip("-n", CENTER, "link", "set", "cable1", "down")
            print("a host is cut off")
            seconds = wait_until(lambda: client.poll() is not None, "the end of the run")
            assert client.returncode == 0, client.returncode
            assert content(out) == content(folder / "local")
            print(f"the run has ended with the same bytes {seconds:.0f} s later")
            ip("-n", CENTER, "link", "set", "cable1", "up")
            print(f"its worker has ended {wait_until(lambda: processes[2].poll() is not None, 'its end'):.0f} s later")
            processes.append(start(HOSTS[1], *worker, "--local-directory", folder / HOSTS[1]))
            print(f"the host is back after {wait_until(lambda: n_workers() == 2, 'a worker that is back'):.0f} s")
            assert start(CENTER, *arguments, *cluster, "--restart").wait(300) == 0
            assert content(out) == content(folder / "local")
            print("a second run has ended with the same bytes")
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(60)


if __name__ == "__main__":
    main()
