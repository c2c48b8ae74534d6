"""--schema: the shape that an answer must fit."""

import os
from typing import Any

from claw.cli.invocation import Invocation
from claw.cli.stdin import LIMIT_BYTES, read_past
from claw.core.errors import UsageError

_NO_NAME = frozenset(" ,:{}[]\n")


def read_schema(given: str, run: Invocation) -> dict[str, Any]:
    """The schema in a file, in JSON or in the short form. Raises UsageError
    for what is none; words that have no effect are told."""
    text = given.strip()
    if not text:
        raise _refuse("--schema is empty")
    if text[0] == "{" or not _is_file(given):
        return check_schema(text, run)
    return check_schema(_read_file(given), run, is_file=True)


def check_schema(text: str, run: Invocation, *,
                 is_file: bool = False) -> dict[str, Any]:
    """The schema in a text: JSON, or the short form, which no file has."""
    from claw.agent.structured.answer import load_schema
    from claw.agent.structured.short_form import parse_short_form
    if not is_file and text.lstrip()[:1] != "{":
        return parse_short_form(text)
    schema, unknown = load_schema(text)
    for name in unknown:
        run.out.warn(f"--schema: {name} has no effect")
    return schema


def _is_file(given: str) -> bool:
    """Whether a file is meant: it is there, or it is written like one."""
    return not _NO_NAME.intersection(given) or given.endswith(".json") \
        or os.path.exists(given)


def _read_file(name: str) -> str:
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
    raise _refuse(f"--schema: {problem}")


def _refuse(problem: str) -> UsageError:
    from claw.agent.structured.short_form import EXAMPLE
    return UsageError(problem, hint="name a file with a JSON Schema, or "
                                    f'write --schema "{EXAMPLE}"')
