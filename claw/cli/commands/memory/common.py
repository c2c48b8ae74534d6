"""What the memory commands share: opening, times, lines, progress."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Annotated, TypeVar

import typer

from claw.cli.invocation import Invocation
from claw.cli.show.bars import count_columns, fit
from claw.cli.show.output import is_terminal, visible
from claw.core.errors import ConfigError, NotFoundError, UsageError
from claw.core.labels import describe_origin
from claw.core.memory import Memory, MemoryEntry, PagesMemories
from claw.wiring.memory import is_absent, open_backend

T = TypeVar("T")
PREVIEW = 80
_KEYS = 10  # named when a prefix fits several
_AFTER_S = 1.0
_EVERY_S = 0.1

CategoryOption = Annotated[str | None, typer.Option(
    "--category", metavar="NAME",
    help="Category: core, daily, conversation or any other word.")]
SessionOption = Annotated[str | None, typer.Option(
    "--session", metavar="NAME",
    help="Memories this session sees: its own and those without a session.")]


def open_memory(run: Invocation, *, readonly: bool = True,
                makes: bool = True) -> AbstractContextManager[Memory]:
    """The configured memory; what happened on the way goes to stderr.
    Without `makes` one that is not there is empty and not made."""
    if not readonly and (makes or not is_absent(run.settings)):
        run.use_workspace()
    return open_backend(run.settings, readonly=readonly, makes=makes,
                        notify=run.out.note)


def clean_category(text: str | None) -> str | None:
    """A category as it is stored: trimmed, in lower case."""
    if text is None:
        return None
    if not text.strip():
        raise UsageError("--category is blank")
    return text.strip().lower()


def to_one_line(text: str) -> str:
    """Text whose line ends and tabs are spelled out."""
    return (text.replace("\\", "\\\\") if "\n" in text else text
            ).replace("\r", "\\r").replace("\n", "\\n").replace("\t", " ")


def preview(text: str) -> str:
    """The first line that says something, at most 80 characters."""
    line = next((part for part in text.splitlines() if part.strip()), "")
    line = " ".join(line.split())
    return line if len(line) <= PREVIEW else line[:PREVIEW - 1] + "…"


def fit_screen(run: Invocation, lines: Iterable[str]) -> str:
    """Lines of a list, each cut to the width of a terminal; whole where no
    person reads them."""
    if run.out.on_terminal:
        lines = (fit(visible(line), run.out.columns).rstrip()
                 for line in lines)
    return "\n".join(lines)


def format_label(entry: MemoryEntry) -> str:
    """The head of a memory: its key, its category, and where foreign text
    in it comes from."""
    origin = describe_origin(entry.origin)
    return (f"{to_one_line(entry.key)} [{to_one_line(entry.category)}]"
            + (f" ({to_one_line(origin)})" if origin else ""))


def format_line(entry: MemoryEntry) -> str:
    """A memory on one line."""
    return f"{format_label(entry)} {preview(entry.content)}".rstrip()


def format_row(entry: MemoryEntry) -> str:
    """A memory on a line of a pipe: key, category, text, and where foreign
    text comes from."""
    return "\t".join(map(to_one_line, (
        entry.key, entry.category, preview(entry.content),
        describe_origin(entry.origin) or ""))).rstrip()


def show_progress(items: Iterable[T], what: str, *, total: int | None = None,
            clock: Callable[[], float] = time.monotonic) -> Iterator[T]:
    """The items; on a terminal stderr shows how many have passed while it
    takes longer than a second."""
    with Progress(what, total, clock=clock) as progress:
        yield from progress.over(items)


class Progress:
    """A line on the terminal's stderr while work takes over a second:

        memories  42 %  4,200/10,000  1,050/s  0:05 left

    Without a total only the number and the rate. The line is gone at the
    end, and after an error or Ctrl-C.
    """

    def __init__(self, what: str, total: int | None = None, *,
                 share: Callable[[], float] | None = None,
                 quiet: bool = False,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._total = total
        self._share = share
        self._clock = clock
        self._shown = ""
        self._on = not quiet and is_terminal(sys.stderr)
        self._begun = clock()
        self._next = self._begun + _AFTER_S

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, each counted as it passes."""
        if not self._on:
            yield from items
            return
        for number, item in enumerate(items, 1):
            yield item
            self.update(number)

    def update(self, done: int) -> None:
        """So many are done."""
        if not self._on or (now := self._clock()) < self._next:
            return
        self._next = now + _EVERY_S
        self._write(self._describe(done, now - self._begun))

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r" + " " * len(self._shown) + "\r")
            sys.stderr.flush()
            self._shown = ""

    def _describe(self, done: int, seconds: float) -> list[str]:
        share = self._share() if self._share else (
            done / self._total if self._total else None)
        parts = [self._what]
        if share is not None:
            share = min(share, 1.0)
            parts.append(f"{share * 100:.0f} %")
        parts.append(f"{done:,}/{self._total:,}" if self._total
                     else f"{done:,}")
        if seconds > 0:
            parts.append(f"{done / seconds:,.0f}/s")
        if share:
            left = round(seconds / share - seconds)
            parts.append(f"{left // 60}:{left % 60:02d} left")
        return parts

    def _write(self, parts: list[str]) -> None:
        """As many parts as there is room for, and for the ^C that the
        terminal puts behind them."""
        room = count_columns(sys.stderr) - 3
        while len(parts) > 1 and len("  ".join(parts)) > room:
            # The rate goes first, then from the end.
            parts = [part for part in parts if not part.endswith("/s")] \
                if any(part.endswith("/s") for part in parts) else parts[:-1]
        line = "  ".join(parts)[:room]
        sys.stderr.write("\r" + line.ljust(len(self._shown)))
        sys.stderr.flush()
        self._shown = line


def require_keeping(memory: Memory) -> Memory:
    """The memory, unless it would keep nothing of what is written to it.
    Raises ConfigError."""
    if memory.name == "none":
        raise ConfigError('the memory backend "none" keeps nothing',
                          hint="claw config set memory.backend sqlite")
    return memory


def say_if_ephemeral(run: Invocation, memory: Memory) -> None:
    """Say it where what was written is gone with this command."""
    if memory.name == "ephemeral":
        run.out.note('the memory backend "ephemeral" forgets when the '
                     "command ends (claw config set memory.backend sqlite)")


def find_by_prefix(memory: Memory, prefix: str, *,
                   nothing: str) -> MemoryEntry:
    """The one memory whose key begins so. Raises NotFoundError: `nothing`
    where there is none, the first keys where there are several."""
    if isinstance(memory, PagesMemories):
        found = memory.with_prefix(prefix, _KEYS + 1) if prefix else []
    else:
        found = [entry for entry in memory.list()
                 if prefix and entry.key.startswith(prefix)]
    if not found:
        raise NotFoundError(nothing, hint="claw memory list shows the keys")
    if len(found) == 1:
        return found[0]
    keys = ", ".join(to_one_line(entry.key) for entry in found[:_KEYS])
    more = ", ..." if len(found) > _KEYS else ""
    raise NotFoundError(f"several memories begin with {prefix!r}",
                        hint=f"name one of: {keys}{more}")
