"""Questions of an exam that a model makes."""

from collections.abc import Sequence

from claw.agent.memory.exam.questions import Question
from claw.cli.invocation import Invocation
from claw.core.memory import MemoryEntry
from claw.text.language import find_language
from claw.wiring.ask.batches import Asked, ask_in_batches

_TEXT_CHARS = 600
_QUESTION_CHARS = 300
_INSTRUCTIONS = """\
For each memory of a person write one question that he may ask months later \
and that this memory alone answers: in the memory's language, in other words \
than the memory's where that is natural, without the answer in it, at most \
20 words. Leave a memory out that answers no question."""


def ask_model(run: Invocation, entries: Sequence[MemoryEntry],
              provider: str | None, model: str | None,
              max_cost: float | None) -> list[Question]:
    """The questions of a model, one a memory at most. Raises BudgetError,
    ConfigError and what the provider raises."""
    questions: list[Question] = []
    texts = [_describe(entry) for entry in entries]
    with run.out.waiting("the model makes questions"):
        for batch in ask_in_batches(
                run.settings, Asked(provider, model, max_cost),
                _INSTRUCTIONS, texts, {"question": {"type": "string"}},
                run.out.note):
            for said in batch:
                entry = entries[said["n"]]
                text = " ".join(said["question"].split())[:_QUESTION_CHARS]
                if text.strip("*"):
                    questions.append(Question(
                        entry, text, find_language(entry.content)))
            run.out.progress(f"the model has made {len(questions):,} "
                             f"questions")
    return questions


def _describe(entry: MemoryEntry) -> str:
    who = f"{entry.sender}: " if entry.sender else ""
    return f"{who}{entry.content[:_TEXT_CHARS]}"
