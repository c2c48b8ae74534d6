"""MEMORY_SNAPSHOT.md: exact, stable, readable, forgiving."""

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw.core.errors import StorageError
from claw.core.memory import MemoryEntry, Source
from claw.core.value import replace
from claw.memory.none import NoneMemory
from claw.memory.snapshot.file import (
    export_snapshot,
    hydrate,
    is_current,
)
from claw.memory.snapshot.format import (
    block,
    read_entries,
    read_snapshot,
    render,
)
from claw.text.segment import clean

AT = "2026-01-02T03:04:05.000006Z"
PIECES = ["# Heading", "\n<<<<<<< HEAD", "\n>>>>>>> b",
          "### 🔑 `key`", "### 🔑", "---", "\\---", "\\\\",
          "*Created: a | Updated: b*", "\\*Created: a | Updated: b*",
          "\\### 🔑 `x`", "```", "`", "``", "\r\n", "\r", "\n", "\n\n", "\t",
          " ", "  \n", "\0", "\x1b[31m", "\x7f", "\x85", "\u2028", "\ufeff",
          "🎉", "👩‍👩‍👧", "한국어", "中文", "日本語", "עברית", "العربية",
          "ไทย",
          "\\n", "\\u{41}", "<!-- x -->", "-->", "{}", "word", "C:\\temp",
          "<!-- claw-snapshot: 1 -->", "**Total core memories:** 3", "&amp;"]


def entry(key, content, **more):
    return MemoryEntry("", key, content, "core", AT, AT, **{
        "importance": 0.5, **more})


def written(entries):
    text = "".join(render(entries, len(entries), AT))
    return list(read_entries(text.encode().splitlines(keepends=True)))


def hostile(count):
    rng = random.Random(7)
    found = []
    for number in range(count):
        key = "".join(rng.choices(PIECES, k=3)) + str(number)
        content = "".join(rng.choices(PIECES, k=rng.randrange(1, 12)))
        if number % 200 == 0:
            content *= 100_000 // len(content)
        found.append((clean(key), clean(content)))
    return found


def test_a_thousand_hostile_memories_come_back_after_brain_db_is_gone(
        open_memory, tmp_path):
    memory = open_memory()
    for number, (key, content) in enumerate(hostile(1000)):
        memory.store(key, content, "core",
                     f"s{number}\n`" if number % 3 == 0 else None)
    before = {e.key: replace(e, id="") for e in memory.list()}
    path = tmp_path / "MEMORY_SNAPSHOT.md"
    assert export_snapshot(memory, path) == 1000
    memory.close()
    for file in (tmp_path / "memory").iterdir():
        file.unlink()

    notes = []
    again = open_memory(readonly=True, notes=notes)

    assert {e.key: replace(e, id="") for e in again.list()} == before
    assert notes == [f"restored 1,000 memories from {path}"]
    assert is_current(again, path)
    assert again.recall("한국어")


any_text = st.lists(st.sampled_from(PIECES) | st.text(max_size=5),
                    max_size=8).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.builds(
    entry, any_text.filter(bool), any_text,
    session_id=st.none() | any_text, sender=st.none() | any_text,
    source=st.none() | any_text, namespace=any_text,
    importance=st.none() | st.floats(0, 1)),
    min_size=1, max_size=4))
def test_any_entry_reads_back_exactly(entries):
    assert written(entries) == entries


def test_an_ordinary_memory_is_pleasant_to_read():
    assert block(entry("colour", "# Likes\n\nC:\\green, `not` red\n---")) == (
        "\n### 🔑 `colour`\n\n# Likes\n\nC:\\green, `not` red\n---\n\n"
        f"*Created: {AT} | Updated: {AT}*\n\n---\n")


def test_only_live_core_memories_sorted_by_key(memory, tmp_path):
    path = tmp_path / "s.md"
    for key, category in (("b", "core"), ("a", "core"), ("c", "daily")):
        memory.store(key, "text", category)

    assert export_snapshot(memory, path) == 2
    assert [e.key for e in read_snapshot(path)] == ["a", "b"]


def test_an_unchanged_memory_leaves_the_file_alone(memory, tmp_path):
    path = tmp_path / "s.md"
    memory.store("a", "text")
    export_snapshot(memory, path)
    os.chmod(path, 0o640)
    before = path.stat()
    export_snapshot(memory, path)

    assert path.stat() == before
    memory.store("a", "changed")
    assert is_current(memory, path) is False
    export_snapshot(memory, path)
    assert path.stat().st_mode == before.st_mode
    assert path.stat().st_ino != before.st_ino       # a new file, renamed
    assert [p.name for p in tmp_path.iterdir()
            if "tmp" in p.name] == []


