"""One walk through an answer that reads calls in every form.

At each place where a call may begin its readers are asked; whatever form
the call before it had. Code is passed over: it shows calls, it makes none.
"""

import re
from collections.abc import Collection
from typing import Any

from claw.agent.parsing import grammar, literals
from claw.agent.parsing.aliases import tool_name
from claw.agent.parsing.blocks import read_arrow, read_function_block
from claw.agent.parsing.glm import parse_glm
from claw.agent.parsing.minimax import read_minimax
from claw.agent.parsing.nested import parse_nested
from claw.agent.parsing.typed import find_kinds, find_schema, read_argument
from claw.agent.parsing.values import (
    JsonReader,
    Parsed,
    as_arguments,
    calls_by_name,
    calls_from_value,
    whole_json,
)
from claw.agent.rendering.markup import join_pieces
from claw.agent.rounds.calls import ParsedToolCall

_BETWEEN = re.compile(r"[\s,;]*+")
_Found = tuple[list[ParsedToolCall], int]


def parse_marked(text: str, known: Collection[str]) -> Parsed:
    """The calls that stand in marks of any family."""
    scan = _Scan(text, known)
    scan.run()
    if not scan.calls:
        return Parsed(text, [], scan.problem)
    pieces = [*scan.pieces, text[scan.done:]]
    return Parsed(join_pieces([grammar.LEFTOVER.sub("", piece)
                               for piece in pieces]), scan.calls)


def parse_code(text: str, known: Collection[str]) -> Parsed:
    """Text that is nothing but [f(a=1), g()], all of them on offer."""
    scan = _Scan(text, known)
    found = scan.read_code(0) if known and text.startswith("[") else None
    if found is None or _skip(grammar.CLOSERS, text, found[1]) < len(text):
        return Parsed(text, [])
    return Parsed("", found[0])


def find_literals(text: str, known: Collection[str]
                  ) -> list[tuple[int, int]]:
    """Where the arguments of calls stand, in order: nothing in them is a
    tag of its own. A call that thoughts mention may have no end there."""
    scan = _Scan(text, known)
    at = 0
    while head := grammar.LITERAL.search(text, at):
        before = len(scan.literals)
        if head["minimax"]:
            end = read_minimax(text, head.end(), known)[1]
            scan.literals.append((head.end(), end))
        else:
            scan.read_items(head.end() if head["json"] is not None
                            else head.start())
        at = max(head.end(), head.start() + 1, *(
            end for _, end in scan.literals[before:]))
    return scan.literals


