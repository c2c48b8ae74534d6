"""A turn that is stopped ends within 100 ms, whatever it waits for."""

import asyncio
import gc
import json
import os
import threading
import time
from pathlib import Path

import pytest
from agent_parts import Echo

from claw.agent.history import repair
from claw.agent.rounds import cancel as cancelling
from claw.agent.rounds.cancel import TurnCancelled, race
from claw.agent.settings import AgentSettings
from claw.agent.turn import Agent
from claw.core.provider import ChatResponse, Provider, ToolCall
from claw.core.tool import ToolDeps
from claw.core.turn import TurnContext
from claw.security.policy import SecurityPolicy
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import (
    AutonomySettings,
    ResourceSettings,
    SandboxSettings,
)
from claw.testing.scripted import ScriptedProvider
from claw.tools.shell import Shell

LIMIT_S = 0.1


def asks(*arguments, name="echo"):
    return ChatResponse(None, tuple(
        ToolCall(f"c{n}", name, json.dumps(a))
        for n, a in enumerate(arguments)))


async def stopped(agent, busy):
    """Seconds that a turn takes to end once it is busy and stopped."""
    stop = asyncio.Event()
    task = asyncio.ensure_future(agent.turn("go", context=TurnContext(
        "agent", cancel=stop)))
    async with asyncio.timeout(5):
        await busy()
    start = time.perf_counter()
    stop.set()
    with pytest.raises(TurnCancelled):
        await task
    return time.perf_counter() - start


def threaded(work):
    """(tool, its event of having begun) that runs `work` in a thread."""
    begun = asyncio.Event()

    async def wait(args):
        begun.set()
        await asyncio.to_thread(work)
    return Echo(wait=wait), begun


@pytest.mark.parametrize("parallel", [False, True])
def test_a_tool_in_a_thread_does_not_hold_the_turn(parallel):
    free = threading.Event()

    async def main():
        tool, begun = threaded(lambda: free.wait(5))
        agent = Agent(ScriptedProvider([asks({"text": "a"}, {"text": "b"})]),
                      [tool], settings=AgentSettings(
                          parallel_tools=parallel))
        try:
            return await stopped(agent, begun.wait), agent.history
        finally:
            free.set()
    seconds, history = asyncio.run(main())

    assert seconds < LIMIT_S
    assert repair(history) == history
    assert [r.content for r in history[-1].results] == ["[interrupted]"] * 2


def test_a_tool_that_will_not_end_is_left_to_itself(recwarn):
    """A third-party tool that cleans up slowly, and then fails."""
    async def main():
        ended = asyncio.Event()

        async def wait(args):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0.15)
                ended.set()
                raise ValueError("too late") from None
        tool = Echo(wait=wait)
        agent = Agent(ScriptedProvider([asks({"text": "a"})]), [tool])
        seconds = await stopped(agent, tool.started.wait)
        assert cancelling._ending
        async with asyncio.timeout(1):
            await ended.wait()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return seconds
    seconds = asyncio.run(main())
    gc.collect()

    assert seconds < LIMIT_S
    assert not cancelling._ending
    assert not recwarn.list


class Slow(Provider):
    """A model behind a client that waits in a thread."""

    def __init__(self, free):
        self.free = free
        self.asked = asyncio.Event()

    async def chat_with_system(self, system_prompt, message, model,
                               temperature):
        self.asked.set()
        await asyncio.to_thread(self.free.wait, 5)
        return "late"


def test_a_model_call_in_a_thread_does_not_hold_the_turn():
    free = threading.Event()

    async def main():
        provider = Slow(free)
        try:
            return await stopped(Agent(provider), provider.asked.wait)
        finally:
            free.set()

    assert asyncio.run(main()) < LIMIT_S


def running(sign):
    """Processes whose command line holds the sign."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and sign in (
                    entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(),
                    reason="looks for processes in /proc")
def test_a_command_is_killed_with_all_its_children(tmp_path):
    sign = f"{os.getpid() % 1000 + 7000}.25"
    workspace = tmp_path / "ws"
    workspace.mkdir()
    policy = SecurityPolicy(
        AutonomySettings(level="full", max_actions_per_hour=1000,
                         allowed_commands=("sleep",)),
        workspace, home=tmp_path, sandbox=Sandbox(
            workspace, SandboxSettings(), ResourceSettings(),
            dict(os.environ)))
    command = f"sleep {sign} | sleep {sign}"

    async def until(wanted):
        while bool(running(sign.encode())) is not wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    async def main():
        agent = Agent(ScriptedProvider([asks({"command": command},
                                             name="shell")]),
                      [Shell(ToolDeps(workspace, policy))])
        seconds = await stopped(agent, lambda: until(True))
        async with asyncio.timeout(4):
            await until(False)
        return seconds, agent.history
    seconds, history = asyncio.run(main())

    assert seconds < LIMIT_S
    assert history[-1].results[0].content == "[interrupted]"


def test_work_that_ends_at_once_has_ended_when_race_returns():
    async def main():
        stop, ended = asyncio.Event(), []

        async def work():
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(1)
        asyncio.get_running_loop().call_later(0.01, stop.set)
        with pytest.raises(TurnCancelled):
            await race(work(), stop)
        return ended, cancelling._ending

    assert asyncio.run(main()) == ([1], set())


def test_a_race_whose_own_task_is_cancelled_cancels_its_work():
    async def main():
        began, ended = asyncio.Event(), asyncio.Event()

        async def work():
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
        task = asyncio.ensure_future(race(work(), asyncio.Event()))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ended.is_set()

    assert asyncio.run(main())
