"""How a turn ends: answered, stopped or gone wrong, always as a Completion.

The dispatcher commits it in one transaction with the message, so that
nothing of it happens twice.
"""

import asyncio
from collections.abc import Sequence

from claw.agent.rounds.outcome import TurnResult
from claw.core.abilities import PreviewsAnswers
from claw.core.errors import describe
from claw.core.hooks import Cancel
from claw.core.refusal import write_remarks
from claw.core.value import replace
from claw.runtime.turn import outcomes
from claw.runtime.turn.desk import ShuttingDown
from claw.runtime.turn.outcomes import Finished
from claw.runtime.turn.state import TurnState
from claw.runtime.turn.strangers import withhold_files
from claw.security.redact.leaks import redact
from claw.storage.queue.model import Completion, HistoryOp, NewSend, Outcome
from claw.text.addresses import drop_controls


class Ending:
    """The ends that a turn can come to."""

    def __init__(self, state: TurnState) -> None:
        self._turn = state

    def close(self) -> None:
        """Ask no more and type no more; the last reaction is waited for by
        the desk."""
        turn = self._turn
        turn.desk.approver.end(turn.claim.turn_id)
        if turn.draft is not None:
            turn.draft.stop()
        if turn.reactions is not None:
            turn.reactions.stop_typing()
            turn.desk.follow(asyncio.ensure_future(
                turn.reactions.wait_until_shown()))

    async def answer(self, result: TurnResult) -> Finished:
        """Hook, sanitise, and the completion of an answer."""
        await self._stop_showing_work(well=True)
        turn, live, message = self._turn, self._turn.live, self._turn.message
        turn.trace.note_result(result)
        self._count(result)
        hooked = await live.hooks.on_message_sending(
            message.channel, message.reply_target,
            result.text if result.text.strip() else
            outcomes.add_remarks("", result.remarks).strip()
            or outcomes.EMPTY)
        if isinstance(hooked, Cancel):
            return self._suppress(f"reply suppressed: {hooked.reason}")
        text = outcomes.clean_answer(
            hooked[2], [*(tool.name for tool in live.agent.tools),
                        *(call.name for call in result.tool_calls)],
            live.secrets)
        if not text.strip():
            return self._suppress("reply emptied by a hook")
        if result.text.strip():
            text = outcomes.add_remarks(text, result.remarks)
        # What takes something out of a text may make marks of code of the
        # rest: what judges them comes last.
        text = turn.make_plain(redact(drop_controls(text), live.secrets))
        if turn.is_stranger:
            text = withhold_files(text)
        # The answer may repeat whatever stood before the model's eyes.
        kept = await turn.desk.histories.append(
            turn.key, "assistant",
            outcomes.kept_answer(
                text, result, live.channel(message.channel).channel),
            turn.labels, turn_id=turn.claim.turn_id)
        return self.finish("answered", None, text=text, draft=True,
                           result=result, history=(*turn.user_ops, kept))

    def _suppress(self, reason: str) -> Finished:
        """Answered, and nothing of it goes out."""
        return self.finish("answered", reason, history=self._turn.user_ops)

    async def cancel(self) -> Finished:
        """Stopped by the person: no reply, and the words stay."""
        await self._stop_unless_shutdown()
        turn = self._turn
        if not turn.user_ops:
            await turn.keep_in_history()
        return self.finish("cancelled", turn.running.why or "stop", history=(
            *turn.user_ops, *await turn.keep_interrupted()))

    async def fail(self, error: Exception) -> Finished:
        """An error of the turn as an answer."""
        await self._stop_unless_shutdown()
        turn, desk = self._turn, self._turn.desk
        desk.log("turn.failed", turn=turn.claim.turn_id,
                 channel=turn.message.channel, error=describe(error),
                 hint=getattr(error, "hint", None))
        fate = outcomes.judge_error(error)
        turns = await desk.histories.get(turn.key)
        history = tuple(turn.user_ops)
        if fate.kind == "overflow":
            fate = outcomes.compact_turns(turns)
        elif fate.kind == "vision":
            if history and turns:
                turns.pop()
            history = ()
        said = await turn.keep_interrupted() if history else ()
        history += tuple(said)
        if fate.kept is not None and history and not said:
            history += (await desk.histories.append(
                turn.key, "assistant", fate.kept,
                turn_id=turn.claim.turn_id),)
        return self.finish(
            "failed", outcomes.describe_scrubbed(error),
            text=outcomes.add_remarks(fate.reply,
                                      write_remarks(turn.trace.refused)),
            history=history, draft=True)

    async def _stop_unless_shutdown(self) -> None:
        """End what a turn shows that did not end well. One that goes back
        to the queue goes on later: its reactions stay."""
        if self._turn.running.why != "shutdown":
            await self._stop_showing_work(well=False)
            return
        if self._turn.draft is not None:
            await self._turn.draft.close()
        raise ShuttingDown

    async def _stop_showing_work(self, *, well: bool) -> None:
        turn = self._turn
        if turn.draft is not None:
            await turn.draft.close()
        if turn.trace.tasks:
            await asyncio.gather(*turn.trace.tasks, return_exceptions=True)
        if turn.reactions is not None:
            turn.reactions.finish(well=well)

    def _count(self, result: TurnResult) -> None:
        tokens = self._turn.desk.tokens
        used = tokens.setdefault(self._turn.key, [0, 0])
        outcomes.keep_newest(tokens, self._turn.key)
        used[0] += result.usage.input_tokens or 0
        used[1] += result.usage.output_tokens or 0

    def finish(self, outcome: Outcome, reason: str | None, *,
               text: str | None = None, history: Sequence[HistoryOp] = (),
               draft: bool = False, result: TurnResult | None = None
               ) -> Finished:
        """The completion, with the reply as an outbox row; with `draft` it
        takes the draft's place where the channel has it so and a text is
        in it."""
        turn = self._turn
        sends: tuple[NewSend, ...] = ()
        if text is not None:
            text = redact(text, turn.live.secrets)
            source = f"turn:{turn.claim.turn_id}"
            send = turn.build_send(source, text)
            if not send.parts:  # nothing in it can be seen
                send = turn.build_send(source, outcomes.EMPTY)
            if draft and not isinstance(turn.platform, PreviewsAnswers) \
                    and any(part.kind == "text" for part in send.parts):
                send = replace(send, draft_id=turn.running.draft_id)
            sends = (send,)
        turn.trace.end(outcome, reason, turn.desk.clock() - turn.started)
        turn.desk.last[turn.key] = turn.trace
        outcomes.keep_newest(turn.desk.last, turn.key)
        completion = Completion(outcome, reason, tuple(history), sends,
                                turn.trace.to_json())
        return Finished(completion, turn.message, result, turn.live,
                        foreign=bool(turn.labels))
