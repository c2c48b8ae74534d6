"""Dates that a question names, as windows of time. Pure.

"in March 2023", "last Tuesday", "vor zwei Wochen", "지난달", "上周二",
"先週の火曜日": English, German, Korean, Chinese, Japanese, and ISO 8601 in
any language. A window is as wide as the words are: a day, a week, a month,
a year. Words that only may be a date ("may", "march", a bare number) are
none. Weeks begin on Monday.
"""

import functools
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

DAY = timedelta(days=1)
# Years back that a month without a year may mean, the last one first.
_YEARS = 5
# Where "to" makes one window of two.
_BETWEEN = (
    r"\s*(?:and|to|until|till|through|und|bis|-|–|—|~|から|부터|到|至)\s*"
    r"(?:the\s+|zum\s+|dem\s+)?")


class Window(NamedTuple):
    """From `start` to `end` (not part of it), and where the words stand
    that name it. `guess` counts the years by which it is less likely: 0
    the one that is meant first."""

    start: datetime
    end: datetime
    span: tuple[int, int]
    guess: int = 0


_MONTHS = (
    "january|jan|januar|jänner", "february|feb|februar",
    "march|mar|märz|maerz", "april|apr", "may|mai", "june|jun|juni",
    "july|jul|juli", "august|aug", "september|sept|sep",
    "october|oct|oktober|okt", "november|nov",
    "december|dec|dezember|dez")
_WEEKDAYS = (
    "monday|montag|月|월|一", "tuesday|tues|tue|dienstag|火|화|二",
    "wednesday|wed|mittwoch|水|수|三",
    "thursday|thurs|thu|donnerstag|木|목|四",
    "friday|fri|freitag|金|금|五", "saturday|sat|samstag|sonnabend|土|토|六",
    "sunday|sun|sonntag|日|일|天")
_NUMBERS = (
    "", "a|an|one|einem|einer|eine|ein|一|한|하루",
    "two|zwei|二|两|兩|두|이틀",
    "three|drei|三|세|사흘", "four|vier|四|네", "five|fünf|五|다섯",
    "six|sechs|六|여섯", "seven|sieben|七|일곱", "eight|acht|八|여덟",
    "nine|neun|九|아홉", "ten|zehn|十|열", "eleven|elf|十一",
    "twelve|zwölf|十二")
_SEASONS = (
    "winter|冬天|冬季|겨울|冬", "spring|frühling|frühjahr|春天|春季|봄|春",
    "summer|sommer|夏天|夏季|여름|夏", "autumn|fall|herbst|秋天|秋季|가을|秋")


def _index(rows: tuple[str, ...]) -> dict[str, int]:
    return {word: number for number, row in enumerate(rows)
            for word in row.split("|") if word}


_MONTH_OF = _index(_MONTHS)
_WEEKDAY_OF = _index(_WEEKDAYS)
_NUMBER_OF = _index(_NUMBERS)
_SEASON_OF = _index(_SEASONS)


def _words(table: dict[str, int], *, latin: bool) -> str:
    found = [word for word in table
             if (word[0] < "\u0370") is latin]
    return "|".join(sorted(found, key=len, reverse=True))


_MONTH = f"(?P<month>{_words(_MONTH_OF, latin=True)})\\b\\.?"
_WEEKDAY = f"(?P<weekday>{_words(_WEEKDAY_OF, latin=True)})s?\\b"
_NUMBER = f"(?P<number>[0-9]{{1,3}}|{_words(_NUMBER_OF, latin=True)})"
_EAST = f"(?P<number>[0-9]{{1,3}}|{_words(_NUMBER_OF, latin=False)})"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})(?![0-9])"
_OF_DAY = r"(?P<day>[0-3]?[0-9])(?:st|nd|rd|th|\.)?"
_LAST = (r"(?P<last>last|past|previous|this|letzte[nrsm]?|vorige[nrsm]?"
         r"|vergangene[nrsm]?|diese[nrsm]?)")
