"""What kind of answer a question wants, and which memories are of it.

A question about oneself wants what one said: a statement rather than a
reply, a preference where it asks for advice, a denial where it asks whether
("Have I ever ...": the one memory that says "never" is half of the answer).
A question for what was recommended wants the reply. What an owner asked to
have done always ("... when I ask about deadlines") answers no question, but
belongs beside the answer.

Weights were chosen on BEAM 100K (bench/beam.py); sets without such
questions don't change.
"""

import re

import msgspec

from claw.memory.search.scoring import (
    Row,
    Term,
    build_term,
    is_first_person,
)

# A question about oneself asks for what one said, not for what was replied.
REPLY = 0.6
ASSISTANT = "assistant"
FIRST_PERSON = 1.3
PREFERENCE = 2.0
DENIAL = 1.6
# An instruction that always holds gains, but stands behind an answer.
INSTRUCTION, BEHIND = 3.0, 0.7

# Compiled where they are used, behind a word that they need: half a
# millisecond each.
_OF_REPLY = (
    r"\b(?:did|have|had) you\b|\byour? (?:\w+ )?(?:said|told|recommended"
    r"|recommendation|suggested|suggestion|advi[sc]ed?|mentioned|explained"
    r"|gave|proposed|listed|described)\b|\bhast du\b|\bdu (?:\w+ )?(?:gesagt"
    r"|empfohlen|vorgeschlagen)\b|你(?:说|說|推荐|推薦|建议|建議)[过過了]")
_ADVICE = (
    r"\b(?:recommend|suggest|advi[sc]e|should i|help me|tips?|ideas?"
    r"|(?:can|could|would|do) you|walk me through"
    r"|how (?:can|do|would|could) i"
    r"|i(?:['’]m| am) (?:planning|thinking|looking|about|trying)"
    r"|i want|i need|soll(?:te)? ich|empfiehl\w*|kannst du|wie kann ich)\b"
    r"|추천|推荐|推薦|おすすめ|建议|建議")
_ADDRESSED = r"\byou\b|\bdu\b|[你您]|주세요"
_ADDRESSES = ("you", "du", "你", "您", "주세요")
_WHETHER = r"\A\W*(?:(?:have|did|do|am|was|had) i|habe ich|bin ich)\b"
# Read in every candidate: a tenth of what a pattern costs.
_PREFERENCES = (
    "prefer", "favorite", "favourite", "i'd rather", "i’d rather", *(
        f"i {how}{verb} " for how in ("", "really ") for verb in (
            "like", "love", "enjoy", "hate", "dislike")),
    "am liebsten", "lieber ", "ich mag ", "ich liebe ", "ich hasse ",
    "bevorzuge", "좋아", "싫어", "선호", "喜欢", "喜歡", "讨厌", "討厭",
    "好き", "嫌い")
_DENIAL = (
    r"\bi(?:['’](?:ve|m)| have| am)? (?:\w+ )?(?:never|not)\b"
    r"|\bi (?:have|did|do)n['’]t\b|\bich \w+ (?:noch )?nie\b")
_INSTRUCTION = (
    r"\W*(?:please,? |bitte )?(?:(?:always|never)\b.{3,200}\b(?:when(?:ever)?"
    r"|if|every time) i\b|from now on\b|whenever i\b|immer\b.{3,200}\bwenn"
    r" ich\b|(?:ab jetzt|ab sofort|von nun an)\b|从现在起|從現在起|当我问"
    r"|當我問|每次我问|每次我問)")


_ALWAYS_WHEN = tuple(map(build_term, ("always", "when", "ask")))
_PREFER = tuple(map(build_term, ("prefer",)))


class Intent(msgspec.Struct, frozen=True):
    """What a question asks for."""

    wants_own_words: bool
    wants_advice: bool
    asks_whether: bool

    @property
    def marks(self) -> list[tuple[Term, ...]]:
        """Words that rows of the kind hold: those that hold all of one of
        these, and a word of the question, are candidates as well."""
        return [_ALWAYS_WHEN, *([_PREFER] if self.wants_advice else [])]

    def weigh(self, row: Row) -> dict[str, float]:
        """What a row gains or loses by being of the kind: factors, by
        name."""
        found = {}
        if row.sender == ASSISTANT:
            if self.wants_own_words:
                found["reply"] = REPLY
            return found
        if self.wants_own_words and is_first_person(row.head):
            found["first_person"] = FIRST_PERSON
        if self.wants_advice and _states_preference(row.head):
            found["preference"] = PREFERENCE
        if self.asks_whether and re.search(_DENIAL, row.head, re.IGNORECASE):
            found["denial"] = DENIAL
        if is_instruction(row):
            found["instruction"] = INSTRUCTION
        return found


def read_intent(query: str) -> Intent:
    """The intent of a question."""
    def holds(pattern: str) -> bool:
        return re.search(pattern, query, re.IGNORECASE) is not None
    is_about_self = is_first_person(query)
    lowered = query.lower()
    may_address = any(word in lowered for word in _ADDRESSES)
    wants_reply = may_address and holds(_OF_REPLY)
    # What one recommends to another is no advice to whom asks.
    is_between_us = is_about_self \
        or (may_address and holds(_ADDRESSED))
    return Intent(is_about_self and not wants_reply,
                  is_between_us and not wants_reply and holds(_ADVICE),
                  " i" in lowered and holds(_WHETHER))


def _states_preference(text: str) -> bool:
    text = text.lower()
    return any(words in text for words in _PREFERENCES)


def is_instruction(row: Row) -> bool:
    """Whether a row says what is always to be done."""
    return row.sender != ASSISTANT and \
        re.match(_INSTRUCTION, row.head, re.IGNORECASE) is not None


def keep_behind(scores: dict[int, float], held: set[int]) -> None:
    """Put the rows `held` behind the best of the others, where there are
    any."""
    best = max((score for rid, score in scores.items() if rid not in held),
               default=0.0)
    for rid in held:
        scores[rid] = min(scores[rid], BEHIND * (best or scores[rid] / BEHIND))
