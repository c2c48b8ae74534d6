"""The probes of `claw doctor`: one value per finding.

A check has a stable id ("memory.index"), a status and, unless it is ok, the
exact next step. Groups are independent: one that fails hides no other.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from claw.config.places import Places
from claw.config.tree import Tree
from claw.core.errors import Cause, ClawError
from claw.core.value import Value

Status: TypeAlias = Literal["ok", "warn", "fail", "skip"]


class Check(Value):
    """One finding. `cause` says why it failed, where that is known.
    `repair` mends it (claw doctor --fix) where it can:
    `fix` says what it does, `undo` the command that takes it back (None:
    nothing does)."""

    id: str
    status: Status
    detail: str
    hint: str | None = None
    repair: Callable[[], None] | None = None
    fix: str | None = None
    undo: str | None = None
    cause: Cause | None = None

    @property
    def group(self) -> str:
        return self.id.partition(".")[0]

    @property
    def section(self) -> str:
        """What it stands under on the screen: its group, or of channels
        each one ("channels.NAME")."""
        parts = self.id.split(".")
        return ".".join(parts[:2]) if self.group == "channels" \
            and len(parts) > 2 else self.group

    def to_json(self) -> dict[str, str | None]:
        return {"id": self.id, "group": self.group, "status": self.status,
                "detail": self.detail, "hint": self.hint}


Probe: TypeAlias = Callable[..., Iterator[Check]]


class Group:
    """The checks of one group, in the order in which they stand in their
    module. A check is one function with `@GROUP.check` above it; it is
    given the settings, or the places where the group looks without."""

    def __init__(self, name: str, *, reads_settings: bool = True) -> None:
        self.name = name
        self.reads_settings = reads_settings
        self._probes: list[Probe] = []

    def check(self, probe: Probe) -> Probe:
        """Add a check; a decorator."""
        self._probes.append(probe)
        return probe

    def run(self, *subject: Any) -> Iterator[Check]:
        """All findings; an error on the way ends the group."""
        for probe in self._probes:
            yield from probe(*subject)


def run_groups(groups: Sequence[Group], places: Places, tree: Tree | None
               ) -> Iterator[Check]:
    """The findings of all groups. Without a tree those are skipped that
    read the settings."""
    for group in groups:
        if not group.reads_settings:
            yield from run(group.name, group.run, places)
        elif tree is not None:
            yield from run(group.name, group.run, tree)
        else:
            yield Check(f"{group.name}.skipped", "skip",
                        "not looked at: config.toml can't be read")


def run(group: str, probe: Probe, *subject: Any) -> Iterator[Check]:
    """The findings of one group; an error on the way is a finding too."""
    try:
        yield from probe(*subject)
    except ClawError as error:
        yield Check(f"{group}.{error.kind}", "fail", error.message,
                    error.hint)
    except OSError as error:
        yield Check(f"{group}.system", "fail",
                    f"{error.strerror or error}: {error.filename or ''}",
                    f"look at: ls -ld {shlex.quote(str(error.filename))}"
                    if error.filename else "run it again with -v")