_UNIT = (r"(?P<unit>day|week|month|year|tag|woche|monat|jahr)"
         r"(?:s|en|n|e)?\b")
_EAST_UNIT = (r"(?:个|個|か|ヶ|カ|ケ|箇)?"
              r"(?P<unit>天|日間|日|일|周|週間|週|星期|礼拜|禮拜|주일|주"
              r"|개월|月|달|년|年)")
_EAST_DAY = "(?P<weekday>[一二三四五六日天])"
_WEEK = "(?:周|週|星期|礼拜|禮拜)"
_UNIT_OF = {
    **dict.fromkeys(("day", "tag", "天", "日", "日間", "일"), "day"),
    **dict.fromkeys(("week", "woche", "周", "週", "週間", "星期", "礼拜",
                     "禮拜", "주", "주일"), "week"),
    **dict.fromkeys(("month", "monat", "개월", "月", "달"), "month"),
    **dict.fromkeys(("year", "jahr", "년", "年"), "year")}
Found = Iterator[tuple[datetime, datetime]]


# -- from words to windows

def _day(at: datetime) -> tuple[datetime, datetime]:
    start = at.replace(hour=0, minute=0, second=0, microsecond=0)
    return start, start + DAY


def _week(at: datetime, back: int = 0) -> tuple[datetime, datetime]:
    start = _day(at)[0] - DAY * (at.weekday() + 7 * back)
    return start, start + DAY * 7


def _month(at: datetime, back: int = 0, months: int = 1
           ) -> tuple[datetime, datetime]:
    """The month `back` months before, or several from there on."""
    def first(count: int) -> datetime:
        year, month = divmod(at.year * 12 + at.month - 1 + count, 12)
        return _day(at)[0].replace(year=year, month=month + 1, day=1)
    return first(-back), first(months - back)


def _year(at: datetime, back: int = 0) -> tuple[datetime, datetime]:
    start = _day(at)[0].replace(month=1, day=1)
    return (start.replace(year=at.year - back),
            start.replace(year=at.year - back + 1))


_UNITS: dict[str, Callable[[datetime, int], tuple[datetime, datetime]]] = {
    "day": lambda at, back: _day(at - DAY * back), "week": _week,
    "month": _month, "year": _year}


def _on_date(at: datetime, year: str | None, month: int, day: str | None
             ) -> Found:
    """A date or a month; without a year the last ones of that name."""
    years = [int(year)] if year else range(at.year, at.year - _YEARS, -1)
    for one in years:
        first = _day(at)[0].replace(year=one, month=month, day=1)
        if not year and first > at:
            continue
        window = _day(first.replace(day=int(day))) if day else _month(first)
        if year or window[0] <= at:
            yield window


def _in_season(at: datetime, year: str | None, season: int) -> Found:
    """Three months from December, March, June or September on."""
    years = [int(year)] if year else range(at.year, at.year - _YEARS, -1)
    for one in years:
        start = _day(at)[0].replace(year=one, month=season * 3 or 1, day=1)
        window = (_month(start, 1, 3) if season == 0  # from December on
                  else _month(start, 0, 3))
        if year or window[0] <= at:
            yield window


def _weekday(at: datetime, weekday: int) -> tuple[datetime, datetime]:
    """The last day of that name before today."""
    return _day(at - DAY * ((at.weekday() - weekday - 1) % 7 + 1))


_Parts = dict[str, str | None]


def _read_number(text: str | None) -> int:
    text = (text or "1").lower()
    return int(text) if text.isascii() and text.isdigit() \
        else _NUMBER_OF[text]


def _by_date(parts: _Parts, at: datetime) -> Found:
    month = parts["month"] or ""
    number = (int(month) if month.isascii() and month.isdigit()
              else _NUMBER_OF[month] if month in _NUMBER_OF
              else _MONTH_OF[month.lower()] + 1)
    return _on_date(at, parts.get("year"), number, parts.get("day"))


