"""--schema: the shape that an answer must fit."""

import os
from typing import Any

from claw.cli.invocation import Invocation
from claw.cli.terminal.stdin import LIMIT_BYTES, read_past
from claw.core.errors import UsageError

_FIELDS = frozenset(" ,:{}[]\n")  # what stands in no file's name, or seldom
_PATH = frozenset("/.~")          # and what in no field's


def read_schema(given: str, option: str, run: Invocation) -> dict[str, Any]:
    """The schema in a file, in JSON or in the short form. Raises UsageError,
    which names the option, for what is none; words that have no effect are
    told."""
    text = given.strip()
    if not text:
        raise _refuse(option, "is empty")
    if text[0] == "{" or not _is_file(given):
        return check_schema(text, option, run)
    return check_schema(_read_file(given, option), option, run, is_file=True)


def check_schema(text: str, origin: str, run: Invocation, *,
                 is_file: bool = False) -> dict[str, Any]:
    """The schema in a text: JSON, or the short form, which no file has.
    `origin` is what errors call it."""
    from claw.agent.structured.answer import load_schema, parse_schema
    try:
        schema, unknown = (load_schema if is_file else parse_schema)(text)
    except UsageError as error:
        raise UsageError(f"{origin}: {error.message.removeprefix('schema: ')}",
                         hint=error.hint) from error
    for name in unknown:
        run.out.warn(f"{origin}: {name} has no effect")
    return schema


def _is_file(given: str) -> bool:
    """Whether a file is meant: it is there, or it is written like one."""
    if os.path.exists(given) and not os.path.isdir(given):
        return True
    return given.endswith(".json") or (
        not _FIELDS.intersection(given) and bool(_PATH.intersection(given)))


def _read_file(name: str, option: str) -> str:
    try:
        with open(name, "rb") as file:
            data = read_past(file, LIMIT_BYTES)
        if len(data) <= LIMIT_BYTES:
            return data.decode("utf-8-sig")
        problem = f"{name} is longer than {LIMIT_BYTES:,} bytes"
    except OSError as error:
        problem = f"{name}: {error.strerror}"
    except ValueError:
        problem = f"{name}: no UTF-8 text"
    raise _refuse(f"{option}:", problem)


def _refuse(start: str, problem: str) -> UsageError:
    from claw.agent.structured.short_form import EXAMPLE
    return UsageError(f"{start} {problem}",
                      hint="name a file with a JSON Schema, or write "
                           f'{start.rstrip(":")} "{EXAMPLE}"')
