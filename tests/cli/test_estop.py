"""claw estop: everything ends, and stays shut."""

import re
import subprocess
import sys
import time

import pytest

from claw.testing.fake_openai import FakeOpenAI, stalled, tool_call


@pytest.fixture
def start(environment):
    """start(*arguments): a claw of its own, killed at the end."""
    started = []

    def run(*arguments):
        started.append(subprocess.Popen(
            [sys.executable, "-m", "claw", *arguments], env=environment,
            stdin=subprocess.PIPE if "listen" in arguments
            else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started[-1]
    yield run
    for process in started:
        process.kill()
        process.communicate()


def wait_for(found, timeout_s=15):
    deadline = time.monotonic() + timeout_s
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def at(server):
    return ["-p", f"custom:{server.url}", "-m", "m"]


def test_a_running_question_ends_and_the_next_is_refused(claw, start):
    with FakeOpenAI([stalled()]) as server:
        process = start("ask", *at(server), "hello")
        wait_for(lambda: server.chats)
        assert claw("estop", "--reason", "enough").code == 0
        _, complaint = process.communicate(timeout=10)

    assert process.returncode == 6
    assert b"claw is stopped" in complaint
    refused = claw("ask", "what is 6 * 7?")
    assert refused.code == 6
    assert "enough" in refused.err
    assert "claw estop --lift" in refused.err
    assert claw("tool", "run", "shell", '{"command": "ls"}').code == 6
    assert claw("send", "telegram:1", "hi").code == 6
    assert claw("estop", "--status").code == 1
    assert re.fullmatch(r"stopped: since \d{4}-\d\d-\d\d \d\d:\d\d, "
                        r"enough\n", claw("estop", "--status").out)
    assert "warn config.stopped: claw is stopped" in claw("doctor").out
    assert claw("estop", "--lift").code == 0
    assert claw("estop", "--status", "--json").json["stopped"] is False
    assert claw("ask", "what is 6 * 7?").code == 0


def test_a_command_that_a_turn_runs_is_ended(claw, start, home, tmp_path):
    home.mkdir(mode=0o700)
    replies = [tool_call("shell", command="python3 -c 'import time; "
                         "open(\"on\", \"w\"); time.sleep(60)'"), "done"]
    with FakeOpenAI(replies) as server:
        process = start("ask", *at(server), "--tools", "shell", "--yes", "go")
        wait_for((home / "workspace" / "on").exists)
        claw("estop")
        process.communicate(timeout=10)
        pids = subprocess.run(["pgrep", "-f", "time.sleep(60)"], check=False,
                              capture_output=True, text=True).stdout

    assert process.returncode == 6
    assert len(server.chats) == 1
    assert pids == ""


def test_a_map_ends_and_says_so_once(claw, start, tmp_path):
    files = [tmp_path / f"{number}.txt" for number in range(30)]
    for file in files:
        file.write_text(file.stem)
    with FakeOpenAI([stalled()]) as server:
        process = start("map", *at(server), "shorten", *map(str, files))
        wait_for(lambda: server.chats)
        claw("estop")
        _, complaint = process.communicate(timeout=10)

    assert process.returncode == 6
    assert complaint.count(b"claw is stopped") == 1


def test_listen_ends_and_does_not_start_again(claw, start):
    with FakeOpenAI([stalled(), "later"]) as server:
        process = start("listen", "--channel", "cli", *at(server))
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        wait_for(lambda: server.chats)
        claw("estop")
        _, complaint = process.communicate(timeout=10)

        assert process.returncode == 6, complaint
        assert claw("listen", "--channel", "cli", *at(server)).code == 6
        claw("estop", "--lift")
        again = claw("listen", "--channel", "cli", *at(server), stdin="yes?\n")

    assert again.code == 0
    assert "later" in again.out


def test_who_writes_estop_stops_everything(claw, start):
    with FakeOpenAI([stalled()]) as server:
        process = start("listen", "--channel", "cli", *at(server))
        process.stdin.write(b"hello\n/estop\n")
        process.stdin.flush()
        printed, complaint = process.communicate(timeout=15)

    assert process.returncode == 6, complaint
    assert b"Everything is stopped" in printed
    assert "/estop of cli" in claw("estop", "--status").out


def test_what_excludes_each_other(claw):
    assert claw("estop", "--lift", "--status").code == 2
    assert claw("estop", "--status").out == "not stopped\n"
