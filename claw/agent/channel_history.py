"""The turns of a channel's conversation, as plain functions of lists.

A conversation of a channel is the person's words and our answers, nothing
else: tools, prompts and memories of a turn are not part of it. What goes to
a model begins with the person and alternates. No function changes its
argument.
"""

from collections.abc import Sequence

from claw.agent.history import RESULTS_MARK
from claw.core.errors import (
    ContextOverflowError,
    RateLimitedError,
    describe,
)
from claw.core.provider import ChatMessage

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
        same[0].role, "\n\n".join(t.content for t in same if t.content))
        for same in kept]


def merge_last(prior: Sequence[ChatMessage], text: str) -> Turns:
    """The turns with the person's new words at the end, put to those of a
    turn that was not answered."""
    return normalise([*prior, ChatMessage.user(text)])


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
            text = _without_images(text)
        if text.strip() or text == turn.content or index == last:
            kept.append(_with(turn, text))
    return normalise(kept)


def _with(turn: ChatMessage, text: str) -> ChatMessage:
    return (turn if text == turn.content
            else ChatMessage(turn.role, text))


def _without_results(text: str) -> str:
    """Text without <tool_result ...>...</tool_result>, trimmed where one
    was there; "" where only their heading is left."""
    if _RESULT_OPEN not in text:
        return text
    pieces: list[str] = []
    position = 0
    while (at := text.find(_RESULT_OPEN, position)) >= 0:
        close = text.find(_RESULT_CLOSE, at)
        if close < 0:
            break
        pieces.append(text[position:at])
        position = close + len(_RESULT_CLOSE)
    pieces.append(text[position:])
    left = "".join(pieces).strip()
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


def _without_images(text: str) -> str:
    pieces: list[str] = []
    position = 0
    while (at := text.find(_IMAGE, position)) >= 0:
        close = text.find("]", at)
        if close < 0:
            break
        pieces.append(text[position:at])
        position = close + 1
    pieces.append(text[position:])
    return "".join(pieces).strip()


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
    return [_with(turn, shortened(turn.content, COMPACT_CHARS))
            for turn in normalise(turns[-COMPACT_TURNS:])]


def shortened(text: str, limit: int) -> str:
    """Text of at most `limit` characters and "..." where it was more."""
    return text if len(text) <= limit else text[:limit].rstrip() + "..."


_OVERFLOW = ("exceeds the context window", "context window of this model",
             "exceeds the available context size",
             "maximum context length", "context length exceeded",
             "too many tokens", "token limit exceeded",
             "prompt is too long", "input is too long",
             "prompt exceeds max length")


def is_context_overflow(error_text: str) -> bool:
    """Whether a model refused because the conversation is too long."""
    lowered = error_text.lower().replace("_", " ")
    return any(words in lowered for words in _OVERFLOW)


def is_overflow(error: Exception) -> bool:
    """Whether a call failed because the conversation is too long. A rate
    limit may speak of tokens too."""
    return isinstance(error, ContextOverflowError) or (
        not isinstance(error, RateLimitedError)
        and is_context_overflow(describe(error)))


_SIGHT = ("image", "vision", "multimodal", "multi-modal")
_UNABLE = ("not support", "n't support", "unsupported", "only supported",
           "support image input", "unknown variant", "capability=vision",
           "cannot process", "can't process", "not enabled",
           "missing data required", "not a vision", "not multimodal",
           "not a multimodal")


def is_vision_error(error_text: str) -> bool:
    """Whether a model refused because it sees no images."""
    lowered = error_text.lower()
    return (any(word in lowered for word in _SIGHT)
            and any(words in lowered for words in _UNABLE))
