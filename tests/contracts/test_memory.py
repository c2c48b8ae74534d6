"""Every registered memory backend passes the contract suite."""

import pytest

from claw.core.errors import UsageError
from claw.core.memory import ClosesMemory
from claw.memory import REGISTRY
from claw.memory.lucid.backend import LucidMemory
from claw.memory.markdown.backend import MarkdownMemory
from claw.memory.none import NoneMemory
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory
from claw.memory.sqlite.ephemeral import EphemeralMemory
from claw.testing.contracts.memory import MemoryContract

ROOMS = {"sqlite": SqliteMemory, "markdown": MarkdownMemory,
         "lucid": LucidMemory, "ephemeral": EphemeralMemory,
         "none": NoneMemory}
# Needs a server: what of it can be opened without one has its own test.
ON_A_SERVER = {"postgres"}


class TestSqlite(MemoryContract):
    def make(self, tmp_path):
        return SqliteMemory.open(tmp_path, MemorySettings())


class TestMarkdown(MemoryContract):
    appends_only = True

    def make(self, tmp_path):
        return MarkdownMemory.open(tmp_path, MemorySettings())


class TestLucidWithoutTheTool(MemoryContract):
    """The bridge leads nowhere: what is left is the SQLite memory."""

    @pytest.fixture(autouse=True)
    def _no_tool(self, monkeypatch, tmp_path):
        monkeypatch.setenv("CLAW_LUCID_CMD", str(tmp_path / "no-lucid"))

    def make(self, tmp_path):
        return LucidMemory.open(tmp_path, MemorySettings())


class TestEphemeral(MemoryContract):
    persists = False

    def make(self, tmp_path):
        return EphemeralMemory.open(tmp_path, MemorySettings())

    def test_it_leaves_nothing_on_disk(self, tmp_path):
        self.filled(tmp_path).close()

        assert list(tmp_path.iterdir()) == []


class TestNone:
    def test_it_takes_everything_and_keeps_nothing(self, tmp_path):
        memory = NoneMemory.open(tmp_path, MemorySettings())
        memory.store("key", "text")

        assert memory.health_check() is True
        assert (memory.get("key"), memory.list(), memory.recall("text"),
                memory.count(), memory.forget("key")) == (None, [], [], 0,
                                                          False)
        assert list(tmp_path.iterdir()) == []

    def test_an_empty_key_is_refused(self, tmp_path):
        with pytest.raises(UsageError):
            NoneMemory().store("", "text")


def test_every_registered_name_is_covered():
    assert {*REGISTRY.names()} == {*ROOMS, *ON_A_SERVER}


@pytest.mark.parametrize("name", ROOMS)
def test_a_registered_name_leads_to_the_room_of_that_name(name, tmp_path):
    room = REGISTRY.load(name)

    assert room is ROOMS[name]
    memory = room.open(tmp_path, MemorySettings())
    try:
        assert memory.name == name
    finally:
        if isinstance(memory, ClosesMemory):
            memory.close()
