"""Scores: words, meaning, neighbours, speaker, and the one scale."""

import pytest
from msgspec.structs import astuple

from claw.core.memory import Filters, MemoryEntry, Source
from claw.memory.search.scoring import (
    HEAD,
    MEASURED,
    Merged,
    Row,
    Weights,
    asks,
    build_term,
    count_senders,
    merge,
    merge_as_seed,
    nearness,
    sample_rids,
    score_words,
    share_with_neighbours,
    speaks,
    spread,
    weight,
)


def row(rid, text, sender=None, head="", key=""):
    return Row(rid, key, text, sender, head)


def test_a_row_that_covers_more_of_the_question_scores_more():
    terms = [build_term("green"), build_term("tea")]
    found = score_words([row(1, "green green green"), row(2, "green tea"),
                         row(3, "milk")], terms, [1.0, 1.0])

    assert found[2].bm25 > found[1].bm25 > found[3].bm25 == 0
    assert [found[rid].coverage for rid in (1, 2, 3)] == [0.5, 1.0, 0.0]
    assert found[2].held == (0, 1)


def test_words_of_the_key_count_and_forms_of_a_word_are_one():
    terms = [build_term("colour")]
    found = score_words([row(1, "green", key="favourit color"),
                         row(2, "green")], terms, [1.0])

    assert found[1].coverage == 1.0
    assert found[2].coverage == 0.0


def test_among_long_texts_a_word_counts_by_its_share_of_the_text():
    terms = [build_term("green")]
    found = score_words([row(1, "green" + " x" * 149),
                         row(2, "green green" + " x" * 298),
                         row(3, "green" + " x" * 299)], terms, [1.0])

    assert found[1].bm25 == pytest.approx(found[2].bm25)
    assert found[3].bm25 < found[2].bm25


@pytest.mark.parametrize(("word", "rare", "common"), [
    ("zebra", 0, 1), ("zebra", 1, 50), ("日本", 2, 90),
])
def test_rare_terms_weigh_more(word, rare, common):
    term = build_term(word)

    assert weight(term, rare, 100) > weight(term, common, 100) > 0


@pytest.mark.parametrize(("senders", "total", "expected"), [
    (["Mina", "Mina", "Tom", None], 4, [2, 0, 0]),
    (["Mina", "Mina", "Tom", None], 4000, [2000, 0, 0]),
    (["Ann Mina"], 10, [10, 0, 0]),
    (["王小明", "Tom"], 2, [0, 0, 1]),
    ([None, None], 2, [0, 0, 0]), ([], 0, [0, 0, 0]),
])
def test_a_name_is_counted_in_what_its_owner_said(senders, total, expected):
    terms = [build_term(word) for word in ("mina", "tea", "小明")]

    assert count_senders(senders, terms, total) == expected


@pytest.mark.parametrize(("last", "expected"), [
    (0, []), (3, [1, 2, 3]), (200, [*range(1, 201)]),
    (1000, [*range(1, 1001, 5)]),
])
def test_a_sample_of_rows_is_spread_over_all_of_them(last, expected):
    assert sample_rids(last) == expected


def test_the_name_of_one_who_says_much_is_no_rare_word(memory):
    for number in range(20):
        memory.store_from(f"mina{number}", f"a walk in town {number}",
                          "core", None, Source("Mina"))
        memory.store_from(f"tom{number}", f"a ride in town {number}",
                          "core", None, Source("Tom"))
    memory.store_from("jam", "made jam at home", "core", None, Source("Tom"))
    parts = {entry.key: why.parts["coverage"] for entry, why
             in memory.explain("Mina jam", 50, Filters())}

    assert parts["jam"] > 0.6


def test_a_row_without_a_vector_is_judged_by_its_words():
    scores = merge({1: 2.0, 2: 1.0, 3: 0.5}, {2: 0.9}, 0.1, MEASURED)

    assert scores[1].total == scores[2].total > scores[3].total > 0
    assert scores[3].by_meaning == 0.0
    assert merge({1: 2.0, 2: 1.0}, {}, 0.1, MEASURED) == {
        1: Merged(1.0), 2: Merged(0.5)}


