"""Questions by rule, the sample, and what a report counts."""

import asyncio
import random
from datetime import UTC, datetime

import pytest

from claw.agent.memory.exam.ask import Result, ask_all, explain_miss, hardest
from claw.agent.memory.exam.questions import Question, inflect, make_question
from claw.agent.memory.exam.report import find_age, sum_up
from claw.agent.memory.exam.sample import draw_sample
from claw.core.memory import MemoryEntry
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory
from claw.text.language import find_language
from claw.text.segment import index_text


def memory(key, text, category="core", **more):
    at = "2026-01-02T00:00:00.000000Z"
    return MemoryEntry(key, key, text, category, at, at, **more)


def ask(text, key="user_msg_1", **more):
    made = make_question(memory(key, text, **more), {}, random.Random(0))
    return None if made is None else made.text


@pytest.mark.each(("text", "expected"), [
    ("I live in Oslo.", "where do I live?"),
    ("My favourite restaurant is Luigi's near the station",
     "what is my favourite restaurant?"),
    ("Mina likes green", "what is it that Mina likes?"),
    ("The spare key is under the blue pot", "where is the spare key?"),
    ("Ich wohne in Berlin", "wo wohne ich?"),
    ("Meine Adresse ist Lindenweg 5", "was ist Meine Adresse?"),
    ("나는 서울에 살고 있다", "나는 어디에서 살고 있지?"),
    ("我住在北京市朝阳区", "我住在哪里？"),
    ("我的猫名字是咪咪", "我的猫名字是什么？"),
    ("私は東京に住んでいます", "私はどこに住んでいますか"),
])
def test_a_sentence_is_asked_the_way_a_person_would(text, expected):
    assert ask(text) == expected


@pytest.mark.each("text", [
    "The dentist moved the appointment to Friday because of the strike",
    "Вчера купил новую машину красного цвета у соседа",
    "Gestern kaufte der Nachbar einen roten Wagen aus Turin",
    "小明昨天从图书馆借了三本历史小说",
    "ฉันชอบกินข้าวผัดกับน้องสาวที่ตลาดเช้า",
])
def test_other_texts_are_asked_for_in_some_of_their_words(text):
    question = ask(text)
    asked, held = set(index_text(question).split()), set(
        index_text(text).split())

    assert len(asked & held) >= 2
    assert not held <= asked          # it does not just repeat it
    assert question == ask(text)      # the same each time


def test_the_answer_is_not_in_the_question():
    assert "10" not in ask("The plumber comes to fix the boiler at 10 sharp")


def test_a_key_in_words_is_asked_for_where_the_text_says_little():
    assert ask("Lindenweg", key="home_address") == "home address?"
    assert ask("Lindenweg", key="user_msg_77") is None


@pytest.mark.parametrize("text", ["", "ok", "\x00\x1b[2J", "!!!", "🎉🎉"])
def test_what_says_too_little_is_not_asked_for(text):
    assert ask(text) is None


@pytest.mark.parametrize(("word", "expected"), [
    ("gardens", "garden"), ("taking", "take"), ("glass", "glass"),
    ("something", "something"), ("Paris", "Paris")])
def test_another_form_of_a_word_has_its_stem(word, expected):
    assert inflect(word, "en") == expected


@pytest.mark.each(("text", "expected"), [
    ("I live in the old town", "en"), ("Ich wohne nicht in Berlin", "de"),
    ("我住在北京", "zh"), ("私は東京に住んでいます", "ja"),
    ("나는 산다", "ko"),
    ("Я живу в Москве", "ru"), ("Я живу в Києві", "uk"),
    ("ฉันอยู่ที่นี่", "th"), ("أنا أعيش هنا", "ar"), ("मैं यहाँ हूँ", "hi"),
    ("Je ne suis pas à la maison", "fr"), ("Mina", "latin"), ("42 !", "none"),
])
def test_a_language_is_told_by_script_and_small_words(text, expected):
    assert find_language(text) == expected


