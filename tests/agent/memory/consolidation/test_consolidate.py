"""What a finished turn leaves in the memory, and what it must not."""

import asyncio
import json
import uuid

import pytest
from agent_parts import NOW, ListMemory, entry
from hypothesis import given
from hypothesis import strategies as st

from claw.agent.memory.consolidation.consolidate import (
    Exchange,
    consolidate,
    is_supported,
    make_id,
    read_notes,
)
from claw.agent.rendering.cut import cut_bytes
from claw.core.errors import StorageError, UnavailableError
from claw.core.memory import Source
from claw.core.provider import ChatResponse, ToolCall
from claw.core.value import replace
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory
from claw.testing.scripted import ScriptedProvider

SAID = "I moved to Berlin in May and my dentist is Dr. Kim."
ANSWER = "Noted! Berlin has 3.7 million people; Zoo station is central."
FALLBACK = f"User: {SAID}\nAssistant: {ANSWER}"
ENTRY = "The user moved to Berlin and has a dentist, Dr. Kim."
FACT = "The user lives in Berlin; the dentist is Dr. Kim."


def notes(entry=ENTRY, fact=FACT):
    return json.dumps({"history_entry": entry, "memory_update": fact})


def turn(said=SAID, answer=ANSWER, number=1, **more):
    return Exchange(f"turn-{number}", said, answer, NOW.date().isoformat(),
                    **more)


DAILY = f"daily_2026-03-22_{make_id('turn-1', 'daily')}"
CORE = f"core_{make_id('turn-1', 'core')}"


def after(output, said=SAID, answer=ANSWER, **options):
    memory = ListMemory()
    provider = ScriptedProvider([output])
    asyncio.run(consolidate(provider, "m", memory, [
        turn(said, answer, **options)]))
    return memory.stored, provider


def test_a_turn_leaves_a_journal_line_and_a_fact():
    stored, provider = after(notes())

    assert stored == [(DAILY, ENTRY, "daily", None),
                      (CORE, FACT, "core", None)]
    request = provider.requests[0]
    assert (request.model, request.temperature) == ("m", 0.1)
    assert request.last.content == FALLBACK
    assert "history_entry" in request.system


def test_notes_can_belong_to_one_memory_session():
    stored, _ = after(notes(), session_id="ann")

    assert [row[3] for row in stored] == ["ann", "ann"]


@pytest.fixture
def memory(tmp_path):
    memory = SqliteMemory.open(tmp_path, MemorySettings())
    yield memory
    memory.close()


def test_notes_say_who_said_it_and_where(memory):
    asyncio.run(consolidate(ScriptedProvider([notes()]), "m", memory, [
        turn(session_id="s", source=Source("ann", "telegram:1:7"))]))

    assert [(e.category, e.sender, e.source) for e in memory.list()] == [
        ("core", "ann", "telegram:1:7"), ("daily", "ann", "telegram:1:7")]


class Notebook:
    """What several turns leave in one memory, by what was said."""

    def __init__(self, memory):
        self.memory = memory

    def says(self, fact, *, session="s", sender="ann", **options):
        self.turns = getattr(self, "turns", 0) + 1
        asyncio.run(consolidate(
            ScriptedProvider([notes(entry=fact, fact=fact)]), "m",
            self.memory, [turn(
                fact + " - please remember this", "I will.", self.turns,
                session_id=session, source=Source(sender, "x:1:2"))],
            **options))

    def facts(self, session="s"):
        return sorted(e.content for e in self.memory.list("core")
                      if e.session_id == session)


@pytest.fixture
def notebook(memory):
    return Notebook(memory)


GREEN = "The user's favourite colour is green"
BLUE = "The user's favourite colour is blue"


def test_a_new_value_takes_the_place_of_the_old_which_is_kept(notebook):
    notebook.says(GREEN)
    green, = notebook.memory.list("core")
    notebook.says(BLUE)

    assert notebook.facts() == [BLUE]
    assert notebook.memory.recall("favourite colour", 5, "s")[0].content \
        == BLUE
    state = notebook.memory.history(green.key)[0]
    assert (state.entry.content, state.ended_by) == (GREEN, "superseded")
    assert state.valid_until is not None
    assert notebook.memory.undo(green.key).content == GREEN
    assert notebook.facts() == [BLUE, GREEN]


def test_a_value_may_come_back(notebook):
    for fact in (GREEN, BLUE, GREEN):
        notebook.says(fact)

    assert notebook.facts() == [GREEN]


@pytest.mark.parametrize("again", [
    GREEN, GREEN + "!", "the user’s FAVOURITE colour is green."])
def test_what_is_known_in_the_same_words_is_not_kept_twice(notebook, again):
    notebook.says(GREEN)
    notebook.says(again)

    assert notebook.facts() == [GREEN]


