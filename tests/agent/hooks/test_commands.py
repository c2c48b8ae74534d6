"""Hooks that are programs: what they read, what they answer, how they end."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import pytest

from claw.agent.hooks.commands.events import (
    EVENTS,
    change,
    read_event,
    write_event,
)
from claw.agent.hooks.commands.hook import CommandHook, Surroundings
from claw.agent.hooks.runner import HookRunner
from claw.agent.hooks.settings import CommandHookSettings
from claw.core.channel import ChannelMessage, SendMessage
from claw.core.errors import ConfigError
from claw.core.hooks import Cancel, Hooks
from claw.core.registry import PlugInError
from claw.security.estop import EmergencyStop

CALL = ("shell", {"command": "git push"})
PUBLIC = [name for name in vars(Hooks) if name.startswith(("on_", "before_"))]


class Log(list):
    def __call__(self, event, **fields):
        self.append((event, fields))


class Place:
    """A home of its own: program(source) is a hook's program in it."""

    def __init__(self, folder):
        self.folder = folder
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        self.log = Log()
        self.estop = EmergencyStop(folder)
        self.around = Surroundings(
            (self.workspace,), folder, folder, {
                "PATH": os.environ["PATH"], "CLEAN": "yes"}, self.estop)

    def program(self, source, name="guard", folder=None):
        path = (folder or self.folder) / name
        path.write_text(f"#!{sys.executable} -I\n{source}\n")
        path.chmod(0o700)
        return str(path)

    def hook(self, source="", event="before_tool_call", *, command=None,
             **settings):
        return CommandHook(CommandHookSettings(
            event=event, command=command or (self.program(source),),
            **settings), self.around, "config.toml:1")

    def runner(self, *args, **settings):
        return HookRunner([self.hook(*args, **settings)], self.log)

    def ask(self, source="", **settings):
        return asyncio.run(self.runner(source, **settings)
                           .before_tool_call(*CALL))


@pytest.fixture
def place(tmp_path):
    tmp_path.chmod(0o700)
    return Place(tmp_path)


def test_each_declared_hook_can_be_a_program():
    assert list(EVENTS) != []
    assert set(EVENTS) == set(PUBLIC)


@pytest.mark.parametrize("event", EVENTS)
def test_the_sample_of_an_event_comes_back_as_it_was(event):
    arguments = read_event(event, {})
    written = json.loads(write_event(event, arguments))

    assert written.pop("hook_event_name") == event
    assert EVENTS[event].sample.items() <= written.items()
    assert read_event(event, written) == arguments
    assert set(EVENTS[event].changes) <= set(written)


def test_a_program_reads_the_event_and_a_clean_environment(place):
    place.ask("import sys, os, json\n"
              "seen = [json.load(sys.stdin), dict(os.environ), os.getcwd()]\n"
              f"json.dump(seen, open({str(place.folder / 'seen')!r}, 'w'))")
    event, env, cwd = json.loads((place.folder / "seen").read_text())

    assert event == {"hook_event_name": "before_tool_call",
                     "tool_name": "shell",
                     "tool_input": {"command": "git push"}}
    assert env.keys() - {"LC_CTYPE"} == {"PATH", "CLEAN"}
    assert cwd == str(place.folder)
    assert place.log == []


@pytest.mark.parametrize(("source", "expected"), [
    ("", CALL),
    ("print('{}')", CALL),
    ("print('{\"decision\": \"allow\"}')", CALL),
    ("import sys; sys.exit('no reading')", CALL),  # exit 1: a failure
    ("import sys; print('not today', file=sys.stderr); sys.exit(2)",
     Cancel("not today")),
    ("import sys; sys.exit(2)", Cancel("guard says no")),
    ("print('{\"decision\": \"block\", \"reason\": \"Friday\"}')",
     Cancel("Friday")),
    ("print('{\"decision\": \"block\"}')", Cancel("guard says no")),
    ("print('{\"tool_input\": {\"command\": \"git pull\"}}')",
     ("shell", {"command": "git pull"})),
])
def test_a_program_lets_pass_stops_or_changes(place, source, expected):
    assert place.ask(source) == expected


