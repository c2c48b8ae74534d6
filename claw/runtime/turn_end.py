"""How a turn ends: answered, stopped or gone wrong, always as a Completion.

The dispatcher commits it in one transaction with the message, so that
nothing of it happens twice.
"""

import asyncio
from collections.abc import Sequence

from claw.agent.outcome import TurnResult
from claw.channels.markers import without_fetches
from claw.core.channel import Channel, SendMessage
from claw.core.errors import describe
from claw.core.hooks import Cancel
from claw.runtime import outcomes
from claw.runtime.budget import Budget
from claw.runtime.desk import Desk, Running, ShuttingDown
from claw.runtime.drafts import Draft
from claw.runtime.histories import appended, labels_of, lasting
from claw.runtime.keys import history_key, merged, room_of
from claw.runtime.live import Room
from claw.runtime.outcomes import Finished
from claw.runtime.parts import parts_of
from claw.runtime.signs import Signs
from claw.runtime.trace import Trace
from claw.storage.queue.model import Completion, HistoryOp, NewSend, Outcome


class TurnEnd:
    """What a turn knows, and its ends. The message is what the claim's rows
    say together."""

    def __init__(self, desk: Desk, running: Running) -> None:
        self._desk = desk
        self._running = running
        self._claim = running.claim
        self._live = desk.live()
        self._message = merged([row.message for row in running.claim.rows],
                               self._joint())
        self._key = history_key(self._message)
        self._room: Room | None = None
        self._signs: Signs | None = None
        self._draft: Draft | None = None
        self._in_history = False
        self._labels: set[str] = set()
        self._inherited: set[str] = set()
        self._started = desk.clock()
        self._budget = Budget(self._live.budget_s())
        self.trace = Trace.begun(running.claim, desk.now())

    def _joint(self) -> str:
        """Messages that interrupt each other are paragraphs, those of one
        burst are lines."""
        first = self._running.claim.rows[0].message
        room = self._live.rooms.get(room_of(first.channel))
        return "\n\n" if room and room.options.interrupt else "\n"

    def close(self) -> None:
        self._desk.approver.end(self._claim.turn_id)
        if self._signs is not None:
            self._signs.stop_typing()
            last = asyncio.ensure_future(self._signs.settled())
            self._desk.signs.add(last)
            last.add_done_callback(self._desk.signs.discard)

    async def _keep_in_history(self) -> None:
        """The person's words, before the model is asked: a turn that is
        cancelled keeps them."""
        self._inherited = labels_of(
            await self._desk.histories.get(self._key))
        await self._desk.histories.append(
            self._key, "user", self._message.content, self._message.labels)
        self._in_history = True
    # -- how it ends

    async def _completed(self, result: TurnResult) -> Finished:
        """Hook, sanitise, and the completion of an answer."""
        await self._close_work(well=True)
        self.trace.result(result)
        self._count(result)
        live, message = self._live, self._message
        text = outcomes.raw_answer(result)
        hooked = await live.hooks.on_message_sending(
            message.channel, message.reply_target, text)
        if isinstance(hooked, Cancel):
            if self._draft is not None:
                await self._draft.cancel()
            return self._finished("answered",
                                  f"reply suppressed: {hooked.reason}",
                                  history=self._user_op())
        text = outcomes.clean_answer(
            hooked[2], [tool.name for tool in live.agent.tools],
            live.secrets)
        if not text.strip():
            if self._draft is not None:
                await self._draft.cancel()
            return self._finished("answered", "reply emptied by a hook",
                                  history=self._user_op())
        if self._labels:  # whoever wrote it must not learn what is here
            text = without_fetches(text)
        kept = outcomes.kept_answer(text, result, message.channel)
        # What earlier turns had read is labelled there and goes when they
        # go; what this one has read lives on in its answer.
        read = self._labels - self._inherited
        await self._desk.histories.append(self._key, "assistant", kept,
                                          read)
        finished = self._finished(
            "answered", None, text=text, draft=True, result=result,
            history=(*self._user_op(), appended(
                "assistant", kept, self._claim.turn_id, read)))
        if self._draft is not None and not outcomes.has_text(finished):
            await self._draft.cancel()  # files take no draft's place
        return finished

    async def cancelled(self) -> Finished:
        """Stopped by the person: no reply, and the words stay."""
        await self._close_unless_shutdown()
        if self._draft is not None:
            await self._draft.cancel()
        if not self._in_history:
            await self._keep_in_history()
        return self._finished("cancelled", self._running.why or "stop",
                              history=self._user_op())

    async def went_wrong(self, error: Exception) -> Finished:
        """An error of the turn as an answer."""
        await self._close_unless_shutdown()
        desk = self._desk
        timed_out = isinstance(error, TimeoutError)
        fate = outcomes.fate_of(error, timed_out=timed_out)
        desk.log("turn.failed", turn=self._claim.turn_id,
                 channel=self._message.channel, error=describe(error),
                 hint=getattr(error, "hint", None))
        turns = await desk.histories.get(self._key)
        if fate.kind == "overflow":
            fate = outcomes.compacted(turns)
        elif fate.kind == "vision" and self._in_history and turns:
            turns.pop()
        history: tuple[HistoryOp, ...] = ()
        if fate.kind != "vision" and self._in_history:
            history = self._user_op()
        if fate.kept is not None and self._in_history:
            await desk.histories.append(self._key, "assistant", fate.kept)
            history += (appended("assistant", fate.kept,
                                 self._claim.turn_id),)
        return self._finished("failed", outcomes.reason_of(error),
                              text=fate.reply,
                              history=history, draft=True)

    async def _close_unless_shutdown(self) -> None:
        """End the signs of a turn that did not end well. One that goes
        back to the queue goes on later: its signs stay."""
        if self._running.why != "shutdown":
            await self._close_work(well=False)
            return
        if self._draft is not None:
            await self._draft.close()
        raise ShuttingDown

    async def _close_work(self, *, well: bool) -> None:
        if self._draft is not None:
            await self._draft.close()
        if self.trace.tasks:
            await asyncio.gather(*self.trace.tasks, return_exceptions=True)
        if self._signs is not None:
            self._signs.finish(well=well)

    def _user_op(self) -> tuple[HistoryOp, ...]:
        return (appended("user", self._message.content,
                         self._claim.turn_id, self._message.labels),)

    def _count(self, result: TurnResult) -> None:
        used = self._desk.tokens.setdefault(self._key, [0, 0])
        outcomes.keep_newest(self._desk.tokens, self._key)
        used[0] += result.usage.input_tokens or 0
        used[1] += result.usage.output_tokens or 0

    def _finished(self, outcome: Outcome, reason: str | None, *,
                  text: str | None = None,
                  history: Sequence[HistoryOp] = (), draft: bool = False,
                  result: TurnResult | None = None) -> Finished:
        """The completion, with the reply as an outbox row."""
        sends: tuple[NewSend, ...] = ()
        if text is not None:
            source = f"turn:{self._claim.turn_id}"
            send = self._send(source, text)
            if not send.parts:  # nothing in it can be seen
                send = self._send(source, outcomes.EMPTY)
            if draft and self._draft is not None:
                send = outcomes.in_draft(send, self._draft.message_id)
            sends = (send,)
        self.trace.end(outcome, reason,
                       self._desk.clock() - self._started)
        self._desk.last[self._key] = self.trace
        outcomes.keep_newest(self._desk.last, self._key)
        completion = Completion(outcome, reason, tuple(history), sends,
                                self.trace.to_json())
        return Finished(completion, self._message, result, self._live,
                        foreign=bool(lasting(self._labels)))

    @property
    def _channel(self) -> Channel | None:
        room = self._room or self._live.rooms.get(
            room_of(self._message.channel))
        return room.channel if room is not None else None

    def _reply(self, text: str) -> SendMessage:
        return SendMessage(text, self._message.reply_target,
                           thread_ts=self._message.thread_ts)

    def _send(self, source: str, text: str) -> NewSend:
        message = self._reply(text)
        return NewSend(source, self._message.channel, message,
                       parts_of(self._channel, message))
