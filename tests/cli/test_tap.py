"""claw tap: a channel's messages for a program or a pipe of one's own."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress

import pytest

from claw.core.channel import ChannelMessage
from claw.storage.queue.model import Arrival
from claw.storage.queue.reader import open_reader
from claw.storage.queue.sqlite import SqliteQueue
from claw.testing.prove.stages.telegram import TelegramStage
from claw.testing.prove.stages.webhook import WebhookStage
from claw.testing.prove.verdict import MARK

HANDLE = """#!/bin/sh
read -r line
echo "$line" >> {seen}
text=$(echo "$line" | {python} -c 'import json,sys; \
print(json.load(sys.stdin)["text"])')
case "$text" in
  bad*) exit 3 ;;
  slow*) sleep 1 ;;
  die*) kill -9 $$ ;;
esac
case "$text" in quiet*) ;; *) echo "re:$text" ;; esac
"""


class Scene:
    """A platform, a home, and taps of it."""

    def __init__(self, folder, environment, home, stage):
        self.folder, self.stage, self.home = folder, stage, home
        self.seen = folder / "seen"
        self.env = {**environment, "XDG_RUNTIME_DIR": str(folder)}
        self.children, self.limits = [], []
        home.mkdir(mode=0o700)
        config = home / "config.toml"
        config.touch(mode=0o600)
        config.write_text(stage.settings())
        self.script = folder / "handle.sh"
        self.script.write_text(HANDLE.format(seen=self.seen,
                                             python=sys.executable))
        self.script.chmod(0o700)

    def tap(self, *arguments, **streams):
        """A tap of the stage's channel, all of its streams pipes."""
        child = subprocess.Popen(
            [sys.executable, "-m", "claw", "tap", self.stage.name,
             *arguments], env=self.env, cwd=self.folder,
            **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
               "stderr": subprocess.PIPE, **streams})
        self.children.append(child)
        # Whoever reads its lines must not wait for ever.
        self.limits.append(threading.Timer(100, child.kill))
        self.limits[-1].start()
        return child

    def run_script(self, *arguments):
        with (self.folder / "log").open("ab") as log:
            return self.tap(
                *arguments, "--", "./handle.sh", stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=log)

    def runs(self):
        """What the script got so far."""
        if not self.seen.exists():
            return []
        return [json.loads(line) for line in
                self.seen.read_text().splitlines()]

    def texts(self):
        return [run["text"] for run in self.runs()]

    def answers(self):
        return [got.text for got in self.stage.got()]

    def rows(self):
        """(text, state) of each message in the queue."""
        path = self.home / "workspace" / "state" / "queue.db"
        if not path.exists():
            return []
        with open_reader(path) as reader:
            return [(row.message.content, row.state)
                    for row in reader.inbox_rows(limit=1000)]

    def until(self, predicate, timeout_s=30):
        deadline = time.monotonic() + timeout_s
        while not predicate():
            assert time.monotonic() < deadline, (self.rows(), self.texts())
            time.sleep(0.02)

    def close(self):
        for limit in self.limits:
            limit.cancel()
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()


@contextmanager
def open_scene(tmp_path, environment, home, stage):
    stage.open()
    scene = Scene(tmp_path, environment, home, stage)
    try:
        yield scene
    finally:
        scene.close()
        stage.close()


@pytest.fixture
def scene(tmp_path, environment, home):
    with open_scene(tmp_path, environment, home,
                    TelegramStage(poll_s=1)) as opened:
        yield opened


def stop(child, code=0):
    child.send_signal(signal.SIGTERM)
    assert child.wait(15) == code


def test_a_command_gets_each_message_and_what_it_prints_is_the_answer(scene):
    child = scene.run_script()
    scene.stage.post(1001, "héllo 你好")
    scene.stage.post(1001, "quiet please")
    scene.until(lambda: len(scene.runs()) == 2 and scene.answers())
    stop(child)

    first = scene.runs()[0]
    assert first["text"] == "héllo 你好"
    assert (first["channel"], first["chat"], first["sender"]) == (
        "telegram", "1001", "1001")
    assert scene.answers() == ["re:héllo 你好"]
    assert [state for _, state in scene.rows()] == ["answered", "answered"]


