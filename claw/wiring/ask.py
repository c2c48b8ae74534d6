"""One question, one answer: what `claw ask` and `claw.ask` do.

The story: open the parts (`open_parts`), load what was said before, run
one turn, keep what was said, give the answer as JSON.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from claw.agent.conversation import Conversation
from claw.agent.events import Event, TextDelta
from claw.agent.history import encode
from claw.agent.outcome import TurnOptions, TurnResult
from claw.agent.structured.answer import check_answer
from claw.config.places import locate
from claw.config.tree import Tree, load
from claw.core.errors import (
    ConfigError,
    StorageError,
    UnavailableError,
    UsageError,
)
from claw.core.images import MARK
from claw.core.provider import NO_ANSWER, Passage
from claw.core.turn import Approves
from claw.core.value import Value, replace
from claw.providers.catalog.choice import Choice
from claw.providers.factory import OFFLINE
from claw.storage.sessions import SessionStore
from claw.wiring.compose import (
    AgentOptions,
    Parts,
    build_owners_turn,
    open_parts,
)
from claw.wiring.dry_run import CallStopped, request_as_json
from claw.wiring.sessions import load_history, open_sessions
from claw.wiring.trust import settle_trust

# The session that keeps the last question, for `--continue`.
LAST = "ask"


class Question(Value):
    """Everything that one question may say.

    `passages` are piped text and files: they stand under the prompt.
    `images` are image markers with data: URLs in them; one in `prompt` may
    name a file of the workspace too. `session` None keeps the turn as the last
    question; `keep` False keeps nothing. `temperature` None is that of the
    settings. `docs` names documents to answer from (claw memory index).
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
    docs: str | None = None


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
        max_cost_usd: float | None = None, docs: str | None = None,
        workspace: str | None = None,
        config_dir: str | None = None) -> dict[str, Any]:
    """The answer to a prompt, as `claw ask --json` prints it.

    `stdin` is text to put under the prompt. Nothing is kept unless a
    `session` is named. The model may cost at most `max_cost_usd`. `docs`
    names documents to answer from. Raises the errors of claw.core.errors.
    """
    if not prompt.strip() and not (stdin or "").strip():
        raise UsageError("nothing was asked", hint="give a prompt")
    passages = [Passage("stdin", stdin)] if stdin else []
    question = Question(
        prompt, passages, provider=provider, model=model, system=system,
        temperature=temperature, tools=tools, use_memory=memory,
        session=session, keep=session is not None, schema=schema,
        max_tokens=max_tokens, timeout_s=timeout_s,
        max_cost_usd=max_cost_usd, docs=docs)
    places = settle_trust(locate(config_dir, workspace),
                          adopts=question.keep)
    return answer(load(places), question)


def answer(tree: Tree, question: Question,
           watch: Watch | None = None) -> dict[str, Any]:
    """The answer, as `claw ask --json` prints it. Nothing is kept in a
    workspace that does not count, nor gone on with."""
    if not tree.places.trusted:
        question = replace(question, keep=False, continued=False,
                           session=None)
    return asyncio.run(_answer_in_time(tree, question, watch or Watch()))


def describe_request(tree: Tree, question: Question) -> dict[str, Any]:
    """The request that `answer` would send first, as JSON."""
    try:
        asyncio.run(_answer_in_time(tree, question, Watch(), dry_run=True))
    except CallStopped as stopped:
        return request_as_json(stopped)
    raise AssertionError("a turn without a model call")


async def _answer_in_time(tree: Tree, question: Question, watch: Watch, *,
                          dry_run: bool = False) -> dict[str, Any]:
    started = time.monotonic()
    options = AgentOptions(
        question.provider, question.model, question.system, question.tools,
        # it remembers and looks things up by itself
        offline_tools=("memory_store", "memory_recall", "memory_forget"),
        use_memory=question.use_memory, identity=False,
        approver=watch.approver, approve_all=question.approve_all,
        dry_run=dry_run, notify=watch.notify, on_choice=watch.on_choice)
    try:
        async with asyncio.timeout(question.timeout_s) as limit, \
                open_parts(tree, options) as parts:
            return await _run_turn(tree, parts, question, watch, started)
    except TimeoutError:
        if not limit.expired():
            raise
        raise UnavailableError(
            f"no answer within {question.timeout_s:g} s",
            hint="give it more time with --timeout") from None


