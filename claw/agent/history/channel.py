"""The turns of a channel's conversation, as plain functions of lists.

A conversation of a channel is the person's words and our answers, nothing
else: tools, prompts and memories of a turn are not part of it. What goes to
a model begins with the person and alternates. No function changes its
argument.
"""

from collections.abc import Sequence

from claw.agent.history import RESULTS_MARK
from claw.agent.rendering.cut import shorten
from claw.agent.rendering.markup import drop_blocks
from claw.core.labels import sort_labels
from claw.core.provider import ChatMessage
from claw.core.value import replace

Turns = list[ChatMessage]

TRIM_CHARS = 400_000
COMPACT_TURNS = 12
COMPACT_CHARS = 600

_SUMMARY = "[Used tools:"
_IMAGE = "[IMAGE:"
_RESULT_OPEN = "<tool_result"
_RESULT_CLOSE = "</tool_result>"


def normalise(turns: Sequence[ChatMessage]) -> Turns:
    """Turns that begin with the person's and alternate.

    The same role twice becomes one turn, with a blank line between; an
    answer without a question or without text and other roles are dropped.
    """
    kept: list[list[ChatMessage]] = []
    for turn in turns:
        if turn.role not in ("user", "assistant") or (
                turn.role == "assistant" and not turn.content):
            continue
        if kept and kept[-1][0].role == turn.role:
            kept[-1].append(turn)
        elif kept or turn.role == "user":
            kept.append([turn])
    return [same[0] if len(same) == 1 else ChatMessage(
        same[0].role, "\n\n".join(t.content for t in same if t.content),
        sort_labels(label for t in same for label in t.labels))
        for same in kept]


def clean(turns: Sequence[ChatMessage], vision: bool) -> Turns:
    """Turns without what a model must not read again: results of tools,
    our own list of used tools, and, for a model that sees no images, the
    images of earlier turns.

    The person's last turn stays, whatever is left of it. An earlier one
    with nothing left goes, and its neighbours become one.
    """
    last = len(turns) - 1
    kept: Turns = []
    for index, turn in enumerate(turns):
        text = _without_results(turn.content)
        if turn.role == "assistant":
            text = without_summary(text)
        if not vision and index < last and _IMAGE in text:
            text = drop_blocks(text, _IMAGE, "]").strip()
        if text.strip() or text == turn.content or index == last:
            kept.append(_with(turn, text))
    return normalise(kept)


def _with(turn: ChatMessage, text: str) -> ChatMessage:
    return (turn if text == turn.content
            else replace(turn, content=text))


def _without_results(text: str) -> str:
    """Text without <tool_result ...>...</tool_result>, trimmed where one
    was there; "" where only their heading is left."""
    if _RESULT_OPEN not in text:
        return text
    left = drop_blocks(text, _RESULT_OPEN, _RESULT_CLOSE).strip()
    return "" if left == RESULTS_MARK else left


def without_summary(text: str) -> str:
    """An answer without the line that `with_summary` put before it."""
    if not text.startswith(_SUMMARY):
        return text
    _, close, rest = text.partition("]")
    return rest.lstrip("\r\n") if close else text


def with_summary(text: str, tool_names: Sequence[str]) -> str:
    """An answer as history keeps it: the tools of its turn, then it."""
    names = [" ".join(name.split()).replace("]", ")")
             for name in dict.fromkeys(tool_names)]
    return f"{_SUMMARY} {', '.join(names)}]\n{text}" if names else text


def trim_chars(turns: Sequence[ChatMessage],
               limit: int = TRIM_CHARS) -> Turns:
    """The newest turns that are at most `limit` characters together; the
    last one stays whatever its size."""
    excess = sum(len(turn.content) for turn in turns) - limit
    first = 0
    while excess > 0 and first < len(turns) - 1:
        excess -= len(turns[first].content)
        first += 1
    kept = list(turns[first:])
    if len(kept) > 1 and first and kept[0].role == "assistant":
        kept = kept[1:]  # an answer whose question has gone
    return kept


def compact(turns: Sequence[ChatMessage]) -> Turns:
    """What stays after a model found the conversation too long: the last
    12 turns, each cut at 600 characters."""
    return [_with(turn, shorten(turn.content, COMPACT_CHARS))
            for turn in normalise(turns[-COMPACT_TURNS:])]
