"""The part of YAML that settings are written in. Pure.

Mappings and lists in blocks and in brackets, plain and quoted texts over
one line or several, | and >. Anchors, tags, several documents and keys that
are no texts are refused, never guessed.
Source: yaml.org/spec/1.2.2, chapters 6 to 8; words as YAML 1.1 has them,
since that is what PyYAML writes.
"""

import re
from typing import Any

_DEEPEST = 60
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9_]{0,30})\Z")
_FLOAT = re.compile(r"[-+]?(?:\d[\d_]*)?\.\d+(?:[eE][-+]?\d+)?\Z|"
                    r"[-+]?\d+\.(?:\d*)(?:[eE][-+]?\d+)?\Z")
_KEY = re.compile(
    r"""("(?:[^"\\]|\\.){0,200}"|'(?:[^']|''){0,200}'"""
    r"""|[^\s\-?:,\[\]{}#&*!|>'"%@`][^#]{0,200}?|-[^\s#][^#]{0,200}?)"""
    r"""\s{0,20}:(?:\s+|$)""")
_IN_DOUBLE = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_IN_SINGLE = re.compile(r"[^']*(?:''[^']*)*")
_WORDS = {"": None, "~": None, "null": None, "true": True, "yes": True,
          "on": True, "false": False, "no": False, "off": False}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
                     r"|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a",
            "b": "\b", "e": "\x1b", "f": "\f", "v": "\v", "_": "\xa0",
            "N": "\x85", "L": "\u2028", "P": "\u2029"}
_REFUSED = ("&", "*", "!", "@", "`", "%", "? ")