def _by_year(parts: _Parts, at: datetime) -> Found:
    yield _year(at.replace(year=int(parts["year"] or 1), month=1, day=1))


def _by_season(parts: _Parts, at: datetime) -> Found:
    season = _SEASON_OF[(parts["season"] or "").lower()]
    return _in_season(at, parts.get("year"), season)


def _by_unit(back: int) -> Callable[[_Parts, datetime], Found]:
    def windows(parts: _Parts, at: datetime) -> Found:
        yield _UNITS[_UNIT_OF[(parts["unit"] or "").lower()]](at, back)
    return windows


def _by_last(parts: _Parts, at: datetime) -> Found:
    back = 0 if (parts["last"] or "").lower().startswith(
        ("this", "diese")) else 1
    return _by_unit(back)(parts, at)


def _by_weekend(parts: _Parts, at: datetime) -> Found:
    start, end = _week(at, 0 if at.weekday() == 6 else 1)
    yield start + DAY * 5, end


def _by_weekday(parts: _Parts, at: datetime) -> Found:
    yield _weekday(at, _WEEKDAY_OF[(parts["weekday"] or "").lower()])


def _by_last_week_day(parts: _Parts, at: datetime) -> Found:
    start, end = _week(at, 1)
    if parts["weekday"]:
        start += DAY * _WEEKDAY_OF[parts["weekday"]]
        end = start + DAY
    yield start, end


def _by_age(parts: _Parts, at: datetime) -> Found:
    """So long ago: a day, or what is about so far away."""
    count = _read_number(parts["number"])
    unit = _UNIT_OF[(parts["unit"] or "").lower()]
    if unit in ("month", "year"):
        yield _month(at, count * (12 if unit == "year" else 1))
        return
    start, end = _day(at - DAY * count * (7 if unit == "week" else 1))
    around = DAY * 3 if unit == "week" else DAY * 0
    yield start - around, end + around


def _by_recent(parts: _Parts, at: datetime) -> Found:
    count = _read_number(parts["number"])
    days = {"day": 1, "week": 7, "month": 31, "year": 366}
    unit = _UNIT_OF[(parts["unit"] or "").lower()]
    yield _day(at - DAY * days[unit] * count)[0], _day(at)[1]


def _by_days(days: int) -> Callable[[_Parts, datetime], Found]:
    def windows(parts: _Parts, at: datetime) -> Found:
        yield _day(at - DAY * days)
    return windows


_Form = tuple[str, Callable[[_Parts, datetime], Found]]
# Words one of which a form holds: to compile them all takes 7 ms.
_MONTH_HINTS = tuple({word[:3] for word in _words(
    _MONTH_OF, latin=True).split("|")})
_YEAR_HINTS = ("19", "20")
_SEASON_HINTS = tuple(_words(_SEASON_OF, latin=True).split("|"))
_WEEKDAY_HINTS = tuple(_words(_WEEKDAY_OF, latin=True).split("|"))
_UNIT_HINTS = ("day", "week", "month", "year", "tag", "woche", "monat",
               "jahr")
