"""Places -> the kept conversations."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from claw.agent.history import add_labels, decode, encode, repair
from claw.agent.memory.recall import bare_message
from claw.config.places import Places
from claw.core.errors import DeniedError, NotFoundError, StorageError
from claw.core.provider import (
    AssistantToolCalls,
    Chat,
    ChatMessage,
    ConversationMessage,
)
from claw.core.sessions import KeptSession, SaidLine
from claw.core.value import Value
from claw.security.redact.redactor import Redactor
from claw.storage.sessions import Session, SessionStore
from claw.text.titles import make_title

_FIRST = 4  # messages in which a title is looked for


def open_sessions(places: Places, redactor: Redactor | None = None
                  ) -> SessionStore:
    """The session files of the workspace; who writes there brings what
    takes the secrets out."""
    folder = places.workspace / "sessions"
    return (SessionStore(folder) if redactor is None
            else SessionStore(folder, clean=redactor.record))


def load_history(store: SessionStore, name: str,
                 notify: Callable[[str], None]) -> list[ConversationMessage]:
    """What was said in a session, fit to go on from; nothing where there is
    no such session. What is no message is passed over and told."""
    try:
        session = store.read(name)
    except NotFoundError:
        return []
    messages: list[ConversationMessage] = []
    lost = session.damaged
    for record in session.records:
        try:
            messages.append(decode(record))
        except StorageError:
            lost += 1
    if lost:
        notify(f"session {name!r}: {lost} damaged line"
               f"{'s were' if lost > 1 else ' was'} passed over")
    return repair(messages)


def read_title(store: SessionStore, name: str) -> str:
    """What a session began with, in a few words; "" where that says
    nothing or can't be read."""
    try:
        records = store.head(name, _FIRST)
    except (NotFoundError, StorageError):
        return ""
    said = read_messages(Session(name, None, records, 0))
    return next((title for message in said if message.role == "user"
                 and (title := make_title(message.text))), "")


class KeptSessions:
    """The sessions of the workspace, for tools (core.sessions)."""

    def __init__(self, places: Places,
                 build_redactor: Callable[[], Redactor] = Redactor) -> None:
        self._places = places
        self._store = open_sessions(places)
        self._build_redactor = build_redactor

    def list_sessions(self, limit: int) -> list[KeptSession]:
        return [KeptSession(info.key, read_title(self._store, info.key),
                            info.messages, info.updated_at)
                for info in self._store.list()[:limit]]

    def read_session(self, key: str, limit: int) -> list[SaidLine]:
        return [SaidLine(said.role, said.text, said.at) for said
                in read_messages(self._store.read(key)) if said.text][-limit:]

    def leave_note(self, key: str, text: str, labels: Iterable[str]) -> None:
        records = self._store.read(key).records
        if any("turn" in record for record in records):
            raise DeniedError("that is the conversation of a channel, which "
                              "only its people write to")
        note = add_labels(Chat(ChatMessage.user(text)), labels)
        open_sessions(self._places, self._build_redactor()).append(
            key, [encode(note)])


class SpokenMessage(Value):
    """One message of a session as people read it.

    `role` is "user", "assistant", "tool" or "system". `calls` are (name,
    arguments as JSON text); `text` of a tool is what it returned.
    """

    role: str
    at: str | None
    text: str
    calls: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"role": self.role, "at": self.at,
                                 "text": self.text}
        if self.calls:
            value["tool_calls"] = [{"name": name, "arguments": arguments}
                                   for name, arguments in self.calls]
        return value


def read_messages(session: Session) -> Iterator[SpokenMessage]:
    """What was said, oldest first; records that are no messages are
    passed over."""
    for record in session.records:
        try:
            message = decode(record)
        except StorageError:
            continue
        yield from read_message(message, record.get("at"))


def read_message(message: ConversationMessage, at: str | None = None
                 ) -> Iterator[SpokenMessage]:
    """What one message says; of the results of tools each."""
    if isinstance(message, Chat):
        text = message.message.content
        yield SpokenMessage(message.message.role, at,
                            bare_message(text)
                            if message.message.role == "user" else text)
    elif isinstance(message, AssistantToolCalls):
        yield SpokenMessage("assistant", at, message.text or "", tuple(
            (call.name, call.arguments) for call in message.tool_calls))
    else:
        for result in message.results:
            yield SpokenMessage("tool", at, result.content)
