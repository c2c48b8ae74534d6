"""Patches: what they change, and what is said where they do not fit."""

import pytest

from claw.core.errors import StorageError, UsageError
from claw.core.turn import TurnContext
from claw.tools.files.patch.format import apply_hunks, parse_patch
from claw.tools.files.patch.tool import ApplyPatch


def wrap(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def change(text, *lines):
    (patched,) = parse_patch(wrap("*** Update File: f", *lines))
    return apply_hunks("f", text, patched.hunks)


@pytest.mark.parametrize(("before", "lines", "after"), [
    ("a\nb\nc\n", ["-b", "+B"], "a\nB\nc\n"),
    ("a\nb\nc\n", [" a", "+x", " b"], "a\nx\nb\nc\n"),
    ("a\nb\n", ["@@", "-a", "-b"], ""),
    ("a\nb", ["-b", "+c"], "a\nc"),  # no line end at the end
    ("a\r\nb\r\n", ["-a", "+x", "+y"], "x\r\ny\r\nb\r\n"),
    ("x\ny\nx\n", ["@@ y", "-x", "+z"], "x\ny\nz\n"),
    ("def f():\n  pass\ndef g():\n  pass\n",
     ["@@ def g():", "-  pass", "+  return"],
     "def f():\n  pass\ndef g():\n  return\n"),
    ("a\na\n", ["-a", "+b", "*** End of File"], "a\nb\n"),
    ("a\n", ["+b", "*** End of File"], "a\nb\n"),
    ("", ["+a"], "a\n"),
    ("a\n", ["-a", "+b", "", ""], "b\n"),  # blank lines before the end
    ("a\n", ["@@ a", "+b"], "a\nb\n"),
    ("a\n\nb\n", [" a", "", "-b", "+c"], "a\n\nc\n"),
    ("1\n2\n3\n4\n", ["-1", "+one", "@@", "-4", "+four"],
     "one\n2\n3\nfour\n"),
    ("a\nb\n", ["@@ -1,2 +1,2 @@", "-a", "+x"], "x\nb\n"),
    ("größe\n日本\n", ["-日本", "+日本語"], "größe\n日本語\n"),
])
def test_a_change_gives(before, lines, after):
    assert change(before, *lines) == after


@pytest.mark.parametrize(("before", "lines", "why"), [
    ("a\n", ["-b", "+c"], "these lines are not there:\nb"),
    ("a\na\n", ["-a", "+b"], "its lines are there 2 times"),
    ("a\n", ["@@ nowhere", "-a", "+b"], 'no line "nowhere" is there'),
    ("a\n", ["+b"], "say where"),
    ("2\n1\n", ["-1", "+x", "@@", "-2", "+y"], "these lines are not there"),
])
def test_a_change_that_does_not_fit_is_told(before, lines, why):
    with pytest.raises(UsageError, match=r"line [35] of the patch") as caught:
        change(before, *lines)

    assert why in caught.value.message
    assert caught.value.message.startswith("f: the change at line ")


@pytest.mark.parametrize(("patch", "why"), [
    ("hello", 'line 1 of the patch: the patch must begin with '
              '"*** Begin Patch"'),
    ("--- a/f\n+++ b/f", "must begin with"),
    ("*** Begin Patch\n*** Update File: f\n-a", "must end with"),
    (wrap(), "changes no file"),
    (wrap("*** Update File: f"), "no change is given for f"),
    (wrap("*** Update File: ", "-a"), "the name of the file is missing"),
    (wrap("*** Update File: f", "a"), "begins with a space, + or -"),
    (wrap("*** Update File: f", " a"), "nothing is added or removed"),
    (wrap("*** Add File: f", "a"), "each line of a new file begins with +"),
    (wrap("*** Delete File: f", "-a"), "nothing may follow"),
    (wrap("*** Rename File: f"), "expected one of"),
])
def test_a_wrong_patch_is_told(patch, why):
    with pytest.raises(UsageError) as caught:
        parse_patch(patch)

    assert why in caught.value.message


@pytest.fixture
def tool(room):
    (room.workspace / "a.txt").write_text("one\ntwo\n")
    (room.workspace / "b.txt").write_text("three\n")
    return ApplyPatch(room.deps())


def files(room):
    return {str(path.relative_to(room.workspace)): path.read_text()
            for path in room.workspace.rglob("*.txt")}


def test_several_files_at_once(room, tool):
    result = room.call(tool, patch=wrap(
        "*** Update File: a.txt", "-two", "+2", "*** Delete File: b.txt",
        "*** Add File: deep/c.txt", "+new",
        "*** Add File: d.txt", "+d"))

    assert result.output == "M a.txt\nD b.txt\nA deep/c.txt\nA d.txt"
    assert files(room) == {"a.txt": "one\n2\n", "deep/c.txt": "new\n",
                           "d.txt": "d\n"}


def test_a_file_moves(room, tool):
    result = room.call(tool, patch=wrap(
        "*** Update File: a.txt", "*** Move to: x/y.txt", "-one", "+1"))

    assert result.success, result.error
    assert files(room) == {"x/y.txt": "1\ntwo\n", "b.txt": "three\n"}


@pytest.mark.parametrize("second", [
    ["*** Update File: b.txt", "-nothing", "+x"],
    ["*** Update File: missing.txt", "-a", "+b"],
    ["*** Add File: b.txt", "+x"],
    ["*** Delete File: missing.txt"],
    ["*** Update File: a.txt", "-one", "+1"],  # twice
    ["*** Add File: ../out.txt", "+x"],
    ["*** Add File: /etc/claw-test", "+x"],
    ["*** Update File: b.txt", "*** Move to: a.txt"],
])
def test_all_or_nothing(room, tool, second):
    before = files(room)

    result = room.call(tool, patch=wrap(
        "*** Update File: a.txt", "-two", "+2", *second))

    assert not result.success
    assert files(room) == before


def test_a_disk_that_fills_up_puts_all_back(room, tool, monkeypatch):
    write, before = tool._policy.write_beneath, files(room)

    def fill_up(path, data):
        if path == "c.txt":
            raise StorageError("no space left on the disk: c.txt")
        write(path, data)
    monkeypatch.setattr(tool._policy, "write_beneath", fill_up)

    result = room.call(tool, patch=wrap(
        "*** Update File: a.txt", "-two", "+2", "*** Add File: n.txt", "+n",
        "*** Delete File: b.txt", "*** Add File: c.txt", "+c"))

    assert result.error == "no space left on the disk: c.txt"
    assert files(room) == before


def test_a_link_is_not_written_through(room, tool, tmp_path):
    (tmp_path / "secret.txt").write_text("secret\n")
    (room.workspace / "link.txt").symlink_to(tmp_path / "secret.txt")

    for lines in (["*** Update File: link.txt", "-secret", "+x"],
                  ["*** Delete File: link.txt"]):
        assert not room.call(tool, patch=wrap(*lines)).success

    assert (tmp_path / "secret.txt").read_text() == "secret\n"
    assert (room.workspace / "link.txt").is_symlink()


def test_the_owner_sees_the_diff_of_each_file(room, tool):
    assert tool.preview({"patch": wrap(
        "*** Update File: a.txt", "-two", "+2", "*** Add File: c.txt", "+c"
    )}) == ("a.txt:", "--- before", "+++ after", "@@ -1,2 +1,2 @@", " one",
            "-two", "+2", "c.txt:", "--- before", "+++ after",
            "@@ -0,0 +1 @@", "+c")


def test_only_watched_files_are_asked_about_afterwards(room, tool):
    class Owner:
        def can_ask(self):
            return True

        async def approve(self, request):
            return "no"
    tool._policy.approver = Owner()
    turn = TurnContext("agent", labels={"web"})
    (room.workspace / "AGENTS.md").write_text("kind\n")
    watched = ["*** Update File: AGENTS.md", "-kind", "+cruel"]

    assert tool.asks_owner({"patch": wrap(*watched)}, turn)
    assert not tool.asks_owner({"patch": wrap(
        *watched, "*** Update File: a.txt", "-two", "+2")}, turn)
    assert not tool.asks_owner({"patch": "nonsense"}, turn)


def test_what_git_would_run_is_undone(room, tool):
    """As after a command, and after file_write."""
    (room.workspace / ".git/hooks").mkdir(parents=True)
    (room.workspace / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (room.workspace / ".git/objects").mkdir()
    (room.workspace / ".git/refs").mkdir()

    result = room.call(tool, patch=wrap(
        "*** Add File: .git/hooks/pre-commit", "+#!/bin/sh", "+id > x"))

    assert "[claw: " in result.output
    assert not (room.workspace / ".git/hooks/pre-commit").exists()
