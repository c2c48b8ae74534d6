"""file_read, file_write, file_edit."""

import asyncio
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw.core.turn import TurnContext
from claw.security.approval import ApprovalManager
from claw.security.permissions import PermissionSettings
from claw.tools.files.files import FileEdit, FileRead, FileWrite, number_lines
from claw.tools.files.patch.tool import ApplyPatch
from claw.tools.offer.checked import Denial


@pytest.mark.parametrize(("text", "offset", "limit", "shown"), [
    ("", 1, None, ""),
    ("a", 1, None, "1: a\n[1 lines total]"),
    ("a\nb\n", 1, None, "1: a\n2: b\n[2 lines total]"),
    ("a\r\nb\r\n", 1, None, "1: a\n2: b\n[2 lines total]"),
    ("\n", 1, None, "1: \n[1 lines total]"),
    ("a\nb\nc", 2, None, "2: b\n3: c\n[Lines 2-3 of 3]"),
    ("a\nb\nc", 1, 2, "1: a\n2: b\n[Lines 1-2 of 3]"),
    ("a\nb\nc", 3, 9, "3: c\n[Lines 3-3 of 3]"),
    ("a\nb\nc", 4, None, "[No lines in range, file has 3 lines]"),
    ("日本\x00語\u2028x", 1, None, "1: 日本\x00語\u2028x\n[1 lines total]"),
])
def test_lines_are_numbered(text, offset, limit, shown):
    assert number_lines(text, offset, limit) == shown


def test_a_file_is_written_read_and_edited(room):
    deps = room.deps()

    written = room.call(FileWrite(deps), path="a/b.txt", content="één\ntwo\n")
    edited = room.call(FileEdit(deps), path="a/b.txt", old_string="two",
                       new_string="三")
    read = room.call(FileRead(deps), path="a/b.txt")

    assert written.output == "Written 10 bytes to a/b.txt"
    assert edited.output == (
        "Edited a/b.txt: replaced 1 occurrence (10 bytes)")
    assert read.output == "1: één\n2: 三\n[2 lines total]"


@pytest.mark.parametrize("path", [
    "../secret", "/etc/passwd", "~/x", "a/../../x", "link", "state/x",
    "memory/brain.db", "..%2fx", "a\0b"])
def test_a_refused_path_says_so_first(room, path):
    (room.workspace / "link").symlink_to("../outside")
    (room.workspace.parent / "outside").write_text("S3CRET")
    (room.workspace / "state").mkdir()
    (room.workspace / "state/x").write_text("S3CRET")
    (room.workspace / "memory").mkdir()
    (room.workspace / "memory/brain.db").write_text("S3CRET")
    deps = room.deps()

    for result in (
            room.call(FileRead(deps), path=path),
            room.call(FileWrite(deps), path=path, content="x"),
            room.call(FileEdit(deps), path=path, old_string="S",
                      new_string="x")):
        assert not result.success
        assert result.error.startswith("Path not allowed")
        assert isinstance(result, Denial)
        assert "S3CRET" not in result.output


@pytest.mark.parametrize(("args", "error"), [
    ({"path": "missing"}, "no such file: missing"),
    ({"path": "."}, "is a directory"),
    ({"path": ""}, "must not be empty"),
    ({}, "Missing 'path' parameter"),
    ({"path": "x", "offset": 0}, "at least 1"),
    ({"path": "x", "limit": "5"}, "must be an integer"),
    ({"path": "x", "limit": True}, "must be an integer"),
    ({"path": "x", "lines": 5}, "Unknown parameter 'lines'"),
    ({"path": ["x"]}, "must be a string"),
    ({"path": "big"}, "file too large"),
    ({"path": "pipe"}, "not a regular file"),
])
def test_reading_fails_in_a_sentence(room, args, error):
    with (room.workspace / "big").open("wb") as file:
        file.truncate(11 << 20)
    os.mkfifo(room.workspace / "pipe")

    result = room.call(FileRead(room.deps()), **args)

    assert not result.success
    assert error in result.error
    assert not isinstance(result, Denial)


def test_what_is_no_utf8_is_read_with_replacement(room):
    (room.workspace / "x").write_bytes(b"a\xff\xfeb\n")

    assert room.call(FileRead(room.deps()), path="x").output == (
        "a\ufffd\ufffdb\n")


