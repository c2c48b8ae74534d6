"""What models want to be shown again with their calls of tools.

Some sign their thoughts and take their own calls back only with these.
OpenAI's API has no field for it: it is kept here by the id of the call, for
the key that was given it.
"""

from collections import OrderedDict
from collections.abc import Iterable

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatResponse,
    decode_tool_calls,
    encode_tool_calls,
)
from claw.core.value import replace

_MOST = 1_000
_MOST_CHARS = 32 << 20
_LONGEST = 1 << 20


class Replays:
    """The newest of them, by key and first call."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], ChatResponse] = OrderedDict()
        self._chars = 0

    def keep(self, key: str, response: ChatResponse) -> None:
        """An answer with calls, on its way to the client."""
        if not response.tool_calls or not 0 < _size(response) <= _LONGEST:
            return
        place = (key, response.tool_calls[0].id)
        if place in self._kept:
            self._chars -= _size(self._kept.pop(place))
        self._kept[place] = replace(response, text=None)
        self._chars += _size(response)
        while len(self._kept) > _MOST or self._chars > _MOST_CHARS:
            self._chars -= _size(self._kept.popitem(last=False)[1])

    def restore(self, key: str, messages: Iterable[ChatMessage]
                ) -> tuple[ChatMessage, ...]:
        """Messages of a client, their calls with what belongs to them.
        Where the calls are others than were made, nothing does."""
        return tuple(self._restore(key, one) for one in messages)

    def _restore(self, key: str, message: ChatMessage) -> ChatMessage:
        calls = decode_tool_calls(message)
        if calls is None or not calls.tool_calls:
            return message
        kept = self._kept.get((key, calls.tool_calls[0].id))
        if kept is None or [one.id for one in kept.tool_calls] != [
                one.id for one in calls.tool_calls]:
            return message
        return encode_tool_calls(AssistantToolCalls(
            calls.text, calls.tool_calls, kept.reasoning_content
            or calls.reasoning_content, kept.replay))


def _size(response: ChatResponse) -> int:
    """Characters of what is kept beside the calls."""
    return len(response.replay or "") + len(response.reasoning_content or "")
