"""One question, one answer: what `claw ask` and `claw.ask` do."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing, closing
from typing import Any

from claw.agent.conversation import Conversation
from claw.agent.events import Event
from claw.agent.history import encode
from claw.agent.outcome import TurnOptions, TurnResult
from claw.agent.prompt import PromptContext
from claw.agent.schema_answer import check_answer
from claw.agent.turn import Agent
from claw.config.places import locate
from claw.config.tree import Tree, load
from claw.core.errors import StorageError, UnavailableError, UsageError
from claw.core.images import MARK
from claw.core.provider import Passage
from claw.core.registry import load_dotted
from claw.core.turn import Approves, TurnContext
from claw.core.value import Value, replace
from claw.providers.choice import Choice
from claw.wiring.agent import AgentParts, build_agent, owners_turn
from claw.wiring.answer_json import answer_json
from claw.wiring.ledger import Book, book_of
from claw.wiring.memory import memory_on_demand
from claw.wiring.providers import providers_of
from claw.wiring.rehearsal import (
    Rehearsal,
    Rehearsed,
    rehearsed,
    request_as_json,
)
from claw.wiring.response_cache import cached
from claw.wiring.sessions import earlier, sessions_of

_IMAGES = "claw.wiring.images:images_of"
# The session that keeps the last question, for `--continue`.
LAST = "ask"


class Question(Value):
    """Everything that one question may say.

    `passages` are piped text and files: they stand under the prompt.
    `images` are image markers with data: URLs in them; one in `prompt` may
    name a file of the workspace too. `session` None keeps the turn as the last
    question; `keep` False keeps nothing. `temperature` None is that of the
    settings.
    """

    prompt: str
    passages: Sequence[Passage] = ()
    images: Sequence[str] = ()
    provider: str | None = None
    model: str | None = None
    system: str | None = None
    temperature: float | None = None
    tools: Sequence[str] = ()
    use_memory: bool = True
    session: str | None = None
    continued: bool = False
    keep: bool = True
    schema: dict[str, Any] | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    approve_all: bool = False
    max_cost_usd: float | None = None


class Watch(Value):
    """Who hears of a running question; nobody by default."""

    on_event: Callable[[Event], None] = lambda _: None
    on_choice: Callable[[Choice], None] = lambda _: None
    notify: Callable[[str], None] = lambda _: None
    approver: Approves | None = None


def ask(prompt: str, *, stdin: str | None = None,
        provider: str | None = None, model: str | None = None,
        system: str | None = None, temperature: float | None = None,
        tools: Sequence[str] = (), memory: bool = True,
        session: str | None = None, schema: dict[str, Any] | None = None,
        max_tokens: int | None = None, timeout_s: float | None = None,
        max_cost_usd: float | None = None, workspace: str | None = None,
        config_dir: str | None = None) -> dict[str, Any]:
    """The answer to a prompt, as `claw ask --json` prints it.

    `stdin` is text to put under the prompt. Nothing is kept unless a
    `session` is named. The model may cost at most `max_cost_usd`. Raises
    the errors of claw.core.errors.
    """
    if not prompt.strip() and not (stdin or "").strip():
        raise UsageError("nothing was asked", hint="give a prompt")
    passages = [Passage("stdin", stdin)] if stdin else []
    question = Question(
        prompt, passages, provider=provider, model=model, system=system,
        temperature=temperature, tools=tools, use_memory=memory,
        session=session, keep=session is not None, schema=schema,
        max_tokens=max_tokens, timeout_s=timeout_s,
        max_cost_usd=max_cost_usd)
    return answer(load(locate(config_dir, workspace)), question)


def answer(tree: Tree, question: Question,
           watch: Watch | None = None) -> dict[str, Any]:
    """Run the question to its end."""
    return asyncio.run(_limited(tree, question, watch or Watch()))


def rehearse(tree: Tree, question: Question) -> dict[str, Any]:
    """The request that `answer` would send first, as JSON."""
    try:
        asyncio.run(_limited(tree, question, Watch(), rehearsal=True))
    except Rehearsed as stopped:
        return request_as_json(stopped)
    raise AssertionError("a turn without a model call")


async def _limited(tree: Tree, question: Question, watch: Watch, *,
                   rehearsal: bool = False) -> dict[str, Any]:
    try:
        async with asyncio.timeout(question.timeout_s) as limit:
            return await _answer(tree, question, watch, rehearsal)
    except TimeoutError:
        if not limit.expired():
            raise
        raise UnavailableError(
            f"no answer within {question.timeout_s:g} s",
            hint="give it more time with --timeout") from None


async def _answer(tree: Tree, question: Question, watch: Watch,
                  rehearsal: bool) -> dict[str, Any]:
    with closing(book_of(tree, watch.notify)) as book:
        return await _answered(tree, question, watch, rehearsal, book)


async def _answered(tree: Tree, question: Question, watch: Watch,
                    rehearsal: bool, book: Book) -> dict[str, Any]:
    started = time.monotonic()
    providers = providers_of(
        tree, around=rehearsed if rehearsal else book.around,
        notify=watch.notify)
    provider, choice = await providers.open(question.provider,
                                            question.model)
    watch.on_choice(choice)
    if not rehearsal:
        provider = cached(tree, provider, watch.notify)
    async with aclosing(provider):
        if rehearsal and choice.provider_name == "offline":
            provider = Rehearsal(provider, choice)
        memory = memory_on_demand(tree, watch.notify) \
            if question.use_memory or choice.provider_name == "offline" \
            else None
        try:
            agent = _agent(tree, question, watch, choice, AgentParts(
                provider, choice.model or "", question.tools, memory,
                approver=watch.approver, approve_all=question.approve_all,
                providers=providers))
            if rehearsal:  # no other provider is asked about images either
                images = load_dotted(_IMAGES)(tree, around=Rehearsal)
                agent.images = lambda: images
            log = _Log(tree, question)
            result = await log.around(agent, question, choice, watch)
        finally:
            if memory is not None:
                memory.close()
    if question.schema is not None:
        result = replace(result, text=check_answer(
            result.text, question.schema).text)
    return answer_json(result, choice, log.name if question.keep else None,
                       time.monotonic() - started,
                       book.turn_cost(result.turn_id))


def _agent(tree: Tree, question: Question, watch: Watch, choice: Choice,
           parts: AgentParts) -> Agent:
    tools = list(question.tools)
    if choice.provider_name == "offline":
        # it remembers and looks things up by itself
        tools += [name for name in ("memory_store", "memory_recall",
                                    "memory_forget") if name not in tools]
    agent = build_agent(tree, replace(parts, tools=tools))
    if question.system:
        agent.prompt = PromptContext(custom=question.system)
    agent.memory = parts.memory if question.use_memory else None
    agent.auto_save = False
    return agent


def message_text(question: Question, choice: Choice) -> str:
    """The prompt with the passages and images under it.

    The offline provider reads the passages as they are.
    """
    parts = [question.prompt]
    if choice.provider_name != "offline":
        parts += [p.text if p.source == "stdin"
                  else f"{p.source.partition(':')[2]}:\n{p.text}"
                  for p in question.passages]
    parts += question.images
    return "\n\n".join(part for part in parts if part)


class _Log:
    """The session of a question: what came before, and keeping it."""

    def __init__(self, tree: Tree, question: Question) -> None:
        self._store = sessions_of(tree.places)
        self._question = question
        self.name = question.session or LAST
        self._goes_on = question.continued or question.session is not None

    async def around(self, agent: Agent, question: Question,
                     choice: Choice, watch: Watch) -> TurnResult:
        """Run the turn and keep what was said."""
        conversation = Conversation(
            earlier(self._store, self.name, watch.notify)
            if self._goes_on else [])
        conversation.trim(agent.settings.max_history_messages)
        said: list[dict[str, Any]] = []
        conversation.on_push = lambda message: said.append(encode(message))
        asked = await _with_images(agent, question, watch)
        try:
            result = await agent.turn(
                message_text(asked, choice), conversation=conversation,
                context=_context(question, self.name),
                on_event=watch.on_event,
                options=TurnOptions(
                    passages=question.passages,
                    max_tokens=question.max_tokens,
                    response_schema=question.schema,
                    question=question.prompt,
                    temperature=question.temperature, stamp=False))
        except Rehearsed:
            raise
        except (Exception, asyncio.CancelledError):  # Ctrl-C, --timeout
            if question.session and question.keep:
                await _keep_images(agent, asked, watch)
                self._store.append(self.name, said)
            raise
        if question.keep:
            await _keep_images(agent, asked, watch)
            write = self._store.append if self._goes_on \
                else self._store.replace
            try:
                write(self.name, said)
            except StorageError as error:
                if self._goes_on:
                    raise
                watch.notify("this question can't be kept for --continue: "
                             f"{error.message}")
        return result


def _context(question: Question, session: str) -> TurnContext:
    context = owners_turn("ask", session)
    context.max_cost_usd = question.max_cost_usd
    return context


async def _with_images(agent: Agent, question: Question, watch: Watch
                       ) -> Question:
    """The question with references in its markers."""
    if agent.images is None or not _has_images(question):
        return question
    own, *images = [await agent.images().taken(text, watch.on_event)
                    for text in (question.prompt, *question.images)]
    return replace(question, prompt=own, images=images)


def _has_images(question: Question) -> bool:
    return bool(question.images) or MARK in question.prompt


async def _keep_images(agent: Agent, question: Question, watch: Watch
                       ) -> None:
    """Where `--continue` finds them. A disk that is full costs the images
    of the next question, not this answer."""
    if agent.images is None or not _has_images(question):
        return
    try:
        await asyncio.to_thread(agent.images().keep)
    except StorageError as error:
        watch.notify(f"the images can't be kept: {error.message}")
