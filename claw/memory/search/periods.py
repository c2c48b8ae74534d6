"""The times that a question names, as texts that compare with stored ones.

A row made in such a time answers better than one that uses the same words;
what is told a few days later counts half.
"""

from datetime import UTC, datetime, timedelta

import msgspec

from claw.core.memory import Filters
from claw.core.value import replace
from claw.memory.search.filters import bound
from claw.memory.times import canonical
from claw.text.segment import query_terms
from claw.text.stopwords import WEAK_WORDS

# What a row gains that was made then, or a little before or after.
INSIDE = 3.0
NEARBY = 1.7
_BEFORE = timedelta(days=1)
_AFTER = timedelta(days=3)
# Without any of these no date is named; looking for dates costs more.
_HINTS = (
    *"0123456789年月日号號周週天前昨今去先星曜년월일주전",
    "ago", "day", "week", "month", "year", "last", "past", "this ", "night",
    "in ", "on ", "from ", "since", "by ", "of ", "summer", "winter",
    "spring", "autumn", "fall", "heute", "gestern", "woche", "monat", "jahr",
    "tag", "vor ", "letzt", "diese", "seit", "im ", "am ", "지난", "어제",
    "오늘", "그제", "작년", "올해", "여름", "가을", "겨울", "봄", "おととい")
# What is asked of a time without a topic: all of it answers.
# A question names its times early and few of them; what is pasted behind
# it may hold thousands, and looking costs more than linear time.
_MOST_CHARS = 2000
_MOST = 16
_DOINGS = """
did done war habe haben ich wir gemacht passiert geschehen los alles
뭐 뭘 했지 했어 했나 했니 일이 있었 었어 었지 었나
我 我做 做 做了 了什 干 干了 发生 發生 生了 发 發 生 事 么事 麼事 有什
した 私 何が
"""
DOINGS = frozenset(_DOINGS.split())


class Period(msgspec.Struct, frozen=True):
    """A time from `start` to `end` (not part of it), and the wider one
    around it; all as canonical texts. `words` name it, `share` of the
    gain counts."""

    start: str
    end: str
    wide_start: str
    wide_end: str
    words: str
    share: float = 1.0

    def share_at(self, moment: str) -> float:
        """How much of the words for it a row holds that was made at this
        moment: all that were made then, half a few days off."""
        if self.start <= moment < self.end:
            return self.share
        return self.share / 2 if \
            self.wide_start <= moment < self.wide_end else 0.0

    def gain_at(self, moment: str) -> float:
        """What a row made then gains: a factor, 1 outside."""
        if self.start <= moment < self.end:
            return float(INSIDE ** self.share)
        if self.wide_start <= moment < self.wide_end:
            return float(NEARBY ** self.share)
        return 1.0


def read_periods(query: str, now: datetime | None = None) -> list[Period]:
    """The times that a query names, days counted in the zone of `now`
    (the machine's); a guess at the year counts half of the one before."""
    query = query[:_MOST_CHARS]
    lowered = query.lower()
    if not any(hint in lowered for hint in _HINTS):
        return []
    from claw.text.dates import find_windows
    return [Period(_write(window.start), _write(window.end),
                   _write(window.start - _BEFORE),
                   _write(window.end + _AFTER), query[slice(*window.span)],
                   0.5 ** window.guess)
            for window in find_windows(query, now or datetime.now(
                ).astimezone())[:_MOST]]


def narrow(filters: Filters, period: Period) -> Filters:
    """What a filter lets through of a period and the days around it."""
    since, until = period.wide_start, period.wide_end
    if filters.since is not None:
        since = max(since, bound("since", filters.since))
    if filters.until is not None:
        until = min(until, bound("until", filters.until, end=True))
    return replace(filters, since=since, until=until)


def find_topics(query: str, period: Period) -> tuple[set[str], set[str]]:
    """The terms of a query that are its topic, and all but those that say
    when."""
    others = set(query_terms(query.replace(period.words, " "), len(query)))
    others &= set(query_terms(query, len(query)))
    return others - WEAK_WORDS - DOINGS, others


def _write(moment: datetime) -> str:
    return canonical(moment.astimezone(UTC))
