"""A memory that is opened when it is first used."""

import threading

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.memory import (
    Filters,
    KeepsVersions,
    Memory,
    RecallsFiltered,
    Source,
    StoresSource,
)
from claw.memory.none import NoneMemory
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory
from claw.wiring.memory import open_on_demand
from claw.wiring.memory.on_demand import on_demand


class Opening:
    """Opens a room and remembers how."""

    def __init__(self, room, workspace):
        self.room = room
        self.workspace = workspace
        self.ways = []
        self.memory = on_demand("it", self, room)

    def __call__(self, readonly):
        self.ways.append("reads" if readonly else "writes")
        return self.room.open(self.workspace, MemorySettings(),
                              readonly=readonly)


@pytest.fixture
def opening(tmp_path):
    opening = Opening(SqliteMemory, tmp_path / "ws")
    yield opening
    opening.memory.close()


def test_nothing_is_opened_before_it_is_used(opening):
    assert isinstance(opening.memory, Memory)
    assert opening.memory.name == "it"
    assert opening.ways == []


def test_a_question_creates_nothing(opening):
    memory = opening.memory

    assert memory.recall("tea") == memory.list() == []
    assert memory.get("k") is None
    assert memory.history("k") == []
    assert memory.recall_filtered("tea", 5, Filters(category="core")) == []
    assert not memory.forget("k")
    assert memory.count() == 0
    assert memory.health_check()
    assert opening.ways == ["reads"]
    assert not opening.workspace.exists()


def test_what_was_written_is_read_in_the_same_turn(opening):
    memory = opening.memory
    memory.count()
    memory.store("old", "Mina lives in Oslo")
    memory.store_from("new", "Mina lives in Rome", "daily", "s",
                      Source("mina", "telegram:1:2"))

    assert memory.get("new").sender == "mina"
    assert memory.get("new").source == "telegram:1:2"
    assert memory.supersede("old", "new")
    assert [e.key for e in memory.recall("Mina lives")] == ["new"]
    assert memory.recall_filtered("Mina", 5, Filters("core")) == []
    assert memory.history("old")[0].ended_by == "superseded"
    assert memory.undo("old").content == "Mina lives in Oslo"
    assert opening.ways == ["reads", "writes"]


@pytest.mark.parametrize("write", [
    lambda memory: memory.store("k", "text"),
    lambda memory: memory.store_from("k", "text", "core", None, Source()),
    lambda memory: memory.supersede("a", "b"),
    lambda memory: memory.undo("k"),
])
def test_what_writes_opens_for_writing(opening, write):
    write(opening.memory)

    assert opening.ways == ["writes"]


def test_it_can_what_its_backend_can(opening, tmp_path):
    none = Opening(NoneMemory, tmp_path).memory
    unknown = on_demand("it", opening, "no class")

    for ability in (KeepsVersions, RecallsFiltered):
        assert isinstance(opening.memory, ability)
        assert not isinstance(none, ability)
        assert not isinstance(unknown, ability)
    assert isinstance(none, StoresSource)


@pytest.mark.parametrize(("backend", "able"), [
    ("sqlite", True), ("ephemeral", True), ("none", False)])
def test_the_configured_memory_can_what_its_backend_can(tmp_path, backend,
                                                        able):
    (tmp_path / "config.toml").write_text(
        f'[memory]\nbackend = "{backend}"\n')
    memory = open_on_demand(load(locate(str(tmp_path), None, {})))

    assert isinstance(memory, KeepsVersions) is able
    assert isinstance(memory, RecallsFiltered) is able


def test_a_backend_without_sources_keeps_the_memory(tmp_path):
    stored = []

    class Plain(NoneMemory):
        def store(self, *what):
            stored.append(what)

    memory = Opening(Plain, tmp_path).memory
    memory.store_from("k", "text", "core", "s", Source("mina"))

    assert stored == [("k", "text", "core", "s")]


def test_threads_open_it_once(opening):
    threads = [threading.Thread(target=opening.memory.store,
                                args=(f"k{number}", "text"))
               for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert opening.memory.count() == 8
    assert opening.ways == ["writes"]
