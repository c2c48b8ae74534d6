"""One question, one answer.

The story: open the parts (`open_parts`), load what was said before, run
one turn, keep what was said, give the answer as JSON.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from typing import Any

from claw.agent.conversation import Conversation
from claw.agent.rounds.events import Event, TextDelta
from claw.agent.rounds.outcome import TurnOptions, TurnResult
from claw.config.tree import Tree
from claw.core.errors import ConfigError, TimeLimitError
from claw.core.provider import NO_ANSWER
from claw.core.value import replace
from claw.providers.catalog.choice import Choice
from claw.providers.cost.budget import SharedBudget
from claw.providers.factory import OFFLINE
from claw.wiring.ask.documents import (
    Documents,
    find_documents,
    quote_best,
)
from claw.wiring.ask.dry_run import CallStopped, request_as_json
from claw.wiring.ask.kept import KeptQuestion
from claw.wiring.ask.question import LAST, Question, Watch
from claw.wiring.compose import (
    AgentOptions,
    Parts,
    build_owners_turn,
    open_parts,
)


def answer(tree: Tree, question: Question,
           watch: Watch | None = None) -> dict[str, Any]:
    """The answer, as `claw ask --json` prints it. Nothing is kept in a
    workspace that does not count, nor gone on with."""
    if not tree.places.trusted:
        question = replace(question, keep=False, continued=False,
                           session=None, cid=None)
    return asyncio.run(_answer_in_time(tree, question, watch or Watch()))


def describe_request(tree: Tree, question: Question) -> dict[str, Any]:
    """The request that `answer` would send first, as JSON."""
    question = replace(question, keep=False)
    try:
        asyncio.run(_answer_in_time(tree, question, Watch(), dry_run=True))
    except CallStopped as stopped:
        return request_as_json(stopped)
    raise AssertionError("a turn without a model call")


async def _answer_in_time(tree: Tree, question: Question, watch: Watch, *,
                          dry_run: bool = False) -> dict[str, Any]:
    started = time.monotonic()
    async with limit_time(question.timeout_s), open_parts(
            tree, build_options(question, watch, dry_run=dry_run)) as parts:
        return await run_turn(tree, parts, question, watch, started)


def build_options(question: Question, watch: Watch, *,
                  dry_run: bool = False) -> AgentOptions:
    """What a question wants of the agent."""
    return AgentOptions(
        question.provider, question.model, question.system, question.tools,
        # it remembers and looks things up by itself
        offline_tools=("memory_store", "memory_recall", "memory_forget"),
        use_memory=question.use_memory, identity=False,
        approver=watch.approver, approve_all=question.approve_all,
        keep=question.keep, dry_run=dry_run, notify=watch.notify,
        on_choice=watch.on_choice, before_writing=watch.before_writing)


@asynccontextmanager
async def limit_time(seconds: float | None) -> AsyncIterator[None]:
    """Raises TimeLimitError for what takes longer."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimeLimitError(
            f"no answer within {seconds:g} s",
            hint="give it more time with --timeout") from None


async def run_turn(tree: Tree, parts: Parts, question: Question,
                   watch: Watch, started: float) -> dict[str, Any]:
    """One turn of the agent, kept where the question says."""
    agent = parts.agent
    agent.auto_save = False
    documents = await find_documents(tree, question, watch)
    with closing(KeptQuestion(tree, parts, question, watch)) as kept:
        conversation = kept.load(agent.settings.max_history_messages)
        question = await _take_images(parts, question, watch)
        async with _in_session(parts, question):
            result = await _ask_agent(parts, question, watch, documents,
                                      kept, conversation)
    if question.schema is not None:
        result = replace(result, text=_check_text(result.text, question))
    found = parts.answer_json(
        result, question.session if question.keep else None,
        time.monotonic() - started)
    return found if question.docs is None else {
        **found, "sources": documents.sources}


@asynccontextmanager
async def _in_session(parts: Parts, question: Question
                      ) -> AsyncIterator[None]:
    """Hooks hear of a question in a conversation that goes on, as of a
    session of its own."""
    hooks, name = parts.agent.hooks, question.session or (
        LAST if question.continued or question.cid else "")
    if hooks is None or not name:
        yield
        return
    await hooks.on_session_start(name, "ask")
    try:
        yield
    finally:
        await hooks.on_session_end(name, "ask")


async def _ask_agent(parts: Parts, question: Question, watch: Watch,
                     documents: Documents, kept: KeptQuestion,
                     conversation: Conversation) -> TurnResult:
    """The turn itself, written down before it begins and when it ends."""
    context = build_owners_turn("ask", question.session or LAST)
    context.max_cost_usd = question.max_cost_usd
    if question.budget is not None:
        context.budget = question.budget
        context.session_id = question.budget.name
    elif question.max_cost_usd is not None:
        context.budget = SharedBudget(
            context.turn_id, question.max_cost_usd, shortens=True,
            hint="ask for less at once, choose a cheaper model with -m, or "
                 "raise --max-cost")
    is_offline = parts.choice.provider_name == OFFLINE
    message = format_message(question, parts.choice, documents.text)
    kept.begin(context, question, message, conversation,
               at_once=not is_offline)
    try:
        result = await parts.agent.turn(
            message, conversation=conversation, context=context,
            on_event=_hold_text(watch) if is_offline else watch.on_event,
            options=TurnOptions(
                passages=[*question.passages, *documents.passages],
                max_tokens=question.max_tokens,
                response_schema=_choose_schema(question),
                question=question.prompt,
                options=question.options, stream=question.stream,
                temperature=question.temperature, stamp=False))
        if is_offline:
            result = quote_best(result, documents)
            if result.finish_reason == NO_ANSWER:
                kept.drop()
            _show_offline_answer(result, watch)
    except (Exception, asyncio.CancelledError) as error:  # Ctrl-C, --timeout
        await kept.end(None, error)
        raise
    await kept.end(result)
    return result


def _choose_schema(question: Question) -> dict[str, Any] | None:
    """The schema that the model is given."""
    if question.schema is None or not question.rows:
        return question.schema
    from claw.agent.structured.rows import wrap_rows
    return wrap_rows(question.schema)


def _check_text(text: str, question: Question) -> str:
    """The JSON in an answer. Raises RequestRefusedError where it does not
    fit the schema."""
    assert question.schema is not None
    from claw.agent.structured.answer import check_answer
    from claw.agent.structured.rows import check_rows
    return check_rows(text, question.schema) if question.rows \
        else check_answer(text, question.schema).text


def _hold_text(watch: Watch) -> Callable[[Event], None]:
    """Events but for the text: whether it is an answer shows at the end."""
    def pass_on(event: Event) -> None:
        if not isinstance(event, TextDelta):
            watch.on_event(event)
    return pass_on


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
        if question.frame:
            parts = [question.piped.join(question.frame)]
        parts += [p.text if p.source == "stdin"
                  else f"{p.source.partition(':')[2]}:\n{p.text}"
                  for p in question.passages
                  if not (question.frame and p.source == "stdin")]
        parts.append(documents)
    parts += question.images
    return "\n\n".join(part for part in parts if part)


async def _take_images(parts: Parts, question: Question, watch: Watch
                       ) -> Question:
    """The question with references in its image markers."""
    if not question.has_images:
        return question
    async def take(texts: Sequence[str]) -> list[str]:
        return [await parts.images().take(text, watch.on_event)
                for text in texts]
    own = await take(question.frame or [question.prompt])
    return replace(question, prompt="".join(own),
                   frame=own if question.frame else (),
                   images=await take(question.images))
