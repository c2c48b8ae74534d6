"""The fake homeserver: the client-server API for one bot, controls for the
test. The controls may be called from any thread."""

import asyncio
import json
import time
from typing import Any
from urllib.parse import parse_qsl, unquote

from claw.testing.fake_matrix.keys import Keys
from claw.testing.fake_matrix.world import (
    MAX_EVENT_BYTES,
    Json,
    MatrixError,
    Room,
    World,
)
from claw.testing.fake_server import FakeServer
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request

BOT, ALICE, ROOM = "@bot:fake", "@alice:fake", "!room:fake"
DEVICE = "FAKEDEVICE"
TOKEN = "syt_canary_of_the_fake_homeserver"
_LOOK_S = 0.005
_MOST_TIMELINE = 100


class FakeMatrix(FakeServer):
    """The homeserver, running inside a `with` block; alice and the bot are
    in ROOM. `sends` are (room, event) of the bot in order, `calls` what was
    asked for. `wedged`: every sync hangs. `first_place`: where a first
    sync stands (None: now)."""

    def __init__(self, token: str = TOKEN, *, port: int = 0,
                 latency_s: float = 0.0) -> None:
        super().__init__(port=port, latency_s=latency_s)
        self.token = token
        self.calls: list[tuple[str, str]] = []
        self.syncs = 0
        self.since = 0  # what the bot has confirmed
        self.wedged = False
        self.public: set[str] = set()  # rooms that anybody may join
        self.first_place: int | None = None
        self.typing: dict[str, bool] = {}
        self.receipts: dict[str, str] = {}
        self.keys: dict[tuple[str, str], tuple[float, str]] = {}
        self.key_holds_s = 3600.0
        self.old_media = False
        self.problems_seen: list[str] = []
        self.world = World()
        self.room_keys = Keys()
        self.add_room(ROOM, ALICE)

    # -- what people do

    def add_room(self, room_id: str, *users: str, bot: bool = True) -> None:
        """A room with these people in it, the first its maker."""
        with self._changed:
            room = self.world.make_room(room_id, users[0])
            for user in (*users[1:], *([BOT] if bot else [])):
                self.world.enter(room, user, "join")

    def invite(self, room_id: str, inviter: str = ALICE, *,
               direct: bool = False) -> None:
        """Somebody invites the bot to a room that he makes."""
        with self._changed:
            room = self.world.rooms.get(room_id) \
                or self.world.make_room(room_id, inviter)
            self.world.enter(room, BOT, "invite", inviter,
                             **({"is_direct": True} if direct else {}))

    def encrypt(self, room_id: str = ROOM) -> None:
        """From now on a room is encrypted."""
        with self._changed:
            self.world.add(self.world.room(room_id), "m.room.encryption",
                           ALICE, {"algorithm": "m.megolm.v1.aes-sha2"}, "")

    def tell_devices(self, sender: str, kind: str, body: Json) -> None:
        """Somebody's device writes to others, as sendToDevice has it."""
        with self._changed:
            self.world.at += 1
            self.room_keys.send(sender, kind, body, self.world.at)

    def upload_keys(self, user: str, device: str, body: Json) -> Json:
        """Somebody's device uploads its keys."""
        with self._changed:
            self.world.at += 1
            return self.room_keys.upload(user, device, body, self.world.at)

    def add_alias(self, alias: str, room_id: str) -> None:
        self.world.aliases[alias] = room_id

    def post(self, body: str | None, room_id: str = ROOM,
             sender: str = ALICE, kind: str = "m.room.message",
             **content: Any) -> str:
        """Somebody writes; the event's id. `content` takes the place of
        fields of the message."""
        with self._changed:
            room = self.world.room(room_id)
            if room.membership(sender) != "join":
                self.world.enter(room, sender, "join")
            said = {} if body is None else {"msgtype": "m.text",
                                            "body": body}
            return str(self.world.add(room, kind, sender,
                                      {**said, **content})["event_id"])

    def post_raw(self, event: Any, room_id: str = ROOM) -> None:
        """Anything at all in a timeline."""
        with self._changed:
            self.world.at += 1
            self.world.room(room_id).events.append((self.world.at, event))

    def rename(self, user: str, name: str, room_id: str = ROOM) -> None:
        with self._changed:
            self.world.enter(self.world.room(room_id), user, "join",
                             displayname=name)

    def add_file(self, data: bytes) -> str:
        """A file on the server; its mxc:// address."""
        with self._changed:
            number = f"file{self.world.number()}"
            self.world.media[f"fake/{number}"] = data
            return f"mxc://fake/{number}"

    def forget_keys(self) -> None:
        """As after the time that keys are kept."""
        self.keys.clear()

    def restart(self) -> None:
        """As a server does that is started anew: everybody is hung up
        on."""
        self.down()
        self.up()

    # -- what the bot did

    def sends(self, room_id: str | None = None) -> list[tuple[str, Json]]:
        """(room, event) of the bot's events, in order."""
        with self._changed:
            found = [(at, room.room_id, event)
                     for room in self.world.rooms.values()
                     for at, event in room.events
                     if isinstance(event, dict)
                     and event.get("sender") == BOT
                     and "state_key" not in event
                     and room_id in (None, room.room_id)]
        return [(room, event) for _, room, event in sorted(
            found, key=lambda one: one[0])]

    def messages(self, room_id: str | None = None) -> list[Json]:
        """The contents of the bot's messages, without edits and what was
        redacted."""
        return [event["content"] for _, event in self.sends(room_id)
                if event["type"] == "m.room.message" and event["content"]
                and event["content"].get("m.relates_to", {}).get(
                    "rel_type") != "m.replace"]

    def answers(self, room_id: str | None = None) -> list[str]:
        """What people read, drafts excluded."""
        return [content["body"] for content in self.messages(room_id)
                if content["msgtype"] != "m.notice"]

    def reactions(self, event_id: str) -> list[str]:
        """The bot's reactions to an event, as they stand."""
        related = [event["content"].get("m.relates_to", {})
                   for _, event in self.sends()
                   if event["type"] == "m.reaction"]
        return [relation["key"] for relation in related
                if relation.get("event_id") == event_id]

    def file(self, address: str) -> bytes:
        with self._changed:
            return self.world.media[address.removeprefix("mxc://")]

    @property
    def problems(self) -> list[str]:
        """What the bot did that no server takes, and faults of the fake."""
        return self.problems_seen + self._server.errors

    def list_calls(self, name: str) -> list[str]:
        return [path for _, path in self.calls if name in path]

    # -- the wire

    def _state(self) -> str:
        return f"{self.syncs} syncs, {len(self.sends())} sent"

    def _handle(self, request: Request) -> Answer:
        path, _, query = request.target.partition("?")
        segments = [unquote(part) for part in path.split("/")[1:]]
        name = _name(request.method, segments)
        self.calls.append((request.method, request.path))
        return self._slowly(
            lambda: self._answer(request, segments,
                                 dict(parse_qsl(query))),
            self._faults.take(name), _refuse)

    async def _answer(self, request: Request, segments: list[str],
                      query: dict[str, str]) -> Reply:
        try:
            if segments[:2] == [".well-known", "matrix"]:
                raise MatrixError(404, "M_NOT_FOUND")
            if segments[:3] == ["_matrix", "client", "versions"]:
                return _reply({"versions": ["v1.11", "v1.16"]})
            if request.headers.get("authorization") != f"Bearer {self.token}":
                raise MatrixError(401, "M_UNKNOWN_TOKEN", "Unknown token",
                                  soft_logout=False)
            if "download" in segments:
                return self._download(segments)
            if segments[1] == "media":
                with self._changed:
                    number = f"file{self.world.number()}"
                    self.world.media[f"fake/{number}"] = request.body
                return _reply({"content_uri": f"mxc://fake/{number}"})
            if segments[3] == "sync":
                return await self._sync(query)
            body = json.loads(request.body) if request.body else {}
            with self._changed:
                found = self._call(request.method, segments[3:], query, body)
                self._changed.notify_all()
            return _reply(found)
        except MatrixError as error:
            return _reply(error.body, error.status)

    def _download(self, segments: list[str]) -> Reply:
        if self.old_media == (segments[1] == "client"):
            raise MatrixError(404, "M_UNRECOGNIZED", "Unrecognized request")
        found = self.world.media.get("/".join(segments[-2:]))
        if found is None:
            raise MatrixError(404, "M_NOT_FOUND", "Not found")
        return Reply(200, found, "application/octet-stream")

    async def _sync(self, query: dict[str, str]) -> Reply:
        self.syncs += 1
        since = _place(query["since"]) if "since" in query else None
        if since is not None:
            self.since = max(self.since, since)
        only = json.loads(query.get("filter", "{}"))
        deadline = time.monotonic() + int(query.get("timeout", 0)) / 1000
        while True:
            with self._changed:
                at = self.world.at
                if since is None and self.first_place is not None:
                    at = self.first_place
                found = self._news(since, only) if at != since else {}
                keys = self.room_keys.news(BOT, DEVICE, since or 0)
            if not self.wedged and (
                    found or since is None or keys["to_device"]["events"]
                    or time.monotonic() >= deadline):
                return _reply({"next_batch": f"s{at}", "rooms": found,
                               **keys})
            await asyncio.sleep(_LOOK_S)

    def _news(self, since: int | None, only: Json) -> Json:
        timeline = only.get("room", {}).get("timeline", {})
        limit = min(timeline.get("limit", 10), _MOST_TIMELINE)
        kinds = timeline.get("types")
        found: Json = {}
        for room in self.world.rooms.values():
            if since is not None and room.events[-1][0] <= since:
                continue
            membership = room.membership(BOT)
            own = next((at for at, event in reversed(room.events)
                        if isinstance(event, dict)
                        and event.get("state_key") == BOT), 0)
            if membership == "invite" and own > (since or 0):
                found.setdefault("invite", {})[room.room_id] = {
                    "invite_state": {"events": [
                        room.state["m.room.member", BOT]]}}
            elif membership == "join":
                found.setdefault("join", {})[room.room_id] = self._joined(
                    room, since, own, kinds, limit)
            elif membership == "leave" and own > (since or 0):
                found.setdefault("leave", {})[room.room_id] = {}
        return found

    def _joined(self, room: Room, since: int | None, own: int,
                kinds: list[str] | None, limit: int) -> Json:
        is_new = since is None or (own > since and _came(room, own))
        part = self.world.timeline(room, 0 if is_new else since or 0,
                                   kinds, limit)
        state = [event for (kind, _), event in room.state.items()
                 if kind in ("m.room.create", "m.room.encryption")
                 or event.get("state_key") == BOT] if is_new else []
        return {"timeline": part, "state": {"events": state}, "summary": {
            "m.joined_member_count": len(room.users()),
            "m.invited_member_count": len(room.users("invite"))}}

    def _call(self, method: str, path: list[str], query: dict[str, str],
              body: Json) -> Json:
        if path == ["account", "whoami"]:
            return {"user_id": BOT, "device_id": DEVICE}
        if path[0] in ("keys", "sendToDevice"):
            return self._key_call(path, body)
        if path == ["joined_rooms"]:
            return {"joined_rooms": [
                room.room_id for room in self.world.rooms.values()
                if room.membership(BOT) == "join"]}
        if path[:2] == ["directory", "room"]:
            if path[2] not in self.world.aliases:
                raise MatrixError(404, "M_NOT_FOUND", "Room alias not found")
            return {"room_id": self.world.aliases[path[2]], "servers": []}
        if path[0] == "join":
            return self._room_call(method, self.world.room(path[1]),
                                   ["join"], query, body)
        if path == ["createRoom"]:
            room = self.world.make_room(f"!made{self.world.number()}", BOT)
            for user in body.get("invite", ()):
                self.world.enter(room, user, "invite", BOT)
            return {"room_id": room.room_id}
        if path[0] == "user" and path[2] == "account_data":
            if method == "PUT":
                self.world.account_data[path[1], path[3]] = body
                return {}
            if (path[1], path[3]) not in self.world.account_data:
                raise MatrixError(404, "M_NOT_FOUND")
            return self.world.account_data[path[1], path[3]]
        if path[0] == "rooms":
            return self._room_call(method, self.world.room(path[1]),
                                   path[2:], query, body)
        raise MatrixError(404, "M_UNRECOGNIZED", "Unrecognized request")

    def _key_call(self, path: list[str], body: Json) -> Json:
        self.world.at += 1
        if path[0] == "sendToDevice":
            return self.room_keys.send(BOT, path[1], body, self.world.at)
        if path[1] == "upload":
            return self.room_keys.upload(BOT, DEVICE, body, self.world.at)
        return (self.room_keys.query(body) if path[1] == "query"
                else self.room_keys.claim(body))

    def _room_call(self, method: str, room: Room, path: list[str],
                   query: dict[str, str], body: Json) -> Json:
        membership = room.membership(BOT)
        if path in (["join"], ["leave"]):
            if membership == "leave" and room.room_id not in self.public:
                raise MatrixError(403, "M_FORBIDDEN", "not invited")
            self.world.enter(room, BOT, path[0])
            return {"room_id": room.room_id}
        if membership != "join":
            raise MatrixError(403, "M_FORBIDDEN", "User not in room")
        if path[0] in ("send", "redact"):
            return self._send(room, path, body)
        if path[0] == "messages":
            start = _place(query["from"]) if "from" in query \
                else self.world.at
            end = _place(query["to"]) if "to" in query else 0
            return self.world.page(room, start, end, int(query["limit"]),
                                   json.loads(query.get("filter", "{}")))
        if path[0] == "event":
            return room.find(path[1])
        if path[0] == "state":
            if (path[1], path[2]) not in room.state:
                raise MatrixError(404, "M_NOT_FOUND", "Event not found.")
            found: Json = room.state[path[1], path[2]]["content"]
            return found
        if path[0] == "members":
            return {"chunk": [event for (kind, _), event
                              in room.state.items()
                              if kind == "m.room.member"]}
        if path[0] == "joined_members":
            return {"joined": {user: {"display_name": room.state[
                "m.room.member", user]["content"].get("displayname")}
                for user in room.users()}}
        if path[0] == "relations":
            return {"chunk": [event for _, event in room.events
                              if event.get("type") == path[3]
                              and event["content"].get(
                                  "m.relates_to", {}).get("event_id")
                              == path[1]]}
        if path[0] == "typing":
            self.typing[room.room_id] = body["typing"]
            return {}
        if path[0] == "receipt":
            room.find(path[2])
            self.receipts[room.room_id] = path[2]
            return {}
        raise MatrixError(404, "M_UNRECOGNIZED", "Unrecognized request")

    def _send(self, room: Room, path: list[str], body: Json) -> Json:
        """An event under a key: the same key again gives the same event,
        as long as keys are kept."""
        key = room.room_id, path[2]
        now = time.monotonic()
        if key in self.keys and now - self.keys[key][0] < self.key_holds_s:
            return {"event_id": self.keys[key][1]}
        if len(json.dumps(body, ensure_ascii=False).encode()) \
                > MAX_EVENT_BYTES - 2_000:
            self.problems_seen.append("an event over 64 KiB")
            raise MatrixError(413, "M_TOO_LARGE", "event too large")
        if path[0] == "redact":
            event = self.world.redact(room, path[1], BOT)
        else:
            self._check(room, path[1], body)
            event = self.world.add(room, path[1], BOT, body)
        event["unsigned"]["transaction_id"] = path[2]
        self.keys[key] = now, event["event_id"]
        return {"event_id": event["event_id"]}

    def _check(self, room: Room, kind: str, body: Json) -> None:
        """What a server or a client would not take."""
        relation = body.get("m.relates_to", {})
        if kind == "m.room.message" and (
                not isinstance(body.get("body"), str)
                or not isinstance(body.get("msgtype"), str)):
            self.problems_seen.append("a message without body or msgtype")
        if "event_id" in relation:
            room.find(relation["event_id"])
        if kind == "m.reaction" and any(
                event["type"] == kind and event["sender"] == BOT
                and event["content"].get("m.relates_to") == relation
                for _, event in room.events if isinstance(event, dict)):
            raise MatrixError(400, "M_DUPLICATE_ANNOTATION", "already")


def _came(room: Room, own: int) -> bool:
    event = next(event for at, event in room.events if at == own)
    before = event["unsigned"].get("prev_content", {})
    return bool(event["content"]["membership"] == "join"
                and before.get("membership") != "join")


def _place(token: str) -> int:
    if not token.startswith("s") or not token[1:].isdigit():
        raise MatrixError(400, "M_UNKNOWN", "Invalid stream token")
    return int(token[1:])


def _name(method: str, segments: list[str]) -> str:
    """What a fault names: sync, send, whoami ..."""
    if "download" in segments:
        return "download"
    if len(segments) > 5 and segments[3] == "rooms":
        return segments[5]
    if len(segments) > 4 and segments[3] == "join":
        return "join"
    return segments[-1]


def _reply(body: Json, status: int = 200) -> Reply:
    return Reply(status, json.dumps(body).encode())


def _refuse(fault: Fault) -> Reply:
    body: Json = {"errcode": "M_UNKNOWN", "error": fault.description
                  or "it goes wrong", **(fault.parameters or {})}
    if fault.kind == "429":
        body |= {"errcode": "M_LIMIT_EXCEEDED",
                 "retry_after_ms": fault.retry_after * 1000}
    return _reply(body, fault.status)


