"""Form 3: <invoke name="T"><parameter name="P">V</parameter></invoke>."""

import re
from collections.abc import Collection
from typing import Any

from claw.agent.calls import ParsedToolCall
from claw.agent.markup import cut_out
from claw.agent.parsing.values import Parsed, as_arguments, whole_json

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
        name = (head[1] or head[2]).strip()
        if name:
            body = text[head.end():end.start()]
            calls.append(ParsedToolCall(name, _arguments(body)))
            spans.append((head.start(), end.end()))
        position = end.end()
    if not calls:
        return Parsed(text, [])
    return Parsed(_WRAPPER.sub("", cut_out(text, spans)).strip(), calls)


def _arguments(body: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    position = 0
    while head := _PARAMETER.search(body, position):
        end = _END_PARAMETER.search(body, head.end())
        if end is None:
            break
        value = body[head.end():end.start()].strip()
        if value:
            parsed = whole_json(value)
            arguments[(head[1] or head[2]).strip()] = (
                value if parsed is None else parsed)
        position = end.end()
    return arguments or _bare(body.strip())


def _bare(body: str) -> dict[str, Any]:
    """Arguments of a body without parameters."""
    if not body:
        return {}
    value = whole_json(body)
    return {"content": body} if value is None else as_arguments(value)