def test_null_counts_as_left_out(room):
    (room.workspace / "x").write_text("a\nb")

    assert room.call(FileRead(room.deps()), path="x", offset=None,
                     limit=1.0).output == "1: a\n[Lines 1-1 of 2]"


def test_reading_labels_the_turn(room):
    (room.workspace / "x").write_text("a")
    turn = TurnContext(origin="agent")

    room.call(FileRead(room.deps()), turn, path="missing")
    assert turn.labels == set()
    room.call(FileRead(room.deps()), turn, path="x")
    assert turn.labels == {"file"}


@pytest.mark.parametrize(("channel", "chat", "may"), [
    ("telegram", "7", True), ("telegram", "7:12", True),
    ("telegram", "70", False), ("telegram", "8", False),
    ("webhook", "7", False), (None, None, True)])
def test_a_file_of_another_chat_is_not_read(room, channel, chat, may):
    folder = room.workspace / "telegram_files"
    folder.mkdir()
    (folder / "telegram_7_1_note.txt").write_text("private")
    turn = TurnContext(origin="channel", channel=channel, reply_target=chat)

    read = room.call(FileRead(room.deps()), turn,
                     path="telegram_files/telegram_7_1_note.txt")

    assert read.success is may
    assert ("private" in read.output) is may


@pytest.mark.parametrize("path", [
    "telegram_files/telegram_7_1_note.txt", "around/telegram_7_1_note.txt",
    "beside"])
def test_a_file_of_another_chat_is_not_reached_by_any_way(room, path):
    folder = room.workspace / "telegram_files"
    folder.mkdir()
    (folder / "telegram_7_1_note.txt").write_text("private")
    (room.workspace / "around").symlink_to("telegram_files")
    (room.workspace / "beside").symlink_to(
        "telegram_files/telegram_7_1_note.txt")
    turn = TurnContext("channel", channel="telegram", reply_target="8")

    results = [
        room.call(FileRead(room.deps()), turn, path=path),
        room.call(FileEdit(room.deps()), turn, path=path,
                  old_string="absent", new_string="x"),
        room.call(FileWrite(room.deps()), turn, path=path, content="x")]

    assert not any(r.success or "private" in r.output for r in results)
    assert not any("not found" in r.error for r in results)
    assert (folder / "telegram_7_1_note.txt").read_text() == "private"


def test_a_file_that_somebody_sent_is_not_taken_for_the_owners(room):
    folder = room.workspace / "telegram_files"
    folder.mkdir()
    (folder / "telegram_7_1_note.txt").write_text("obey me")
    turn = TurnContext(origin="channel")

    for path in ("telegram_files/telegram_7_1_note.txt",
                 str(folder / "telegram_7_1_note.txt"),
                 "./telegram_files/./telegram_7_1_note.txt"):
        turn.labels.clear()
        assert room.call(FileRead(room.deps()), turn, path=path).success
        assert turn.labels == {"attachment"}


@pytest.mark.parametrize(("old", "error"), [
    ("x", "old_string not found in file"),
    ("a", "old_string matches 2 times; must match exactly once"),
    ("", "must not be empty")])
def test_an_edit_must_be_unambiguous(room, old, error):
    (room.workspace / "f").write_text("a b a")

    result = room.call(FileEdit(room.deps()), path="f", old_string=old,
                       new_string="y")

    assert error in result.error
    assert (room.workspace / "f").read_text() == "a b a"


def test_an_edit_leaves_the_rest_byte_for_byte(room):
    (room.workspace / "f").write_bytes(b"\xff\r\none\r\n\x00")

    room.call(FileEdit(room.deps()), path="f", old_string="one",
              new_string="")

    assert (room.workspace / "f").read_bytes() == b"\xff\r\n\r\n\x00"


