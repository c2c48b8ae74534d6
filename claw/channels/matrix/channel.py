"""MatrixChannel: the contract of core/channel.py over one homeserver.

What the platform is stands here; the parts that speak to it load when a
channel is made, since the settings of a file cost no HTTP client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.matrix.settings import SETUP, MatrixSettings
from claw.channels.sending import PartChannel
from claw.core.abilities import Doubt, Finding
from claw.core.channel import (
    Capabilities,
    ChannelDeps,
    Inbox,
    Part,
    SendMessage,
)

if TYPE_CHECKING:
    import httpx

_HEALTH_S = 5.0
# Synapse keeps the keys of a device for 24 hours, across restarts; others
# (Dendrite, Conduit) for half an hour or more. Past it history is read.
KEY_HOLDS_S = 20 * 60.0


class MatrixChannel(PartChannel):
    """One account. Nothing is asked of the network before the first
    call. Two listeners with one token would take each other's room keys,
    so one polls for it at a time."""

    name = "matrix"
    Settings = MatrixSettings
    setup = SETUP
    capabilities = Capabilities(edit=True, list_back=True,
                                key_holds_s=KEY_HOLDS_S,
                                several_connections=False)
    first_setting = "access_token"
    example_recipient = "!room:example.org"
    extra_for = "encrypted rooms"
    guidance = """## Writing for Matrix

- **bold**, *italic*, `code`, fenced code, quotes and links are shown as \
such; for a heading write a bold line, never #.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:path], [DOCUMENT:path], [VIDEO:path], [AUDIO:path] or [VOICE:path].
- Do not describe your tool calls. Give the result."""

    def __init__(self, settings: MatrixSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 sync_s: float = 30.0) -> None:
        from claw.channels.matrix.api import MatrixApi, Me
        from claw.channels.matrix.drafts import Drafts
        from claw.channels.matrix.encryption import Encryption
        from claw.channels.matrix.history import History
        from claw.channels.matrix.intake import Intake
        from claw.channels.matrix.outgoing import Sender
        from claw.channels.matrix.rooms import Rooms
        from claw.channels.matrix.sent import Finder
        from claw.channels.matrix.signs import Signs
        from claw.channels.matrix.sync import Syncer
        self.settings = settings
        self._api = MatrixApi(
            settings.homeserver, settings.access_token, log=deps.log,
            sync_s=sync_s, me=Me(settings.user_id, settings.device_id)
            if settings.user_id else None, proxy_url=settings.proxy_url,
            transport=transport, sleep=sleep, clock=clock)
        self._rooms = Rooms(self._api, deps.marks, deps.log,
                            settings.room_id)
        self._encryption = Encryption(
            self._api, self._rooms, deps.workspace / "state" / "matrix",
            deps.marks, deps.log)
        self._sender = Sender(self._api, self._rooms, self._encryption, deps,
                              settings.room_id)
        self._drafts = Drafts(self._api, self._sender, self._rooms, clock)
        self._signs = Signs(self._api, self._rooms)
        self._intake = Intake(settings, deps, self._api, self._rooms,
                              self._encryption, self._sender, clock=clock)
        history = History(self._api, deps.log)
        self._finder = Finder(self._api, self._rooms, history)
        self._syncer = Syncer(self._api, self._intake, self._rooms,
                              self._encryption, history, deps.marks,
                              deps.log, settings.rooms)

    @property
    def poll_time_s(self) -> float:
        return self._api.sync_s

    @property
    def account(self) -> str:
        return f"matrix:{self._api.account}"

    async def aclose(self) -> None:
        self._encryption.close()
        await self._api.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        await self._syncer.run(inbox)

    def mark_repeated(self, part: Part, note: str) -> Part:
        from claw.channels.matrix.parts import mark
        return mark(part, note)

    async def catch_up(self) -> None:
        """History tells without it."""

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        return await self._finder.find(doubt)

    # -- drafts, typing and reactions

    def supports_draft_updates(self) -> bool:
        return self.settings.stream_mode == "partial"

    def preview_id(self, recipient: str, message_id: str) -> str | None:
        """A draft is an event, whose id the server gives."""
        return None

    async def send_draft(self, message: SendMessage) -> str | None:
        return await self._drafts.send(message)

    async def update_draft(self, recipient: str, message_id: str,
                           text: str) -> None:
        await self._drafts.update(recipient, message_id, text)

    async def finalize_draft(self, recipient: str, message_id: str,
                             text: str) -> None:
        await self._drafts.finalize(recipient, message_id, text)

    async def cancel_draft(self, recipient: str, message_id: str) -> None:
        await self._drafts.cancel(recipient, message_id)

    async def start_typing(self, recipient: str) -> None:
        await self._signs.type(recipient, on=True)

    async def stop_typing(self, recipient: str) -> None:
        await self._signs.type(recipient, on=False)

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        await self._signs.react(channel_id, message_id, emoji)

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        await self._signs.remove_reaction(channel_id, message_id, emoji)

    # -- health

    async def health_check(self) -> bool:
        return await works(self._api.me(timeout_s=_HEALTH_S, fresh=True))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.matrix.diagnose import diagnose
        return await diagnose(self._api, self._rooms, self.settings.rooms,
                              self._intake.door.allowed,
                              self.settings.proxy_url)
