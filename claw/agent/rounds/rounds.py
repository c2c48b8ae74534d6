"""The tool rounds of one turn: run, watched for loops, kept whole.

Calls and results go into the history together or not at all.
"""

import json
import uuid
from collections.abc import Callable, Collection

import msgspec
from msgspec.structs import replace

from claw.agent.conversation import Conversation
from claw.agent.dispatchers.base import Dispatcher
from claw.agent.rounds.calls import ParsedToolCall, native_call
from claw.agent.rounds.cancel import TurnCancelled
from claw.agent.rounds.execute import (
    Executor,
    RoundInterrupted,
    ToolRecord,
    as_result,
)
from claw.agent.rounds.journal import ResumedRound
from claw.agent.rounds.loop_detector import Finding, LoopDetector
from claw.agent.settings import PacingSettings
from claw.core.errors import BudgetError
from claw.core.provider import AssistantToolCalls, ChatResponse, ToolCall


class LoopWatch:
    """The loop detector and the limit by time, for one turn."""

    def __init__(self, pacing: PacingSettings,
                 clock: Callable[[], float]) -> None:
        self._after_s = pacing.loop_detection_min_elapsed_secs
        self._clock = clock
        self._started = clock()
        self._detector = LoopDetector(
            enabled=pacing.loop_detection_enabled,
            window=pacing.loop_detection_window_size,
            max_repeats=pacing.loop_detection_max_repeats,
            ignored=pacing.loop_ignore_tools)

    def look(self, records: list[ToolRecord]) -> Finding | None:
        """The last sign that the calls of a round show."""
        finding = None
        for record in records:
            found = self._detector.record(record.name, record.arguments,
                                          record.output)
            finding = found if found.verdict != "ok" else finding
        return finding

    def stop_by_time(self, records: list[ToolRecord]) -> None:
        """Three rounds with the very same output, for too long."""
        if self._after_s is None:
            return
        output = "\n".join(record.output for record in records)
        if self._detector.same_round(output) \
                and self._clock() - self._started >= self._after_s:
            raise loop_error("three rounds returned the same")


class Rounds(msgspec.Struct):
    """What a turn does with the calls of its model.

    `records` are those of all rounds so far, `limit` how many messages
    the conversation keeps.
    """

    executor: Executor
    watch: LoopWatch
    dispatcher: Dispatcher
    conversation: Conversation
    limit: int
    records: list[ToolRecord] = msgspec.field(default_factory=list)

    async def run(self, text: str, calls: list[ParsedToolCall],
                  response: ChatResponse) -> None:
        """Run the calls of an answer. Raises TurnCancelled, and
        BudgetError for a turn that goes in circles."""
        message = as_message(text, calls, response,
                             {record.id for record in self.records})
        if self.executor.journal is not None:
            await self.executor.journal.note_calls(message)
        await self._run(message, None)

    async def resume(self, before: ResumedRound) -> None:
        """A round that an earlier process began: what its journal knows
        is kept, the rest is run."""
        self.executor.context.labels.update(before.labels)
        for refusal in before.refused:
            self.executor.context.note_refusal(refusal)
        await self._run(before.calls, before)

    async def _run(self, message: AssistantToolCalls,
                   before: ResumedRound | None) -> None:
        calls = list(map(native_call, message.tool_calls))
        try:
            records = await self.executor.run(calls, before)
        except RoundInterrupted as stopped:
            self._keep(message, stopped.records)
            raise TurnCancelled from stopped
        finding = self.watch.look(records)
        if finding is not None and finding.verdict != "break":
            last = records[-1]
            records[-1] = replace(
                last, output=f"{last.output}\n\n{finding.note}")
        self._keep(message, records)
        if finding is not None and finding.verdict == "break":
            raise loop_error(finding.reason)
        self.watch.stop_by_time(records)

    def _keep(self, message: AssistantToolCalls,
              records: list[ToolRecord]) -> None:
        self.records.extend(records)
        labels = self.executor.context.labels
        self.conversation.push(message, labels)
        self.conversation.push(self.dispatcher.format_results(
            [as_result(record) for record in records]), labels)
        self.conversation.trim(self.limit)


def as_message(text: str, calls: list[ParsedToolCall],
               response: ChatResponse, used: Collection[str] = ()
               ) -> AssistantToolCalls:
    """Calls as history keeps them. Each has an id, and no two of a turn
    (`used`: those of earlier rounds) have the same."""
    seen = set(used)
    written: list[ToolCall] = []
    for call in calls:
        call_id = call.tool_call_id
        if not call_id or call_id in seen:
            call_id = f"call_{uuid.uuid4().hex[:12]}"
        seen.add(call_id)
        written.append(ToolCall(call_id, call.name, json.dumps(
            call.arguments, ensure_ascii=False)))
    return AssistantToolCalls(text or None, tuple(written),
                              response.reasoning_content, response.replay)


def loop_error(reason: str) -> BudgetError:
    return BudgetError(f"Agent loop aborted by loop detector: {reason}",
                       hint="ask in another way, or name the tool in "
                            "pacing.loop_ignore_tools")
