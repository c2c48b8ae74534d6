"""JSON with what people write into settings: comments, commas at the end,
names without quotes, single quotes. Pure.

Source: spec.json5.org, sections 2 to 8.
"""

import json
import re
from typing import Any

_DEEPEST = 100
_SPACE = re.compile(r"(?:[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*",
                    re.DOTALL)
_NAME = re.compile(r"[^\W\d][\w$]*|[$][\w$]*")
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)"
                     r"(?:[eE][+-]?\d+)?|Infinity|NaN)")
_PLAIN = re.compile(r"[^\\'\"\n\r]*")
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f",
            "v": "\v", "0": "\0", "\n": "", "\u2028": "", "\u2029": ""}


def parse_json5(text: str) -> Any:
    """The value of a text. Raises ValueError that names line and column."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError:
        return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> Any:
        value = self._value(0)
        if self._peek():
            raise self._wrong("more than one value")
        return value

    def _value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self._wrong("it is nested too deeply")
        char = self._peek()
        if char == "{":
            return self._object(depth)
        if char == "[":
            return self._array(depth)
        if char and char in "'\"":
            return self._string(char)
        if found := _NUMBER.match(self._text, self._at):
            self._at = found.end()
            return self._number(found[0])
        if (found := _NAME.match(self._text, self._at)) \
                and found[0] in _WORDS:
            self._at = found.end()
            return _WORDS[found[0]]
        raise self._wrong("a value is missing" if char else
                          "it ends too early")

    def _object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        found: dict[str, Any] = {}
        while self._peek() != "}":
            name = self._name()
            self._take(":")
            found[name] = self._value(depth + 1)
            if self._peek() != "}":
                self._take(",")
        self._at += 1
        return found

    def _array(self, depth: int) -> list[Any]:
        self._at += 1
        found = []
        while self._peek() != "]":
            found.append(self._value(depth + 1))
            if self._peek() != "]":
                self._take(",")
        self._at += 1
        return found

    def _name(self) -> str:
        char = self._peek()
        if char and char in "'\"":
            return self._string(char)
        found = _NAME.match(self._text, self._at)
        if found is None:
            raise self._wrong("a name is missing" if char else
                              "it ends too early")
        self._at = found.end()
        return found[0]

    def _string(self, quote: str) -> str:
        self._at += 1
        parts: list[str] = []
        while True:
            found = _PLAIN.match(self._text, self._at)
            if found:
                parts.append(found[0])
                self._at = found.end()
            char = self._text[self._at:self._at + 1]
            if char in ("", "\n", "\r"):
                raise self._wrong("a text has no end")
            self._at += 1
            if char == quote:  # two halves of a surrogate pair are one
                return "".join(parts).encode(
                    "utf-16", "surrogatepass").decode("utf-16", "replace")
            parts.append(self._escape() if char == "\\" else char)

    def _escape(self) -> str:
        char = self._text[self._at:self._at + 1]
        self._at += 1
        digits = {"x": 2, "u": 4}.get(char)
        if digits is None:
            if char == "\r" and self._text[self._at:self._at + 1] == "\n":
                self._at += 1
                return ""
            return _ESCAPES.get(char, char)
        code = self._text[self._at:self._at + digits]
        if len(code) < digits or not re.fullmatch("[0-9a-fA-F]+", code):
            raise self._wrong("an escape is cut off")
        self._at += digits
        return chr(int(code, 16))

    def _number(self, text: str) -> int | float:
        bare = text.lstrip("+-")
        if bare[:2].lower() == "0x":
            return int(bare, 16) * (-1 if text[0] == "-" else 1)
        if bare.isdigit():
            if len(bare) > 300:
                raise self._wrong("a number has too many digits")
            return int(text)
        return float(text)

    def _take(self, char: str) -> None:
        if self._peek() != char:
            raise self._wrong(f"{char!r} is missing")
        self._at += 1

    def _peek(self) -> str:
        found = _SPACE.match(self._text, self._at)
        if found:
            self._at = found.end()
        return self._text[self._at:self._at + 1]

    def _wrong(self, what: str) -> ValueError:
        before = self._text[:self._at]
        line = before.count("\n") + 1
        column = self._at - (before.rfind("\n") + 1) + 1
        return ValueError(f"line {line}, column {column}: {what}")
