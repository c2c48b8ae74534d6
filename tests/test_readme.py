"""The examples of the README and of docs/, run as they stand."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from urllib.request import Request, urlopen

import pytest

from claw.channels.webhook import WebhookChannel, WebhookSettings
from claw.core.channel import ChannelDeps
from claw.testing.contracts.stage import until
from claw.testing.fake_openai import FakeOpenAI, tool_call
from tests.gateway.hosted import Hosted

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXTENDING = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
WEBHOOK = (ROOT / "docs/channels/webhook.md").read_text(encoding="utf-8")


def code_block(first_line):
    return next(block for block in re.findall(
        r"```python\n(.*?)```", EXTENDING, re.S)
        if block.startswith(f"# {first_line}\n"))


@pytest.fixture
def installed(tmp_path):
    """The examples as an installed package; how to run claw there."""
    site = tmp_path / "site"
    site.mkdir()
    for name in ("school.py", "echo.py"):
        (site / name).write_text(code_block(name), encoding="utf-8")
    info = site / "school-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: school\n"
                                   "Version: 1.0\n")
    toml = re.search(r'```toml\n(\[project\.entry-points\."claw\.tools"\].*?)'
                     r"```", EXTENDING, re.S)[1]
    points = re.sub(r'\[project\.entry-points\."(.+?)"\]', r"[\1]", toml)
    (info / "entry_points.txt").write_text(points.replace('"', ""))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path),
           "PYTHONPATH": f"{site}{os.pathsep}{ROOT}",
           "CLAW_HOME": str(tmp_path / "home"), "CLAW_NO_PROBE": "1"}

    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "claw", *arguments],
                              env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
    run.env = env
    return run


def test_a_tool_in_one_file(installed, tmp_path):
    workspace = tmp_path / "home" / "workspace"
    workspace.mkdir(parents=True)

    nothing = installed("tool", "run", "check_assignments", "--yes")
    (workspace / "assignments.txt").write_text("maths, page 12\n")
    found = installed("tool", "run", "check_assignments", "--yes")

    assert nothing.returncode == 1
    assert "no assignments.txt" in nothing.stderr
    assert found.stdout == "maths, page 12\n"
    assert "check_assignments" in installed("tool", "list").stdout


@pytest.fixture
def school(installed, tmp_path):
    """The file of docs/extending.md in its folder, with what it reads."""
    source = re.search(r"```python\n# ~/.claw/tools/school.py\n(.*?)```",
                       EXTENDING, re.S)[1]
    home = tmp_path / "home"
    (home / "tools").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    (home / "tools" / "school.py").write_text(source)
    (home / "tools" / "school.py").chmod(0o600)
    (tmp_path / "school").mkdir()
    (tmp_path / "school" / "assignments.txt").write_text(
        "2026-12-01,maths,page 12\n2026-12-09,국어,독후감\n")
    (tmp_path / "school" / "notices.txt").write_text("no lessons on Monday\n")
    return installed


def test_the_tool_of_the_readme(installed, tmp_path):
    source = re.search(r"```python\n# ~/.claw/tools/dice.py\n(.*?)```",
                       README, re.S)[1]
    folder = tmp_path / "home" / "tools"
    folder.mkdir(parents=True, mode=0o700)
    (tmp_path / "home").chmod(0o700)
    (folder / "dice.py").write_text(source)
    (folder / "dice.py").chmod(0o600)

    rolled = installed("tool", "run", "roll_dice", '{"sides": 1}')

    assert (rolled.stdout, rolled.returncode) == ("1\n", 0), rolled.stderr


def test_the_school_assistant_from_the_shell(school, tmp_path):
    found = school("tool", "run", "fetch_assignments", '{"course": "국어"}')
    refused = school("tool", "run", "hand_in", '{"course": "a", "file": "b"}')
    handed_in = school("tool", "run", "--yes", "hand_in",
                       '{"course": "maths", "file": "a.pdf"}')

    assert json.loads(found.stdout) == [
        {"due": "2026-12-09", "course": "국어", "title": "독후감"}]
    assert refused.returncode == 6
    assert handed_in.returncode == 0
    assert (tmp_path / "school" / "handed-in.txt").read_text() == (
        "maths,a.pdf\n")


def test_the_school_assistant_in_ask_and_listen(school):
    replies = [tool_call("fetch_notices"), "No lessons on Monday."]
    with FakeOpenAI(replies) as server:
        asked = school("ask", "-p", f"custom:{server.url}", "-m", "m",
                       "--tools", "fetch_notices", "any news?")
    replies = [tool_call("fetch_assignments", until="2026-12-02"), "Page 12."]
    with FakeOpenAI(replies) as server:
        answered = subprocess.run(
            [sys.executable, "-m", "claw", "listen", "--channel", "cli",
             "-p", f"custom:{server.url}", "-m", "m"],
            env=school.env, input="what is due?\n", capture_output=True,
            text=True, check=False)
        sent = json.dumps(server.chats[-1].body)

    assert asked.stdout == "No lessons on Monday.\n", asked.stderr
    assert "Page 12." in answered.stdout, answered.stderr
    assert "maths" in sent
    assert "page 12" in sent


def test_a_provider_in_one_file(installed):
    done = installed("ask", "-p", "echo", "hello", "there")

    assert done.returncode == 0
    assert done.stdout.rstrip().endswith("hello there")


@pytest.mark.parametrize("mark", ["run", "test"])
def test_the_two_commands_stand_on_one_line_each(mark):
    block = re.search(rf"<!-- {mark} -->\s*```sh\n(.+?)\n```", README, re.S)

    assert block
    assert "\n" not in block[1]


@pytest.fixture
def board(tmp_path):
    """The example of a channel as the page has it, but for the port, in a
    fresh home and a folder of its own: run(shell lines), read(list)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home, work = tmp_path / "home", tmp_path / "work"
    (home / ".claw/channels").mkdir(parents=True)
    work.mkdir()
    (tmp_path / "bin").mkdir()
    claw = tmp_path / "bin/claw"
    claw.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m claw "$@"\n')
    claw.chmod(0o755)
    for name, place in (("~/.claw/channels/lms_notify.py", home), (
            "board.py", work)):
        path = place / name.removeprefix("~/")
        path.write_text(code_block(name).replace("8900", str(port)))
        path.chmod(0o600)
    with FakeOpenAI(["It is noted."] * 9) as model:
        env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
               "HOME": str(home), "PYTHONPATH": str(ROOT),
               "CLAW_NO_PROBE": "1", "no_proxy": "127.0.0.1",
               "CLAW_DEFAULT_PROVIDER": f"custom:{model.url}",
               "CLAW_DEFAULT_MODEL": "m",
               "CLAW_CHANNELS_CONFIG__LMS_NOTIFY__POLL_SECS": "0.2"}

        def run(lines):
            return subprocess.Popen(
                ["sh", "-euc", lines.replace("8900", str(port))], env=env,
                cwd=work, stdin=subprocess.DEVNULL, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                start_new_session=True)
        yield SimpleNamespace(
            run=run, model=model, url=f"http://127.0.0.1:{port}")


