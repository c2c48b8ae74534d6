"""TelegramChannel: the contract of core/channel.py over the Bot API."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from claw.channels.telegram.api import BotApi
from claw.channels.telegram.diagnose import diagnose
from claw.channels.telegram.intake import Intake
from claw.channels.telegram.outgoing import Sender, number_of
from claw.channels.telegram.parts import PartMaker, recipient_of
from claw.channels.telegram.poll import Poller
from claw.channels.telegram.reactions import allowed_emoji
from claw.channels.telegram.settings import TelegramSettings
from claw.channels.telegram.updates import parse_id
from claw.core.channel import (
    Channel,
    ChannelDeps,
    Finding,
    Inbox,
    Part,
    SendMessage,
)
from claw.core.errors import (
    ClawError,
    NotFoundError,
    RequestRefusedError,
)
from claw.net.lean import httpx

TEXT_UNITS = 4096
_HEALTH_S = 5.0
_DRAFTS = 1000


class TelegramChannel(Channel):
    """One bot. Parts, edits, polling, closing and diagnosis included;
    nothing is asked of the network before the first call."""

    Settings = TelegramSettings
    reactions_replace = True  # a bot has one reaction to a message

    def __init__(self, settings: TelegramSettings, deps: ChannelDeps, *,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._deps = deps
        self._clock = clock
        self._real_network = transport is None
        self._api = BotApi(
            settings.bot_token, settings.api_base_url,
            poll_s=settings.poll_timeout_secs, log=deps.log,
            proxy_url=settings.proxy_url, transport=transport, sleep=sleep,
            clock=clock)
        self._maker = PartMaker(deps)
        self._sender = Sender(self._api, self._maker)
        self._intake = Intake(settings, deps, self._api, clock=clock)
        self._poller = Poller(self._api, self._intake, log=deps.log,
                              sleep=sleep)
        # Of each chat: when its draft was edited, its id and text.
        self._drafts: dict[str, tuple[float, str, str]] = {}

    @property
    def name(self) -> str:
        return "telegram"

    @property
    def poll_time_s(self) -> float:
        return float(self.settings.poll_timeout_secs)

    @property
    def account(self) -> str:
        return f"telegram:{self._api.account}"

    async def aclose(self) -> None:
        await self._api.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        await self._poller.run(inbox)

    def parts(self, message: SendMessage) -> list[Part]:
        return self._maker.parts(message)

    async def send_part(self, message: SendMessage, part: Part
                        ) -> str | None:
        return await self._sender.part(message, part)

    async def send(self, message: SendMessage) -> None:
        for part in self.parts(message):
            await self._sender.part(message, part)

    async def send_placeholder(self, message: SendMessage) -> str:
        return await self._sender.placeholder(message)

    async def edit_part(self, message: SendMessage, message_id: str,
                        part: Part) -> None:
        await self._sender.edit(message.recipient, message_id, part)

    # -- drafts

    def supports_draft_updates(self) -> bool:
        return self.settings.stream_mode == "partial"

    async def send_draft(self, message: SendMessage) -> str | None:
        """The first edit waits for its interval, too: an answer that
        comes at once needs none."""
        message_id = await self._sender.placeholder(message)
        self._note_draft(message.recipient, message_id, "")
        return message_id

    async def update_draft(self, recipient: str, message_id: str,
                           text: str) -> None:
        """Show a growing text, as far as one message holds it. At most one
        edit per interval and chat, none while the gate is closed; the next
        one, or the end, brings what was left out."""
        shown = _cut(text)
        chat, _ = recipient_of(recipient)
        now = self._clock()
        interval = self.settings.draft_update_interval_ms / 1000
        last, *before = self._drafts.get(recipient, (float("-inf"), "", ""))
        if not shown.strip() or before == [message_id, shown] \
                or now - last < interval:
            return
        self._note_draft(recipient, message_id, shown)
        error = await self._api.cosmetic("editMessageText", {
            "chat_id": chat, "message_id": number_of(message_id),
            "text": shown, "link_preview_options": {"is_disabled": True}})
        if error is not None:  # not shown: it may be offered again
            self._note_draft(recipient, message_id, "")

    def _note_draft(self, recipient: str, message_id: str, text: str
                    ) -> None:
        if len(self._drafts) >= _DRAFTS:
            self._drafts.clear()
        self._drafts[recipient] = (self._clock(), message_id, text)

    async def finalize_draft(self, recipient: str, message_id: str,
                             text: str) -> None:
        """The answer in the place of its draft, more of it after that; a
        draft that can't be edited goes, so that nothing stands twice."""
        message = SendMessage(text, recipient)
        parts = self.parts(message)
        if not parts or parts[0].kind != "text":
            await self.cancel_draft(recipient, message_id)
        else:
            try:
                await self.edit_part(message, message_id, parts[0])
                parts = parts[1:]
            except (NotFoundError, RequestRefusedError) as error:
                self._deps.log("draft_not_edited", message_id=message_id,
                               error=error.message)
                await self.cancel_draft(recipient, message_id)
        for part in parts:
            await self._sender.part(message, part)

    async def cancel_draft(self, recipient: str, message_id: str) -> None:
        await self._sender.delete(recipient, message_id)

    # -- signs

    async def start_typing(self, recipient: str) -> None:
        try:
            chat, thread = recipient_of(recipient)
        except RequestRefusedError:
            return  # no chat: nobody to show a sign to
        params = {"chat_id": chat, "action": "typing"}
        if thread is not None:
            params["message_thread_id"] = thread
        await self._api.cosmetic("sendChatAction", params)

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        """React to a message of ours (`telegram_<chat>_<id>`); any other
        id has nothing to react to. Where a chat does not allow this one,
        the one before does not stay either."""
        usable = allowed_emoji(emoji)
        if usable is None:
            return
        error = await self._react(message_id, [
            {"type": "emoji", "emoji": usable}])
        if error is not None and "reaction_invalid" in \
                error.message.lower():
            await self._react(message_id, [])

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        if allowed_emoji(emoji) is not None:
            await self._react(message_id, [])

    async def _react(self, own_id: str, reaction: list[dict[str, str]]
                     ) -> ClawError | None:
        found = parse_id(own_id)
        if found is None:
            return None
        return await self._api.cosmetic("setMessageReaction", {
            "chat_id": found[0], "message_id": found[1],
            "reaction": reaction})

    # -- health

    async def health_check(self) -> bool:
        try:
            await self._api.me(timeout_s=_HEALTH_S, fresh=True)
        except ClawError:
            return False
        return True

    async def diagnose(self) -> list[Finding]:
        return await diagnose(
            self._api, self._intake.allowed, conflict=self._poller.conflict,
            direct=self._real_network and not self.settings.proxy_url)


def _cut(text: str) -> str:
    """At most 4,096 UTF-16 units, no character halved."""
    units = text.encode("utf-16-le", "surrogatepass")[:TEXT_UNITS * 2]
    return units.decode("utf-16-le", "ignore")
