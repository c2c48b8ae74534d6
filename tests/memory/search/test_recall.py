"""Scores, prefixes, the last resort, and sizes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw.core.errors import UsageError
from claw.core.memory import Filters, MemoryEntry
from claw.text.segment import clean, query_terms

SMALL = {
    "colour": "The user's favourite colour is blue",
    "lang": "Mina speaks Korean and English",
    "run": "She was running quickly through memories",
}


@pytest.mark.parametrize(("query", "key", "low", "high"), [
    ("favourite colour", "colour", 0.99, 1.0),
    ("crimson colours blue", "colour", 0.3, 0.9),  # one word unknown
    ("favorite colors", "colour", 0.99, 1.0),
    ("Kubernetes deployment of colour", "colour", 0.1, 0.39),
    ("runs", "run", 0.99, 1.0),
    ("memory", "run", 0.99, 1.0),
    ("mina", "lang", 0.99, 1.0),
])
@pytest.mark.parametrize("others", [0, 300])
def test_scores_mean_the_same_in_a_small_and_a_large_store(
        memory, query, key, low, high, others):
    for name, content in SMALL.items():
        memory.store(name, content)
    for number in range(others):
        memory.store(f"other{number}", f"note {number} on gardening")

    best = memory.recall(query)[0]

    assert best.key == key
    assert low <= best.score <= high


def test_a_store_of_one_row_scores_sensibly(memory):
    memory.store("colour", SMALL["colour"])

    assert memory.recall("favourite colour")[0].score == pytest.approx(1)
    # Half of a short question: shown, and told from a whole answer.
    assert memory.recall("favourite food")[0].score < 0.8


def test_ties_go_to_the_newest(memory):
    for key in ("a", "b", "c"):
        memory.store(key, "the same words")
    memory.store("a", "the same words")

    assert [entry.key for entry in memory.recall("same words")] == [
        "a", "c", "b"]


@pytest.mark.parametrize(("query", "keys"), [
    ("qui*", {"run"}), ("QUICK*", {"run"}), ("Kor* blue", {"lang", "colour"}),
    ("zz*", set()), ("*", {"colour", "lang", "run"}),
])
def test_a_trailing_star_finds_what_begins_so(memory, query, keys):
    for name, content in SMALL.items():
        memory.store(name, content)

    assert {entry.key for entry in memory.recall(query)} == keys


@pytest.mark.parametrize(("query", "keys"), [
    ("ubernet", {"k8s"}),               # the middle of a word
    ("100%", {"percent"}), ("%", {"percent"}), ("_", {"snake_case"}),
    ("\\", {"path"}), ("🎉", {"emoji"}), ("밥", {"ko"}),
])
def test_the_last_resort_takes_wildcards_literally(memory, query, keys):
    for key, content in {"k8s": "kubernetes", "percent": "100% sure",
                         "snake_case": "x", "path": "C:\\temp",
                         "emoji": "party 🎉", "ko": "김밥천국 먹었다",
                         "plain": "100 sure things"}.items():
        memory.store(key, content)
    found = memory.recall(query)

    assert {entry.key for entry in found if entry.key != "plain"} == keys
    if query not in ("100%",):
        assert all(entry.score <= 0.5 for entry in found)


def test_pieces_score_below_words(memory):
    memory.store("whole", "kubernetes")

    (_, why), = memory.explain("kubern ubernet", 5, Filters())

    assert why.parts["method"] == "pieces"
    assert why.score == 0.5


def test_superseded_memories_are_not_recalled(memory):
    memory.store("new", "the tea is green")
    new = memory.get("new")
    memory.store("old", "the tea is black")
    old = memory.get("old")
    memory.restore([MemoryEntry(
        old.id, old.key, old.content, old.category, old.created_at,
        old.updated_at, superseded_by=new.id)], overwrite=True)

    assert [entry.key for entry in memory.recall("tea")] == ["new"]
    assert [entry.key for entry in memory.recall("black")] == []
    assert [entry.key for entry in memory.recall("")] == ["new"]
    assert [entry.key for entry in memory.list()] == ["new"]
    assert memory.get("old").superseded_by == new.id
    memory.store("new", "the tea is white")
    assert memory.get("old").superseded_by == memory.get("new").id


@pytest.mark.parametrize("bound", ["soon", "2026-99-01"])
def test_a_bound_that_is_no_time_is_a_usage_error(memory, bound):
    with pytest.raises(UsageError, match="not a time"):
        memory.recall("tea", since=bound)


any_text = st.text(st.characters(categories=None), min_size=1, max_size=60)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture],
          deadline=None, max_examples=150)
@given(key=any_text, content=any_text)
def test_any_text_is_kept_and_found_by_its_own_words(memory, key, content):
    memory.store(key, content)

    assert memory.get(key).content == clean(content)
    if query_terms(content) and not content.rstrip().endswith("*"):
        found = memory.recall(content, memory.count())
        assert clean(key) in {entry.key for entry in found}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture],
          deadline=None, max_examples=200)
@given(query=st.text(st.characters(categories=None), max_size=40))
def test_no_query_raises_and_scores_stay_in_bounds(memory, query):
    if not memory.count():
        memory.store("a b", "some words \" ' * ( ) % _ 好 の 가")

    for entry in memory.recall(query):
        assert entry.score is None or 0 <= entry.score <= 1


@pytest.mark.parametrize(("asked", "noted"), [
    ("who ran?", "Tom runs every day"),
    ("favorite color", "favourite colour: green"),
    ("deployments", "we deploy on Thursday"),
    ("wifi", "the Wi-Fi key is tulip"),
])
def test_other_forms_are_found_in_memory(memory, asked, noted):
    memory.store("noted", noted)
    memory.store("other", "bread and butter")

    assert [entry.key for entry in memory.recall(asked)] == ["noted"]


@pytest.mark.parametrize(("text", "asked"), [
    ("Der Haustürschlüssel liegt unter der Matte", "Wo ist der Schlüssel?"),
    ("Anahtarlar dolabın içinde ve kapı kapalı", "anahtarlarımız nerede"),
    ("Мы купили новую программу для бухгалтерии", "про программы"),
    ("اشترينا الكتاب الجديد من السوق", "أين كتابي"),
    ("Kissa nukkuu sohvalla ja hiiri on keittiössä", "keittiön hiiri")])
def test_a_word_in_another_form_or_compound_is_found(memory, text, asked):
    memory.store("other", "The garden is green and the sky is blue")
    memory.store("found", text)

    assert [one.key for one in memory.recall(asked)] == ["found"]


def test_a_short_old_row_stands_among_many_long_ones(memory):
    """Long rows hold the words by chance, and are more than are scored."""
    memory.store("short", "the boiler code")
    filler = " ".join(f"word{n}" for n in range(300))
    memory.restore([
        MemoryEntry("", f"long{n}", f"boiler {filler} code", "core", "", "")
        for n in range(400)], overwrite=True)

    assert memory.recall("boiler code")[0].key == "short"


def test_words_of_english_are_not_looked_for_in_pieces(memory):
    """Of a store with few rows in pieces only what is unknown is."""
    memory.store("de", "Anna hat die Wohnung in der Stadt gemietet")
    memory.restore([
        MemoryEntry("", f"en{n}", f"Anna was in the garden {n} times", "core",
                    "", "") for n in range(60)], overwrite=True)
    asked = []
    memory._connection.set_trace_callback(asked.append)
    memory.recall("when was Anna in the garden?")
    for_english = [one for one in asked if '"_ann' in one]
    found = memory.recall("Mietwohnung gemietet")
    memory._connection.set_trace_callback(None)

    assert for_english == []
    assert found[0].key == "de"
