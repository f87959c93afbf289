"""Codes are checked without the GIL: other threads of Python run meanwhile."""

import sys
import threading

import numpy as np
import pytest

from gcwsnet import _core

N_SAMPLES, N_HASHES, BITS = 2**21, 16, 8


def other_thread_ran_during_the_check() -> bool:
    """Check codes of which only the last is out of range, so that nothing but the check is done."""
    codes = np.zeros((N_SAMPLES, N_HASHES), dtype=np.uint32)
    codes[-1, -1] = 2**BITS
    rows = _core.CodeToRow(N_HASHES, BITS, N_HASHES << BITS, False, 0)
    states: list[str] = []

    def check() -> None:
        states.append("checking")
        with pytest.raises(ValueError, match=r"codes must be from 0 to 255 .*codes\[2097151, 15\] is 256"):
            _core.LookupsByRow(rows, codes, 1)
        states.append("checked")

    worker = threading.Thread(target=check)
    worker.start()
    ran_meanwhile = states == ["checking"]
    worker.join()
    return ran_meanwhile


def test_other_threads_run_while_codes_are_checked() -> None:
    """No thread of Python is made to let go of the GIL: the check must do so by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        assert any(other_thread_ran_during_the_check() for _ in range(5))
    finally:
        sys.setswitchinterval(before)
