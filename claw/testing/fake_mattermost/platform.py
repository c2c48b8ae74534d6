"""The fake server: for the bot a Mattermost, for the test its controls,
which may be called from any thread."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from websockets.http11 import Request as Handshake

from claw.testing.fake_mattermost.front import Front
from claw.testing.fake_mattermost.hub import Hub
from claw.testing.fake_mattermost.rest import Call, answer, name_call
from claw.testing.fake_mattermost.world import (
    ApiError,
    Json,
    World,
    is_previewed,
)
from claw.testing.fake_server import FakeServer
from claw.testing.fake_sockets import SocketServer
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request

TOKEN = "mmtoken0fake0bot0secret000"


class FakeMattermost(FakeServer):
    """The server, inside a `with` block. The bot is a member of `channel`
    (of a team) and of each person's direct messages. Faults are keyed by
    call: "POST posts", "GET users/me/channels"."""

    def __init__(self, token: str = TOKEN, username: str = "claw",
                 *, port: int = 0, latency_s: float = 0.0) -> None:
        super().__init__(port=0, latency_s=latency_s)
        self.token = token
        self.world = World("bot".ljust(26, "0"))
        self.world.add_user(username, self.world.me, is_bot=True)
        self.alice = self.world.add_user("alice")
        self.channel = self.world.add_channel("O", {self.me, self.alice},
                                              "town-square")
        self.tokens = {token: self.me}
        self.hub = Hub(self.tokens)
        self.calls: list[tuple[str, Any]] = []
        self.refuses_sockets: int | None = None
        self._waiting: list[Callable[[], object]] = []
        self._sockets = SocketServer(lambda s: self.hub.serve(s),
                                     refuse=self._refuse)
        self._front = Front(self._pick)
        self._front.port = port

    # -- running

    def up(self) -> None:
        if not self._running:
            super().up()
            known = self.hub.caught_up
            self.hub = Hub(self.tokens)  # it forgets its connections
            self.hub.caught_up = known
            self._sockets.start()
            self._sockets.run(self._front.start(self.host))
            self._sockets.call_soon(self._release)

    def down(self) -> None:
        if self._running:
            self._sockets.run(self._front.stop())
            self._sockets.stop()
            super().down()

    @property
    def port(self) -> int:
        return self._front.port

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def connections(self) -> int:
        return len(self._front.connections)

    def kill_connections(self) -> int:
        async def kill() -> int:
            return self._front.reset_all()
        return self._sockets.run(kill())

    @property
    def me(self) -> str:
        return self.world.me

    # -- what people do

    def person(self, username: str, user_id: str | None = None) -> str:
        with self._changed:
            return self.world.add_user(username, user_id)

    def direct(self, user_id: str) -> str:
        """The channel of direct messages with the bot."""
        with self._changed:
            return self.world.direct(user_id, self.me)

    def room(self, kind: str = "O", *users: str) -> str:
        """A channel with the bot and these."""
        with self._changed:
            return self.world.add_channel(kind, {
                self.me, *(users or (self.alice,))}, "room")

    def post(self, message: str, *, channel: str | None = None,
             user: str | None = None, **fields: Any) -> str:
        """A person writes, alice to the bot where nothing else is said;
        the post's id. `fields` are further ones of the post."""
        author = user or self.alice
        with self._changed:
            target = channel or self.world.direct(author, self.me)
            self.world.members[target].add(author)
            post = self.world.create_post(
                author, {"channel_id": target, "message": message, **fields})
            self._tell()
            return str(post["id"])

    def edit(self, post_id: str, message: str) -> None:
        with self._changed:
            self.world.edit_post(post_id, message)
            self._tell()

    def pin(self, post_id: str) -> None:
        with self._changed:
            post = self.world.require_post(post_id)
            post |= {"is_pinned": True, "update_at": self.world.now_ms()}
            self.world.events.append(("post_edited", post))
            self._tell()

    def delete(self, post_id: str) -> None:
        with self._changed:
            post = self.world.require_post(post_id)
            now = self.world.now_ms()
            post |= {"delete_at": now, "update_at": now}
            self.world.events.append(("post_deleted", post))
            self._tell()

    def rename(self, user_id: str, username: str) -> None:
        with self._changed:
            self.world.users[user_id]["username"] = username

    def add_file(self, name: str, content: bytes, mime_type: str = "") -> str:
        with self._changed:
            return self.world.add_file(
                name, content, mime_type or "application/octet-stream")

    def event(self, name: str, data: Json) -> None:
        """Any event, to the bot."""
        self._sockets.call_soon(lambda: self.hub.publish(
            name, data, "", {self.me}))

    def write_when_heard(self, work: Callable[[], object]) -> None:
        """Do it once the bot listens and has read what was there: what is
        older than its first start it does not answer."""
        with self._changed:
            if self.hub.caught_up and not self._waiting:
                work()
                return
            self._waiting.append(work)
            if len(self._waiting) == 1:
                self._sockets.call_soon(self._release)

    # -- what the bot did

    def messages(self, channel: str | None = None) -> list[Json]:
        """The bot's posts as they stand, in order."""
        with self._changed:
            return [dict(p) for p in self.world.posts.values()
                    if p["user_id"] == self.me and not p["delete_at"]
                    and channel in (None, p["channel_id"])]

    def answers(self, channel: str | None = None) -> list[str]:
        return [post["message"] for post in self.messages(channel)]

    def files_of(self, post: Json) -> list[bytes]:
        with self._changed:
            return [self.world.files[f][1] for f in post["file_ids"]]

    def list_calls(self, name: str) -> list[Any]:
        return [body for called, body in list(self.calls) if called == name]

    def previews(self) -> int:
        return sum(map(is_previewed, self.messages()))

    @property
    def problems(self) -> list[str]:
        """Faults of the fake."""
        return self._server.errors + self._sockets.errors

    # -- the server's side

    def _pick(self, head: bytes) -> int:
        return (self._sockets.port if b"upgrade: websocket" in head.lower()
                else self._server.port)

    def _refuse(self, handshake: Handshake) -> int | None:
        return self.refuses_sockets

    def _release(self) -> None:
        """On the sockets' loop: write what waits, once it would be read."""
        with self._changed:
            if self.hub.caught_up:
                waiting, self._waiting = self._waiting, []
                for work in waiting:
                    work()
        if self._waiting and self._running:
            asyncio.get_running_loop().call_later(0.01, self._release)

    def _tell(self) -> None:
        """Send the events of what has changed."""
        events, self.world.events = self.world.events, []
        for name, post in events:
            channel = self.world.channels[post["channel_id"]]
            users = set(self.world.members[post["channel_id"]])
            author = self.world.users[post["user_id"]]["username"]
            data: Json = {"post": json.dumps(post)}
            if name == "posted":
                data |= {"channel_type": channel["type"],
                         "channel_name": channel["name"],
                         "channel_display_name": channel["display_name"],
                         "sender_name": f"@{author}", "set_online": True,
                         "team_id": channel["team_id"]}
            self._sockets.call_soon(partial(
                self.hub.publish, name, data, post["channel_id"], users))
        self._changed.notify_all()

    def _handle(self, request: Request) -> Answer:
        if not request.path.startswith("/api/v4/"):
            return Reply(404, b"404 page not found", "text/plain")
        name = name_call(request)
        with self._changed:
            try:
                body = json.loads(request.body) if request.body else None
            except ValueError:
                body = request.body
            self.calls.append((name, body))
            self._changed.notify_all()
        fault = self._faults.take(name)
        if fault is None and not self.latency_s:
            return self._do(request)

        async def do() -> Reply:
            return self._do(request)
        return self._slowly(do, fault, _refusal)

    def _do(self, request: Request) -> Reply:
        token = request.headers.get("authorization", "").removeprefix(
            "Bearer ").removeprefix("BEARER ")
        user = self.tokens.get(token)
        with self._changed:
            try:
                if user is None:
                    raise ApiError(
                        401, "api.context.session_expired.app_error",
                        "Invalid or expired session, please login again.")
                return answer(Call(self.world, user, request))
            except ApiError as error:
                return Reply(error.status, json.dumps(error.body).encode())
            finally:
                self._tell()

    def _state(self) -> str:
        return (f"{len(self.calls)} calls, the last "
                f"{[name for name, _ in self.calls[-8:]]}; answers "
                f"{[a[:60] for a in self.answers()[-5:]]}; problems "
                f"{self.problems[:5]}")


def _refusal(fault: Fault) -> Reply:
    if fault.kind == "429":
        return Reply(429, b"limit exceeded\n", "text/plain", headers=(
            ("X-RateLimit-Limit", "11"), ("X-RateLimit-Remaining", "0"),
            ("X-RateLimit-Reset", str(fault.retry_after))))
    error = ApiError(fault.status, fault.description or "app.fake.error",
                     fault.description or "the fake refuses")
    return Reply(fault.status, json.dumps(error.body).encode())


