"""MEMORY_SNAPSHOT.md: core memories as Markdown that reads back exactly.

A file of claw carries a mark in its header and keeps every text: a line
that would end an entry, or looks like the mark of a merge conflict, gets a
backslash in front, and where a text holds control characters or blanks at
the end of a line (which editors and git change) it is escaped as a whole
and says so. Without the mark a file is
read as the reference writes it, where an entry ends at the next heading.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from claw.core.errors import StorageError
from claw.core.memory import CORE, MemoryEntry
from claw.memory import times
from claw.security.files import nofollow

MARK = "<!-- claw-snapshot: 1 -->"
_TITLE = "# 🧠 claw Memory Snapshot"
_NOTICE = (
    "> Core memories, written by `claw memory snapshot`.\n"
    "> If brain.db is lost, the next command restores them from this file.\n"
    "> You may edit it, and `claw memory hydrate` reads it back.\n")
_HEADING = "### 🔑 `"
_MOST = 1e9  # no importance is so large; NaN is not below it either
_IMPORTANCE = 0.5  # what a memory has by default, so it is not said

# What an entry may tell in its comment, and what it has by default.
_USUAL: dict[str, Any] = {
    "session_id": None, "sender": None, "source": None,
    "namespace": "default", "importance": _IMPORTANCE}
_USUAL |= {name: None for name in MemoryEntry.__match_args__ if name not in (
    *_USUAL, "id", "key", "content", "category", "created_at", "updated_at",
    "score", "superseded_by")}

_stuffed = re.compile(r"\\*(?:### 🔑|\*Created: |<{7} |>{7} )")
_conflict = re.compile("<{7} |>{7} ")  # as git leaves them
_meta = re.compile(r"\*Created: (.*?) \| Updated: (.*?)\*\s*$")
_needs_escape = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]|[ \t](?:\n|\\Z)")
_special = re.compile(
    "[\\\\\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]|[ \t](?=\n|\\Z)")
_special_in_key = re.compile("[\\\\\0-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_sequence = re.compile(r"\\(?:u\{([0-9a-f]{1,6})\}|(.))", re.DOTALL)
_SHORT = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LONG = {"n": "\n", "r": "\r", "t": "\t"}


def render(entries: Iterable[MemoryEntry], count: int,
           last_change: str | None) -> Iterator[str]:
    """The file in pieces; the same memories give the same text."""
    change = f"**Last change:** {last_change}\n\n" if last_change else ""
    yield (f"{_TITLE}\n\n{_NOTICE}\n{MARK}\n\n{change}"
           f"**Total core memories:** {count}\n\n---\n")
    for entry in entries:
        yield block(entry)


def block(entry: MemoryEntry) -> str:
    """One memory as it stands in the file."""
    details = _details(entry)
    text = entry.content
    if "text" in details:
        text = _special.sub(_escape, text)
    lines = ["\\" + line if _stuffed.match(line) else line
             for line in text.split("\n")]
    # JSON on one line that can stand in an HTML comment.
    text = re.sub("[\x7f-\x9f\u2028\u2029\ufeff>]",
                  lambda m: f"\\u{ord(m[0]):04x}",
                  json.dumps(details, ensure_ascii=False))
    comment = f"<!-- {text} -->\n" if details else ""
    return (f"\n{_HEADING}{_special_in_key.sub(_escape, entry.key)}`\n"
            f"{comment}\n" + "\n".join(lines) + "\n\n"
            f"*Created: {entry.created_at} | Updated: {entry.updated_at}*\n"
            "\n---\n")


def open_snapshot(path: Path, *, follow_links: bool = False) -> BinaryIO:
    """To read it. Raises OSError, and StorageError for a link where none
    is followed: in a workspace a command may have put it there."""
    return open(path if follow_links else nofollow.open_file(
        path.parent, path.name), "rb")


def read_snapshot(path: Path, *, follow_links: bool = False
                  ) -> Iterator[MemoryEntry]:
    """The memories of a file, one at a time. A missing id or time is left
    empty. Raises StorageError when the file can't be read."""
    try:
        with open_snapshot(path, follow_links=follow_links) as stream:
            yield from read_entries(stream)
    except OSError as error:
        raise StorageError(f"{path} can't be read: {error.strerror}"
                           ) from error


def read_entries(lines: Iterable[bytes]) -> Iterator[MemoryEntry]:
    """The memories in the lines of a file. Raises StorageError where a
    merge left both sides, or an entry has no key: to guess would lose."""
    texts = (line.decode("utf-8", "replace") for line in lines)
    exact, carriage = False, False
    for line in texts:
        if exact and _conflict.match(line):
            raise _refuse_conflict(line)
        if line.strip() == MARK:
            # A carriage return that we never write: the file was converted.
            exact, carriage = True, line.endswith("\r\n")
        elif line.startswith(_HEADING) or (
                not exact and line.strip().startswith(_HEADING)):
            yield from (_read_exact(line, texts, carriage) if exact
                        else _read_reference(line, texts))


