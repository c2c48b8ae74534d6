"""memory_store, memory_recall, memory_forget."""

import pytest

from claw.core.memory import MemoryEntry
from claw.core.turn import TurnContext
from claw.memory.ephemeral import EphemeralMemory
from claw.memory.settings import MemorySettings
from claw.tools.checked import Denial
from claw.tools.memory import MemoryForget, MemoryRecall, MemoryStore, line


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
    assert gone.output == "Forgot memory: colour"
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
