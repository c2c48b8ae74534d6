"""On which line of a TOML text each key stands.

tomllib keeps no positions, so this walks the text once more. The text
has parsed, so the scan may take it for valid.
"""

import re

from claw.config.keys import Path, split_key
from claw.core.errors import UsageError

_QUOTED = (r'"""(?:\\.|[^\\])*?(?:"{3,}|\Z)|"(?:\\.|[^"\\])*"?|'
           r"'''.*?(?:'{3,}|\Z)|'[^']*'?")
_BLANK = r"(?:[ \t\r\n\ufeff]+|#[^\n]*)*"
_TO_EQUALS = rf"(?:{_QUOTED}|[^=\"']+)*"
_TO_BRACKET = rf"(?:{_QUOTED}|[^\]\"']+)*"
_TOKEN = rf"{_QUOTED}|#[^\n]*|[\[\]{{}}\n]|[^\[\]{{}}\n\"'#]+"


def line_table(text: str) -> dict[Path, int]:
    """Path -> line, counted from 1, for every header and key.

    Keys inside { ... } and [ ... ] are left out: they stand where their
    setting starts.
    """
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    prefix: Path = ()
    position, line, counted = 0, 1, 0
    while (position := _find(text, position, _BLANK)) < len(text):
        line += text.count("\n", counted, position)
        counted = position
        if text[position] == "[":
            prefix, position = _header(text, position, counts)
            path = prefix
        else:
            end = _find(text, position, _TO_EQUALS)
            path = prefix + _parts(text[position:end])
            position = _skip_value(text, end + 1)
        for depth in range(1, len(path) + 1):
            found.setdefault(path[:depth], line)
        found[path] = line
    return found


def _header(text: str, position: int, counts: dict[Path, int]
            ) -> tuple[Path, int]:
    """The path of a [table] or [[array]] header, and where it ends."""
    is_array = text.startswith("[[", position)
    start = position + (2 if is_array else 1)
    end = _find(text, start, _TO_BRACKET)
    parts = _parts(text[start:end])
    path: Path = ()
    for number, part in enumerate(parts, 1):
        path += (part,)
        if is_array and number == len(parts):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path += (str(counts[path]),)
    return path, end + (2 if is_array else 1)


def _parts(text: str) -> Path:
    try:
        return split_key(text)
    except UsageError:  # an escape or an empty name in quotes
        return (text.strip(),)


def _skip_value(text: str, position: int) -> int:
    depth = 0
    for token in re.compile(_TOKEN, re.DOTALL).finditer(text, position):
        if token[0] == "\n" and not depth:
            return token.start()
        depth += (token[0] in ("[", "{")) - (token[0] in ("]", "}"))
    return len(text)


def _find(text: str, position: int, mark: str) -> int:
    """Where a mark stands next, outside quotes."""
    found = re.compile(mark, re.DOTALL).match(text, position)
    return position if found is None else found.end()
