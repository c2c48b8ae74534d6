"""Sending: parts as events, and the events of drafts.

PUT rooms/<id>/send/<type>/<txn>: a server shows one key once, so a part
whose fate is unknown goes out again as it is.
"""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

from claw.channels.matrix.api import FILE_BYTES, MatrixApi
from claw.channels.matrix.encryption import Encryption
from claw.channels.matrix.events import ENCRYPTED, MESSAGE
from claw.channels.matrix.machine import lock_file
from claw.channels.matrix.parts import (
    guess_type,
    in_thread,
    make_content,
    make_edit,
    make_file_content,
    make_parts,
)
from claw.channels.matrix.rooms import Rooms, parse_recipient
from claw.channels.outfiles import OutFiles, OutsideError, mark_received
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import (
    DeniedError,
    NotFoundError,
    RequestRefusedError,
    StorageError,
    UnavailableError,
)
from claw.core.files import safe_name
from claw.net.http import tell_leaving


class Sender:
    """The sending half of one account."""

    def __init__(self, api: MatrixApi, rooms: Rooms, encryption: Encryption,
                 deps: ChannelDeps, default: str) -> None:
        self._api = api
        self._rooms = rooms
        self._encryption = encryption
        self._files = OutFiles(deps, partial(mark_received, "matrix"))
        self._default = default

    def parts(self, message: SendMessage) -> list[Part]:
        try:
            chat = parse_recipient(message.recipient, self._default)
        except RequestRefusedError:  # who sends it is told
            chat = message.recipient
        return make_parts(message, self._files, chat)

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] | None = None) -> str:
        """Deliver one part; its event id. `leaving` is called before the
        first byte of the call that shows it."""
        room_id = await self._rooms.resolve(message.recipient)
        content = (make_content(part.data) if part.kind == "text"
                   else await self._file(room_id, part))
        return await self.say(room_id, in_thread(content, message.thread_ts),
                              str(part.data["txn"]), leaving)

    async def say(self, room_id: str, content: dict[str, Any], txn: str,
                  leaving: Callable[[], None] | None = None) -> str:
        """Send a message's content under a key; the event's id."""
        kind = MESSAGE
        if await self._rooms.is_encrypted(room_id):
            content = await self._encryption.encrypt(room_id, kind, content)
            kind = ENCRYPTED
        with tell_leaving(leaving) if leaving else nullcontext():
            return await self.put(room_id, kind, content, txn)

    async def put(self, room_id: str, kind: str, content: dict[str, Any],
                  txn: str) -> str:
        """Send an event under a key; its id."""
        body = await self._api.call("PUT", "rooms", room_id, "send", kind,
                                    txn, body=content, room=room_id)
        event_id = body.get("event_id")
        if not isinstance(event_id, str) or not event_id.startswith("$"):
            raise UnavailableError("Matrix took an event without telling "
                                   "its id")
        return event_id

    async def edit(self, room_id: str, event_id: str,
                   content: dict[str, Any], txn: str) -> None:
        """Put other words in the place of a message of ours."""
        await self.say(room_id, make_edit(event_id, content), txn)

    async def redact(self, room_id: str, event_id: str, txn: str) -> None:
        """Take an event of ours away; one that is gone is no fault."""
        if not event_id.startswith("$"):
            raise NotFoundError(f"no event of Matrix has the id {event_id!r}")
        await self._api.call("PUT", "rooms", room_id, "redact", event_id,
                             txn, room=room_id)

    async def _file(self, room_id: str, part: Part) -> dict[str, Any]:
        """The content of a file that the server has by then; what can't be
        sent is said in its place."""
        name = safe_name(str(part.data.get("name", "")), part.kind)
        try:
            data = await asyncio.to_thread(self._files.read,
                                           str(part.data["path"]), FILE_BYTES)
            content = make_file_content(part, len(data))
            if await self._rooms.is_encrypted(room_id):
                await self._encryption.open()
                data, keys = await asyncio.to_thread(lock_file, data)
                content["file"] = {**keys, "url": await self._api.upload(
                    data, "", "application/octet-stream")}
            else:
                content["url"] = await self._api.upload(data, name,
                                                        guess_type(name))
        except RequestRefusedError as error:
            return self._instead(part, error.message)
        except UnavailableError:
            raise
        except (DeniedError, StorageError, OutsideError, OSError) as error:
            return self._instead(part, str(error))
        return content

    def _instead(self, part: Part, why: str) -> dict[str, Any]:
        return make_content({
            "txn": part.data["txn"],
            "body": f"({part.text} can not be sent: {why})"})
