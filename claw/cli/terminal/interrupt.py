"""Ctrl-C and SIGTERM end a command alike: with what it has."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from claw.cli.invocation import Invocation
from claw.core.errors import InterruptedAnswerError


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt in the body, as Ctrl-C does, where
    that is ignored too: shells start so what a script puts behind it."""
    def interrupt(*_: object) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def interrupts_as_errors(run: Invocation) -> Iterator[None]:
    """Where a program reads the result, an interrupted body ends in an
    error, which it reads in place of the document. Raises
    InterruptedAnswerError."""
    try:
        with interrupt_on_sigterm():
            yield
    except KeyboardInterrupt:
        if not run.as_json:
            raise
        raise InterruptedAnswerError("interrupted") from None
