"""Rooms, their events and the counter that orders them. No network."""

import time
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
MAX_EVENT_BYTES = 65_536


class MatrixError(Exception):
    """A refusal: HTTP status, errcode and words."""

    def __init__(self, status: int, errcode: str, error: str = "no",
                 **more: Any) -> None:
        super().__init__(error)
        self.status = status
        self.body = {"errcode": errcode, "error": error, **more}


@dataclass
class Room:
    """Events with their place in the stream, and the state by key."""

    room_id: str
    events: list[tuple[int, Json]] = field(default_factory=list)
    state: dict[tuple[str, str], Json] = field(default_factory=dict)

    def membership(self, user: str) -> str:
        event = self.state.get(("m.room.member", user))
        return str(event["content"].get("membership")) if event else "leave"

    def users(self, membership: str = "join") -> list[str]:
        return [user for (kind, user), event in self.state.items()
                if kind == "m.room.member"
                and event["content"].get("membership") == membership]

    def find(self, event_id: str) -> Json:
        for _, event in self.events:
            if isinstance(event, dict) and event.get("event_id") == event_id:
                return event
        raise MatrixError(404, "M_NOT_FOUND", "Event not found.")


class World:
    """All rooms of the server."""

    def __init__(self) -> None:
        self.rooms: dict[str, Room] = {}
        self.aliases: dict[str, str] = {}
        self.media: dict[str, bytes] = {}
        self.account_data: dict[tuple[str, str], Json] = {}
        self.at = 0  # the stream
        self._ids = 0

    def number(self) -> int:
        self._ids += 1
        return self._ids

    def room(self, room_id: str) -> Room:
        if room_id not in self.rooms:
            raise MatrixError(404, "M_NOT_FOUND", "Unknown room")
        return self.rooms[room_id]

    def make_room(self, room_id: str, creator: str) -> Room:
        room = self.rooms[room_id] = Room(room_id)
        self.add(room, "m.room.create", creator, {"room_version": "12"}, "")
        self.enter(room, creator, "join")
        return room

    def enter(self, room: Room, user: str, membership: str,
              sender: str | None = None, **content: Any) -> Json:
        """Change who is in a room."""
        before = room.state.get(("m.room.member", user))
        name = before["content"].get("displayname") if before else None
        event = self.add(room, "m.room.member", sender or user, {
            "membership": membership, "displayname": name or
            user[1:].partition(":")[0].capitalize(), **content}, user)
        if before is not None:
            event["unsigned"]["prev_content"] = before["content"]
        return event

    def add(self, room: Room, kind: str, sender: str, content: Json,
            state_key: str | None = None, **more: Any) -> Json:
        self.at += 1
        event: Json = {
            "type": kind, "sender": sender, "content": deepcopy(content),
            "event_id": f"$event{self.number()}",
            "origin_server_ts": int(time.time() * 1000), "unsigned": {},
            **more}
        if state_key is not None:
            event["state_key"] = state_key
            room.state[kind, state_key] = event
        room.events.append((self.at, event))
        return event

    def redact(self, room: Room, event_id: str, sender: str) -> Json:
        target = room.find(event_id)
        event = self.add(room, "m.room.redaction", sender,
                         {"redacts": event_id}, redacts=event_id)
        target["content"] = {}
        target["unsigned"]["redacted_because"] = event["event_id"]
        return event

    # -- what a client reads

    def timeline(self, room: Room, since: int, kinds: list[str] | None,
                 limit: int) -> Json:
        """The newest events after a place, and whether some are missing."""
        found = [(at, event) for at, event in room.events if at > since
                 and (kinds is None or _kind(event) in (*kinds, ""))]
        kept = found[max(0, len(found) - limit):] if limit else []
        before = kept[0][0] - 1 if kept else self.at
        return {"events": [event for _, event in kept],
                "limited": len(kept) < len(found), "prev_batch": f"s{before}"}

    def page(self, room: Room, start: int, end: int, limit: int,
             only: Json) -> Json:
        """Events down from a place to another, the newest first."""
        found = [(at, event) for at, event in room.events
                 if end < at <= start and (
                     "types" not in only
                     or _kind(event) in (*only["types"], ""))
                 and ("senders" not in only
                      or event.get("sender") in only["senders"])][::-1]
        body: Json = {"start": f"s{start}",
                      "chunk": [event for _, event in found[:limit]]}
        if len(found) > limit:
            body["end"] = f"s{found[limit - 1][0] - 1}"
        return body


def _kind(event: Any) -> str:
    """The type of an event; "" for what is none."""
    kind = event.get("type") if isinstance(event, dict) else None
    return kind if isinstance(kind, str) else ""
