r"""Memories as Markdown: what one entry looks like, and reading it back.

    - **colour**: Mina likes green <!-- claw {"at": "2026-02-19T..."} -->

    - **plan**: first line

      third line; the second is blank
      last line <!-- claw {"at": "...", "session": "chat:7"} -->

An entry opens with its key, further lines stand two spaces in, and the
comment closes it: it holds, as JSON, when the entry was written and what
its file does not say (category, session, sender, source, origin). Any text
reads back as it was. For that a few characters are written as character
references: control characters but tabs, U+2028 and U+2029, a blank at the
end of a line (editors and git strip it), the "<" of a comment like ours,
the "&" of anything that looks like such a reference, and in keys also "*",
line ends and a blank at the beginning. JSON escapes ">" and "--", so the
comment ends where it should.

Whatever else stands in a file was written by hand or by another program
and is taken as it stands, one memory a line, without headings, blank lines
and the sign of a list item; "**key**: text" gives it a key, else it is called
by file and line ("2026-02-19:12"). References mean nothing there.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

MAX_BYTES = 16 * 2**20  # of one entry, and of one line that is read
NOBODY = "?"  # the session of an entry whose own can't be read

Line = tuple[int, bytes]  # where in the file it begins, and what it holds

_MARK, _END = "<!-- claw ", " -->"
_open = re.compile(r"[-*+] \*\*(.+?)\*\*:(?: (.*))?", re.DOTALL)
_named = re.compile(r"\*\*(.+?)\*\*:\s*(.*)", re.DOTALL)
_special = re.compile(
    r"&(?=#[0-9]{1,7};|amp;)|<(?=!-- claw )|[ \t]\Z"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_special_in_key = re.compile(rf"{_special.pattern}|\A[ \t]|[*\n]")
_reference = re.compile(r"&(?:amp|#([0-9]{1,7}));")


class Found(NamedTuple):
    """One memory of a file. `key` is None where it has no name, `facts`
    None where it was written by hand; `line` counts from 1, `offset` is
    where it begins in bytes."""

    line: int
    offset: int
    key: str | None
    content: str
    facts: dict[str, Any] | None


class _Row(NamedTuple):
    line: int
    offset: int
    text: str


def entry(key: str, content: str, facts: dict[str, Any]) -> str:
    """The lines of one entry, the last line end included."""
    name = _special_in_key.sub(_escape, key)
    first, *more = (_special.sub(_escape, line)
                    for line in content.split("\n"))
    lines = [f"- **{name}**: {first}", *("  " + line for line in more)]
    # Only what stands before an empty line's text ends in a blank here.
    gap = "" if lines[-1].endswith(" ") else " "
    comment = json.dumps(facts, ensure_ascii=False).replace(
        ">", "\\u003e").replace("--", "-\\u002d")
    lines[-1] += gap + _MARK + comment + _END
    return "\n".join(line.rstrip(" ") for line in lines) + "\n"


def parse(lines: Iterable[Line], *, torn: bool = False) -> Iterator[Found]:
    """The memories in the lines of a file, in order; holds one entry at a
    time. `torn`: the file ends within what was being written."""
    held: list[_Row] = []
    size = 0
    for number, (offset, data) in enumerate(lines, 1):
        text = data.decode("utf-8", "replace").rstrip("\r\n")
        if offset == 0:  # the mark of some editors, at a file's start
            text = text.removeprefix("\ufeff")
        row = _Row(number, offset, text)
        size += len(data)
        goes_on = text.startswith("  ") or not text.strip()
        if held and (size > MAX_BYTES or not goes_on):
            yield from _read_by_hand(held)
            held = []
        if not held and not _open.match(text):
            yield from _read_by_hand([row])
            continue
        if not held:
            size = len(data)
        held.append(row)
        if _MARK in text:
            yield _read_entry(held)
            held = []
    yield from _read_by_hand(held, {"session": NOBODY} if torn else None)


def split_entries(data: bytes) -> Iterator[tuple[bytes, Found | None]]:
    """A file in pieces, nothing left out: the lines of each memory with
    what they say, and what stands between them with None."""
    lines = list(data.splitlines(keepends=True))
    starts = list(accumulate(map(len, lines), initial=0))[:-1]
    numbers = {start: number for number, start in enumerate(starts)}
    done = 0
    for found in parse(zip(starts, lines, strict=True)):
        last = numbers[found.offset]
        while found.facts is not None and _MARK.encode() not in lines[last]:
            last += 1
        if done < found.offset:
            yield data[done:found.offset], None
        done = starts[last] + len(lines[last])
        yield data[found.offset:done], found
    if done < len(data):
        yield data[done:], None


def _read_entry(rows: list[_Row]) -> Found:
    """An entry of ours, from its key to its comment."""
    first = _open.match(rows[0].text)
    assert first is not None
    lines = [first[2] or "", *(row.text[2:] for row in rows[1:])]
    lines[-1], facts = _split_facts(lines[-1])
    content = "\n".join(line.rstrip(" \t") for line in lines)
    return Found(rows[0].line, rows[0].offset, _unescape(first[1]),
                 _unescape(content), facts)


def _read_by_hand(rows: list[_Row], facts: dict[str, Any] | None = None
             ) -> Iterator[Found]:
    """Each line as it stands. A comment of ours in it counts still: its
    entry was torn apart, and its session must not be lost."""
    for row in rows:
        text, own = row.text.strip(), facts
        if _MARK in text:
            text, own = _split_facts(text)
        if not text or text.startswith("#"):
            continue
        if text[:2] in ("- ", "* ", "+ "):
            text = text[2:].strip()
        named = _named.match(text)
        yield Found(row.line, row.offset, named[1] if named else None,
                    named[2] if named else text, own)


def _split_facts(text: str) -> tuple[str, dict[str, Any]]:
    """A line without its comment, and what that says."""
    before, _, rest = text.partition(_MARK)
    said, end, after = rest.partition(_END)
    try:
        facts = json.loads(said) if end else None
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        return text, {"session": NOBODY}
    # Someone may have gone on writing behind it.
    return (before + after.strip()).rstrip(" \t"), facts


def _escape(match: re.Match[str]) -> str:
    return "&amp;" if match[0] == "&" else f"&#{ord(match[0])};"


def _unescape(text: str) -> str:
    return _reference.sub(_unescape_one, text)


def _unescape_one(match: re.Match[str]) -> str:
    code = int(match[1] or ord("&"))
    return (match[0] if code > 0x10FFFF or 0xD800 <= code < 0xE000
            else chr(code))
