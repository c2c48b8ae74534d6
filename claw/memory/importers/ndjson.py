"""Memories as lines of JSON, for `claw memory export` and `import`."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from claw.core.errors import UsageError
from claw.core.memory import (
    CORE,
    Memory,
    MemoryEntry,
    RestoresMemories,
)
from claw.memory import times
from claw.memory.snapshot.file import hydrate_entries
from claw.memory.snapshot.format import is_importance

_FIELDS = MemoryEntry.__match_args__
# What a memory has where a line does not say; all else is None.
_USUAL = {"id": "", "category": CORE, "namespace": "default",
          "importance": 0.5}
_TEXTS = [name for name in _FIELDS if name not in (
    "key", "content", "created_at", "updated_at", "score", "importance")]
_LONGEST = 1 << 30  # bytes; SQLite itself takes texts up to 10**9


def record(entry: MemoryEntry) -> dict[str, Any]:
    """A memory as one line holds it: the common shape, and what is not as
    usual besides."""
    found = entry.to_json()
    return found | {name: value for name, value in vars(entry).items()
                    if name in _FIELDS and name not in found
                    and value != _USUAL.get(name)}


def records(memory: Memory) -> Iterator[dict[str, Any]]:
    """Every memory, oldest first."""
    entries: Iterable[MemoryEntry] = (
        memory.entries() if isinstance(memory, RestoresMemories)
        else reversed(memory.list()))
    return map(record, entries)


def read_lines(stream: BinaryIO, longest: int = _LONGEST) -> Iterator[bytes]:
    """The lines of a stream. Raises UsageError for one that has no end,
    as a device has none."""
    number = 0
    while line := stream.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise UsageError(
                f"line {number} is longer than {longest:,} bytes",
                hint="nothing was imported; memories come one a line")
        yield line


def parse(lines: Iterable[bytes], source: str = "standard input"
          ) -> Iterator[MemoryEntry]:
    """The memories in lines of JSON; blank lines are skipped, and a line
    may be a whole document of `claw memory export --json`. Raises
    UsageError that names the line."""
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8-sig" if number == 1 else "utf-8",
                           "replace").strip()
        if text:
            try:
                yield from map(_entry, _objects(text))
            except ValueError as error:
                raise UsageError(
                    f"{source}, line {number}: {error}",
                    hint="nothing was imported; each line is an object with "
                         'at least "key" and "content"') from error


def import_entries(memory: Memory, entries: Iterable[MemoryEntry]) -> int:
    """Write the entries by key, all or none; how many. A store that can't
    keep ids and times gets the texts one by one, once all are read."""
    if isinstance(memory, RestoresMemories):
        return memory.restore(entries, overwrite=True)
    with spool(entries) as kept:
        return hydrate_entries(memory, kept, overwrite=True)


@contextmanager
def spool(entries: Iterable[MemoryEntry]) -> Iterator[Iterator[MemoryEntry]]:
    """The entries once more, after all of them were read without an
    error. They wait in a file without a name."""
    with tempfile.TemporaryFile() as stream:
        for entry in entries:
            stream.write(json.dumps(record(entry)).encode() + b"\n")
        stream.seek(0)
        yield parse(stream)


def _objects(text: str) -> list[Any]:
    """What a line holds: one object, or those of a document."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ValueError(f"no JSON ({error})") from error
    except RecursionError as error:
        raise ValueError("no JSON (nested too deeply)") from error
    if isinstance(data, dict) and "key" not in data \
            and isinstance(data.get("memories"), list):
        return list(data["memories"])
    return [data]


def _entry(data: Any) -> MemoryEntry:
    """One memory. Raises ValueError with what is wrong."""
    if not isinstance(data, dict):
        raise ValueError("not an object")
    for name in ("key", "content"):
        if not isinstance(data.get(name), str):
            raise ValueError(f'"{name}" is missing or no text')
    if not data["key"]:
        raise ValueError('"key" is empty')
    values: dict[str, Any] = {name: _read_text(data, name)
                              for name in _TEXTS}
    values |= {name: values[name] or usual for name, usual in _USUAL.items()
               if name in values}
    importance = data.get("importance", _USUAL["importance"])
    if not is_importance(importance):
        raise ValueError('"importance" is no number')
    return MemoryEntry(
        key=data["key"], content=data["content"],
        created_at=_read_time(data, "created_at", "timestamp"),
        updated_at=_read_time(data, "updated_at"),
        importance=None if importance is None else float(importance),
        **values)


def _read_text(data: dict[str, Any], name: str) -> str | None:
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f'"{name}" is no text')
    return value


def _read_time(data: dict[str, Any], *names: str) -> str:
    for name in names:
        value = _read_text(data, name)
        if value:
            try:
                return times.to_utc(value)
            except ValueError as error:
                raise ValueError(f'"{name}": {value!r} is not a time'
                                 ) from error
    return ""
