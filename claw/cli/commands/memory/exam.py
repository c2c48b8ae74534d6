"""claw memory exam: how well the memory finds what it holds."""

import asyncio
import random
from datetime import UTC, datetime
from typing import Annotated

import typer

from claw.agent.memory.exam.ask import ask_all, explain_miss, hardest
from claw.agent.memory.exam.questions import Question, make_question
from claw.agent.memory.exam.report import sum_up
from claw.agent.memory.exam.sample import Sample, draw_sample
from claw.cli.commands.memory import exam_view
from claw.cli.commands.memory.common import (
    CategoryOption,
    Progress,
    SessionOption,
    clean_category,
    show_progress,
)
from claw.cli.commands.memory.exam_view import Exam
from claw.cli.commands.memory.sparing import open_sparing
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import (
    JudgeCostOption,
    JudgeOption,
    JudgeProviderOption,
)
from claw.core.errors import UsageError
from claw.core.memory import Filters, Memory, RestoresMemories
from claw.memory.search.filters import build_test
from claw.memory.settings import MemorySettings

_HARDEST = 10


@examples("claw memory exam", "claw memory exam --rows 1000 --category core",
          "claw memory exam --json | jq '.lines[0]'",
          "claw memory exam -m MODEL --max-cost 0.05")
def exam(
        context: typer.Context,
        rows: Annotated[int, typer.Option(
            "--rows", metavar="N", min=1,
            help="Number of memories to ask for.")] = 200,
        seed: Annotated[int, typer.Option(
            "--seed", metavar="N",
            help="Seed: the same number picks the same memories and "
                 "questions.")] = 0,
        category_name: CategoryOption = None,
        session: SessionOption = None,
        timeout: Annotated[float, typer.Option(
            "--timeout", metavar="SECONDS", min=0.01,
            help="Seconds to ask for at most; what was asked by then is "
                 "reported.")] = 120.0,
        vectors: Annotated[bool, typer.Option(
            "--vectors", help="Let a server make the vectors of the "
            "questions, though that costs money.")] = False,
        model: JudgeOption = None,
        provider: JudgeProviderOption = None,
        max_cost: JudgeCostOption = None,
        ) -> None:
    """Measure how many memories are found again.

    Questions are made of the memories by rule, or by a model where -m or -p
    names one (it is sent what they say). Prints how many memories come back
    first, among the first 5 and 10, and are shown to a chat, by age,
    category and language, and which are hard to find and why. Changes
    nothing. By rule a memory is asked for in its own words: that tells
    whether it can be found at all, not whether other words would find it.
    """
    run = Invocation.of(context)
    by_model = model is not None or provider is not None
    if max_cost is not None and not by_model:
        raise UsageError("--max-cost without a model",
                         hint="name one with -m or -p")
    filters = Filters(clean_category(category_name), session)
    with open_sparing(run, vectors=vectors) as memory:
        sample = _draw(memory, rows, seed, filters)
        questions = _make(sample, seed)
        if by_model:
            from claw.cli.commands.memory.model_questions import ask_model
            questions = ask_model(run, sample.entries, provider, model,
                                  max_cost)
        done = _examine(run, memory, sample, questions, seed, session,
                        timeout, by_model=by_model)
    exam_view.show(run, done)


def _draw(memory: Memory, rows: int, seed: int, filters: Filters) -> Sample:
    entries = memory.entries() if isinstance(memory, RestoresMemories) \
        else memory.list()
    return draw_sample(show_progress(entries, "reading memories",
                                     total=memory.count()),
                       rows, seed, build_test(filters))


def _make(sample: Sample, seed: int) -> list[Question]:
    """The questions by rule, of the memories that say enough for one."""
    return [question for entry in sample.entries
            if (question := make_question(
                entry, sample.rarity, random.Random(f"{seed}:{entry.key}")))
            is not None]


def _examine(run: Invocation, memory: Memory, sample: Sample,
             questions: list[Question], seed: int, session: str | None,
             timeout: float, *, by_model: bool) -> Exam:
    min_score = run.settings.decode(
        "memory", MemorySettings).min_relevance_score
    with Progress("asking", len(questions), quiet=run.out.quiet) as bar:
        results = asyncio.run(ask_all(
            memory, questions, min_score=min_score, session=session,
            timeout_s=timeout, progress=bar.update))
    worst = [(one, explain_miss(memory, one, min_score=min_score,
                                session=session))
             for one in hardest(results, _HARDEST)]
    return Exam(sample.total, sample.hidden, len(sample.entries),
                len(questions), seed, "model" if by_model else "rule",
                min_score, sum_up(results, datetime.now(UTC)), worst)
