"""An answer that grows in the chat: one message, edited as text comes.

Pieces that come while an edit is under way are joined into the next one, so
a slow platform drops edits in between and never the last. A channel may leave
out an edit that comes too soon after another; what still stands after a
moment is offered once more, so that a long tool call does not hide behind
it.
"""

import asyncio
from collections.abc import Callable

from claw.agent.background import cancel_all, wait_within
from claw.agent.events import (
    Event,
    RoundDiscarded,
    RoundStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from claw.core.channel import Channel, ChannelMessage
from claw.core.errors import describe
from claw.core.log import Log
from claw.runtime.turn.reactions import render_call

REASON_CHARS = 200
# No channel shows more of a draft; cleaning a long answer anew for each of
# its words would keep the whole service busy.
SHOWN_CHARS = 8_000
PACE_S = 0.1  # a model writes a hundred words a second, nobody reads them
OFFER_AGAIN_S = (1.0, 4.0)


class Draft:
    """The draft of one turn; `message_id` is the platform's, `clean` makes
    of a text so far what may be shown."""

    def __init__(self, channel: Channel, message: ChannelMessage,
                 message_id: str, log: Log,
                 clean: Callable[[str], str] = str) -> None:
        self.message_id = message_id
        self._channel = channel
        self._message = message
        self._log = log
        self._clean = clean
        self._lines: list[str] = []
        self._text = ""
        self._changed = asyncio.Event()
        self._task = asyncio.ensure_future(self._run())

    def feed(self, event: Event) -> None:
        """What the turn does, as the draft shows it."""
        if isinstance(event, TextDelta):
            self._text += event.text
        elif isinstance(event, RoundDiscarded):
            self._text = ""
        elif isinstance(event, RoundStarted):
            number = f" (round {event.number})" if event.number > 1 else ""
            self._lines.append(f"🤔 Thinking{number}...")
        elif isinstance(event, ToolStarted):
            self._lines.append(render_call(event.name, event.arguments))
        elif isinstance(event, ToolFinished):
            self._lines.append(_render_finished(event))
        else:
            return
        self._changed.set()

    @property
    def text(self) -> str:
        """The answer as far as it is there, else what goes on."""
        text = self._clean(self._text[:SHOWN_CHARS])
        if not text.strip():
            text = self._clean("".join(f"{line}\n" for line in self._lines))
        return text.rstrip("\n")

    async def close(self) -> None:
        """No more updates."""
        await cancel_all([self._task])

    async def cancel(self) -> None:
        """Take it out of the chat."""
        await self.close()
        try:
            await self._channel.cancel_draft(self._message.reply_target,
                                             self.message_id)
        except Exception as error:  # a stray draft harms nobody
            self._log("draft.error", channel=self._channel.name,
                      error=describe(error))

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._offer()
            await asyncio.sleep(PACE_S)
            for wait_s in OFFER_AGAIN_S:
                if await wait_within(self._changed, wait_s):
                    break
                await self._offer()

    async def _offer(self) -> None:
        try:
            await self._channel.update_draft(
                self._message.reply_target, self.message_id, self.text)
        except Exception as error:  # the answer itself comes later
            self._log("draft.error", channel=self._channel.name,
                      error=describe(error))
            await asyncio.sleep(1)


def _render_finished(event: ToolFinished) -> str:
    if event.success:
        return f"✅ {event.name} ({event.seconds:.0f}s)"
    reason = " ".join(event.output.split())[:REASON_CHARS]
    return f"❌ {event.name} ({event.seconds:.0f}s): {reason}"