@pytest.mark.parametrize(("vector", "keyword", "expected"), [
    (0.0, 1.0, (0.5, 0.0)), (1.0, 0.0, (0.0, 0.5625)),
    (0.7, 0.3, (0.15, 0.7 * 0.5625)), (7, 3, (0.15, 0.7 * 0.5625)),
    (0.0, 0.0, (0.0, 0.0)),
])
def test_weights_count_as_much_as_they_say(vector, keyword, expected):
    scores = merge({1: 1.0, 2: 2.0}, {1: 0.8, 2: 0.2}, 0.2,
                   Weights(vector, keyword))

    assert astuple(scores[1]) == pytest.approx(expected)


def test_the_seed_s_formula_is_the_one_of_the_seed():
    found = merge_as_seed({1: 1.0, 2: 2.0, 3: 0.0, 4: 0.0},
                          {1: 0.8, 3: 0.5, 4: -0.5}, MEASURED)

    assert {rid: one.total for rid, one in found.items()} == pytest.approx({
        1: 0.7 * 0.8 + 0.3 * 0.5, 2: 0.3, 3: 0.7 * 0.5, 4: 0.0})


@pytest.mark.parametrize(("cosine", "mean", "expected"), [
    (1.0, 0.2, 1.0), (0.2, 0.2, 0.0), (-1.0, 0.2, 0.0), (0.6, 0.2, 0.5),
    (1.0, 1.0, 0.0),
])
def test_nearness_is_what_a_cosine_is_above_the_mean(cosine, mean, expected):
    assert nearness(cosine, mean) == pytest.approx(expected)


def test_neighbours_gain_by_their_distance():
    gained = spread({1: 1.0, 2: 0.5}, [(1, 7, 1), (1, 8, 2), (2, 7, 2)],
                    {1: 0.5, 2: 0.3})

    assert gained == {7: pytest.approx(0.65), 8: pytest.approx(0.3)}


@pytest.mark.parametrize(("sender", "head", "expected"), [
    ("Mina", "I paint", True),
    (None, "Mina: I paint", True),
    (None, "Minas: I paint", False),
    ("Tom", "Mina likes it", False),
    (None, "a very long beginning that is no name at all: x", False),
    (None, "", False),
])
def test_the_speaker_is_the_sender_or_the_label_of_a_line(sender, head,
                                                          expected):
    question = "what does Mina paint?"

    assert speaks(row(1, "", sender, head), question.lower(),
                  frozenset(("mina", "paint"))) is expected


@pytest.mark.parametrize(("head", "expected"), [
    ("How are you?", True), ("你好嗎？", True), ("Fine.", False),
    ("x" * HEAD, False), ("?" + "x" * HEAD, False),
])
def test_a_long_text_is_no_question(head, expected):
    assert asks(head[:HEAD]) is expected


TALK = ["We met at the harbour", "It was raining all day",
        "Then the ferry to Oslo was late", "So we had pancakes"]


def talk(memory, gap="00:00:0", session="s"):
    memory.restore([MemoryEntry(
        "", f"t{number}", text, "conversation",
        f"2026-01-01T{gap}{number}:00Z" if gap.count(":") == 1
        else f"2026-01-01T{gap}{number}Z", "", session)
        for number, text in enumerate(TALK)], overwrite=True)


def test_what_was_said_beside_a_match_is_found_after_it(memory):
    talk(memory)
    for number in range(20):
        memory.store(f"other{number}", f"nothing of note {number}", "core")

    found = memory.recall("ferry Oslo", 10)

    assert [entry.key for entry in found[:1]] == ["t2"]
    assert {entry.key for entry in found} == {"t0", "t1", "t2", "t3"}
    assert found[0].score > found[1].score > 0


@pytest.mark.parametrize("session", [None])
def test_memories_without_a_session_have_no_neighbours(memory, session):
    talk(memory, session=session)

    assert [e.key for e in memory.recall("ferry Oslo", 10)] == ["t2"]


