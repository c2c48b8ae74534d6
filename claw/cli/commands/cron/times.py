"""When a job runs, as the options of a line say it."""

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from claw.core.errors import UsageError
from claw.core.minutes import parse_span, write_span
from claw.core.registry import nearest
from claw.storage.jobs.schedule import Schedule, parse_schedule

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


def read_span(option: str, text: str, most_s: int | None = None) -> int:
    """Seconds. Raises UsageError."""
    try:
        seconds = parse_span(text)
    except ValueError as error:
        raise UsageError(f"{option}: {text!r:.80} is no span of time",
                         hint=str(error)) from None
    if most_s is not None and seconds > most_s:
        raise UsageError(f"{option}: {text!r:.80} is too long",
                         hint=f"at most {write_span(most_s)}")
    return seconds


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
