"""Channel: the contract of everything a person writes through.

`name`, `send` and `listen` are required; the rest does nothing by default.
A channel pushes what it receives into an inbox and tells its platform
"received" only after `put` has returned: by then the message is on disk.
"""

from abc import ABC, abstractmethod
from typing import Protocol

from claw.core.value import Value, replace


class Attachment(Value):
    """A file that came with a message, already saved under a safe name."""

    path: str
    file_name: str
    mime_type: str | None = None
    size_bytes: int = 0


class ChannelMessage(Value):
    """A message that came in.

    `id` is the platform's own (for recognising redeliveries), `timestamp`
    unix seconds, `thread_ts` the anchor of a reply, `interruption_scope_id`
    is set only inside a real thread. `kind` is "message", or "action" for
    a pressed button.
    """

    id: str
    sender: str
    reply_target: str
    content: str
    channel: str
    timestamp: int
    thread_ts: str | None = None
    interruption_scope_id: str | None = None
    attachments: tuple[Attachment, ...] = ()
    kind: str = "message"


class SendMessage(Value):
    """A message that goes out; `recipient` is the platform's own address,
    `subject` is for mail."""

    content: str
    recipient: str
    subject: str | None = None
    thread_ts: str | None = None

    def with_subject(self, subject: str) -> "SendMessage":
        return replace(self, subject=subject)

    def in_thread(self, thread_ts: str | None) -> "SendMessage":
        return replace(self, thread_ts=thread_ts)


class Inbox(Protocol):
    """Where a channel puts what it received."""

    async def put(self, message: ChannelMessage) -> None:
        """Returns after the message is committed to disk."""


class Channel(ABC):
    """One platform. Raises AuthError, UnavailableError or
    RateLimitedError; the runtime restarts `listen` after an error."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The registered name, e.g. "telegram"."""

    @abstractmethod
    async def send(self, message: SendMessage) -> None:
        """Deliver, or raise."""

    @abstractmethod
    async def listen(self, inbox: Inbox) -> None:
        """Receive until cancelled, or until a clean end."""

    async def health_check(self) -> bool:
        return True

    async def start_typing(self, recipient: str) -> None:
        return None

    async def stop_typing(self, recipient: str) -> None:
        return None

    def supports_draft_updates(self) -> bool:
        return False

    async def send_draft(self, message: SendMessage) -> str | None:
        """Send a placeholder; its message id, or None."""
        return None

    async def update_draft(self, recipient: str, message_id: str,
                           text: str) -> None:
        return None

    async def finalize_draft(self, recipient: str, message_id: str,
                             text: str) -> None:
        return None

    async def cancel_draft(self, recipient: str, message_id: str) -> None:
        return None

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        return None

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        return None
