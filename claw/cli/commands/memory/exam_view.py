"""What an exam says: a table and the memories that are hardly found, or
JSON."""

from typing import Any

from claw.agent.memory.exam.ask import Result
from claw.agent.memory.exam.report import Line
from claw.cli.commands.memory.common import (
    fit_screen,
    format_line,
    to_one_line,
)
from claw.cli.invocation import Invocation
from claw.cli.show.bars import align, lay_out
from claw.core.value import Value

_TITLES = ("", "ASKED", "FIRST", "FIRST 5", "FIRST 10", "SHOWN")
_NAMES = {"latin": "unclear"}  # Latin letters, and no word that tells
_GROUPS = 12  # of one kind in the table; JSON has all


class Exam(Value):
    """One exam. `total` memories of which `hidden` are never shown to a
    chat, `drawn` of the others, `questions` made of these; `worst` with
    why."""

    total: int
    hidden: int
    drawn: int
    questions: int
    seed: int
    made_by: str
    min_score: float
    lines: list[Line]
    worst: list[tuple[Result, str]]

    @property
    def asked(self) -> int:
        return self.lines[0].asked


def show(run: Invocation, exam: Exam) -> None:
    """Print the report; what it can't tell goes to stderr."""
    if run.as_json:
        run.out.document(_to_document(exam))
        return
    if not exam.asked:
        run.out.note(_say_nothing(exam))
        return
    run.out.result("\n".join([*_table(
        exam, run.out.columns if run.out.on_terminal else None), *(
        [fit_screen(run, _list_worst(exam))] if exam.worst else [])]))
    for note in _notes(exam):
        run.out.note(note)


def _to_document(exam: Exam) -> dict[str, Any]:
    return {
        "total": exam.total, "hidden": exam.hidden, "drawn": exam.drawn,
        "questions": exam.questions, "asked": exam.asked, "seed": exam.seed,
        "made_by": exam.made_by, "min_score": exam.min_score,
        "lines": [{"by": line.by, **line.to_json()} for line in exam.lines],
        "hardly_found": [{
            "key": one.question.entry.key,
            "category": one.question.entry.category,
            "content": one.question.entry.content,
            "question": one.question.text, "place": one.place,
            "score": one.score, "shown": one.shown, "why": why}
            for one, why in exam.worst]}


def _table(exam: Exam, columns: int | None) -> list[str]:
    """Its lines, within so many columns."""
    kinds: dict[str, list[Line]] = {}
    for line in exam.lines:
        kinds.setdefault(line.by, []).append(line)
    cells: list[tuple[str, ...]] = [_TITLES]
    for by, lines in kinds.items():
        for line in lines[:_GROUPS]:
            what = _NAMES.get(line.name, to_one_line(line.name))
            name = by if by == line.name else f"{by} {what}"
            cells.append((name, f"{line.asked:,}", *(
                f"{number / (line.asked or 1):.0%}" for number in (
                    line.first_1, line.first_5, line.first_10, line.shown))))
    numbers = range(1, len(_TITLES))
    return align(cells, numbers) if columns is None else lay_out(
        cells, columns, right=numbers, head=True)


def _list_worst(exam: Exam) -> list[str]:
    lines = ["", "these memories are hardly found:"]
    for one, why in exam.worst:
        lines += [format_line(one.question.entry),
                  f"    asked: {to_one_line(one.question.text)}",
                  f"    {to_one_line(why)}"]
    return lines


def _say_nothing(exam: Exam) -> str:
    if not exam.total:
        return "there is no memory to ask for"
    if not exam.drawn:
        return ("no memory here is ever shown to a chat, so none is asked "
                "for")
    return ("no question was asked: what the memories say is too little for "
            "one, or the time was over")


def _notes(exam: Exam) -> list[str]:
    notes = [f"asked for {exam.asked:,} of {exam.total:,} memories (seed "
             f"{exam.seed})"]
    if exam.hidden:
        notes.append(f"{exam.hidden:,} are never shown to a chat (what "
                     "programs wrote), and were not asked for")
    if exam.drawn > exam.questions:
        notes.append(f"{exam.drawn - exam.questions:,} say too little for a "
                     "question")
    if exam.questions > exam.asked:
        notes.append(f"time was over with {exam.questions - exam.asked:,} "
                     "questions left (--timeout gives more)")
    if exam.made_by == "rule":
        notes.append("the questions use the memories' own words: whether "
                     "other words would find them they can't tell (-m MODEL "
                     "asks in others)")
    return notes