def parse_yaml(text: str) -> Any:
    """The value of a text; None for an empty one. Raises ValueError that
    names the line."""
    reader = _Reader(text)
    value = reader.node(-1, 0)
    reader.finish()
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self._lines = text.lstrip("\ufeff").replace("\r\n", "\n").split("\n")
        self._at = 0
        if self._peek() is not None and self._line().strip() == "---":
            self._at += 1

    def finish(self) -> None:
        if self._peek() is not None and self._line().strip() != "...":
            raise self._wrong("it is not indented like what stands above")

    def node(self, above: int, depth: int) -> Any:
        """The mapping, list or text that is indented past `above`."""
        indent = self._peek()
        if indent is None or indent <= above:
            return None
        if depth > _DEEPEST:
            raise self._wrong("it is nested too deeply")
        content = self._line().strip()
        if content == "-" or content.startswith("- "):
            return self._list(indent, depth)
        if _KEY.match(content):
            return self._mapping(indent, depth)
        self._at += 1
        return self._scalar(content, above)

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self._peek() == indent:
            content = self._line().strip()
            match = _KEY.match(content)
            if match is None:
                raise self._wrong("a name with a colon is missing")
            key = _text(match[1]) if match[1][0] in "'\"" else match[1]
            if key in found or key == "<<":
                raise self._wrong(f"{key!r:.40} stands there twice"
                                  if key in found else "it merges mappings")
            self._at += 1
            found[key] = self._value(content[match.end():], indent, depth)
        return found

    def _list(self, indent: int, depth: int) -> list[Any]:
        found = []
        while self._peek() == indent:
            content = self._line().strip()
            if content != "-" and not content.startswith("- "):
                break
            rest = content[1:].lstrip()
            if rest and not rest.startswith("#") and (
                    _KEY.match(rest) or rest.startswith("- ")):
                # What follows the dash is a block of its own.
                inner = indent + len(content) - len(rest)
                self._lines[self._at] = " " * inner + rest
                found.append(self.node(indent, depth + 1))
                continue
            self._at += 1
            found.append(self._value(rest, indent, depth))
        return found

    def _value(self, rest: str, indent: int, depth: int) -> Any:
        """What stands behind a colon or a dash, or below it."""
        bare = _without_comment(rest)
        if bare:
            return self._scalar(rest, indent)
        below = self._peek()
        if below == indent and self._line().strip().startswith("-") \
                and _KEY.match(self._line().strip()) is None:
            return self._list(indent, depth + 1)
        return self.node(indent, depth + 1)

    def _scalar(self, text: str, above: int) -> Any:
        if text[0] in "|>":
            return self._block(text, above)
        if text[0] in "'\"":
            return self._quoted(text)
        if text[0] in "[{":
            return self._flow(text)
        if text.startswith(_REFUSED):
            raise self._wrong(f"{text[:1]!r} is YAML that claw does not "
                              "read", back=1)
        parts = [_without_comment(text)]
        while (indent := self._peek()) is not None and indent > above:
            if _KEY.match(self._line().strip()):
                raise self._wrong("a name stands where a text goes on")
            parts.append(_without_comment(self._line().strip()))
            self._at += 1
        return _resolve(" ".join(filter(None, parts)))

    def _quoted(self, text: str) -> str:
        """A quoted text, joined with the lines after it up to its end."""
        quote, parts, piece, at = text[0], [], text, 1
        inside = _IN_DOUBLE if quote == '"' else _IN_SINGLE
        while (end := _match_end(inside, piece, at)) == len(piece) \
                or piece[end] != quote:
            if self._at >= len(self._lines):
                raise self._wrong("a text has no end")
            line = self._lines[self._at].strip()
            self._at += 1
            if end < len(piece):  # the line was broken in the text
                parts.append(piece[:end])
                piece = line
            else:
                parts.append(piece)
                piece = ("" if piece.endswith("\n") else " ") + line \
                    if line else "\n"
            at = 0
        if _without_comment(" " + piece[end + 1:]):
            raise self._wrong("there is more behind a text", back=1)
        return _text("".join(parts) + piece[:end + 1])

    def _flow(self, text: str) -> Any:
        """A list or mapping in brackets, over one line or several. Each
        try takes twice as many lines: all of them take the time of a few."""
        start, count = self._at, 0
        while True:
            lines = [text, *map(str.strip,
                                self._lines[start:start + count])]
            flow = _Flow(" ".join(lines))
            try:
                value = flow.read()
            except _OpenError:
                if start + count >= len(self._lines):
                    self._at = len(self._lines)
                    raise self._wrong("a bracket has no end") from None
                count = 2 * count + 1
                continue
            except ValueError as error:
                self._at = start + flow.find_line(lines)[0]
                raise self._wrong(str(error), back=1) from error
            number, end = flow.find_line(lines)
            self._at = start + number
            if _without_comment(flow.rest(end)):
                raise self._wrong("there is more behind a bracket", back=1)
            return value

    def _block(self, head: str, above: int) -> str:
        """The lines below | (kept) or > (joined)."""
        head = _without_comment(head)
        if not re.fullmatch(r"[|>][-+]?", head):
            raise self._wrong(f"{head!r:.20} is YAML that claw does not "
                              "read", back=1)
        lines: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= above:
                break
            lines.append(line)
            self._at += 1
        size = min((len(line) - len(line.lstrip(" "))
                    for line in lines if line.strip()), default=0)
        body = "\n".join(line[size:].rstrip() if not line.strip()
                         else line[size:] for line in lines)
        if head[0] == ">":
            body = re.sub(r"(?<=\S)\n(?=\S)", " ", body)
        stripped = body.rstrip("\n")
        return stripped if head.endswith("-") or not stripped \
            else stripped + "\n"

    def _peek(self) -> int | None:
        """How far the next line with something in it is indented."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            bare = line.strip()
            if bare and not bare.startswith("#"):
                if "\t" in line[:len(line) - len(line.lstrip())]:
                    raise self._wrong("it is indented with a tab")
                return len(line) - len(line.lstrip(" "))
            self._at += 1
        return None

    def _line(self) -> str:
        return self._lines[self._at]

    def _wrong(self, what: str, back: int = 0) -> ValueError:
        return ValueError(f"line {self._at + 1 - back}: {what}")


class _OpenError(ValueError):
    """A bracket is still open."""


class _Flow:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        char = self._skip()
        if char == "[":
            return self._list(depth)
        if char == "{":
            return self._mapping(depth)
        return self._scalar(",]}")

    def find_line(self, lines: list[str]) -> tuple[int, int]:
        """The number of the line that was come to, and where it ends; the
        text is these lines with a blank between them."""
        number, end = 0, len(lines[0])
        while end < self._at:
            number += 1
            end += 1 + len(lines[number])
        return number, end

    def rest(self, end: int) -> str:
        """What follows up to there."""
        return self._text[self._at:end]

    def _list(self, depth: int) -> list[Any]:
        self._at += 1
        found = []
        while self._skip() != "]":
            found.append(self.read(depth + 1))
            if self._skip() == ",":
                self._at += 1
            elif self._skip() != "]":
                raise ValueError("a comma is missing in a list")
        self._at += 1
        return found

    def _mapping(self, depth: int) -> dict[str, Any]:
        self._at += 1
        found: dict[str, Any] = {}
        while self._skip() != "}":
            key = str(self._scalar(":,}"))
            value = None
            if self._skip() == ":":
                self._at += 1
                if self._skip() not in ",}":
                    value = self.read(depth + 1)
            found[key] = value
            if self._skip() == ",":
                self._at += 1
            elif self._skip() != "}":
                raise ValueError("a comma is missing in a mapping")
        self._at += 1
        return found

    def _scalar(self, ends: str) -> Any:
        match = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\''
                           ).match(self._text, self._at)
        if match:
            self._at = match.end()
            return _text(match[0])
        start = self._at
        while self._at < len(self._text) \
                and self._text[self._at] not in ends:
            self._at += 1
        if self._at >= len(self._text):
            raise _OpenError
        bare = self._text[start:self._at].strip()
        if bare.startswith(_REFUSED) or bare[:1] in ("'", '"', "[", "{"):
            raise ValueError(f"{bare[:1]!r} is YAML that claw does not read")
        return _resolve(bare)

    def _skip(self) -> str:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        if self._at >= len(self._text):
            raise _OpenError
        return self._text[self._at]


def _match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where the match from `at` on ends; `at` where there is none."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _without_comment(text: str) -> str:
    """A plain text without what follows a blank and #."""
    if text.lstrip().startswith("#"):
        return ""
    return re.split(r"\s#", text, maxsplit=1)[0].strip()


def _resolve(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INT.match(text):
        return int(text.replace("_", ""))
    if _FLOAT.match(text):
        return float(text.replace("_", ""))
    return text


def _text(quoted: str) -> str:
    """The text between quotes."""
    inner = quoted[1:-1]
    if quoted[0] == "'":
        return inner.replace("''", "'")

    def resolve(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if not code:
            return _ESCAPES.get(match[4], match[4])
        return chr(int(code, 16)) if int(code, 16) < 0x110000 else "\ufffd"
    return _ESCAPE.sub(resolve, inner).encode(
        "utf-16", "surrogatepass").decode("utf-16", "replace")
