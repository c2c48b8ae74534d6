"""Reading a room's past: pages of /messages, the newest event first."""

import json
from collections.abc import Sequence
from typing import Any

from claw.channels.matrix.api import MatrixApi
from claw.channels.matrix.events import Event, items, read_event, table, text
from claw.core.log import Log

PAGE = 100
MOST_PAGES = 10  # of a gap: a thousand events of one room


class History:
    """The past of the rooms of one account."""

    def __init__(self, api: MatrixApi, log: Log) -> None:
        self._api = api
        self._log = log

    async def page(self, room_id: str, token: str | None, *,
                   kinds: Sequence[str], senders: Sequence[str] = (),
                   until: str | None = None
                   ) -> tuple[list[Any], str | None]:
        """Events before a token (None: the newest), the newest first, and
        the token of the page before; None where nothing is left."""
        only: dict[str, Any] = {"types": list(kinds),
                                "lazy_load_members": True}
        if senders:
            only["senders"] = list(senders)
        body = await self._api.call(
            "GET", "rooms", room_id, "messages", room=room_id, query={
                "dir": "b", "limit": PAGE, "from": token, "to": until,
                "filter": json.dumps(only, separators=(",", ":"))})
        end = body.get("end")
        more = isinstance(end, str) and end not in (token, until)
        return items(body, "chunk"), end if more else None

    async def fill(self, room_id: str, before: str, since: str | None, *,
                   kinds: Sequence[str], user: str | None = None
                   ) -> list[Any]:
        """What a sync has left out, oldest first: the events between
        `since` and `before`, at most a thousand. With `user` down to the
        event that let him in."""
        found: list[Any] = []
        token: str | None = before
        for _ in range(MOST_PAGES):
            page, token = await self.page(room_id, token, kinds=kinds,
                                          until=since)
            for raw in page:
                found.append(raw)
                if user is not None and is_entry(raw, user):
                    return found[::-1]
            if token is None:
                return found[::-1]
        self._log("gap_too_large", room=room_id, events=len(found),
                  hint="older messages of this room were not read")
        return found[::-1]


def is_entry(raw: Any, user: str) -> bool:
    """Whether an event let a user in: his invitation, or his coming where
    he was not invited."""
    try:
        event = read_event(raw)
    except ValueError:
        return False
    return is_membership(event, user, "invite") or (
        is_coming(event, user) and read_before(event) != "invite")


def is_coming(event: Event, user: str) -> bool:
    """Whether a user joined with it; a new name is a join, too."""
    return is_membership(event, user, "join") \
        and read_before(event) != "join"


def after_entry(raws: list[Any], user: str) -> list[Any]:
    """What was said since a user was let in; without a sign of that all
    of it."""
    entries = [at for at, raw in enumerate(raws) if is_entry(raw, user)]
    return raws[entries[-1] + 1:] if entries else raws


def is_membership(event: Event, user: str, membership: str) -> bool:
    return (event.type == "m.room.member" and event.state_key == user
            and event.content.get("membership") == membership)


def read_before(event: Event) -> str:
    """The membership before a member event; "" where it is not told."""
    unsigned = event.unsigned if isinstance(event.unsigned, dict) else {}
    return text(table(unsigned, "prev_content"), "membership")