def test_a_refused_message_comes_again_before_the_next_of_its_chat(scene):
    child = scene.run_script("--tries", "2")
    scene.stage.post(1001, "bad one")
    scene.stage.post(1001, "next")
    scene.stage.post(1002, "other")
    scene.until(lambda: "next" in scene.texts())
    stop(child)

    texts = scene.texts()
    assert texts.index("other") < texts.index("next")
    assert [text for text in texts if text != "other"] == [
        "bad one", "bad one", "next"]
    ids = {run["id"] for run in scene.runs() if run["text"] == "bad one"}
    assert len(ids) == 1
    assert ("bad one", "failed") in scene.rows()


def test_a_command_that_is_killed_has_not_handled_its_message(scene):
    child = scene.run_script()
    scene.stage.post(1001, "die now")
    scene.until(lambda: len(scene.runs()) == 2)  # after two seconds
    stop(child)

    assert scene.rows() == [("die now", "waiting")]
    assert scene.answers() == []


def test_a_command_may_end_when_the_tap_is_told_to(scene):
    child = scene.run_script()
    scene.stage.post(1001, "slow one")
    scene.until(scene.runs)
    stop(child)

    assert scene.rows() == [("slow one", "answered")]
    assert scene.answers() == ["re:slow one"]


def test_an_answer_names_no_files(scene):
    child = scene.tap("--", "sh", "-c", "echo 'take [DOCUMENT:secret.txt]'",
                      stdin=subprocess.DEVNULL)
    (scene.home / "workspace").mkdir(exist_ok=True)
    (scene.home / "workspace" / "secret.txt").write_text("CANARY")
    scene.stage.post(1001, "give")
    scene.until(scene.answers)
    stop(child)

    assert "CANARY" not in repr(scene.answers())
    assert all(message.file_id is None
               for message in scene.stage.platform.messages())


def test_what_stands_behind_the_dashes_is_the_commands(scene):
    child = scene.tap("--", "sh", "-c", 'echo "$@"', "sh", "--json", "-q",
                      "-w", "--help", stdin=subprocess.DEVNULL)
    scene.stage.post(1001, "give")
    scene.until(scene.answers)
    stop(child)

    assert scene.answers() == ["--json -q -w --help"]


def test_many_commands_run_beside_each_other_for_many_chats(scene):
    child = scene.run_script("-j", "4")
    started = time.monotonic()
    for chat in range(1001, 1005):
        scene.stage.post(chat, "slow")
    scene.until(lambda: len(scene.answers()) == 4)
    took = time.monotonic() - started
    stop(child)

    assert took < 3.5  # a second each, one after the other four


# -- lines on stdout

def read(child):
    return json.loads(child.stdout.readline())


def write(child, *lines):
    for line in lines:
        child.stdin.write((line if isinstance(line, str)
                           else json.dumps(line)).encode() + b"\n")
    child.stdin.flush()


def test_what_was_not_acknowledged_comes_again_after_a_restart(scene):
    child = scene.tap()
    scene.stage.post(1001, "one")
    scene.stage.post(1002, "two")
    given = {line["text"]: line["id"] for line in (read(child), read(child))}
    write(child, given["one"])
    scene.until(lambda: ("one", "answered") in scene.rows())
    stop(child)

    again = scene.tap()
    line = read(again)
    assert (line["text"], line["id"]) == ("two", given["two"])
    write(again, line["id"])
    scene.until(lambda: ("two", "answered") in scene.rows())
    stop(again)


def test_an_answer_comes_with_its_id_and_is_sent_once(scene):
    child = scene.tap()
    scene.stage.post(1001, "one")
    line = read(child)
    write(child, {"id": line["id"], "reply": "first"},
          {"id": line["id"], "reply": "second"}, "nobody")
    scene.stage.post(1001, "two")
    write(child, {"id": read(child)["id"], "reply": "third"})
    scene.until(lambda: len(scene.answers()) == 2)
    stop(child)

    assert scene.answers() == ["first", "third"]
    assert child.stderr.read().count(b"no message with this id") == 2


def test_a_refusal_on_stdin_brings_the_message_again(scene):
    child = scene.tap()
    scene.stage.post(1001, "one")
    first = read(child)
    write(child, {"id": first["id"], "error": "not now"})
    assert read(child)["id"] == first["id"]
    stop(child)


def test_auto_counts_what_is_written(scene):
    child = scene.tap("--auto", stdin=subprocess.DEVNULL)
    for number in range(3):
        scene.stage.post(1001, str(number))
    assert [read(child)["text"] for _ in range(3)] == ["0", "1", "2"]
    scene.until(lambda: [state for _, state in scene.rows()]
                == ["answered"] * 3)
    stop(child)


