"""The slash commands of claw agent."""

import base64
import io
import os
import subprocess

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from claw.cli.chat.clipboard import copy_text
from claw.cli.chat.completer import SlashCompleter
from claw.cli.chat.resume import name_talk
from claw.cli.chat.slash import (
    COMMANDS,
    explain_unknown,
    list_help,
    read_line,
)
from claw.cli.chat.transcript import (
    count_tokens,
    find_path,
    replace_file,
    write_new_file,
    write_transcript,
)
from claw.cli.show.bars import count_cells
from claw.core.errors import StorageError, UsageError
from claw.storage.sessions import SessionStore
from claw.testing.fake_openai import FakeOpenAI, failure
from claw.wiring.workspace.sessions import SpokenMessage
from claw.wiring.workspace.talks import KeptTalk
from tests.cli.test_agent import Terminal, at


@pytest.mark.each(("line", "word", "rest"), [
    ("/help", "/help", ""),
    ("/model  gpt-9 ", "/model", "gpt-9"),
    ("/exit", "/quit", ""),
    ("/?", "/help", ""),
    ("/foo bar", "/foo", "bar"),
    ("/home is full", "/home", "is full"),
    ("/помощь", "/помощь", ""),
    ("/thnik:high why?", "/thnik:high", "why?"),
    ("/think:high why?", "", "/think:high why?"),
    ("/etc/hosts is what?", "", "/etc/hosts is what?"),
    ("/var/", "", "/var/"),
    ("/ is the root", "", "/ is the root"),
    ("/1 of 2", "", "/1 of 2"),
    ("//foo bar", "", "/foo bar"),
    (" /foo bar", "", "/foo bar"),
    ("what is /foo?", "", "what is /foo?"),
    ("", "", ""),
    ("/", "", "/"),
    ("/rétry\nline", "/rétry", "line"),
])
def test_which_lines_are_commands(line, word, rest):
    assert read_line(line) == (word, rest)


def test_an_unknown_command_names_the_nearest_and_how_to_send_it():
    assert "did you mean /retry?" in explain_unknown("/retyr")[1]
    assert "/help lists them" in explain_unknown("/zzzzz")[1]
    assert "did you mean /think:high?" in explain_unknown("/thnik:high")[1]
    assert "put / or a blank before it" in explain_unknown("/zzzzz")[1]
    assert all(any(line.startswith(name) for line in list_help(80))
               for name in COMMANDS)


@pytest.mark.parametrize(("text", "expected"), [
    ("/mo", ["/model ", "/models"]),
    ("/undo", ["/undo"]),
    ("/model gp", ["gpt-9", "gpt-10"]),
    ("/retry m", ["mini"]),
    ("/save no", ["tes.md"]),
    ("read ./no", ["tes.md"]),
    ("read no", []),
    ("what is /mo", []),
])
def test_tab_completes(monkeypatch, tmp_path, text, expected):
    (tmp_path / "notes.md").write_text("")
    monkeypatch.chdir(tmp_path)
    completer = SlashCompleter(lambda: ["gpt-9", "gpt-10", "mini"])

    assert [found.text for found in completer.get_completions(
        Document(text), CompleteEvent())] == expected


def test_what_is_copied_where_no_desktop_is_goes_through_the_terminal():
    terminal = io.StringIO()
    said = copy_text("한국 x", terminal, env={}, find=lambda name: None)

    sequence = terminal.getvalue()
    assert sequence.startswith("\x1b]52;c;")
    assert sequence.endswith("\x07")
    assert base64.b64decode(sequence[7:-1]).decode() == "한국 x"
    assert "OSC 52" in said


@pytest.mark.parametrize(("env", "code", "by_terminal"), [
    ({"DISPLAY": ":0"}, 0, False),
    ({"DISPLAY": ":0"}, 1, True),  # it is there and fails
    ({"DISPLAY": ":0", "SSH_CONNECTION": "x"}, 0, True),
    ({}, 0, True),
])
def test_the_desktop_is_asked_first(monkeypatch, env, code, by_terminal):
    terminal, got = io.StringIO(), []

    def run(command, **how):
        got.append((command[0], how["input"]))
        return subprocess.CompletedProcess(command, code)
    monkeypatch.setattr(subprocess, "run", run)
    copy_text("x", terminal, env=env, find=lambda name:
              name if name == "xclip" else None)

    assert bool(terminal.getvalue()) is by_terminal
    assert by_terminal or got == [("xclip", b"x")]


def test_what_no_terminal_takes_is_not_sent():
    terminal = io.StringIO()
    said = copy_text("x" * 80_000, terminal, env={}, find=lambda name: None)

    assert terminal.getvalue() == ""
    assert said.startswith("not copied")


TALK = [SpokenMessage("system", None, "be brief"),
        SpokenMessage("user", None, "what is it?"),
        SpokenMessage("assistant", None, "", (("shell", '{"a": 1}'),)),
        SpokenMessage("tool", None, "```\nx\n```"),
        SpokenMessage("assistant", None, "It is *x*.")]


def test_a_conversation_as_markdown():
    assert write_transcript(TALK) == """\
## You

what is it?

## claw

```
shell {"a": 1}
```

## Tool

````
```
x
```
````

## claw

It is *x*.
"""
    assert count_tokens(TALK) == {
        "instructions": 2, "your words": 3, "answers": 3, "tool calls": 4,
        "what tools gave": 3}