# The longer form first: what one has read is not read again.
_LATIN: tuple[tuple[*_Form, tuple[str, ...]], ...] = (
    (r"\b(?:the day before yesterday|vorgestern)\b",
     _by_days(2), ("yesterday", "gestern")),
    (r"\b(?:yesterday|last night|gestern)\b",
     _by_days(1), ("yesterday", "night", "gestern")),
    (r"\b(?:today|tonight|this (?:morning|afternoon|evening)|heute)\b",
     _by_days(0), ("today", "tonight", "this ", "heute")),
    (rf"(?<![0-9.-]){_YEAR}[-/](?P<month>0?[1-9]|1[0-2])"
     r"[-/](?P<day>[0-3]?[0-9])(?![0-9])", _by_date, _YEAR_HINTS),
    (rf"(?<![0-9.-]){_YEAR}-(?P<month>0[1-9]|1[0-2])(?![0-9-])",
     _by_date, _YEAR_HINTS),
    (rf"(?<![0-9.])(?P<day>[0-3]?[0-9])\.\s?(?P<month>0?[1-9]|1[0-2])"
     rf"\.\s?{_YEAR}", _by_date, _YEAR_HINTS),
    (rf"\b{_OF_DAY}\s*(?:of\s+)?{_MONTH}(?:,?\s*(?:of\s+)?{_YEAR})?",
     _by_date, _MONTH_HINTS),
    (rf"\b{_MONTH}\s+{_OF_DAY}(?![0-9])(?:,?\s*{_YEAR})?",
     _by_date, _MONTH_HINTS),
    (rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}", _by_date, _MONTH_HINTS),
    (r"\b(?:in|during|since|from|between|last|this|early|late|mid|by|im"
     r"|seit|von|zwischen|letzten|diesen|anfang|ende|mitte)[\s-]+"
     r"(?:early |late |mid-?)?" + _MONTH, _by_date, _MONTH_HINTS),
    (rf"(?P<season>{_words(_SEASON_OF, latin=True)})\s+(?:of\s+)?"
     + _YEAR, _by_season, _YEAR_HINTS),
    (r"\b(?:in the|last|this|in|im|letzten|diesen)\s+"
     rf"(?P<season>{_words(_SEASON_OF, latin=True)})\b",
     _by_season, _SEASON_HINTS),
    (rf"\b{_NUMBER}\s+{_UNIT}\s+ago\b", _by_age, ("ago",)),
    (rf"\bvor\s+{_NUMBER}\s+{_UNIT}", _by_age, ("vor",)),
    (rf"\b(?:the|den|die)\s+(?:last|past|letzten|vergangenen)\s+"
     rf"{_NUMBER}\s+{_UNIT}",
     _by_recent, ("last", "past", "letzten", "vergangenen")),
    (rf"\b{_LAST}\s+(?:week-?end|wochenende)\b",
     _by_weekend, ("week", "wochenende")),
    (rf"\b{_LAST}\s+{_UNIT}", _by_last, _UNIT_HINTS),
    (rf"\b(?:on|last|this|am|letzten|vorigen|diesen)\s+{_WEEKDAY}",
     _by_weekday, _WEEKDAY_HINTS),
    (rf"\b(?:in|during|since|of|by|im jahre?|seit)\s+{_YEAR}",
     _by_year, _YEAR_HINTS))
_EASTERN: tuple[_Form, ...] = (
    ("前天|一昨日|おととい|그저께|그제", _by_days(2)),
    ("昨天|昨日|昨晚|어제|어젯밤", _by_days(1)),
    ("今天|今日|오늘", _by_days(0)),
    (rf"{_YEAR}\s*[年년](?:\s*(?P<month>1[0-2]|0?[1-9])\s*[月월]"
     r"(?:\s*(?P<day>[0-3]?[0-9])\s*[日号號일])?)",
     _by_date),
    (rf"{_YEAR}\s*[年년]", _by_year),
    (r"(?<![0-9個个か])(?P<month>1[0-2]|0?[1-9]|十[一二]?"
     r"|[一二三四五六七八九])\s*[月월](?!\s*[前전間])"
     r"(?:\s*(?P<day>[0-3]?[0-9])\s*[日号號일])?", _by_date),
    (rf"{_EAST}\s*{_EAST_UNIT}\s*(?:之前|以前|前|전)", _by_age),
    (r"(?:最近|过去|過去|近|지난|최근|ここ|この)\s*"
     rf"{_EAST}\s*{_EAST_UNIT}", _by_recent),
    (rf"上(?:个|個)?{_WEEK}{_EAST_DAY}?", _by_last_week_day),
    ("先週(?:の)?(?:(?P<weekday>[月火水木金土日])曜日?)?",
     _by_last_week_day),
    ("지난\\s*주(?:\\s*(?P<weekday>[월화수목금토일])요일)?",
     _by_last_week_day),
    ("(?:这|這|本)(?:个|個)?(?:周|週|星期)|今週|이번\\s*주",
     lambda parts, at: iter([_week(at)])),
    ("上(?:个|個)?月|先月|지난\\s*달|저번\\s*달",
     lambda parts, at: iter([_month(at, 1)])),
    ("(?:这|這|本)(?:个|個)?月|今月|이번\\s*달",
     lambda parts, at: iter([_month(at)])),
    ("재작년|前年|一昨年|おととし",
     lambda parts, at: iter([_year(at, 2)])),
    ("去年|昨年|작년|지난\\s*해", lambda parts, at: iter([_year(at, 1)])),
    ("今年|올해", lambda parts, at: iter([_year(at)])),
    (f"{_WEEK}{_EAST_DAY}|(?P<weekday_>[月火水木金土日])曜"
     "|(?P<weekday__>[월화수목금토일])요일",
     lambda parts, at: _by_weekday(
         {"weekday": parts["weekday"] or parts["weekday_"]
          or parts["weekday__"]}, at)))


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _forms(text: str) -> Iterator[tuple[
        re.Pattern[str], Callable[[_Parts, datetime], Found]]]:
    """The forms that a text may hold."""
    lowered = text.lower()
    for pattern, windows, hints in _LATIN:
        if any(hint in lowered for hint in hints):
            yield _compile(pattern), windows
    for pattern, windows in () if text.isascii() else _EASTERN:
        yield _compile(pattern), windows


