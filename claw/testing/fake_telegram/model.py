"""What the fake remembers: chats, messages, files, updates."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from claw.testing.fake_telegram.drafts import DraftBoard
from claw.testing.fake_telegram.params import Params

# Not sent unless they are asked for by name.
_ON_DEMAND = {"chat_member", "message_reaction", "message_reaction_count"}

Json = dict[str, Any]

_SUPERGROUPS = -1_000_000_000_000  # and channels: ids below it


class Call(NamedTuple):
    """A call of the Bot API as it arrived; `at` is monotonic seconds."""

    method: str
    params: Params
    at: float


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of the bot as people see it now.

    `text` is the text or caption, `history` every text it has had,
    `edits` how often it was edited, `method` what sent it, `at` when
    (monotonic seconds), `file_id` the file of a media message, `silent`
    that nobody was notified of it.
    """

    message_id: int
    chat_id: int
    thread_id: int | None
    text: str
    entities: tuple[Json, ...] = ()
    edits: int = 0
    deleted: bool = False
    reply_markup: Json | None = None
    method: str = "sendMessage"
    at: float = 0.0
    reply_to: int | None = None
    file_id: str | None = None
    history: tuple[str, ...] = ()
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Stored:
    """A file on the platform."""

    file_id: str
    path: str
    data: bytes = field(repr=False)

    def shape(self) -> Json:
        """The File object."""
        return {"file_id": self.file_id, "file_unique_id":
                f"u{self.file_id}", "file_size": len(self.data),
                "file_path": self.path}


class Updates:
    """The queue of updates that were not acknowledged yet."""

    def __init__(self, first_id: int) -> None:
        self.allowed: list[str] = []
        self.dropped: list[int] = []
        self.repeat = False
        self._waiting: deque[Json] = deque()
        self._next = first_id

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, update: Json) -> int:
        """Queue an update; one of a kind that the bot did not ask for is
        dropped, as the platform does."""
        update_id = int(update.get("update_id", self._next))
        self._next = max(self._next, update_id) + 1
        if not self._wanted(update):
            self.dropped.append(update_id)
            return update_id
        self._waiting.append({"update_id": update_id, **update})
        return update_id

    def take(self, offset: int, limit: int) -> list[Json]:
        """Forget what is below the offset, give what follows."""
        waiting = self._waiting
        if self.repeat:
            return list(islice(waiting, limit))
        if offset < 0:
            while len(waiting) > -offset:
                waiting.popleft()
            offset = 0
        while waiting and waiting[0]["update_id"] < offset:
            waiting.popleft()
        return list(islice((u for u in waiting if u["update_id"] >= offset),
                           limit))

    def clear(self) -> None:
        self._waiting.clear()

    def _wanted(self, update: Json) -> bool:
        kinds = set(update) - {"update_id"}
        return (bool(kinds & set(self.allowed)) if self.allowed
                else not kinds or bool(kinds - _ON_DEMAND))


class World:
    """Chats, messages and files. Message ids grow: private chats and basic
    groups share one counter, supergroups and channels have their own."""

    def __init__(self, bot: Json, chats: tuple[int, ...],
                 clock: Callable[[], float]) -> None:
        self.bot = bot
        self.drafts = DraftBoard(clock)
        self.chats: dict[int, Json] = {}
        self.messages: dict[tuple[int, int], Json] = {}
        self.sent: dict[tuple[int, int], Sent] = {}
        self.files: dict[str, Stored] = {}
        self.reactions: dict[tuple[int, int], list[str]] = {}
        self.threads: set[tuple[int, int]] = set()
        self.queries: dict[str, Json | None] = {}
        self.commands: list[Json] = []
        self.webhook: Json = {}
        self._counters: dict[int, int] = {}
        for chat_id in chats:
            self.chat(chat_id)

    def chat(self, chat_id: int, **fields: Any) -> Json:
        """The chat with this id; made when it is new."""
        if chat_id not in self.chats:
            self.chats[chat_id] = {"id": chat_id, **_kind(chat_id)}
        self.chats[chat_id].update(fields)
        return self.chats[chat_id]

    def new_message(self, chat_id: int, fields: Json) -> Json:
        """A message in a chat, from whomever `fields` says."""
        counter = chat_id if chat_id < _SUPERGROUPS else 0
        number = self._counters.get(counter, 0) + 1
        message = {"message_id": number, "date": int(time.time()),
                   "chat": dict(self.chats[chat_id]), **fields}
        message_id = message["message_id"]
        self._counters[counter] = max(number, message_id)
        self.messages[chat_id, message_id] = message
        thread = message.get("message_thread_id")
        if thread is not None:
            self.threads.add((chat_id, thread))
        return message

    def find(self, message_id: int, chat_id: int | None) -> Json:
        """The message with this id; chats of several counters need
        `chat_id` to tell it."""
        found = [message for (chat, number), message in
                 self.messages.items() if number == message_id
                 and chat_id in (None, chat)]
        if len(found) != 1:
            raise KeyError(f"{len(found)} messages {message_id}"
                           + (": name the chat" if found else ""))
        return found[0]

    def forget(self, chat_id: int, message_id: int) -> None:
        """Delete a message; what the bot sent stays known as deleted."""
        key = chat_id, message_id
        del self.messages[key]
        if key in self.sent:
            self.sent[key] = replace(self.sent[key], deleted=True)

    def add_file(self, data: bytes, path: str) -> Stored:
        number = len(self.files) + 1
        file_id = f"BQACfile{number:06d}"
        folder, _, name = path.rpartition("/")
        _, dot, ending = name.rpartition(".")
        stored = Stored(file_id, f"{folder or 'documents'}/file_{number}"
                                 f"{dot}{ending if dot else ''}", data)
        self.files[file_id] = stored
        return stored


def _kind(chat_id: int) -> Json:
    if chat_id > 0:
        return {"type": "private", "first_name": f"User {chat_id}"}
    kind = "supergroup" if chat_id < _SUPERGROUPS else "group"
    return {"type": kind, "title": f"Group {-chat_id}"}
