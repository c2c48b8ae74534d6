"""The state of one conversation; the agent itself keeps none."""

import asyncio
from collections.abc import Callable, Iterable

from claw.agent.history import (
    add_labels,
    collect_labels,
    is_system,
    trim_history,
)
from claw.core.provider import Chat, ChatMessage, ConversationMessage
from claw.core.value import Record, hidden, made


class Conversation(Record):
    """Messages so far, and the model chosen for them (None: the agent's).

    `on_push` sees each message but the system prompt as it is added, e.g.
    to write it to a session file; an error of it ends the turn. Two turns
    of one conversation wait for each other.
    """

    messages: list[ConversationMessage] = made(factory=list)
    model: str | None = None
    on_push: Callable[[ConversationMessage], None] = lambda _: None
    lock: asyncio.Lock = hidden(factory=asyncio.Lock)

    def begin(self, system_prompt: str) -> None:
        """Put the system prompt first; none where it is empty."""
        if system_prompt:
            self.messages.insert(0, Chat(ChatMessage.system(system_prompt)))

    @property
    def has_system(self) -> bool:
        return any(map(is_system, self.messages))

    @property
    def labels(self) -> set[str]:
        """The origins of foreign text in it, as long as it is in it."""
        return collect_labels(self.messages)

    def push(self, message: ConversationMessage,
             labels: Iterable[str] = ()) -> None:
        """Add a message that holds, or was written in sight of, text of
        these origins."""
        message = add_labels(message, labels)
        self.messages.append(message)
        self.on_push(message)

    def trim(self, limit: int) -> None:
        """Drop the oldest turns past `limit` messages."""
        self.messages[:] = trim_history(self.messages, limit)

    def clear(self) -> None:
        self.messages.clear()

    def seed(self, messages: Iterable[ConversationMessage]) -> None:
        """Add earlier messages; system messages among them stay out."""
        self.messages.extend(m for m in messages if not is_system(m))
