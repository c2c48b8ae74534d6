"""Hooks as the settings make them, in every kind of turn."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import suppress

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.channel import SendMessage
from claw.core.errors import ConfigError
from claw.core.log import silent
from claw.core.registry import PlugInError
from claw.testing.fake_openai import FakeOpenAI, tool_call
from claw.testing.fake_telegram import FakeTelegram
from claw.wiring.ask.answer import answer, describe_request
from claw.wiring.ask.question import Question
from claw.wiring.chat.session import ChatOptions, open_chat
from claw.wiring.listen.send import send
from claw.wiring.listen.service import open_service
from claw.wiring.tools.hooks import IN_HOOK, build_hooks

TOKEN = "1234567:TEST-token-of-the-fake"
KEEP = """#!{python} -I
import subprocess
import sys
open({seen!r}, "a").write(sys.stdin.read())
"""


class Ear:
    """A program that keeps each event; `settings` let it hear of some."""

    def __init__(self, folder):
        self.seen = folder / "seen"
        self.program = folder / "ear"
        self.program.write_text(KEEP.format(python=sys.executable,
                                            seen=str(self.seen)))
        self.program.chmod(0o700)

    def settings(self, *events):
        return "".join(
            f'\n[[hooks.command]]\nevent = "{event}"\n'
            f'command = ["{self.program}"]\n' for event in events)

    def heard(self, *names):
        """The events, with these fields of each."""
        if not self.seen.exists():
            return []
        events = map(json.loads, self.seen.read_text().splitlines())
        return [(e["hook_event_name"], *(e[n] for n in names if n in e))
                for e in events]


@pytest.fixture
def ear(tmp_path):
    tmp_path.chmod(0o700)
    return Ear(tmp_path)


SESSION = ("on_session_start", "on_session_end")


def test_a_conversation_of_ask_is_a_session(ask_server, ear):
    with FakeOpenAI(["one", "two", "three"]) as server:
        tree = ask_server(server, ear.settings(*SESSION))
        answer(tree, Question("once"))
        assert ear.heard() == []
        answer(tree, Question("first", session="work"))
        answer(tree, Question("and now", continued=True))

    assert ear.heard("session_id", "channel") == [
        ("on_session_start", "work", "ask"), ("on_session_end", "work", "ask"),
        ("on_session_start", "ask", "ask"), ("on_session_end", "ask", "ask")]


def test_a_talk_is_a_session_until_new(ask_server, ear):
    async def go(tree):
        async with open_chat(tree, ChatOptions(
                tools=(), use_memory=False)) as chat:
            await chat.say("first", lambda event: None)
            await chat.say("second", lambda event: None)
            chat.new()
            await chat.say("third", lambda event: None)
    with FakeOpenAI(["one", "two", "three"]) as server:
        asyncio.run(go(ask_server(server, ear.settings(*SESSION))))

    assert ear.heard("session_id", "channel") == [
        (event, "agent", "agent") for event in SESSION * 2]


def test_a_talk_in_which_nothing_was_said_is_no_session(ask_server, ear):
    async def go(tree):
        async with open_chat(tree, ChatOptions(tools=(), use_memory=False)):
            pass
    with FakeOpenAI() as server:
        asyncio.run(go(ask_server(server, ear.settings(*SESSION))))

    assert ear.heard() == []


def test_a_guard_stops_a_call_of_ask(ask_server, tmp_path, ear):
    guard = tmp_path / "guard"
    guard.write_text("#!/bin/sh\necho not today >&2\nexit 2\n")
    guard.chmod(0o700)
    with FakeOpenAI([tool_call("calculator", expression="6 * 7"),
                     "it is not known"]) as server:
        found = answer(ask_server(
            server, '[[hooks.command]]\nevent = "before_tool_call"\n'
            f'command = ["{guard}"]\n' + ear.settings("on_after_tool_call")),
            Question("6 * 7?", tools=("calculator",)))
        result = server.chats[1].body["messages"][-1]["content"]

    assert result == "Cancelled by hook: not today"
    assert [call["success"] for call in found["tool_calls"]] == [False]
    assert ear.heard() == []


def test_a_dry_run_runs_no_hooks(ask_server, ear):
    with FakeOpenAI() as server:
        describe_request(ask_server(server, ear.settings("on_llm_input")),
                         Question("hello"))

    assert ear.heard() == []


def test_a_hook_is_refused_that_the_agent_could_write(write_settings):
    tree = write_settings()
    program = tree.places.workspace / "hook"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    with pytest.raises(PlugInError, match="where tools may write"):
        build_hooks(write_settings(
            '[[hooks.command]]\nevent = "on_session_end"\n'
            f'command = ["{program}"]\n'), silent)


def test_only_config_toml_names_a_program(write_settings):
    tree = write_settings('[[hooks.command]]\nevent = "on_session_end"\n'
                          'command = ["true"]\n')
    tree = load(tree.places, {
        "CLAW_HOOKS__COMMAND__0__COMMAND": '["/bin/echo"]'})

    with pytest.raises(ConfigError, match=r"config\.toml alone"):
        build_hooks(tree, silent)


def test_programs_see_no_keys_and_no_folder_of_the_agents(write_settings):
    tree = write_settings('[[hooks.command]]\nevent = "on_session_end"\n'
                          'command = ["env"]\n')
    bin_ = tree.places.workspace / ".venv/bin"
    bin_.mkdir(parents=True)
    hook, = build_hooks(tree, silent, {
        "PATH": f"{bin_}:.:{os.environ['PATH']}", "HOME": "/home/ann",
        "OPENAI_API_KEY": "sk-x", "LANG": "C.UTF-8"}).hooks
    env = hook._around.env

    assert env.keys() == {"PATH", "HOME", "LANG", IN_HOOK, "CLAW_HOME",
                          "CLAW_WORKSPACE"}
    assert env["PATH"] == os.environ["PATH"]


def test_a_claw_that_a_hook_starts_has_no_hooks(write_settings):
    tree = write_settings('[[hooks.command]]\nevent = "on_session_end"\n'
                          'command = ["true"]\n')

    assert build_hooks(tree, silent, {"PATH": "/usr/bin:/bin"}).hooks
    assert not build_hooks(tree, silent, {IN_HOOK: "1"}).hooks


def test_what_claw_send_sends_is_told_before_it_ends(tmp_path, ear):
    with FakeTelegram(TOKEN, chats=(1001,)) as platform:
        home = tmp_path / "home"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(
            f'[channels_config.telegram]\nbot_token = "{TOKEN}"\n'
            f'api_base_url = "{platform.url}"\n'
            + ear.settings("on_message_sent"))
        asyncio.run(send(load(locate(str(home), None, {})), "telegram",
                         SendMessage("hello", "1001"), silent, timeout_s=5))

    assert ear.heard("channel", "recipient", "content") == [
        ("on_message_sent", "telegram", "1001", "hello")]


def test_a_service_tells_of_its_gateway_its_heart_and_its_end(tmp_path, ear):
    events = []

    async def go(places):
        async with open_service(
                places, (), lambda event, **fields: events.append(event),
                env={"XDG_RUNTIME_DIR": str(tmp_path)}) as service:
            work = asyncio.ensure_future(service.run())
            async with asyncio.timeout(10):
                while len(ear.heard()) < 3:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            service.stop()
            with suppress(asyncio.CancelledError):
                await asyncio.wait_for(work, 10)
    with FakeOpenAI(["one"]) as model:
        home = tmp_path / "home"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(
            f'default_provider = "custom:{model.url}"\n'
            'default_model = "m"\n[heartbeat]\nenabled = true\n'
            "interval_minutes = 0.005\n[channels_config.webhook]\nport = 0\n"
            'secret = "correct-horse-battery"\n' + ear.settings(
                "on_gateway_start", "on_gateway_stop", "on_heartbeat_tick"))
        asyncio.run(go(locate(str(home), None, {})))
    heard = ear.heard("host", "port")

    assert heard[0][:2] == ("on_gateway_start", "127.0.0.1")
    assert heard[0][2] > 0
    assert heard[1:3] == [("on_heartbeat_tick",)] * 2
    assert heard[-1] == ("on_gateway_stop",)
    assert [name for name, *_ in heard].count("on_gateway_start") == 1
    assert "stopped" in events


def test_a_section_without_hooks_loads_nothing(ask_server):
    """The reference's files have [hooks] always: a question pays 60 ms."""
    code = ("import sys, claw; claw.ask('hello', workspace=sys.argv[2], "
            "config_dir=sys.argv[1]); print([m for m in sys.modules if m "
            "in ('claw.wiring.tools.hooks', 'claw.agent.hooks.runner', "
            "'claw.security.prompt_guard')])")
    with FakeOpenAI(["hi"]) as server:
        places = ask_server(server, "[hooks]\nenabled = true\n"
                            "[hooks.builtin]\ncommand_logger = false\n"
                            ).places
        done = subprocess.run(
            [sys.executable, "-c", code, places.home, places.workspace],
            capture_output=True, text=True, check=False)

    assert done.stdout == "[]\n", done.stderr
