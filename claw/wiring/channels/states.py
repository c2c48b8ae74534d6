"""How the channels are: what a running `claw listen` last wrote of them."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claw.channels import REGISTRY
from claw.config.places import Places
from claw.config.tree import Tree
from claw.core.times import rfc3339
from claw.core.value import Value, replace
from claw.runtime.process.health import read_state
from claw.runtime.settings import ChannelsSettings
from claw.storage.names import Binding, PeopleFile
from claw.wiring.channels.names import CONSOLE, SECTION, list_configured
from claw.wiring.workspace.place_names import (
    gateway_state_path,
    people_path,
    state_path,
)

STALE_S = 60.0


class ChannelState(Value):
    """One row of `claw channel list`. `status` is "ok", "error",
    "starting" or "unknown" (claw listen does not run); times RFC 3339.
    `not_there` counts what was sent since the start and does not stand
    there, `hint` is the next step after `error`, `rejected` is why it goes
    on with the settings from before, `people` are the names of allow-lists
    that belong to somebody."""

    name: str
    configured: bool
    status: str = "unknown"
    last_receive: str | None = None
    last_send: str | None = None
    restarts: int = 0
    not_there: int = 0
    error: str | None = None
    hint: str | None = None
    rejected: str | None = None
    people: tuple[Binding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "configured": self.configured,
                "status": self.status, "last_receive": self.last_receive,
                "last_send": self.last_send, "restarts": self.restarts,
                "not_there": self.not_there,
                "error": self.error, "hint": self.hint,
                "rejected": self.rejected,
                "people": [{"name": one.name, "id": one.id,
                            "since": one.since, "refused": one.refused}
                           for one in self.people]}


class Running(Value):
    """What a running `claw listen` (or `command`) last wrote: its parts by
    name, since when it runs (RFC 3339) and how old that is. `settings` and
    `settings_tried` as claw.runtime.process.health.Health has them."""

    pid: int
    command: str
    since: str | None
    age_s: float
    parts: dict[str, Any]
    settings: str | None = None
    settings_tried: str | None = None


def states(tree: Tree) -> list[ChannelState]:
    """Every channel that claw knows: the console, then those that are
    configured, then the others."""
    names = list_configured(tree)
    others = [n for n in REGISTRY.names() if n not in names and n != CONSOLE]
    console = tree.decode(SECTION, ChannelsSettings).cli
    live = read_parts(tree.places)
    people = PeopleFile(people_path(tree.places))
    return [build_state(CONSOLE, console or CONSOLE in names, live),
            *(replace(build_state(n, True, live),
                      people=tuple(people.list(n)))
              for n in names if n != CONSOLE),
            *(build_state(n, False, live) for n in others)]


def read_parts(places: Places) -> dict[str, Any] | None:
    """The components of a running `claw listen`; None where none runs, or
    one that says nothing any more."""
    found = read_running(places)
    return None if found is None or found.age_s > STALE_S else found.parts


def read_running(places: Places) -> Running | None:
    """The `claw listen` whose process is alive; None where there is
    none."""
    return _read_running(state_path(places))


def read_gateway(places: Places) -> Running | None:
    """The same of a `claw gateway` that runs alone."""
    found = _read_running(gateway_state_path(places))
    return None if found is None or found.age_s > STALE_S else found


def _read_running(path: Path) -> Running | None:
    state = read_state(path)
    if state is None:
        return None
    age = age_s(state.get("written_at"))
    if age is None or not _is_alive(state.get("pid")):
        return None
    try:
        since = rfc3339(time.time() - age - float(state["uptime_seconds"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        since = None
    return Running(int(str(state["pid"])), str(state.get("command")
                   or "listen"), since, age, state["components"],
                   _read_digest(state, "settings"),
                   _read_digest(state, "settings_tried"))


def _read_digest(state: dict[str, Any], name: str) -> str | None:
    found = state.get(name)
    return found if isinstance(found, str) else None


def _is_alive(pid: object) -> bool:
    try:
        os.kill(int(str(pid)), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def age_s(stamp: object) -> float | None:
    """Seconds since an RFC 3339 time; None where it is none."""
    try:
        moment = datetime.fromisoformat(str(stamp))
    except ValueError:
        return None
    return (None if moment.tzinfo is None
            else (datetime.now(UTC) - moment).total_seconds())


def build_state(name: str, is_configured: bool,
                live: dict[str, Any] | None) -> ChannelState:
    part = (live or {}).get(f"channel:{name}")
    if not isinstance(part, dict):
        return ChannelState(name, is_configured)
    return ChannelState(
        name, is_configured, str(part.get("status")),
        part.get("last_receive"), part.get("last_send"),
        int(part.get("restart_count") or 0),
        int(part.get("not_there") or 0), part.get("last_error"),
        part.get("hint"), part.get("rejected") or _read_rejected(live or {}))


def _read_rejected(live: dict[str, Any]) -> str | None:
    """Why config.toml as a whole is not in force."""
    part = live.get("config")
    return part.get("last_error") if isinstance(part, dict) else None
