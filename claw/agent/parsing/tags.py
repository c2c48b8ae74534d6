"""Forms with a tag around the call: the strict one and its relatives."""

import re
from collections.abc import Collection
from itertools import chain

from claw.agent.parsing.glm import parse_glm
from claw.agent.parsing.nested import parse_nested
from claw.agent.parsing.values import (
    Parsed,
    as_arguments,
    calls_from_value,
    json_at,
    json_values,
    whole_json,
)
from claw.agent.rendering.markup import join_pieces
from claw.agent.rendering.think import strip_think
from claw.agent.rounds.calls import ParsedToolCall

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_NAMES = (r"(tool_call|toolcall|tool-call|invoke"
          r"|minimax:tool_call|minimax:toolcall)")
_OPENING = re.compile(f"<{_NAMES}>")
_CLOSING = re.compile(f"</{_NAMES}>")


def parse_strict(text: str) -> Parsed:
    """<tool_call>{"name", "arguments"}</tool_call>, nothing else.

    A body that is no such object is dropped; an opening tag without its
    closing tag ends the search and stays in the text.
    """
    text = strip_think(text)
    pieces: list[str] = []
    calls: list[ParsedToolCall] = []
    position = 0
    while (at := text.find(_OPEN, position)) >= 0:
        close = text.find(_CLOSE, at)
        if close < 0:
            break
        pieces.append(text[position:at])
        value = whole_json(text[at + len(_OPEN):close])
        if isinstance(value, dict):
            name = value.get("name")
            if isinstance(name, str) and name:
                calls.append(ParsedToolCall(
                    name, as_arguments(value.get("arguments"))))
        position = close + len(_CLOSE)
    pieces.append(text[position:])
    return Parsed(join_pieces(pieces), calls)


def parse_tags(text: str, known: Collection[str] = ()) -> Parsed:
    """Form 4: any tag of the family, closed properly or not."""
    scan = _Scan(text, known)
    while scan.step():
        pass
    if not scan.calls:
        return Parsed(text, [])
    scan.pieces.append(text[scan.position:])
    return Parsed(join_pieces(scan.pieces), scan.calls)


def _read_calls(body: str, known: Collection[str]) -> list[ParsedToolCall]:
    """JSON values, else nested tags, else the short form."""
    calls = [call for value, _, _ in json_values(body)
             for call in calls_from_value(value)]
    return calls or parse_nested(body) or parse_glm(body, known)


class _Scan:
    """One walk through a text; what lies before `position` is done."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        self.text = text
        self.known = known
        self.position = 0
        self.pieces: list[str] = []
        self.calls: list[ParsedToolCall] = []
        self._absent: set[str] = set()

    def step(self) -> bool:
        """Take in the next tag; whether to go on."""
        head = _OPENING.search(self.text, self.position)
        if head is None:
            return False
        closed = self._find_closing(head[1], head.end())
        if closed is not None:
            self._take(head.start(), closed[1],
                       _read_calls(self.text[head.end():closed[0]],
                                 self.known))
            return True
        return self._recover(head)

    def _take(self, start: int, end: int,
              calls: list[ParsedToolCall]) -> None:
        self.pieces.append(self.text[self.position:start])
        self.calls.extend(calls)
        self.position = end

    def _find_closing(self, name: str, start: int) -> tuple[int, int] | None:
        """The matching closing tag, else the next one of the family.

        A name once looked for in vain is not looked for again: it keeps
        the walk linear.
        """
        tag = f"</{name}>"
        if tag not in self._absent:
            at = self.text.find(tag, start)
            if at >= 0:
                return at, at + len(tag)
            self._absent.add(tag)
        if "any" in self._absent:
            return None
        if other := _CLOSING.search(self.text, start):
            return other.span()
        self._absent.add("any")
        return None

    def _recover(self, head: re.Match[str]) -> bool:
        """A tag that nothing closes: JSON right after it, the first JSON
        further on, or a short form up to the end."""
        start = head.end()
        while start < len(self.text) and self.text[start].isspace():
            start += 1
        found = json_at(self.text, start)
        values = [(found[0], start, found[1])] if found else []
        for value, _, end in chain(values,
                                   json_values(self.text, head.end())):
            if calls := calls_from_value(value):
                self._take(head.start(), end, calls)
                return True
        if calls := parse_glm(self.text[head.end():], self.known):
            self._take(head.start(), len(self.text), calls)
        return False
