"""Forms 7 to 9: arrow blocks, function blocks, and single lines."""

import re
from collections.abc import Collection
from typing import Any

from claw.agent.parsing.aliases import short_arguments, tool_name
from claw.agent.parsing.values import Parsed, whole_json
from claw.agent.rendering.markup import blocks, cut_out
from claw.agent.rounds.calls import ParsedToolCall

_ARROW_TOOL = re.compile(r'tool\s{0,8}=>\s{0,8}"([^"\n]{1,128})"')
_ARROW_ARGS = re.compile(r"args\s{0,8}=>\s{0,8}\{")
_ARROW_PAIR = re.compile(r'--([A-Za-z0-9_\-]{1,64})\s{1,8}'
                         r'(?:"((?:[^"\\]|\\.)*+)"|([^\s"{}]{1,4096}))')
_LINE = re.compile(r"([A-Za-z0-9_]{1,64})/"
                   r"(?:([A-Za-z0-9_]{1,64})>(.*)|(\{.*\}))", re.DOTALL)

_Found = list[tuple[int, int, ParsedToolCall]]


def _build_parsed(text: str, found: _Found) -> Parsed:
    return Parsed(cut_out(text, [(at, to) for at, to, _ in found]).strip(),
                  [call for _, _, call in found])


def parse_arrow_blocks(text: str, known: Collection[str] = ()) -> Parsed:
    """Form 7: TOOL_CALL {tool => "n", args => { --k "v" }} /TOOL_CALL,
    with or without square brackets around the two words."""
    found: _Found = []
    for start, end in (("[TOOL_CALL]", "[/TOOL_CALL]"),
                       ("TOOL_CALL", "/TOOL_CALL")):
        for at, to, body in blocks(text, start, end):
            tool = _ARROW_TOOL.search(body)
            if tool and tool[1].strip():
                found.append((at, to, ParsedToolCall(
                    tool[1].strip(), _read_arrow_arguments(body, tool.end()))))
        if found:
            break
    return _build_parsed(text, found)


def _read_arrow_arguments(body: str, start: int) -> dict[str, Any]:
    head = _ARROW_ARGS.search(body, start)
    if head is None:
        return {}
    return {key: re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
            for key, quoted, plain in
            _ARROW_PAIR.findall(body, head.end())}


def parse_function_blocks(text: str, known: Collection[str] = ()) -> Parsed:
    """Form 8: <FunctionCall> name <code>key>value lines</code>."""
    found: _Found = []
    for at, to, body in blocks(text, "<FunctionCall>", "</FunctionCall>"):
        name = body.partition("<code>")[0].strip()
        if not name or len(name) > 128 or len(name.split()) != 1:
            continue
        code = next(blocks(body, "<code>", "</code>"), (0, 0, ""))[2]
        pairs = [line.partition(">") for line in code.split("\n")]
        found.append((at, to, ParsedToolCall(name, {
            key.strip(): value.strip() for key, mark, value in pairs
            if mark and key.strip()})))
    return _build_parsed(text, found)


def parse_lines(text: str, known: Collection[str] = ()) -> Parsed:
    """Form 9: a line `tool/param>value` or `tool/{json}`."""
    found: _Found = []
    position = 0
    for line in text.splitlines(keepends=True):
        call = _read_line_call(line.strip(), known)
        if call is not None:
            found.append((position, position + len(line), call))
        position += len(line)
    return _build_parsed(text, found)


def _read_line_call(line: str, known: Collection[str]
                    ) -> ParsedToolCall | None:
    match = _LINE.fullmatch(line)
    tool = tool_name(match[1], known) if match else None
    if match is None or tool is None:
        return None
    if match[4] is not None:
        value = whole_json(match[4])
        return (ParsedToolCall(tool, value) if isinstance(value, dict)
                else None)
    value = match[3].strip()
    arguments = short_arguments(tool, match[2], value) if value else None
    return None if arguments is None else ParsedToolCall(tool, arguments)
