"""memory_store, memory_recall, memory_forget."""

import pytest

from claw.core.memory import MemoryEntry
from claw.core.turn import TurnContext
from claw.memory.none import NoneMemory
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory
from claw.memory.sqlite.ephemeral import EphemeralMemory
from claw.tools.memory import MemoryForget, MemoryRecall, MemoryStore, line
from claw.tools.offer.checked import Denial


@pytest.fixture
def memory(room):
    memory = EphemeralMemory.open(room.workspace, MemorySettings())
    yield memory
    memory.close()


def test_a_fact_is_stored_recalled_and_forgotten(room, memory):
    deps = room.deps(memory)

    stored = room.call(MemoryStore(deps), key="colour",
                       content="Mina likes green")
    found = room.call(MemoryRecall(deps), query="green")
    gone = room.call(MemoryForget(deps), key="colour")
    again = room.call(MemoryForget(deps), key="colour")
    nothing = room.call(MemoryRecall(deps), query="green")

    assert stored.output == "Stored memory: colour"
    assert found.output.startswith(
        "Found 1 memories:\n- [core] colour: Mina likes green [")
    assert found.output.endswith("%]")
    assert gone.output == ("Forgot memory: colour\n"
                           "To bring it back: claw memory undo colour")
    assert again.success
    assert again.output == "No memory found with key: colour"
    assert nothing.output == "No memories found."


@pytest.mark.parametrize(("score", "shown"), [
    (0.98, " [98%]"), (1.0, " [100%]"), (0.004, " [0%]"), (None, "")])
def test_a_score_is_shown_in_per_cent(score, shown):
    entry = MemoryEntry("1", "k", "text", "daily", "", "", score=score)

    assert line(entry) == "- [daily] k: text" + shown


def test_memories_belong_to_the_session_of_the_turn(room, memory):
    deps = room.deps(memory)
    ana = TurnContext(origin="channel", session_id="ana")
    bob = TurnContext(origin="channel", session_id="bob")

    room.call(MemoryStore(deps), ana, key="k", content="ana's tea")

    assert memory.get("k").session_id == "ana"
    assert "ana's tea" in room.call(
        MemoryRecall(deps), ana, query="tea").output
    assert room.call(MemoryRecall(deps), bob, query="tea").output == (
        "No memories found.")
    assert "No memory found" in room.call(
        MemoryForget(deps), bob, key="k").output
    assert memory.count() == 1
    assert "Forgot" in room.call(MemoryForget(deps), ana, key="k").output


def test_no_session_can_overwrite_the_memory_of_another(room, memory):
    deps = room.deps(memory)
    ana = TurnContext(origin="channel", session_id="ana")
    bob = TurnContext(origin="channel", session_id="bob")
    room.call(MemoryStore(deps), ana, key="k", content="ana's tea")

    refused = room.call(MemoryStore(deps), bob, key="k", content="lost")
    again = room.call(MemoryStore(deps), ana, key="k", content="ana's milk")

    assert not refused.success
    assert "choose another" in refused.error
    assert again.success
    assert (memory.get("k").content, memory.get("k").session_id) == (
        "ana's milk", "ana")


def test_the_same_person_has_one_memory_in_all_private_chats(room, memory):
    deps = room.deps(memory)
    phone = TurnContext(origin="channel", session_id="phone",
                        sessions=("desk",))
    desk = TurnContext(origin="channel", session_id="desk",
                       sessions=("phone",))
    room.call(MemoryStore(deps), phone, key="k", content="ana's tea")

    assert "ana's tea" in room.call(
        MemoryRecall(deps), desk, query="tea").output
    room.call(MemoryStore(deps), desk, key="k", content="ana's milk")
    # It stays where it was, for whoever is only there again one day.
    assert memory.get("k").session_id == "phone"
    room.call(MemoryStore(deps), desk, key="own", content="ana's bread")
    newest = room.call(MemoryRecall(deps), phone, limit=1,
                       since="2020-01-01T00:00:00Z").output
    assert "ana's bread" in newest
    assert "Forgot" in room.call(MemoryForget(deps), desk, key="k").output


def test_a_memory_keeps_who_said_it(room, memory):
    deps = room.deps(memory)
    ana = TurnContext(origin="channel", session_id="s", channel="telegram",
                      sender="ana", message="telegram:1:7")

    room.call(MemoryStore(deps), ana, key="k", content="tea")
    room.call(MemoryStore(deps), key="own", content="coffee")

    assert memory.get("k").sender == "ana"
    assert memory.get("k").source == "telegram:1:7"
    assert memory.get("own").sender is None