def read_board(url, count):
    """What was sent to the board, once there is so much."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(OSError), urlopen(f"{url}/notifications") as answer:
            found = json.load(answer)
            if len(found) >= count:
                break
        time.sleep(0.1)
    return sorted((entry["to"], entry["text"]) for entry in found)


AGAIN = """
listen=$!
until [ -e again ]; do sleep 0.1; done
kill $listen
wait $listen
cd /
claw listen &
wait
"""


def test_a_channel_in_one_file_answers_each_notice_once(board, tmp_path):
    """From a fresh home, and again from another folder."""
    lines = re.search(r"<!-- board -->\n```sh\n(.*?)```", EXTENDING, re.S)[1]
    shell = board.run(lines + AGAIN)
    try:
        assert read_board(board.url, 2) == [
            ("class-7b", "The trip is on Friday"), ("lms", "It is noted.")]
        (tmp_path / "work/again").touch()
        with urlopen(Request(f"{board.url}/notices", json.dumps(
                {"text": "The trip is off"}).encode())):
            pass
        assert read_board(board.url, 3) == [
            ("class-7b", "The trip is on Friday"), ("lms", "It is noted."),
            ("lms", "It is noted.")]
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
        said, _ = shell.communicate(timeout=20)

    assert "channels.lms_notify.health: healthy" in said
    first, second = (json.dumps(chat.body) for chat in board.model.chats)
    assert "No lessons on Monday" in first
    assert "The trip is off" in second


class Inbox:
    def __init__(self):
        self.messages = []

    async def put(self, message):
        self.messages.append(message)


def test_the_shell_lines_post_a_message_to_the_webhook(tmp_path):
    """The block as it stands, but for the port."""
    lines = next(block for block in re.findall(
        r"```sh\n(.*?)```", WEBHOOK, re.S) if "X-Webhook-Signature" in block)
    inbox = Inbox()

    async def go():
        hosted = Hosted(inbox)
        channel = WebhookChannel(
            WebhookSettings(port=0, secret="a secret of two & more"),
            ChannelDeps(tmp_path, tmp_path))
        listening = asyncio.create_task(channel.listen(hosted))
        await until(lambda: hosted.port)
        shell = await asyncio.create_subprocess_exec(
            "sh", "-euc", lines.replace(":8790", f":{hosted.port}"),
            stdout=asyncio.subprocess.PIPE, env={
                "PATH": os.environ["PATH"], "no_proxy": "127.0.0.1",
                "SECRET": "a secret of two & more"})
        said, _ = await shell.communicate()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await channel.aclose()
        return json.loads(said)
    answer = asyncio.run(go())

    assert answer == {"status": "accepted", "id": "webhook_mina_42"}
    assert [m.content for m in inbox.messages] == ["hello"]
