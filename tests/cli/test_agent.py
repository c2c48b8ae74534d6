"""claw agent: one turn, the partner of a program, and the terminal."""

import json
import os
import pty
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from claw.storage.sessions import SessionStore
from claw.testing.fake_openai import FakeOpenAI, Reply, failure, tool_call

ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>]|\][^\x07]*\x07)")


def at(server):
    return ["-p", f"custom:{server.url}", "-m", "m"]


def kept(home, name="agent"):
    return SessionStore(home / "workspace" / "sessions").load(name)


# --- one turn


def test_one_turn_prints_only_the_answer(claw, home):
    with FakeOpenAI([
            Reply("<think>hm</think>I will look.", tool_calls=(
                ("memory_recall", '{"query": "tea"}'),)),
            "Mina likes **green** tea."]) as server:
        done = claw("agent", *at(server), "which tea does Mina like?")

    assert done.code == 0
    assert done.out == "Mina likes **green** tea.\n"
    assert [r["type"] for r in kept(home)] == [
        "Chat", "AssistantToolCalls", "ToolResults", "Chat"]


def test_the_agent_sends_its_files_and_tools(claw, home):
    workspace = home / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "SOUL.md").write_text("You like tea.")
    with FakeOpenAI(["ok"]) as server:
        claw("agent", *at(server), "-s", "Be brief.", "hello")

    body = server.chats[0].body
    system = body["messages"][0]["content"]
    assert system.startswith("Be brief.")
    assert "You like tea." in system
    assert str(workspace) in system
    names = {t["function"]["name"] for t in body["tools"]}
    assert {"shell", "file_read", "memory_store"} <= names


def test_tools_can_be_narrowed(claw):
    with FakeOpenAI(["ok"]) as server:
        claw("agent", *at(server), "--tools", "file_read", "hello")
        claw("agent", *at(server), "--tools", "none", "hello")
        wrong = claw("agent", *at(server), "--tools", "file_raed", "hello")

    assert [t["function"]["name"] for t in server.chats[0].body["tools"]] \
        == ["file_read"]
    assert "tools" not in server.chats[1].body
    assert wrong.code == 2
    assert "file_read" in wrong.err


def test_piped_text_goes_under_the_message(claw):
    with FakeOpenAI(["ok"]) as server:
        claw("agent", *at(server), "what is this?", stdin="a list of teas")

    sent = server.chats[0].body["messages"][-1]["content"]
    assert sent.endswith("what is this?\n\na list of teas")


def test_piped_text_alone_is_the_message(claw):
    with FakeOpenAI() as server:
        done = claw("agent", *at(server), stdin="hello there")

    assert done.out.endswith("] hello there\n")


def test_nothing_asked_is_wrong_usage(claw):
    assert claw("agent").code == 2
    assert claw("agent", stdin=" \n").code == 2


def test_json_has_the_shape_of_ask(claw):
    with FakeOpenAI([tool_call("file_read", path="none.txt"),
                     "No such file."]) as server:
        done = claw("agent", *at(server), "--json", "read none.txt")

    assert set(done.json) >= {"id", "provider", "model", "text", "usage",
                              "cost", "duration_ms", "session",
                              "tool_calls", "recalled"}
    assert done.json["text"] == "No such file."
    assert done.json["tool_calls"] == [
        {"name": "file_read", "arguments": {"path": "none.txt"},
         "success": False}]


def test_a_session_goes_on_and_the_unnamed_one_begins_anew(claw, home):
    with FakeOpenAI() as server:
        for message in ("one", "two"):
            claw("agent", *at(server), "--session", "work", message)
            claw("agent", *at(server), message)

    sizes = [len([m for m in c.body["messages"] if m["role"] != "system"])
             for c in server.chats]
    assert sizes == [1, 1, 3, 1]
    assert len(kept(home, "work")) == 4
    assert len(kept(home)) == 2


