"""Options of claw cron add and update as fields of a job."""

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from claw.cli.terminal.prompt import split_names
from claw.config.tree import Tree
from claw.core.errors import UsageError
from claw.core.minutes import parse_span
from claw.core.registry import nearest
from claw.storage.jobs.model import MISSED, SESSION_TARGETS, Delivery
from claw.storage.jobs.schedule import Schedule, parse_schedule
from claw.wiring.listen.send import parse_target

NONE = "none"  # takes an option away
_LEVELS = ("readonly", "supervised")
_ZONE_FILE = Path("/etc/localtime")
_WORDS = 7  # fields of an expression


def read_schedule(given: Mapping[str, Any], *, now: datetime,
                  zone: str | None = None) -> Schedule | None:
    """The one that an expression, --every, --at or --in says; None without
    any. `zone` is that of the job where --tz says nothing. Raises
    UsageError."""
    words = given["words"] or []
    kinds = {"an expression": bool(words), "--every": given["every"],
             "--at": given["at"], "--in": given["in_"]}
    said = [name for name, value in kinds.items() if value]
    if len(said) > 1:
        raise UsageError(f"{' and '.join(said)} exclude each other",
                         hint="a job has one schedule")
    tz = read_zone(given["tz"]) if given["tz"] else zone
    if given["tz"] and said and said[0] in ("--every", "--in"):
        raise UsageError(f"--tz says nothing beside {said[0]}",
                         hint="leave it out")
    if words:
        return parse_expression(words, tz)
    if given["every"]:
        return Schedule("every", every_ms=1000 * read_span(
            "--every", given["every"]))
    if given["in_"]:
        moment = now + timedelta(seconds=read_span("--in", given["in_"]))
        return parse_schedule({"kind": "at", "at": moment.isoformat()})
    return _read_moment(given["at"], tz) if given["at"] else None


def parse_expression(words: list[str], tz: str | None) -> Schedule:
    """Raises UsageError, for names of files what the shell made of a *."""
    text = " ".join(words)
    fields = text.split()
    if len(fields) > _WORDS or (len(words) > 1 and any(
            os.path.lexists(word) for word in words)):
        raise UsageError(
            f"{len(fields)} words are no cron expression",
            hint="put it in quotes, or the shell makes files of each *: "
                 '"0 9 * * MON-FRI"')
    if len(fields) == 1 and not text.startswith("@"):
        try:
            parse_span(text)
        except ValueError:
            pass
        else:
            raise UsageError(f"{text!r} is no cron expression",
                             hint=f"every so often: --every {text}; once: "
                                  f"--in {text}")
    return parse_schedule({"kind": "cron", "expr": text, "tz": tz})


def read_span(option: str, text: str) -> int:
    """Seconds. Raises UsageError."""
    try:
        return parse_span(text)
    except ValueError:
        raise UsageError(f"{option}: {text!r:.80} is no span of time",
                         hint="a number and s, m, h, d or w: 90s, 1h30m, 2d"
                         ) from None


def _read_moment(text: str, tz: str | None) -> Schedule:
    text = re.sub(r"(?<=\d) (?=\d)", "T", text.strip(), count=1)
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        moment = None
    if moment is not None and moment.tzinfo is None:
        if tz is None:
            raise UsageError(
                f"--at: {text!r:.80} names no offset from UTC",
                hint=f"write {text:.40}Z or {text:.40}+01:00, or add --tz "
                     "local")
        from zoneinfo import ZoneInfo
        text = moment.replace(tzinfo=ZoneInfo(tz)).astimezone(
            UTC).isoformat()
    return parse_schedule({"kind": "at", "at": text})


