"""A conversation as a list of messages: trimming, repair, JSON form.

A turn begins with what the person wrote and goes on to the next such
message; a round is a message with calls and the results after it. Turns
and rounds are kept or dropped whole, since providers refuse a result
without its call and a call without its result.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from claw.core.errors import StorageError
from claw.core.labels import read_labels, sort_labels
from claw.core.provider import (
    AssistantToolCalls,
    Chat,
    ChatMessage,
    ConversationMessage,
    ToolCall,
    ToolResultMessage,
    ToolResults,
)
from claw.core.value import replace

RESULTS_MARK = "[Tool results]"
INTERRUPTED = "[interrupted]"
CUT_OFF = "[cut off: the answer was longer than it may be]"

Messages = list[ConversationMessage]


def mark_answer(text: str, mark: str) -> str:
    """An answer that is not whole, as history keeps it."""
    return f"{text.rstrip()}\n\n{mark}"


def is_system(item: ConversationMessage) -> bool:
    return isinstance(item, Chat) and item.message.role == "system"


def is_results(item: ConversationMessage) -> bool:
    """Whether this holds tool results, in native or prompt-guided form."""
    return isinstance(item, ToolResults) or (
        isinstance(item, Chat) and item.message.role == "user"
        and item.message.content.startswith(RESULTS_MARK))


def starts_turn(item: ConversationMessage) -> bool:
    return (isinstance(item, Chat) and item.message.role == "user"
            and not is_results(item))


def add_labels(item: ConversationMessage,
               labels: Iterable[str]) -> ConversationMessage:
    """The message, and that text of these origins is in it."""
    every = sort_labels((*item.labels, *labels))
    if every == item.labels:
        return item
    return (Chat(replace(item.message, labels=every))
            if isinstance(item, Chat) else replace(item, labels=every))


def collect_labels(history: Iterable[ConversationMessage | ChatMessage]
                   ) -> set[str]:
    """The origins of foreign text in these messages."""
    return {label for item in history for label in item.labels}


def split_turns(items: Sequence[ConversationMessage]) -> list[Messages]:
    """The turns; what stands before the first one is a turn of its own."""
    turns: list[Messages] = []
    for item in items:
        if not turns or starts_turn(item):
            turns.append([])
        turns[-1].append(item)
    return turns


def _rounds(turn: Messages) -> list[Messages]:
    """The pieces of a turn that must stay together."""
    rounds: list[Messages] = []
    for item in turn:
        if rounds and is_results(item) and isinstance(
                rounds[-1][-1], AssistantToolCalls):
            rounds[-1].append(item)
        else:
            rounds.append([item])
    return rounds


def trim_history(history: Sequence[ConversationMessage],
                 limit: int) -> Messages:
    """At most `limit` messages besides the system messages, newest kept.

    System messages come first. The oldest turns go whole; a newest turn
    that is too long by itself keeps what the person wrote and its newest
    rounds. Its last round always stays, even past the limit.
    """
    system = [item for item in history if is_system(item)]
    others = [item for item in history if not is_system(item)]
    if len(others) <= limit:
        return [*system, *others]
    turns = split_turns(others)
    kept = _newest_rounds(turns.pop(), limit)
    for turn in reversed(turns):
        if len(kept) + len(turn) > limit:
            break
        kept = turn + kept
    return system + kept


def _newest_rounds(turn: Messages, limit: int) -> Messages:
    if len(turn) <= limit:
        return turn
    head = turn[:1] if starts_turn(turn[0]) else []
    rounds = _rounds(turn[len(head):])
    kept = rounds.pop() if rounds else []
    for piece in reversed(rounds):
        if len(head) + len(kept) + len(piece) > limit:
            break
        kept = piece + kept
    return head + kept


def repair(history: Iterable[ConversationMessage]) -> Messages:
    """A history that a provider accepts, from one that was cut off.

    Results without their call are dropped, calls without a result get
    "[interrupted]", empty answers are dropped. A sound history comes back
    equal.
    """
    sound: Messages = []
    for item in history:
        open_calls = (sound[-1] if sound and isinstance(
            sound[-1], AssistantToolCalls) else None)
        if is_results(item):
            if open_calls is None:
                continue
            sound.append(_matched(open_calls, item)
                         if isinstance(item, ToolResults) else item)
            continue
        if open_calls is not None:
            sound.append(_matched(open_calls, ToolResults(())))
        if not _is_empty(item):
            sound.append(item)
    if sound and isinstance(sound[-1], AssistantToolCalls):
        sound.append(_matched(sound[-1], ToolResults(())))
    return sound


def _matched(calls: AssistantToolCalls, results: ToolResults) -> ToolResults:
    """One result for each call, in call order."""
    found = {r.tool_call_id: r for r in results.results}
    return ToolResults(tuple(
        found.get(call.id) or ToolResultMessage(call.id, INTERRUPTED)
        for call in calls.tool_calls), results.labels)


def _is_empty(item: ConversationMessage) -> bool:
    if isinstance(item, AssistantToolCalls):
        return not item.tool_calls
    return (isinstance(item, Chat) and item.message.role == "assistant"
            and not item.message.content)


def encode(item: ConversationMessage) -> dict[str, Any]:
    """A message as {"type", "data"}, the form of session files, with
    "labels" where there are any."""
    record = _encode(item)
    if item.labels:
        record["labels"] = list(item.labels)
    return record


def _encode(item: ConversationMessage) -> dict[str, Any]:
    if isinstance(item, Chat):
        return {"type": "Chat", "data": {"role": item.message.role,
                                         "content": item.message.content}}
    if isinstance(item, ToolResults):
        return {"type": "ToolResults", "data": [
            {"tool_call_id": r.tool_call_id, "content": r.content}
            for r in item.results]}
    data: dict[str, Any] = {
        "text": item.text,
        "tool_calls": [{"id": c.id, "name": c.name, "arguments": c.arguments}
                       for c in item.tool_calls]}
    if item.reasoning_content is not None:
        data["reasoning_content"] = item.reasoning_content
    if item.replay is not None:
        data["replay"] = item.replay
    return {"type": "AssistantToolCalls", "data": data}


def decode(record: dict[str, Any]) -> ConversationMessage:
    """The message of a record; also takes a bare {"role", "content"}.

    Raises StorageError where the record is neither.
    """
    try:
        return add_labels(_decoded(record.get("type", "Chat"),
                                   record.get("data", record)),
                          read_labels(record.get("labels")))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise StorageError(
            f"not a message of a conversation: {str(record)[:80]}",
            hint="look at the file with: claw session export") from error


def _decoded(kind: str, data: Any) -> ConversationMessage:
    if kind == "Chat":
        role = data["role"]
        if role not in ("system", "user", "assistant", "tool"):
            raise ValueError(role)
        return Chat(ChatMessage(role, _text(data["content"])))
    if kind == "ToolResults":
        return ToolResults(tuple(
            ToolResultMessage(_text(r["tool_call_id"]), _text(r["content"]))
            for r in data))
    if kind == "AssistantToolCalls":
        return AssistantToolCalls(data.get("text"), tuple(
            ToolCall(_text(c["id"]), _text(c["name"]), _text(c["arguments"]))
            for c in data["tool_calls"]), data.get("reasoning_content"),
            data.get("replay"))
    raise ValueError(kind)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
