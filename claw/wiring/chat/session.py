"""A conversation with the agent: what `claw agent` runs on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, nullcontext
from pathlib import Path
from typing import Any

from claw.agent.background import run_in_background
from claw.agent.conversation import Conversation
from claw.agent.history import decode, encode, is_system, starts_turn
from claw.agent.rounds.events import Notice, OnEvent
from claw.agent.rounds.outcome import TurnOptions, TurnResult
from claw.config.tree import Tree
from claw.core.errors import (
    StorageError,
    UnavailableError,
    UsageError,
    describe,
)
from claw.core.images import MARK
from claw.core.provider import ConversationMessage, Passage
from claw.core.turn import TurnContext
from claw.core.value import Value
from claw.providers.catalog.aliases import resolve_model
from claw.providers.catalog.models import FILE, load_models
from claw.providers.catalog.vendors import display_name
from claw.security.settings import NarrowerSettings
from claw.storage.log.entry import Start
from claw.storage.log.writer import LogWriter
from claw.storage.sessions import SessionStore
from claw.wiring.compose import (
    AgentOptions,
    Parts,
    build_owners_turn,
    open_parts,
)
from claw.wiring.memory.hygiene import maintain_memory
from claw.wiring.workspace.log import TurnRecord, open_log, read_chain
from claw.wiring.workspace.sessions import (
    SpokenMessage,
    load_history,
    open_sessions,
    read_message,
)

# Keeps the last conversation that has no name of its own.
LAST = "agent"
# How long the end of a conversation waits for hygiene under way.
TIDY_S = 1.0


class ChatOptions(AgentOptions):
    """What the person asked for on the command line.

    `session` None begins anew and keeps the conversation as the last one;
    `cid` goes on from an entry of the log. Without `keep` no word of it is
    kept. `temperature` None is that of the settings.
    """

    session: str | None = None
    temperature: float | None = None
    cid: str | None = None


class Exchange(Value):
    """A question and what was said to it, taken out of a conversation;
    `before` is the message that it followed, `entry` its id in the log."""

    question: str
    messages: tuple[ConversationMessage, ...]
    records: tuple[dict[str, Any], ...]
    before: ConversationMessage | None
    entry: str | None = None


class ChatSession:
    """One agent and one conversation with it, kept as it goes; without a
    `store` nothing is in a session file, without a `log` nothing in the
    log."""

    def __init__(self, parts: Parts, store: SessionStore | None,
                 options: ChatOptions, state: Path,
                 log: LogWriter | None = None) -> None:
        self._state = state
        self.agent = parts.agent
        self.choice = parts.choice
        self.session = options.session or LAST
        self.last: TurnResult | None = None
        self._parts = parts
        self._store = store
        self._log = log
        self._options = options
        self._fresh = options.session is None
        self._parent: str | None = None
        self._earlier: list[str | None] = []  # what each turn went on from
        self._record: TurnRecord | None = None
        self._policy: NarrowerSettings | None = None
        self._context: TurnContext | None = None  # of the last turn
        self._told = ""  # the session that hooks know of
        self._conversation = Conversation(on_push=self._keep)
        if store is not None and options.session:
            history = load_history(store, self.session, options.notify)
            if history:
                self._resume(history, self._find(LogWriter.find_last,
                                                 self.session))
        if not options.keep:
            self._store = None

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
        await self._begin_session()
        own = message if question is None else question
        if MARK in own:
            kept = await self._take_images(own, on_event)
            message = message.replace(own, kept, 1)
            question = None if question is None else kept
        context = build_owners_turn("agent", self.session, cancel)
        context.policy = self._policy
        self._context = context
        self._begin(context, question or message, message, passages)
        try:
            self.last = await self.agent.turn(
                message, conversation=self._conversation, context=context,
                on_event=on_event, options=TurnOptions(
                    passages=passages, question=question,
                    live_text=live_text,
                    temperature=self._options.temperature))
        except (Exception, asyncio.CancelledError) as error:
            self._end(context.turn_id, None, error)
            raise
        self._end(context.turn_id, self.last)
        return self.last

    def narrow(self, policy: NarrowerSettings | None) -> None:
        """What turns may not do from now on, a running one too."""
        self._policy = policy
        if self._context is not None:
            self._context.policy = policy

    async def _begin_session(self) -> None:
        """Hooks hear of a conversation with its first message; of the end
        of one that /new ended with the next."""
        if self._told and not self._conversation.messages:
            await self.end_session()
        if not self._told and self.agent.hooks is not None:
            self._told = self.session
            await self.agent.hooks.on_session_start(self._told, "agent")

    async def end_session(self) -> None:
        told, self._told = self._told, ""
        if told and self.agent.hooks is not None:
            await self.agent.hooks.on_session_end(told, "agent")

    def _begin(self, context: TurnContext, question: str, message: str,
               passages: Sequence[Passage]) -> None:
        """Write the question before it is asked."""
        self._record = TurnRecord(self._log, Start(
            context.turn_id, "agent", question, message.removeprefix(question),
            self._parent, self.session, provider=self.choice.shown,
            model=self.model, system=self._options.system,
            passages=tuple(passage.source for passage in passages)),
            self._options.notify, self._parts.ledger.turn_cost,
            self.choice.shown)
        self._record.refused = context.refused
        self._record.begin()

    def _end(self, turn_id: str, result: TurnResult | None,
             error: BaseException | None = None) -> None:
        """Write what came of it; the next turn goes on from here."""
        if self._record is not None:
            self._record.end(result, error)
        self._record = None
        self._go_on_from(turn_id)

    def _go_on_from(self, entry: str | None) -> None:
        self._earlier.append(self._parent)
        self._parent = entry

    async def _take_images(self, own: str, on_event: OnEvent) -> str:
        """What the person wrote with references to images that are kept as
        long as the conversation."""
        images = self._parts.images()
        own = await images.take(own, on_event)
        if not self._options.keep:
            return own
        try:
            await asyncio.to_thread(images.keep)
        except StorageError as error:
            on_event(Notice(f"an image can't be kept: {error.message}"))
        return own

    def answer_json(self, result: TurnResult, seconds: float
                    ) -> dict[str, Any]:
        """The answer of a turn in the shape of `claw ask --json`."""
        return self._parts.answer_json(
            result, self.session if self._options.keep else None, seconds)

    def new(self) -> None:
        """Begin a new conversation; memories stay."""
        self._conversation.clear()
        self._fresh = True
        self._parent = None
        self._earlier.clear()
        self.last = None

    def use_model(self, name: str) -> None:
        """Ask this model from the next message on. Raises UsageError for
        an alias of another provider's, ConfigError for one in a circle."""
        provider, model = resolve_model(self._parts.providers.aliases, name)
        if provider and display_name(provider) != self.choice.shown:
            raise UsageError(f"{name} is a model of {provider}, and "
                             f"{self.choice.shown} answers here",
                             hint=f"begin with: claw agent -m {name}")
        self._conversation.model = model

    async def models(self) -> list[str]:
        """What the provider offers; empty where it can not say."""
        return await self.agent.provider.models()

    def list_known_models(self) -> tuple[str, ...]:
        """What it offered when it was asked the last time, by anybody."""
        found = load_models(
            self._state / FILE, display_name(self.choice.provider_name),
            float("inf"))
        return () if found is None else found.models

    def turn_cost(self, turn_id: str) -> float | None:
        """What a turn cost, None where that is not known."""
        return self._parts.ledger.turn_cost(turn_id)

    def list_spoken(self) -> list[SpokenMessage]:
        """What was said so far, as people read it."""
        return [spoken for message in self._conversation.messages
                for spoken in read_message(message)]

    def find_last_question(self) -> str | None:
        """What the person asked last, as it was written."""
        start = _find_last_turn(self._conversation.messages)
        return None if start is None else next(read_message(
            self._conversation.messages[start])).text

    def take_back(self) -> Exchange | None:
        """Take the last question and its answer out of the conversation
        and out of what is kept of it; None where nothing was asked."""
        messages, question = (self._conversation.messages,
                              self.find_last_question())
        start = _find_last_turn(messages)
        if start is None or question is None:
            return None
        taken = tuple(messages[start:])
        del messages[start:]
        records: list[dict[str, Any]] = []
        if self._store is not None and not self._fresh:
            kept = self._store.load(self.session)
            end = _find_last_turn([_read_record(one) for one in kept])
            records = kept[end:] if end is not None else []
            self._store.replace(self.session, kept[:end])
        entry = self._parent
        self._parent = self._earlier.pop() if self._earlier \
            else self._find(LogWriter.find_parent, entry)
        self.last = None
        return Exchange(question, taken, tuple(records),
                        messages[-1] if messages else None, entry)

    def put_back(self, taken: Exchange) -> None:
        """Undo `take_back`, in place of what was said since."""
        messages = self._conversation.messages
        if messages and messages[-1] is not taken.before:
            self.take_back()
        messages.extend(taken.messages)
        self._go_on_from(taken.entry)
        if self._store is not None and not self._fresh:
            self._store.append(self.session, taken.records)

    def resume(self, tree: Tree, cid: str) -> None:
        """Go on from an entry of the log. Raises NotFoundError,
        StorageError."""
        self._resume(*read_chain(
            tree, cid, self.agent.settings.max_history_messages))

    def _resume(self, history: list[ConversationMessage],
                parent: str | None) -> None:
        self._conversation.begin(self.agent.system_prompt(self.agent.tools))
        self._conversation.seed(history)
        self._conversation.trim(self.agent.settings.max_history_messages)
        self._parent = parent

    def _find(self, look: Callable[[LogWriter, str], str | None],
              name: str | None) -> str | None:
        """An entry of the log; None also where it can't be read, as its
        keeping will say."""
        if self._log is None or name is None:
            return None
        try:
            return look(self._log, name)
        except (StorageError, UnavailableError):
            return None

    def _keep(self, message: ConversationMessage) -> None:
        """Write each message as it is said; the first of a fresh
        conversation replaces what was kept under the name."""
        if self._record is not None:
            self._record.said.append(message)
        if self._store is None:
            return
        if self._fresh:
            self._store.replace(self.session, [
                encode(one) for one in self._conversation.messages
                if not is_system(one)])
        else:
            self._store.append(self.session, [encode(message)])
        self._fresh = False


def _read_record(record: dict[str, Any]) -> ConversationMessage | None:
    try:
        return decode(record)
    except StorageError:
        return None


def _find_last_turn(messages: Sequence[ConversationMessage | None]
                    ) -> int | None:
    """Where the last question stands."""
    return next((number for number in reversed(range(len(messages)))
                 if (one := messages[number]) is not None
                 and starts_turn(one)), None)


@asynccontextmanager
async def open_chat(tree: Tree, options: ChatOptions
                    ) -> AsyncIterator[ChatSession]:
    """A conversation with all that it stands on, open until the end."""
    async with open_parts(tree, options) as parts:
        keeps = options.keep and tree.places.trusted
        if not keeps:
            parts.agent.auto_save = False
        log = open_log(tree, parts.redactor) if keeps else None
        with closing(log) if log is not None else nullcontext():
            chat = ChatSession(
                parts, open_sessions(tree.places, parts.redactor)
                if tree.places.trusted else None, options,
                tree.places.workspace / "state", log)
            if options.cid is not None:
                chat.resume(tree, options.cid)
            try:
                if not options.use_memory or not tree.places.trusted:
                    yield chat
                    return
                async with maintain_beside(tree, chat.session, options):
                    yield chat
            finally:
                await chat.end_session()


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
