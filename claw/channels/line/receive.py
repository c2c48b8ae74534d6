"""The events of a webhook: messages, pressed buttons, who comes and goes.

In a chat one after the other, as they came: a slow file holds up its own
chat alone. LINE hangs up after two seconds and may post again; what is
being fetched then is known by its id.
"""

import asyncio
from weakref import WeakValueDictionary

from claw.channels.line.intake import Intake
from claw.channels.line.outgoing import GONE
from claw.channels.line.replies import Replies
from claw.channels.line.wire import Event, Source, is_chat, read_events
from claw.channels.talks import Talks
from claw.core.abilities import Delivery, WebhookCall, WebhookRefused
from claw.core.channel import ChannelDeps, ChannelMessage

FILES_S = 20.0
_LEFT, _CAME = ("unfollow", "leave"), ("follow", "join")
# Events of the console's button "Verify" bear these.
_DUMMIES = ("0" * 32, "f" * 32)


class Receiver:
    """Reads webhooks for one account."""

    def __init__(self, intake: Intake, replies: Replies, talks: Talks,
                 deps: ChannelDeps) -> None:
        self._intake = intake
        self._replies = replies
        self._talks = talks
        self._marks = deps.marks
        self._log = deps.log
        self._turns: WeakValueDictionary[str, asyncio.Lock] = \
            WeakValueDictionary()

    async def read(self, call: WebhookCall) -> Delivery:
        """What a verified call brought. Raises WebhookRefused."""
        try:
            events, unread = read_events(call.body)
        except ValueError as error:
            raise WebhookRefused(400, str(error)) from error
        if unread:
            self._log("unreadable_ignored", count=unread)
        # Their time begins here, and a file's: the gateway gives a call
        # 30 s.
        deadline = asyncio.get_running_loop().time() + FILES_S
        for event in events:
            self._note_token(event)
        found = [await self._take(event, deadline) for event in events]
        return Delivery(tuple(m for m in found if m is not None), {})

    def _note_token(self, event: Event) -> None:
        """A second delivery's may have been used after the first."""
        token = event.reply_token
        if event.source and token and token not in _DUMMIES \
                and not event.is_redelivery:
            self._replies.note(event.source.chat, token)

    async def _take(self, event: Event, deadline: float
                    ) -> ChannelMessage | None:
        """None for what is not for us."""
        source = event.source
        if source is None or not is_chat(source.chat):
            return None
        if event.mode != "active":
            self._log("standby_ignored", chat=source.chat, hint="another "
                      "module has the chat at manager.line.biz")
            return None
        turn = self._turns.setdefault(source.chat, asyncio.Lock())
        async with turn:
            self._note_presence(event, source)
            if event.type == "unsend" and event.unsend is not None:
                self._talks.forget(event.unsend.message_id)
                self._log("unsent", chat=source.chat,
                          message=event.unsend.message_id)
            if event.type == "follow" and source.user_id \
                    and not self._intake.allows(source):
                await self._intake.answer_stranger(event, source, "")
            if event.type in ("message", "postback"):
                return await self._intake.read(event, source, deadline)
        return None

    def _note_presence(self, event: Event, source: Source) -> None:
        """Whether what is sent there reaches anybody."""
        mark = GONE + source.chat
        if event.type in (*_LEFT, *_CAME):
            self._log(event.type, chat=source.chat)
        if event.type in _LEFT:
            self._marks.set(mark, str(event.timestamp))
        elif event.type in (*_CAME, "message", "postback") \
                and (since := self._marks.get(mark)) \
                and event.timestamp > int(since):
            self._marks.set(mark, None)
