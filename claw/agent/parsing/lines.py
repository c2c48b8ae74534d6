"""Single lines: `tool/param>value` or `tool/{json}`."""

import re
from collections.abc import Collection

from claw.agent.parsing.aliases import short_arguments, tool_name
from claw.agent.parsing.values import Parsed, whole_json
from claw.agent.rendering.markup import cut_out
from claw.agent.rounds.calls import ParsedToolCall

_LINE = re.compile(r"([A-Za-z0-9_]{1,64})/"
                   r"(?:([A-Za-z0-9_]{1,64})>(.*)|(\{.*\}))", re.DOTALL)


def parse_lines(text: str, known: Collection[str]) -> Parsed:
    """Every line that is a call, outside of code blocks."""
    calls: list[ParsedToolCall] = []
    spans: list[tuple[int, int]] = []
    position, in_code = 0, False
    for line in text.splitlines(keepends=True):
        in_code ^= line.lstrip().startswith(("```", "~~~"))
        call = None if in_code else _read_call(line.strip(), known)
        if call is not None:
            calls.append(call)
            spans.append((position, position + len(line)))
        position += len(line)
    return Parsed(cut_out(text, spans).strip() if calls else text, calls)


def _read_call(line: str, known: Collection[str]) -> ParsedToolCall | None:
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