def test_the_same_memories_are_drawn_again_when_the_store_has_grown():
    some = [memory(f"k{n}", f"text {n}") for n in range(50)]
    more = [memory(f"m{n}", f"text {n}") for n in range(50)]
    first = draw_sample(some, 20, 0, lambda _: True)
    second = draw_sample(some + more, 40, 0, lambda _: True)

    names = {entry.key for entry in second.entries}
    kept = [one for one in first.entries if one.key in names]
    assert len(first.entries) == 20
    assert len(kept) >= 10
    assert draw_sample(some, 20, 0, lambda _: True) == first
    assert draw_sample(some, 20, 1, lambda _: True) != first


def test_what_is_never_shown_to_a_chat_is_counted_and_left_out():
    sample = draw_sample([
        memory("assistant_resp_1", "an answer"), memory("a", "[cron: x]"),
        memory("b", "green tea"),
        memory("c", "black tea", superseded_by="b")], 10, 0, lambda _: True)

    assert (sample.total, sample.hidden) == (3, 2)
    assert [entry.key for entry in sample.entries] == ["b"]


def result(place, shown, category="core", language="en", made="2026-01-02"):
    entry = MemoryEntry("i", "k", "t", category, f"{made}T00:00:00.000000Z",
                        "")
    return Result(Question(entry, "q", language), place, 0.5, shown)


def test_a_report_counts_by_age_category_and_language():
    lines = sum_up([result(1, True), result(4, True, "daily", "de"),
                    result(None, False, made="2020-01-01")],
                   datetime(2026, 1, 3, tzinfo=UTC))

    assert lines[0][1:] == ("all", 3, 1, 2, 2, 2)
    assert {(line.by, line.name, line.asked, line.first_10)
            for line in lines[1:]} == {
        ("age", "under a week", 2, 2), ("age", "older", 1, 0),
        ("category", "core", 2, 1), ("category", "daily", 1, 1),
        ("language", "en", 2, 1), ("language", "de", 1, 1)}


def test_newer_ages_and_larger_groups_come_first():
    lines = sum_up([result(1, True, made="2020-01-01"),
                    result(1, True, "daily"), result(1, True, "daily"),
                    result(1, True, "book"), result(1, True, "art")],
                   datetime(2026, 1, 3, tzinfo=UTC))

    assert [line.name for line in lines[1:]] == [
        "under a week", "older", "daily", "art", "book", "core", "en"]


@pytest.mark.parametrize("made", ["", "once", "0001-01-01T00:00:00.000000Z"])
def test_a_time_that_is_none_is_old(made):
    assert find_age(made, datetime(2026, 1, 3, tzinfo=UTC)) == "older"


def test_a_time_without_a_fraction_is_a_time():
    assert find_age("2026-01-02T00:00:00Z", datetime(
        2026, 1, 3, tzinfo=UTC)) == "under a week"


@pytest.fixture
def store(tmp_path):
    memory = SqliteMemory.open(tmp_path, MemorySettings())
    yield memory
    memory.close()


def run(store, questions, **more):
    return asyncio.run(ask_all(store, questions, **{
        "min_score": 0.4, "session": None, "timeout_s": 60, **more}))


def test_a_memory_that_others_crowd_out_is_hardly_found(store):
    for number in range(30):
        store.store(f"k{number}", f"tea tea tea pot {number}")
    store.store("lost", "a long note on many things, among them tea, which "
                "is drunk at noon with friends and cake in the garden")
    question = Question(store.get("lost"), "tea?", "en")
    results = run(store, [question])

    assert (results[0].place, results[0].shown) == (None, False)
    assert hardest(results, 5) == results
    assert explain_miss(store, results[0], min_score=0.4, session=None) in (
        "place 31; others hold the same words",
        "not among the first 200")


def test_what_the_gate_holds_back_is_said(store):
    store.store("a", "the boiler is serviced by the plumber")
    question = Question(store.get("a"), "boiler zebra giraffe lion?", "en")
    found, = run(store, [question])

    assert (found.place, found.shown) == (1, False)
    why = explain_miss(store, found, min_score=0.4, session=None)
    assert "not shown to a chat: its score" in why
    assert "not in it: zebra giraffe lion" in why


def test_the_time_is_kept(store):
    store.store("a", "green tea")
    ticks = iter(range(100))
    question = Question(store.get("a"), "tea?", "en")

    assert len(run(store, [question] * 50, timeout_s=5,
                   clock=lambda: float(next(ticks)))) == 5
