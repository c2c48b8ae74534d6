"""Blocks with words of their own for what is in them."""

import re
from collections.abc import Callable
from typing import Any

from claw.agent.rounds.calls import ParsedToolCall

_TOOL = re.compile(r'tool\s{0,8}=>\s{0,8}"([^"\n]{1,128})"')
_ARGUMENTS = re.compile(r"args\s{0,8}=>\s{0,8}\{")
_PAIR = re.compile(r'--([A-Za-z0-9_\-]{1,64})\s{1,8}'
                   r'(?:"((?:[^"\\]|\\.)*+)"|([^\s"{}]{1,4096}))')

_Find = Callable[[str, int], int]
_Found = tuple[list[ParsedToolCall], int]


def read_arrow(text: str, head: re.Match[str], find: _Find) -> _Found:
    """TOOL_CALL {tool => "n", args => { --k "v" }} /TOOL_CALL, with or
    without square brackets around the two words."""
    mark = "[/TOOL_CALL]" if head[0].startswith("[") else "/TOOL_CALL"
    end = find(mark, head.end())
    tool = None if end < 0 else _TOOL.search(text, head.end(), end)
    if tool is None or not tool[1].strip():
        return [], head.end()
    return [ParsedToolCall(tool[1].strip(), _read_arguments(
        text, tool.end(), end))], end + len(mark)


def _read_arguments(text: str, start: int, end: int) -> dict[str, Any]:
    head = _ARGUMENTS.search(text, start, end)
    return {} if head is None else {
        pair[1]: pair[3] if pair[2] is None
        else re.sub(r"(?s)\\(.)", r"\1", pair[2])
        for pair in _PAIR.finditer(text, head.end(), end)}


def read_function_block(text: str, start: int, find: _Find) -> _Found:
    """<FunctionCall> name <code>key>value lines</code> </FunctionCall>."""
    end = find("</FunctionCall>", start)
    if end < 0:
        return [], start
    name, _, rest = text[start:end].partition("<code>")
    name = name.strip()
    if not name or len(name) > 128 or len(name.split()) != 1:
        return [], start
    pairs = [line.partition(">")
             for line in rest.partition("</code>")[0].split("\n")]
    return [ParsedToolCall(name, {
        key.strip(): value.strip() for key, mark, value in pairs
        if mark and key.strip()})], end + len("</FunctionCall>")
