"""What is done when something that was tried does not work."""

from collections.abc import Sequence

from claw.cli.commands.onboard.asking import Choice
from claw.cli.commands.onboard.wizard import Wizard
from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    ExitCode,
    MissingPartError,
    UnavailableError,
)
from claw.wiring.checks.check import Check as Row

AGAIN = Choice("again", "try again")
_ERRORS: dict[int, type[ClawError]] = {
    ExitCode.AUTH: AuthError, ExitCode.CONFIG: ConfigError,
    ExitCode.MISSING_PART: MissingPartError}


def decide(w: Wizard, error: ClawError, ways: Sequence[Choice], *,
           is_shown: bool = False) -> str:
    """Show what went wrong, and ask what the person wants now. Raises it
    where nobody can be asked."""
    if w.asker is None:
        raise error
    if not is_shown:
        w.mark("fail", error.message, error.hint)
    return w.pick(w.asker, "What now?", ways, ways[0].value)


def build_error(code: int, detail: str, hint: str | None) -> ClawError:
    """A failed row as an error."""
    return _ERRORS.get(code, UnavailableError)(detail, hint=hint)


def build_row_error(row: Row) -> ClawError:
    """A failed row of a channel."""
    kind = row.id.rpartition(".")[2]
    code = {"token": ExitCode.AUTH, "auth": ExitCode.AUTH,
            "config": ExitCode.CONFIG, "missing_part": ExitCode.MISSING_PART
            }.get(kind, ExitCode.UNAVAILABLE)
    return build_error(code, f"{row.id}: {row.detail}", row.hint)
