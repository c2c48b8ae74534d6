"""The index of a folder: what is read of it, and what stays current."""

import os
import time
from contextlib import closing

import pytest

from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.memory.documents.names import find_file
from claw.memory.documents.store import (
    open_store,
    read_excerpt,
    show_path,
)
from claw.memory.settings import MemorySettings
from claw.text.documents.folder import MOST_BYTES, Folder


def age(folder):
    """What changed just now could change again unseen: let it be old."""
    for path in folder.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    time.sleep(2.1)  # the time of change of an inode can't be set


def texts(store):
    return {entry.key: entry.content for entry in store.list()}


def find(store, question):
    return [read_excerpt(entry) for entry in store.recall(question)]


def test_chunks_are_found_with_their_place(look, store):
    report = look()

    assert (report.files, report.chunks, report.added) == (2, 2, 2)
    found = find(store, "when is the rent due?")[0]
    assert (found.place, found.path, found.line, found.end_line) == (
        "rent.md:1-3", "rent.md", 1, 3)
    assert found.text == "# Rent\n\nIt is due on the third."
    assert found.origin == "file"


def test_what_has_not_changed_is_not_opened_again(look, notes):
    age(notes)
    look()
    read = []

    report = look(read)

    assert read == []
    assert (report.unchanged, report.added, report.changed) == (2, 0, 0)


def test_the_same_bytes_are_not_indexed_again(look, store, notes):
    age(notes)
    look()
    ids = {entry.id for entry in store.list()}
    (notes / "rent.md").touch()
    read = []

    report = look(read)

    assert read == ["rent.md"]
    assert report.changed == 0
    assert {entry.id for entry in store.list()} == ids


def test_a_change_is_found_and_the_old_text_is_not(look, store, notes):
    look()
    (notes / "rent.md").write_text("# Rent\n\nIt is due on Friday.\n")

    report = look()

    assert (report.changed, report.unchanged) == (1, 1)
    assert texts(store)["rent.md:1-3"].endswith("Friday.")
    assert not any("third" in one.text for one in find(store, "third"))


def test_a_change_in_the_moment_of_reading_is_seen_the_next_time(
        look, store, notes):
    """Same size, same second: the stamp alone would not tell."""
    (notes / "rent.md").write_text("due on Monday")
    look()
    before = (notes / "rent.md").stat()
    (notes / "rent.md").write_text("due on Friday")
    os.utime(notes / "rent.md", ns=(before.st_atime_ns, before.st_mtime_ns))

    look()

    assert texts(store)["rent.md:1"] == "due on Friday"


def test_what_is_gone_is_dropped(look, store, notes):
    look()
    (notes / "rent.md").unlink()

    report = look()

    assert (report.removed, report.files) == (1, 1)
    assert list(texts(store)) == ["sub/tea.txt:1"]


def test_a_disk_that_is_not_there_costs_no_index(look, store, notes):
    look()
    for path in ("rent.md", "sub/tea.txt"):
        (notes / path).unlink()

    with pytest.raises(NotFoundError, match="kept as it was"):
        look()

    assert len(texts(store)) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_now_is_kept(look, store, notes):
    look()
    (notes / "sub").chmod(0)
    try:
        report = look()
    finally:
        (notes / "sub").chmod(0o700)

    assert report.removed == 0
    assert report.unread == ("sub",)
    assert "sub/tea.txt:1" in texts(store)


