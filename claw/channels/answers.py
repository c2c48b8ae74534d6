"""What people type in answer to a question, where there are no buttons.

    yes k7m3p      no k7m3p      always k7m3p      q4d8w my own words

Short enough for a phone, and no command: many chat programs take a line that
begins with "/" for one of their own. The id is always there: a
lone "yes" might have been meant for the question before. Its shape is that
of no word, so a sentence is never an answer. Pure but for the drawing.
"""

import re
import secrets
import unicodedata
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from claw.core.turn import Decision  # asyncio

Typed: TypeAlias = tuple[str, str]

# Without those that are read as another one: i l o, 0 1.
_LETTERS = "abcdefghjkmnprstuvwxyz"
_DIGITS = "23456789"
_SHAPE = r"[a-z]\d[a-z]\d[a-z]"
SIGN = "q"  # what ids of questions begin with, and those of approvals never

_SIGNS = ".,:;!。、！"
_MOST = 100  # characters of a line that decides

_TO = re.compile(r"@\S+|\S+[:,]")  # whom it is said to: "@bot", "bot:"
_DECISION = re.compile(rf"(.*?)(?<![a-z0-9])({_SHAPE})(?![a-z0-9])(.*)")
_REPLY = re.compile(
    rf"(?:(?:{_TO.pattern})\s+)?({SIGN}\d[a-z]\d[a-z])(?!\w)[:,]?(.*)",
    re.DOTALL | re.IGNORECASE)

_SAID: "dict[Decision, str]" = {
    "yes": "yes y ok okay allow approve ja oui si sí sì sim da tak evet"
           " да так 예 네 응 はい 是 好 同意 نعم हाँ",
    "no": "no n deny refuse nein non não nao nee nie hayır нет ні"
          " 아니오 아니요 아니 いいえ 否 不 不行 لا नहीं",
    "always": "always immer toujours siempre sempre zawsze altijd"
              " всегда завжди 항상 常に いつも 总是 總是 دائما हमेशा",
}
_WORDS = {word: decision for decision, words in _SAID.items()
          for word in words.split()}


def draw_id(sign: str = "") -> str:
    """A new id, k7m3p, its first letter the sign where one is given."""
    drawn = "".join(map(secrets.choice, (
        _LETTERS, _DIGITS, _LETTERS, _DIGITS, _LETTERS)))
    return sign + drawn[len(sign):]


def parse_decision(text: str) -> "tuple[str, Decision] | None":
    """(approval id, decision) of a line like "yes k7m3p", in many languages
    and either order; below it anything may stand, as a mail quotes what it
    answers. None for other text."""
    line = text.strip().partition("\n")[0]
    found = _DECISION.fullmatch(unicodedata.normalize(
        "NFKC", line).casefold()) if len(line) <= _MOST else None
    if found is None or found[2].startswith(SIGN):
        return None
    whole = f"{found[1]} {found[3]}"
    first, _, rest = whole.partition(" ")
    if _TO.fullmatch(first) and first.strip(_SIGNS) not in _WORDS:
        whole = rest
    meant = {_WORDS.get(word) for word in re.findall(
        rf"[^\s{_SIGNS}]+", whole)}
    if meant in ({"yes", "always"}, {"always"}):
        return found[2], "always"
    only = meant.pop() if len(meant) == 1 else None
    return (found[2], only) if only else None


def is_answer(text: str) -> bool:
    """Whether it answers a question, whichever that is. For channels that
    cut a message down to what counts, as to a command."""
    return parse_decision(text) is not None or parse_reply(text) is not None


def is_lone(text: str) -> bool:
    """Whether a yes or a no is all that is said."""
    return len(text) <= _MOST and unicodedata.normalize(
        "NFKC", text).casefold().strip().rstrip(_SIGNS) in _WORDS


def parse_reply(text: str) -> Typed | None:
    """(question id, the words behind it); None for other text."""
    found = _REPLY.fullmatch(text.strip())
    return None if found is None else (found[1].lower(), found[2].strip())
