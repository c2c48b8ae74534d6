"""The service manager that is here, and what it is told.

Every call is a program of the system's: systemctl, journalctl, launchctl. What
they say is for the person; their exit code decides.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from claw.config.places import Places
from claw.core.errors import NotFoundError, StorageError, UnavailableError
from claw.core.value import Value
from claw.wiring.setup.service.units import (
    LABEL,
    UNIT,
    render_plist,
    render_unit,
)

_CALL_S = 60.0
_BOOTED = Path("/run/systemd/system")  # there where systemd runs the machine


class State(Value):
    """What the manager says: `installed` where its file is there, `detail`
    in its own words."""

    installed: bool
    enabled: bool
    running: bool
    detail: str
    file: str


class Manager(Protocol):
    """One service manager."""

    file: Path

    def render(self) -> str:
        """The file as it should be."""

    def install(self, *, start: bool) -> None:
        """Write the file, have it started at each login, now too with
        `start`. Raises StorageError, UnavailableError."""

    def uninstall(self) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def status(self) -> State: ...

    def follow_log(self, count: int, *, follow: bool) -> Sequence[str]:
        """The command that prints the log. Raises NotFoundError where no
        service is installed."""


def find_manager(places: Places, env: Mapping[str, str] | None = None,
                 system: str = sys.platform) -> Manager:
    """Raises UnavailableError where there is none that claw knows."""
    env = os.environ if env is None else env
    if system == "darwin":
        return Launchd(places, env)
    if system.startswith("linux"):
        return Systemd(places, env)
    raise UnavailableError(f"claw knows no service manager of {system}",
                           hint="have yours run: claw listen")


def _command() -> list[str]:
    return [sys.executable, "-m", "claw", "listen"]


def _environment(places: Places, env: Mapping[str, str]) -> dict[str, str]:
    """What the service needs to work where this command does."""
    known = {"CLAW_HOME": str(places.home),
             "CLAW_WORKSPACE": str(places.workspace),
             "PYTHONUNBUFFERED": "1"}
    if path := env.get("PATH"):
        known["PATH"] = path
    return known


def _run(*command: str) -> str:
    """What it printed. Raises UnavailableError."""
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              errors="replace", timeout=_CALL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{command[0]} can't be run: {error}"
                               ) from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UnavailableError(
            f"{' '.join(command[:3])}: "
            f"{said[0] if said else f'exit {done.returncode}'}")
    return done.stdout


def _require_file(path: Path) -> None:
    if not path.exists():
        raise NotFoundError(f"no service is installed: there is no {path}",
                            hint="claw service install")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.new")
        draft.write_text(text, "utf-8")
        draft.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from error


class Systemd:
    """The user's own systemd."""

    def __init__(self, places: Places, env: Mapping[str, str]) -> None:
        self._places = places
        self._env = env
        base = env.get("XDG_CONFIG_HOME") or str(
            Path(env.get("HOME") or "~").expanduser() / ".config")
        self.file = Path(base) / "systemd" / "user" / UNIT

    def render(self) -> str:
        return render_unit(_command(), _environment(self._places, self._env),
                           self._places.home)

    def install(self, *, start: bool) -> None:
        self._call("daemon-reload")  # before anything is left behind
        _write(self.file, self.render())
        self._call("daemon-reload")
        self._call("enable", UNIT)
        if start:
            self._call("restart", UNIT)

    def uninstall(self) -> None:
        _require_file(self.file)
        self._call("disable", "--now", UNIT)
        self.file.unlink()
        self._call("daemon-reload")

    def start(self) -> None:
        _require_file(self.file)
        self._call("start", UNIT)

    def stop(self) -> None:
        _require_file(self.file)
        self._call("stop", UNIT)

    def status(self) -> State:
        told = dict(line.partition("=")[::2] for line in self._call(
            "show", UNIT, "--property=ActiveState,SubState,UnitFileState,"
            "Result,NRestarts,StatusText").splitlines())
        running = told.get("ActiveState") == "active"
        detail = f"{told.get('ActiveState')} ({told.get('SubState')})"
        if told.get("Result") not in ("success", None):
            detail += f", ended by {told['Result']}"
        if told.get("NRestarts", "0") != "0":
            detail += f", restarted {told['NRestarts']} times"
        if told.get("StatusText"):
            detail += f": {told['StatusText']}"
        return State(self.file.exists(),
                     told.get("UnitFileState") == "enabled", running, detail,
                     str(self.file))

    def follow_log(self, count: int, *, follow: bool) -> Sequence[str]:
        _require_file(self.file)
        return ["journalctl", "--user", "--unit", UNIT, "--no-pager",
                "--output", "short-iso", "--lines", str(count),
                *(["--follow"] if follow else [])]

    def _call(self, *arguments: str) -> str:
        try:
            return _run("systemctl", "--user", *arguments)
        except UnavailableError as error:
            if not _BOOTED.exists():
                raise UnavailableError(
                    "there is no systemd here", hint="run claw listen itself, "
                    "in a container as its program (docs/operations.md)"
                ) from error
            raise UnavailableError(
                error.message, hint="log in to this account itself (not by "
                "su)" if "bus" in error.message
                else f"systemctl --user status {UNIT}") from error


class Launchd:
    """The user's own launchd."""

    def __init__(self, places: Places, env: Mapping[str, str]) -> None:
        self._places = places
        self._env = env
        home = Path(env.get("HOME") or "~").expanduser()
        self.file = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        self._log = home / "Library" / "Logs" / "claw.log"
        self._domain = f"gui/{os.getuid()}"

    def render(self) -> str:
        return render_plist(
            _command(), _environment(self._places, self._env),
            self._places.home, self._log)

    def install(self, *, start: bool) -> None:
        _write(self.file, self.render())
        if start:
            self.start()

    def uninstall(self) -> None:
        self.stop()
        self.file.unlink(missing_ok=True)

    def start(self) -> None:
        _run("launchctl", "bootstrap", self._domain, str(self.file))

    def stop(self) -> None:
        _run("launchctl", "bootout", f"{self._domain}/{LABEL}")

    def status(self) -> State:
        try:
            told = _run("launchctl", "print", f"{self._domain}/{LABEL}")
        except UnavailableError as error:
            return State(self.file.exists(), False, False, error.message,
                         str(self.file))
        line = next((line.strip() for line in told.splitlines()
                     if line.strip().startswith("state = ")), "")
        return State(self.file.exists(), True, line == "state = running",
                     line.removeprefix("state = "), str(self.file))

    def follow_log(self, count: int, *, follow: bool) -> Sequence[str]:
        _require_file(self.file)
        return ["tail", "-n", str(count), *(["-f"] if follow else []),
                str(self._log)]
