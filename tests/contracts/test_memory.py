"""Every registered memory backend passes the contract suite."""

import pytest

from claw.core.errors import UsageError
from claw.core.memory import ClosesMemory
from claw.memory import REGISTRY
from claw.memory.ephemeral import EphemeralMemory
from claw.memory.none import NoneMemory
from claw.memory.settings import MemorySettings
from claw.memory.sqlite import SqliteMemory
from claw.testing.contracts.memory import MemoryContract


class TestSqlite(MemoryContract):
    def make(self, tmp_path):
        return SqliteMemory.open(tmp_path, MemorySettings())


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


@pytest.mark.parametrize("name", REGISTRY.names())
def test_every_registered_name_is_covered_and_keeps_its_name(name, tmp_path):
    room = REGISTRY.load(name)

    assert room in (SqliteMemory, EphemeralMemory, NoneMemory)
    memory = room.open(tmp_path, MemorySettings())
    try:
        assert memory.name == name
    finally:
        if isinstance(memory, ClosesMemory):
            memory.close()
