"""claw memory forget: remove."""

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from claw.cli.commands.memory_io import CategoryOption, category, opened
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.output import is_terminal
from claw.core.errors import ExitCode, UsageError
from claw.core.memory import ForgetsMany
from claw.memory import times


@examples("claw memory forget colour",
          "claw memory forget --category conversation --older-than 30d --yes")
def forget(
        context: typer.Context,
        keys: Annotated[list[str] | None, typer.Argument(
            metavar="[KEY]...", help="Exactly these keys.")] = None,
        category_name: CategoryOption = None,
        older_than: Annotated[str | None, typer.Option(
            "--older-than", metavar="AGE",
            help="Last changed longer ago: 30d, 12h, or a time.")] = None,
        yes: Annotated[bool, typer.Option(
            "--yes", help="Do not ask before removing by rule.")] = False,
        ) -> None:
    """Remove memories by key, or by category and age."""
    run = Invocation.of(context)
    by_rule = category_name is not None or older_than is not None
    if not keys and not by_rule:
        raise UsageError("nothing was named to forget",
                         hint="name keys, --category or --older-than")
    if by_rule:
        _by_rule(run, keys, category(category_name), _moment(older_than), yes)
    else:
        _by_key(run, list(dict.fromkeys(keys or [])))


def _by_key(run: Invocation, keys: list[str]) -> None:
    with opened(run, readonly=False) as memory:
        gone = [key for key in keys if memory.forget(key)]
    missing = [key for key in keys if key not in set(gone)]
    if run.as_json:
        run.out.document({"forgotten": len(gone), "missing": missing})
    elif gone:
        run.out.result("\n".join(gone))
    for key in missing:
        run.out.note(f"no memory under {key!r}")
    if missing:
        raise typer.Exit(ExitCode.NEGATIVE)


def _by_rule(run: Invocation, keys: list[str] | None, name: str | None,
             before: str | None, yes: bool) -> None:
    if not yes:
        _confirm(name, before)
    with opened(run, readonly=False) as memory:
        if not isinstance(memory, ForgetsMany):
            raise UsageError(
                f'the memory backend "{memory.name}" can\'t forget by rule',
                hint="name the keys")
        removed = memory.forget_where(name, before, keys or None)
    if run.as_json:
        run.out.document({"forgotten": removed, "missing": []})
    else:
        run.out.result(str(removed))
    if not removed:
        raise typer.Exit(ExitCode.NEGATIVE)


def _confirm(name: str | None, before: str | None) -> None:
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise UsageError("removing by rule needs a yes",
                         hint="add --yes when you mean it")
    what = f'all of category "{name}"' if name else "all memories"
    age = f" last changed before {before}" if before else ""
    if not typer.confirm(f"Forget {what}{age}?", err=True):
        raise typer.Exit(ExitCode.DENIED)


def _moment(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return times.before(text, datetime.now(UTC))
    except ValueError as error:
        raise UsageError(f"--older-than: {text!r} is no age",
                         hint="write 30d, 12h, 2w or 2026-11-20") from error
