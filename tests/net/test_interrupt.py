"""Ctrl-C, raised between two steps."""

import os
import signal

import pytest

from gcwsnet.net._trainer import Interrupt


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


def test_one_that_comes_after_the_last_check_is_raised_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), Interrupt():
        os.kill(os.getpid(), signal.SIGINT)


def test_another_error_is_not_hidden() -> None:
    def fail() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), Interrupt():
        fail()
