"""Tool calls out of the text of a model.

`parse_strict` reads the one form that the prompt asks for.
`parse_tool_calls` reads what models write instead, form after form; the
first form that yields calls wins. JSON that merely stands somewhere in
prose is never a call: a quoted page could contain it.
"""

from collections.abc import Callable, Collection

from claw.agent.parsing.attributed import parse_attributed
from claw.agent.parsing.fences import parse_fences, parse_tool_fences
from claw.agent.parsing.lines import (
    parse_arrow_blocks,
    parse_function_blocks,
    parse_lines,
)
from claw.agent.parsing.tags import parse_strict, parse_tags
from claw.agent.parsing.values import Parsed, parse_whole
from claw.agent.rendering.think import strip_think

__all__ = ["Parsed", "parse_strict", "parse_tool_calls"]

_FORMS: tuple[Callable[[str, Collection[str]], Parsed], ...] = (
    parse_whole, parse_attributed, parse_tags, parse_fences,
    parse_tool_fences, parse_arrow_blocks, parse_function_blocks,
    parse_lines)


def parse_tool_calls(text: str, known: Collection[str] = ()) -> Parsed:
    """The calls in `text` and the text around them.

    `known` are the tools on offer; where given, forms without any tag
    count only for these. Without calls the text comes back trimmed,
    without think blocks. Time is linear in the length of the text.
    """
    text = strip_think(text).strip()
    for form in _FORMS:
        parsed = form(text, known)
        if parsed.calls:
            return parsed
    return Parsed(text, [])