def test_what_was_said_hours_apart_is_no_neighbour(memory):
    memory.restore([MemoryEntry(
        "", f"t{number}", text, "conversation",
        f"2026-01-01T{number * 3:02d}:00:00Z", "", "s")
        for number, text in enumerate(TALK)], overwrite=True)

    assert [e.key for e in memory.recall("ferry Oslo", 10)] == ["t2"]


def test_neighbours_keep_to_the_filters(memory):
    talk(memory)
    memory.restore([MemoryEntry(
        "", "t1", TALK[1], "core", "2026-01-01T00:00:01Z", "", "s")],
        overwrite=True)

    found = memory.recall_filtered("ferry Oslo", 10,
                                   Filters("conversation"))

    assert {entry.key for entry in found} == {"t0", "t2", "t3"}


def test_the_named_speaker_comes_first(memory):
    for name in ("Ana", "Tom", "Mina"):
        memory.restore([MemoryEntry(
            "", f"m{name}", "The pottery class begins on Friday",
            "conversation", "2026-01-01T00:00:00Z", "", name, sender=name)],
            overwrite=True)

    best = memory.recall("when does Tom's pottery class begin")[0]

    assert best.key == "mTom"


def test_a_statement_comes_before_a_question(memory):
    memory.store("asked", "When does the pottery class begin?")
    memory.store("said", "The pottery class will begin on Friday")

    assert memory.recall("pottery class begin")[0].key == "said"


def test_in_a_large_store_the_rows_with_two_words_are_found(memory):
    memory.restore((MemoryEntry(
        "", f"k{number}", f"{'apple' if number % 2 else 'pear'} "
        f"{'river' if number % 3 else 'lake'} number{number % 5}", "core",
        "2026-01-01T00:00:00Z", "") for number in range(21_000)),
        overwrite=True)
    memory.store("both", "the gardener planted an apple beside the lake")

    found = memory.recall("which apple did the gardener plant by the lake")
    assert found[0].key == "both"
    two = memory.recall("apple lake", 50)
    assert all("apple" in e.content and "lake" in e.content for e in two)
    assert len(memory.recall("apple", 7)) == 7


@pytest.mark.parametrize("session", ["small", "large"])
def test_a_session_finds_its_rows_in_a_large_store(memory, session):
    """Rows that hold one common word of two are found as well."""
    sizes = {"small": 20, "large": 1500}
    memory.restore((MemoryEntry(
        "", f"k{number}", f"we need many people here {number}", "core",
        "2026-01-01T00:00:00Z", "", "busy") for number in range(6_000)),
        overwrite=True)
    memory.restore((MemoryEntry(
        "", f"{session}{number}", f"{'need' if number % 2 else 'people'}"
        f" thing{number}", "core", "2026-01-01T00:00:00Z", "", session)
        for number in range(sizes[session])), overwrite=True)

    found = memory.recall("need people", 20, session)
    assert len(found) == 20
    assert {entry.session_id for entry in found} == {session}
    assert memory.recall("absent", 20, session) == []


@pytest.mark.parametrize(("head", "only_asks"), [
    ("Where is the key?", True),
    ("Wo ist der Schlüssel?", True),
    ("열쇠는 어디에 있어?", True),
    ("I lost my key, have you seen it?", False),
    ("Mein Schlüssel ist weg, hast du ihn?", False),
    ("我的钥匙在哪里？", False),
    ("The key is here.", False),
    ("x" * 400 + "?", False),
])
def test_a_question_that_tells_of_its_writer_is_no_mere_question(
        head, only_asks):
    assert asks(head) is only_asks


def test_neighbours_of_long_texts_gain_less():
    short, long = row(1, "a b c"), row(2, "word " * 359 + "word")

    assert share_with_neighbours([short]) == 1.0
    assert share_with_neighbours([long]) == 0.25
    assert share_with_neighbours([]) == 1.0