def test_a_file_is_not_overwritten_unless_it_is_told_to(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("old")
    (tmp_path / "link").symlink_to(path)

    assert write_new_file(path, "new") is False
    assert write_new_file(tmp_path / "link", "new") is False
    assert path.read_text() == "old"
    replace_file(path, "new \ud800")
    assert path.read_text() == "new ?"
    assert sorted(os.listdir(tmp_path)) == ["a.md", "link"]
    for wrong in ("none/a.md", "a\0b"):
        with pytest.raises(StorageError):
            write_new_file(tmp_path / wrong, "x")


def test_a_full_disk_leaves_no_half_conversation(tmp_path, monkeypatch):
    real = os.open

    def open_full(path, flags, mode=0o777):
        os.close(real(path, flags, mode))
        return real("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(os, "open", open_full)

    with pytest.raises(StorageError, match="No space"):
        write_new_file(tmp_path / "a.md", "x" * 100_000)
    assert os.listdir(tmp_path) == []


@pytest.fixture
def terminal(environment, tmp_path):
    return lambda *arguments: Terminal(arguments, environment, tmp_path)


def asked(chat):
    return [message["content"].rpartition("] ")[2]
            for message in chat.body["messages"]
            if message["role"] == "user"]


def test_the_last_exchange_is_taken_back_changed_and_asked_again(
        terminal, home):
    with FakeOpenAI(["Answer1.", "Answer2.", "Answer3.", "Answer4.",
                     failure(401, "bad key")]) as server:
        screen = terminal(*at(server))
        for text, answer in (("one", "Answer1."), ("two", "Answer2."),
                             ("/retry other", "Answer3.")):
            screen.expect(">")
            screen.type(f"{text}\r")
            screen.expect(answer)
        screen.expect(">")
        screen.type("/edit\r")
        screen.expect("> two")
        screen.type("!\r")
        screen.expect("Answer4.")
        screen.expect(">")
        screen.type("/retry\r")
        screen.expect("what was there before stays")
        screen.expect(">")
        screen.type("/tokens\r")
        screen.expect("your words")
        screen.expect("4 turns since the start")
        screen.expect(">")
        screen.type("/save talk.md\r")
        screen.expect("written to talk.md")
        screen.expect(">")
        screen.type("/undo\r")
        screen.expect("taken back: two!")
        screen.expect(">")
        screen.type("/nonsense\r")
        screen.expect("there is no command /nonsense")
        screen.leave()

        assert screen.end() == 0
    assert [asked(chat) for chat in server.chats] == [
        ["one"], ["one", "two"], ["one", "two"], ["one", "two!"],
        ["one", "two!"]]
    assert [chat.body["model"] for chat in server.chats] == [
        "m", "m", "other", "m", "m"]
    kept = SessionStore(home / "workspace" / "sessions").load("agent")
    assert [one["data"]["content"].rpartition("] ")[2] for one in kept] == [
        "one", "Answer1."]


def test_a_saved_conversation_holds_what_was_said(terminal, tmp_path):
    (tmp_path / "there.md").write_text("mine")
    with FakeOpenAI(["Answer1."]) as server:
        screen = terminal(*at(server))
        for text, said in (
                ("/undo", "nothing was asked yet"),
                ("/copy", "nothing was answered yet"),
                ("/save", "needs the name of a file"),
                ("one", "Answer1."), ("/save talk.md", "written to talk.md"),
                ("/copy code", "no block of code"), ("/copy", "characters"),
                ("/save none/x.md", "No such file"),
                ("/save .", "is a folder"),
                ("/save there.md", "Overwrite it?")):
            screen.expect(">") if text != "/undo" else screen.expect("help")
            screen.type(f"{text}\r")
            screen.expect(said)
        screen.type("n\r")
        screen.expect("nothing was written")
        screen.leave()

        assert screen.end() == 0
    assert (tmp_path / "talk.md").read_text() == (
        "## You\n\none\n\n## claw\n\nAnswer1.\n")
    assert (tmp_path / "there.md").read_text() == "mine"


@pytest.mark.parametrize("name", ["a" * 300, "a\0b", "/dev/null/talk.md"])
def test_a_name_that_can_be_no_file_does_not_end_the_conversation(name):
    with pytest.raises(StorageError):
        find_path(name)


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(UsageError, match="no regular file"):
        find_path(str(tmp_path / "pipe"))


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_the_list_of_commands_fits_the_terminal(columns):
    lines = list_help(columns)

    assert all(count_cells(line) <= columns
               for line in lines[:lines.index("")])
    assert {line.split()[0] for line in lines
            if line.startswith("/") and line.split()[0] in COMMANDS
            } == set(COMMANDS)


def test_names_that_turn_the_text_around_are_spelled_out_in_a_menu(
        tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gif\u202egpj.md").touch()
    completer = SlashCompleter(lambda: ["good", "go\x1b[2Jod"])

    def complete(text):
        return [*completer.get_completions(Document(text), CompleteEvent())]

    assert complete("/save gi")[0].display_text == "gif\\u202egpj.md"
    assert [found.text for found in complete("/model go")] == ["good"]


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_a_long_title_is_cut_in_the_picker_and_its_session_is_not(columns):
    name = name_talk(KeptTalk("日本語" * 40, "2026-11-20T10:00:00Z", "work"),
                     columns)

    assert count_cells(name) <= max(columns - 4, 36)
    assert name.endswith("…  (work)")
