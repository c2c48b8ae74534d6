"""What a channel's turn recalls and keeps."""

import asyncio
import threading

import pytest
from agent_parts import ListMemory, entry

from claw.agent.memory.recall import (
    build_source,
    recall_for_channel,
    remember,
)
from claw.agent.rounds.events import Notice
from claw.core.channel import ChannelMessage
from claw.core.errors import StorageError
from claw.core.memory import Source
from claw.core.value import replace
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory

TEXT = "Where does the dentist of my sister work?"


class Scoped(ListMemory):
    """Recalls by session; a scope may fail."""

    def __init__(self, **scopes):
        super().__init__()
        self.scopes = scopes

    def recall(self, query, limit=5, session_id=None, since=None,
               until=None):
        self.asked.append((query, limit, session_id))
        found = self.scopes.get(session_id, [])
        if isinstance(found, Exception):
            raise found
        return found[:limit]


def recalled(memory, text=TEXT, *, group=False, min_score=0.4, sender="ann",
             key="tg_1_ann"):
    events = []
    found = asyncio.run(recall_for_channel(
        memory, text, scopes=(sender, key), is_group=group,
        min_score=min_score, on_event=events.append))
    return found, [e.text for e in events if isinstance(e, Notice)]


def keys(found):
    return [e.key for e in found.entries]


def test_both_scopes_are_asked_and_duplicates_go():
    memory = Scoped(ann=[entry("a", "A", 0.6), entry("both", "B", 0.9)],
                    tg_1_ann=[entry("both", "B", 0.9), entry("c", "C", 0.7),
                              entry("copy", "A", 0.5)])
    found, notices = recalled(memory)

    assert sorted(memory.asked) == [(TEXT, 5, "ann"), (TEXT, 5, "tg_1_ann")]
    assert keys(found) == ["both", "c", "a"]
    assert found.block == "[Memory context]\n- both: B\n- c: C\n- a: A\n\n"
    assert notices == []


def test_four_entries_say_four_things():
    """A message, the fact made of it, and what else is known."""
    def kept(key, content, score):
        return replace(entry(key, content, score), category="conversation")
    memory = Scoped(tg_1_ann=[
        kept("m1", "My sister moved to Busan in 2019", 0.9),
        kept("m2", "moved to Busan in 2019", 0.8), kept("m3", "C", 0.7),
        kept("m4", "D", 0.6)], ann=[kept("m5", "E", 0.5)])

    assert keys(recalled(memory)[0]) == ["m1", "m3", "m4", "m5"]


def test_in_a_group_the_scopes_take_turns():
    memory = Scoped(ann=[entry(f"a{n}", f"A{n}", 0.9) for n in range(5)],
                    tg_1_ann=[entry(f"g{n}", f"G{n}", 0.5)
                              for n in range(5)])

    assert keys(recalled(memory, group=True)[0]) == ["a0", "g0", "a1", "g1"]
    assert keys(recalled(memory)[0]) == ["a0", "a1", "a2", "a3"]


def test_the_scopes_are_asked_at_the_same_time():
    barrier = threading.Barrier(2, timeout=2)

    class Meets(Scoped):
        def recall(self, *args, **named):
            barrier.wait()
            return super().recall(*args, **named)
    found, _ = recalled(Meets(ann=[entry("a", "A")]))

    assert keys(found) == ["a"]


def test_one_scope_that_fails_leaves_the_other():
    memory = Scoped(ann=StorageError("disk is gone"),
                    tg_1_ann=[entry("c", "C")])
    found, notices = recalled(memory)

    assert keys(found) == ["c"]
    assert notices == ["memory not read: disk is gone"]


@pytest.mark.parametrize(("bad", "kept"), [
    (entry("k", "x", 0.39), False), (entry("k", "x", 0.4), True),
    (entry("k", "x", None), True), (entry("assistant_resp_1", "x"), False),
    (entry("ann_history", "x"), False), (entry("k", "[IMAGE:a]"), False),
    (entry("k", "<tool_result>"), False), (entry("k", "[cron:1] x"), False),
    (entry("k", "distilled_index_sig: x"), False), (entry("k", ""), False),
    (entry("k", "y" * 4000), True), (entry("k", "y" * 4001), False),
])
def test_what_does_not_belong_in_a_prompt_stays_out(bad, kept):
    found, _ = recalled(Scoped(ann=[bad]))

    assert bool(found.entries) is kept
    assert bool(found.block) is kept