@pytest.mark.parametrize("auto", [(), ("--auto",)])
def test_a_reader_that_is_gone_ends_it_quietly_and_loses_nothing(scene,
                                                                 auto):
    child = scene.tap(*auto)
    scene.stage.post(1001, "one")
    read(child)
    child.stdout.close()
    assert child.wait(10) == 0

    child = scene.tap("--auto")
    scene.stage.post(1001, "two")
    texts = [read(child)["text"] for _ in range(1 if auto else 2)]
    assert texts == (["two"] if auto else ["one", "two"])
    stop(child)


def test_the_end_of_stdin_ends_it_once_something_was_said(scene):
    child = scene.tap()
    scene.stage.post(1001, "one")
    write(child, read(child)["id"])
    child.stdin.close()
    assert child.wait(10) == 0
    assert scene.rows() == [("one", "answered")]


def test_a_stdin_that_says_nothing_is_wrong_usage(scene):
    child = scene.tap(stdin=subprocess.DEVNULL)
    assert child.wait(10) == 2
    assert b"--auto" in child.stderr.read()


def test_a_slow_reader_holds_up_lines_and_no_memory(tmp_path, environment,
                                                    home):
    count, text = 600, "x" * 3000
    with open_scene(tmp_path, environment, home,
                    TelegramStage(poll_s=1)) as scene:
        child = scene.tap("--auto", stdin=subprocess.DEVNULL)
        scene.stage.post(1001, "first")
        read(child)
        before = rss(child)
        for number in range(count):
            scene.stage.post(1001 + number % 50, f"{number} {text}")
        scene.until(lambda: len(scene.rows()) > 500)
        time.sleep(1)  # the pipe is full by now
        waiting = sum(state == "waiting" for _, state in scene.rows())
        lines = [read(child)["text"].split()[0] for _ in range(count)]
        grown = rss(child) - before
        stop(child)

    assert waiting > 400
    assert sorted(map(int, lines)) == list(range(count))
    assert grown < 40 << 20


def rss(child):
    with open(f"/proc/{child.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# -- beside others

def test_a_second_one_in_the_workspace_is_refused(scene):
    first = scene.run_script()
    scene.stage.post(1001, "one")
    scene.until(scene.answers)
    second = scene.run_script()

    assert second.wait(20) == 5
    said = (scene.folder / "log").read_text()
    assert f"pid {first.pid}" in said
    assert "claw -w DIR tap telegram" in said
    stop(first)


def test_what_came_before_it_is_handled_too(scene):
    """A claw listen or a tap that was killed leaves messages."""
    child = scene.tap(stdin=subprocess.PIPE)
    scene.stage.post(1001, "left")
    read(child)
    child.kill()
    child.wait()
    child = scene.run_script()
    scene.until(scene.answers)
    stop(child)

    assert scene.answers() == ["re:left"]


def test_status_says_that_a_tap_runs(scene):
    child = scene.run_script()
    scene.stage.post(1001, "one")
    scene.until(scene.answers)
    state = scene.home / "workspace" / "state" / "listen.json"
    scene.until(state.exists)
    done = subprocess.run([sys.executable, "-m", "claw", "status"],
                          env=scene.env, capture_output=True, text=True,
                          check=False)
    stop(child)

    assert f"claw tap telegram, pid {child.pid}" in done.stdout


def test_the_emergency_stop_of_the_chat_is_heard(scene):
    child = scene.run_script()
    scene.stage.post(1001, "/estop")
    assert child.wait(15) == 6
    assert scene.runs() == []
    assert "stopped" in scene.answers()[0].lower()


def test_the_emergency_stop_ends_a_command_within_a_second(scene):
    child = scene.tap("--", "sh", "-c", "echo $$ >> seen; sleep 100",
                      stdin=subprocess.DEVNULL)
    scene.stage.post(1001, "one")
    scene.until(lambda: scene.seen.exists() and scene.seen.read_text())
    subprocess.run([sys.executable, "-m", "claw", "estop"], env=scene.env,
                   check=True, capture_output=True)
    started = time.monotonic()
    assert child.wait(15) == 6

    assert time.monotonic() - started < 3
    with pytest.raises(ProcessLookupError):
        os.kill(int(scene.seen.read_text()), 0)
    assert scene.rows() == [("one", "waiting")]


def test_messages_of_other_channels_wait_for_a_listen(scene):
    async def fill():
        queue = SqliteQueue(scene.home / "workspace" / "state" / "queue.db")
        lease = await queue.lease("other", 60)
        await queue.accept(lease, [Arrival(ChannelMessage(
            "m1", "bob", "42", "for another", channel, 0), f"{channel}_42_bob")
            for channel in ("webhook", "telegram_two")])
        await queue.aclose()
    asyncio.run(fill())
    child = scene.run_script()
    scene.stage.post(1001, "one")
    scene.until(scene.answers)
    stop(child)

    assert scene.texts() == ["one"]
    assert [state for _, state in scene.rows()] == [
        "waiting", "waiting", "answered"]


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (("tap", "telegram"), 3, "not configured"),
    (("tap", "telegrm"), 2, "telegram"),
    (("tap", "cli"), 2, "terminal"),
    (("tap", "telegram", "--", "no-such-command"), 2, "no-such-command"),
    (("tap", "telegram", "--auto", "--", "cat"), 2, "--auto"),
    (("tap", "telegram", "-j", "0", "--", "cat"), 2, "-j"),
])
def test_what_can_not_be_tapped_says_why(claw, arguments, code, said):
    done = claw(*arguments)
    assert done.code == code
    assert said in done.err
    assert done.out == ""


