"""Running the tools of one round.

Every call gets a result, in call order: an unknown tool, a refusal and an
exception are results too, so that the model can go on from them.
"""

import asyncio
import time
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from claw.agent.history import INTERRUPTED
from claw.agent.rounds.calls import ParsedToolCall, ToolExecutionResult
from claw.agent.rounds.cancel import TurnCancelled, check, race
from claw.agent.rounds.events import (
    Guarded,
    OnEvent,
    ToolFinished,
    ToolStarted,
)
from claw.agent.rounds.journal import UNKNOWN_OUTCOME, Journal, ResumedRound
from claw.agent.rounds.loop_detector import canonical
from claw.core.hooks import Cancel
from claw.core.tool import Tool, ToolResult, hide_arguments
from claw.core.turn import TurnContext, current_call

if TYPE_CHECKING:
    from claw.agent.hooks.runner import HookRunner
    from claw.security.prompt_guard import PromptGuard

# Characters of one result that a model gets to read: about 8,000 tokens,
# a quarter of a small context. The middle of a longer one is left out.
RESULT_CHARS = 32_000

Gate: TypeAlias = Callable[
    [Tool, Mapping[str, Any], TurnContext], Awaitable[str | None]]


class ToolRecord(msgspec.Struct, frozen=True):
    """One call of a turn, for the turn's result and the ledger."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    output: str
    success: bool
    seconds: float


class RoundInterrupted(Exception):
    """The turn was stopped among the tools; `records` tells what ran."""

    def __init__(self, records: list[ToolRecord]) -> None:
        super().__init__("stopped while tools were running")
        self.records = records


async def allow(tool: Tool, args: Mapping[str, Any],
                context: TurnContext) -> str | None:
    """The gate where nobody is asked: every call passes."""
    return None


def leave_unscrubbed(text: str) -> str:
    return text


def cap(output: str, limit: int = RESULT_CHARS) -> str:
    """An output of at most about `limit` characters, both ends kept."""
    left_out = len(output) - limit
    if left_out <= 0:
        return output
    half = limit // 2
    return (f"{output[:half]}\n[... {left_out} characters left out ...]\n"
            f"{output[len(output) - (limit - half):]}")


class Executor(msgspec.Struct, frozen=True):
    """Runs calls for one turn.

    `find_tool` gives a tool by its name. `gate` returns None to let a call
    pass, else the text of the refusal; `scrub` removes credentials from
    what the model reads. `journal` is told of each start and result before
    the turn goes on; `hooks` may change or stop a call before the gate
    sees it. `guard` looks at results once foreign text was read.
    """

    find_tool: Callable[[str], Tool | None]
    context: TurnContext
    gate: Gate = allow
    scrub: Callable[[str], str] = leave_unscrubbed
    on_event: OnEvent = lambda event: None
    parallel: bool = False
    may_repeat: Collection[str] = ()
    clock: Callable[[], float] = time.monotonic
    journal: Journal | None = None
    hooks: "HookRunner | None" = None
    guard: "Callable[[], PromptGuard] | None" = None

    async def run(self, calls: Sequence[ParsedToolCall],
                  before: ResumedRound | None = None) -> list[ToolRecord]:
        """One record for each call, in call order.

        What a journal knows of the calls (`before`) is not done again.
        Raises RoundInterrupted when the turn is stopped.
        """
        records = [self._find_known(call, before) for call in calls]
        try:
            if self.parallel and len(calls) > 1:
                await self._run_together(calls, records)
            else:
                repeated = self._find_repeats(calls)
                for index, call in enumerate(calls):
                    if records[index] is None:
                        await self._settle(
                            await self._clear(call, repeated[index]),
                            records, index)
        except TurnCancelled as stop:
            raise RoundInterrupted([
                record or _record(call, INTERRUPTED, success=False)
                for call, record in zip(calls, records, strict=True)
            ]) from stop
        return [record for record in records if record is not None]

    def _find_known(self, call: ParsedToolCall,
                    before: ResumedRound | None) -> ToolRecord | None:
        """The record of a call that ran, or may have run, before the
        process ended."""
        call_id = call.tool_call_id
        if before is None or call_id is None:
            return None
        if call_id in before.results:
            output, success = before.results[call_id]
            return _record(call, output, success=success)
        if call_id not in before.started or getattr(
                self.find_tool(call.name), "repeatable", False):
            return None
        return _record(call, UNKNOWN_OUTCOME, success=False)

    async def _run_together(self, calls: Sequence[ParsedToolCall],
                            records: list[ToolRecord | None]) -> None:
        """Questions to the owner one after the other, then the allowed
        calls at the same time."""
        repeated = self._find_repeats(calls)
        waiting = []
        for index, call in enumerate(calls):
            if records[index] is not None:
                continue
            cleared = await self._clear(call, repeated[index])
            if cleared[1] is None:
                waiting.append((cleared, records, index))
            else:
                await self._settle(cleared, records, index)
        outcomes = await asyncio.gather(
            *(self._settle(*one) for one in waiting),
            return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    def _find_repeats(self, calls: Sequence[ParsedToolCall]) -> list[bool]:
        """Which calls an earlier one of the round has already made."""
        seen: set[tuple[str, str]] = set()
        repeated: list[bool] = []
        for call in calls:
            key = (call.name.strip().lower(), canonical(call.arguments))
            repeated.append(key in seen
                            and call.name not in self.may_repeat)
            seen.add(key)
        return repeated

    async def _clear(self, call: ParsedToolCall, repeated: bool
                     ) -> tuple[ParsedToolCall, str | None]:
        """The call as hooks leave it, and why it does not run (None where
        it may)."""
        check(self.context.cancel)
        if repeated:
            return call, (f"Skipped duplicate tool call '{call.name}' with "
                          "identical arguments in this turn.")
        return await race(self._ask(call), self.context.cancel)

    async def _ask(self, call: ParsedToolCall
                   ) -> tuple[ParsedToolCall, str | None]:
        if self.hooks is not None:
            changed = await self.hooks.before_tool_call(call.name,
                                                        call.arguments)
            if isinstance(changed, Cancel):
                return call, f"Cancelled by hook: {changed.reason}"
            call = ParsedToolCall(changed[0], dict(changed[1]),
                                  call.tool_call_id)
        tool = self.find_tool(call.name)
        if tool is None:
            return call, f"Unknown tool: {call.name}"
        with _within(call):  # who is asked can tell which call it is
            return call, await self.gate(tool, call.arguments, self.context)

    async def _settle(self, cleared: tuple[ParsedToolCall, str | None],
                      records: list[ToolRecord | None],
                      index: int) -> None:
        """Run the call or note its refusal."""
        call, refusal = cleared
        if refusal is not None:
            records[index] = await self._announce(
                _record(call, refusal, success=False))
            return
        record = records[index] = await self._announce(
            await self._execute(call))
        if self.hooks is not None:
            await race(self.hooks.on_after_tool_call(
                record.name, ToolResult(record.output, record.success),
                record.seconds, record.arguments), self.context.cancel)

    async def _execute(self, call: ParsedToolCall) -> ToolRecord:
        if self.journal is not None:
            await self.journal.note_start(call.tool_call_id or "")
        tool = self.find_tool(call.name)
        assert tool is not None  # it was cleared
        shown = hide_arguments(tool, call.arguments)
        self.on_event(ToolStarted(call.tool_call_id or "", call.name, shown))
        start = self.clock()
        with _within(call):
            output, success = await race(outcome(tool, call.arguments),
                                         self.context.cancel)
        if not tool.labels_itself:
            self.context.labels.add("tool")
        return _record(call, self._guard_result(call.name, cap(
            self.scrub(output))), success=success,
                       seconds=self.clock() - start)

    def _guard_result(self, name: str, output: str) -> str:
        """A result as the model reads it, where it may be foreign text."""
        if self.guard is None or not self.context.labels:
            return output
        shown, verdict = self.guard().treat(output, f"the result of {name}")
        if verdict is not None:
            self.on_event(Guarded.of(name, verdict))
        return shown

    async def _announce(self, record: ToolRecord) -> ToolRecord:
        record = msgspec.structs.replace(record, arguments=hide_arguments(
            self.find_tool(record.name), record.arguments))
        if self.journal is not None:
            await self.journal.note_result(record.id, record.output,
                                           record.success,
                                           tuple(self.context.labels),
                                           tuple(self.context.refused))
        self.on_event(ToolFinished(record.id, record.name, record.output,
                                   record.success, record.seconds))
        return record


@contextmanager
def _within(call: ParsedToolCall) -> Iterator[None]:
    """The call is the current one meanwhile, within the one around it."""
    around, own = current_call.get(), call.tool_call_id or ""
    token = current_call.set(f"{around}/{own}" if around else own)
    try:
        yield
    finally:
        current_call.reset(token)


async def outcome(tool: Tool, arguments: Mapping[str, Any]
                  ) -> tuple[str, bool]:
    """What the model reads of a call, and whether it went well.

    A tool is foreign code and its faults are the model's to handle, so
    every exception becomes text; cancellation passes through.
    """
    try:
        result = await tool.execute(arguments)
    except Exception as error:
        text = str(error) or type(error).__name__
        return f"Error executing {tool.name}: {text}", False
    if result.success:
        return result.output, True
    # What a failing command printed is often the reason itself.
    said = [text for text in (result.error, result.output) if text]
    return "Error: " + "\n".join(said), False


def _record(call: ParsedToolCall, output: str, *, success: bool,
            seconds: float = 0.0) -> ToolRecord:
    return ToolRecord(call.tool_call_id or "", call.name, call.arguments,
                      output, success, seconds)


def as_result(record: ToolRecord) -> ToolExecutionResult:
    """A record as dispatchers take it."""
    return ToolExecutionResult(record.name, record.output, record.success,
                               record.id or None)