def test_entries_and_block_are_bounded():
    memory = Scoped(ann=[entry(f"k{n}", f"{n}" * 3000) for n in range(5)])
    found, _ = recalled(memory)

    assert len(found.entries) == 4
    assert len(found.block) <= 4_000
    assert all(len(line) <= 810 for line in found.block.splitlines())


def test_the_message_itself_is_not_its_own_memory():
    """It was kept a moment before it is looked up."""
    same = replace(entry("tg_ann_7", TEXT, 1.0), category="conversation")
    fact = entry("dentist", "Dr. Kim, Main Street", 0.5)

    assert keys(recalled(Scoped(tg_1_ann=[same, fact]))[0]) == ["dentist"]
    burst = f"Hello there\n{TEXT}"
    assert keys(recalled(Scoped(tg_1_ann=[same]), burst)[0]) == []


@pytest.mark.parametrize("text", ["", "  \n", "*", " * "])
def test_nothing_is_asked_for_nothing(text):
    memory = Scoped(ann=[entry("newest", "x")])

    assert recalled(memory, text)[0].block == ""
    assert memory.asked == []


def test_a_huge_message_is_looked_up_by_its_beginning():
    memory = Scoped()
    recalled(memory, "x" * 1_000_000)

    assert {len(query) for query, _, _ in memory.asked} == {4_000}


def kept(memory, text, key="tg_ann_1"):
    events = []
    saved = asyncio.run(remember(memory, key, text, "tg_1_ann",
                                 on_event=events.append))
    return saved, events


@pytest.mark.parametrize(("text", "worth"), [
    ("x" * 20, True), ("x" * 19, False), ("", False),
    # written by a person, whatever it looks like
    ("[cron:1] " + "x" * 30, True)])
def test_a_message_worth_it_is_kept_under_its_conversation(text, worth):
    memory = ListMemory()

    assert kept(memory, text)[0] is worth
    assert memory.stored == ([
        ("tg_ann_1", text, "conversation", "tg_1_ann")] if worth else [])


@pytest.mark.parametrize(("channel", "chat", "number", "name"), [
    ("telegram", "-100123", "telegram_-100123_4711", "telegram:-100123:4711"),
    ("telegram", "-100123:7", "telegram_-100123_4711",
     "telegram:-100123:7:-100123_4711"),
    ("webhook", "ann", "webhook_77", "webhook:ann:77"),
    ("matrix:!room", "!room", "$event", "matrix:!room:!room:$event"),
    ("cli", "user", "", "cli:user:"),
])
def test_a_message_is_named_by_channel_chat_and_id(channel, chat, number,
                                                   name):
    assert build_source(ChannelMessage(
        number, "ann", chat, "text", channel, 0)) == Source("ann", name)


def test_what_is_kept_says_by_whom_and_in_which_message(tmp_path):
    message = ChannelMessage("4711", "ann", "-100123", "text", "telegram", 0)
    memory = SqliteMemory.open(tmp_path, MemorySettings())
    try:
        asyncio.run(remember(memory, "k", "y" * 30, "s",
                             source=build_source(message)))
        entry = memory.get("k")
    finally:
        memory.close()

    assert (entry.sender, entry.source, entry.session_id) == (
        "ann", "telegram:-100123:4711", "s")


def test_a_memory_that_fails_does_not_cost_the_answer():
    class Full(ListMemory):
        def store(self, *args):
            raise StorageError("disk full")
    saved, events = kept(Full(), "y" * 30)

    assert saved is False
    assert events == [Notice("message not kept in memory: disk full")]


def test_what_was_said_is_found_again_in_the_same_chat_only(tmp_path):
    memory = SqliteMemory.open(tmp_path, MemorySettings())
    try:
        kept(memory, "My sister's dentist works in Main Street")
        found, _ = recalled(memory, min_score=0.0)
        other, _ = recalled(memory, min_score=0.0, key="tg_2_bob",
                            sender="bob")
    finally:
        memory.close()

    assert keys(found) == ["tg_ann_1"]
    assert keys(other) == []
