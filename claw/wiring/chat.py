"""A conversation with the agent: what `claw agent` runs on."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from claw.agent.background import run_in_background
from claw.agent.conversation import Conversation
from claw.agent.events import Notice, OnEvent
from claw.agent.history import encode
from claw.agent.outcome import TurnOptions, TurnResult
from claw.config.tree import Tree
from claw.core.errors import StorageError, describe
from claw.core.images import MARK
from claw.core.provider import ConversationMessage, Passage
from claw.storage.sessions import SessionStore
from claw.wiring.compose import (
    AgentOptions,
    Parts,
    build_owners_turn,
    open_parts,
)
from claw.wiring.memory.hygiene import maintain_memory
from claw.wiring.sessions import load_history, open_sessions

# Keeps the last conversation that has no name of its own.
LAST = "agent"
# How long the end of a conversation waits for hygiene under way.
TIDY_S = 1.0


class ChatOptions(AgentOptions):
    """What the person asked for on the command line.

    `session` None begins anew and keeps the conversation as the last one.
    `temperature` None is that of the settings.
    """

    session: str | None = None
    temperature: float | None = None


class ChatSession:
    """One agent and one conversation with it, kept as it goes; without a
    `store` nothing is."""

    def __init__(self, parts: Parts, store: SessionStore | None,
                 options: ChatOptions) -> None:
        self.agent = parts.agent
        self.choice = parts.choice
        self.session = options.session or LAST
        self.last: TurnResult | None = None
        self._parts = parts
        self._store = store
        self._temperature = options.temperature
        self._fresh = options.session is None
        self._conversation = Conversation(on_push=self._keep)
        if store is not None and options.session:
            history = load_history(store, self.session, options.notify)
            if history:
                self._resume(history)

    @property
    def model(self) -> str:
        return self._conversation.model or self.agent.model

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
            kept = await self._take_images(own, on_event)
            message = message.replace(own, kept, 1)
            question = None if question is None else kept
        self.last = await self.agent.turn(
            message, conversation=self._conversation, on_event=on_event,
            context=build_owners_turn("agent", self.session, cancel),
            options=TurnOptions(
                passages=passages, question=question, live_text=live_text,
                temperature=self._temperature))
        return self.last

    async def _take_images(self, own: str, on_event: OnEvent) -> str:
        """What the person wrote with references to images that are kept as
        long as the conversation."""
        images = self._parts.images()
        own = await images.take(own, on_event)
        try:
            await asyncio.to_thread(images.keep)
        except StorageError as error:
            on_event(Notice(f"an image can't be kept: {error.message}"))
        return own

    def answer_json(self, result: TurnResult, seconds: float
                    ) -> dict[str, Any]:
        """The answer of a turn in the shape of `claw ask --json`."""
        return self._parts.answer_json(result, self.session, seconds)

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

    def _resume(self, history: list[ConversationMessage]) -> None:
        self._conversation.begin(self.agent.system_prompt(self.agent.tools))
        self._conversation.seed(history)
        self._conversation.trim(self.agent.settings.max_history_messages)

    def _keep(self, message: ConversationMessage) -> None:
        """Write each message as it is said; the first of a fresh
        conversation replaces what was kept under the name."""
        if self._store is None:
            return
        write = self._store.replace if self._fresh else self._store.append
        write(self.session, [encode(message)])
        self._fresh = False


@asynccontextmanager
async def open_chat(tree: Tree, options: ChatOptions
                    ) -> AsyncIterator[ChatSession]:
    """A conversation with all that it stands on, open until the end."""
    async with open_parts(tree, options) as parts:
        places = tree.places
        chat = ChatSession(
            parts, open_sessions(places, parts.redactor)
            if places.trusted else None, options)
        if not options.use_memory or not places.trusted:
            yield chat
            return
        async with maintain_beside(tree, chat.session, options):
            yield chat


@asynccontextmanager
async def maintain_beside(tree: Tree, session: str, options: ChatOptions
                          ) -> AsyncIterator[None]:
    """Hygiene of the memory where it is due, beside a conversation. What
    went wrong is said at the end, since a prompt may stand there now; one
    that still runs then is left behind."""
    trouble: list[str] = []

    def maintain() -> None:
        said: list[str] = []
        report = maintain_memory(tree, said.append, who="terminal",
                                 protected=(session,))
        well = "" if report is None else "memory hygiene: " + ", ".join(
            report.lines())
        trouble.extend(text for text in said
                       if not well or not text.startswith(well))
    work = asyncio.ensure_future(run_in_background(maintain))
    try:
        yield
    finally:
        await asyncio.wait([work], timeout=TIDY_S)
        work.cancel()
        error, = await asyncio.gather(work, return_exceptions=True)
        if isinstance(error, Exception):
            trouble.append(describe(error))
        if trouble:
            options.notify("; ".join(trouble))
