"""What a person sees while the answer is made: typing, reactions.

Both are worth showing and not worth waiting for: they run beside the turn,
one after the other, and an error of one is logged and forgotten.
"""

import asyncio
from collections.abc import Awaitable, Callable

from claw.agent.rendering.cut import shorten
from claw.core.channel import Channel, ChannelMessage
from claw.core.errors import UnavailableError, describe
from claw.core.log import Log

TYPING_EVERY_S = 4.0
# Nobody sees what goes again at once: quick turns save the request.
TYPING_AFTER_S = 0.15
SEEN, DONE, WRONG = "👀", "✅", "⚠️"


class Reactions:
    """Typing and reactions of one turn."""

    def __init__(self, channel: Channel, message: ChannelMessage, log: Log,
                 *, acks: bool, every_s: float = TYPING_EVERY_S,
                 after_s: float = TYPING_AFTER_S) -> None:
        self._channel = channel
        self._message = message
        self._log = log
        self._acks = acks
        self._every_s = every_s
        self._after_s = after_s
        self._typing: asyncio.Task[None] | None = None
        self._last: asyncio.Task[None] | None = None
        self._shown: str | None = None  # by the agent

    async def show(self, emoji: str, *, add: bool) -> None:
        """A reaction of the agent's own: it stays when the turn ends well.
        Raises UnavailableError where the channel has none."""
        channel, target = self._channel, self._message.reply_target
        if type(channel).add_reaction is Channel.add_reaction:
            raise UnavailableError(
                f"the channel {channel.name} has no reactions")
        verb = channel.add_reaction if add else channel.remove_reaction
        self._shown = emoji if add else None
        self._then(lambda: verb(target, self._message.id, emoji))
        await self.wait_until_shown()

    def start(self) -> None:
        """👀 at once, typing where the answer takes a moment."""
        if self._acks:
            self._then(lambda: self._channel.add_reaction(
                self._message.reply_target, self._message.id, SEEN))
        self._typing = asyncio.ensure_future(self._type())

    def stop_typing(self) -> None:
        if self._typing is not None:
            self._typing.cancel()
            self._typing = None

    def finish(self, *, well: bool) -> None:
        """Typing ends; ✅ or ⚠️ in the place of 👀, and ✅ not
        beside what the agent has shown."""
        self.stop_typing()
        if not self._acks:
            return
        target, number = self._message.reply_target, self._message.id
        if not self._channel.reactions_replace:
            self._then(lambda: self._channel.remove_reaction(
                target, number, SEEN))
        if self._shown is None or not well:
            self._then(lambda: self._channel.add_reaction(
                target, number, DONE if well else WRONG))

    async def wait_until_shown(self) -> None:
        """Wait for what is under way."""
        await asyncio.sleep(0)  # typing that was told to end does so
        while self._last is not None and not self._last.done():
            await asyncio.gather(self._last, return_exceptions=True)

    async def _type(self) -> None:
        target = self._message.reply_target
        await asyncio.sleep(self._after_s)
        try:
            while True:
                await self._try(
                    lambda: self._channel.start_typing(target))
                await asyncio.sleep(self._every_s)
        finally:
            # A turn that ends is no reason to go on typing.
            self._then(lambda: self._channel.stop_typing(target))

    def _then(self, show: Callable[[], Awaitable[object]]) -> None:
        before = self._last

        async def show_next() -> None:
            if before is not None:
                await asyncio.gather(before, return_exceptions=True)
            await self._try(show)
        self._last = asyncio.ensure_future(show_next())

    async def _try(self, show: Callable[[], Awaitable[object]]) -> None:
        try:
            await show()
        except Exception as error:  # a reaction is never worth a turn
            self._log("sign.error", channel=self._channel.name,
                      id=self._message.id, error=describe(error))


def render_call(name: str, arguments: object) -> str:
    """The notice of a tool call: 🔧 `shell`: ls /home"""
    return f"🔧 `{name}`{_render_detail(arguments)}"


def _render_detail(arguments: object) -> str:
    if isinstance(arguments, dict):
        for key, limit in (("command", 200), ("query", 200), ("path", 0),
                           ("url", 0)):
            value = arguments.get(key)
            if isinstance(value, str) and value.strip():
                return ": " + (shorten(value, limit) if limit else value)
        if not arguments:
            return ""
    return f": {shorten(str(arguments), 120)}"
