"""The one place where a process catches everything.

Every way a command can end becomes an exit code of CLI.md and, for an
error, one sentence on stderr (under --json the same as JSON on stdout).
"""

import errno
import io
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from typer import Abort, Exit

from claw.cli.lazy import ParserError
from claw.cli.show.output import Output, visible
from claw.cli.synonyms import explain_value, suggest_option
from claw.core.errors import (
    ClawError,
    ConfigError,
    ExitCode,
    FaultError,
    StorageError,
    UnknownNameError,
    UsageError,
)
from claw.core.streams import get_stdout, keep_stdout
from claw.core.value import Record
from claw.security.redact.redactor import Redactor
from claw.wiring.workspace.secrets import read_variables

# What the parser calls the type of a value, and what a person calls it.
_PLAIN = {"is not a valid int range": "is not a whole number",
          "is not a valid integer": "is not a whole number",
          "is not a valid int": "is not a whole number",
          "is not a valid float range": "is not a number",
          "is not a valid float": "is not a number"}
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Outcome(Record):
    """How the command ended."""

    code: int = ExitCode.FAULT


@contextmanager
def catch_everything(arguments: Sequence[str]) -> Iterator[Outcome]:
    """Run the body; whatever it raises ends in `outcome.code`."""
    _use_utf8()
    outcome = Outcome()
    with keep_stdout():
        try:
            yield outcome
            get_stdout().flush()
        except Exit as stop:
            outcome.code = stop.exit_code
        except (KeyboardInterrupt, Abort, EOFError):
            outcome.code = ExitCode.INTERRUPTED
        except BrokenPipeError:
            outcome.code = ExitCode.DONE
            _silence_stdout()
        except Exception as error:
            outcome.code = _report(error, arguments)


def _report(error: Exception, arguments: Sequence[str]) -> int:
    options = list(arguments)
    if "--" in options:
        options = options[:options.index("--")]
    out = Output(json="--json" in options,
                 redactor=None if "--show-secrets" in options
                 else Redactor(read_variables),
                 json_notes="--log-format=json" in options
                 or ("json" in options[1:] and "--log-format" in options))
    known = translate(error)
    if isinstance(known, UnknownNameError) and any(
            known.name in re.split(r"[=,:\s]|^-[a-z]", each)
            for each in options):
        known = UsageError(known.message, hint=known.hint)
    try:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(known.message, file=sys.stderr)  # noqa: T201
        else:
            out.end()
            out.error(known)
        if isinstance(known, FaultError) and any(
                option == "--verbose" or re.fullmatch("-v+", option)
                for option in options):
            text = "".join(traceback.format_exception(error))
            print(visible(text), file=sys.stderr)  # noqa: T201
        get_stdout().flush()
    except OSError:  # stdout is full or gone; stderr may still be heard
        _silence_stdout()
        with suppress(OSError):
            Output(json_notes=out.json_notes).error(known)
    return known.exit_code


def translate(error: Exception) -> ClawError:
    """Any exception as an error with a kind, a code and a next step."""
    if isinstance(error, ClawError):
        return error
    if isinstance(error, ParserError):
        return _translate_usage(error)
    if isinstance(error, OSError):
        return _translate_os(error)
    if isinstance(error, MemoryError):
        return StorageError("out of memory", hint="give it less at once")
    if isinstance(error, RecursionError):
        return UsageError("the input is nested too deeply")
    return FaultError(
        f"a fault of claw: {type(error).__name__}: {error}",
        hint="run it again with -v and report what it prints")


def _translate_usage(error: ParserError) -> ClawError:
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        return UsageError(message)
    context: Any = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None) or ""
    parameters = [] if context is None \
        else context.command.get_params(context)
    hint = None
    match type(error).__name__:
        case "NoSuchOption":
            message = message.partition(" (Possible")[0]
            hint = suggest_option(option, {
                name for each in parameters for name in each.opts})
            if hint is None and context is not None and not context.parent:
                hint = f"name a command first, as in: claw ask {option} ..."
        case "BadOptionUsage":
            message = _name_value(option, parameters) or message
        case "BadParameter":
            hint = explain_value(getattr(
                getattr(error, "param", None), "opts", ()))
        case "MissingParameter":
            message = message.replace("'", "")
            hint = _show_example(context)
    path = context.command_path if context is not None else "claw"
    hint = hint or f"see: {path} --help"
    for jargon, plain in _PLAIN.items():
        message = message.replace(jargon, plain)
    return UsageError(message[:1].lower() + message[1:].rstrip("."),
                      hint=hint)


def _name_value(option: str, parameters: Sequence[Any]) -> str | None:
    """Which value an option lacks."""
    found = next((each for each in parameters if option in each.opts), None)
    return found and f"{option} needs a value: {option} {found.metavar}"


def _show_example(context: Any) -> str | None:
    """The first example of the command."""
    examples = getattr(context and context.command, "help_examples", ())
    return f"for example: {examples[0]}" if examples else None


def _translate_os(error: OSError) -> ClawError:
    where = f": {error.filename}" if error.filename else ""
    text = (error.strerror or str(error)).lower()
    if error.errno in _NO_ROOM:
        return StorageError(
            f"no room left to write{where or ' the result'}",
            hint="free some space; nothing was overwritten" if where else
            "free some space; what the command did is done")
    if error.errno == errno.EBADF and not where:
        return StorageError("standard output is closed",
                            hint="what the command did is done")
    if error.errno == errno.EROFS or isinstance(error, PermissionError):
        return StorageError(f"{text}{where}",
                            hint="check who owns it and who may write there")
    if error.errno in (errno.EISDIR, errno.ENOTDIR, errno.ENOENT,
                       errno.ENAMETOOLONG, errno.ELOOP):
        return ConfigError(f"{text}{where}")
    return StorageError(f"{text}{where}")


def _use_utf8() -> None:
    """Text is UTF-8 whatever the locale says. A closed stdout fails when a
    result is written to it, a closed stderr swallows."""
    if sys.stdout is None:
        closed = os.open(os.devnull, os.O_RDONLY)
        os.dup2(closed, 1)  # no file that is opened later may be stdout
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        if closed != 1:
            os.close(closed)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace",
                               newline="\n")


def _silence_stdout() -> None:
    """The reader is gone: nothing more may fail at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, get_stdout().fileno())
    os.close(devnull)
