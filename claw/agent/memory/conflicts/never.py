"""A memory that says "never" beside one that tells of having done it.

"I've never done any triangle problems" and "I solved 15 triangle problems
last week" share no form. They are brought together by the words: what tells
of something done, by the same person, and holds most of what is said never
to have been, contradicts it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from claw.agent.memory.conflicts.claims import Said
from claw.core.memory import MemoryEntry
from claw.text.segment import query_terms, stem_text
from claw.text.stopwords import WEAK_WORDS

_SENTENCE = 600
LEAST, _SHARE, _MOST = 2, 0.67, 8
_NEVER = re.compile(
    r"\bI(?:['’]ve| have)? never(?: actually| really| even| yet)?"
    r"(?: had to)? (?P<what>.+?)(?= before\b| in (?:this|my)\b| and I\b| but\b"
    r"| so\b| yet\b|, |\.|$)"
    r"|\bich (?:habe|bin) (?:noch )?nie(?:mals)? (?P<wen>.+?)"
    r"(?=,|\.| und\b|$)",
    re.IGNORECASE)
# That the person has done something, is doing it, or what came of it.
_DONE = re.compile(
    r"\bI(?:['’]ve| have)\b(?! (?:never|not|to|a|an|no|any|heard"
    r"|been (?:told|asked|informed|invited|offered))\b)"
    r"|\bI (?:just |recently |already |also |even |finally |once )?"
    r"(?:(?!need\b|want|plan|tri|decid)[a-z]+ed|did|made|wrote|built|got|took|went|ran"
    r"|had|gave|found|bought|read|met|saw|won|taught|drove|ate|drank)\b"
    r"|\bafter (?:completing|doing|solving|finishing|attending|taking)\b"
    r"|\bich habe\b(?! (?:nie|noch nie|nicht|kein))|\bich bin\b.*\b(?:ge\w+)",
    re.IGNORECASE)
_CLAUSES = re.compile(
    r",? (?:but|considering|given that|since|because|especially) |, (?:and|so"
    r"|can you|could you|which|what|how|do you|are there|I['’]m|I need) ",
    re.IGNORECASE)
_NOT = re.compile(r"\b(?:never|nie|niemals|if I)\b|\bnot\b|n['’]t\b",
                  re.IGNORECASE)
_EMPTY = frozenset((
    "actual", "ever", "certain", "relat", "thing", "someth", "anyth", "yet",
    "befor", "project", "any"))


class Never(NamedTuple):
    """What someone says never to have done, as stems."""

    entry: MemoryEntry
    speaker: str
    what: frozenset[str]
    sentence: str


class Done(NamedTuple):
    """A sentence that tells of something done, as stems."""

    entry: MemoryEntry
    speaker: str
    stems: frozenset[str]
    sentence: str


def read_nevers(entry: MemoryEntry, said: Said) -> Iterator[Never]:
    for sentence in said.sentences:
        for match in _NEVER.finditer(sentence[:_SENTENCE]):
            what = _read_stems(match["what"] or match["wen"])
            if LEAST <= len(what) <= _MOST:
                yield Never(entry, said.speaker, what, match[0].strip())


def read_done(entry: MemoryEntry, said: Said) -> Iterator[Done]:
    for sentence in said.sentences:
        for part in _CLAUSES.split(sentence[:_SENTENCE]):
            if _DONE.search(part) and not _NOT.search(part):
                yield Done(entry, said.speaker, _read_stems(part),
                           part.strip())


def is_denied(done: Done, never: Never) -> bool:
    """Whether one tells of what the other says never to have been."""
    shared = len(done.stems & never.what)
    return (done.entry.key != never.entry.key
            and done.speaker == never.speaker and shared >= LEAST
            and shared >= _SHARE * len(never.what))


def _read_stems(text: str) -> frozenset[str]:
    return frozenset(
        stem for word in query_terms(text, 200)
        if word not in WEAK_WORDS and not word.isdigit()
        and (stem := stem_text(word)) not in _EMPTY)
