"""A part of the status: what programs read, and the lines for people."""

from typing import Any

from claw.core.value import Value
from claw.wiring.checks.check import Check


class Part(Value):
    """`data` is its JSON (None: not known), each check a line of it."""

    name: str
    data: Any
    checks: tuple[Check, ...]


class Status(Value):
    """`at` is when it was looked, RFC 3339."""

    at: str
    workspace: str
    parts: tuple[Part, ...]

    @property
    def checks(self) -> list[Check]:
        return [check for part in self.parts for check in part.checks]

    @property
    def ok(self) -> bool:
        """Whether nothing is broken; warnings do not count."""
        return all(check.status != "fail" for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        return {"ok": self.ok, "at": self.at, "workspace": self.workspace,
                **{part.name: part.data for part in self.parts
                   if part.name != "doctor"},
                "checks": [check.to_json() for check in self.checks]}
