"""Calls written as code: f(city="Oslo", days=3) and call:f{city:"Oslo"}.

Python's literals (Llama 4, LFM2, Olmo 3) and those of Gemma, whose strings
stand between marks (<|"|>, <escape>) and whose keys are bare words. Nothing
is evaluated. Source: chat templates of these families.
"""

import ast
import re
from typing import Any

HEAD = re.compile(r"([^\W\d][\w.\-]{0,127})(\()|call:([\w.\-]{1,128})(\{)")
_BLANK = re.compile(r"[\s,]*+")
_KEY = re.compile(r"([^\s\"'(){}\[\],:=<>]{1,128})\s{0,8}[=:]")
_TEXT_KEY = re.compile(r"\s{0,8}:")
_MARKED = re.compile(r"<\|\"\|>|<escape>")
# The last mark of a string is one that the next thing follows.
_MARKED_END = {mark: re.compile(re.escape(mark) + r"(?=\s{0,64}[,:}\]])")
               for mark in ('<|"|>', "<escape>")}
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"|\'(?:[^\'\\]|\\.)*+\'', re.DOTALL)
# What follows a string, and what follows the last quote of one in which
# others stand as they are.
_BEHIND = re.compile(r"\s*+[,)\]}:]")
_SURE_END = {quote: re.compile(
    quote + r"(?=\s{0,64}(?:,\s{0,64}[^\W\d][\w.\-]{0,127}\s{0,8}="
    r"|\)\s{0,64}(?:[,\]<]|[^\W\d][\w.\-]{0,127}\(|\Z)))") for quote in "\"'"}
_WORD = re.compile(r"[\w.+\-]{1,400}")
_WORDS = {"true": True, "false": False, "none": None, "null": None}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MOST_NESTED = 64


class LiteralError(ValueError):
    """No literal stands there; `at` says how far was read."""

    def __init__(self, at: int) -> None:
        super().__init__("no literal")
        self.at = at


def read_call(text: str, head: re.Match[str]) -> tuple[dict[str, Any], int]:
    """The arguments of a call by keywords, and where it ends."""
    mark = head[2] or head[4]
    return _read_pairs(text, head.end(), _CLOSING[mark], 0)


def read_literal(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    """The value that begins here and where it ends."""
    mark = text[at:at + 1]
    if depth > _MOST_NESTED:
        raise LiteralError(at)
    if mark in ('"', "'"):
        return _read_quoted(text, at)
    if head := _MARKED.match(text, at):
        end = _MARKED_END[head[0]].search(text, head.end())
        if end is None:
            raise LiteralError(len(text))
        return text[head.end():end.start()], end.end()
    if mark in ("[", "("):
        return _read_list(text, at + 1, _CLOSING[mark], depth)
    if mark == "{":
        return _read_pairs(text, at + 1, "}", depth)
    return _read_word(text, at)


def _read_quoted(text: str, at: int) -> tuple[str, int]:
    found = _QUOTED.match(text, at)
    if found is None or not _BEHIND.match(text, found.end()):
        sure = _SURE_END[text[at]].search(text, at + 1)
        if sure is None:
            raise LiteralError(len(text))
        return text[at + 1:sure.start()], sure.end()
    body = found[0]
    if "\\" not in body:
        return body[1:-1], found.end()
    try:  # line ends stand in strings as they are
        value = ast.literal_eval(body.replace("\r", "\\r").replace(
            "\n", "\\n"))
    except (SyntaxError, ValueError):
        value = body[1:-1]
    return str(value), found.end()


def _read_list(text: str, at: int, closing: str, depth: int
               ) -> tuple[list[Any], int]:
    found = []
    at = _skip(text, at)
    while text[at:at + 1] != closing:
        value, at = read_literal(text, at, depth + 1)
        found.append(value)
        at = _skip(text, at)
    return found, at + 1


def _read_pairs(text: str, at: int, closing: str, depth: int
                ) -> tuple[dict[str, Any], int]:
    found = {}
    at = _skip(text, at)
    while text[at:at + 1] != closing:
        key, at = _read_key(text, at)
        found[key], at = read_literal(text, _skip(text, at), depth + 1)
        at = _skip(text, at)
    return found, at + 1


def _read_key(text: str, at: int) -> tuple[str, int]:
    if head := _KEY.match(text, at):
        return head[1], head.end()
    if text[at:at + 1] not in ('"', "'", "<"):
        raise LiteralError(at)
    key, at = read_literal(text, at)
    if (mark := _TEXT_KEY.match(text, at)) is None:
        raise LiteralError(at)
    return str(key), mark.end()


def _read_word(text: str, at: int) -> tuple[Any, int]:
    word = _WORD.match(text, at)
    if word is None:
        raise LiteralError(at)
    if word[0].lower() in _WORDS:
        return _WORDS[word[0].lower()], word.end()
    for read in (int, float):
        try:
            value = read(word[0])
        except ValueError:
            continue
        if value - value == 0:  # neither NaN nor infinite
            return value, word.end()
    raise LiteralError(word.end())


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
