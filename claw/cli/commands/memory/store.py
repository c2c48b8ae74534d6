"""claw memory store: write one memory."""

import sys
from typing import Annotated

import typer

from claw.cli.commands.memory.common import (
    CategoryOption,
    clean_category,
    open_memory,
    require_keeping,
    say_if_ephemeral,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal import stdin
from claw.core.errors import StorageError, UsageError
from claw.core.memory import (
    CORE,
    NO_SOURCE,
    Memory,
    Source,
    StoresSource,
)
from claw.wiring.workspace.secrets import build_redactor


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
            help="Who said it (default the owner).")] = None,
        source: Annotated[str | None, typer.Option(
            "--source", metavar="MESSAGE",
            help="The message it stood in, e.g. telegram:-100123:4711."
            )] = None,
        stdin_limit: Annotated[int, typer.Option(
            "--stdin-limit", metavar="BYTES",
            help="Largest input read from stdin, in bytes.")
            ] = stdin.LIMIT_BYTES,
        ) -> None:
    """Remember a text under a key."""
    run = Invocation.of(context)
    text = _read_text(run, key, text, stdin_limit)
    redactor = build_redactor(run.settings, quick=True)
    key, text = redactor.own(key), redactor.own(text)
    if redactor.hits:
        run.out.warn("a key of this installation was left out of the memory")
    with open_memory(run, readonly=False) as memory:
        _store(memory, (key, text, clean_category(category_name) or CORE,
                        session), Source(sender or None, source or None))
        stored = require_keeping(memory).get(key)
        if stored is None:
            raise StorageError(
                f"{key!r} was stored, and is not there",
                hint="did another process forget it? try again")
        say_if_ephemeral(run, memory)
    run.print_result(stored.to_json(), stored.key)


def _read_text(run: Invocation, key: str, text: str | None, limit: int
               ) -> str:
    """What to remember: as it was named, or from stdin."""
    if text is None or text == "-":
        if sys.stdin is None or (text is None and not stdin.is_piped()):
            raise UsageError("no text to store",
                             hint="name it, or pipe it in")
        text = stdin.read_text(limit, way_out=stdin.RAISE_LIMIT,
                               say=run.out.note).removesuffix("\n")
    if not text.strip():
        raise UsageError(f"nothing to store under {key!r}: the text is empty",
                         hint=f"to remove it: claw memory forget {key}")
    return text


def _store(memory: Memory, what: tuple[str, str, str, str | None],
           said: Source) -> None:
    """Key, text, category and session, and who said it."""
    if isinstance(memory, StoresSource):
        memory.store_from(*what, said)
    elif said == NO_SOURCE:
        memory.store(*what)
    else:
        raise UsageError(
            f'the memory backend "{memory.name}" can\'t keep who said '
            "something", hint="leave --sender and --source out")
