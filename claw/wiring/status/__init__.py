"""How claw is at this moment, for `claw status`: settings, service, stores,
last errors.

Files and databases are read, none is changed, and nobody is asked over a
network: what a running `claw listen` knows it has written. Whatever can't be
read is a finding of its part and hides no other.
"""

import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.core.errors import ClawError
from claw.core.times import rfc3339
from claw.core.value import replace
from claw.storage.sqlite import CorruptError
from claw.wiring.checks.check import Check, run
from claw.wiring.checks.config import find_refused
from claw.wiring.checks.memory import (
    check_aside,
    check_forgetting,
    check_hygiene,
)
from claw.wiring.checks.places import CONFIG, WORKSPACE, check_free_space
from claw.wiring.status.errors import read_errors
from claw.wiring.status.part import Part, Status
from claw.wiring.status.service import read_service
from claw.wiring.status.stores import (
    read_jobs,
    read_memory,
    read_queue,
    read_spending,
)

Read: TypeAlias = Callable[[Places, Tree | None], Part]
_STORES: tuple[tuple[str, Read], ...] = (
    ("queue", read_queue), ("memory", read_memory),
    ("spending", read_spending), ("jobs", read_jobs),
    ("errors", read_errors))


def read_status(places: Places) -> Status:
    """All parts. Raises nothing that a part can say."""
    tree, config = _read_settings(places)
    parts = [config, *read_service(places, tree), *(
        _guard(name, read, places, tree) for name, read in _STORES)]
    trouble = Part("doctor", None, tuple(_find_trouble(places, tree)))
    return Status(rfc3339(time.time()), str(places.workspace),
                  (*parts, trouble))


def _read_settings(places: Places) -> tuple[Tree | None, Part]:
    """The settings, None where they can't be read, and what claw listen
    would refuse of them."""
    try:
        tree = load(places)
    except ClawError as error:
        return None, Part("config", error.message, (
            Check("config", "fail", error.message,
                  error.hint or "claw config check"),))
    wrong = [finding for finding in find_refused(tree)
             if finding.level == "error"]
    return tree, Part(
        "config", wrong[0].text if wrong else None,
        tuple(Check(f"config.{finding.key}", "fail", finding.text,
                    finding.hint or "claw config check")
              for finding in wrong))


def _guard(name: str, read: Read, places: Places, tree: Tree | None
           ) -> Part:
    """A part, or what keeps it from being read."""
    try:
        return read(places, tree)
    except ClawError as error:
        hint = error.hint or (
            "stop claw listen, keep a copy, and move it away: a new one is "
            "begun" if isinstance(error, CorruptError) else None)
        return Part(name, None, (Check(name, "fail", error.message, hint),))


def _find_trouble(places: Places, tree: Tree | None) -> Iterator[Check]:
    """What else the doctor finds at once and without asking anybody."""
    found = [*run("config", CONFIG.run, places),
             *run("workspace", WORKSPACE.run, places),
             *run("disk", check_free_space, places)]
    if tree is not None:
        for probe in (check_hygiene, check_forgetting, check_aside):
            found += run("memory", probe, tree)
    for check in found:
        if check.id == "config.stopped":  # nothing runs, so all is not well
            yield replace(check, status="fail")
        elif check.status != "ok":
            yield check
