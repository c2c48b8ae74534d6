"""What the memory commands share: opening, times, lines, progress."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, TextIO, TypeVar

import typer

from claw.cli.bars import fit
from claw.cli.invocation import Invocation
from claw.cli.output import is_terminal, visible
from claw.core.errors import ConfigError, NotFoundError, UsageError
from claw.core.labels import describe_origin
from claw.core.memory import Memory, MemoryEntry, PagesMemories
from claw.memory import times
from claw.wiring.memory import open_backend

T = TypeVar("T")
PREVIEW = 80
_BEFORE_DATE = ("", "in", "im")
_KEYS = 10  # named when a prefix fits several
_AFTER_S = 1.0
_EVERY_S = 0.1

CategoryOption = Annotated[str | None, typer.Option(
    "--category", metavar="NAME",
    help="core, daily, conversation or any other word.")]
SessionOption = Annotated[str | None, typer.Option(
    "--session", metavar="NAME",
    help="What this session sees: its own memories and those without one.")]
SinceOption = Annotated[str | None, typer.Option(
    "--since", metavar="TIME",
    help="Made at or after: 2026-11-20, a full time, an age as 30d, or "
    'words as "last week".')]
UntilOption = Annotated[str | None, typer.Option(
    "--until", metavar="TIME", help="Made at or before.")]


def open_memory(run: Invocation, *, readonly: bool = True
           ) -> AbstractContextManager[Memory]:
    """The configured memory; what happened on the way goes to stderr."""
    if not readonly:
        run.use_workspace()
    return open_backend(run.settings, readonly=readonly, notify=run.out.note)


def clean_category(text: str | None) -> str | None:
    """A category as it is stored: trimmed, in lower case."""
    if text is None:
        return None
    if not text.strip():
        raise UsageError("--category is blank")
    return text.strip().lower()


def parse_time(option: str, text: str | None, *, end: bool = False
               ) -> str | None:
    """A time, an age ("30d" ago) or the words for one ("last Tuesday") as
    a time: the start of what they name, or its end. A date stays a date."""
    if text is None:
        return None
    for read in (_read_time, _read_age, _read_words):
        with suppress(ValueError):
            return read(text, end)
    raise UsageError(
        f"{option}: {text!r} is neither a time nor an age",
        hint='write 2026-11-20, 2026-11-20T19:00:00Z, 12h, 30d, 2w, '
        '"yesterday" or "in March 2026"')


def _read_time(text: str, _: bool) -> str:
    times.to_utc(text)
    return text.strip()


def _read_age(text: str, _: bool) -> str:
    return times.before(text, datetime.now(UTC))


def _read_words(text: str, end: bool) -> str:
    """The date that the whole text names, "in" aside. Raises
    ValueError."""
    from claw.text.dates import find_windows
    found = [window for words in (f"in {text.strip()}", text.strip())
             for window in find_windows(words, datetime.now().astimezone())
             if len(words) == window.span[1]
             and words[:window.span[0]].strip().lower() in _BEFORE_DATE]
    if not found:
        raise ValueError(text)
    return times.canonical(found[0].end - timedelta(microseconds=1) if end
                           else found[0].start)


def to_one_line(text: str) -> str:
    """Text whose line ends and tabs are spelled out."""
    return (text.replace("\\", "\\\\") if "\n" in text else text
            ).replace("\r", "\\r").replace("\n", "\\n").replace("\t", " ")


def preview(text: str) -> str:
    """The first line that says something, at most 80 characters."""
    line = next((part for part in text.splitlines() if part.strip()), "")
    line = " ".join(line.split())
    return line if len(line) <= PREVIEW else line[:PREVIEW - 1] + "…"


def fit_screen(run: Invocation, lines: Iterable[str], *,
               least: int = 0) -> str:
    """Lines of a list, each cut to the width of a terminal; whole where no
    person reads them, or with less than `least` columns."""
    if run.out.on_terminal and (
            columns := _columns(run.out.stdout)) >= least:
        lines = (fit(visible(line), columns).rstrip() for line in lines)
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
        room = _columns(sys.stderr) - 3
        while len(parts) > 1 and len("  ".join(parts)) > room:
            # The rate goes first, then from the end.
            parts = [part for part in parts if not part.endswith("/s")] \
                if any(part.endswith("/s") for part in parts) else parts[:-1]
        line = "  ".join(parts)[:room]
        sys.stderr.write("\r" + line.ljust(len(self._shown)))
        sys.stderr.flush()
        self._shown = line


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


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