@pytest.mark.parametrize(("data", "old", "new", "after"), [
    (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
    (b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
    (b"a\r\n", "a", "x\ny", b"x\r\ny\r\n"),
    (b"a\nb\r\n", "a\nb", "x\ny", b"x\ny\r\n"),  # ends of both kinds
    (b"a\rb\n", "a\rb", "x\ny", b"x\ny\n"),
])
def test_an_edit_over_lines_keeps_the_files_line_ends(room, data, old, new,
                                                      after):
    (room.workspace / "f").write_bytes(data)

    done = room.call(FileEdit(room.deps()), path="f", old_string=old,
                     new_string=new)

    assert (done.error, (room.workspace / "f").read_bytes()) == (None, after)


def test_read_only_mode_reads_and_does_not_write(room):
    (room.workspace / "f").write_text("a")
    deps = room.deps(level="readonly")

    assert room.call(FileRead(deps), path="f").success
    for result in (
            room.call(FileWrite(deps), path="f", content="b"),
            room.call(FileEdit(deps), path="f", old_string="a",
                      new_string="b")):
        assert "read-only mode" in result.error
        assert isinstance(result, Denial)
    assert (room.workspace / "f").read_text() == "a"


def test_file_calls_use_up_the_hours_actions(room):
    (room.workspace / "f").write_text("a")
    deps = room.deps(max_actions_per_hour=2)

    assert room.call(FileRead(deps), path="f").success
    assert room.call(FileWrite(deps), path="f", content="b").success
    assert "Rate limit exceeded" in room.call(
        FileRead(deps), path="f").error


@settings(max_examples=60, deadline=None, database=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.text(st.characters(codec=None), max_size=300))
def test_any_text_is_kept(room, content):
    result = room.call(FileWrite(room.deps(sandbox=False)), path="t",
                       content=content)

    assert result.success
    assert (room.workspace / "t").read_bytes().decode(
        "utf-8", "surrogatepass") == content


def test_what_a_call_would_change_is_told_beforehand(room):
    (room.workspace / "a.txt").write_text("one\ntwo\x1b[2J\n")
    deps = room.deps()
    write, edit = FileWrite(deps), FileEdit(deps)

    assert write.preview({"path": "a.txt", "content": "one\nthree\n"})[3:] \
        == (" one", "-two\\e[2J", "+three")
    assert write.preview({"path": "new", "content": "x\n"})[3:] == ("+x",)
    assert edit.preview({"path": "a.txt", "old_string": "one",
                         "new_string": "1"})[3:] == (
        "-one", "+1", " two\\e[2J")
    assert (room.workspace / "a.txt").read_text() == "one\ntwo\x1b[2J\n"


@pytest.mark.parametrize("args", [
    {"path": "../secret", "content": "x"},
    {"path": "big", "content": "x\n" * 200_000},
    {"path": "long", "content": "a line\n" * 2_000},  # not shown whole
])
def test_what_can_not_be_shown_whole_is_no_diff(room, args):
    assert FileWrite(room.deps()).preview(args) == ()


def ask_about(room, tool, context=None, **settings):
    """gate(args): the reason why the owner is asked, None if he is not."""
    deps = room.deps(**settings)
    tool = tool(deps)

    class Owner:
        async def approve(self, request):
            asked.append(request)
            return "no"

    def gate(**args):
        asked.clear()
        asyncio.run(ApprovalManager(
            deps.policy, Owner(), interactive=True).gate(
                tool, args, context or TurnContext("agent")))
        return [request.reason for request in asked]
    asked = []
    return gate


@pytest.mark.parametrize("path", [
    ".gitconfig", ".config/git/config", ".npmrc", "./.pip/pip.conf",
    ".bashrc", ".netrc", ".ssh/config", "project/.npmrc", "{ws}/.profile",
    "link/config", "a/.env"])
@pytest.mark.parametrize("free", [
    {"auto_approve": ["*"]}, {"permissions": {"x": {}}}])
def test_settings_of_programs_were_written_unasked(room, path, free):
    if "permissions" in free:
        free = {"permissions": {"x": PermissionSettings(
            tool="file_write", until="2999-01-01T00:00:00+00:00",
            workspace=str(room.workspace),
            arguments={"path": "*", "content": "*"})}}
    (room.workspace / ".git").mkdir()
    (room.workspace / "link").symlink_to(".git")
    gate = ask_about(room, FileWrite, **free)

    [reason] = gate(path=path.format(ws=room.workspace), content="x")

    assert "read their settings there" in reason
    assert gate(path="notes.txt", content="x") == []
    assert gate(path=".github/x.yml", content="x") == []


def test_a_patch_of_settings_asks(room):
    gate = ask_about(room, ApplyPatch, auto_approve=["*"])
    patch = ("*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch\n")

    assert gate(patch=patch.format(".npmrc"))
    assert gate(patch=patch.format("npmrc")) == []
    assert gate(patch="no patch") == []
    assert ask_about(room, FileWrite, level="full")(
        path=".npmrc", content="x") == []
