"""A conversation with the agent: what `claw agent` runs on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import (
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    closing,
)

from claw.agent.aside import aside
from claw.agent.conversation import Conversation
from claw.agent.events import Notice, OnEvent
from claw.agent.history import encode
from claw.agent.outcome import TurnOptions, TurnResult
from claw.agent.turn import Agent
from claw.config.tree import Tree
from claw.core.errors import StorageError, describe
from claw.core.images import MARK
from claw.core.provider import ConversationMessage, Passage
from claw.core.turn import Approves
from claw.core.value import Value
from claw.providers.choice import Choice
from claw.storage.sessions import SessionStore
from claw.wiring.agent import AgentParts, build_agent, owners_turn
from claw.wiring.hygiene import tend_memory
from claw.wiring.ledger import book_of
from claw.wiring.memory import memory_on_demand
from claw.wiring.prompt import prompt_of
from claw.wiring.providers import providers_of
from claw.wiring.response_cache import cached
from claw.wiring.sessions import earlier, sessions_of
from claw.wiring.tools import policy_of

# Keeps the last conversation that has no name of its own.
LAST = "agent"
# How long the end of a conversation waits for hygiene under way.
TIDY_S = 1.0


class Wish(Value):
    """What the person asked for on the command line.

    `session` None begins anew and keeps the conversation as the last one.
    `tools` None offers all. `temperature` None is that of the settings.
    """

    provider: str | None = None
    model: str | None = None
    system: str | None = None
    temperature: float | None = None
    tools: Sequence[str] | None = None
    use_memory: bool = True
    session: str | None = None
    approver: Approves | None = None
    approve_all: bool = False
    notify: Callable[[str], None] = (lambda _: None)


class Talk:
    """One agent and one conversation with it, kept as it goes."""

    def __init__(self, agent: Agent, choice: Choice, store: SessionStore,
                 wish: Wish,
                 cost: Callable[[str], float | None]) -> None:
        self.agent = agent
        self.choice = choice
        self.session = wish.session or LAST
        self.last: TurnResult | None = None
        self._store = store
        self._wish = wish
        self._cost = cost
        self._fresh = wish.session is None
        self._conversation = Conversation(on_push=self._keep)
        if wish.session:
            self._resume()

    @property
    def model(self) -> str:
        return self._conversation.model or self.agent.model

    def cost_usd(self, result: TurnResult) -> float | None:
        """What a turn cost, None where a price is not known."""
        return self._cost(result.turn_id)

    @property
    def messages(self) -> int:
        """How many messages the conversation has."""
        return len(self._conversation.messages)

    async def say(self, message: str, on_event: OnEvent, *,
                  passages: Sequence[Passage] = (),
                  question: str | None = None, live_text: bool = False,
                  cancel: asyncio.Event | None = None) -> TurnResult:
        """One turn. Raises what Agent.turn raises."""
        own = message if question is None else question
        if MARK in own:
            message = message.replace(
                own, await self._with_images(own, on_event), 1)
        self.last = await self.agent.turn(
            message, conversation=self._conversation, on_event=on_event,
            context=owners_turn("agent", self.session, cancel),
            options=TurnOptions(
                passages=passages, question=question, live_text=live_text,
                temperature=self._wish.temperature))
        return self.last

    async def _with_images(self, own: str, on_event: OnEvent) -> str:
        """What the person wrote with references to images that are kept as
        long as the conversation."""
        if self.agent.images is None:
            return own
        images = self.agent.images()
        own = await images.taken(own, on_event)
        try:
            await asyncio.to_thread(images.keep)
        except StorageError as error:
            on_event(Notice(f"an image can't be kept: {error.message}"))
        return own

    def new(self) -> None:
        """Begin a new conversation; memories stay."""
        self._conversation.clear()
        self._fresh = True
        self.last = None

    def use_model(self, name: str) -> None:
        """Ask this model from the next message on."""
        self._conversation.model = name

    async def models(self) -> list[str]:
        """What the provider offers; empty where it can not say."""
        return await self.agent.provider.models()

    def _resume(self) -> None:
        said = earlier(self._store, self.session, self._wish.notify)
        if said:
            self._conversation.begin(
                self.agent.system_prompt(self.agent.tools))
            self._conversation.seed(said)
            self._conversation.trim(
                self.agent.settings.max_history_messages)

    def _keep(self, message: ConversationMessage) -> None:
        """Write each message as it is said; the first of a fresh
        conversation replaces what was kept under the name."""
        write = self._store.replace if self._fresh else self._store.append
        write(self.session, [encode(message)])
        self._fresh = False


@asynccontextmanager
async def open_talk(tree: Tree, wish: Wish) -> AsyncIterator[Talk]:
    """Provider, memory, tools and session, open until the end."""
    async with AsyncExitStack() as stack:
        book = stack.enter_context(closing(book_of(tree, wish.notify)))
        providers = providers_of(tree, around=book.around,
                                 notify=wish.notify)
        opened, choice = await providers.open(wish.provider, wish.model)
        provider = cached(tree, opened, wish.notify)
        await stack.enter_async_context(aclosing(provider))
        memory = None
        if wish.use_memory:
            memory = memory_on_demand(tree, wish.notify)
            stack.callback(memory.close)
        agent = _agent(tree, wish, AgentParts(
            provider, choice.model or "", wish.tools, memory,
            approver=wish.approver, approve_all=wish.approve_all,
            providers=providers))
        talk = Talk(agent, choice, sessions_of(tree.places), wish,
                    book.turn_cost)
        async with _tidied(tree, talk.session, wish):
            yield talk


@asynccontextmanager
async def _tidied(tree: Tree, session: str, wish: Wish
                  ) -> AsyncIterator[None]:
    """Hygiene of the memory where it is due, beside a conversation. What
    went wrong is said at the end, since a prompt may stand there now."""
    if not wish.use_memory:
        yield
        return
    trouble: list[str] = []
    work = asyncio.ensure_future(aside(
        lambda: trouble.extend(_tidy(tree, session))))
    try:
        yield
    finally:
        await asyncio.wait([work], timeout=TIDY_S)
        work.cancel()
        error, = await asyncio.gather(work, return_exceptions=True)
        if isinstance(error, Exception):
            trouble.append(describe(error))
        if trouble:
            wish.notify("; ".join(trouble))


def _tidy(tree: Tree, session: str) -> list[str]:
    """What is to be told: all but what was done as it should be."""
    said: list[str] = []
    report = tend_memory(tree, said.append, protected=(session,))
    well = "" if report is None else "memory hygiene: " + ", ".join(
        report.lines())
    return [text for text in said if text != well]


def _agent(tree: Tree, wish: Wish, parts: AgentParts) -> Agent:
    policy = policy_of(tree)
    agent = build_agent(tree, parts, policy)
    agent.prompt = prompt_of(tree, policy, agent, wish.system or "")
    return agent