def test_what_was_said_is_remembered(claw):
    with FakeOpenAI(["Noted."]) as server:
        claw("agent", *at(server), "My dentist is Dr. Kim in Mapo.")
    listed = claw("memory", "list", "--json").json["memories"]

    found = {m["key"].rpartition("_")[0]: m["content"] for m in listed}
    assert found == {"user_msg": "My dentist is Dr. Kim in Mapo.",
                     "assistant_resp": "Noted."}
    assert {m["sender"] for m in listed} == {None, "assistant"}
    source, = {m["source"] for m in listed}
    assert re.fullmatch("agent:agent:[0-9a-f]{32}", source)


def test_what_is_no_answer_is_not_remembered(claw):
    for message in ("which colour does Mina like?", "forget Tom"):
        claw("agent", "-p", "offline", message)
    listed = claw("memory", "list", "--json").json["memories"]

    assert [m["content"] for m in listed] == ["which colour does Mina like?"]


@pytest.mark.parametrize(("text", "said"), [
    ("/nonsense", "there is no command /nonsense"),
    ("/mdoel gpt-9", "did you mean /model?"),
    ("/home is full", "there is no command /home"),
    ("/stop", "/stop is a command of the conversation"),
])
@pytest.mark.parametrize("is_piped", [False, True])
def test_a_command_as_the_one_message_asks_no_model(claw, text, said,
                                                    is_piped):
    with FakeOpenAI() as server:
        done = (claw("agent", *at(server), stdin=f"{text}\n") if is_piped
                else claw("agent", *at(server), text))

    assert (done.code, done.out, server.chats) == (2, "", [])
    assert said in done.err


def test_paths_and_sentences_behind_a_slash_are_asked(claw):
    with FakeOpenAI() as server:
        for text in ("/etc/hosts has a wrong line", "//home is full"):
            assert claw("agent", *at(server), text).code == 0

    assert [chat.body["messages"][-1]["content"].rpartition("] ")[2]
            for chat in server.chats] == ["/etc/hosts has a wrong line",
                                          "/home is full"]


@pytest.fixture
def old_session(home):
    """A conversation of weeks ago, in its archive or about to go there."""
    store = SessionStore(home / "workspace" / "sessions")
    store.append("old", [{"type": "Chat", "data": {
        "role": "user", "content": "my name is Ada"}}])
    path, = (home / "workspace" / "sessions").glob("*.jsonl")
    os.utime(path, (time.time() - 20 * 86_400,) * 2)
    return path


def test_a_start_tidies_without_a_word(claw, old_session):
    with FakeOpenAI(["Hello."]) as server:
        done = claw("agent", *at(server), "hi")

    assert (done.code, done.out, done.err) == (0, "Hello.\n", "")
    assert not old_session.exists()
    assert (old_session.parent / "archive" / old_session.name).is_file()


def test_a_conversation_from_the_archive_goes_on(claw, home, old_session):
    with FakeOpenAI(["Hello.", "Ada."]) as server:
        claw("agent", *at(server), "hi")
        claw("agent", *at(server), "--session", "old", "what is my name?")

    said = [m["content"] for m in server.chats[-1].body["messages"][1:]]
    assert said[0] == "my name is Ada"
    assert len(kept(home, "old")) == 3
    assert old_session.is_file()


def test_the_session_that_is_used_stays(claw, old_session):
    with FakeOpenAI(["Hello."]) as server:
        claw("agent", *at(server), "--session", "old", "hi")

    assert old_session.is_file()
    assert not (old_session.parent / "archive").exists()


def test_what_can_not_be_tidied_is_a_line_and_costs_no_answer(claw, home):
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "state").write_text("no folder")
    with FakeOpenAI(["Hello."]) as server:
        done = claw("agent", *at(server), "hi")

    assert (done.code, done.out) == (0, "Hello.\n")
    hygiene = [line for line in done.err.splitlines()
               if "hygiene" in line]
    assert len(hygiene) == 1
    assert "state" in hygiene[0]


@pytest.mark.parametrize("command", [["ask"], ["agent", "--no-memory"]])
def test_who_uses_no_memory_or_only_asks_tidies_nothing(claw, old_session,
                                                        command):
    with FakeOpenAI(["Hello."]) as server:
        claw(*command, *at(server), "hi")

    assert old_session.is_file()


def test_no_memory_keeps_nothing(claw, home):
    with FakeOpenAI(["Noted."]) as server:
        claw("agent", *at(server), "--no-memory",
             "My dentist is Dr. Kim in Mapo.")

    assert not (home / "workspace" / "memory").exists()


