"""The turn: model, tools, model again, until there is an answer.

    agent = Agent(provider, tools, model="m")
    result = await agent.turn("What is in notes.txt?")

The agent holds what all turns share and nothing of a single one: it serves
any number of turns at once. What was said belongs to a Conversation.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import structs

from claw.agent import dispatchers
from claw.agent.conversation import Conversation
from claw.agent.dispatchers.base import Dispatcher
from claw.agent.prompt import PromptContext, build_prompt
from claw.agent.rounds.cancel import TurnCancelled
from claw.agent.rounds.events import OnEvent, ignore
from claw.agent.rounds.execute import Gate, allow, leave_unscrubbed
from claw.agent.rounds.outcome import TurnOptions, TurnResult
from claw.agent.rounds.turn import Turn
from claw.agent.settings import (
    AgentSettings,
    PacingSettings,
    QueryClassificationSettings,
)
from claw.core.memory import MIN_RELEVANCE, Memory
from claw.core.provider import ConversationMessage, Provider
from claw.core.tool import Tool, ToolSpec, end_turn
from claw.core.turn import TurnContext, current_turn
from claw.core.value import Record, made

if TYPE_CHECKING:
    from claw.agent.hooks.runner import HookRunner
    from claw.agent.images.images import Images
    from claw.security.estop import EmergencyStop
    from claw.security.prompt_guard import PromptGuard

DEFAULT_MODEL = "anthropic/claude-sonnet-4-20250514"
DEFAULT_TEMPERATURE = 0.7


def local_now() -> datetime:
    return datetime.now().astimezone()


class Agent(Record):
    """Provider, tools, memory and rules, put together.

    `prompt` says what the system prompt is made of: tools, dispatcher
    instructions, model and time are filled in for each conversation; None
    sends no system prompt except where the tools need one. `hints` are
    the names of the routes. `gate` decides about tool calls, `scrub`
    cleans their output, `hooks` look on, `images` gives what shows images
    to a model, `guard` points out foreign text that speaks to it.
    `autosave_origins` are the origins whose turns are kept in
    memory, where `auto_save` is on. `estop` ends a turn.
    """

    provider: Provider
    tools: Sequence[Tool] = ()
    memory: Memory | None = None
    settings: AgentSettings = made(factory=AgentSettings)
    pacing: PacingSettings = made(factory=PacingSettings)
    classification: QueryClassificationSettings = made(
        factory=QueryClassificationSettings)
    model: str = DEFAULT_MODEL
    temperature: float = DEFAULT_TEMPERATURE
    prompt: PromptContext | None = None
    hints: Collection[str] = ()
    gate: Gate = allow
    scrub: Callable[[str], str] = leave_unscrubbed
    auto_save: bool = False
    autosave_origins: Collection[str] = ("agent",)
    min_relevance: float = MIN_RELEVANCE
    dispatcher: Dispatcher | None = None
    hooks: "HookRunner | None" = None
    images: "Callable[[], Images] | None" = None
    guard: "Callable[[], PromptGuard] | None" = None
    estop: "EmergencyStop | None" = None
    now: Callable[[], datetime] = local_now
    clock: Callable[[], float] = time.monotonic
    conversation: Conversation = made(factory=Conversation)

    @property
    def history(self) -> list[ConversationMessage]:
        """The messages of the agent's own conversation."""
        return self.conversation.messages

    def clear_history(self) -> None:
        self.conversation.clear()

    def seed_history(self, messages: Iterable[ConversationMessage]) -> None:
        """Continue an earlier conversation: system prompt, then these."""
        if not self.conversation.has_system:
            self.conversation.begin(self.system_prompt(self.tools))
        self.conversation.seed(messages)

    def select_dispatcher(self, tools: Sequence[ToolSpec]) -> Dispatcher:
        return self.dispatcher or dispatchers.select(
            self.settings.tool_dispatcher, self.provider, self.model,
            {tool.name: tool.parameters for tool in tools})

    def system_prompt(self, tools: Sequence[Tool]) -> str:
        """The system prompt for these tools; "" where there is none."""
        specs = [tool.spec() for tool in tools]
        guide = (self.select_dispatcher(specs).prompt_instructions(specs)
                 if specs else "")
        if self.prompt is None:
            return guide
        context = structs.replace(self.prompt, tools=specs, instructions=guide,
                          now=self.now(),
                          model=self.prompt.model and self.model)
        return build_prompt(context, self.settings.max_system_prompt_chars)

    async def run_turn(self, message: str, context: TurnContext) -> str:
        """One turn in a conversation of its own (core.turn.RunsTurn)."""
        return (await self.turn(message, context=context,
                                conversation=Conversation())).text

    async def turn(self, message: str, *,
                   conversation: Conversation | None = None,
                   context: TurnContext | None = None,
                   options: TurnOptions | None = None,
                   on_event: OnEvent = ignore) -> TurnResult:
        """Answer one message.

        Raises the provider's errors, BudgetError past the iteration limit,
        TurnCancelled, and StoppedError at the emergency stop. In each case
        the conversation keeps the message and every finished round, and is
        fit for the next turn.
        """
        conversation = conversation or self.conversation
        context = context or TurnContext("agent")
        outer = current_turn.get()
        if outer is not None:  # a turn within a turn
            context.labels |= outer.labels
        else:  # what a model asks of another one is not the person's word
            context.asked = message
        token = current_turn.set(context)
        try:
            async with conversation.lock:
                return await self._run_stoppable(Turn(
                    self, message, conversation, context,
                    options or TurnOptions(), on_event), context)
        finally:
            current_turn.reset(token)
            if outer is not None:
                outer.labels |= context.labels
            await end_turn(dict.fromkeys(
                [*self.tools, *context.tools]), context)

    async def _run_stoppable(self, turn: Turn, context: TurnContext
                             ) -> TurnResult:
        """The turn, which the emergency stop cancels."""
        if self.estop is None:
            return await turn.run()
        self.estop.check()
        context.cancel = context.cancel or asyncio.Event()
        watch = asyncio.ensure_future(
            self.estop.set_once_stopped(context.cancel))
        try:
            return await turn.run()
        except TurnCancelled:
            self.estop.check()
            raise
        finally:
            watch.cancel()