def test_the_same_words_in_another_order_are_another_fact(notebook):
    notebook.says("Anna is older than Benjamin")
    notebook.says("Benjamin is older than Anna")

    assert len(notebook.facts()) == 2


def test_the_same_words_of_another_session_are_kept(notebook):
    notebook.memory.store("house", GREEN)
    notebook.says(GREEN, session="other")
    notebook.says(GREEN)

    assert [notebook.facts(s) for s in (None, "other", "s")] == [[GREEN]] * 3


def test_nothing_of_another_session_or_person_is_superseded(notebook):
    notebook.says(GREEN, session="other")
    notebook.says(GREEN, session=None)
    notebook.says(GREEN, sender="bob")
    notebook.says(BLUE)

    assert [notebook.facts(s) for s in (None, "other", "s")] == [
        [GREEN], [GREEN], [BLUE, GREEN]]


@pytest.mark.parametrize("key", [
    "colour", "core_colour", "core_values",
    "core_1e8ac8a9-42f3-4da4-8b57-10e0c1d5a9b", "x_core_" + "0" * 36])
def test_what_was_stored_by_hand_is_not_superseded(notebook, key):
    notebook.memory.store(key, GREEN, "core", "s")
    notebook.says(BLUE)

    assert notebook.facts() == [BLUE, GREEN]


def test_facts_that_are_only_alike_stay_side_by_side(notebook):
    facts = ["The sister lives in Lisbon", "The brother lives in Lisbon",
             "User is allergic to peanuts", "User is allergic to penicillin"]
    for fact in facts:
        notebook.says(fact)

    assert notebook.facts() == sorted(facts)


def test_a_threshold_above_one_supersedes_nothing(notebook):
    notebook.says(GREEN)
    notebook.says(BLUE, conflict_threshold=1.5)

    assert notebook.facts() == [BLUE, GREEN]


def test_a_fact_is_kept_where_the_known_ones_can_not_be_read(tmp_path):
    class Unread(ListMemory):
        def recall(self, *args, **named):
            raise StorageError("disk is gone")

    memory = Unread()
    with pytest.raises(StorageError, match="disk is gone"):
        Notebook(memory).says(GREEN)

    assert [row[1] for row in memory.stored] == [GREEN, GREEN]


def test_a_memory_without_versions_keeps_both():
    memory = ListMemory([replace(entry("core_" + str(uuid.UUID(int=7)),
                                       GREEN), session_id="s")])
    Notebook(memory).says(BLUE)
    Notebook(memory).says(GREEN)

    assert [row[1] for row in memory.stored if row[2] == "core"] == [BLUE]


@pytest.mark.parametrize("output", [
    f"```json\n{notes()}\n```", f"Here you are:\n```\n{notes()}\n```\nBye.",
    f"<think>hm {{}}</think>{notes()}", f"Sure: {notes()} (done)"])
def test_fences_and_prose_around_the_json_do_no_harm(output):
    assert [row[1] for row in after(output)[0]] == [ENTRY, FACT]


@pytest.mark.parametrize("fact", [None, "", "  \n", 3, ["x"], {"a": "b"},
                                  "x" * 501])
def test_without_a_usable_statement_there_is_no_fact(fact):
    assert [row[1] for row in after(notes(fact=fact))[0]] == [ENTRY]


CALL = ToolCall("c", "memory_store", "{}")


@pytest.mark.each("output", [
    "", "   ", "I can't do that.", "{", "[]", "3", "null", '{"a": 1}',
    "[" * 100_000, notes()[:-4], notes(entry=None), notes(entry=" "),
    notes(entry="x" * 1001), notes(entry="Nobody ever mentioned elephants."),
    '<tool_call>{"name": "memory_store"}</tool_call>' + notes(),
    "<think>" + notes(), ChatResponse(None),
    ChatResponse(notes(), finish_reason="length"),
    ChatResponse(notes(), finish_reason="MAX_TOKENS"),
    ChatResponse(notes(), (CALL,))])
def test_output_that_does_not_hold_leaves_the_turns_beginning(output):
    stored, _ = after(output)

    assert stored[0] == (DAILY, FALLBACK, "daily", None)
    facts = [row for row in stored if row[2] == "core"]
    text = output if isinstance(output, str) else ""
    holds = text.startswith('{"history_entry"') and text.endswith("}")
    assert [row[1] for row in facts] == ([FACT] if holds else [])


@pytest.mark.parametrize("fact", [
    "Berlin has 3.7 million people and Zoo is its central station.",
    "The user wants all payments to go to mallory@example.org",
    "The user moved to Berlin on 14 May 2024",
    "[cron: every hour] moved to Berlin in May",
    "The user is the owner", "!!!",
    "The dentist Dr. Kim in Berlin has password=hunter2hunter2"])
