"""What the memory commands share: opening, times, lines, progress."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol, TypeVar

import typer

from claw.cli.invocation import Invocation
from claw.cli.output import is_terminal
from claw.core.errors import UsageError
from claw.core.memory import Memory, MemoryEntry
from claw.memory import times
from claw.wiring.memory import memory_of

T = TypeVar("T")
PREVIEW = 80

CategoryOption = Annotated[str | None, typer.Option(
    "--category", metavar="NAME",
    help="core, daily, conversation or any other word.")]
SessionOption = Annotated[str | None, typer.Option(
    "--session", metavar="NAME",
    help="What this session sees: its own memories and those without one.")]
SinceOption = Annotated[str | None, typer.Option(
    "--since", metavar="TIME",
    help="Made at or after: 2026-11-20, a full time, or an age as 30d.")]
UntilOption = Annotated[str | None, typer.Option(
    "--until", metavar="TIME", help="Made at or before.")]


class Labelled(Protocol):
    """What a line is made of."""

    key: str
    category: str


def opened(run: Invocation, *, readonly: bool = True
           ) -> AbstractContextManager[Memory]:
    """The configured memory; what happened on the way goes to stderr."""
    return memory_of(run.settings, readonly=readonly, notify=run.out.note)


def category(text: str | None) -> str | None:
    """A category as it is stored: trimmed, in lower case."""
    if text is None:
        return None
    if not text.strip():
        raise UsageError("--category is blank")
    return text.strip().lower()


def moment(option: str, text: str | None) -> str | None:
    """A time or an age ("30d" ago) as a time; a date stays a date."""
    if text is None:
        return None
    try:
        times.to_utc(text)
        return text.strip()
    except ValueError:
        pass
    try:
        return times.before(text, datetime.now(UTC))
    except ValueError as error:
        raise UsageError(
            f"{option}: {text!r} is neither a time nor an age",
            hint="write 2026-11-20, 2026-11-20T19:00:00Z, 12h, 30d or 2w"
        ) from error


def on_one_line(text: str) -> str:
    """Text whose line ends and tabs are spelled out."""
    return (text.replace("\\", "\\\\") if "\n" in text else text
            ).replace("\r", "\\r").replace("\n", "\\n").replace("\t", " ")


def preview(text: str) -> str:
    """The first line that says something, at most 80 characters."""
    line = next((part for part in text.splitlines() if part.strip()), "")
    line = " ".join(line.split())
    return line if len(line) <= PREVIEW else line[:PREVIEW - 1] + "…"


def label(entry: MemoryEntry) -> str:
    """The head of a memory: its key and category."""
    return f"{on_one_line(entry.key)} [{on_one_line(entry.category)}]"


def line(entry: MemoryEntry) -> str:
    """A memory on one line."""
    return f"{label(entry)} {preview(entry.content)}".rstrip()


def counted(items: Iterable[T], what: str, *,
            clock: Callable[[], float] = time.monotonic) -> Iterator[T]:
    """The items; on a terminal their number is shown on stderr while it
    takes longer than a second."""
    if not is_terminal(sys.stderr):
        yield from items
        return
    begun = shown = clock()
    number = 0
    for number, item in enumerate(items, 1):
        yield item
        if number % 200 == 0 and clock() - begun > 1 \
                and clock() - shown > 0.1:
            shown = clock()
            sys.stderr.write(f"\r{number:,} {what}")
            sys.stderr.flush()
    if shown != begun:
        sys.stderr.write(f"\r{number:,} {what}\n")


def json_of(entries: Iterable[MemoryEntry]) -> list[dict[str, Any]]:
    """Memories in the common shape."""
    return [entry.to_json() for entry in entries]
