"""Memories in Markdown: `**key**: text` lines, and lines without a key.

Headings, blank lines, rules and comments are no memories. A file whose
name begins with a date is that day's journal.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from claw.core.errors import StorageError
from claw.core.memory import CORE, DAILY, MemoryEntry
from claw.core.value import replace
from claw.memory import times
from claw.memory.importers import Tally
from claw.memory.markdown import files
from claw.memory.markdown.format import Line, parse
from claw.memory.markdown.rows import build_memory, row

_dated = re.compile(r"\d{4}-\d\d-\d\d")
_item = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+")
# Both **key**: text and **key:** text are written by people.
_keyed = re.compile(r"\*\*(.+?)(?:\*\*\s*[:\uff1a]|[:\uff1a]\*\*)\s*(.*)",
                    re.DOTALL)


class Note(MemoryEntry):
    """A memory of a file; `has_key` where its line named one."""

    has_key: bool = False


def read_markdown(path: Path, name: str, agent: str, tally: Tally, *,
                  joined: bool) -> Iterator[Note]:
    """The memories of one file.

    A line without a key gets `<agent>_<name>_<line>`. With `joined` a line
    right under one with a key goes on with it, as the reference writes
    texts of several lines.
    """
    day, category = _when(path)
    waiting: Note | None = None
    for number, line in enumerate(_lines(path), 1):
        text = line.strip()
        if waiting is not None and joined and waiting.has_key and text \
                and not text.startswith("#") \
                and not _keyed.match(_item.sub("", text, count=1)):
            waiting = replace(waiting, content=f"{waiting.content}\n"
                              f"{line.rstrip()}")
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        if not text or text.startswith(("#", "<!--", "```", "~~~")):
            continue
        key, content = _split_key(text)
        if not any(map(str.isalnum, content)):
            tally["read"] += 1
            tally["blank"] += 1
            continue
        waiting = Note("", key or f"{agent}_{name}_{number}", content,
                       category, day, day, has_key=key is not None)
    if waiting is not None:
        yield waiting


def is_from_claw(path: Path) -> bool:
    """Whether claw's own Markdown memory wrote it."""
    return any("<!-- claw {" in line for line in _lines(path))


def read_claw_markdown(path: Path) -> Iterator[MemoryEntry]:
    """The memories of a file of claw's; of a key that was written again
    the last comes last."""
    at, _ = _when(path)
    name = (files.CORE_FILE if path.name == files.CORE_FILE
            else f"{files.FOLDER}/{path.name}")
    file = files.File(name, 0, 0.0, torn=False)
    for found in parse(_offsets(path)):
        one = row(file, 0, found, at)
        at = one.at
        yield build_memory(one, one.created)


def _offsets(path: Path) -> Iterator[Line]:
    offset = 0
    with open(path, "rb") as stream:
        for line in stream:
            yield offset, line
            offset += len(line)


def _lines(path: Path) -> Iterator[str]:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as stream:
            for line in stream:
                yield line.rstrip("\n")
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}",
                           hint="nothing was imported; check who may read "
                                "it") from error


def _when(path: Path) -> tuple[str, str]:
    """When its memories were made, and of which category they are."""
    found = _dated.match(path.stem)
    if found:
        try:
            return times.to_utc(found[0]), DAILY
        except ValueError:  # 2026-02-31
            pass
    try:
        changed = path.stat().st_mtime
    except OSError:  # gone; reading it says so
        changed = 0.0
    return times.canonical(datetime.fromtimestamp(changed, UTC)), CORE


def _split_key(text: str) -> tuple[str | None, str]:
    """(key or None, text) of a line."""
    item = _item.match(text)
    text = text[item.end():] if item else text
    found = _keyed.match(text)
    return ((None, text) if found is None
            else (found[1].strip() or None, found[2].strip()))