def test_a_provider_that_is_down_says_so_and_keeps_the_message(claw, home):
    with FakeOpenAI([failure(401, "bad key")]) as server:
        done = claw("agent", *at(server), "hello")

    assert done.code == 4
    assert done.out == ""
    assert len(kept(home)) == 1


def test_without_a_terminal_a_risky_call_is_denied(claw, home):
    with FakeOpenAI([tool_call("file_write", path="a.txt", content="x"),
                     "I could not."]) as server:
        done = claw("agent", *at(server), "write a file")

    assert done.code == 6
    assert done.err.count("nobody could be asked") == 1
    assert not (home / "workspace" / "a.txt").exists()
    sent = server.chats[1].body["messages"][-1]["content"]
    assert sent.startswith("Denied")


def test_yes_allows_it(claw, home):
    with FakeOpenAI([tool_call("file_write", path="a.txt", content="x"),
                     "Done."]) as server:
        claw("agent", *at(server), "--yes", "write a file")

    assert (home / "workspace" / "a.txt").read_text() == "x"


# --- the partner of a program


def lines_of(done):
    return [json.loads(line) for line in done.out.splitlines()]


def test_jsonl_answers_each_line(claw):
    with FakeOpenAI([tool_call("file_read", path="none.txt"), "Nothing.",
                     "Second."]) as server:
        done = claw("agent", *at(server), "--jsonl",
                    stdin='{"id": 1, "message": "one"}\n'
                          '"two"\n{"no": "message"}\nbroken\n')

    said = lines_of(done)
    assert done.code == 0
    first = [s for s in said if s.get("id") == 1]
    assert list(dict.fromkeys(s["type"] for s in first)) == [
        "discard", "tool_start", "tool_end", "text", "answer"]
    assert "".join(s["delta"] for s in first if s["type"] == "text") == (
        "Nothing.")
    answers = [s for s in said if s["type"] == "answer"]
    assert [a["text"] for a in answers] == ["Nothing.", "Second."]
    assert len([s for s in said if s["type"] == "error"]) == 2


def test_jsonl_new_begins_a_new_conversation(claw):
    with FakeOpenAI() as server:
        claw("agent", *at(server), "--jsonl",
             stdin='"one"\n"two"\n{"type": "new"}\n"three"\n')

    assert [len([m for m in c.body["messages"] if m["role"] == "user"])
            for c in server.chats] == [1, 2, 1]


def test_jsonl_stop_ends_the_running_turn(environment, tmp_path):
    with FakeOpenAI([Reply(fault="stall"), "after"]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "claw", "agent", *at(server), "--jsonl"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path,
            env=environment, text=True)
        process.stdin.write('"one"\n')
        process.stdin.flush()
        wait_until(lambda: server.chats)
        process.stdin.write('{"type": "stop"}\n"two"\n')
        process.stdin.close()
        said = [json.loads(line) for line in process.stdout]
        process.stdout.close()

    assert process.wait(20) == 0
    assert said[0]["error"]["kind"] == "interrupted"
    assert said[-1]["text"] == "after"


def wait_until(condition, limit_s=20):
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


# --- on a terminal


