"""CommandHook: a program of the owner's as a hook.

It reads the event as JSON. Exit code 0 lets it pass: what stands on stdout,
if anything, is JSON with a decision, a reason and changed fields. Exit code 2
stops it, and stderr is the reason. Everything else is a failure.
"""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from claw.agent.hooks.commands.events import EVENTS, change, write_event
from claw.agent.hooks.commands.process import Done, run
from claw.agent.hooks.settings import CommandHookSettings
from claw.core.errors import ClawError, ConfigError
from claw.core.hooks import Cancel, Hooks
from claw.core.registry import PlugInError, nearest
from claw.core.value import Value
from claw.security.estop import EmergencyStop
from claw.security.owned import refuse_foreign

STOPS = 2
REASON_CHARS = 500
_TOOL_EVENTS = ("before_tool_call", "on_after_tool_call")


class Surroundings(Value):
    """What programs run in: `roots` are where the agent may write, `cwd` is
    claw's own folder."""

    roots: Sequence[Path]
    cwd: Path
    home: Path
    env: Mapping[str, str]
    estop: EmergencyStop


class HookFailure(ClawError):
    """The program gave no answer that can be used."""


class CommandHook(Hooks):
    """One entry of [[hooks.command]]. Raises ConfigError and PlugInError
    for one that can't be what it is meant to be."""

    def __init__(self, settings: CommandHookSettings, around: Surroundings,
                 where: str) -> None:
        _check(settings, where)
        self.settings = settings
        self.event = settings.event
        self.guards = settings.on_failure == "cancel"
        self._around = around
        self.argv = _find_program(settings.command, around, where)
        self.name = Path(settings.command[0]).name
        setattr(self, settings.event, self._run)

    def is_for(self, arguments: tuple[Any, ...]) -> bool:
        """Whether the matcher takes the tool of this event."""
        return self.event not in _TOOL_EVENTS or any(
            fnmatchcase(arguments[0], one)
            for one in self.settings.matcher.split("|"))

    async def _run(self, *arguments: Any) -> Any:
        """As the method of its event. Raises HookFailure where a failure
        stops nothing."""
        if not self.is_for(arguments):
            return change(self.event, arguments, {})
        try:
            return await self._ask(arguments)
        except (HookFailure, ClawError, OSError, ValueError) as error:
            if not isinstance(error, ClawError):
                error = HookFailure(
                    _explain_start(self.argv[0], error)
                    if isinstance(error, OSError) else str(error))
            if self.guards:
                return Cancel(f"{self.name} failed: {error}"[:REASON_CHARS])
            raise error from None

    async def _ask(self, arguments: tuple[Any, ...]) -> Any:
        around = self._around
        around.estop.check()
        # A link may lead elsewhere by now.
        _refuse_agents(self.argv, around)
        done = await run(
            self.argv, write_event(self.event, arguments), env=around.env,
            cwd=around.cwd, timeout_s=self.settings.timeout_secs,
            estop=around.estop)
        stops = EVENTS[self.event].stops
        if not done.failure and done.code == STOPS and stops:
            return Cancel(_shorten(done.stderr) or f"{self.name} says no")
        if done.failure or done.code != 0:
            raise HookFailure(_describe(done))
        if not stops or not done.stdout.strip():
            return change(self.event, arguments, {})
        return self._read(done.stdout, arguments)

    def _read(self, stdout: bytes, arguments: tuple[Any, ...]) -> Any:
        """What the program answers. What is not understood is a failure: it
        may be a no."""
        try:
            answer = json.loads(stdout)
        except ValueError:
            raise HookFailure("what it printed is no JSON") from None
        if not isinstance(answer, dict):
            raise HookFailure("it printed no JSON object")
        decision = answer.pop("decision", "allow")
        reason = answer.pop("reason", "")
        if decision == "block":
            return Cancel(_shorten(str(reason).encode())
                          or f"{self.name} says no")
        if decision != "allow":
            raise HookFailure(f"decision {decision!r} is neither allow nor "
                              "block")
        return change(self.event, arguments, answer)


def _check(settings: CommandHookSettings, where: str) -> None:
    if settings.event not in EVENTS:
        near = nearest(settings.event, EVENTS)
        raise ConfigError(
            f"{where}: there is no event {settings.event!r}",
            hint=f'did you mean "{near}"?' if near
            else "there are: " + ", ".join(EVENTS))
    if not settings.command or not settings.command[0].strip():
        raise ConfigError(f"{where}: no command",
                          hint='command = ["/path/of/program", "argument"]')
    if settings.matcher != "*" and settings.event not in _TOOL_EVENTS:
        raise ConfigError(f"{where}: {settings.event} is about no tool, so "
                          "matcher matches nothing", hint="leave it out")
    if settings.on_failure == "cancel" and not EVENTS[settings.event].stops:
        raise ConfigError(f"{where}: {settings.event} can't be cancelled",
                          hint="leave on_failure out")


def _find_program(command: Sequence[str], around: Surroundings, where: str
                  ) -> tuple[str, ...]:
    """The command with whole paths. Raises ConfigError, PlugInError."""
    argv = [str(around.home / word[2:]) if word.startswith("~/") else word
            for word in command]
    program = argv[0] if "/" not in argv[0] else str(
        around.cwd / argv[0])
    found = shutil.which(program, path=around.env.get("PATH"))
    if found is None:
        raise ConfigError(f"{where}: {command[0]} is no program",
                          hint="give its whole path, and: chmod +x")
    argv[0] = str(Path(found).absolute())
    _refuse_agents(argv, around)
    return tuple(argv)


def _refuse_agents(argv: Sequence[str], around: Surroundings) -> None:
    """Neither the program nor a file that it is to read may be the agent's
    or somebody else's. Raises PlugInError."""
    refuse_foreign(Path(argv[0]), around.roots, around.home)
    for word in argv[1:]:
        _refuse_mention(word, argv, around.roots)
        for text in (word, word.partition("=")[2]):
            path = around.cwd / text
            if text and _is_file(path):
                refuse_foreign(path, around.roots, around.home)


def _refuse_mention(word: str, argv: Sequence[str], roots: Sequence[Path]
                    ) -> None:
    for root in roots:
        if re.search(rf"{re.escape(str(root))}(?![\w.-])", word):
            raise PlugInError(
                f"{argv[0]}: its argument {word!r} names {root}, where tools "
                "may write", hint="keep what a hook runs out of there")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a name
        return False


def _explain_start(program: str, error: OSError) -> str:
    """A file that is there and is not found lacks its interpreter."""
    if isinstance(error, FileNotFoundError) and Path(program).exists():
        return (f"{program} can't start: the program of its first line "
                "(#!) is not there")
    return f"{program} can't start: {error.strerror or error}"


def _describe(done: Done) -> str:
    said = _shorten(done.stderr)
    return (done.failure or f"exit code {done.code}") + (
        f": {said}" if said else "")


def _shorten(raw: bytes) -> str:
    return " ".join(raw[:4 * REASON_CHARS].decode("utf-8", "replace")
                    .split())[:REASON_CHARS]