def test_a_memory_that_keeps_no_sender_is_kept(room):
    class Plain(NoneMemory):
        stored = ()

        def store(self, *what):
            self.stored = what

    memory = Plain()
    ana = TurnContext(origin="channel", session_id="s", sender="ana")

    room.call(MemoryStore(room.deps(memory)), ana, key="k", content="tea")

    assert memory.stored == ("k", "tea", "core", "s")


def test_only_the_owner_hears_of_undo(room, memory):
    deps = room.deps(memory)
    ana = TurnContext(origin="channel", session_id="ana", sender="ana")
    for key in ("a", "two words", "c"):
        memory.store(key, "text")

    hers = room.call(MemoryForget(deps), ana, key="a")
    own = room.call(MemoryForget(deps), TurnContext(origin="agent"),
                    key="two words")
    memory.undo("a")
    memory.purge("c")
    none = room.call(MemoryForget(deps), key="c")

    assert hers.output == "Forgot memory: a"
    assert own.output.endswith("claw memory undo 'two words'")
    assert none.output == "No memory found with key: c"


def test_no_way_back_is_promised_where_there_is_none(room, tmp_path):
    memory = SqliteMemory.open(tmp_path, MemorySettings(
        undo_retention_days=0))
    memory.store("k", "text")

    gone = room.call(MemoryForget(room.deps(memory)), key="k")
    memory.close()

    assert gone.output == "Forgot memory: k"


def test_no_tool_reaches_what_another_session_said_before(room, memory):
    deps = room.deps(memory)
    ana = TurnContext(origin="channel", session_id="ana", sender="ana")
    bob = TurnContext(origin="channel", session_id="bob", sender="bob")
    tools = [MemoryStore(deps), MemoryRecall(deps), MemoryForget(deps)]
    room.call(tools[0], ana, key="k", content="CANARY of ana")
    room.call(tools[2], ana, key="k")
    room.call(tools[0], bob, key="k", content="words of bob")
    seen = [
        room.call(tools[1], bob, query="CANARY"),
        room.call(tools[1], bob, since="2020-01-01T00:00:00Z"),
        room.call(tools[1], bob, query="CANARY", as_of="2999-01-01"),
        room.call(tools[2], bob, key="k"),
        room.call(tools[1], bob, query="CANARY"),
        room.call(tools[0], bob, key="k", content="again bob"),
    ]

    assert [v.entry.content for v in memory.history("k")][-1] == (
        "CANARY of ana")
    assert not seen[2].success
    assert "CANARY" not in "".join(
        f"{result.output} {result.error}" for result in seen)
    assert {tool.name for tool in tools} == {
        "memory_store", "memory_recall", "memory_forget"}


def test_a_time_bound_stands_for_a_query(room, memory):
    deps = room.deps(memory)
    memory.store("k", "text")

    assert "- [core] k: text" in room.call(
        MemoryRecall(deps), since="2020-01-01T00:00:00Z").output
    assert room.call(MemoryRecall(deps),
                     until="2020-01-01T00:00:00+09:00").output == (
        "No memories found.")


@pytest.mark.parametrize(("args", "error"), [
    ({}, "Provide 'query'"), ({"query": "  "}, "Provide 'query'"),
    ({"query": "x", "since": "yesterday"}, "RFC 3339"),
    ({"query": "x", "until": "2026-01-01T00:00:00"}, "RFC 3339"),
    ({"query": "x", "limit": 0}, "at least 1"),
    ({"query": "x", "limit": 10**9}, "at most 100")])
def test_recall_wants_words_or_a_time(room, memory, args, error):
    result = room.call(MemoryRecall(room.deps(memory)), **args)

    assert not result.success
    assert error in result.error


def test_read_only_mode_only_recalls(room, memory):
    deps = room.deps(memory, level="readonly")
    memory.store("k", "text")

    assert room.call(MemoryRecall(deps), query="text").success
    for result in (room.call(MemoryStore(deps), key="a", content="b"),
                   room.call(MemoryForget(deps), key="k")):
        assert isinstance(result, Denial)
    assert memory.count() == 1


def test_without_a_memory_it_is_said(room):
    result = room.call(MemoryStore(room.deps()), key="a", content="b")

    assert not result.success
    assert "no memory" in result.error
