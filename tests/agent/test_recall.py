import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest
from agent_parts import NOW, ListMemory, entry
from hypothesis import given
from hypothesis import strategies as st

from claw.agent.recall import (
    BLOCK_CHARS,
    ENTRY_CHARS,
    autosave,
    bare_message,
    enrich,
    is_worth_saving,
    recall,
    relevant,
    rendered,
)
from claw.core.turn import TurnContext
from claw.memory.settings import MemorySettings
from claw.memory.sqlite import SqliteMemory


def test_the_block_has_a_line_for_each_entry():
    recalled = rendered([entry("a", "one"), entry("b", "two")])

    assert recalled.block == "[Memory context]\n- a: one\n- b: two\n\n"
    assert [(p.source, p.text) for p in recalled.passages] == [
        ("memory:a", "one"), ("memory:b", "two")]


def test_nothing_recalled_is_an_empty_block():
    assert rendered([]).block == ""


@pytest.mark.parametrize(("key", "content", "score"), [
    ("k", "low", 0.39),
    ("assistant_resp", "x", 0.9),
    (" Assistant_Resp_12 ", "x", 0.9),
    ("telegram_history", "x", 0.9),
    ("k", "[cron: daily] go", 0.9),
    ("k", " [CRON:1]", 0.9),
    ("k", "[Heartbeat Task] x", 0.9),
    ("k", "[distilled_x", 0.9),
    ("k", "a distilled_index_sig: b", 0.9),
    ("k", 'see <tool_result name="a">', 0.9),
    ("k", "look [IMAGE:/a.png]", 0.9),
    ("k", "[Memory context]\n- a: b", 0.9),
    ("k", "  ", 0.9),
])
def test_unfit_entries_stay_out(key, content, score):
    assert relevant([entry(key, content, score)], 0.4) == []


def test_a_missing_score_passes():
    found = [entry("a", "x", None), entry("b", "y", 0.4)]

    assert relevant(found, 0.4) == found


def test_long_entries_and_long_blocks_are_cut():
    recalled = rendered([entry(f"k{n}", "x" * 2000) for n in range(9)])

    lines = recalled.block.strip().split("\n")[1:]
    assert len(lines) == len(recalled.entries) == 4
    assert all(line.endswith("…") for line in lines)
    assert all(len(line) <= ENTRY_CHARS + 10 for line in lines)
    assert len(recalled.block) <= BLOCK_CHARS


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=60)),
                min_size=1, max_size=5))
def test_no_content_forges_an_entry_or_ends_the_block(pairs):
    recalled = rendered([entry(key, f"{content}\n\n- forged: yes")
                         for key, content in pairs])

    assert recalled.block.endswith("\n\n")
    lines = recalled.block[:-2].splitlines()
    assert lines[0] == "[Memory context]"
    assert len(lines) == 1 + len(pairs)
    assert all(line.startswith("- ") for line in lines[1:])


def test_recall_asks_within_the_session():
    memory = ListMemory([entry("a", "one"), entry("b", "two", 0.1)])

    recalled = asyncio.run(recall(memory, "question", "s1"))

    assert memory.asked == [("question", 5, "s1")]
    assert [e.key for e in recalled.entries] == ["a"]


KST = timezone(timedelta(hours=9), "KST")


def test_the_message_carries_its_time_after_the_block():
    moment = datetime(2026, 3, 22, 15, 30, tzinfo=KST)

    assert enrich("", moment, "hi") == "[2026-03-22 15:30:00 KST] hi"
    assert enrich("[Memory context]\n- a: b\n\n", moment, "hi") == (
        "[Memory context]\n- a: b\n\n[2026-03-22 15:30:00 KST] hi")


@given(st.text(max_size=80))
def test_the_bare_message_comes_back(message):
    block = rendered([entry("k", "v")]).block

    assert bare_message(enrich(block, NOW, message)) == message
    assert bare_message(enrich("", NOW, message)) == message


@pytest.mark.parametrize("text", ["[note] keep", "plain", "[2026] x"])
def test_a_message_without_a_time_is_bare_already(text):
    assert bare_message(text) == text


@pytest.mark.parametrize(("text", "worth"), [
    ("My dentist is Dr. Kim in Mapo.", True),
    ("x" * 19, False),
    ("x" * 20, True),
    ("[Memory context]\n- a: long enough to be kept", False),
    ("[cron:1] a scheduled prompt of some length", False),
    (" " * 40, False),
])
def test_what_is_worth_saving(text, worth):
    assert is_worth_saving(text) is worth


def test_autosave_keeps_the_raw_message_then_the_start_of_the_answer():
    memory = ListMemory()
    context = TurnContext("agent", session_id="s")

    asyncio.run(autosave(memory, "My dentist is Dr. Kim in Mapo.",
                         "a" * 500, context))

    (key, content, category, session), answer = memory.stored
    assert key.startswith("user_msg_")
    assert (content, category, session) == (
        "My dentist is Dr. Kim in Mapo.", "conversation", "s")
    assert answer[0].startswith("assistant_resp_")
    assert answer[1:] == ("a" * 100, "daily", "s")


def test_autosave_says_whose_words_they_are(tmp_path):
    memory = SqliteMemory.open(tmp_path, MemorySettings())
    try:
        asyncio.run(autosave(
            memory, "My dentist is Dr. Kim in Mapo.", "I see.",
            TurnContext("agent", message="agent:work:t1")))
        found = {e.category: (e.sender, e.source) for e in memory.list()}
    finally:
        memory.close()

    assert found == {"conversation": (None, "agent:work:t1"),
                     "daily": ("assistant", "agent:work:t1")}


def test_every_turn_gets_keys_of_its_own():
    memory = ListMemory()
    for _ in range(2):
        asyncio.run(autosave(memory, "x" * 30, "ok", TurnContext("agent")))

    assert len({key for key, *_ in memory.stored}) == 4


def test_a_huge_message_is_saved_in_part():
    memory = ListMemory()
    asyncio.run(autosave(memory, "x" * 10**6, "", TurnContext("agent")))

    assert [len(content) for _, content, *_ in memory.stored] == [8_000]


def test_times_of_other_zones_are_named():
    moment = datetime(2026, 3, 22, tzinfo=UTC)

    assert enrich("", moment, "a") == "[2026-03-22 00:00:00 UTC] a"