def test_without_core_memories_the_file_says_so(memory, tmp_path):
    path = tmp_path / "s.md"
    memory.store("a", "text")
    export_snapshot(memory, path)
    memory.forget("a")

    assert export_snapshot(memory, path) == 0
    assert "**Total core memories:** 0" in path.read_text("utf-8")
    assert list(read_snapshot(path)) == []


def test_a_link_that_its_owner_names_stays_a_link(memory, tmp_path):
    memory.store("a", "text")
    (tmp_path / "real").mkdir()
    link = tmp_path / "s.md"
    link.symlink_to("real/s.md")
    export_snapshot(memory, link, follow_links=True)

    assert link.is_symlink()
    assert [e.key for e in read_snapshot(tmp_path / "real/s.md")] == ["a"]


@pytest.mark.parametrize("make", [
    lambda path, key: path.symlink_to(key), lambda path, key: os.link(
        key, path), lambda path, key: os.mkfifo(path),
    lambda path, key: path.mkdir()])
def test_what_lies_in_the_place_of_the_file_is_neither_read_nor_written(
        memory, tmp_path, make):
    memory.store("a", "text")
    key = tmp_path / "authorized_keys"
    key.write_text("ssh-ed25519 AAAA")
    make(tmp_path / "s.md", key)

    for work in (export_snapshot, is_current, hydrate):
        with pytest.raises(StorageError, match=r"s\.md") as caught:
            work(memory, tmp_path / "s.md")
        assert "ls -l" in caught.value.hint
    assert key.read_text() == "ssh-ed25519 AAAA"


def test_hydrating_twice_changes_nothing(memory, open_memory, tmp_path):
    path = tmp_path / "s.md"
    memory.store("a", "from the file")
    export_snapshot(memory, path)
    other = open_memory(workspace=tmp_path / "other")
    other.store("a", "my own")
    other.store("b", "stays")

    assert hydrate(other, path) == 0
    assert other.get("a").content == "my own"
    assert hydrate(other, path, overwrite=True) == 1
    assert hydrate(other, path, overwrite=True) == 1
    assert other.get("a").content == "from the file"
    assert other.count() == 2
    assert [e.key for e in other.recall("file")] == ["a"]
    assert other.recall("own") == []


def test_a_file_of_the_reference_is_read():
    text = ("# 🧠 ZeroClaw Memory Snapshot\n\n> notice\n\n"
            "**Last exported:** 2026-03-24 10:00:00\n\n"
            "**Total core memories:** 3\n\n---\n\n"
            "### 🔑 `with `ticks``\n\nfirst\n\n---\n\nsecond \\n line\n\n"
            "*Created: 2026-03-24T10:00:00.123456789+01:00 | Updated: "
            "2026-03-25T10:00:00+01:00*\n\n---\n\n"
            "### 🔑 `empty`\n\n\n\n*Created: x | Updated: y*\n\n---\n\n"
            "  ### 🔑 `crlf`\r\n\r\nlast\r\n")
    first, last = read_entries(text.encode().splitlines(keepends=True))

    assert (first.key, first.content) == (
        "with `ticks`", "first\n\n---\n\nsecond \\n line")
    assert first.created_at == "2026-03-24T09:00:00.123456789Z"
    assert first.updated_at == "2026-03-25T09:00:00.000000Z"
    assert (last.key, last.content, last.created_at) == ("crlf", "last", "")


def test_a_file_that_git_gave_crlf_reads_the_same():
    entries = [entry("k", "a\nb\r\nc"), entry("l", "d")]
    text = "".join(render(entries, 2, AT)).replace("\n", "\r\n")

    assert list(read_entries(text.encode().splitlines(
        keepends=True))) == entries


def test_an_entry_added_by_hand_is_taken():
    text = "".join(render([entry("a", "text")], 1, AT))
    text += "\n### 🔑 `mine`\n\nwritten by hand\n\n---\n"
    _, mine = read_entries(text.encode().splitlines(keepends=True))

    assert (mine.key, mine.content, mine.created_at) == (
        "mine", "written by hand", "")


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_a_crash(data):
    mark = b"<!-- claw-snapshot: 1 -->\n"
    heading = "### 🔑 `k`\n".encode()
    for start in (b"", heading, mark + heading):
        list(read_entries((start + data).splitlines(keepends=True)))


def test_a_directory_or_a_missing_file_is_a_storage_error(memory, tmp_path):
    for act in (lambda: export_snapshot(memory, tmp_path),
                lambda: hydrate(memory, tmp_path),
                lambda: hydrate(memory, tmp_path / "none.md"),
                lambda: export_snapshot(memory, tmp_path / "no/dir.md")):
        with pytest.raises(StorageError):
            act()


