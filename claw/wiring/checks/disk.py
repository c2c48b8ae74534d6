"""Doctor: what claw takes of the disk, and when the disk is full."""

import shutil
import time
from collections.abc import Iterator

from claw.config.places import Places
from claw.storage.disk_use import (
    Forecast,
    Sample,
    forecast,
    measure,
    read_samples,
)
from claw.wiring.checks.check import Check
from claw.wiring.checks.places import find_existing

_SOON_DAYS = 30
_NAMED = 4  # the largest parts
_SMALL = 1 << 16  # a day


def check_disk_use(places: Places) -> Iterator[Check]:
    """How much each part takes, how fast it grows, and until when there is
    room. Samples are those of claw listen, one a day."""
    if not places.workspace.is_dir():
        return
    now = Sample(time.time(), measure(places.home, places.workspace))
    found = forecast(read_samples(places.workspace), now, shutil.disk_usage(
        find_existing(places.workspace)).free)
    yield Check("disk.use", "ok", f"claw takes {_show(found.now)}"
                + _name_largest(found))
    if found.a_day is None:
        yield Check("disk.growth", "skip", "how fast it grows is known a day "
                    "after claw listen was first started")
    elif found.days_left is not None and found.days_left < _SOON_DAYS:
        yield Check("disk.growth", "warn", _say(found), "make room, or keep "
                    "less: log.keep_days, log.max_mb, "
                    "memory.conversation_retention_days, "
                    "channels_config.files_keep_days")
    else:
        yield Check("disk.growth", "ok", _say(found))


def _say(found: Forecast) -> str:
    a_day = found.a_day or 0.0
    if a_day < _SMALL:
        return "it does not grow"
    fastest = max(found.parts, key=lambda name: found.parts[name][1] or 0)
    return (f"it grows by {_show(a_day)} a day, most of it {fastest} "
            f"({_show(found.parts[fastest][1] or 0)})" + (
                f": the disk is full in {found.days_left:,.0f} days"
                if found.days_left and found.days_left < 3650 else ""))


def _name_largest(found: Forecast) -> str:
    largest = sorted(found.parts.items(), key=lambda one: -one[1][0])
    return "".join(f"{', ' if number else ': '}{name} {_show(size)}"
                   for number, (name, (size, _))
                   in enumerate(largest[:_NAMED]))


def _show(size: float) -> str:
    return f"{size / (1 << 20):,.1f} MiB"
