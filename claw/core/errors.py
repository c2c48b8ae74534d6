"""The error tree and the exit codes of every command.

    ClawError                     exit  kind
    ├── NotFoundError               1   not_found
    ├── RefusedError                1   refused
    ├── UsageError                  2   usage
    ├── ConfigError                 3   config
    │   └── UnknownNameError        3   config
    ├── AuthError                   4   auth
    ├── UnavailableError            5   unavailable
    │   ├── RateLimitedError        5   rate_limited
    │   │   └── QuotaError          5   quota
    │   ├── OverloadedError         5   overloaded
    │   ├── RequestRefusedError     5   request_refused
    │   │   └── ContextOverflowError  5   context_overflow
    │   ├── IncompleteAnswerError   5   incomplete_answer
    │   ├── TimeLimitError          5   interrupted
    │   └── LeaseLostError          5   lease_lost
    ├── DeniedError                 6   denied
    ├── MissingPartError            7   missing_part
    ├── BudgetError                 8   budget
    │   └── IterationLimitError     8   budget
    ├── FaultError                 70   fault
    ├── StorageError               74   storage
    └── InterruptedAnswerError    130   interrupted

An error says what happened and where (`message`) and what to do next
(`hint`). The codes are the contract of CLI.md; 70 and 74 are those of
sysexits.h, 130 is a shell's own code for SIGINT.
"""

from enum import IntEnum
from typing import Literal, TypeAlias

# Why something that settings name does not answer: they name it wrongly
# (there is no such host, nothing listens at that port), there is no way to
# it from here, or it can't answer now.
Cause: TypeAlias = Literal["setting", "network", "server"]


class ExitCode(IntEnum):
    """What a finished process says to its shell."""

    DONE = 0
    NEGATIVE = 1
    USAGE = 2
    CONFIG = 3
    AUTH = 4
    UNAVAILABLE = 5
    DENIED = 6
    MISSING_PART = 7
    BUDGET = 8
    FAULT = 70
    STORAGE = 74
    INTERRUPTED = 130


class ClawError(Exception):
    """Base of every error that a user may meet.

    `message` is one sentence, `hint` the next step or None. `text` is what
    had come of an answer, None where none was under way. `cause` is known
    of some that are about a server.
    """

    kind = "fault"
    exit_code = ExitCode.FAULT
    cause: Cause | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.text: str | None = None


class InterruptedAnswerError(ClawError):
    """The owner stopped it, with Ctrl-C or SIGTERM."""

    kind = "interrupted"
    exit_code = ExitCode.INTERRUPTED


class NotFoundError(ClawError):
    """A negative answer: the thing asked for is not there."""

    kind = "not_found"
    exit_code = ExitCode.NEGATIVE


class RefusedError(ClawError):
    """A negative answer: a message will not be taken, now or later."""

    kind = "refused"
    exit_code = ExitCode.NEGATIVE


class UsageError(ClawError):
    """The command line, its input or a caller's argument is wrong."""

    kind = "usage"
    exit_code = ExitCode.USAGE


class ConfigError(ClawError):
    """config.toml, an environment setting or a plug-in's name is wrong."""

    kind = "config"
    exit_code = ExitCode.CONFIG


class UnknownNameError(ConfigError):
    """No plug-in is called `name`. Where it was typed, and not read from the
    settings, a command makes it wrong usage."""

    def __init__(self, message: str, name: str, *, hint: str | None = None
                 ) -> None:
        super().__init__(message, hint=hint)
        self.name = name


class AuthError(ClawError):
    """A key or token is missing or was refused.

    `status` is the HTTP status of the refusal, None where nobody was
    asked."""

    kind = "auth"
    exit_code = ExitCode.AUTH

    def __init__(self, message: str, *, hint: str | None = None,
                 status: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class UnavailableError(ClawError):
    """A server did not answer, or answered that it can't now.

    `status` is its HTTP status where there was one, `retry_after_s` the
    wait that it asked for.
    """

    kind = "unavailable"
    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, message: str, *, hint: str | None = None,
                 status: int | None = None,
                 retry_after_s: float | None = None,
                 cause: Cause | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retry_after_s = retry_after_s
        self.cause = cause or self.cause


class RateLimitedError(UnavailableError):
    """The server asked us to slow down (HTTP 429)."""

    kind = "rate_limited"
    cause = "server"


class QuotaError(RateLimitedError):
    """The account has no credit or no quota left: waiting does not help."""

    kind = "quota"


class OverloadedError(UnavailableError):
    """The server or its model has too much to do right now (503, 529)."""

    kind = "overloaded"
    cause = "server"


class RequestRefusedError(UnavailableError):
    """The server understood and refused this request (other 4xx)."""

    kind = "request_refused"


class ContextOverflowError(RequestRefusedError):
    """The request is longer than the model can take."""

    kind = "context_overflow"


class TimeLimitError(UnavailableError):
    """The time that the owner gave a question is over."""

    kind = "interrupted"


class IncompleteAnswerError(UnavailableError):
    """An answer or stream ended before its terminal event."""

    kind = "incomplete_answer"


class LeaseLostError(UnavailableError):
    """Another process has taken over what this one was working on."""

    kind = "lease_lost"


class DeniedError(ClawError):
    """The policy or the owner said no."""

    kind = "denied"
    exit_code = ExitCode.DENIED


class MissingPartError(ClawError):
    """An optional part of claw is not installed."""

    kind = "missing_part"
    exit_code = ExitCode.MISSING_PART


class BudgetError(ClawError):
    """A limit on money, tokens or iterations is exhausted."""

    kind = "budget"
    exit_code = ExitCode.BUDGET


class IterationLimitError(BudgetError):
    """The turn asked its model as often as agent.max_tool_iterations
    allows."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Agent exceeded maximum tool iterations ({limit})",
            hint="ask for less at once, or raise agent.max_tool_iterations")


class FaultError(ClawError):
    """A fault of claw itself."""

    kind = "fault"
    exit_code = ExitCode.FAULT


class StorageError(ClawError):
    """Disk full, or a store that is unreadable or corrupt."""

    kind = "storage"
    exit_code = ExitCode.STORAGE


def describe(error: BaseException) -> str:
    """An error in one line; never blank."""
    text = getattr(error, "message", None) or str(error)
    cause = error.__cause__
    if not text and cause is not None:
        text = str(cause)
    name = type(error).__name__
    if isinstance(error, ClawError) and text:
        return str(text)
    return f"{name}: {text}" if text else name
