"""The fake platform: a server for the bot, controls for the test.

The controls may be called from any thread; all state is kept under one
lock.
"""

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from claw.testing.fake_discord.rest import (
    OPERATIONS,
    Call,
    read_call,
    world_file,
)
from claw.testing.fake_discord.spec import check, load_spec
from claw.testing.fake_discord.world import (
    DM,
    PUBLIC_THREAD,
    TEXT,
    ApiError,
    Json,
    Room,
    Sent,
    World,
)
from claw.testing.fake_gateway import Behaviour, Gateway, Session
from claw.testing.fake_server import FakeServer
from claw.testing.fake_sockets import SocketServer
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request

BOT_ID = "700000000000000001"
_API = "/api/v10"


class FakeDiscord(FakeServer):
    """The platform, running inside a `with` block.

    Direct messages have the number of the person; those of `chats` are
    there, and others from the first post on. `spec` is a path to Discord's
    OpenAPI description, or an extract (see spec.py): what is wrong with a
    call is in `problems`.
    Faults are named by operation ("create_message"). `limit` is (calls,
    seconds) of each channel's messages. `clock` says when a nonce is
    forgotten.
    """

    def __init__(self, *, spec: str | Path | None = None, port: int = 0,
                 latency_s: float = 0.0, chats: tuple[str, ...] = ("1001",),
                 limit: tuple[int, float] | None = None,
                 clock: Callable[[], float] = time.time) -> None:
        super().__init__(port=port, latency_s=latency_s)
        self.secret = "TEST.canary-of-the-fake-discord"
        self._bots: dict[str, Json] = {}
        self.calls: list[Call] = []
        self.limit = limit
        self.clock = clock
        self._windows: dict[str, tuple[float, int]] = {}
        self.token = self.add_bot(BOT_ID, "claw")
        self._world = World(self._bots[self.token], clock)
        for chat in chats:
            self._world.open_dm(chat)
        self._spec = None if spec is None else load_spec(spec)
        self._problems: list[str] = []
        self._gateway = Gateway(self._bots, self._ready, self._guilds,
                                self._changed, self._notify)
        self._sockets = SocketServer(self._gateway.serve)
        self._sockets_run = False

    def up(self) -> None:
        super().up()
        self._world.cdn = self.url
        if not self._sockets_run:
            self._sockets.start(self.host)
            self._sockets_run = True

    def down(self) -> None:
        if self._sockets_run:
            self._sockets_run = False
            self._sockets.stop()
        super().down()

    @property
    def api_url(self) -> str:
        return self.url + _API

    @property
    def gateway_url(self) -> str:
        return self._sockets.url

    @property
    def connections(self) -> int:
        return super().connections + len(self._sockets.connections)

    # what people do

    def post(self, text: str, chat: str = "1001", user: str | None = None,
             name: str = "alice", **fields: Any) -> str:
        """A person writes; the message's id. `fields` are further ones of
        the message."""
        with self._changed:
            room = self._room(chat)
            author = self._world.person(
                user or (chat if room.type == DM else "1001"), name)
            message = self._world.add(room, author, {
                "content": text, **fields})
            if room.guild_id is not None:
                message.update(guild_id=room.guild_id, member={
                    "roles": [], "deaf": False, "mute": False, "flags": 0,
                    "joined_at": message["timestamp"]})
            self.dispatch("MESSAGE_CREATE", message)
            return str(message["id"])

    def edit(self, message_id: str, text: str, chat: str = "1001") -> None:
        """A person edits what he wrote."""
        with self._changed:
            message = self._world.message(chat, message_id)
            message.update(content=text, edited_timestamp=time.strftime(
                "%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()))
            self.dispatch("MESSAGE_UPDATE", dict(message))

    def press(self, message_id: str, custom_id: str, chat: str = "1001",
              user: str = "1001", name: str = "alice") -> str:
        """A person presses a button; the interaction's key."""
        with self._changed:
            message = self._world.message(chat, message_id)
            return self._interact(chat, user, name, 3, {
                "custom_id": custom_id, "component_type": 2}, message=message)

    def command(self, command: str, chat: str = "1001", user: str = "1001",
                **options: str) -> str:
        """A person gives a slash command; the interaction's key."""
        with self._changed:
            return self._interact(chat, user, "alice", 2, {
                "id": "1", "type": 1, "name": command, "options": [
                    {"name": name, "type": 3, "value": value}
                    for name, value in options.items()]})

    def add_bot(self, number: str, name: str) -> str:
        """Another bot; its token. Messages of the first one alone are
        `messages`."""
        first = base64.b64encode(number.encode()).decode().rstrip("=")
        token = f"{first}.{self.secret}"
        self._bots[token] = {
            "id": number, "username": name, "discriminator": "0",
            "avatar": None, "bot": True, "global_name": None}
        return token

    def add_guild(self, guild_id: str = "900", name: str = "home") -> None:
        with self._changed:
            self._world.guilds[guild_id] = name

    def add_channel(self, chat: str, guild_id: str = "900",
                    parent_id: str | None = None) -> None:
        """A channel of a server, a thread where it has a parent."""
        with self._changed:
            self._world.guilds.setdefault(guild_id, "home")
            room = self._world.rooms[chat] = Room(
                chat, PUBLIC_THREAD if parent_id else TEXT, guild_id,
                f"room-{chat}", parent_id)
            self.dispatch("THREAD_CREATE" if parent_id else "CHANNEL_CREATE",
                          room.shown())

    def add_file(self, content: bytes, name: str, chat: str = "1001",
                 **fields: Any) -> Json:
        """A file on the CDN; an attachment to post with."""
        with self._changed:
            return world_file(self._world, chat, content, name, **fields)

    def dispatch(self, kind: str, data: Json) -> None:
        """Any event, to everybody who is connected or may resume."""
        with self._changed:
            self._gateway.dispatch(kind, json.loads(json.dumps(data)),
                                   self._sockets.call_soon)
            self._changed.notify_all()

    # what the bot did

    def messages(self, chat: str | None = None) -> list[Sent]:
        """The bot's messages as they stand, deleted ones too."""
        with self._changed:
            return [sent for sent in self._world.sent.values()
                    if chat in (None, sent.channel_id)]

    def answers(self, chat: str | None = None) -> list[str]:
        return [sent.text for sent in self.messages(chat)
                if not sent.deleted]

    def list_calls(self, operation: str) -> list[Call]:
        return [c for c in list(self.calls) if c.operation == operation]

    def reactions(self, message_id: str) -> list[str]:
        with self._changed:
            return list(self._world.reactions.get(message_id, ()))

    def response(self, key: str) -> Json | None:
        """How the bot answered an interaction."""
        with self._changed:
            return self._world.interactions[key]

    @property
    def world(self) -> World:
        """Everything; for tests that look closer."""
        return self._world

    @property
    def behaviour(self) -> Behaviour:
        return self._gateway.behaviour

    @property
    def sessions(self) -> list[Session]:
        with self._changed:
            return list(self._gateway.sessions.values())

    @property
    def frames(self) -> list[Json]:
        """What clients sent to the gateway."""
        with self._changed:
            return list(self._gateway.frames)

    @property
    def closes(self) -> list[int | None]:
        """The close codes of connections that ended."""
        with self._changed:
            return list(self._gateway.closes)

    @property
    def problems(self) -> list[str]:
        return (self._problems + self._server.errors
                + self._sockets.errors)

    # what goes wrong (and `fault`, `behaviour`)

    def forget_sessions(self) -> None:
        with self._changed:
            self._gateway.sessions.clear()

    def say(self, op: int, data: Any = None) -> None:
        """A control frame for every connection: 1, 7, 9."""
        self._sockets.run(self._gateway.say(
            {"op": op, "d": data, "s": None, "t": None}))

    def close(self, code: int) -> None:
        """Close every connection with a code."""
        self._sockets.run(self._gateway.close(code))

    def cut(self) -> None:
        """Cut every connection without a goodbye."""
        self._sockets.kill_connections()

    # the server's side

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _room(self, chat: str) -> Room:
        return self._world.rooms.get(chat) or self._world.open_dm(chat)

    def _interact(self, chat: str, user: str, name: str, kind: int,
                  data: Json, **more: Any) -> str:
        room = self._room(chat)
        person = self._world.person(user, name)
        number = self._world.draw_id()
        key = f"{number}/token-of-{number}"
        self._world.interactions[key] = None
        who: Json = {"user": person} if room.guild_id is None else {
            "guild_id": room.guild_id, "member": {
                "user": person, "roles": [], "permissions": "0"}}
        self.dispatch("INTERACTION_CREATE", {
            "id": number, "token": f"token-of-{number}", "type": kind,
            "application_id": BOT_ID, "version": 1, "channel_id": chat,
            "channel": {"id": chat, "type": room.type}, "data": data,
            "entitlements": [], **who, **more})
        return key

    def _ready(self, session_id: str, me: Json) -> Json:
        return {"v": 10, "user": me, "session_id": session_id,
                "resume_gateway_url": self._sockets.url, "shard": [0, 1],
                "session_type": "normal", "private_channels": [],
                "application": {"id": me["id"], "flags": 1 << 19},
                "guilds": [{"id": number, "unavailable": True}
                           for number in self._world.guilds]}

    def _guilds(self) -> list[Json]:
        return [json.loads(json.dumps(self._world.shown_guild(number)))
                for number in self._world.guilds]

    def _handle(self, request: Request) -> Answer:
        if request.path in self._world.files:
            return Reply(body=self._world.files[request.path],
                         content_type="application/octet-stream")
        path = request.path.removeprefix(_API)
        me = self._bots.get(request.headers.get(
            "authorization", "").removeprefix("Bot "))
        if me is None and not path.startswith("/interactions/"):
            return _refuse(ApiError(401, 0, "401: Unauthorized"))
        try:
            call = read_call(request, path, me or {})
        except ApiError as error:
            return _refuse(error)
        self._record(call)
        fault = self._faults.take(call.operation)

        async def do() -> Reply:
            return self._do(call)
        if fault is None and not self.latency_s:
            return self._do(call)
        return self._slowly(do, fault, _refusal)

    def _record(self, call: Call) -> None:
        with self._changed:
            self.calls.append(call)
            self._changed.notify_all()
        if self._spec is not None:
            self._problems += check(self._spec, call.operation, call.query,
                                    call.body)

    def _do(self, call: Call) -> Reply:
        with self._changed:
            headers, wait_s = self._count(call)
            try:
                if wait_s is not None:
                    raise ApiError(429, 0, "You are being rate limited.",
                                   retry_after=wait_s, **{"global": False})
                result = self._perform(call)
            except ApiError as error:
                return _refuse(error, headers)
            finally:
                self._changed.notify_all()
        if result is None:
            return Reply(204, content_type="text/html", headers=headers)
        return Reply(body=json.dumps(result).encode(), headers=headers)

    def _perform(self, call: Call) -> Any:
        if call.operation in ("get_gateway", "get_bot_gateway"):
            return {"url": self._sockets.url, "shards": 1,
                    "session_start_limit": {
                        "total": 1000, "reset_after": 3_600_000,
                        "remaining": self.behaviour.starts_left,
                        "max_concurrency": 1}}
        last = self._world.last_id
        result = OPERATIONS[call.operation](self._world, call)
        if call.operation == "create_message" \
                and int(result["id"]) > last:
            self.dispatch("MESSAGE_CREATE", result)
        elif call.operation == "update_message":
            self.dispatch("MESSAGE_UPDATE", result)
        return result

    def _count(self, call: Call
               ) -> tuple[tuple[tuple[str, str], ...], float | None]:
        """The headers of the channel's limit, and how long a call that is
        over it has to wait."""
        if self.limit is None or call.operation != "create_message":
            return (), None
        most, window_s = self.limit
        chat, now = call.path["chat"], time.monotonic()
        began, count = self._windows.get(chat, (now, 0))
        if now - began >= window_s:
            began, count = now, 0
        left_s = began + window_s - now
        over = count >= most
        self._windows[chat] = began, count + (not over)
        return (("X-RateLimit-Limit", str(most)),
                ("X-RateLimit-Remaining", str(max(0, most - count - 1))),
                ("X-RateLimit-Reset-After", f"{left_s:.3f}"),
                ("X-RateLimit-Bucket", "bucket-of-messages")), (
                    left_s if over else None)

    def _state(self) -> str:
        return (f"{len(self.calls)} calls, the last "
                f"{[c.operation for c in self.calls[-8:]]}; frames "
                f"{[f.get('op') for f in self.frames[-8:]]}; closes "
                f"{self.closes[-5:]}; answers "
                f"{[a[:60] for a in self.answers()[-5:]]}; problems "
                f"{self.problems[:5]}")


def _refuse(error: ApiError, headers: tuple[tuple[str, str], ...] = ()
            ) -> Reply:
    return Reply(error.status, json.dumps(error.body).encode(),
                 headers=headers)


def _refusal(fault: Fault) -> Reply:
    if fault.kind == "429":
        return _refuse(ApiError(429, 0, "You are being rate limited.",
                                retry_after=float(fault.retry_after),
                                **{"global": bool(fault.parameters)}))
    names = {500: "500: Internal Server Error", 401: "401: Unauthorized",
             403: "Missing Permissions", 404: "404: Not Found"}
    return _refuse(ApiError(
        fault.status, 50013 if fault.status == 403 else 0,
        fault.description or names.get(fault.status, "Bad Request")))


__all__ = ["BOT_ID", "FakeDiscord"]
