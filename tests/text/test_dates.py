"""Words that name a time, in five languages."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from claw.text import dates
from claw.text.dates import find_windows

MONDAY = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)


def first_window(text, now=MONDAY):
    found = find_windows(text, now)
    return found and " ".join(f"{day:%Y-%m-%d}" for day in found[0][:2])


@pytest.mark.parametrize(("text", "window"), [
    ("what happened in March 2023?", "2023-03-01 2023-04-01"),
    ("what did I buy last Tuesday?", "2026-11-17 2026-11-18"),
    ("who called yesterday", "2026-11-22 2026-11-23"),
    ("the day before yesterday", "2026-11-21 2026-11-22"),
    ("on October 13, 2023", "2023-10-13 2023-10-14"),
    ("on the 8th of December, 2023", "2023-12-08 2023-12-09"),
    ("between August 11 and August 15 2023", "2023-08-11 2023-08-16"),
    ("from March to May 2023", "2023-03-01 2023-06-01"),
    ("the week before August 3, 2023", "2023-07-26 2023-08-04"),
    ("since March", "2026-03-01 2026-11-24"),
    ("in May", "2026-05-01 2026-06-01"),
    ("in December", "2025-12-01 2026-01-01"),
    ("two weeks ago", "2026-11-06 2026-11-13"),
    ("3 months ago", "2026-08-01 2026-09-01"),
    ("a year ago", "2025-11-01 2025-12-01"),
    ("in the last 3 days", "2026-11-20 2026-11-24"),
    ("last weekend", "2026-11-21 2026-11-23"),
    ("this week", "2026-11-23 2026-11-30"),
    ("last month", "2026-10-01 2026-11-01"),
    ("last year", "2025-01-01 2026-01-01"),
    ("summer of 2022", "2022-06-01 2022-09-01"),
    ("in 2023", "2023-01-01 2024-01-01"),
    ("2023-03-05", "2023-03-05 2023-03-06"),
    ("2023-03", "2023-03-01 2023-04-01"),
    ("Was war gestern?", "2026-11-22 2026-11-23"),
    ("vorgestern", "2026-11-21 2026-11-22"),
    ("vor zwei Wochen", "2026-11-06 2026-11-13"),
    ("am 5. März 2023", "2023-03-05 2023-03-06"),
    ("5.3.2023", "2023-03-05 2023-03-06"),
    ("im März", "2026-03-01 2026-04-01"),
    ("letzten Dienstag", "2026-11-17 2026-11-18"),
    ("letzte Woche", "2026-11-16 2026-11-23"),
    ("in den letzten drei Tagen", "2026-11-20 2026-11-24"),
    ("어제 뭐 했지", "2026-11-22 2026-11-23"),
    ("그저께", "2026-11-21 2026-11-22"),
    ("지난달에", "2026-10-01 2026-11-01"),
    ("지난주 화요일", "2026-11-17 2026-11-18"),
    ("이번 주", "2026-11-23 2026-11-30"),
    ("3일 전에", "2026-11-20 2026-11-21"),
    ("2023년 3월 5일", "2023-03-05 2023-03-06"),
    ("3월에", "2026-03-01 2026-04-01"),
    ("작년", "2025-01-01 2026-01-01"),
    ("昨天", "2026-11-22 2026-11-23"),
    ("上周二", "2026-11-17 2026-11-18"),
    ("上個星期", "2026-11-16 2026-11-23"),
    ("三天前", "2026-11-20 2026-11-21"),
    ("两周前", "2026-11-06 2026-11-13"),
    ("2023年3月5日", "2023-03-05 2023-03-06"),
    ("2023年3月", "2023-03-01 2023-04-01"),
    ("2023年", "2023-01-01 2024-01-01"),
    ("上个月", "2026-10-01 2026-11-01"),
    ("去年", "2025-01-01 2026-01-01"),
    ("最近三天", "2026-11-20 2026-11-24"),
    ("先週の火曜日", "2026-11-17 2026-11-18"),
    ("一昨日", "2026-11-21 2026-11-22"),
    ("3か月前", "2026-08-01 2026-09-01"),
    ("火曜日に", "2026-11-17 2026-11-18"),
    ("今月", "2026-11-01 2026-12-01"),
])
def test_words_name_a_time(text, window):
    assert first_window(text) == window


@pytest.mark.parametrize("text", [
    "may I go", "march on", "they sat down", "version 2023.1", "",
    "the second of three", "port 8080", "10.0.0.1", "30.02.2023",
    "我们一起去", "日本語", "월급",
])
def test_other_words_name_none(text):
    assert find_windows(text, MONDAY) == []


def test_a_month_without_a_year_may_be_an_earlier_one():
    years = [(w.start.year, w.guess)
             for w in find_windows("in March", MONDAY)]

    assert years[:3] == [(2026, 0), (2025, 1), (2024, 2)]


def test_two_times_are_two_windows():
    found = find_windows("yesterday or in May 2024?", MONDAY)

    assert [w.start.month for w in found] == [11, 5]


def test_days_are_counted_where_the_person_is():
    seoul = timezone(timedelta(hours=9))
    late = datetime(2026, 11, 23, 23, 0, tzinfo=UTC).astimezone(seoul)

    assert first_window("어제", late) == "2026-11-23 2026-11-24"


@pytest.mark.parametrize("text", [
    "in January 0001", "9999년 12월", "999 years ago", "vor 999 Jahren",
    "999 개월 전", "2023-13-45", "31 February 2023",
])
def test_a_time_that_no_calendar_has_ends_nothing(text):
    find_windows(text, datetime(2, 1, 1, tzinfo=UTC))
    find_windows(text, MONDAY)


def test_long_texts_are_read_in_no_time():
    assert find_windows("a of 1 last " * 20_000, MONDAY) == []


@pytest.mark.parametrize("question", [
    "who did the cat belong to?", "what is on the list of the trip in June?"])
def test_a_question_compiles_few_of_the_forms(question):
    dates._compile.cache_clear()

    find_windows(question, MONDAY)
    assert dates._compile.cache_info().currsize <= 7
