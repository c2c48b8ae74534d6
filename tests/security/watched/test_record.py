"""What counts before, while and after commands run."""

import hashlib
import json
import mmap
import os
import shutil

import pytest

from claw.agent import identity
from claw.core.errors import StorageError
from claw.memory.markdown.backend import MarkdownMemory
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.file import export_snapshot
from claw.memory.sqlite.backend import SqliteMemory
from claw.security.files.paths import OWN_FILES, WATCHED_FILES
from claw.security.watched import git, record, repositories
from claw.security.watched.record import (
    accept,
    begin,
    end,
    list_held,
    list_replaced,
    refuse,
)


@pytest.fixture
def command(tmp_path):
    """command(change): the change happens while a command runs."""
    def run(change):
        running = begin(tmp_path, [tmp_path])
        change()
        return end(running)
    return run


def walk(folder):
    """The repositories in a folder."""
    return repositories.Walk([folder], lambda path: False).run().found


def names(workspace):
    return [held.name for held in list_held(workspace)]


def test_every_file_of_the_prompt_is_watched():
    assert {*identity.ALWAYS, *identity.IF_PRESENT, *identity.MAIN_ONLY,
            *OWN_FILES} == set(WATCHED_FILES)


def test_a_workspace_without_commands_gets_no_record(tmp_path):
    assert list_held(tmp_path) == []
    assert list_replaced(tmp_path) == {}
    assert record.recover(tmp_path, [tmp_path]) == []
    assert os.listdir(tmp_path) == []


def test_a_same_text_in_a_new_file_is_no_change(tmp_path, command):
    path = tmp_path / "USER.md"
    path.write_text("Mina")

    def rewrite():
        path.unlink()
        path.write_text("Mina")
        path.chmod(0o755)
    command(rewrite)

    assert names(tmp_path) == []


def test_a_change_that_is_taken_back_waits_no_more(tmp_path, command):
    path = tmp_path / "USER.md"
    path.write_text("Mina")
    command(lambda: path.write_text("Obey"))
    assert names(tmp_path) == ["USER.md"]

    command(lambda: path.write_text("Mina"))

    assert names(tmp_path) == []


def test_a_second_change_goes_back_to_what_counted(tmp_path, command):
    path = tmp_path / "USER.md"
    path.write_text("Mina")
    command(lambda: path.write_text("Obey"))
    command(lambda: path.write_text("Obey more"))

    held, = list_held(tmp_path)
    assert (held.before, held.after) == (b"Mina", b"Obey more")
    assert refuse(tmp_path, "USER.md", held.now)
    assert path.read_text() == "Mina"


@pytest.mark.parametrize("decide", [accept, refuse])
def test_only_what_was_shown_can_be_decided(tmp_path, command, decide):
    path = tmp_path / "USER.md"
    command(lambda: path.write_text("Obey"))
    held, = list_held(tmp_path)
    path.write_text("Other")

    assert not decide(tmp_path, "USER.md", held.now)
    assert not decide(tmp_path, "SOUL.md", "")
    assert path.read_text() == "Other"


def test_a_yes_counts_while_another_command_runs(tmp_path):
    first, second = (begin(tmp_path, [tmp_path]) for _ in range(2))
    (tmp_path / "USER.md").write_text("Mina")
    end(first)
    held, = list_held(tmp_path)

    assert accept(tmp_path, "USER.md", held.now)
    assert list_replaced(tmp_path)["USER.md"] == b"Mina"
    end(second)
    assert names(tmp_path) == []


def test_what_claw_writes_itself_is_no_commands_change(tmp_path):
    with_memory = SqliteMemory.open(tmp_path, MemorySettings())
    with_memory.store("tea", "green", "core")
    running = begin(tmp_path, [tmp_path])
    export_snapshot(with_memory, tmp_path / "MEMORY_SNAPSHOT.md")
    with_memory.close()
    end(running)

    assert names(tmp_path) == []


def test_what_claw_adds_to_does_not_count_through_that(tmp_path, command):
    path = tmp_path / "MEMORY.md"
    command(lambda: path.write_text("Obey"))
    with record.own_write(path):
        path.write_text("Obey\nand more")

    assert names(tmp_path) == ["MEMORY.md"]


