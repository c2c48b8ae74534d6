"""Form 3: <invoke name="T"><parameter name="P">V</parameter></invoke>."""

import re
from collections.abc import Collection
from typing import Any

from claw.agent.parsing.values import Parsed, as_arguments, whole_json
from claw.agent.rendering.markup import cut_out
from claw.agent.rounds.calls import ParsedToolCall

_INVOKE = re.compile(
    r"""<invoke\s{1,16}name\s{0,16}=\s{0,16}(?:"([^"<>]{1,200})"|'([^'<>]{1,200})')\s{0,16}>""",
    re.IGNORECASE)
_PARAMETER = re.compile(
    r"""<parameter\s{1,16}name\s{0,16}=\s{0,16}(?:"([^"<>]{1,200})"|'([^'<>]{1,200})')[^<>]{0,200}>""",
    re.IGNORECASE)
_END_INVOKE = re.compile(r"</invoke\s{0,16}>", re.IGNORECASE)
_END_PARAMETER = re.compile(r"</parameter\s{0,16}>", re.IGNORECASE)
_WRAPPER = re.compile(
    r"</?(?:minimax:tool_?call|function_calls)\s{0,16}>", re.IGNORECASE)


def parse_attributed(text: str, known: Collection[str] = ()) -> Parsed:
    """Every attributed invoke block, upper or lower case."""
    calls: list[ParsedToolCall] = []
    spans: list[tuple[int, int]] = []
    position = 0
    while head := _INVOKE.search(text, position):
        end = _END_INVOKE.search(text, head.end())
        if end is None:
            break
        if name := (head[1] or head[2]).strip():
            body = text[head.end():end.start()]
            calls.append(ParsedToolCall(name, _read_arguments(body)))
            spans.append((head.start(), end.end()))
        position = end.end()
    return (Parsed(_WRAPPER.sub("", cut_out(text, spans)).strip(), calls)
            if calls else Parsed(text, []))


def _read_arguments(body: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    position = 0
    while head := _PARAMETER.search(body, position):
        end = _END_PARAMETER.search(body, head.end())
        if end is None:
            break
        if value := body[head.end():end.start()].strip():
            parsed = whole_json(value)
            arguments[(head[1] or head[2]).strip()] = (
                value if parsed is None else parsed)
        position = end.end()
    body = body.strip()
    if arguments or not body:
        return arguments
    value = whole_json(body)
    return {"content": body} if value is None else as_arguments(value)
