"""Cleaning an answer for display; history keeps the raw text."""

import re

from claw.agent.markup import drop_blocks

_BLANK_LINES = re.compile(r"\n{3,}")
_HIDDEN = (("<tool_result", "</tool_result>"), ("<thinking>", "</thinking>"),
           ("<think>", "</think>"))


def for_display(text: str) -> str:
    """Text without echoed tool results and closed think blocks.

    Lines starting "[Tool results]" go too, three or more line ends become
    two, and the ends are trimmed.
    """
    for start, end in _HIDDEN:
        text = drop_blocks(text, start, end)
    lines = [line for line in text.split("\n")
             if not line.startswith("[Tool results]")]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
