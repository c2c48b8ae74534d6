"""How the parts of the service are: the registry behind `claw listen`'s
status, the gateway's /health and `claw channel doctor`.

Health of a channel is the age of its last completed receive: a task that
lives and receives nothing is not well.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError
from claw.core.times import rfc3339
from claw.security.files import nofollow

_TIMES = ("updated_at", "last_ok", "last_receive", "last_send", "last_turn")


def _utc(moment: float | None) -> str | None:
    return None if moment is None else rfc3339(moment)


@dataclass(slots=True)
class Component:
    """One part; times are unix seconds. `hint` is the next step after
    `last_error`; `not_there` counts what was sent and does not stand there;
    `rejected`: why it goes on with the settings from before; `address`:
    where it serves.
    """

    status: str = "starting"
    updated_at: float = 0.0
    last_ok: float | None = None
    last_error: str | None = None
    hint: str | None = None
    restart_count: int = 0
    last_receive: float | None = None
    last_send: float | None = None
    last_turn: float | None = None
    not_there: int = 0
    rejected: str | None = None
    address: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"status": self.status, "updated_at": _utc(self.updated_at),
                "last_ok": _utc(self.last_ok),
                "last_error": self.last_error, "hint": self.hint,
                "restart_count": self.restart_count,
                "last_receive": _utc(self.last_receive),
                "last_send": _utc(self.last_send),
                "last_turn": _utc(self.last_turn),
                "not_there": self.not_there,
                "rejected": self.rejected, "address": self.address}


@dataclass(slots=True)
class Health:
    """Every component by name, e.g. "channel:webhook". `command` is what
    the process does. `settings`: SHA-256 of the config.toml in force,
    `settings_tried` of the last one that it wanted to take over."""

    command: str = "listen"
    now: Callable[[], float] = time.time
    clock: Callable[[], float] = time.monotonic
    parts: dict[str, Component] = field(default_factory=dict)
    settings: str | None = None
    settings_tried: str | None = None
    _received: dict[str, float] = field(default_factory=dict)
    _excused: dict[str, float] = field(default_factory=dict)
    _failing: set[str] = field(default_factory=set)
    _started: float = field(default_factory=time.monotonic)

    def part(self, name: str) -> Component:
        return self.parts.setdefault(name, Component(updated_at=self.now()))

    def ok(self, name: str) -> None:
        part = self.part(name)
        part.status, part.last_error, part.hint = "ok", None, None
        part.last_ok = part.updated_at = self.now()

    def error(self, name: str, text: str, hint: str | None = None) -> None:
        part = self.part(name)
        part.status, part.last_error, part.hint = "error", text, hint
        part.updated_at = self.now()

    def count_restart(self, name: str) -> None:
        self.part(name).restart_count += 1

    def note_receive(self, name: str) -> None:
        """A receive was completed: the one sign that a channel works."""
        self.part(name).last_receive = self.now()
        self._received[name] = self.clock()
        if name in self._failing:
            self._failing.remove(name)
            self.ok(name)

    def fail_receiving(self, name: str, text: str) -> None:
        """Nothing can be received, until the next `note_receive`."""
        self._failing.add(name)
        self.error(name, text)

    def beat(self, name: str) -> None:
        """The part lives: well, unless it can't receive."""
        if name not in self._failing:
            self.ok(name)

    def note_send(self, name: str) -> None:
        self.part(name).last_send = self.now()

    def note_not_there(self, name: str) -> None:
        """A platform took a part, and it does not stand there."""
        self.part(name).not_there += 1

    def note_turn(self) -> None:
        """A turn ended, and its end is kept."""
        self.ok("turns")
        self.part("turns").last_turn = self.now()

    def begin_receiving(self, name: str) -> None:
        """The age counts from here."""
        self._failing.discard(name)
        self._received[name] = self.clock()

    def excuse(self, name: str, seconds: float) -> None:
        """Silence is meant for so long."""
        self._excused[name] = self.clock() + seconds

    def silent_s(self, name: str) -> float:
        """Seconds of silence that nothing excuses."""
        return min(self.receive_age_s(name),
                   self.clock() - self._excused.get(name, 0.0))

    def receive_age_s(self, name: str) -> float:
        """Seconds since the last completed receive (or the start)."""
        return self.clock() - self._received.get(name, self._started)

    def snapshot(self) -> dict[str, Any]:
        return {"pid": os.getpid(), "command": self.command,
                "updated_at": _utc(self.now()),
                "uptime_seconds": int(self.clock() - self._started),
                "settings": self.settings,
                "settings_tried": self.settings_tried,
                "components": {name: self.parts[name].to_json()
                               for name in sorted(self.parts)}}


def write_state(health: Health, path: Path) -> None:
    """The snapshot as a file for other processes, replaced whole."""
    state = {**health.snapshot(), "written_at": _utc(health.now())}
    try:
        nofollow.write(*nofollow.split(path), (json.dumps(
            state, ensure_ascii=False).encode(),), sync=False)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}",
                           hint="check the disk and its free space"
                           ) from error


def read_state(path: Path) -> dict[str, Any] | None:
    """What a running `claw listen` last wrote; None where there is none
    or it can't be read. Each part has the keys of Component, whatever was
    written."""
    try:
        state = json.loads(nofollow.read(*nofollow.split(path)))
        return {**state, "components": {
            name: _read_part(part)
            for name, part in state["components"].items()}}
    except (OSError, StorageError, ValueError, RecursionError, KeyError,
            TypeError, AttributeError):
        return None


def _read_part(part: object) -> dict[str, Any]:
    """What is of its kind; the rest as if nothing were known."""
    found = Component("unknown").to_json()
    for name, value in part.items() if isinstance(part, dict) else ():
        fits = isinstance(value, int) if name == "restart_count" else (
            isinstance(value, str) and (name not in _TIMES
                                        or _is_time(value)))
        if name in found and fits:
            found[name] = value
    return found


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
