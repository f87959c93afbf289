"""Ctrl-C, taken where nothing is half done."""

import os
import signal

import pytest

from gcwsnet.streaming._interrupt import Interrupt


def test_the_first_is_noted_and_the_second_raised() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as interrupt:
        interrupt.check()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupt.check()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
