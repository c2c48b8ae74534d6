"""Kept conversations, as tools see them."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from claw.core.value import Value


class KeptSession(Value):
    """`updated_at` is RFC 3339 in UTC, `title` made of the first words."""

    key: str
    title: str
    messages: int
    updated_at: str


class SaidLine(Value):
    """One message; `role` is "user", "assistant" or "tool", `at` when
    (RFC 3339) where that is known."""

    role: str
    text: str
    at: str | None = None


class ReadsSessions(Protocol):
    """Whoever has the conversations of the workspace."""

    def list_sessions(self, limit: int) -> Sequence[KeptSession]:
        """The one written last first."""

    def read_session(self, key: str, limit: int) -> Sequence[SaidLine]:
        """The last messages, oldest of them first. Raises NotFoundError."""

    def leave_note(self, key: str, text: str, labels: Iterable[str]) -> None:
        """Put a message at the end of a session, for whoever goes on with
        it. Raises NotFoundError, DeniedError for one of a channel."""
