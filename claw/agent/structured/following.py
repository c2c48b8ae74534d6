"""Following a schema of somebody else to an end."""

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from jsonschema.exceptions import (  # type: ignore[import-untyped]
    UnknownType,
)
from referencing.exceptions import (
    InvalidAnchor,
    NoSuchAnchor,
    PointerToNowhere,
    Unresolvable,
)

from claw.core.errors import UsageError

LIMIT_S = 10.0  # of computing; 100,000 values take 2 s
_AGAIN_S = 0.1


@contextmanager
def follow_schema() -> Iterator[None]:
    """Raises UsageError for what a schema can do to who follows it."""
    try:
        with limit_time(LIMIT_S):
            yield
    except RecursionError as error:
        raise UsageError("schema: nested too deep, or referring to itself "
                         "without end",
                         hint="simplify the schema") from error
    except Unresolvable as error:
        raise _refuse_reference(error) from error
    except UnknownType as error:
        raise UsageError(f"schema: there is no type "
                         f"{error.type!r}") from error
    except re.error as error:
        raise UsageError(f"schema: {error.pattern!r} is no pattern: "
                         f"{error}") from error
    except (TypeError, AttributeError, ArithmeticError, LookupError,
            ValueError) as error:
        raise UsageError(f"schema: a keyword has a value that it can not "
                         f"have: {error}",
                         hint="correct the schema") from error


def _refuse_reference(error: Unresolvable) -> UsageError:
    if isinstance(error.__cause__, Unresolvable):  # jsonschema wraps it
        error = error.__cause__
    if isinstance(error, PointerToNowhere | NoSuchAnchor | InvalidAnchor):
        place = getattr(error, "anchor", error.ref)
        return UsageError(f"schema: $ref {f'#{place}'!r} leads nowhere",
                          hint="correct the schema")
    return UsageError(f"schema: $ref {error.ref!r} is not local",
                      hint="put it under $defs and use #/$defs/NAME")


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """A pattern may take for ever, and only a signal stops one. Other
    threads than the main one can't take signals: no limit there. Within
    another the outer one holds."""
    if threading.current_thread() is not threading.main_thread() \
            or signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        yield
        return
    before = signal.signal(signal.SIGVTALRM, partial(_stop, seconds))
    # Again and again: what is raised while Python clears away is dropped.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(seconds: float, number: int, frame: Any) -> None:
    raise UsageError(
        f"schema: still not followed to its end after {seconds:g} s",
        hint="simplify its patterns, references and alternatives")
