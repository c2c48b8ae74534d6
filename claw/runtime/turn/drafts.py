"""An answer that grows in the chat: what a turn does, then its text so far.

Pieces that come while an update is under way are joined into the next one,
so a slow platform drops updates in between and never the last. A channel may
leave out an update that comes too soon after another; what still stands after
a moment is offered once more, so that a long tool call does not hide behind
it. What goes by itself is shown again before it does.

Nothing of this holds the answer back. The draft is opened beside the turn,
and at its end only the call under way is waited for, for a moment: an update
that arrived after the answer would stand under it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from claw.agent.background import cancel_all, wait_within
from claw.agent.rounds.events import (
    Event,
    RoundDiscarded,
    RoundStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from claw.core.abilities import PreviewsAnswers
from claw.core.channel import Channel, ChannelMessage
from claw.core.errors import describe
from claw.core.log import Log
from claw.runtime.turn.reactions import render_call

REASON_CHARS = 200
# No channel shows more of a draft; cleaning a long answer anew for each of
# its words would keep the whole service busy.
SHOWN_CHARS = 8_000
BEGIN_AFTER_S = 0.15  # an answer that comes at once needs no draft
PACE_S = 0.1  # a model writes a hundred words a second, nobody reads them
OFFER_AGAIN_S = (1.0, 4.0)
SHOW_AGAIN_S = 20.0  # a preview is gone after 30
CLOSE_S = 1.0
FIRST = "..."


class Draft:
    """The draft of one turn; `begin` gives the platform's id of it (None:
    there is none), `clean` makes of a text so far what may be shown, after
    `cancel` nothing is. `at_once`: there may be one already."""

    def __init__(self, channel: Channel, message: ChannelMessage,
                 begin: Callable[[], Awaitable[str | None]], log: Log,
                 clean: Callable[[str], str] = str,
                 cancel: asyncio.Event | None = None, *,
                 at_once: bool = False) -> None:
        self._channel = channel
        self._message = message
        self._log = log
        self._clean = clean
        self._cancel = cancel or asyncio.Event()
        self._lines: list[str] = []
        self._text = ""
        self._changed = asyncio.Event()
        self._again = isinstance(channel, PreviewsAnswers)
        self._begin = begin
        self._begin_after_s = 0.0 if at_once else BEGIN_AFTER_S
        self._call: asyncio.Future[Any] | None = None
        self._begun = False
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
        return text.rstrip("\n") or FIRST

    def stop(self) -> None:
        """Begin no more updates."""
        self._task.cancel()

    async def close(self) -> None:
        """No more updates: the one under way has ended. A draft that is
        still being opened is left to whoever opens it."""
        await cancel_all([self._task])
        if self._call is not None:
            await asyncio.wait([self._call], timeout=CLOSE_S)
            if self._begun:
                await cancel_all([self._call])

    async def _run(self) -> None:
        await asyncio.sleep(self._begin_after_s)
        self._call = opening = asyncio.ensure_future(self._open())
        draft_id = await asyncio.shield(opening)
        if draft_id is None:
            return
        self._begun = True
        if self._again:  # a preview begins with its first update
            await self._offer(draft_id, FIRST)
        while True:
            await self._wait_for_change()
            await self._offer(draft_id)
            await asyncio.sleep(PACE_S)
            for wait_s in OFFER_AGAIN_S:
                if await wait_within(self._changed, wait_s):
                    break
                await self._offer(draft_id)

    async def _wait_for_change(self) -> None:
        if self._again:
            await wait_within(self._changed, SHOW_AGAIN_S)
        else:
            await self._changed.wait()
        self._changed.clear()

    async def _offer(self, draft_id: str, text: str = "") -> None:
        if self._cancel.is_set():
            return
        self._call = update = asyncio.ensure_future(
            self._update(draft_id, text))
        if not await asyncio.shield(update):
            await asyncio.sleep(1)

    # Both go on when this draft is closed, and neither raises: the answer
    # itself comes later.

    async def _open(self) -> str | None:
        try:
            return await self._begin()
        except Exception as error:
            self._note(error)
            return None

    async def _update(self, draft_id: str, text: str) -> bool:
        try:
            await self._channel.update_draft(
                self._message.reply_target, draft_id, text or self.text)
        except Exception as error:
            self._note(error)
            return False
        return True

    def _note(self, error: Exception) -> None:
        self._log("draft.error", channel=self._channel.name,
                  error=describe(error))


def _render_finished(event: ToolFinished) -> str:
    if event.success:
        return f"✅ {event.name} ({event.seconds:.0f}s)"
    reason = " ".join(event.output.split())[:REASON_CHARS]
    return f"❌ {event.name} ({event.seconds:.0f}s): {reason}"
