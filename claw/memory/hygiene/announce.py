"""What hygiene is to remove is announced, and goes a day later at the
earliest.

An announcement holds for a store and the rules of its retention: with other
rules it is made anew. What was due when it was made is removed once its day
has passed, and nothing else then. After that what becomes due goes at the
next run, as long as that is not unusually much.
"""

import os
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from claw.core.memory import CONVERSATION
from claw.core.value import Value, replace
from claw.memory.hygiene.state import DAY, Announcement, State, Uptime
from claw.memory.settings import MemorySettings

# More memories at once than both of these are announced again.
_MANY = 100
_SHARE = 0.05
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_FILES = {"memory": "archived daily files", "sessions": "archived sessions",
          "messages": "messages of sessions in use"}


class Decision(Value):
    """What a run may remove.

    `state` is what holds once the run is done. Ages count back from
    `moment`; None: nothing may go. `is_announced`: only what was announced
    then.
    """

    state: State
    moment: datetime | None = None
    is_announced: bool = False


def read_uptime() -> Uptime:
    """That of this machine; a clock that is set moves it not at all."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    if clock is None:
        return Uptime()
    try:
        return Uptime(_BOOT_ID.read_text().strip(), time.clock_gettime(clock))
    except OSError:
        return Uptime()


def name_store(workspace: Path, backend: str) -> str:
    """Which store an announcement is for: another brain.db is another."""
    try:
        return f"{backend} {os.stat(workspace / 'memory/brain.db').st_ino}"
    except OSError:
        return backend


def list_retention(settings: MemorySettings) -> dict[str, int]:
    """Days by category, 0 for always; what [memory.policy] names wins."""
    return {CONVERSATION: settings.conversation_retention_days,
            **{name.strip().lower(): days for name, days in
               settings.policy.retention_days_by_category.items()}}


def count_session_days(settings: MemorySettings) -> int:
    """How old the messages of a session get, in use or not; 0 for ever."""
    days = settings.archive_after_days, settings.purge_after_days
    return sum(days) if min(days) > 0 else 0


def list_rules(settings: MemorySettings, store: str) -> dict[str, Any]:
    """What an announcement holds for."""
    return {"store": store, "categories": {
                name: days for name, days in list_retention(settings).items()
                if days > 0},
            "by_policy": sorted(
                name.strip().lower()
                for name in settings.policy.retention_days_by_category),
            "purge_after_days": settings.purge_after_days,
            "session_days": count_session_days(settings),
            "max_size_mb": settings.max_size_mb}


def choose_moment(state: State, rules: Mapping[str, Any],
                  now: datetime) -> datetime:
    """The moment to count for what `decide` is given."""
    pending = _find_pending(state, rules, now)
    return now if pending is None else pending.at


def decide(state: State, due: Announcement, total: int,
           rules: Mapping[str, Any], now: datetime) -> Decision:
    """Whether what is due may go, has to wait, or is to be announced.

    `due` is what counts at `choose_moment`, with the uptime of now;
    `total` is how many memories there are. A clock that was set back makes
    a new announcement, one that was set forward does not shorten the day.
    """
    pending = _find_pending(state, rules, now)
    released = state.released and state.rules == rules
    then = replace(state, rules=rules, released=released, announced=pending)
    if not due.count:
        return Decision(replace(then, announced=None, told={}))
    if pending is not None:
        if not _has_passed(pending, now, due.uptime):
            return Decision(then)
        return Decision(replace(then, released=True, announced=None, told={}),
                        pending.at, is_announced=True)
    if released and (due.rows <= _MANY or due.rows <= _SHARE * total):
        return Decision(then, now)
    return Decision(replace(then, announced=due, told={}))


def describe_announcement(found: Announcement,
                          rules: Mapping[str, Any]) -> str:
    """One line: how many of what, since when unchanged, when they go, and
    how they stay."""
    ages = rules.get("categories", {})
    parts = [f"{number:,} {'memory' if number == 1 else 'memories'} of "
             f"category {category}, unchanged for {ages.get(category)} "
             f"{'day' if ages.get(category) == 1 else 'days'}"
             for category, number in found.memories.items() if number]
    ways = [f"claw memory pin --category {category}"
            for category, number in found.memories.items() if number]
    ways += ["claw config set memory." + (
                 f"policy.retention_days_by_category.{category} 0"
                 if category in rules.get("by_policy", ())
                 else f"{CONVERSATION}_retention_days 0")
             for category, number in found.memories.items() if number]
    if found.for_size:
        parts.append(f"{found.for_size:,} of the oldest conversation for the "
                     "size (for good)")
        ways.append("claw config set memory.max_size_mb 0")
    if any(found.files.values()):
        parts += [f"{number:,} {_FILES.get(folder, folder)} (for good)"
                  for folder, number in found.files.items() if number]
        ways.append("claw config set memory.purge_after_days 0")
    return (f"from {found.not_before:%Y-%m-%d %H:%M} UTC on hygiene removes "
            + "; ".join(parts) + ". To keep them: "
            + ", or ".join(dict.fromkeys(ways)))


def _find_pending(state: State, rules: Mapping[str, Any],
                  now: datetime) -> Announcement | None:
    """The announcement that waits, where it is of these rules and not of
    the future."""
    found = state.announced
    return found if found is not None and state.rules == rules \
        and found.at <= now else None


def _has_passed(found: Announcement, now: datetime, uptime: Uptime) -> bool:
    """Whether its day is over, by the clock, and by the uptime too where
    the machine was not started again since."""
    same = found.uptime.boot != "" and found.uptime.boot == uptime.boot
    return now >= found.not_before and (not same or (
        uptime.seconds - found.uptime.seconds >= DAY.total_seconds()))
