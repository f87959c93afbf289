"""Whether other threads of Python run while a call is in the native core."""

import sys
import threading
from collections.abc import Callable


def another_thread_runs_during(call: Callable[[], object], tries: int = 100) -> bool:
    """Return whether this thread got to run while `call` was at work in another one.

    No thread is made to let go of the GIL: the call must do so by itself. Where processors are busy, this thread may
    get one only after the call has ended. So there are several tries, of which one is enough.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        return any(_ran_during(call) for _ in range(tries))
    finally:
        sys.setswitchinterval(before)


def _ran_during(call: Callable[[], object]) -> bool:
    states: list[str] = []

    def work() -> None:
        states.append("begun")
        call()
        states.append("ended")

    worker = threading.Thread(target=work)
    worker.start()
    ran = states == ["begun"]
    worker.join()
    return ran
