"""Whether two values of one thing exclude each other.

A value is taken apart into kinds: clock, weekday, date, number, words. Only
the same kind is compared ("on Friday" and "at ten" go together), and a value
that is a part of the other says no other ("Berlin", "Berlin, Germany").
"""

import re
from collections.abc import Mapping

from claw.text.segment import spaceless_share, stem_text, words
from claw.text.stopwords import STOP_WORDS

_CLOCK = re.compile(
    r"\b(\d{1,2})(?:[:.](\d\d))? ?([ap])\.?m\b\.?|\b(\d{1,2}):(\d\d)\b"
    r"|(\d{1,2})(?: uhr|[点點時]|시)(?:(\d\d)分)?", re.IGNORECASE)
_DAYS = (
    "mon|monday|montag|周一|星期一|礼拜一|月曜|월요",
    "tue|tuesday|dienstag|周二|星期二|火曜|화요",
    "wed|wednesday|mittwoch|周三|星期三|水曜|수요",
    "thu|thursday|donnerstag|周四|星期四|木曜|목요",
    "fri|friday|freitag|周五|星期五|金曜|금요",
    "sat|saturday|samstag|sonnabend|周六|星期六|土曜|토요",
    "sun|sunday|sonntag|周日|周天|星期日|星期天|日曜|일요")
_MONTHS = (
    "jan|january|januar", "feb|february|februar", "mar|march|märz",
    "apr|april", "may|mai", "jun|june|juni", "jul|july|juli", "aug|august",
    "sep|sept|september", "oct|october|oktober", "nov|november",
    "dec|december|dezember")
_EAST_DATE = re.compile(r"(\d{1,2}) ?[月월] ?(\d{1,2})")
_ISO_DATE = re.compile(r"\b\d{4}-(\d\d)-(\d\d)\b")
_NUMBER_WORDS = {name: str(number) for number, names in enumerate((
    "no zero kein null", "one ein eins", "two zwei", "three drei",
    "four vier", "five fünf", "six sechs", "seven sieben", "eight acht",
    "nine neun", "ten zehn")) for name in names.split()}
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ENDING = re.compile(
    "(?:입니다|이에요|예요|이다|이야|임|다|です|だ|了|的|。)+$")
_LATIN = re.compile(r"[a-zäöüß]+", re.IGNORECASE)
_SMALL = STOP_WORDS | {"der", "die", "das", "im", "am", "um", "auf", "bei"}


def exclude(one: str, other: str, *, strict: bool) -> bool:
    """Whether both can't hold; with `strict` words count only where both
    are names."""
    first, second = read_kinds(one, strict), read_kinds(other, strict)
    return any(_differ(first[kind], second[kind])
               for kind in first.keys() & second.keys())


def _differ(one: frozenset[str], other: frozenset[str]) -> bool:
    if len(one) == len(other) == 1:
        (first,), (second,) = one, other
        # A name in Han or Hangul may be a part of the other.
        return first != second and not (
            spaceless_share(first) > 0 and (first in second
                                            or second in first))
    return not (one <= other or other <= one)


def read_kinds(value: str, strict: bool) -> Mapping[str, frozenset[str]]:
    """What a value says, by kind."""
    found: dict[str, set[str]] = {}
    rest = value.lower()
    for kind, pattern in (("clock", _CLOCK), ("date", _EAST_DATE),
                          ("date", _ISO_DATE)):
        for match in pattern.finditer(rest):
            found.setdefault(kind, set()).add(_write(kind, match))
        rest = pattern.sub(" ", rest)
    rest = _take_names(rest, "weekday", _DAYS, found)
    month = _take_names(rest, "month", _MONTHS, found)
    if month != rest and (day := _NUMBER.search(month)):
        found.setdefault("day", set()).add(day[0])
        month = month.replace(day[0], " ", 1)
    rest = month
    for word in words(rest):
        if word in _NUMBER_WORDS:
            rest = rest.replace(word, _NUMBER_WORDS[word])
    if numbers := _NUMBER.findall(rest):
        found["number"] = set(numbers)
    elif not found and (not strict or value[:1].isupper()
                        or spaceless_share(value) > 0):
        found["words"] = _read_words(rest)
    return {kind: frozenset(parts) for kind, parts in found.items() if parts}


def _write(kind: str, match: re.Match[str]) -> str:
    parts = [part for part in match.groups() if part]
    if kind == "clock" and match[3]:
        hour = int(match[1]) % 12 + (12 if match[3] == "p" else 0)
        parts = [str(hour), match[2] or "00"]
    if kind == "clock" and len(parts) == 1:
        parts.append("00")
    return ":".join(str(int(part)) for part in parts)


def _take_names(text: str, kind: str, names: tuple[str, ...],
                found: dict[str, set[str]]) -> str:
    """Note which of the names stand in a text, and take them out."""
    for number, forms in enumerate(names):
        for form in forms.split("|"):
            pattern = rf"\b{form}s?\b" if _LATIN.fullmatch(form) else form
            left = re.sub(pattern, " ", text)
            if left != text:
                found.setdefault(kind, set()).add(str(number))
                text = left
    return text


def _read_words(text: str) -> set[str]:
    if spaceless_share(text) > 0:
        return {_ENDING.sub("", "".join(words(text))) or text}
    return {stem_text(word) for word in words(text) if word not in _SMALL}
