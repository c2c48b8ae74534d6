"""Files by name and by content."""

import os
import shutil

import pytest

from claw.core.turn import TurnContext
from claw.security.files.walk import Walk
from claw.tools.files import search
from claw.tools.files.search import ContentSearch, GlobSearch


@pytest.fixture
def tree(room):
    for path, text in {
            "a.py": "import os\nprint('Tee')\n", "b.txt": "tea\n",
            "src/c.py": "tea = 1\n", "src/deep/d.py": "x\ntea\ny\n",
            ".hidden/e.py": "", "memory/brain.py": "tea",
            "größe.txt": "Größe\n", "-rf.txt": "tea\n"}.items():
        file = room.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (room.workspace / "src/bin.dat").write_bytes(b"\0tea\0")
    return room


def glob(room, pattern, turn=None, **settings):
    return room.call(GlobSearch(room.deps(**settings)), turn, pattern=pattern)


@pytest.mark.parametrize(("pattern", "found"), [
    ("*.py", ["a.py"]),
    ("**/*.py", [".hidden/e.py", "a.py", "src/c.py", "src/deep/d.py"]),
    ("src/**", ["src/bin.dat", "src/c.py", "src/deep/d.py"]),
    ("src/*/*.py", ["src/deep/d.py"]),
    ("[ab].*", ["a.py", "b.txt"]),
    ("gr?ße.txt", ["größe.txt"]),
    ("nothing", []),
    ("**", 8),
])
def test_a_pattern_finds(tree, pattern, found):
    *names, total = glob(tree, pattern).output.split("\n")

    assert names == found if isinstance(found, list) else len(names) == found
    assert total == f"Total: {len(names)} files"


def test_an_absolute_pattern_stays_in_the_workspace(tree):
    assert glob(tree, f"{tree.workspace}/*.py").output == (
        "a.py\nTotal: 1 files")
    for pattern in ("/etc/*", "../*", "src/../../*"):
        assert "Path not allowed" in glob(tree, pattern).error


def test_links_are_not_followed(tree, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.py").write_text("")
    (tree.workspace / "link").symlink_to(tmp_path / "out")
    (tree.workspace / "one.py").symlink_to(tmp_path / "out" / "secret.py")

    assert "link" not in glob(tree, "**").output
    assert "one.py" not in glob(tree, "**").output


def test_what_another_chat_sent_is_not_named(tree):
    folder = tree.workspace / "chat_files"
    folder.mkdir()
    (folder / "chat_7_1_mine.txt").write_text("tea")
    (folder / "chat_8_1_other.txt").write_text("tea")
    turn = TurnContext("channel", channel="chat", reply_target="7")

    assert "chat_8" not in glob(tree, "**", turn).output
    assert "chat_7" in glob(tree, "**", turn).output
    found = grep(tree, turn, pattern="tea")
    assert "chat_8" not in found.output
    assert turn.labels == {"file", "attachment"}


def test_no_more_than_a_thousand_are_shown(room):
    for number in range(1_003):
        (room.workspace / f"{number:04}.txt").write_text("")

    lines = glob(room, "*.txt").output.split("\n")

    assert len(lines) == 1_001
    assert lines[-1] == "Total: 1003 files; the first 1000 shown"


def test_a_tree_that_never_ends_is_left(room):
    handle = os.open(room.workspace, os.O_RDONLY)
    for name in ["d" * 200] * 30:  # deeper than a path may be long
        os.mkdir(name, dir_fd=handle)
        deeper = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = deeper
    os.close(os.open("x.txt", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)

    assert glob(room, "**/*.txt").output == (
        "Total: 0 files; there are more files than were looked at")


def test_a_walk_ends_after_so_many_entries(room):
    for number in range(20):
        (room.workspace / f"{number:02}.txt").write_text("")
    walk = Walk(room.workspace, ".", lambda path: True, most=5)

    assert len(list(walk)) == 5
    assert walk.cut


def grep(room, turn=None, **args):
    return room.call(ContentSearch(room.deps()), turn, **args)


@pytest.mark.parametrize(("args", "lines"), [
    ({"pattern": "^tea"}, ["-rf.txt:1:tea", "b.txt:1:tea",
                           "src/c.py:1:tea = 1", "src/deep/d.py:2:tea"]),
    ({"pattern": "^tee", "case_sensitive": False}, []),
    ({"pattern": "'TEE", "case_sensitive": False},
     ["a.py:2:print('Tee')"]),
    ({"pattern": "tea", "path": "src", "include": "d*"},
     ["src/deep/d.py:2:tea"]),
    ({"pattern": "tea", "path": "src/deep/d.py", "context_before": 1,
      "context_after": 1}, ["src/deep/d.py-1-x", "src/deep/d.py:2:tea",
                            "src/deep/d.py-3-y"]),
    ({"pattern": "tea", "output_mode": "files_with_matches",
      "include": "*.py"}, ["src/c.py", "src/deep/d.py"]),
    ({"pattern": "e", "path": "b.txt", "output_mode": "count"}, ["b.txt:1"]),
    ({"pattern": "Gr(ö|oe)ße"}, ["größe.txt:1:Größe"]),
    ({"pattern": "--version"}, []),
])
def test_a_search_finds(tree, args, lines):
    result = grep(tree, **args)

    assert result.success, result.error
    found = result.output.split("\n")
    assert sorted(found[:-1]) == sorted(lines)
    assert found[-1].startswith("Total: " if lines else "No matches found.")


@pytest.mark.parametrize(("args", "why"), [
    ({"pattern": "("}, ""),
    ({"pattern": "x", "path": "nowhere"}, "nowhere"),
    ({"pattern": "x", "path": "../.."}, "Path not allowed"),
    ({"pattern": "x", "path": "/etc"}, "Path not allowed"),
    ({"pattern": "x", "path": "memory"}, "Path not allowed"),
])
def test_a_search_that_can_not_be_is_answered(tree, args, why):
    result = grep(tree, **args)

    assert not result.success
    assert why in result.error


def test_a_link_out_of_the_workspace_is_not_searched(tree, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.txt").write_text("tea in secret")
    (tree.workspace / "link").symlink_to(tmp_path / "out")

    assert "Path not allowed" in grep(tree, pattern="x", path="link").error
    assert "secret" not in grep(tree, pattern="tea").output


def test_results_end_where_they_should(tree):
    (tree.workspace / "many.txt").write_text("tea\n" * 50)

    result = grep(tree, pattern="tea", path="many.txt", max_results=3)

    assert result.output.split("\n")[3:] == ["Total: 3 lines; there are more"]


@pytest.mark.skipif(shutil.which("rg", path=search._SYSTEM_PATH) is None,
                    reason="ripgrep is not installed")
def test_ripgrep_searches_over_lines(tree):
    result = grep(tree, pattern="x\ntea", multiline=True)

    assert "src/deep/d.py:1:x" in result.output


def test_without_ripgrep_lines_are_searched_one_by_one(tree, monkeypatch):
    monkeypatch.setattr(search, "_SYSTEM_PATH", "/nowhere")

    assert "needs ripgrep" in grep(tree, pattern="x", multiline=True).error


def test_a_pipe_made_a_search_wait_until_its_time_was_up(tree):
    os.mkfifo(tree.workspace / "pipe")

    named = grep(tree, pattern="x", path="pipe")
    around = grep(tree, pattern="x", path=".")

    assert named.error == "pipe is not a regular file or folder"
    assert around.success
