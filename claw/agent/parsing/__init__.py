"""Tool calls out of the text of a model.

One reader for all that models write: JSON alone, calls in the tags and
special tokens of the families, fences, blocks, short forms. JSON that
merely stands somewhere in prose is never a call: a quoted page could
contain it. Nor is what code shows.
"""

from collections.abc import Collection

from claw.agent.parsing import grammar
from claw.agent.parsing.lines import parse_lines
from claw.agent.parsing.scan import find_literals, parse_code, parse_marked
from claw.agent.parsing.values import Parsed, parse_whole
from claw.agent.rounds.calls import ParsedToolCall, native_call
from claw.core.provider import ChatResponse
from claw.text.think import has_think_sign, strip_think

__all__ = ["Parsed", "parse_tool_calls", "read_response"]


def read_response(response: ChatResponse, known: Collection[str]
                  ) -> tuple[str, list[ParsedToolCall]]:
    """The text of an answer and its calls: those of the provider's own
    fields, else those that stand in the text."""
    text = response.text or ""
    if response.tool_calls:
        return text, list(map(native_call, response.tool_calls))
    if not known:
        return text, []
    parsed = parse_tool_calls(text, known)
    return (parsed.text if parsed.calls else text), parsed.calls


def parse_tool_calls(text: str, known: Collection[str] = ()) -> Parsed:
    """The calls in `text` and the text around them.

    `known` are the tools on offer, where it is a mapping with their
    schemas: forms without marks of their own count only for these, and
    values that are written as text get their types. Without calls the text
    comes back trimmed, without thoughts. Time is linear in its length.
    """
    text = grammar.HALF_WIDE.sub(r"<｜\1｜>", text)
    text = strip_think(text, find_literals(text, known)
                       if has_think_sign(text) else ()).strip()
    whole = parse_whole(text, known)
    if whole.calls:
        return whole
    if (code := parse_code(text, known)).calls:
        return code
    # a call that a model put into a code block, and nothing else
    if fence := grammar.ONE_FENCE.match(text):
        fenced = parse_marked(fence[1].strip(), known)
        if fenced.calls and not fenced.text:
            return fenced
    marked = parse_marked(text, known)
    lines = parse_lines(marked.text, known) if known or not marked.calls \
        else Parsed(marked.text, [])
    calls = marked.calls + lines.calls
    return Parsed(lines.text, calls,
                  "" if calls else marked.problem or whole.problem)