FAILURES = [
    ("raise RuntimeError('broken')", "broken"),
    ("print('yes')", "what it printed is no JSON"),
    ("print('[1]')", "no JSON object"),
    ("print('{\"decision\": \"deny\"}')", "neither allow nor block"),
    ("print('{\"permissionDecision\": \"deny\"}')", "can't be changed"),
    ("print('{\"tool_name\": \"file_write\"}')", "can't be changed"),
    ("print('{\"tool_input\": 3}')", "is no dict"),
    ("print('x' * 2_000_000)", "more than 1 MiB"),
    ("while True: print('x' * 9_999)", "more than 1 MiB"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "code -11"),
    ("import time; time.sleep(60)", "longer than 0.5 s"),
]


@pytest.mark.parametrize(("source", "said"), FAILURES)
def test_a_program_that_fails_is_logged_and_changes_nothing(place, source,
                                                            said):
    assert place.ask(source, timeout_secs=0.5) == CALL
    (event, fields), = place.log
    assert (event, fields["hook"]) == ("hook_failed", "guard")
    assert said in fields["error"]
    assert "Error:" not in fields["error"].replace("RuntimeError:", "")
    assert "HookFailure" not in fields["error"]


def test_a_program_without_its_interpreter_says_so(place):
    runner = place.runner("")
    program = Path(runner.hooks[0].argv[0])
    program.write_text("#!/no/such/python\n")

    asyncio.run(runner.before_tool_call(*CALL))

    assert "first line (#!) is not there" in place.log[0][1]["error"]


@pytest.mark.parametrize(("source", "said"), FAILURES)
def test_a_guard_that_fails_stops_the_call(place, source, said):
    found = place.ask(source, timeout_secs=0.5, on_failure="cancel")

    assert isinstance(found, Cancel)
    assert said in found.reason
    assert place.log[-1][0] == "hook_cancelled"


@pytest.mark.parametrize(("matcher", "runs"), [
    ("*", True), ("shell", True), ("file_*|shell", True), ("she??", True),
    ("file_*", False), ("shel", False), ("SHELL", False)])
def test_a_matcher_names_tools(place, matcher, runs):
    found = place.ask("import sys; sys.exit(2)", matcher=matcher)

    assert isinstance(found, Cancel) is runs


@pytest.mark.parametrize("matcher", ["", "^shell$", "git_.*", "a||b",
                                     "shell, file_write", "(shell|x)"])
def test_a_regular_expression_is_no_matcher(matcher):
    """It would match nothing, and the guard would never run."""
    with pytest.raises(ValueError, match="matcher takes names"):
        CommandHookSettings(matcher=matcher)


@pytest.mark.parametrize(("settings", "said"), [
    ({"event": "before_tool"}, 'did you mean "before_tool_call"'),
    ({"event": ""}, "there is no event ''"),
    ({"command": ()}, "no command"),
    ({"command": ("no-such-program-here",)}, "is no program"),
    ({"command": ("/nowhere/x",)}, "is no program"),
    ({"event": "on_message_sent", "matcher": "shell"}, "about no tool"),
    ({"event": "on_message_sent", "on_failure": "cancel"},
     "can't be cancelled"),
])
def test_a_hook_that_could_never_do_its_work_is_an_error(place, settings,
                                                         said):
    settings = {"event": "before_tool_call", "command": ("true",),
                **settings}

    with pytest.raises(ConfigError) as caught:
        CommandHook(CommandHookSettings(**settings), place.around,
                    "config.toml:7")
    assert said in f"{caught.value} {caught.value.hint}"
    assert "config.toml:7" in str(caught.value)


def test_a_program_that_the_agent_could_write_is_refused(place):
    inside = place.program("", folder=place.workspace)
    link = place.folder / "link"
    link.symlink_to(inside)
    open_one = Path(place.program("", name="open"))
    open_one.chmod(0o777)
    script = place.workspace / "hook.py"
    script.write_text("")
    for command in ((inside,), (str(link),), (str(open_one),),
                    (sys.executable, str(script)), ("sh", str(script)),
                    ("sh", "-c", f"exec {script}"),
                    ("sh", f"--init={link}"),
                    (sys.executable, "ws/hook.py"),
                    (sys.executable, "./ws/../link")):
        with pytest.raises(PlugInError):
            place.hook(command=command)


