"""Ask a memory the questions of an exam and see what comes back.

Each question goes the way of a turn (agent/memory/recall.py), so that what
comes back is what a chat would be shown, and once more for the first ten.
Recall changes nothing in a store that is open for reading.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from claw.agent.memory.exam.questions import FRAME_WORDS, Question
from claw.agent.memory.exam.sample import CHARS
from claw.agent.memory.recall import on_thread, recall
from claw.core.memory import (
    ExplainsRecall,
    Filters,
    Memory,
    MemoryEntry,
)

FIRST = 10
# How far is looked for what was not found.
_FAR = 200
NOT_SHOWN = "not shown to a chat"


class Result(NamedTuple):
    """What came of a question: at which place (from 1) its memory came
    back, with which score, and whether a chat would have been shown it."""

    question: Question
    place: int | None
    score: float | None
    shown: bool


async def ask_all(memory: Memory, questions: Sequence[Question], *,
                  min_score: float, session: str | None,
                  timeout_s: float,
                  clock: Callable[[], float] = time.monotonic,
                  progress: Callable[[int], None] = lambda _: None
                  ) -> list[Result]:
    """The results of as many questions as can be asked in the time."""
    ends = clock() + timeout_s
    results: list[Result] = []
    for number, question in enumerate(questions, 1):
        if clock() > ends:
            break
        results.append(await _ask(memory, question, min_score, session))
        progress(number)
    return results


async def _ask(memory: Memory, question: Question, min_score: float,
               session: str | None) -> Result:
    text = question.text
    found = await on_thread(lambda: memory.recall(text, FIRST, session))
    shown = await recall(memory, text, session, min_score=min_score)
    place = next((place for place, entry in enumerate(found, 1)
                  if _answers(entry, question)), None)
    return Result(question, place,
                  found[place - 1].score if place else None,
                  any(_answers(entry, question) for entry in shown.entries))


def _answers(entry: MemoryEntry, question: Question) -> bool:
    """Its own memory, or one that says just the same."""
    return entry.key == question.entry.key \
        or entry.content[:CHARS] == question.entry.content


def hardest(results: Sequence[Result], most: int) -> list[Result]:
    """What was not found or not shown, the worst first."""
    missed = [one for one in results if one.place is None or not one.shown]
    return sorted(missed, key=lambda one: (
        -(one.place or FIRST + 1), one.score or 0.0,
        one.question.entry.key))[:most]


def explain_miss(memory: Memory, result: Result, *, min_score: float,
                 session: str | None) -> str:
    """Why a memory is hardly found, from how recall scores it."""
    parts = list(_explain(memory, result, min_score, session))
    return "; ".join(parts)


def _explain(memory: Memory, result: Result, min_score: float,
             session: str | None) -> Iterator[str]:
    held_back = _why_not_shown(result, min_score)
    if not isinstance(memory, ExplainsRecall):
        yield held_back
        return
    found = memory.explain(result.question.text, _FAR,
                           Filters(session_id=session))
    place, parts = next(
        ((place, why.parts) for place, (entry, why) in enumerate(found, 1)
         if _answers(entry, result.question)), (None, {}))
    if result.place is not None:
        yield held_back
    elif place is None:
        yield f"not among the first {_FAR}"
    else:
        yield f"place {place}"
    missed = [word for word in str(parts.get("missed", "")).split()
              if word not in FRAME_WORDS]
    if missed:
        yield f"not in it: {' '.join(missed)}"
    if place is None and not found:
        yield "none of these words is known"
    elif place is not None and result.place is None and not missed:
        yield "others hold the same words"


def _why_not_shown(result: Result, min_score: float) -> str:
    if result.place is None:
        return f"not among the first {FIRST}"
    if result.score is not None and result.score < min_score:
        return (f"found, and {NOT_SHOWN}: its score {result.score:.0%} is "
                f"below {min_score:.0%}")
    return f"found at place {result.place}, and {NOT_SHOWN}"
