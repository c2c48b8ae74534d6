"""The short bodies that GLM models write.

name(k="v")   name k="v" .../>   name>value   name>\\nkey: value lines
"""

import re
from collections.abc import Collection
from typing import Any

from claw.agent.parsing.aliases import (
    default_parameter,
    is_tool_word,
    short_arguments,
    tool_name,
)
from claw.agent.rounds.calls import ParsedToolCall

_PAIR = re.compile(r"""([A-Za-z0-9_]{1,64})\s{0,8}=\s{0,8}"""
                   r"""(?:"([^"]*)"|'([^']*)')""")
_HEAD = re.compile(r"([A-Za-z0-9_]{1,64})\s{0,8}(\(|>|\s)")
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_MAX_LINES = 64


def parse_glm(body: str, known: Collection[str]) -> list[ParsedToolCall]:
    """The one call of a short body, or none."""
    body = body.strip()
    head = _HEAD.match(body)
    tool = tool_name(head[1], known) if head else None
    if head is None or tool is None or (
            head[2] == "(" and not body.endswith(")")):
        return []
    rest = body[head.end():]
    arguments = _read_after_bracket(tool, rest) if head[2] == ">" else {
        key: double or single for key, double, single in _PAIR.findall(rest)}
    return [ParsedToolCall(tool, arguments)] if arguments else []


def _read_after_bracket(tool: str, text: str) -> dict[str, Any] | None:
    """`key: value` lines, or one value for the default parameter."""
    on_lines = text.lstrip(" \t\r").startswith("\n")
    text = text.strip().removesuffix("/>").strip()
    if not text:
        return None
    pairs = [line.partition(":") for line in text.split("\n", _MAX_LINES)]
    if on_lines and all(mark and is_tool_word(key.strip())
                        for key, mark, _ in pairs):
        return {key.strip(): _WORDS.get(value.strip().lower(), value.strip())
                for key, _, value in pairs}
    return short_arguments(tool, default_parameter(tool), text)
