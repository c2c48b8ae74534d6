"""A JSON Schema in few words: "name, age int, tags [string]". Pure.

Fields stand with commas or line feeds between them, each a name, a type
(string where none is given) and, behind a colon, what it means. A type is
string, int, number or bool, [TYPE] for a list, or {FIELDS} for an object.
Every field is required and no other is allowed.
"""

import re
from collections.abc import Sequence
from typing import Any

from claw.core.errors import UsageError

EXAMPLE = "name, age int, tags [string]"
_TYPES = {"string": "string", "str": "string", "text": "string",
          "integer": "integer", "int": "integer",
          "number": "number", "float": "number",
          "boolean": "boolean", "bool": "boolean"}
_NESTED = 50
_token = re.compile(r""":[^,}\n]*|[,{}\[\]\n]|[^\s,:{}\[\]]+""")


def parse_short_form(text: str) -> dict[str, Any]:
    """The schema that a text stands for. Raises UsageError."""
    parser = _Parser(_token.findall(text))
    schema = parser.read_fields(0)
    if parser.next:
        raise _refuse(f"{parser.next!r} closes nothing")
    return schema


def _refuse(problem: str) -> UsageError:
    return UsageError(f"schema: {problem}",
                      hint=f'for example: "{EXAMPLE}"')


class _Parser:
    """Reads tokens from the first to the last."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def next(self) -> str:
        """The token that comes, "" at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, expected: str) -> None:
        self._skip_lines()
        if self.next != expected:
            raise _refuse(f"{expected!r} is missing before {self.next!r}"
                          if self.next else f"{expected!r} is missing")
        self._at += 1

    def _skip_lines(self) -> None:
        while self.next == "\n":
            self._at += 1

    def read_fields(self, depth: int) -> dict[str, Any]:
        """The fields up to a closing brace or the end."""
        fields: dict[str, Any] = {}
        while True:
            self._skip_lines()
            if self.next in ("", "}", "]"):
                break
            name = self._read_word("the name of a field")
            if name in fields:
                raise _refuse(f"{name!r} stands there twice")
            fields[name] = self._read_type(depth)
            if self.next[:1] == ":":
                if comment := self.next[1:].strip():
                    fields[name]["description"] = comment
                self._at += 1
            if self.next == ",":
                self._at += 1
            elif self.next not in ("", "\n", "}", "]"):
                raise _refuse(f"a comma is missing before {self.next!r}")
        if not fields:
            raise _refuse("there are no fields")
        return {"type": "object", "properties": fields,
                "required": list(fields), "additionalProperties": False}

    def _read_word(self, what: str) -> str:
        word = self.next
        if word[:1] in ("", ",", ":", "{", "}", "[", "]", "\n", '"', "'"):
            raise _refuse(f"{what} is missing before {word!r}" if word
                          else f"{what} is missing")
        self._at += 1
        return word

    def _read_type(self, depth: int) -> dict[str, Any]:
        """The type behind a name or in brackets; string where there is
        none."""
        if depth > _NESTED:
            raise _refuse(f"nested more than {_NESTED} times")
        if self.next == "[":
            self._at += 1
            self._skip_lines()
            items = self._read_type(depth + 1)
            self._take("]")
            return {"type": "array", "items": items}
        if self.next == "{":
            self._at += 1
            fields = self.read_fields(depth + 1)
            self._take("}")
            return fields
        if self.next[:1] in ("", ",", ":", "}", "]", "\n"):
            return {"type": "string"}
        word = self._read_word("a type")
        if word.lower() not in _TYPES:
            raise _refuse(f"there is no type {word!r}: it is string, int, "
                          "number, bool, [TYPE] or {FIELDS}")
        return {"type": _TYPES[word.lower()]}
