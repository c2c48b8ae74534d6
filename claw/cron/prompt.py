"""A run of the agent: one turn, in its job's conversation, with what its
job may do, and nobody to ask.

A call that wants a yes is refused, and the run ends as denied with the
command that would allow it.
"""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from claw.agent.conversation import Conversation
from claw.agent.history import encode
from claw.agent.narrowed import narrow_agent
from claw.agent.rendering.sanitise import sanitise_reply
from claw.agent.rounds.events import Event, ToolFinished, ToolStarted
from claw.agent.rounds.outcome import (
    TurnOptions,
    TurnResult,
)
from claw.agent.turn import Agent
from claw.core.errors import UnavailableError, describe
from claw.core.labels import sort_labels
from claw.core.provider import NO_ANSWER, ConversationMessage
from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.cron.parts import Around, Parts
from claw.providers.factory import OFFLINE
from claw.providers.offline import NO_MODEL, WAYS
from claw.storage.jobs.model import Job
from claw.storage.log.entry import End, Start, write_error
from claw.text.addresses import drop_controls, make_plain
from claw.tools.cron.running import Outcome

_MOST_WAIT_S = 30.0
_LEAST_WAIT_S = 0.2
_JITTER_S = 0.25


class PromptRun:
    """One turn for a job; `turn` is narrowed already."""

    def __init__(self, parts: Parts, around: Around, job: Job,
                 turn: TurnContext) -> None:
        self._parts = parts
        self._around = around
        self._job = job
        self._turn = turn
        self._said: list[ConversationMessage] = []
        self._acted = False

    async def run(self, prompt: str) -> Outcome:
        """Raises ClawError and TimeoutError where there is no answer."""
        key = self._around.talks.find_key(self._job)
        earlier = [] if key is None else await self._around.talks.load(key)
        agent, options = await self._build_agent()
        await self._around.log_turn(self._turn.turn_id, Start(
            self._turn.turn_id, "cron", prompt, session=key,
            provider=self._parts.provider, model=agent.model))
        try:
            result = await self._ask(agent, options, prompt, earlier)
        except (Exception, asyncio.CancelledError) as error:
            await self._log_end(None, error)
            raise
        outcome = self._judge(agent, result)
        await self._log_end(outcome, None, result)
        if key is not None:
            await self._around.talks.keep(
                key, self._turn.turn_id, self._said, self._turn.labels)
        return outcome

    async def _build_agent(self) -> tuple[Agent, TurnOptions]:
        parts, spec = self._parts, self._job.spec
        agent = narrow_agent(parts.agent, parts.policy,
                             self._turn.channel or "", self._turn.policy)
        if spec.allowed_tools is not None:
            agent = replace(agent, tools=[
                tool for tool in agent.tools
                if tool.name in spec.allowed_tools])
        options = TurnOptions(stream=False, directives=False,
                              question=spec.prompt)
        if spec.model is None:
            return agent, options
        if spec.model in agent.hints:
            return agent, TurnOptions(
                stream=False, directives=False, question=spec.prompt,
                model=f"hint:{spec.model}")
        provider, model = await parts.open_model(spec.model)
        return replace(agent, provider=provider, model=model,
                       hints=()), options

    async def _ask(self, agent: Agent, options: TurnOptions, prompt: str,
                   earlier: Sequence[ConversationMessage]) -> TurnResult:
        """Once more where the model could not be reached and nothing can
        have happened."""
        for attempt in range(self._parts.retries + 1):
            self._said.clear()
            conversation = Conversation(on_push=self._said.append)
            conversation.seed(earlier)
            try:
                return await agent.turn(
                    prompt, conversation=conversation, context=self._turn,
                    options=options, on_event=self._note)
            except UnavailableError as error:
                if self._acted or attempt == self._parts.retries:
                    raise
                self._around.log("job.retry", job=self._job.id,
                                 error=describe(error))
                await asyncio.sleep(reckon_wait(
                    attempt, self._parts.backoff_s))
        raise AssertionError("unreachable")

    def _note(self, event: Event) -> None:
        if isinstance(event, ToolStarted):
            self._acted = True
        elif isinstance(event, ToolFinished):
            self._around.log("tool", turn=self._turn.turn_id,
                             job=self._job.id, tool=event.name,
                             ok=event.success,
                             seconds=round(event.seconds, 2))

    def _judge(self, agent: Agent, result: TurnResult) -> Outcome:
        """The answer as a person gets it; with a call that wanted a yes
        the run was denied."""
        turn = self._turn
        if self._parts.provider == OFFLINE \
                and result.finish_reason == NO_ANSWER:
            return Outcome("error", f"{NO_MODEL}; to add one: {WAYS}",
                           turn.turn_id)
        names = [*(tool.name for tool in agent.tools),
                 *(call.name for call in result.tool_calls)]
        text = drop_controls(sanitise_reply(
            result.text, names, self._parts.secrets))
        links = None
        if turn.labels:
            text = make_plain(text, turn.found)
            links = tuple(sorted(url for url in turn.found if url in text))
        text = "\n\n".join(filter(None, (text.strip(), *result.remarks)))
        return Outcome("denied" if turn.refused else "ok", text,
                       turn.turn_id, links)

    async def _log_end(self, outcome: Outcome | None,
                       error: BaseException | None,
                       result: TurnResult | None = None) -> None:
        said = [encode(message) for message in self._said[1:]]
        cost = await asyncio.to_thread(self._around.turn_cost,
                                       self._turn.turn_id)
        facts: dict[str, Any] = {} if result is None else {
            "provider": result.provider or self._parts.provider,
            "model": result.model,
            "input_tokens": result.usage.input_tokens,
            "output_tokens": result.usage.output_tokens}
        await self._around.log_turn(self._turn.turn_id, End(
            "answered" if outcome else "interrupted" if isinstance(
                error, asyncio.CancelledError) else "failed",
            outcome.text if outcome else None,
            rounds=tuple(said[:-1] if outcome else said),
            labels=sort_labels(self._turn.labels), cost=cost,
            error=write_error(None if error is None else describe(error)
                              or type(error).__name__, self._turn.refused),
            **facts))


def reckon_wait(attempt: int, base_s: float) -> float:
    """Seconds before retry number `attempt`: doubled each time."""
    doubled: float = max(_LEAST_WAIT_S, base_s) * 2 ** attempt
    return min(_MOST_WAIT_S, doubled) + random.uniform(0, _JITTER_S)