@pytest.mark.parametrize("damage", [
    ("`a`", "``"),
    ("text of a\n", "<<<<<<< HEAD\ntext of a\n=======\nb\n>>>>>>> side\n"),
    ("\n### ", "\n<<<<<<< HEAD\n### "),
])
def test_a_half_merged_snapshot_is_refused_and_nothing_lost(
        memory, open_memory, tmp_path, damage):
    memory.store("a", "text of a")
    path = tmp_path / "S.md"
    export_snapshot(memory, path)
    path.write_text(path.read_text("utf-8").replace(*damage), "utf-8")
    other = open_memory(workspace=tmp_path / "other")

    with pytest.raises(StorageError, match="the snapshot") as caught:
        hydrate(other, path)

    assert caught.value.hint
    assert other.count() == 0


def test_a_text_about_merge_conflicts_is_kept(memory, open_memory, tmp_path):
    text = "<<<<<<< HEAD\none\n=======\n\\<<<<<<< x\n>>>>>>> side"
    memory.store("git", text)
    export_snapshot(memory, tmp_path / "S.md")
    other = open_memory(workspace=tmp_path / "other")
    hydrate(other, tmp_path / "S.md")

    assert other.get("git").content == text


@pytest.mark.parametrize("details", [
    '{"session_id": 5}', '{"importance": "x", "sender": [1]}',
    '{"importance": 1e999}', '{"importance": true, "namespace": null}',
    '{"importance": ' + "9" * 400 + "}", '{"text": 7}',
])
def test_details_written_by_hand_that_make_no_sense_are_passed_over(
        memory, open_memory, tmp_path, details):
    memory.store("a", "text")
    path = tmp_path / "S.md"
    export_snapshot(memory, path)
    path.write_text(path.read_text("utf-8").replace(
        "`a`\n", f"`a`\n<!-- {details} -->\n"), "utf-8")
    other = open_memory(workspace=tmp_path / "other")

    assert hydrate(other, path) == 1
    assert other.get("a").content == "text"
    assert other.get("a").importance == pytest.approx(0.5)


def test_who_said_it_and_where_comes_back(memory, open_memory, tmp_path):
    memory.store_from("a", "text", "core", "s",
                      Source("Mina 🎉", "telegram:-100:4711 -->"))
    export_snapshot(memory, tmp_path / "S.md")
    other = open_memory(workspace=tmp_path / "other")
    hydrate(other, tmp_path / "S.md")

    found = other.get("a")
    assert (found.sender, found.source) == ("Mina 🎉",
                                            "telegram:-100:4711 -->")


class Sourced(NoneMemory):
    """A store that can't restore, but keeps where a memory comes from."""

    def __init__(self):
        self.stored = []

    def store_from(self, *given):
        self.stored.append(given)


def test_a_store_that_can_not_restore_is_told_the_source(memory, tmp_path):
    memory.store_from("a", "text", "core", "s", Source("Mina", "m:1"))
    export_snapshot(memory, tmp_path / "S.md")
    other = Sourced()

    assert hydrate(other, tmp_path / "S.md") == 1
    assert other.stored == [("a", "text", "core", "s",
                             Source("Mina", "m:1"))]


def test_what_was_superseded_stays_out(memory, tmp_path):
    path = tmp_path / "S.md"
    memory.restore([MemoryEntry("n", "new", "Rome", "core", AT, AT),
                    MemoryEntry("o", "old", "Oslo", "core", AT, AT,
                                superseded_by="n")], overwrite=True)

    assert export_snapshot(memory, path) == 1
    assert [e.key for e in read_snapshot(path)] == ["new"]
    assert "Oslo" not in path.read_text("utf-8")


@pytest.mark.parametrize("column", ["content", "session_id", "updated_at"])
def test_a_memory_that_can_not_be_written_fails_the_export(memory, tmp_path,
                                                           column):
    path = tmp_path / "S.md"
    memory.store("a", "text")
    export_snapshot(memory, path)
    before = path.read_bytes()
    memory.store("b", "more")
    memory._connection.execute(
        f"UPDATE memories SET {column} = x'00ff' WHERE key = 'b'")

    for act in (export_snapshot, is_current):
        with pytest.raises(StorageError, match="'b'") as caught:
            act(memory, path)
        assert caught.value.hint
    assert path.read_bytes() == before


def test_a_file_that_goes_on_after_the_last_memory_is_not_current(
        memory, tmp_path):
    memory.store("a", "text")
    path = tmp_path / "snapshot.md"
    export_snapshot(memory, path)
    assert is_current(memory, path)

    path.write_text(path.read_text() + "more")

    assert not is_current(memory, path)
