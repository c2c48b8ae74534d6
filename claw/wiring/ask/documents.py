"""The documents of a question (`--docs`)."""

import asyncio
from collections.abc import Sequence
from typing import Any

from claw.agent.rounds.outcome import TurnResult
from claw.config.tree import Tree
from claw.core.provider import NO_ANSWER, Passage
from claw.core.value import Value, replace
from claw.wiring.ask.question import Question, Watch


class Documents(Value):
    """What was found in documents: for the turn, for a model, and as the
    answer names it. `best` is what fits best, where that fits well."""

    passages: Sequence[Passage] = ()
    best: Sequence[Passage] = ()
    text: str = ""
    sources: Sequence[dict[str, Any]] = ()


async def find_documents(tree: Tree, question: Question, watch: Watch
                          ) -> Documents:
    if question.docs is None:
        return Documents()
    from claw.wiring.memory import documents
    found = await asyncio.to_thread(
        documents.find_passages, tree, question.docs, question.prompt,
        watch.notify)
    return Documents(documents.build_passages(found),
                      documents.choose_best(found),
                      documents.render_documents(question.docs, found),
                      [one.to_json() for one in found])


def quote_best(result: TurnResult, documents: Documents) -> TurnResult:
    """Where no sentence holds the words of the question, the passage of
    the documents that fits best is quoted: it may say it in others."""
    if result.finish_reason != NO_ANSWER or not documents.best:
        return result
    from claw.providers.offline.quotes import render_quotes
    return replace(result, text=render_quotes(documents.best),
                   finish_reason="stop")


