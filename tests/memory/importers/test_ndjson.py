"""Lines of JSON out and in."""

import io
import json

import pytest

from claw.core.errors import UsageError
from claw.core.memory import MemoryEntry
from claw.memory.importers.ndjson import (
    import_entries,
    parse,
    read_lines,
    records,
    spool,
)
from claw.memory.none import NoneMemory


def test_export_and_import_give_the_same_memories(memory, open_memory,
                                                  tmp_path):
    memory.restore([
        MemoryEntry("1", "a\n", "x\0\r\n🎉", "core", "2020-01-01T00:00:00Z",
                    "2021-01-01T00:00:00Z", "s", None, "ann", "ns", None,
                    None, "telegram:1:2"),
        MemoryEntry("2", "b", "old", "daily", "2020-01-02T00:00:00Z",
                    "2021-01-01T00:00:00Z", superseded_by="1")],
        overwrite=False)
    lines = [json.dumps(record).encode() + b"\n"
             for record in records(memory)]
    other = open_memory(workspace=tmp_path / "other")

    assert import_entries(other, parse(lines)) == 2
    assert list(other.entries()) == list(memory.entries())
    assert import_entries(other, parse(lines)) == 2
    assert list(other.entries()) == list(memory.entries())


def test_only_key_and_content_are_needed(memory):
    import_entries(memory, parse([
        b'\xef\xbb\xbf{"key": "a", "content": "text"}\n', b"\n",
        b'{"key": "b", "content": "", "timestamp": '
        b'"2020-01-01T09:00:00+09:00", "unknown": [1]}']))

    assert memory.get("a").category == "core"
    assert memory.get("b").created_at == "2020-01-01T00:00:00.000000Z"
    assert memory.get("b").content == ""


@pytest.mark.parametrize(("line", "complaint"), [
    ("{", "no JSON"), ("[]", "not an object"), ("1", "not an object"),
    ('{"key": "c"}', '"content" is missing'),
    ('{"key": 1, "content": "x"}', '"key" is missing'),
    ('{"key": "", "content": "x"}', '"key" is empty'),
    ('{"key": "c", "content": "x", "created_at": "soon"}', "not a time"),
    ('{"key": "c", "content": "x", "session_id": 4}', '"session_id"'),
    ('{"key": "c", "content": "x", "importance": true}', '"importance"'),
    ("[" * 100_000, "no JSON"),
])
def test_a_bad_line_is_named_and_nothing_is_written(memory, line, complaint):
    lines = [b'{"key": "a", "content": "x"}\n', b"\n", line.encode()]

    with pytest.raises(UsageError, match=r"^notes, line 3: ") as raised:
        import_entries(memory, parse(lines, "notes"))

    assert complaint in raised.value.message
    assert memory.count() == 0


@pytest.mark.parametrize("importance", [
    "NaN", "1e999", "1" + "0" * 30, "-Infinity", "true", '"high"', "[]"])
def test_an_importance_that_no_column_can_hold_is_refused(importance):
    line = f'{{"key": "a", "content": "b", "importance": {importance}}}'

    with pytest.raises(UsageError, match='line 1: "importance"'):
        list(parse([line.encode()]))


def test_a_document_of_all_memories_is_read_too(memory):
    memory.store("a", "x")
    memory.store("b", "y")
    document = json.dumps({"memories": list(records(memory)), "total": 2})
    before = list(memory.entries())

    assert list(parse([document.encode()])) == before


@pytest.mark.parametrize("document", [
    b'{"memories": [1]}', b'{"memories": 1}', b'{"memories": [{}]}'])
def test_a_document_of_no_memories_is_refused(document):
    with pytest.raises(UsageError, match="line 1"):
        list(parse([document]))


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory():
    endless = io.BytesIO(b'{"key"' * 1000)

    with pytest.raises(UsageError, match="line 1 is longer than 100 bytes"):
        list(read_lines(endless, 100))
    assert endless.tell() == 101


def test_entries_wait_in_a_file_and_come_back_as_they_were(memory):
    given = [MemoryEntry("1", "k\n", "\0\ud800 🎉", "x", "", "", "", None,
                         "ann", "ns", None, "2", "telegram:1:2")]

    with spool(iter(given)) as kept:
        assert list(kept) == given


class Texts(NoneMemory):
    """A store that takes a text at a time."""

    def __init__(self):
        self.stored = []

    def store(self, key, content, category="core", session_id=None):
        self.stored.append((key, content, category, session_id))


def test_a_store_without_transactions_gets_nothing_of_a_bad_file():
    memory = Texts()
    lines = [b'{"key": "a", "content": "x"}\n', b"junk"]

    with pytest.raises(UsageError, match="line 2"):
        import_entries(memory, parse(lines))
    assert memory.stored == []
    assert import_entries(memory, parse(lines[:1])) == 1
    assert memory.stored == [("a", "x", "core", None)]
