"""A channel without a platform: what is said and sent stays in memory.

    channel = MemoryChannel()
    channel.say("hello")             # a person writes
    channel.sent[0].text             # what people see of an answer

For tests of the runtime. Everything a channel may offer is recorded; a
callback before or after each call lets things go wrong.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from claw.core.abilities import Doubt, HearsReceives
from claw.core.channel import (
    Capabilities,
    Channel,
    ChannelMessage,
    Inbox,
    Part,
    SendMessage,
)

T = TypeVar("T")

# called as hook(method, *arguments); may raise, may be awaited
Hook: TypeAlias = Callable[..., Awaitable[Any] | None]


@dataclass
class Shown:
    """A message that people see. `history` is every text it has had."""

    message_id: str
    recipient: str
    text: str
    message: SendMessage
    edits: int = 0
    deleted: bool = False
    at: float = field(default_factory=time.monotonic)
    history: list[str] = field(default_factory=list)

    @property
    def thread_ts(self) -> str | None:
        return self.message.thread_ts

    def change(self, text: str) -> None:
        self.text = text
        self.edits += 1
        self.history.append(text)


class MemoryChannel(Channel):
    """Sends whole messages; with `finds` it also splits at `limit`
    characters (SendsParts) and knows what has arrived (FindsSent).

    `waiting` holds what was said and is not acknowledged: `listen` puts
    the oldest and forgets it when `put` has returned. `before` and
    `after` are called around each call: `before` may raise (nothing
    happened), `after` too (it happened, and looks as if it had not).
    """

    def __new__(cls, name: str = "memory", finds: bool = False,
                **_: Any) -> "MemoryChannel":
        return super().__new__(_FindingChannel if finds else cls)

    def __init__(self, name: str = "memory", finds: bool = False, *,
                 drafts: bool = False, limit: int = 4096) -> None:
        self._name = name
        self._drafts = drafts
        self._limit = limit
        self._count = 0
        self._news: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.waiting: list[ChannelMessage] = []
        self.sent: list[Shown] = []
        self.typing: list[tuple[str, str]] = []
        self.reactions: list[tuple[str, str, str, str]] = []
        self.listens = 0
        self.healthy = True
        self.ending = False
        self.before: Hook | None = None
        self.after: Hook | None = None

    @property
    def name(self) -> str:
        return self._name

    # what people do and see

    def say(self, text: str, sender: str = "alice",
            reply_target: str | None = None, id: str | None = None,
            thread_ts: str | None = None, kind: str = "message",
            **fields: Any) -> ChannelMessage:
        """A person writes; also from another thread. `fields` are further
        ones of ChannelMessage. Halves of characters are replaced, as every
        channel does."""
        self._count += 1
        text = text.encode("utf-16", "surrogatepass").decode(
            "utf-16", "replace")
        message = ChannelMessage(
            id or f"{self._name}_{self._count}", sender,
            reply_target or sender, text, self._name, int(time.time()),
            thread_ts=thread_ts, kind=kind, **fields)
        self.waiting.append(message)
        self._wake()
        return message

    def end(self) -> None:
        """Let `listen` return: a clean end."""
        self.ending = True
        self._wake()

    def texts(self, recipient: str | None = None) -> list[str]:
        """What is there to read."""
        return [s.text for s in self.sent if not s.deleted
                and recipient in (None, s.recipient)]

    async def until(self, predicate: Callable[[], T],
                    timeout_s: float = 20.0) -> T:
        """Wait until the predicate is true; what it gave."""
        deadline = time.monotonic() + timeout_s
        while not (found := predicate()):
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"not within {timeout_s} s: {len(self.waiting)} "
                    f"waiting, sent {self.texts()[-5:]}")
            await asyncio.sleep(0.002)
        return found

    # the contract

    async def listen(self, inbox: Inbox) -> None:
        self.listens += 1
        self._loop, self._news = asyncio.get_running_loop(), asyncio.Event()
        self.ending = False
        while not self.ending:
            await self._call(self.before, "listen")
            if not self.waiting:
                self._news.clear()
                await self._news.wait()
                continue
            message = self.waiting[0]
            await inbox.put(message)
            self.waiting.remove(message)
            if isinstance(inbox, HearsReceives):
                inbox.received()

    async def send(self, message: SendMessage) -> None:
        await self._show("send", message, message.content)

    async def health_check(self) -> bool:
        return self.healthy

    async def start_typing(self, recipient: str) -> None:
        await self._call(self.before, "start_typing", recipient)
        self.typing.append(("start", recipient))

    async def stop_typing(self, recipient: str) -> None:
        await self._call(self.before, "stop_typing", recipient)
        self.typing.append(("stop", recipient))

    def supports_draft_updates(self) -> bool:
        return self._drafts

    async def send_draft(self, message: SendMessage) -> str | None:
        return (await self._show("send_draft", message, message.content)
                if self._drafts else None)

    async def update_draft(self, recipient: str, message_id: str,
                           text: str) -> None:
        await self._change("update_draft", message_id, text)

    async def finalize_draft(self, recipient: str, message_id: str,
                             text: str) -> None:
        await self._change("finalize_draft", message_id, text)

    async def cancel_draft(self, recipient: str, message_id: str) -> None:
        await self._call(self.before, "cancel_draft", message_id)
        shown = self.find(message_id)
        if shown is not None:
            shown.deleted = True

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        await self._call(self.before, "add_reaction", message_id, emoji)
        self.reactions.append(("add", channel_id, message_id, emoji))

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        await self._call(self.before, "remove_reaction", message_id, emoji)
        self.reactions.append(("remove", channel_id, message_id, emoji))

    # the platform's side

    def find(self, message_id: str) -> Shown | None:
        """A message that was not deleted."""
        for shown in self.sent:
            if shown.message_id == message_id and not shown.deleted:
                return shown
        return None

    def _wake(self) -> None:
        if self._loop is not None and not self._loop.is_closed() \
                and self._news is not None:
            self._loop.call_soon_threadsafe(self._news.set)

    async def _show(self, method: str, message: SendMessage, text: str,
                    leaving: Callable[[], None] = lambda: None) -> str:
        await self._call(self.before, method, message, text)
        leaving()
        shown = Shown(f"m{len(self.sent) + 1}", message.recipient, text,
                      message, history=[text])
        self.sent.append(shown)
        await self._call(self.after, method, message, text)
        return shown.message_id

    async def _change(self, method: str, message_id: str,
                      text: str) -> None:
        await self._call(self.before, method, message_id, text)
        shown = self.find(message_id)
        if shown is not None:
            shown.change(text)
        await self._call(self.after, method, message_id, text)

    async def _call(self, hook: Hook | None, *arguments: Any) -> None:
        if hook is not None:
            waits = hook(*arguments)
            if waits is not None:
                await waits


class _FindingChannel(MemoryChannel):
    """One that sends parts and can be asked what arrived."""

    capabilities = Capabilities(list_back=True)

    def parts(self, message: SendMessage) -> list[Part]:
        text = message.content
        return ([] if not text.strip() else
                [Part("text", text[at:at + self._limit], {"at": at})
                 for at in range(0, len(text), self._limit)])

    async def send(self, message: SendMessage) -> None:
        for part in self.parts(message):
            await self.send_part(message, part)

    async def send_part(self, message: SendMessage,
                        part: Part) -> str | None:
        return await self._show("send_part", message, part.text)

    async def send_part_telling(self, message: SendMessage, part: Part,
                                leaving: Callable[[], None]) -> str | None:
        return await self._show("send_part", message, part.text, leaving)

    async def catch_up(self) -> None:
        return None

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        await self._call(self.before, "find_sent", doubt)
        owned = {place[1] for place in (*doubt.before, *doubt.owned)}
        return tuple(shown.message_id for shown in self.sent
                     if shown.recipient == doubt.message.recipient
                     and shown.message_id not in owned
                     and shown.text == doubt.part.text)
