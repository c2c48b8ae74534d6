"""A server that is broken or means ill costs its own call, and nothing
else."""

import asyncio
import os
import time
import tracemalloc

import pytest
from mcp_desk import close

from claw.core.errors import UnavailableError
from claw.core.turn import TurnContext, current_turn
from claw.tools.mcp.accepted import Acceptance


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pids):
    for _ in range(100):
        if not any(map(is_alive, pids)):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(autouse=True)
def _know_others():
    """What other tests left running is none of these."""
    OTHERS.clear()
    OTHERS.update(list_descendants())


OTHERS = set()


def list_descendants():
    """Every process below this one that was not there before the test."""
    found, new = set(), {os.getpid()}
    while new:
        found |= new
        below = set()
        for pid in new:
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/children") as file:
                        below |= set(map(int, file.read().split()))
            except FileNotFoundError:
                continue
        new = below - found
    return found - {os.getpid()} - OTHERS


@pytest.mark.parametrize(("way", "said"), [
    ("dies", "stopped: it ended (no more tea)"),
    ("hangs", "did not answer within 4 s"),
    ("long line", "it wrote a line of more than 4 MiB"),
    ("endless rubbish", "it writes what is no message"),
    ("wrong shape", "the MCP server demo"),
])
def test_a_failing_server_is_a_failed_call(desk, way, said):
    tool = desk.accept(desk.server("raw_server.py", way,
                                   tool_timeout_secs=4))["say"]

    started = time.monotonic()
    result = desk.call(tool)

    assert not result.success
    assert said in result.error
    assert time.monotonic() - started < 10
    assert wait_until_gone(list_descendants())


@pytest.mark.parametrize("way", ["well", "rubbish", "noisy", "samples"])
def test_what_is_no_answer_is_passed_over(desk, way):
    tool = desk.accept(desk.server("raw_server.py", way))["say"]

    assert desk.call(tool).output == "word"


def test_an_answer_that_comes_twice_or_to_nothing_is_dropped(desk):
    tool = desk.accept(desk.server("raw_server.py", "late"))["say"]

    both = desk.call_all((tool, {"word": "a"}), (tool, {"word": "b"}))

    assert [each.output for each in both] == ["first", "first"]


def test_what_a_server_says_against_us_is_told(desk):
    server = desk.server("raw_server.py", "refuses")

    with pytest.raises(UnavailableError, match=r"says: no licence\[2J$"):
        asyncio.run(server.look())


def test_megabytes_of_a_name_were_kept_and_read_by_every_turn(desk):
    server = desk.server("raw_server.py", "long name")

    with pytest.raises(UnavailableError, match="3000000 characters"):
        asyncio.run(server.look())

    assert not server.accepted.load().seen


def test_a_list_without_end_is_cut(desk):
    desk.accept(desk.server("raw_server.py", "endless"))

    assert len(desk.listing.tools) == 32  # one of each page


def test_a_hundred_megabytes_on_one_line_are_not_kept(desk):
    tool = desk.accept(desk.server("raw_server.py", "long line"))["say"]

    tracemalloc.start()
    desk.call(tool)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20 << 20


def test_a_server_that_died_between_calls_is_started_again(desk):
    tool = desk.accept(desk.server("raw_server.py", "dies after"))["say"]

    async def call_twice():
        current_turn.set(TurnContext("agent"))
        first = await tool.execute({})
        await asyncio.sleep(1)
        second = await tool.execute({})
        await close(tool._server)
        return first.output, second.output

    assert asyncio.run(call_twice()) == ("once", "once")


def test_one_call_that_takes_too_long_does_not_stop_the_turn_of_another(
        desk):
    """Both wait for a program that never answers; the second would have
    been cancelled along with the connection."""
    tool = desk.accept(desk.server("raw_server.py", "well"))["say"]
    tool._server = desk.server("raw_server.py", "silent",
                               tool_timeout_secs=2)
    tool._server.accepted = Accepted(tool)

    async def call_both():
        current_turn.set(TurnContext("agent"))
        first = asyncio.create_task(tool.execute({}))
        await asyncio.sleep(0.5)
        second = asyncio.create_task(tool.execute({}))
        both = await asyncio.gather(first, second)
        await close(tool._server)
        return both

    assert [each.success for each in asyncio.run(call_both())] == [
        False, False]


class Accepted:
    """Knows the tool, and that the list still holds."""

    clock = staticmethod(lambda: 0.0)

    def __init__(self, tool):
        self._found = Acceptance("x")
        self._found.note([tool.listed], 9_000, 0.0)

    def load(self):
        return self._found


def test_a_program_that_says_nothing_is_given_up(desk):
    server = desk.server("raw_server.py", "silent", tool_timeout_secs=2)

    with pytest.raises(UnavailableError, match="did not answer within 2 s"):
        asyncio.run(server.look())


@pytest.fixture
def say(desk):
    return desk.accept(desk.server("raw_server.py", "well"))["say"]


def test_a_cancelled_call_ends_the_program_and_its_children(say):
    async def cancel():
        current_turn.set(TurnContext("agent"))
        assert (await say.execute({"word": "spawn"})).success
        running = list_descendants()
        call = asyncio.create_task(say.execute({"word": "sleep:600"}))
        await asyncio.sleep(0.5)
        call.cancel()
        await asyncio.wait([call])
        return running

    running = asyncio.run(cancel())

    assert len(running) > 1
    assert wait_until_gone(running)


def test_the_end_of_the_loop_ends_every_program(say):
    async def leave():
        current_turn.set(TurnContext("agent"))
        await say.execute({"word": "spawn"})
        return list_descendants()

    assert wait_until_gone(asyncio.run(leave()))


def test_an_idle_program_is_ended(desk, say):
    say._server._idle_s = 0.2

    async def wait():
        current_turn.set(TurnContext("agent"))
        await say.execute({"word": "spawn"})
        running = list_descendants()
        await asyncio.sleep(1)
        return running

    assert wait_until_gone(asyncio.run(wait()))


def test_each_conversation_has_a_program_of_its_own(say):
    async def count():
        said = []
        for chat in ("a", "b", "a"):
            current_turn.set(TurnContext("channel", channel="telegram",
                                         reply_target=chat))
            said.append((await say.execute({"word": "count"})).output)
        await close(say._server)
        return said

    assert asyncio.run(count()) == ["1", "1", "2"]


def test_more_conversations_than_programs_take_turns(say):
    async def call():
        for chat in map(str, range(11)):
            current_turn.set(TurnContext("channel", channel="telegram",
                                         reply_target=chat))
            assert (await say.execute({})).success
        held = len(say._server._held)
        await close(say._server)
        return held

    assert asyncio.run(call()) == 8


def test_a_program_sees_what_it_was_granted_and_no_more(
        desk, tmp_path, monkeypatch):
    shared, secret = tmp_path / "shared", tmp_path / "secret"
    for folder in (shared, secret):
        folder.mkdir()
        (folder / "note.txt").write_text("tea")
    monkeypatch.setenv("FAKE_API_KEY", "S3CRET")
    say = desk.accept(desk.server("raw_server.py", "well", folders=[shared],
                                  env={"A_TOKEN": "mine"}))["say"]

    mine, others, config, variables = desk.call_all(*(
        (say, {"word": word}) for word in (
            f"look:{shared}/note.txt", f"look:{secret}/note.txt",
            f"look:{desk.home}/mcp/demo.json", "variables")))

    assert mine.output == "tea"
    assert others.output == config.output == "FileNotFoundError"
    assert '"A_TOKEN": "mine"' in variables.output
    assert "S3CRET" not in variables.output