def _read_exact(heading: str, lines: Iterator[str], carriage: bool
           ) -> Iterator[MemoryEntry]:
    """Entries of a file of claw, from the first heading on."""
    key: str | None = _read_key(heading)
    body: list[str] = []
    for line in lines:
        if line[0] not in "#*<>":
            body.append(line)
        elif line.startswith(_HEADING):
            if key is not None:  # written by hand, without the last lines
                yield _read_unfinished(key, body, carriage)
            key, body = _read_key(line), []
        elif line[0] in "<>" and _conflict.match(line):
            raise _refuse_conflict(line)
        elif key is not None and line[0] == "*" and (
                meta := _meta.match(line)):
            text = "".join(body)
            if carriage:
                text = text.replace("\r\n", "\n")
            if text == "\n" or text.endswith("\n\n"):
                text = text[:-1]
            yield _read_body(key, text, meta[1], meta[2])
            key, body = None, []
        else:
            body.append(line)
    if key is not None:
        yield _read_unfinished(key, body, carriage)


def _read_unfinished(key: str, body: list[str], carriage: bool
                     ) -> MemoryEntry:
    ended = [line.removesuffix("\n") for line in body]
    if carriage:
        ended = [line.removesuffix("\r") for line in ended]
    return _read_body(key, "\n".join(_strip_rule(ended)), "", "")


def _read_body(key: str, text: str, created: str, updated: str
               ) -> MemoryEntry:
    """What stands between heading and last line: details, blank line,
    text."""
    details: dict[str, Any] = {}
    first, _, rest = text.partition("\n")
    if first.startswith("<!-- {") and first.endswith("} -->"):
        try:
            # A hand may have written what they can't be.
            details = {name: value for name, value
                       in json.loads(first[5:-4]).items()
                       if (is_importance(value) if name == "importance"
                           else isinstance(value, str))}
            text = rest
        except (ValueError, RecursionError):
            details = {}
    text = text.removeprefix("\n").removesuffix("\n")
    if "\\" in text:
        text = "\n".join(line[1:] if line.startswith("\\")
                         and _stuffed.match(line) else line
                         for line in text.split("\n"))
        if details.get("text") == "escaped":
            text = _unescape(text)
    return MemoryEntry("", key, text, CORE, _read_time(created),
                       _read_time(updated), **{
                           **_USUAL, **{name: value for name, value
                                        in details.items()
                                        if name in _USUAL}})


def is_importance(value: object) -> bool:
    """Whether a value read from a file can be an entry's importance."""
    return value is None or (
        isinstance(value, int | float) and not isinstance(value, bool)
        and abs(value) < _MOST)


def _read_reference(heading: str, lines: Iterator[str]
                    ) -> Iterator[MemoryEntry]:
    """Entries as the reference writes them, without escapes. Only the end
    of an entry is read as its last lines, so rules inside stay."""
    key = _bare_key(heading)
    body: list[str] = []
    for raw in lines:
        line = raw.removesuffix("\n").removesuffix("\r")
        if line.strip().startswith(_HEADING) and line.strip().endswith("`"):
            yield from _reference_entry(key, body)
            key, body = _bare_key(line), []
        else:
            body.append(line)
    yield from _reference_entry(key, body)


def _reference_entry(key: str, body: list[str]) -> Iterator[MemoryEntry]:
    body = _strip_rule(body)
    created = updated = ""
    if body and (meta := _meta.match(body[-1].strip())):
        created, updated = meta[1], meta[2]
        body = body[:-1]
    text = "\n".join(body).strip()
    if key and text:
        yield MemoryEntry("", key, text, CORE, _read_time(created),
                          _read_time(updated), importance=_IMPORTANCE)


def _strip_rule(body: list[str]) -> list[str]:
    """Lines without the blank lines and the rule at their end."""
    end = len(body)
    while end and body[end - 1].strip() == "":
        end -= 1
    if end and body[end - 1].strip() == "---":
        end -= 1
    while end and body[end - 1].strip() == "":
        end -= 1
    return body[:end]


def _details(entry: MemoryEntry) -> dict[str, Any]:
    """What is not as usual about an entry, and stands nowhere else."""
    found = {name: getattr(entry, name) for name, usual in _USUAL.items()
             if getattr(entry, name) != usual}
    if _needs_escape.search(entry.content):
        found["text"] = "escaped"
    return found


def _read_key(line: str) -> str:
    key = _unescape(_bare_key(line))
    if not key:
        raise StorageError(f"the snapshot has an entry without a key: "
                           f"{line.strip()}",
                           hint="write a key between the back-ticks")
    return key


def _refuse_conflict(line: str) -> StorageError:
    return StorageError("the snapshot holds both sides of a merge: "
                        f"{line.strip()}",
                        hint="resolve the conflict in the file first")


def _bare_key(line: str) -> str:
    return line.strip().removeprefix(_HEADING).removesuffix("`")


def _escape(match: re.Match[str]) -> str:
    letter = match[0]
    return _SHORT.get(letter) or f"\\u{{{ord(letter):x}}}"


def _unescape(text: str) -> str:
    return _sequence.sub(_unescape_one, text)


def _unescape_one(match: re.Match[str]) -> str:
    if match[1]:
        code = int(match[1], 16)
        return chr(code) if code < 0x110000 else match[0]
    return _LONG.get(match[2], match[2])


def _read_time(text: str) -> str:
    """A time of a file; one that is none counts as missing."""
    try:
        return times.to_utc(text)
    except ValueError:
        return ""
