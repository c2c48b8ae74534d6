"""claw memory conflicts: the list, and the keys on a real terminal."""

import contextlib
import json
import os
import pty
import select
import signal
import sys
import time

import pytest

from claw.testing.fake_openai import FakeOpenAI

KEYS = "q quit"


@pytest.fixture
def filled(claw):
    """Three pairs, the last stored first."""
    for key, text in (("tea", "I like green tea"),
                      ("no-tea", "I don't like green tea"),
                      ("cats", "I have two cats"),
                      ("more-cats", "I have three cats"),
                      ("old", "I live in Berlin"),
                      ("new", "I moved to Hamburg")):
        claw("memory", "store", key, text)
    return claw


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, environment, *arguments):
        self.seen = ""
        self._pid, self._file = pty.fork()
        if self._pid == 0:
            os.execve(sys.executable, [
                sys.executable, "-m", "claw", "memory", "conflicts",
                *arguments], {**environment, "TERM": "xterm"})

    def press(self, key):
        """Wait for the question, then press; what is pressed sooner is
        dropped."""
        self.expect(KEYS)
        time.sleep(0.3)
        os.write(self._file, key.encode())

    def expect(self, text, limit_s=60):
        end = time.monotonic() + limit_s
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if not self._read():
                break
        assert text in self.seen, self.seen
        self.seen = self.seen.partition(text)[2]

    def _read(self):
        if select.select([self._file], [], [], 0.2)[0]:
            try:
                data = os.read(self._file, 65536)
            except OSError:  # the other end is closed
                return False
            self.seen += data.decode("utf-8", "replace")
            return bool(data)
        return True

    def kill(self):
        os.kill(self._pid, signal.SIGKILL)

    def end(self):
        """The exit code; what is left to read is in `seen`."""
        while self._read():
            pass
        os.close(self._file)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


@pytest.fixture
def terminal(environment):
    started = []

    def start(*arguments):
        started.append(Terminal(environment, *arguments))
        return started[-1]
    yield start
    for one in started:
        with contextlib.suppress(OSError):
            one.kill()


def keys(claw):
    return [(one["first"]["key"], one["second"]["key"])
            for one in claw("memory", "conflicts", "--json").json["conflicts"]]


def test_pairs_are_listed_with_both_sources(filled):
    done = filled("memory", "conflicts")

    assert done.code == 1
    assert done.out.startswith("where to live\n  1  I moved to Hamburg\n"
                               "     new [core] 20")
    assert "\n  2  I live in Berlin\n     old [core]" in done.out
    assert keys(filled) == [("new", "old"), ("more-cats", "cats"),
                            ("no-tea", "tea")]


def test_the_source_of_what_others_said_is_shown(claw):
    claw("memory", "import", stdin="\n".join(json.dumps(
        {"key": f"user_msg_{n}", "content": text, "sender": "ann",
         "session_id": "s1", "origin": "web", "source": "chat:7"})
        for n, text in enumerate(("My code is 1111", "My code is 2222"))))
    done = claw("memory", "conflicts")

    assert "(from a web page)" in done.out
    assert "from ann, session s1, chat:7" in done.out


def test_nothing_to_settle_is_a_good_answer(claw):
    claw("memory", "store", "a", "I live in Berlin")
    done = claw("memory", "conflicts")

    assert (done.code, done.out) == (0, "")
    assert claw("memory", "conflicts", "--json").json == {
        "conflicts": [], "total": 0}


def test_each_key_settles_a_pair(filled, terminal):
    screen = terminal()
    screen.press("1")
    screen.expect("old is found no longer (claw memory undo old")
    screen.press("b")
    screen.expect("both stand")
    screen.press("2")
    screen.expect("no-tea is found no longer")
    assert screen.end() == 0

    assert keys(filled) == []
    assert filled("memory", "recall", "Hamburg").code == 0
    assert filled("memory", "recall", "Berlin").code == 1


def test_undo_brings_back_what_was_settled(filled, terminal):
    screen = terminal()
    screen.press("1")
    screen.press("q")
    assert screen.end() == 1
    assert keys(filled) == [("more-cats", "cats"), ("no-tea", "tea")]

    assert filled("memory", "undo", "old").code == 0
    assert keys(filled)[0] == ("new", "old")