class Terminal:
    """`claw agent` on a pseudo-terminal of 80 columns."""

    def __init__(self, arguments, environment, cwd):
        self.seen = ""
        self._pid, self._file = pty.fork()
        if self._pid == 0:
            os.chdir(cwd)
            os.execve(sys.executable,
                      [sys.executable, "-m", "claw", "agent", *arguments],
                      {**environment, "TERM": "xterm", "COLUMNS": "80",
                       "LINES": "24", "PROMPT_TOOLKIT_NO_CPR": "1"})

    def type(self, text):
        os.write(self._file, text.encode())

    def expect(self, text, limit_s=30):
        """Read until this text has come; what came before it is spent."""
        end = time.monotonic() + limit_s
        while text not in self.seen:
            assert time.monotonic() < end, (
                f"{text!r} did not come; seen: {self.seen!r}")
            self._read(0.2)
        before, _, self.seen = self.seen.partition(text)
        return before

    def _read(self, wait_s):
        if select.select([self._file], [], [], wait_s)[0]:
            try:
                data = os.read(self._file, 65536)
            except OSError:  # the other end is closed
                return False
            self.seen = ESCAPES.sub(
                "", self.seen + data.decode("utf-8", "replace"))
            return bool(data)
        return True

    def leave(self):
        """Ctrl-D at the prompt; typed sooner the terminal swallows it."""
        self.expect(">")
        self.type("\x04")

    def interrupt(self):
        os.kill(self._pid, signal.SIGINT)

    def end(self):
        """The exit code, once the process has ended."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            self._read(0.05)
            done, status = os.waitpid(self._pid, os.WNOHANG)
            if done:
                os.close(self._file)
                return os.waitstatus_to_exitcode(status)
        os.kill(self._pid, signal.SIGKILL)
        raise AssertionError(f"did not end; seen: {self.seen!r}")


@pytest.fixture
def terminal(environment, tmp_path):
    return lambda *arguments: Terminal(arguments, environment, tmp_path)


def test_talking_on_a_terminal(terminal, home):
    with FakeOpenAI(["# Hello\n\nIt is *fine*.", "Second."]) as server:
        screen = terminal(*at(server))
        screen.expect("/help lists the commands")
        screen.expect(">")
        screen.type("hello\r")
        screen.expect("Hello")
        screen.expect("It is fine.")
        screen.expect(">")
        screen.type("/why\r")
        screen.expect("model m")
        screen.type("/modle\r")
        screen.expect("did you mean /model?")
        screen.type("/mdoel x\r")
        screen.expect("there is no command /mdoel; did you mean /model?")
        screen.type("/model other\r")
        screen.expect("other")
        screen.type("again\r")
        screen.expect("Second.")
        screen.type("/quit\r")

        assert screen.end() == 0
    assert [c.body["model"] for c in server.chats] == ["m", "other"]
    assert len(kept(home)) == 4
    history = home / "workspace" / "state" / "agent_history"
    assert "hello" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("key", "counts"), [("y", True), ("n", False)])
def test_the_owner_is_asked_once_about_a_folder_from_elsewhere(
        terminal, tmp_path, key, counts):
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "AGENTS.md").write_text("Speak of tea.")
    with FakeOpenAI(["ok"]) as server:
        first = terminal(*at(server), "-w", "clone", "hello")
        first.expect("was not made by claw")
        first.expect("[y]es / [n]o")
        first.type(f"{key}\r")

        assert first.end() == 0
        second = terminal(*at(server), "-w", "clone", "again")
        assert second.end() == 0
        assert "[y]es" not in second.seen
        assert ("does not count" in second.seen) is not counts
    assert [("Speak of tea." in json.dumps(chat.body))
            for chat in server.chats] == [counts, counts]


def test_a_conversation_is_searched_for_in_any_script(claw, terminal):
    with FakeOpenAI(["ok"]) as server:
        for name, words in (("han", "中文"), ("hangul", "한국어"),
                            ("umlaut", "Zürich")):
            claw("agent", *at(server), "--session", name, words)
        screen = terminal(*at(server), "--resume")
        screen.expect("Go on with")
        screen.type("국")
        screen.expect("/ 국...")
        screen.type("x\r")
        screen.expect("nothing matches")
        screen.type("\x7f\r")
        screen.expect("going on with 'hangul'")
        screen.leave()

        assert screen.end() == 0


def test_pasted_lines_are_one_message(terminal):
    with FakeOpenAI(["ok"]) as server:
        screen = terminal(*at(server))
        screen.expect(">")
        screen.type("\x1b[200~first line\nsecond line\x1b[201~\r")
        screen.expect("ok")
        screen.leave()

        assert screen.end() == 0
    sent = server.chats[0].body["messages"][-1]["content"]
    assert sent.endswith("] first line\nsecond line")
    assert len(server.chats) == 1


def test_ctrl_c_stops_the_answer_and_not_the_program(terminal):
    with FakeOpenAI([Reply(fault="stall"), "back again"]) as server:
        screen = terminal(*at(server))
        screen.expect(">")
        screen.type("one\r")
        wait_until(lambda: server.chats)
        screen.interrupt()
        screen.expect("stopped")
        screen.expect(">")
        screen.type("two\r")
        screen.expect("back again")
        screen.leave()

        assert screen.end() == 0


def test_keys_pressed_during_an_answer_stay_out_of_it(terminal):
    with FakeOpenAI([Reply(fault="stall"), "back again"]) as server:
        screen = terminal(*at(server))
        screen.expect(">")
        screen.type("one\r")
        wait_until(lambda: server.chats)
        screen.type("zzz\x03")
        assert "zzz" not in (shown := screen.expect("stopped"))
        assert "^C" not in shown
        screen.leave()

        assert screen.end() == 0


@pytest.mark.parametrize(("keys", "told"), [
    ("2\r", "coffee"), ("neither\r", "neither"),
    ("\x04", "the user did not answer"), ("", "no answer within 1 s")])
def test_the_agent_asks_back_between_the_lines(terminal, keys, told):
    asks = tool_call("ask_user", question="Which\x1b[2J one?",
                     choices=["tea", "coffee"], timeout_secs=1 if not keys
                     else 60)
    with FakeOpenAI([asks, "Fine.", "Still here."]) as server:
        screen = terminal(*at(server))
        screen.expect(">")
        screen.type("drinks\r")
        assert "\x1b[2J" not in screen.expect("2. coffee")
        screen.expect("answer:")
        if keys:
            screen.type(keys)
        screen.expect("Fine.")
        screen.expect(">")
        screen.type("and now\r")
        screen.expect("Still here.")
        screen.leave()

        assert screen.end() == 0
    assert told in str(server.chats[1].body["messages"][-1])


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False)])
def test_approvals_stand_between_the_lines(terminal, home, answer, written):
    with FakeOpenAI([tool_call("file_write", path="a.txt", content="x"),
                     "That is all."]) as server:
        screen = terminal(*at(server))
        screen.expect(">")
        screen.type("write\r")
        screen.expect("Tool: file_write")
        screen.expect("[y]es / [n]o")
        screen.type(answer + "\r")
        screen.expect("That is all.")
        screen.leave()

        assert screen.end() == 0
    assert (home / "workspace" / "a.txt").exists() is written


def test_an_error_is_said_and_the_talk_goes_on(terminal):
    with FakeOpenAI([failure(401, "bad key"), "fine now"]) as server:
        screen = terminal(*at(server))
        screen.expect(">")
        screen.type("one\r")
        screen.expect("error:")
        screen.type("two\r")
        screen.expect("fine now")
        screen.type("/exit\r")

        assert screen.end() == 0


def test_the_hint_to_more_models_shows_no_key_of_the_address(terminal):
    with FakeOpenAI(models=[f"m{n}" for n in range(50)]) as server:
        screen = terminal("-p", f"custom:{server.url}?key=canary", "-m", "m")
        screen.expect(">")
        screen.type("/models\r")
        screen.expect("and 10 more: ")
        shown = screen.expect(">")
        screen.type("\x04")

        assert screen.end() == 0
    assert f"claw provider models custom:{server.url}?…" in shown
    assert "canary" not in shown


def test_a_note_does_not_tear_the_answer(terminal, home):
    path = home / "workspace" / "state" / "ledger.db"

    def spoilt(body):  # what settles this call will find nothing
        with closing(sqlite3.connect(path)) as ledger:
            ledger.execute("DROP TABLE calls")
        return Reply("one two three four five", chunk_size=4)

    with FakeOpenAI([spoilt]) as server:
        screen = terminal(*at(server))
        screen.expect(">")
        screen.type("go\r")
        before = screen.expect("a call was not recorded")
        after = screen.expect(">")
        screen.type("\x04")

        assert screen.end() == 0
    assert re.search(r"three four five\r\nclaw: $", before)
    assert "three" not in after


def test_foreign_text_cannot_move_the_cursor(terminal):
    with FakeOpenAI(["a\x1b[2Jb"]) as server:
        screen = terminal(*at(server))
        screen.expect(">")
        screen.type("one\r")
        screen.expect("a\\x1b[2Jb")
        screen.leave()

        assert screen.end() == 0