async def _run_turn(tree: Tree, parts: Parts, question: Question,
                    watch: Watch, started: float) -> dict[str, Any]:
    """One turn of the agent, kept in its session."""
    agent = parts.agent
    agent.auto_save = False
    documents = await _find_documents(tree, question, watch)
    log = _SessionLog(open_sessions(tree.places, parts.redactor), question,
                      watch)
    conversation = log.begin(agent.settings.max_history_messages)
    question = await _take_images(parts, question, watch)
    context = build_owners_turn("ask", log.name)
    context.max_cost_usd = question.max_cost_usd
    is_offline = parts.choice.provider_name == OFFLINE
    try:
        result = await agent.turn(
            format_message(question, parts.choice, documents.text),
            conversation=conversation, context=context,
            on_event=_hold_text(watch) if is_offline else watch.on_event,
            options=TurnOptions(
                passages=[*question.passages, *documents.passages],
                max_tokens=question.max_tokens,
                response_schema=question.schema, question=question.prompt,
                temperature=question.temperature, stamp=False))
    except (Exception, asyncio.CancelledError):  # Ctrl-C, --timeout
        if question.keep and (question.session or log.has_answer):
            await log.keep(parts)
        raise
    if is_offline:
        result = _quote_best(result, documents)
        _show_offline_answer(result, watch)
    if question.keep:
        await log.keep(parts)
    if question.schema is not None:
        result = replace(result, text=check_answer(
            result.text, question.schema).text)
    found = parts.answer_json(result, log.name if question.keep else None,
                              time.monotonic() - started)
    return found if question.docs is None else {
        **found, "sources": documents.sources}


class _Documents(Value):
    """What was found in documents: for the turn, for a model, and as the
    answer names it. `best` is what fits best, where that fits well."""

    passages: Sequence[Passage] = ()
    best: Sequence[Passage] = ()
    text: str = ""
    sources: Sequence[dict[str, Any]] = ()


async def _find_documents(tree: Tree, question: Question, watch: Watch
                          ) -> _Documents:
    if question.docs is None:
        return _Documents()
    from claw.wiring.memory import documents
    found = await asyncio.to_thread(
        documents.find_passages, tree, question.docs, question.prompt,
        watch.notify)
    return _Documents(documents.build_passages(found),
                      documents.choose_best(found),
                      documents.render_documents(question.docs, found),
                      [one.to_json() for one in found])


def _hold_text(watch: Watch) -> Callable[[Event], None]:
    """Events but for the text: whether it is an answer shows at the end."""
    def pass_on(event: Event) -> None:
        if not isinstance(event, TextDelta):
            watch.on_event(event)
    return pass_on


def _quote_best(result: TurnResult, documents: _Documents) -> TurnResult:
    """Where no sentence holds the words of the question, the passage of
    the documents that fits best is quoted: it may say it in others."""
    if result.finish_reason != NO_ANSWER or not documents.best:
        return result
    from claw.providers.offline.quotes import render_quotes
    return replace(result, text=render_quotes(documents.best),
                   finish_reason="stop")


def _show_offline_answer(result: TurnResult, watch: Watch) -> None:
    """Show what was quoted or computed. Raises ConfigError where there was
    nothing to answer from."""
    from claw.providers.offline import NO_MODEL, WAYS
    if result.finish_reason == NO_ANSWER:
        raise ConfigError(f"{NO_MODEL}, and neither the text that was given "
                          "nor a memory answers this",
                          hint=f"to add a model: {WAYS}")
    watch.on_event(TextDelta(result.text))


def format_message(question: Question, choice: Choice,
                   documents: str = "") -> str:
    """The prompt with the passages, documents and images under it.

    The offline provider reads the passages as they are.
    """
    parts = [question.prompt]
    if choice.provider_name != OFFLINE:
        parts += [p.text if p.source == "stdin"
                  else f"{p.source.partition(':')[2]}:\n{p.text}"
                  for p in question.passages]
        parts.append(documents)
    parts += question.images
    return "\n\n".join(part for part in parts if part)


async def _take_images(parts: Parts, question: Question, watch: Watch
                       ) -> Question:
    """The question with references in its image markers."""
    if not _has_images(question):
        return question
    own, *images = [await parts.images().take(text, watch.on_event)
                    for text in (question.prompt, *question.images)]
    return replace(question, prompt=own, images=images)


def _has_images(question: Question) -> bool:
    return bool(question.images) or MARK in question.prompt


class _SessionLog:
    """Where a question is kept, and what was said there before."""

    def __init__(self, store: SessionStore, question: Question,
                 watch: Watch) -> None:
        self._store = store
        self._notify = watch.notify
        self._has_images = _has_images(question)
        self._continues = question.continued or question.session is not None
        self._new: list[dict[str, Any]] = []
        self.name = question.session or LAST

    def begin(self, limit: int) -> Conversation:
        """The conversation so far, `limit` messages at most; what is said
        from here on is noted."""
        conversation = Conversation(
            load_history(self._store, self.name, self._notify)
            if self._continues else [])
        conversation.trim(limit)
        conversation.on_push = lambda message: self._new.append(
            encode(message))
        return conversation

    @property
    def has_answer(self) -> bool:
        """Whether the model said something."""
        return len(self._new) > 1

    async def keep(self, parts: Parts) -> None:
        """Write what was said, with its images. A disk that is full costs
        the images and the next `--continue`, not this answer; a named
        session says so: StorageError."""
        if self._has_images:
            try:
                await asyncio.to_thread(parts.images().keep)
            except StorageError as error:
                self._notify(f"the images can't be kept: {error.message}")
        if self._continues:
            self._store.append(self.name, self._new)
            return
        try:
            self._store.replace(self.name, self._new)
        except StorageError as error:
            self._notify("this question can't be kept for --continue: "
                         f"{error.message}")
