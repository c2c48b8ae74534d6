"""Refusal: a call that nobody said yes to. Imports next to nothing, since
lists of such calls are local commands."""

from collections.abc import Sequence
from typing import Any

from claw.core.value import Value

NOT_DONE = "not done: "  # how the line of one begins
_MOST_TOLD = 10  # under one answer


class Refusal(Value):
    """A call that did not run, since nobody gave the yes that it wanted.

    `call` is what it would have done, `expired` says that somebody was
    asked; `allow` is the command that lets it run the next time, None where
    there is none.
    """

    tool: str
    call: str
    reason: str
    expired: bool = False
    allow: str | None = None

    @property
    def text(self) -> str:
        """For people, in one line."""
        return (f"{NOT_DONE}{self.tool} `{self.call}` wanted a yes, " + (
            "and none came in time" if self.expired
            else "nobody could be asked"))

    @property
    def remark(self) -> str:
        """With the next step."""
        return self.text + (f"; to allow it: `{self.allow}`"
                            if self.allow else f" ({self.reason})")

    def to_json(self) -> dict[str, Any]:
        return {"tool": self.tool, "call": self.call, "reason": self.reason,
                "expired": self.expired, "allow": self.allow}


def write_remarks(refused: Sequence[Refusal]) -> list[str]:
    """What is said of them under an answer: a model that goes in circles
    must not fill a phone."""
    more = len(refused) - _MOST_TOLD
    return [*(one.remark for one in refused[:_MOST_TOLD]), *(
        [f"{NOT_DONE}{more} more (see: claw log list --refused)"]
        if more > 0 else ())]
