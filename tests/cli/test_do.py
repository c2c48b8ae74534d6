"""claw do: one command is proposed, and its owner decides."""

import contextlib
import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest

from claw.cli.commands.do.terminal import run_command
from claw.core.errors import DeniedError
from claw.testing.fake_openai import FakeOpenAI


def proposed(command, explanation="It does that."):
    return FakeOpenAI([json.dumps({"command": command,
                                   "explanation": explanation})] * 3)


def at(server):
    return ["-p", f"custom:{server.url}", "-m", "m"]


def test_without_a_terminal_the_command_alone_is_printed(claw, tmp_path):
    with proposed("touch made") as server:
        done = claw("do", "make a file", *at(server), cwd=tmp_path)
        sent = json.dumps([request.body for request in server.chats])

    assert (done.code, done.out) == (0, "touch made\n")
    assert not (tmp_path / "made").exists()
    assert str(tmp_path) in sent


def test_no_log_is_taken_and_nothing_is_kept_in_any_case(claw, home):
    with proposed("ls") as server:
        for more in ([], ["--no-log"]):
            done = claw("do", "list", *at(server), *more)

            assert (done.code, done.out) == (0, "ls\n")
    assert "nothing is in the log" in claw("log", "list").err


def test_json_tells_what_is_known(claw, tmp_path):
    with proposed("rm -rf ./old") as server:
        done = claw("do", "clean up", *at(server), "--json", cwd=tmp_path)

    assert done.json["command"] == "rm -rf ./old"
    assert done.json["risk"] == "high"
    assert done.json["paths"] == ["./old"]
    assert done.json["untrusted"] is False
    assert done.json["cwd"] == str(tmp_path)


def test_piped_text_is_marked(claw):
    with proposed("ls") as server:
        done = claw("do", "list", *at(server), "--json", stdin="a\nb\n")

    assert done.json["untrusted"] is True


@pytest.mark.parametrize("command", [
    "ls\nrm x", "ls\x1b[2J", "ls \u202etxt.exe", "ls\r rm x", "", "  ",
    "ls\n", "ls\t", "cat <<E\nrm x\nE", "ls \u00a0; rm x", "-c 'rm x'",
    "+x", "ls " + "x" * 4000])
def test_what_does_not_show_what_it_runs_is_refused(claw, command):
    with proposed(command) as server:
        done = claw("do", "list", *at(server))

    assert (done.code, done.out) == (6, "")


@pytest.mark.parametrize("answer", ["I would list the files.", '{"a": 1}'])
def test_an_answer_without_a_command_is_no_talk_of_schemas(claw, answer):
    with FakeOpenAI([answer] * 3) as server:
        done = claw("do", "list files", *at(server))

    assert (done.code, done.out) == (5, "")
    assert "the model gave no command" in done.err
    assert "another model with -m" in done.err
    assert "schema" not in done.err


def test_without_a_model_the_way_to_one_is_told(claw):
    done = claw("do", "list")

    assert (done.code, done.out) == (3, "")
    assert "OPENAI_API_KEY" in done.err


def test_the_shipped_template_asks(claw, tmp_path):
    with proposed("ls") as server:
        claw("do", "list $5 files", *at(server), cwd=tmp_path,
             stdin="UNDER\n")
        system, user = server.chats[0].body["messages"]

    assert "You do not use sudo" in system["content"]
    assert "field explanation" in system["content"]
    assert f"run in {tmp_path}, that does this:\n\nlist $5 files" \
        in user["content"]
    assert "UNDER" in user["content"].partition("list $5 files")[2]


def test_a_template_of_the_owner_asks_instead(claw):
    claw("template", "save", "shell", stdin=(
        '+++\nsystem = "You like $shell and awk."\nmodel = "own"\n'
        'schema = {type = "object"}\ntools = ["file_read"]\n+++\n'
        'Quickly: $input'))
    with proposed("awk 1") as server:
        done = claw("do", "count", "-p", f"custom:{server.url}")
        body = server.chats[0].body

    assert (done.code, done.out) == (0, "awk 1\n")
    assert body["model"] == "own"
    assert " and awk." in body["messages"][0]["content"]
    assert "Quickly: count" in body["messages"][1]["content"]
    assert "tools" not in body
    assert "explanation" in json.dumps(body)


def test_a_template_of_the_owner_must_need_nothing_else(claw):
    claw("template", "save", "shell", stdin="For $whom: $input")
    with proposed("ls") as server:
        done = claw("do", "count", *at(server))

        assert server.chats == []
    assert done.code == 3
    assert "$whom" in done.err
    assert "claw template edit shell" in done.err


class Screen:
    """claw on a terminal of its own."""

    def __init__(self, arguments, env, cwd, stderr=None):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, *arguments], stdin=slave,
            stdout=slave, stderr=stderr or slave, env=env, cwd=cwd,
            start_new_session=True)
        os.close(slave)
        self.text = ""

    def wait(self, text, seconds=30):
        end = time.monotonic() + seconds
        while text not in self.text:
            assert time.monotonic() < end, self.text
            self._read()

    def _read(self):
        if select.select([self.master], [], [], 0.1)[0]:
            with contextlib.suppress(OSError):
                self.text += os.read(self.master, 65536).decode()

    def press(self, keys):
        time.sleep(0.3)  # what comes before the question is thrown away
        self.text = ""
        os.write(self.master, keys.encode())

    def end(self):
        while self.process.poll() is None:
            self._read()
        self._read()
        os.close(self.master)
        return self.process.returncode


START = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from claw.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def screen(environment, tmp_path):
    def start(command, server, stderr=None, **more):
        return Screen(["do", "it", *at(server)], {
            **environment, "SHELL": "/bin/sh", "TERM": "xterm",
            "MINE": "of the owner", **more}, tmp_path, stderr)
    return start


def test_a_key_runs_it_as_the_owner_would(screen, tmp_path):
    command = 'pwd; echo "$MINE"; exit 7'
    with proposed(command) as server:
        shown = screen(command, server)
        shown.wait("[n]o: ")
        assert command in shown.text
        shown.press("y")

        assert shown.end() == 7
    assert str(tmp_path) in shown.text
    assert "of the owner" in shown.text


def test_a_key_is_not_enough_for_what_is_dangerous(screen, tmp_path):
    (tmp_path / "old").touch()
    with proposed("rm old") as server:
        shown = screen("rm old", server)
        shown.wait("DANGEROUS")
        shown.wait("[n]o: ")
        shown.press("y\n")
        shown.wait("[n]o: ")
        assert (tmp_path / "old").exists()
        shown.press("run\n")

        assert shown.end() == 0
    assert not (tmp_path / "old").exists()


@pytest.mark.parametrize("key", ["n", "\x04"])
def test_no_is_no(screen, tmp_path, key):
    with proposed("touch made") as server:
        shown = screen("touch made", server)
        shown.wait("[n]o: ")
        shown.press(key)

        assert shown.end() == 6
    assert not (tmp_path / "made").exists()


def test_a_yes_after_the_emergency_stop_runs_nothing(
        claw, screen, tmp_path):
    with proposed("touch made") as server:
        shown = screen("touch made", server)
        shown.wait("[n]o: ")
        claw("estop")
        shown.press("y")

        assert shown.end() == 6
    assert "claw is stopped" in shown.text
    assert not (tmp_path / "made").exists()


def test_it_is_explained_and_asked_again(screen):
    with proposed("true", "It\x1b[2J succeeds.") as server:
        shown = screen("true", server)
        shown.wait("[n]o: ")
        shown.press("x")
        shown.wait(r"It\x1b[2J succeeds.")
        shown.wait("[n]o: ")
        shown.press("y")

        assert shown.end() == 0


def test_an_edited_command_is_shown_and_asked_again(screen, tmp_path):
    with proposed("touch made") as server:
        shown = screen("touch made", server)
        shown.wait("[n]o: ")
        shown.press("e")
        shown.wait("touch made")
        shown.press("-too\r")
        shown.wait("touch made-too")
        shown.wait("[n]o: ")
        shown.press("y")

        assert shown.end() == 0
    assert (tmp_path / "made-too").exists()


@pytest.mark.parametrize("command", [
    "ls" + " " * 300 + "; touch made", "touch 'a  b' made" + "x " * 1500,
    "touch made \u05d0; echo \u05d1"])
def test_what_may_hide_a_part_of_a_command_waits_for_the_word(
        screen, tmp_path, command):
    with proposed(command) as server:
        shown = screen(command, server)
        shown.wait('type "run"')
        shown.wait("[n]o: ")
        shown.press("y\n")
        shown.wait("[n]o: ")
        shown.press("n\n")

        assert shown.end() == 6
    assert not (tmp_path / "made").exists()


def test_what_was_pasted_is_no_yes(screen, tmp_path):
    with proposed("touch made") as server:
        shown = screen("touch made", server)
        shown.wait("[n]o: ")
        shown.press("yes\n")
        shown.wait("[n]o: ")
        shown.press("\x1b[A")
        shown.wait("[n]o: ")
        assert not (tmp_path / "made").exists()
        shown.press("y")

        assert shown.end() == 0


def test_behind_an_explanation_the_command_stands_again(screen):
    with proposed("echo 1", "x\n\n  ls\n\nlow risk; only reads") as server:
        shown = screen("echo 1", server)
        shown.wait("[n]o: ")
        shown.press("x")
        shown.wait("[n]o: ")
        assert "echo 1" in shown.text.rpartition("  ls")[2]
        shown.press("n")

        assert shown.end() == 6


def test_a_question_that_nobody_sees_is_not_asked(screen, tmp_path):
    with proposed("touch made") as server:
        shown = screen("touch made", server, stderr=subprocess.DEVNULL)

        assert shown.end() == 0
    assert "touch made" in shown.text
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("term", ["dumb", "", "nonsense"])
def test_on_any_terminal_it_is_edited_and_run(screen, tmp_path, term):
    with proposed("touch made") as server:
        shown = screen("touch made", server, TERM=term)
        shown.wait("[n]o: ")
        shown.press("e")
        shown.wait("touch made")
        shown.press("-too\r")
        shown.wait("[n]o: ")
        shown.press("y")

        assert shown.end() == 0
    assert (tmp_path / "made-too").exists()


def test_ctrl_c_at_the_question_is_an_interruption(screen, tmp_path):
    with proposed("touch made") as server:
        shown = screen("touch made", server)
        shown.wait("[n]o: ")
        shown.press("\x03")

        assert shown.end() == 130
    assert not (tmp_path / "made").exists()


def test_letters_that_the_locale_lacks_are_told(monkeypatch):
    def lack(*_, **__):
        return "\u4e85".encode("latin-1")
    monkeypatch.setattr(subprocess, "run", lack)

    with pytest.raises(DeniedError, match="locale"):
        run_command("/bin/sh", "echo \u4e85", None)
