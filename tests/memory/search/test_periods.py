"""A question that names a time looks there first."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claw.core.memory import Filters, MemoryEntry
from claw.memory.markdown.backend import MarkdownMemory
from claw.memory.search.periods import narrow, read_periods
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.ephemeral import EphemeralMemory

NOON = datetime.now().astimezone().replace(hour=12, minute=0)
THRESHOLD = MemorySettings().min_relevance_score


def write(memory, *rows):
    """(key, text, days ago) each."""
    memory.restore([MemoryEntry(
        "", key, text, "core", *[
            (NOON - timedelta(days=days)).astimezone(UTC).isoformat()] * 2)
        for key, text, days in rows], overwrite=True)


@pytest.fixture
def memory():
    opened = EphemeralMemory.open(Path(), MemorySettings())
    yield opened
    opened.close()


def keys(memory, question):
    return [found.key for found in memory.recall(question)
            if found.score >= THRESHOLD]


def test_of_two_that_fit_the_one_of_that_day_is_first(memory):
    write(memory, ("old", "lunch with Ann at the harbour", 40),
          ("new", "lunch with Ben at the harbour cafe", 1))

    assert keys(memory, "who had lunch at the harbour yesterday?")[0] == "new"
    assert keys(memory, "who had lunch at the harbour?")[0] == "old"


def test_what_was_told_days_later_gains_less_than_that_day_itself(memory):
    write(memory, ("then", "lunch with Ann at the harbour", 10),
          ("told", "lunch with Ben at the harbour", 8),
          ("late", "lunch with Eve at the harbour", 1))
    day = f"{NOON - timedelta(days=10):%d %B %Y}"
    found = [(entry.key, why.parts.get("date")) for entry, why in
             memory.explain(f"lunch at the harbour on {day}", 5, Filters())]

    assert [key for key, _ in found] == ["then", "told", "late"]
    assert found[0][1] > found[1][1] > 1
    assert found[2][1] is None


@pytest.mark.parametrize("question", [
    "what did I do yesterday?", "what happened yesterday",
    "Was habe ich gestern gemacht?", "어제 뭐 했지?", "昨天我做了什么？",
    "昨日何をした？"])
def test_a_question_for_a_day_alone_finds_what_it_holds(memory, question):
    write(memory, ("bike", "bought a red bike", 1),
          ("dentist", "dentist at nine", 30))

    assert keys(memory, question) == ["bike"]


def test_a_topic_that_nobody_noted_finds_nothing_of_that_day(memory):
    write(memory, ("bike", "bought a red bike", 0),
          ("dentist", "dentist at nine", 0))

    assert keys(memory, "what is the weather in Lima today?") == []


def test_of_the_days_around_it_only_what_fits_is_found(memory):
    write(memory, ("bike", "bought a red bike", 0))

    assert memory.recall("what happened yesterday?") == []
    assert keys(memory, "what happened today?") == ["bike"]
    shown, = memory.recall("what did I store today?")
    assert shown.score < THRESHOLD


def test_what_was_told_a_little_later_comes_before_the_rest(memory):
    write(memory, ("far", "the concert was loud", 60),
          ("near", "the concert was loud", 8))

    day = NOON - timedelta(days=10)
    assert keys(memory, f"the concert on {day:%Y-%m-%d}")[0] == "near"


def test_explain_says_that_the_date_counted(memory):
    write(memory, ("bike", "bought a red bike", 1))

    (_, why), = memory.explain("the bike of yesterday", 5, Filters())
    assert why.parts["date"] > 1


def test_in_a_large_store_the_day_is_looked_into(memory):
    write(memory, *((f"k{n}", f"tea order number {n}", 300 + n)
                    for n in range(3_500)), ("mine", "tea order for Ann", 1))

    assert keys(memory, "tea order yesterday")[0] == "mine"


def test_what_one_said_oneself_comes_before_a_reply_about_it(memory):
    at = NOON.isoformat()
    memory.restore([MemoryEntry(
        "", key, text, "conversation", at, at, sender=sender)
        for key, text, sender in (
            ("told", "I adopted a cat called Miso from the shelter", None),
            ("reply", "a cat called Miso from the shelter: great name",
             "assistant"))], overwrite=True)

    assert keys(memory, "what is my cat from the shelter called?")[
        0] == "told"
    assert keys(memory, "great name for a cat")[0] == "reply"


def test_markdown_looks_there_first_as_well(tmp_path):
    memory = MarkdownMemory.open(tmp_path, MemorySettings())
    write(memory, ("new", "lunch with Ben", 1), ("old", "lunch with Ann", 40))

    assert memory.recall("lunch yesterday")[0].key == "new"
    assert [f.key for f in memory.recall("what did I do yesterday?")] == [
        "new"]


def test_filters_narrow_further():
    period, = read_periods("yesterday", NOON)
    since = (NOON - timedelta(hours=20)).astimezone(UTC).isoformat()

    narrowed = narrow(Filters(since=since), period)
    assert narrowed.since.startswith(since[:19])
    assert narrowed.until == period.wide_end


def test_dates_are_not_looked_for_where_none_can_be():
    assert read_periods("who likes green tea") == []


@pytest.mark.parametrize("query", ["in Auguſt", "on ſunday", "12 ſept 2020"])
def test_a_date_in_long_s_is_none_and_no_fault(query):
    assert read_periods(query) == []


def test_a_pasted_log_full_of_dates_does_not_hold_a_question_up():
    began = time.process_time()
    periods = read_periods("what was in march " + "in march " * 20_000)

    assert 0 < len(periods) <= 16
    assert time.process_time() - began < 2
