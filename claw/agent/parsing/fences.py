"""Forms 5 and 6: calls inside Markdown fences."""

import re
from collections.abc import Collection

from claw.agent.parsing.values import (
    Parsed,
    calls_from_value,
    json_values,
    whole_json,
)
from claw.agent.rendering.markup import cut_out
from claw.agent.rounds.calls import ParsedToolCall

_CALL_FENCE = re.compile(
    r"```(?:tool_call|toolcall|tool-call|invoke)[ \t]{0,16}\r?\n")
_CALL_END = re.compile(r"```|</(?:tool_call|toolcall|tool-call|invoke)>")
_TOOL_FENCE = re.compile(
    r"```tool[ \t]{1,16}([A-Za-z0-9_\-.]{1,128})[ \t]{0,16}\r?\n")


def parse_fences(text: str, known: Collection[str] = ()) -> Parsed:
    """Form 5: ```tool_call with JSON inside, closed by ``` or a tag."""
    calls: list[ParsedToolCall] = []
    spans: list[tuple[int, int]] = []
    position = 0
    while head := _CALL_FENCE.search(text, position):
        end = _CALL_END.search(text, head.end())
        if end is None:
            break
        found = [call for value, _, _ in
                 json_values(text[head.end():end.start()])
                 for call in calls_from_value(value)]
        if found:
            calls.extend(found)
            spans.append((head.start(), end.end()))
        position = end.end()
    return Parsed(cut_out(text, spans).strip(), calls)


def parse_tool_fences(text: str, known: Collection[str] = ()) -> Parsed:
    """Form 6: ```tool NAME with its arguments as JSON; the end may lack."""
    calls: list[ParsedToolCall] = []
    spans: list[tuple[int, int]] = []
    position = 0
    while head := _TOOL_FENCE.search(text, position):
        close = text.find("```", head.end())
        end = len(text) if close < 0 else close
        value = whole_json(text[head.end():end])
        position = end if close < 0 else close + 3
        if value is not None:
            calls.append(ParsedToolCall(
                head[1], value if isinstance(value, dict) else {}))
            spans.append((head.start(), position))
    return Parsed(cut_out(text, spans).strip(), calls)
