"""claw memory store: write one memory."""

import sys
from typing import Annotated

import typer

from claw.cli import stdin
from claw.cli.commands.memory_io import (
    CategoryOption,
    category,
    keeping_anything,
    opened,
    say_if_fleeting,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import StorageError, UsageError
from claw.core.memory import (
    CORE,
    NO_SOURCE,
    Memory,
    Source,
    StoresSource,
)


@examples('claw memory store colour "Mina likes green"',
          "claw memory store todo --category daily < todo.txt",
          'claw memory store meal "I am vegan" --sender mina',
          "date | claw memory store last-backup -")
def store(
        context: typer.Context,
        key: Annotated[str, typer.Argument(
            metavar="KEY", help="Its name; an existing one is overwritten.")],
        text: Annotated[str | None, typer.Argument(
            metavar="[TEXT]", help="What to remember; from stdin when it is "
            "left out or -.")] = None,
        category_name: CategoryOption = None,
        session: Annotated[str | None, typer.Option(
            "--session", metavar="NAME",
            help="Only this session (and its owner) sees it.")] = None,
        sender: Annotated[str | None, typer.Option(
            "--sender", metavar="NAME",
            help="Who said it; the owner where it is left out.")] = None,
        source: Annotated[str | None, typer.Option(
            "--source", metavar="MESSAGE",
            help="The message it stood in, e.g. telegram:-100123:4711."
            )] = None,
        stdin_limit: Annotated[int, typer.Option(
            "--stdin-limit", metavar="BYTES",
            help="The most to read from stdin.")] = stdin.LIMIT_BYTES,
        ) -> None:
    """Remember a text under a key."""
    run = Invocation.of(context)
    if text is None or text == "-":
        text = _piped(run, text, stdin_limit)
    if not text.strip():
        raise UsageError(f"nothing to store under {key!r}: the text is empty",
                         hint=f"to remove it: claw memory forget {key}")
    with opened(run, readonly=False) as memory:
        _store(memory, (key, text, category(category_name) or CORE, session),
               Source(sender or None, source or None))
        stored = keeping_anything(memory).get(key)
        if stored is None:
            raise StorageError(
                f"{key!r} was stored, and is not there",
                hint="did another process forget it? try again")
        say_if_fleeting(run, memory)
    if run.as_json:
        run.out.document(stored.to_json())
    else:
        run.out.result(stored.key)


def _store(memory: Memory, what: tuple[str, str, str, str | None],
           source: Source) -> None:
    if isinstance(memory, StoresSource):
        memory.store_from(*what, source)
    elif source == NO_SOURCE:
        memory.store(*what)
    else:
        raise UsageError(
            f'the memory backend "{memory.name}" can\'t keep who said '
            "something", hint="leave --sender and --source out")


def _piped(run: Invocation, text: str | None, limit: int) -> str:
    if sys.stdin is None or (text is None and not stdin.is_piped()):
        raise UsageError("no text to store",
                         hint="name it, or pipe it in")
    return stdin.read_text(limit, say=run.out.note).removesuffix("\n")
