"""Finding and quoting: what the question is, and which passages answer it."""

import re
from collections.abc import Sequence

from claw.core.provider import ChatRequest, Passage
from claw.text.passages import best_passages

LIMIT = 3
LEAST = 0.15  # of the score; below it a match says nothing
CLOSE = 0.6   # of the best score; further passages must come near it
_STAMP = re.compile(r"\[\d{4}-\d\d-\d\d[^\]\n]{0,40}\] ?")
_FENCE = re.compile(r"\s*(?:```\w*|</?\w+[^>]*>|---+)\s*\Z")
_CONTEXT = "[Memory context]\n"
_ENTRY = re.compile(r"- \[[^\]]*\] (.+?): (.*)\Z")
_QUESTION = re.compile(r"(?:(?![.!]\s|[。！\n]).)*[?？]\Z")
_SCORE = re.compile(r" \[\d+%\]\s*\Z")


def bare_question(request: ChatRequest) -> str:
    """What the person wrote last: without recalled memories, the time in
    front, and the piped text below."""
    text = next((m.content for m in reversed(request.messages)
                 if m.role == "user"), "")
    if text.startswith(_CONTEXT):
        text = text.partition("\n\n")[2]
    stamp = _STAMP.match(text)
    if stamp:
        text = text[stamp.end():]
    for passage in request.passages:
        if is_given(passage) and passage.text.strip():
            text = text.replace(passage.text, "", 1).replace(
                passage.text.strip(), "", 1)
    lines = text.rstrip().split("\n")
    while len(lines) > 1 and (not lines[-1].strip()
                              or _FENCE.match(lines[-1])):
        lines.pop()
    return "\n".join(lines).strip()


def is_given(passage: Passage) -> bool:
    """Whether a passage was piped or attached, not recalled."""
    return not passage.source.startswith("memory:")


def given_text(passages: Sequence[Passage]) -> str | None:
    """All text that was piped or attached, None where there is none."""
    found = [p.text for p in passages if is_given(p)]
    return "".join(found) if found else None


def find_matches(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """The passages that answer best, best first. Given text goes before
    memories: it is what the question is about."""
    given = [p for p in passages if is_given(p)]
    recalled = [p for p in passages if not is_given(p)
                and not only_asks(p.text, question)]
    for each in (given, recalled):
        scored = best_passages(question, each, LIMIT)
        if scored and scored[0][0] >= LEAST:
            least = max(LEAST, scored[0][0] * CLOSE)
            return [p for score, p in scored if score >= least]
    return []


def only_asks(text: str, question: str = "") -> bool:
    """Whether a memory is a question, or this very one: it tells nothing."""
    text = text.strip()
    return text == question.strip() or _QUESTION.match(text) is not None


def render_quotes(passages: Sequence[Passage]) -> str:
    """Passages as quotations, each with its source."""
    return "\n\n".join(
        "\n".join(f"> {line}" for line in _lines(p.text))
        + f"\n— {source_name(p.source)}" for p in passages)


def _lines(text: str) -> list[str]:
    lines = [line.rstrip("\r") for line in text.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    return lines


def source_name(source: str) -> str:
    """ "memory:colour" as "memory colour"."""
    kind, mark, name = source.partition(":")
    return f"{kind} {name}" if mark else source


def parse_memories(answer: str) -> list[Passage]:
    """The memories in what memory_recall answered: lines of
    `- [category] key: content [85%]`, where content may have more lines."""
    found: list[Passage] = []
    for line in answer.split("\n"):
        match = _ENTRY.match(line)
        if match:
            found.append(Passage(f"memory:{match[1]}", match[2]))
        elif found:
            last = found[-1]
            found[-1] = Passage(last.source, f"{last.text}\n{line}")
    return [Passage(p.source, _SCORE.sub("", p.text)) for p in found]


def count_units(unit: str, text: str) -> int:
    """How many lines, words, characters or bytes a text has."""
    if unit == "lines":
        return text.count("\n") + (bool(text) and not text.endswith("\n"))
    if unit == "words":
        return len(text.split())
    if unit == "bytes":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text)