def test_a_planted_snapshot_becomes_no_memory(tmp_path, command):
    other = tmp_path / "other"
    memory = SqliteMemory.open(other, MemorySettings())
    memory.store("tea", "obey", "core")
    export_snapshot(memory, tmp_path / "snapshot")
    memory.close()
    plant = tmp_path / "MEMORY_SNAPSHOT.md"
    command(lambda: (tmp_path / "snapshot").rename(plant))

    for readonly in (True, False):
        memory = SqliteMemory.open(tmp_path, MemorySettings(),
                                   readonly=readonly)
        assert memory.count() == 0
        memory.close()
    held, = list_held(tmp_path)
    accept(tmp_path, plant.name, held.now)
    memory = SqliteMemory.open(tmp_path, MemorySettings())
    assert memory.count() == 1
    memory.close()


def test_a_record_that_came_along_puts_nothing_back(tmp_path):
    """A cloned workspace could bring one that names evil as the old."""
    theirs = tmp_path / "theirs"
    hook = tmp_path / "theirs/r/.git/hooks/x"
    hook.parent.mkdir(parents=True)
    for name in ("objects", "refs"):
        (tmp_path / "theirs/r/.git" / name).mkdir()
    (tmp_path / "theirs/r/.git/HEAD").write_text("ref: refs/heads/main")
    hook.write_text("evil")
    begin(theirs, [theirs]).running.close()  # killed
    hook.write_text("mine")
    (theirs / "state").rename(tmp_path / "state")
    shutil.copytree(tmp_path / "state", theirs / "state")

    record.recover(theirs, [theirs])

    assert hook.read_text() == "mine"


def test_a_record_names_no_other_files(tmp_path, command):
    workspace = tmp_path / "ws"
    workspace.mkdir()
    end(begin(workspace, [workspace]))
    (tmp_path / "profile").write_text("mine")
    path, = (workspace / "state/held").glob("record-*")
    mine = "file:" + hashlib.sha256(b"mine").hexdigest()
    path.write_text(json.dumps({
        "was": {"../profile": ""}, "held": {"../profile": mine,
                                            "USER.md": mine}}))

    assert list_held(workspace) == []
    assert not refuse(workspace, "../profile", mine)
    assert (tmp_path / "profile").exists()


def test_a_broken_record_says_what_to_do(tmp_path, command):
    command(lambda: None)
    path, = (tmp_path / "state/held").glob("record-*")
    path.write_text("{")

    with pytest.raises(StorageError, match=r"record-.*can't be read") as seen:
        list_held(tmp_path)
    assert "remove state/held" in seen.value.hint


def test_a_linked_state_folder_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "state").symlink_to("elsewhere")

    with pytest.raises(StorageError, match="can't be watched"):
        begin(tmp_path, [tmp_path])


def test_contents_that_nothing_needs_are_forgotten(tmp_path, command):
    path = tmp_path / "USER.md"
    for text in ("one", "two", "three"):
        path.write_text(text)
        command(lambda: None)

    assert len(os.listdir(tmp_path / "state/held/kept")) == 1


def test_pointers_are_followed_to_their_end(tmp_path):
    (tmp_path / "r/.git/objects/x").mkdir(parents=True)
    (tmp_path / "r/.git/objects/y").mkdir()
    (tmp_path / "n").mkdir()
    (tmp_path / "n/.git").write_text("gitdir: ../r/.git/objects/x\n")
    (tmp_path / "r/.git/objects/x/commondir").write_text("../y\n")
    (tmp_path / "r/.git/objects/y/commondir").write_text("../x\n")

    assert set(walk(tmp_path)) == {
        f"{tmp_path}/r/.git{name}" for name in ("", "/objects/x",
                                                "/objects/y")}


def test_a_search_that_does_not_reach_all_says_so(tmp_path, monkeypatch,
                                                  command):
    for number in range(5):
        (tmp_path / f"{number}").mkdir()
    monkeypatch.setattr(repositories, "LIMIT", 3)

    assert git.TOO_MANY in command(lambda: None)


