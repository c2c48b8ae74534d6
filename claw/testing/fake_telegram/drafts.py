"""Previews of answers, as sendMessageDraft shows them.

One lives for 30 seconds, or until a message of the bot comes to its chat.
Source: core.telegram.org/bots/api#sendmessagedraft.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LIFE_S = 30.0
THINKING = "Thinking…"  # what an empty text is shown as


@dataclass(frozen=True, slots=True)
class ShownDraft:
    """A preview in a chat; `at` is when its text came."""

    chat_id: int
    thread_id: int | None
    draft_id: int
    text: str
    entities: tuple[dict[str, Any], ...]
    at: float


class DraftBoard:
    """The previews of all chats; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._shown: dict[tuple[int, int], ShownDraft] = {}

    def show(self, draft: ShownDraft) -> None:
        """Show it, in the place of what it showed before."""
        key = draft.chat_id, draft.draft_id
        self._shown.pop(key, None)
        self._shown[key] = draft

    def end(self, chat_id: int) -> None:
        """A message has come to the chat."""
        for key in [key for key in self._shown if key[0] == chat_id]:
            del self._shown[key]

    def read(self, chat_id: int | None = None) -> list[ShownDraft]:
        """What is shown now, the newest last."""
        now = self.clock()
        return [draft for draft in self._shown.values()
                if now - draft.at < LIFE_S
                and chat_id in (None, draft.chat_id)]