def test_when_the_newest_goes_what_it_hid_is_asked_too(claw, terminal):
    for key, town in (("a", "Oslo"), ("b", "Bonn"), ("c", "Berlin")):
        claw("memory", "store", key, f"I live in {town}")
    screen = terminal()
    screen.press("2")
    screen.expect("c is found no longer")
    screen.press("2")
    screen.expect("b is found no longer")
    assert screen.end() == 0

    assert keys(claw) == []


def test_other_keys_decide_nothing(filled, terminal):
    screen = terminal()
    screen.press("x")
    screen.press("\x1b[A")
    screen.press("s")
    screen.press("s")
    screen.press("\x04")
    assert screen.end() == 1

    assert len(keys(filled)) == 3


def test_what_was_changed_meanwhile_is_left_alone(filled, terminal):
    screen = terminal()
    screen.expect(KEYS)
    filled("memory", "store", "old", "I live in Bern")
    screen.seen = KEYS
    screen.press("1")
    screen.expect("old was changed meanwhile; nothing was done")
    screen.press("q")
    assert screen.end() == 1

    assert ("old", "new") in keys(filled)


def test_how_many_were_looked_at_is_said(filled):
    done = filled("memory", "conflicts", "--rows", "2")

    assert done.out.count("1  ") == 1
    assert "the newest 2 of 6 memories were looked at" in done.err


def test_a_decision_outlives_a_kill_right_after_it(filled, terminal):
    screen = terminal()
    screen.press("b")
    screen.expect("both stand")
    screen.press("1")
    screen.expect("found no longer")
    screen.kill()
    screen.end()

    assert keys(filled) == [("no-tea", "tea")]


def test_interrupted_it_keeps_what_was_decided(filled, terminal):
    screen = terminal()
    screen.press("1")
    screen.press("\x03")
    assert screen.end() == 130

    assert len(keys(filled)) == 2


def test_what_was_let_stand_is_shown_again_when_it_says_something_else(
        filled, terminal):
    screen = terminal()
    screen.press("b")
    screen.press("q")
    screen.end()
    assert ("new", "old") not in keys(filled)

    filled("memory", "store", "new", "I moved to Bremen")
    assert ("new", "old") in keys(filled)


def test_forgetting_a_memory_drops_what_was_decided_of_it(
        filled, terminal, home):
    file = home / "workspace/state/memory_conflicts.json"
    screen = terminal()
    screen.press("b")
    screen.press("q")
    screen.end()
    first, = json.loads(file.read_text())["settled"]
    assert "Berlin" not in file.read_text()
    filled("memory", "forget", "old")
    screen = terminal()
    screen.press("b")
    screen.press("q")
    screen.end()

    second, = json.loads(file.read_text())["settled"]
    assert set(first).isdisjoint(second)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"settled": [[1, 2], 3]}'])
def test_a_damaged_file_lets_nothing_stand(filled, home, damage):
    file = home / "workspace/state/memory_conflicts.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(damage)

    assert len(keys(filled)) == 3


def test_a_store_that_never_forgets_says_where_to_look(
        claw, terminal, home):
    claw("config", "set", "memory.backend", "markdown")
    claw("memory", "store", "old", "I live in Berlin")
    claw("memory", "store", "new", "I moved to Hamburg")
    screen = terminal()
    screen.press("1")
    screen.expect("only ever appended to")
    assert screen.end() == 1

    assert keys(claw) == [("new", "old")]


def test_a_model_judges_what_recall_finds_near(filled):
    filled("memory", "store", "diet", "Meat has not been on my plate since "
           "the summer")
    filled("memory", "store", "steak", "My plate had a steak again, as every "
           "day since the summer")

    def reply(body):
        sent = body["messages"][-1]["content"]
        rows = [json.loads(line) for line in sent.splitlines()
                if line.startswith('{"n"')]
        return json.dumps({"answers": [
            {"n": row["n"], "contradict": "steak" in row["text"],
             "why": "eats meat"} for row in rows]})
    with FakeOpenAI([reply]) as server:
        done = filled("memory", "conflicts", "--json", "-p",
                      f"custom:{server.url}", "-m", "m")

    assert done.code == 1, done.err
    assert [(one["first"]["key"], one["second"]["key"], one["why"])
            for one in done.json["conflicts"]] == [
        ("steak", "diet", "eats meat")]