# -- kills

@pytest.mark.parametrize("seed", [1, 2])
def test_a_tap_that_is_killed_again_and_again_loses_and_doubles_nothing(
        scene, seed):
    """Each message is handled, in the order of its chat, and answered once;
    a second copy of an answer whose fate nobody knew says so."""
    chance = random.Random(seed)
    wanted = Counter()
    for _ in range(8):
        child = scene.run_script("-j", "3")
        for _ in range(3):
            chat = chance.choice((1001, 1002, 1003))
            wanted[chat] += 1
            scene.stage.post(chat, f"{chat}-{wanted[chat]}")
        time.sleep(chance.uniform(0.3, 2.0))
        child.send_signal(signal.SIGKILL)
        child.wait()
    child = scene.run_script("-j", "3")
    wanted[1001] += 1
    scene.stage.post(1001, f"1001-{wanted[1001]}")
    scene.until(lambda: len(scene.rows()) == wanted.total() and all(
        state == "answered" for _, state in scene.rows()), 60)
    texts = [f"re:{chat}-{number}" for chat in wanted
             for number in range(1, wanted[chat] + 1)]
    scene.until(lambda: {text.removeprefix(MARK) for text
                         in scene.answers()} == set(texts), 60)
    stop(child)

    plain = Counter(text for text in scene.answers()
                    if not text.startswith(MARK))
    assert not [text for text, times in plain.items() if times > 1]
    for chat in wanted:
        order = list(dict.fromkeys(
            run["text"] for run in scene.runs() if run["chat"] == str(chat)))
        assert order == [f"{chat}-{n}" for n in range(1, wanted[chat] + 1)]
    ids = {(run["text"], run["id"]) for run in scene.runs()}
    assert len(ids) == wanted.total()
    assert scene.stage.problems() == []


def test_a_webhook_whose_tap_is_killed_is_answered(tmp_path, environment,
                                                   home):
    with open_scene(tmp_path, environment, home, WebhookStage()) as scene:
        for number in range(4):
            child = scene.run_script()
            scene.stage.post(1001, f"m{number}")
            time.sleep(0.7)
            child.send_signal(signal.SIGKILL)
            child.wait()
        child = scene.run_script()
        scene.stage.post(1001, "m4")
        wanted = {f"re:m{number}" for number in range(5)}
        scene.until(lambda: {text.removeprefix(MARK) for text
                             in scene.answers()} == wanted, 60)
        stop(child)


def test_a_command_that_prints_too_much_has_not_handled_it(scene):
    child = scene.tap("--", "sh", "-c", "yes", stdin=subprocess.DEVNULL)
    scene.stage.post(1001, "one")
    line = b""
    while b"1 MiB" not in line:
        line = child.stderr.readline()
    stop(child)
    assert scene.rows() == [("one", "waiting")]


def test_jobs_without_a_command_are_refused(claw):
    done = claw("tap", "webhook", "-j", "4")

    assert done.code == 2
    assert "-j is for a command" in done.err
    assert "claw tap webhook -j 4 -- COMMAND" in done.err
