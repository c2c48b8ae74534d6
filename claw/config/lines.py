"""On which line of a TOML text each key stands.

tomllib keeps no positions, so this walks the text once more. The text
has parsed, so the scan may take it for valid.
"""

from claw.config.keys import Path, split_key
from claw.core.errors import UsageError


def line_table(text: str) -> dict[Path, int]:
    """Path -> line, counted from 1, for every header and key.

    Keys inside { ... } and [ ... ] are left out: they stand where their
    setting starts.
    """
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    prefix: Path = ()
    position, line, counted = 0, 1, 0
    while (position := _skip_blank(text, position)) < len(text):
        line += text.count("\n", counted, position)
        counted = position
        if text[position] == "[":
            prefix, position = _header(text, position, counts)
            path = prefix
        else:
            end = _find(text, position, "=")
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
    end = _find(text, start, "]")
    parts = _parts(text[start:end])
    path: Path = ()
    for index, part in enumerate(parts):
        path += (part,)
        last = index == len(parts) - 1
        if last and is_array:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path += (str(counts[path]),)
    return path, end + (2 if is_array else 1)


def _parts(text: str) -> Path:
    try:
        return split_key(text)
    except UsageError:  # an escape or an empty name in quotes
        return (text.strip(),)


def _skip_blank(text: str, position: int) -> int:
    while position < len(text):
        if text[position] == "#":
            position = _line_end(text, position)
        elif text[position] in " \t\r\n\ufeff":
            position += 1
        else:
            break
    return position


def _skip_value(text: str, position: int) -> int:
    depth = 0
    while position < len(text):
        char = text[position]
        if char in "\"'":
            position = _skip_string(text, position)
            continue
        if char == "#":
            position = _line_end(text, position)
            continue
        if char == "\n" and not depth:
            break
        depth += (char in "[{") - (char in "]}")
        position += 1
    return position


def _skip_string(text: str, position: int) -> int:
    quote = text[position]
    triple = quote * 3
    if text.startswith(triple, position):
        end = _closing(text, position + 3, triple, quote == '"') + 3
        while text[end:end + 1] == quote:  # up to two quotes before the end
            end += 1
        return end
    return _closing(text, position + 1, quote, quote == '"') + 1


def _closing(text: str, position: int, mark: str, escapes: bool) -> int:
    while position < len(text) and not text.startswith(mark, position):
        position += 2 if escapes and text[position] == "\\" else 1
    return position


def _find(text: str, position: int, mark: str) -> int:
    """Where `mark` stands next, outside quotes."""
    while position < len(text) and text[position] != mark:
        if text[position] in "\"'":
            position = _skip_string(text, position)
        else:
            position += 1
    return position


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end
