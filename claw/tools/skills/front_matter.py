"""The front matter of a SKILL.md: the part of YAML that skills use. Pure.

`key: value` lines, quoted or plain; texts over several lines (`|`, `>`, or
set in); one map or list below a key. Every value is a text, a list of texts
or a map of texts. Anchors, tags, documents in documents and numbers are no
part of the format, and a reader that knows none of them can't be surprised
by one: that is why no YAML package is used.
Source: agentskills.io/specification, read 2026-11.
"""

import json
import re
from typing import TypeAlias

Value: TypeAlias = str | list[str] | dict[str, str]

MOST_LINES = 400
_FENCE = "---"
_KEY = re.compile(r"([A-Za-z0-9_.-]{1,100})\s*:(?:\s+(.*))?\Z")
_BLOCK = re.compile(r"([|>])[+-]?\d?[+-]?\s*(?:#.*)?\Z")


class FrontMatterError(ValueError):
    """Front matter that can't be read; the text names the line."""


def split_front_matter(text: str) -> tuple[dict[str, Value], str]:
    """The front matter and the text below it. Raises FrontMatterError."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise FrontMatterError("line 1 is no ---, so there is no front "
                               "matter")
    for number, line in enumerate(lines[1:MOST_LINES + 2], 1):
        if line.rstrip() == _FENCE:
            return (parse_front_matter(lines[1:number]),
                    "\n".join(lines[number + 1:]).strip() + "\n")
    raise FrontMatterError("the front matter has no second --- within "
                           f"{MOST_LINES} lines")


def parse_front_matter(lines: list[str]) -> dict[str, Value]:
    """The keys of the top level. Raises FrontMatterError."""
    found: dict[str, Value] = {}
    at = 0
    while at < len(lines):
        number, line = at + 2, lines[at]
        at += 1
        if not line.strip() or line.startswith("#"):
            continue
        key, value = _split_key(line, number)
        if key in found:
            raise FrontMatterError(f"line {number}: {key} stands there twice")
        below = []
        while at < len(lines) and (not lines[at].strip()
                                   or lines[at][0] in " \t"
                                   or lines[at].startswith("- ")):
            below.append(lines[at])
            at += 1
        found[key] = _read_value(value, below, number)
    return found


def _split_key(line: str, number: int) -> tuple[str, str]:
    match = _KEY.match(line.rstrip())
    if match is None:
        raise FrontMatterError(f"line {number} is no `key: value`")
    return match[1], match[2] or ""


def _read_value(value: str, below: list[str], number: int) -> Value:
    if block := _BLOCK.match(value):
        return _join_block(below, folded=block[1] == ">")
    set_in = [line for line in below
              if line.strip() and not line.lstrip().startswith("#")]
    if value or not set_in:
        return _read_flow(" ".join([value, *map(str.strip, set_in)]), number)
    if all(line.lstrip().startswith("- ") for line in set_in):
        return [_read_text(line.strip()[2:], number) for line in set_in]
    if _KEY.match(set_in[0].strip()):
        pairs = [_split_key(line.strip(), number) for line in set_in]
        return {key: _read_text(text, number) for key, text in pairs}
    return " ".join(map(str.strip, set_in))


def _join_block(lines: list[str], *, folded: bool) -> str:
    depth = min((len(line) - len(line.lstrip()) for line in lines
                 if line.strip()), default=0)
    text = "\n".join(line[depth:].rstrip() for line in lines).strip("\n")
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text) if folded else text


def _read_flow(value: str, number: int) -> str | list[str]:
    value = value.strip()
    if value[:1] == "[" and value[-1:] == "]":
        return [_read_text(part, number)
                for part in value[1:-1].split(",") if part.strip()]
    return _read_text(value, number)


def _read_text(value: str, number: int) -> str:
    value = value.strip()
    if value[:1] in ("&", "*", "!", "{"):
        raise FrontMatterError(f"line {number}: {value[0]} starts what is no "
                               "plain text; put it in quotes")
    if value[:1] == '"' and value[-1:] == '"' and len(value) > 1:
        try:
            return str(json.loads(value, strict=False))
        except ValueError:
            return value[1:-1]
    if value[:1] == "'" and value[-1:] == "'" and len(value) > 1:
        return value[1:-1].replace("''", "'")
    return re.sub(r"(?<!\s)\s+#.*\Z", "", value)