def test_nothing_outside_is_read(look, store, notes, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/canary.txt").write_text("canary")
    (notes / "file").symlink_to(tmp_path / "outside/canary.txt")
    (notes / "folder").symlink_to(tmp_path / "outside")
    (notes / "sub/.gitignore").symlink_to(tmp_path / "outside/canary.txt")

    report = look()

    assert report.skipped == {"link": 2}
    assert not any("canary" in text for text in texts(store).values())


def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(
        notes, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/tea.txt").write_text("canary")
    folder = Folder(notes, tmp_path / "workspace")
    with folder.hold() as top:
        assert "sub/tea.txt" in folder.list_files(top).files
        (notes / "sub").rename(tmp_path / "away")
        (notes / "sub").symlink_to(tmp_path / "outside")

        with pytest.raises(OSError, match="links"):
            folder.read(top, "sub/tea.txt")


def test_pipes_hidden_binary_and_huge_files_are_left_out(look, store, notes):
    os.mkfifo(notes / "pipe")
    (notes / ".hidden").mkdir()
    (notes / ".hidden/x.md").write_text("hidden")
    (notes / ".env").write_text("hidden")
    (notes / "photo").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    (notes / "huge.txt").write_bytes(b"x " * (MOST_BYTES // 2 + 1))

    report = look()

    assert report.skipped == {"special": 1, "binary": 1, "large": 1}
    assert set(texts(store)) == {"rent.md:1-3", "sub/tea.txt:1"}


def test_a_binary_file_is_not_opened_at_every_run(look, notes):
    (notes / "photo").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    age(notes)
    look()
    read = []

    report = look(read)

    assert read == []
    assert report.skipped == {"binary": 1}


def test_what_is_no_file_in_the_place_of_gitignore_says_nothing(
        look, store, notes):
    for number in range(50):
        (notes / f"f{number}/.gitignore").mkdir(parents=True)
    os.mkfifo(notes / "sub/.gitignore")
    before = len(os.listdir("/proc/self/fd"))

    report = look()

    assert report.files == 2
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_folder_below_a_hundred_others_is_left_out_and_not_gone(
        look, store, notes):
    look()
    deep = notes.joinpath(*["d"] * 102)
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("deep")

    report = look()

    assert report.files == 2
    assert report.unread == ("/".join(["d"] * 101),)


def test_gitignore_files_are_heard_the_nearest_last(look, store, notes):
    (notes / "sub/deep").mkdir()
    (notes / ".gitignore").write_text("*.log\nbuild/\n/rent.md\n")
    (notes / "sub/.gitignore").write_text("!keep.log\n")
    for name in ("a.log", "sub/keep.log", "sub/deep/b.log", "sub/rent.md"):
        (notes / name).write_text(name)
    (notes / "build").mkdir()
    (notes / "build/x.md").write_text("built")

    report = look()

    assert set(texts(store)) == {
        "sub/keep.log:1", "sub/rent.md:1", "sub/tea.txt:1"}
    assert report.skipped == {"ignored": 4}


@pytest.mark.parametrize(("rule", "kept"), [
    ("tea.txt", {"rent.md:1-3"}),
    ("notes/sub", {"rent.md:1-3"}),
    ("notes/*\n!notes/rent.md", {"rent.md:1-3"}),
    # whoever names a folder that is left out wants it
    ("notes/", {"rent.md:1-3", "sub/tea.txt:1"}),
])
def test_the_rules_of_the_repository_hold_in_a_folder_of_it(
        look, store, tmp_path, rule, kept):
    (tmp_path / ".git/info").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text(rule)

    look()

    assert set(texts(store)) == kept


def test_a_work_tree_of_git_has_its_rules_too(look, store, tmp_path):
    (tmp_path / ".git").write_text("gitdir: elsewhere")
    (tmp_path / ".gitignore").write_text("*.txt")

    look()

    assert set(texts(store)) == {"rent.md:1-3"}


def test_latin_1_and_utf_16_are_read(look, store, notes):
    (notes / "old.txt").write_bytes("Grüße aus Köln, immer wieder".encode(
        "latin-1"))
    (notes / "wide.txt").write_bytes("Grüße aus Bonn".encode("utf-16"))

    look()

    assert texts(store)["wide.txt:1"] == "Grüße aus Bonn"
    assert "aus K" in texts(store)["old.txt:1"]


HOSTILE = ["a\nb.md", "a\\nb.md", "a\x1b[31m.md", "a\u202eb.md",
           "x: y, z.md", "a" * 200, "ünï😀.md"]


def test_names_are_shown_without_what_hides_and_stay_apart(
        look, store, notes):
    for name in HOSTILE:
        (notes / name).write_text(f"text of {name!r}")
    with open(os.fsencode(notes) + b"/\xff.md", "w") as file:
        file.write("no text name")

    look()
    look()  # and are known again

    keys = set(texts(store))
    assert len(keys) == len(HOSTILE) + 1 + 2
    assert not any("\n" in key or "\x1b" in key or "\u202e" in key
                   for key in keys)
    assert show_path(r"a\b") == r"a\\b"


def test_keys_of_this_installation_are_not_kept(look, store, notes):
    (notes / "rent.md").write_text("the token is s3cret")

    look()

    assert texts(store)["rent.md:1"] == "the token is [gone]"


def test_what_others_sent_is_labelled(store, tmp_path):
    workspace = tmp_path / "workspace"

    assert Folder(workspace, workspace).find_origin(
        "telegram_files/a.txt") == "attachment"
    assert Folder(workspace / "telegram_files", workspace).find_origin(
        "a.txt") == "attachment"
    assert Folder(tmp_path, workspace).find_origin(
        "workspace/telegram_files/a.txt") == "attachment"
    assert Folder(tmp_path, workspace).find_origin("a.txt") == "file"


def test_two_runs_at_once_end_the_same(look, store, notes, tmp_path):
    with closing(open_store(tmp_path / "workspace", "notes",
                            MemorySettings(), readonly=False,
                            notify=lambda _: None)) as other:
        other.adopt(notes)
        listed = Folder(notes, tmp_path / "workspace")
        known = other.documents()
        with listed.hold() as top:
            seen = listed.list_files(top)
        (notes / "new.md").write_text("came meanwhile")
        look()

        # What the other run did not see is not gone for it.
        assert [path for path in known if not seen.may_be_there(path)] == []
        look()

    assert "new.md:1" in texts(store)
    assert len(texts(store)) == 3


def test_a_damaged_index_is_made_anew(look, store, tmp_path):
    look()
    store.close()
    path = tmp_path / "workspace" / find_file("notes")
    path.write_bytes(b"SQLite format 3\0" + b"x" * 9000)
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)
    options = {"notify": lambda _: None}

    for readonly in (True, False):
        with pytest.raises(StorageError) as caught:
            open_store(tmp_path / "workspace", "notes", MemorySettings(),
                       readonly=readonly, **options)
        assert "claw memory index DIR --name notes" in caught.value.hint
    with closing(open_store(tmp_path / "workspace", "notes",
                            MemorySettings(), readonly=False, **options)
                 ) as anew:
        assert anew.count() == 0


def test_an_index_that_is_a_link_is_not_opened(tmp_path, store):
    store.close()
    path = tmp_path / "workspace" / find_file("notes")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StorageError, match="is a link"):
        open_store(tmp_path / "workspace", "notes", MemorySettings(),
                   readonly=True, notify=lambda _: None)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".x", "A", "a b", "-a",
                                  "x" * 65, "a\n"])
def test_a_name_can_lead_nowhere(name):
    with pytest.raises(UsageError):
        find_file(name)