_BEFORE = (
    r"\b(?:week(?:-?end)?|" + _words(_WEEKDAY_OF, latin=True) +
    r"|wochenende|woche)\s+(?:before|prior to|vor)\s+(?:the\s+|dem\s+)?$")
# At the end of the words, or just before them.
_SINCE = r"\b(?:since|seit)\s+[^\s]{0,12}(?:\s+[0-9]{4})?$"


def find_windows(text: str, now: datetime) -> list[Window]:
    """The windows that a text names, seen from `now` (aware: its zone is
    the one that days are counted in); two with "to" between are one."""
    found: list[list[Window]] = []
    taken: list[tuple[int, int]] = []
    for pattern, read in _forms(text):
        for match in pattern.finditer(text):
            span = match.span()
            if any(a < span[1] and span[0] < b for a, b in taken):
                continue
            windows = _read(read, match, now)
            if windows:
                taken.append(span)
                found.append([Window(*window, span, guess) for guess, window
                              in enumerate(windows)])
    found.sort(key=lambda windows: windows[0].span)
    return [_reach(window, text, now) for windows in _join(found, text)
            for window in windows]


def _read(read: Callable[[_Parts, datetime], Found],
          match: re.Match[str], now: datetime
          ) -> list[tuple[datetime, datetime]]:
    """The windows of a match; none for a date that no calendar has, or a
    word in letters that only compare as the ones we know ("auguſt")."""
    try:
        return list(read(match.groupdict(), now))
    except (KeyError, ValueError, OverflowError):
        return []


def _reach(window: Window, text: str, now: datetime) -> Window:
    """ "the week before 3 August" is the eight days up to it, "since March"
    all from then on."""
    begin, end = window.span
    if _compile(_BEFORE).search(text, 0, begin):
        return window._replace(start=window.start - DAY * 8)
    if _compile(_SINCE).search(text, 0, end):
        return window._replace(end=max(window.end, _day(now)[1]))
    return window


def _join(found: list[list[Window]], text: str) -> list[list[Window]]:
    """ "from March to May 2023" is one window, from the last March before
    that May on."""
    joined: list[list[Window]] = []
    for windows in found:
        last = windows[0]
        first = next((window for window in (joined[-1] if joined else ())
                      if window.start <= last.start
                      and _compile(_BETWEEN).fullmatch(
                          text, window.span[1], last.span[0])), None)
        if first is None:
            joined.append(windows)
        else:
            joined[-1] = [Window(first.start, last.end,
                                 (first.span[0], last.span[1]))]
    return joined
