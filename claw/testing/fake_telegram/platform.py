"""The fake platform: a server for the bot, controls for the test.

The controls may be called from any thread. All state is kept under one
lock; waiting for it to change wakes with every call of the bot.
"""

import json
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from claw.testing.bot_api_spec import Spec, check, load_spec
from claw.testing.fake_server import FakeServer
from claw.testing.fake_telegram.drafts import ShownDraft
from claw.testing.fake_telegram.errors import ApiError
from claw.testing.fake_telegram.methods import METHODS, encoded
from claw.testing.fake_telegram.model import Call, Json, Sent, Updates, World
from claw.testing.fake_telegram.params import Params, read_params
from claw.testing.fake_telegram.polling import Polling
from claw.testing.fake_telegram.text import automatic
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request

TOKEN = "1234567:TEST-token-of-the-fake"


class FakeTelegram(FakeServer):
    """The platform, running inside a `with` block.

    `spec` (a path or the loaded document) checks every call against the
    machine-readable Bot API; what is wrong is in `problems`. The bot may
    write to `chats` and to every chat that was posted in. Methods are at
    <url>/bot<token>/<method>; `lacks` are some that this server does not
    know. A message is named by its id, and by its chat where chats that
    count by themselves (supergroups) have the same one. `clock` (seconds)
    says when a preview ends.
    """

    def __init__(self, token: str = TOKEN, username: str = "claw_test_bot",
                 *, spec: "str | Path | Spec | None" = None, port: int = 0,
                 chats: tuple[int, ...] = (1001,), latency_s: float = 0.0,
                 first_update_id: int = 824_000_001,
                 lacks: tuple[str, ...] = (),
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.token = token
        self.calls: list[Call] = []
        super().__init__(port=port, latency_s=latency_s)
        digits = token.partition(":")[0]
        self._world = World({
            "id": int(digits) if digits.isdecimal() else 1,
            "is_bot": True, "first_name": "Claw", "username": username,
        }, chats, clock)
        self._updates = Updates(first_update_id)
        self._polling = Polling(self._updates, self._world, self._changed)
        self._problems: list[str] = []
        self._moved: dict[str, int] = {}
        self._spec = load_spec(spec) if spec is not None else None
        self._names = {name.lower(): name for name in
                       (*METHODS, *self._polling.methods, "getUpdates")
                       if name not in lacks}

    @property
    def bot(self) -> Json:
        """The User object of the bot."""
        return dict(self._world.bot)

    # what people do

    def post(self, text: str | None, chat_id: int = 1001,
             user_id: int | None = None, username: str | None = "alice",
             **message_fields: Any) -> int:
        """A person writes; the update's id. `message_fields` are further
        fields of the Message (photo, reply_to_message, ...)."""
        with self._changed:
            return self.post_update({"message": self._message(
                text, chat_id, user_id, username, message_fields)})

    def post_update(self, update: Json) -> int:
        """Queue any update; its id, given or next."""
        with self._changed:
            update_id = self._updates.add(update)
            self._changed.notify_all()
        self._wake()
        return update_id

    def press(self, message_id: int, data: str, user_id: int | None = None,
              username: str | None = "alice", *,
              chat_id: int | None = None) -> int:
        """A person presses the button `data` under a message."""
        with self._changed:
            message = self._world.find(message_id, chat_id)
            query_id = str(4_000_000_000 + len(self._world.queries))
            self._world.queries[query_id] = None
            person = _person(message["chat"]["id"], user_id, username)
            return self.post_update({"callback_query": {
                "id": query_id, "from": person, "message": dict(message),
                "chat_instance": "1", "data": data}})

    def remove(self, message_id: int, *, chat_id: int | None = None) -> None:
        """A person deletes a message."""
        with self._changed:
            message = self._world.find(message_id, chat_id)
            self._world.forget(message["chat"]["id"], message_id)

    def add_file(self, data: bytes, path: str = "documents/file.bin") -> str:
        """A file on the platform; its id, to be posted with."""
        with self._changed:
            return self._world.add_file(data, path).file_id

    def add_chat(self, chat_id: int, **fields: Any) -> None:
        """A chat that the bot may write to; `fields` of its Chat."""
        with self._changed:
            self._world.chat(chat_id, **fields)

    def migrate(self, chat_id: int, to: int, *, quiet: bool = False) -> None:
        """A group becomes a supergroup; `quiet`: the bot hears of it only
        when it writes to the group."""
        with self._changed:
            self.add_chat(to, type="supergroup")
            self._moved[str(chat_id)] = to
            if not quiet:
                self.post(None, chat_id, 1001, migrate_to_chat_id=to)

    # what the bot did

    def messages(self, chat_id: int | None = None) -> list[Sent]:
        """The bot's messages as they stand, in order of appearance;
        deleted ones too."""
        with self._changed:
            return [s for s in self._world.sent.values()
                    if chat_id is None or s.chat_id == chat_id]

    def answers(self, chat_id: int | None = None) -> list[str]:
        """Texts of messages that are not deleted."""
        return [s.text for s in self.messages(chat_id)
                if not s.deleted]

    def drafts(self, chat_id: int | None = None) -> list[ShownDraft]:
        """The previews that are shown now, the newest last."""
        with self._changed:
            return self._world.drafts.read(chat_id)

    def notifications(self, chat_id: int | None = None) -> list[str]:
        """What the phone showed: of each message that was not silent the
        text that it came with."""
        return [s.history[0] for s in self.messages(chat_id)
                if not s.silent]

    def list_calls(self, method: str) -> list[Call]:
        return [c for c in list(self.calls) if c.method == method]

    def file(self, file_id: str) -> bytes:
        """The content of a file, sent or added."""
        with self._changed:
            return self._world.files[file_id].data

    def reactions(self, message_id: int, *,
                  chat_id: int | None = None) -> list[str]:
        """The bot's reactions to a message."""
        with self._changed:
            message = self._world.find(message_id, chat_id)
            return list(self._world.reactions.get(
                (message["chat"]["id"], message_id), ()))

    @property
    def commands(self) -> list[Json]:
        """What setMyCommands set."""
        return self._world.commands

    @property
    def answered_queries(self) -> list[Json]:
        """Parameters of the answers to pressed buttons."""
        with self._changed:
            return [q for q in self._world.queries.values() if q is not None]

    def pending(self) -> int:
        """How many updates are not acknowledged."""
        with self._changed:
            return len(self._updates)

    @property
    def dropped(self) -> list[int]:
        """Ids of updates of a kind that the bot had not asked for."""
        with self._changed:
            return list(self._updates.dropped)

    @property
    def problems(self) -> list[str]:
        """Calls against the specification, and faults of the fake."""
        return self._problems + self._server.errors

    # what goes wrong (and `fault`, `kill_connections`, `latency_s`)

    @property
    def repeat_updates(self) -> bool:
        """Ignore the offset: the same updates for ever."""
        return self._updates.repeat

    @repeat_updates.setter
    def repeat_updates(self, on: bool) -> None:
        with self._changed:
            self._updates.repeat = on
        self._wake()

    def wedge(self) -> None:
        """All polls hang and their connections stay open, until
        `unwedge`. A poll that was caught is never answered: the bot has
        to give it up by itself."""
        self._polling.wedged = True
        self._wake()

    def unwedge(self) -> None:
        self._polling.wedged = False

    # the server's side

    def _wake(self) -> None:
        if self._running:
            self._server.loop.call_soon_threadsafe(self._polling.wake)

    def _message(self, text: str | None, chat_id: int, user_id: int | None,
                 username: str | None, fields: Json) -> Json:
        person = _person(chat_id, user_id, username)
        if chat_id > 0:
            chat = {key: person[key] for key in ("first_name", "username")
                    if key in person}
            self._world.chat(chat_id, **chat)
        else:
            self._world.chat(chat_id)
        message: Json = {"from": person}
        if text is not None:
            message["text"] = text
            entities = automatic(text)
            if entities:
                message["entities"] = entities
        return dict(self._world.new_message(chat_id, message | fields))

    def _handle(self, request: Request) -> Answer:
        parts = request.path.split("/", 2)
        if parts[1] == "file" and len(parts) == 3:
            return self._download(parts[2])
        if len(parts) != 3 or not parts[1].startswith("bot"):
            return _reply(ApiError(404, "Not Found"))
        if parts[1][3:] != self.token:
            return _reply(ApiError(401, "Unauthorized"))
        method = self._names.get(parts[2].lower())
        if method is None:
            return _reply(self._unknown(parts[2]))
        try:
            params = read_params(request)
        except ApiError as error:
            return _reply(error)
        self._record(method, params)
        fault = self._faults.take(method)
        if fault is None and not self.latency_s and method != "getUpdates":
            return self._do(method, params)

        async def do() -> Reply:
            return (await self._poll(params) if method == "getUpdates"
                    else self._do(method, params))
        return self._slowly(do, fault, _refusal)

    def _record(self, method: str, params: Params) -> None:
        with self._changed:
            self.calls.append(Call(method, params, time.monotonic()))
            self._changed.notify_all()
        if self._spec is not None:
            self._problems += check(self._spec, method, params,
                                    form=params.form)
        mode = str(params.get("parse_mode") or "").lower()
        if mode.startswith("markdown"):
            self._problems.append(f"{method}: the fake reads no {mode}; "
                                  "the text is kept as it came")

    def _unknown(self, method: str) -> ApiError:
        if self._spec is not None and method in self._spec["methods"] \
                and method not in METHODS:
            self._problems.append(f"{method}: the fake does not know it")
        return ApiError(404, "Not Found")

    def _do(self, method: str, params: Params) -> Reply:
        with self._changed:
            try:
                if (to := self._moved.get(str(params.get("chat_id")))):
                    raise ApiError(
                        400, "Bad Request: group chat was upgraded to a "
                        "supergroup chat", {"migrate_to_chat_id": to})
                work = METHODS.get(method)
                result = (work(self._world, params) if work is not None
                          else self._polling.methods[method](params))
                return Reply(body=encoded(result))
            except ApiError as error:
                return _reply(error)
            finally:
                self._changed.notify_all()

    async def _poll(self, params: Params) -> Reply:
        try:
            batch = await self._polling.poll(params)
        except ApiError as error:
            return _reply(error)
        return (Reply(ending="silence") if batch is None
                else Reply(body=encoded(batch)))

    def _download(self, path: str) -> Reply:
        token, _, name = path.partition("/")
        if token != f"bot{self.token}":
            return _reply(ApiError(401, "Unauthorized"))
        with self._changed:
            for stored in self._world.files.values():
                if stored.path == name:
                    return Reply(body=stored.data,
                                 content_type="application/octet-stream")
        return _reply(ApiError(404, "Not Found"))

    def _state(self) -> str:
        last = [c.method for c in self.calls[-8:]]
        return (f"{len(self.calls)} calls, the last {last}; "
                f"{self.pending()} updates pending; answers "
                f"{[a[:60] for a in self.answers()[-5:]]}; problems "
                f"{self.problems[:5]}")


def _person(chat_id: int, user_id: int | None,
            username: str | None) -> Json:
    if user_id is None:
        user_id = chat_id if chat_id > 0 \
            else 2000 + zlib.crc32((username or "").encode()) % 1_000_000
    person: Json = {"id": user_id, "is_bot": False,
                    "first_name": (username or "Someone").title(),
                    "language_code": "en"}
    if username:
        person["username"] = username
    return person


def _reply(error: ApiError) -> Reply:
    return Reply(error.code, json.dumps(error.body()).encode())


def _refusal(fault: Fault) -> Reply:
    if fault.kind == "429":
        return _reply(ApiError(
            429, f"Too Many Requests: retry after {fault.retry_after}",
            {"retry_after": fault.retry_after}))
    names = {500: "Internal Server Error", 502: "Bad Gateway",
             401: "Unauthorized", 404: "Not Found",
             403: "Forbidden: bot was blocked by the user"}
    text = fault.description or names.get(fault.status, "Bad Request")
    return _reply(ApiError(fault.status, text, fault.parameters))
