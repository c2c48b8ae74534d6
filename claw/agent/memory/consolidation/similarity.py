"""Whether one memory says what another one says already.

Words are compared as the index has them, in order: "from Oslo to Rome" is
not "from Rome to Oslo". Left out are words that only say whom a statement
is about ("I", "the user", "사용자는", "用户"), since a fact made from a
message speaks of the person where he says "I".
"""

import re

from claw.text.segment import stem_text, tokens
from claw.text.stem import stem

_WHO_WORDS = """the a an i m ve my me mine s user users owner person is am are
be have has"""
_WHO = frozenset(_WHO_WORDS.split())
# Compiled where they are used.
_leading_who = (
    r"\s*(?:(?:用户|用戶|使用者|我)的?"
    r"|(?:사용자[는가의은이]?|[저나]는|[제내]) )")
_negation = (
    r"\b(?:no|not|never|nor|none|nobody|without|cannot|hardly)\b|n['’]t\b"
    r"|[不没沒未別别無无非]|[않못없]|아니|\b안 |ない|ません")


def content(text: str) -> list[str]:
    """The words that carry a statement, as stems, in order."""
    return [stem(word)
            for word in tokens(re.sub(_leading_who, "", text, count=1))
            if word not in _WHO]


def negations(text: str) -> int:
    """How often a text says no."""
    return len(re.findall(_negation, text, re.IGNORECASE))


def is_same(one: str, other: str) -> bool:
    """Whether two texts have the same words in the same order."""
    words = stem_text(one)
    return words == stem_text(other) if words else one == other


def says_no_more(text: str, than: str) -> bool:
    """Whether every word of a text stands in another one, in its order,
    and neither says no where the other does not."""
    words = content(text)
    if not words or negations(text) != negations(than):
        return text == than
    others = iter(content(than))
    return all(word in others for word in words)