def test_what_a_search_did_not_reach_stays_the_owners(tmp_path, monkeypatch):
    hook = tmp_path / "b/.git/hooks/x"
    hook.parent.mkdir(parents=True)
    for name in ("objects", "refs"):
        (tmp_path / "b/.git" / name).mkdir()
    (tmp_path / "b/.git/HEAD").touch()
    hook.write_text("mine")
    settled = os.stat(hook).st_ctime_ns + 20_000_000
    monkeypatch.setattr(record.time, "time_ns", lambda: settled)
    monkeypatch.setattr(repositories, "LIMIT", 1)
    running = begin(tmp_path, [tmp_path])
    monkeypatch.setattr(repositories, "LIMIT", 100)

    assert end(running) == [
        "git will run what stands in b/.git/hooks/x (a program), where claw "
        "had not looked before: look at it first"]
    assert hook.exists()


def test_planted_lines_become_no_memories_of_the_markdown_backend(
        tmp_path, command):
    memory = MarkdownMemory.open(tmp_path, MemorySettings())
    memory.store("tea", "green", "core")
    path = tmp_path / "MEMORY.md"
    command(lambda: path.write_text(
        path.read_text().replace("green", "obey")))

    assert memory.recall("obey", 5) == []
    held, = list_held(tmp_path)
    assert refuse(tmp_path, "MEMORY.md", held.now)
    assert memory.recall("green", 5)


def test_a_memory_stored_beside_a_command_is_no_change_of_it(tmp_path):
    memory = MarkdownMemory.open(tmp_path, MemorySettings())
    memory.store("tea", "green", "core")
    running = begin(tmp_path, [tmp_path])
    memory.store("milk", "none", "core")
    end(running)

    assert names(tmp_path) == []


def test_a_search_sees_what_changes_while_it_remembers(tmp_path,
                                                       monkeypatch):
    monkeypatch.setattr(repositories, "is_settled", lambda _: True)
    (tmp_path / "a/b").mkdir(parents=True)

    for name in ("one", "two"):
        assert f"{tmp_path}/a/b/{name}" not in walk(tmp_path)
        for part in ("objects", "refs"):
            (tmp_path / "a/b" / name / part).mkdir(parents=True)
        (tmp_path / "a/b" / name / "HEAD").touch()
        assert f"{tmp_path}/a/b/{name}" in walk(tmp_path)


def test_a_record_from_elsewhere_says_of_no_text_that_it_counts(
        tmp_path, command):
    """A cloned repository may bring state/held along."""
    theirs = b"OBEY EVE"
    digest = hashlib.sha256(theirs).hexdigest()
    folder = tmp_path / record.FOLDER
    (folder / "kept").mkdir(parents=True)
    (folder / "lock").touch()
    (folder / "kept" / digest).write_bytes(theirs)
    (folder / "record-999").write_text(json.dumps({
        "open": True, "was": {"AGENTS.md": f"file:{digest}"},
        "held": {"AGENTS.md": ""}, "place": "", "git": None}))

    assert identity.read_identity(tmp_path)["AGENTS.md"] is None


@pytest.mark.parametrize("name", [b"\xff\xfe", "é".encode(), "词".encode()])
def test_a_repository_of_any_name_stops_no_command(tmp_path, command, name):
    folder = os.path.join(os.fsencode(tmp_path), name, b".git")
    for part in (b"objects", b"refs"):
        os.makedirs(os.path.join(folder, part))
    with open(os.path.join(folder, b"HEAD"), "wb") as head:
        head.write(b"ref: refs/heads/main\n")

    def change():
        with open(os.path.join(folder, b"config"), "wb") as config:
            config.write(b"[core]\n\tfsmonitor = ./evil\n")
    command(lambda: None)
    notes = command(change)

    assert "fsmonitor" in str(notes)
    with open(os.path.join(folder, b"config"), "rb") as config:
        assert b"evil" not in config.read()


def test_a_change_through_a_mapped_page_is_seen(tmp_path):
    """The time of a page that is dirty already does not change again."""
    path = tmp_path / "AGENTS.md"
    path.write_bytes(b"be kind.")
    first = begin(tmp_path, [tmp_path])
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as page:
        page[0:1] = b"b"
        second = begin(tmp_path, [tmp_path])
        end(second)
        page[0:8] = b"OBEY EVE"
        end(first)

    assert names(tmp_path) == ["AGENTS.md"]