def test_a_program_that_becomes_the_agents_later_is_not_run(place):
    hook = place.hook("import sys; sys.exit(0)", on_failure="cancel")
    program = Path(hook.argv[0])
    inside = place.program("print('{}')", folder=place.workspace)
    program.unlink()
    program.symlink_to(inside)
    found = asyncio.run(HookRunner([hook], place.log)
                        .before_tool_call(*CALL))

    assert isinstance(found, Cancel)
    assert "where tools may write" in found.reason


async def until_written(path):
    async with asyncio.timeout(10):
        while not path.exists() or not path.read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def is_gone(path):
    """Whether the process whose number stands there ends in a moment."""
    for _ in range(100):
        try:
            os.kill(int(path.read_text()), 0)
        except ProcessLookupError:
            return True
        if is_zombie(path):
            return True
        time.sleep(0.02)
    return False


CHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({path!r}, "w").write(str(child.pid))
{rest}
"""


@pytest.mark.parametrize("rest", ["time.sleep(60)", "sys.exit(0)"])
def test_nothing_that_a_program_started_outlives_it(place, rest):
    path = place.folder / "pid"
    began = time.monotonic()
    place.ask(CHILD.format(path=str(path), rest=rest), timeout_secs=1)

    assert time.monotonic() - began < 5
    assert is_gone(path)


def is_zombie(path):
    try:
        stat = Path(f"/proc/{path.read_text()}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def test_the_emergency_stop_ends_a_program_and_starts_none(place):
    path = place.folder / "pid"
    runner = place.runner(CHILD.format(path=str(path), rest="time.sleep(60)"))

    async def go():
        running = asyncio.ensure_future(runner.before_tool_call(*CALL))
        await until_written(path)
        place.estop.set()
        began = time.monotonic()
        await running
        first = time.monotonic() - began
        path.unlink()
        await runner.before_tool_call(*CALL)
        return first
    assert asyncio.run(go()) < 2
    assert not path.exists()
    assert [fields["error"] for _, fields in place.log] == [
        "claw is stopped", place.log[1][1]["error"]]
    assert "claw is stopped" in place.log[1][1]["error"]


def test_a_turn_that_is_stopped_ends_its_hooks(place):
    path = place.folder / "pid"
    runner = place.runner(CHILD.format(path=str(path), rest="time.sleep(60)"))

    async def go():
        running = asyncio.ensure_future(runner.before_tool_call(*CALL))
        await until_written(path)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    asyncio.run(go())

    assert is_gone(path)


def test_a_program_that_reads_nothing_of_a_long_event_may_end(place):
    runner = place.runner("")
    found = asyncio.run(runner.before_tool_call(
        "shell", {"command": "x" * 3_000_000}))

    assert found[0] == "shell"
    assert place.log == []


def test_what_is_changed_of_a_message_is_its_text_alone(place):
    message = ChannelMessage("7", "ann", "chat", "hi", "test", 5,
                             thread_ts="t", labels=("forwarded",))

    assert change("on_message_received", (message,), {"content": "ho"}) == \
        ChannelMessage("7", "ann", "chat", "ho", "test", 5, thread_ts="t",
                       labels=("forwarded",))
    with pytest.raises(ValueError, match="'sender' can't be changed"):
        change("on_message_received", (message,), {"sender": "eve"})


def test_a_hook_that_looks_on_may_print_what_it_likes(place):
    runner = place.runner("import sys; print(sys.stdin.read())",
                          event="on_message_sent")
    asyncio.run(runner.on_message_sent("test", SendMessage("x", "r")))

    assert place.log == []


def test_a_long_name_among_the_arguments_is_no_file(place):
    place.hook(command=("true", "x" * 5000, "a\0b",
                        f"{place.workspace}-of-mine/x"))


def test_arguments_nested_without_end_do_not_get_past_a_guard(place):
    args = {}
    for _ in range(3_000):
        args = {"a": args}
    guard = place.runner("raise SystemExit(0)", on_failure="cancel")

    returned = asyncio.run(guard.before_tool_call("mcp_any", args))

    assert returned == Cancel("guard failed: RecursionError")


def test_an_answer_nested_without_end_is_no_yes_of_a_guard(place):
    assert isinstance(place.ask("print('[' * 100_000)",
                                on_failure="cancel"), Cancel)