def read_zone(name: str) -> str:
    """An IANA name. Raises UsageError with the nearest one."""
    if name.lower() == "local":
        return _find_local_zone()
    from zoneinfo import ZoneInfo, available_timezones
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        known = available_timezones()
        city = {zone.rpartition("/")[2].lower(): zone for zone in known}
        near = nearest(name, known) or city.get(
            nearest(name.lower(), city) or "")
        raise UsageError(
            f"--tz: there is no time zone {name!r:.80}",
            hint=f"did you mean {near}?" if near
            else "an IANA name such as Europe/Berlin") from None
    return name


def _find_local_zone() -> str:
    """The zone of this machine by its name. Raises UsageError."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name and _ZONE_FILE.is_symlink():
        name = str(_ZONE_FILE.resolve()).rpartition("zoneinfo/")[2]
    name = name or "UTC"
    from zoneinfo import ZoneInfo
    try:
        return str(ZoneInfo(name))
    except (KeyError, ValueError, OSError):
        raise UsageError(
            f"the zone of this machine has no name ({name!r:.80})",
            hint="say it: --tz Europe/Berlin") from None


def read_fields(given: Mapping[str, Any], tree: Tree) -> dict[str, Any]:
    """What was said of a job besides its schedule, prompt and policy, as
    fields of a JobSpec. Raises UsageError and ConfigError."""
    fields: dict[str, Any] = {
        name: _clear(given[name]) for name in ("name", "precheck", "model")
        if given[name] is not None}
    for option, name, known in (("--missed", "missed", MISSED),
                                ("--session", "session", SESSION_TARGETS)):
        if given[name] is not None:
            fields["session_target" if name == "session" else name] = \
                _choose(option, given[name], known)
    if given["tools"] is not None:
        fields["allowed_tools"] = tuple(split_names(given["tools"]))
    for option, name, field in (("--dead-man", "dead_man", "max_silence_s"),
                                ("--timeout", "timeout", "timeout_s")):
        if given[name] is not None:
            fields[field] = None if given[name] == NONE \
                else read_span(option, given[name])
    if given["monthly_limit"] is not None:
        fields["monthly_cents"] = given["monthly_limit"] * 100 or None
    if given["keep"] is not None:
        fields["delete_after_run"] = not given["keep"]
    return fields | _read_delivery(given, tree)


def _read_delivery(given: Mapping[str, Any], tree: Tree) -> dict[str, Any]:
    best_effort = not given["must_deliver"]
    if given["to"] is None:
        return {}
    if given["to"] == NONE:
        return {"delivery": Delivery()}
    channel, recipient = parse_target(tree, given["to"])
    return {"delivery": Delivery("announce", channel, recipient,
                                 best_effort=best_effort)}


def read_policy_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """What its runs may do less, as a job's policy has it."""
    found: dict[str, Any] = {}
    if given["level"] is not None:
        found["level"] = _choose("--level", given["level"], _LEVELS)
    for option, name in (("exclude_tools", "excluded_tools"),
                         ("allow_commands", "allowed_commands")):
        if given[option] is not None:
            found[name] = split_names(given[option])
    if given["max_actions"] is not None:
        found["max_actions_per_hour"] = given["max_actions"]
    if given["max_cost"] is not None:
        found["max_cost_per_turn_cents"] = int(given["max_cost"] * 100 + 1e-6)
    return found


def find_strange_tools(names: tuple[str, ...] | None) -> list[str]:
    """What is said of names that no tool of claw's has, but nearly."""
    from claw.tools import REGISTRY
    known = REGISTRY.names()
    return [f'no tool is called {name!r}; did you mean "{near}"?'
            for name in names or () if name not in known
            and (near := nearest(name, known))]


def _choose(option: str, value: str, known: tuple[str, ...]) -> str:
    if value in known:
        return value
    near = nearest(value.lower(), known)
    raise UsageError(f"{option}: {value!r:.80} is none of "
                     f"{', '.join(known)}",
                     hint=f'did you mean "{near}"?' if near else None)


def _clear(text: str) -> str | None:
    text = text.strip()
    return None if text in ("", NONE) else text