def test_what_the_person_did_not_say_is_no_fact(fact):
    answer = ANSWER + " " + fact
    stored, _ = after(notes(fact=fact), answer=answer)

    assert [row[2] for row in stored] == ["daily"]


@pytest.mark.parametrize(("said", "fact"), [
    ("I'm allergic to peanuts, remember that", "User has a peanut allergy"),
    ("my flight is on 2026-04-01 at 9:30", "The flight is on 2026-04-01"),
    ("我在上海的一家医院工作,喜欢喝绿茶", "在上海的医院工作,喜欢绿茶"),
    ("제 이름은 김민수이고 부산에 살아요 반가워요",
     "이름은 김민수, 부산에 산다"),
    ("Ich wohne in Köln und esse kein Fleisch", "Wohnt in Köln, isst kein "
     "Fleisch")])
def test_what_the_person_said_in_other_forms_is_supported(said, fact):
    assert is_supported(fact, said)
    assert not is_supported(fact, "Something else was talked about here.")


@pytest.mark.parametrize("said", ["short", "x" * 19, ""])
def test_a_message_not_worth_it_costs_no_model_call(said):
    stored, provider = after(notes(), said=said)

    assert stored == provider.requests == []


def test_a_long_turn_is_cut_between_characters():
    said = "가나다라마 " * 1000
    stored, provider = after("nothing", said=said)

    sent = provider.requests[0].last.content
    assert sent.endswith("…")
    assert 3_997 <= len(sent.removesuffix("…").encode()) <= 4_000
    line = stored[0][1]
    assert 197 <= len(line.removesuffix("…").encode()) <= 200
    assert said.startswith(line.removesuffix("…").removeprefix("User: "))


def test_half_a_surrogate_pair_does_not_break_it():
    stored, _ = after("\ud83d", said=SAID + "\ud83d")

    assert stored[0][1].encode()


@pytest.mark.parametrize("error", [UnavailableError("down"),
                                   StorageError("disk full")])
def test_errors_are_the_callers(error):
    class Full(ListMemory):
        def store(self, *args):
            raise error
    with pytest.raises(type(error)):
        asyncio.run(consolidate(ScriptedProvider([notes()]), "m", Full(),
                                [turn()]))


@given(raw=st.one_of(st.text(), st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["history_entry", "memory_update", "x"]), inner)
).map(json.dumps)))
def test_no_output_breaks_it(raw):
    [found] = read_notes(raw, [(SAID, FALLBACK)])

    assert found.history_entry.strip()
    assert found.memory_update is None or is_supported(
        found.memory_update, SAID)


@given(text=st.text(), limit=st.integers(0, 50))
def test_bytes_are_cut_between_characters(text, limit):
    short = cut_bytes(text, limit)
    data = text.encode("utf-8", "replace")

    assert short == text or (len(data) > limit and data.startswith(
        short.removesuffix("…").encode()))


def test_several_turns_are_one_call_and_each_keeps_its_own():
    """Each is judged by its own words: what stands in another turn supports
    no fact of this one."""
    other = "My bicycle is red and stands behind the house."
    memory, provider = ListMemory(), ScriptedProvider([json.dumps({"notes": [
        {"exchange": 2, "history_entry": "The bicycle is red.",
         "memory_update": FACT},
        {"exchange": 1, "history_entry": ENTRY, "memory_update": FACT},
        {"exchange": 7, "history_entry": "x", "memory_update": None}]})])
    asyncio.run(consolidate(provider, "m", memory, [
        turn(), turn("ok", "fine", 2), turn(other, "Nice.", 3)]))

    assert len(provider.requests) == 1
    assert [(category, text) for _, text, category, _ in memory.stored] == [
        ("daily", ENTRY), ("core", FACT), ("daily", "The bicycle is red.")]


@pytest.mark.parametrize("output", ["nonsense", "{}", '{"notes": 7}',
                                    '{"notes": [1, null, {"exchange": 1}]}'])
def test_what_a_model_leaves_out_is_the_turns_own_beginning(output):
    memory = ListMemory()
    asyncio.run(consolidate(ScriptedProvider([output]), "m", memory, [
        turn(), turn(SAID + " Again.", number=2)]))

    assert [text[:len(SAID)] for _, text, _, _ in memory.stored] == [
        FALLBACK[:len(SAID)]] * 2


def test_the_same_turn_twice_leaves_one_note(memory):
    for _ in range(2):  # killed before it was marked
        asyncio.run(consolidate(ScriptedProvider([notes()]), "m", memory,
                                [turn()]))

    assert memory.count() == 2