class _Scan:
    """What lies before `done` is in `pieces` and `calls`."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        self.text = text
        self.known = known
        self.done = 0
        self.pieces: list[str] = []
        self.calls: list[ParsedToolCall] = []
        self.problem = ""
        # where arguments stand, as (start, end)
        self.literals: list[tuple[int, int]] = []
        self._line = self._seen = 0  # the last place, and where its line is
        self._json = JsonReader(text)
        self._absent: set[str] = set()
        self._begun = (-1, False)  # the last place, and what was found there
        self._budget = 5 * len(text) + 10_000  # characters to look through

    def run(self) -> None:
        at = 0
        if self.text[:1] in ("{", "[") and not grammar.OPENING.match(
                self.text) and self._json.read(0) is None \
                and self._has_begun(0):
            return
        while head := grammar.OPENING.search(self.text, at):
            if head["mark"]:
                at = head.end()
            elif head["block"]:
                at = self._skip_code(head)
            else:
                at = self._take(head)

    def _take(self, head: re.Match[str]) -> int:
        """A place where a call may begin; where to go on."""
        before = self._line_before(head.start())
        if before.endswith("`"):
            return head.end()
        if grammar.QUOTED.match(before) or grammar.INDENT.fullmatch(before):
            end = self.text.find("\n", head.end())
            return end if end >= 0 else len(self.text)
        calls, end = self._read(head)
        if calls:
            self.pieces.append(self.text[self.done:head.start()])
            self.calls += calls
            self.done = end
            return end
        self._note_problem(head)
        return len(self.text) if self._has_begun(head.start()) else head.end()

    def _has_begun(self, at: int) -> bool:
        """Whether a call of a tool on offer begins here, and has no end. All
        behind it are its arguments: calls in them are not meant."""
        if self._begun[0] != at:
            self._begun = (at, self._names_a_tool(at))
        return self._begun[1]

    def _names_a_tool(self, at: int) -> bool:
        at = _skip(grammar.GAP, self.text, at)
        listed = self.text.startswith("[", at)
        heads = [pattern.match(self.text, at) for pattern in (
            grammar.MINIMAX_NAME, grammar.HEAD_AT, grammar.BARE_NAME,
            *grammar.NAMED_AT)]
        heads.append(literals.HEAD.match(self.text, at + listed))
        if listed or self.text.startswith("{", at):
            heads += grammar.JSON_NAME.finditer(self.text[at:at + 300])
        names = [grammar.NUMBER.sub("", name).removeprefix("functions.")
                 for head in heads if head for name in head.groups() if name]
        return any(name in self.known for name in names)

    def _line_before(self, at: int) -> str:
        """What stands before a place on its line: at most 100 characters of
        its beginning and 100 of its end. Places come in order."""
        self._line = self.text.rfind("\n", self._seen, at) + 1 or self._line
        self._seen = max(self._seen, at)
        before = self.text[self._line:min(at, self._line + 100)]
        return before + self.text[max(at - 100, self._line + 100):at]

    def _read(self, head: re.Match[str]) -> _Found:
        if head["arrow"]:
            return read_arrow(self.text, head, self._find)
        if head["function"]:
            return read_function_block(self.text, head.end(), self._find)
        if head["minimax"]:
            return read_minimax(self.text, head.end(), self.known)
        calls, end = self.read_items(head.start())
        if calls or not head["tag"] or self._has_begun(head.start()):
            return calls, end
        return self._read_body(head)

    # -- calls in a row

    def read_items(self, at: int) -> _Found:
        """The calls behind marks; the marks behind them go with them."""
        calls: list[ParsedToolCall] = []
        end = at
        at = _skip(grammar.GAP, self.text, at)
        while (found := self._read_item(at, first=not calls)) is not None:
            calls += found[0]
            end = found[1]
            at = _skip(_BETWEEN, self.text, end)
        return calls, _skip(grammar.CLOSERS, self.text, end) if calls else end

    def _read_item(self, at: int, *, first: bool) -> _Found | None:
        if self.text[at:at + 1] in ("{", "[") and (
                found := self._read_json(at)):
            calls = calls_from_value(found[0]) or calls_by_name(
                found[0], self.known)
            return (calls, found[1]) if calls else None
        if code := self.read_code(at):
            return code
        if head := grammar.HEAD_AT.match(self.text, at):
            return self._read_element(head)
        for pattern in grammar.NAMED_AT:
            if head := pattern.match(self.text, at):
                return self._read_named(head)
        return self._read_bare(at) if first else None

    def _read_named(self, head: re.Match[str]) -> _Found | None:
        """A name, then its arguments as JSON."""
        found = self._read_json(head.end())
        if found is None:
            return None
        name = grammar.NUMBER.sub("", head[1])
        call_id = head[2] if len(head.groups()) > 1 else None
        names = [name, name.removeprefix("functions.")]
        if name != head[1]:  # Kimi's, which has the prefix always
            call_id = head[1]
            names.reverse()
        arguments = found[0] if isinstance(found[0], dict) else {}
        return [ParsedToolCall(next(
            (one for one in names if one in self.known), min(names, key=len)),
            arguments, call_id)], found[1]

    def read_code(self, at: int) -> _Found | None:
        """f(a=1), [f(a=1), g()] or call:f{a:1}."""
        calls: list[ParsedToolCall] = []
        listed = self.text.startswith("[", at)
        begin = at
        at = _skip(_BETWEEN, self.text, at + listed)
        while self._budget > 0 and (
                head := literals.HEAD.match(self.text, at)):
            if self.known and head[1] and head[1] not in self.known:
                return None
            try:
                arguments, at = literals.read_call(self.text, head)
            except literals.LiteralError as error:
                self._budget -= error.at - begin
                return None
            calls.append(self._type_texts(head[1] or head[3], arguments))
            at = _skip(_BETWEEN, self.text, at)
            if not listed:
                break
        if not calls or (listed and not self.text.startswith("]", at)):
            return None
        self.literals.append((begin, at + listed))
        return calls, at + listed

    def _type_texts(self, tool: str, arguments: dict[str, Any]
                    ) -> ParsedToolCall:
        """A call whose texts have the types of the schema: some families
        put every value in quotes."""
        return ParsedToolCall(tool, {
            name: value if not isinstance(value, str)
            or self._may_be_text(tool, name)
            else read_argument(self.known, tool, name, value)
            for name, value in arguments.items()})

    def _may_be_text(self, tool: str, name: str) -> bool:
        kinds = find_kinds(find_schema(self.known, tool, name))
        return not kinds or "string" in kinds

    def _read_bare(self, at: int) -> _Found | None:
        """A known name without marks, then its arguments."""
        head = grammar.BARE_NAME.match(self.text, at)
        if head is None or head[1] not in self.known:
            return None
        if self.text[head.end()] == "{":
            return self._read_named(head)
        found = self._read_pairs(head[1], head.end())
        if found is None or not (found[0] or grammar.CALL_TAIL.match(
                self.text, found[1])):
            return None
        return [ParsedToolCall(head[1], found[0])], found[1]

    def _read_element(self, head: re.Match[str]) -> _Found | None:
        """<invoke name="f"> or <function=f>: parameters, JSON or a text."""
        name = next(filter(None, head.groups())).strip()
        found = self._read_pairs(name, head.end())
        if found is None or not name:
            return None
        arguments, at = found
        if arguments:
            return [ParsedToolCall(name, arguments)], at
        start = _skip(_BETWEEN, self.text, at)
        if self.text[start:start + 1] in ("{", "[") \
                and (value := self._read_json(start)):
            return [ParsedToolCall(name, as_arguments(value[0]))], value[1]
        tail = self._search(grammar.CALL_TAIL, at)
        if tail is None:
            return None
        body = self.text[at:tail.start()].strip()
        return [ParsedToolCall(name, self._read_text(body))], tail.end()

    def _read_text(self, body: str) -> dict[str, Any]:
        if not body:
            return {}
        value = whole_json(body)
        return {"content": body} if value is None else as_arguments(value)

    def _read_pairs(self, tool: str, at: int
                    ) -> tuple[dict[str, Any], int] | None:
        """Parameters and where the call ends; None where one of them, or
        the call behind them, has no end."""
        arguments: dict[str, Any] = {}
        while head := grammar.PAIR.match(self.text, at):
            end = self._search(grammar.PAIR_END_SURE, head.end())
            if end is None:
                return None
            name = next(filter(None, head.groups())).strip().replace(
                "&quot;", '"').replace("&amp;", "&")  # Kimi K3 writes so
            text = self.text[head.end():end.start()]
            kind = grammar.PAIR_KIND.search(head[0])
            is_text = kind and kind[1] in ("true", "string")
            arguments[name] = text if is_text and self._may_be_text(
                tool, name) else read_argument(self.known, tool, name, text)
            self.literals.append((head.end(), end.start()))
            at = end.end()
        if not arguments:
            return arguments, at
        tail = grammar.CALL_TAIL.match(self.text, at)
        return None if tail is None else (arguments, tail.end())

    # -- what else stands in a tag

    def _read_body(self, head: re.Match[str]) -> _Found:
        """JSON anywhere, nested tags, or a short form, up to the tag that
        closes this one; where none does, JSON or a short form behind it.
        A tag in the middle of a sentence has no JSON further on."""
        start = head.end()
        closed = self._find_closing(head["tag"], start)
        end = closed[0] if closed else len(self.text)
        self._budget -= end - start
        if self._budget < 0:
            return [], start
        calls: list[ParsedToolCall] = []
        opens_line = not self._line_before(head.start()).strip()
        if closed is None and not opens_line:
            return [], start
        for value, value_end in (self._json.read_all(start, end)
                                 if opens_line else ()):
            found = calls_from_value(value)
            calls += found
            if found and closed is None:
                return calls, _skip(grammar.CLOSERS, self.text, value_end)
        body = self.text[start:end]
        if not calls and closed is not None:
            calls = parse_nested(body, self.known)
        return (calls or parse_glm(body, self.known),
                closed[1] if closed else end)

    def _find_closing(self, name: str, start: int) -> tuple[int, int] | None:
        """The matching closing tag, else the next one of the family."""
        tag = f"</{name}>"
        at = self._find(tag, start)
        if at >= 0:
            return at, at + len(tag)
        other = self._search(grammar.CLOSING, start)
        return other.span() if other else None

    def _read_json(self, at: int) -> tuple[Any, int] | None:
        found = self._json.read(at)
        if found:
            self.literals.append((at, found[1]))
        return found

    # -- steps that keep the walk linear

    def _find(self, mark: str, start: int) -> int:
        """A mark once looked for in vain is not looked for again."""
        if mark in self._absent or self._budget < 0:
            return -1
        at = self.text.find(mark, start)
        if at < 0:
            self._absent.add(mark)
        self._budget -= max(0, at - start)
        return at

    def _search(self, pattern: re.Pattern[str], start: int
                ) -> re.Match[str] | None:
        if pattern.pattern in self._absent or self._budget < 0:
            return None
        found = pattern.search(self.text, start)
        if found is None:
            self._absent.add(pattern.pattern)
            return None
        self._budget -= found.start() - start
        return found

    def _skip_code(self, head: re.Match[str]) -> int:
        """Behind a code block; one without an end reaches to the end."""
        fence = head["fence"] or head["inner"]
        end = re.compile(rf"{fence}+[ \t]*\r?$", re.MULTILINE).search(
            self.text, head.end())
        return end.end() if end else len(self.text)

    def _note_problem(self, head: re.Match[str]) -> None:
        """What opens like a call and is none."""
        behind = _skip(grammar.GAP, self.text, head.start())
        word = re.match(r"[\w.-]{1,128}", self.text[behind:behind + 128])
        meant = ((not head["tag"] and head[0] != "[TOOL_CALLS]")
                 or grammar.CALL_LIKE.match(self.text, behind)
                 or (word and tool_name(word[0], self.known)
                     and bool(self.known))
                 or (behind == len(self.text)
                     and not self.text[:head.start()].rpartition(
                         "\n")[2].strip()))
        if meant and not self.problem:
            self.problem = (f"what stands behind {head[0].strip()!r} can't "
                            "be read as a tool call")


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
