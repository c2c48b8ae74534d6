"""reaction: an emoji under the message that is answered, and no other: a
model knows the ids of none."""

from claw.core.errors import UnavailableError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    string,
)
from claw.core.turn import Reacts
from claw.tools.offer.checked import CheckedTool

_EMOJI_CHARS = 16  # a family of four joined ones has eleven


class Reaction(CheckedTool):
    """Shows or takes back one reaction."""

    name = "reaction"
    description = "React with an emoji to the message that you answer."
    repeatable = True  # the same emoji again changes nothing
    labels_itself = True

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy
        self._reacts: Reacts | None = deps.reacts

    def parameters_schema(self) -> Schema:
        return closed_object(
            emoji=string("One emoji", minLength=1),
            action=string("What to do", enum=["add", "remove"],
                          default="add"))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        emoji, add = args["emoji"].strip(), args["action"] == "add"
        if not _is_emoji(emoji):
            raise UsageError("that is no single emoji")
        if self._reacts is None:
            raise UnavailableError("there is no message here to react to")
        await self._reacts.react(emoji, add=add)
        return ToolResult(
            f"{emoji} is {'shown' if add else 'taken back'} where the "
            "platform takes this emoji")


def _is_emoji(text: str) -> bool:
    """Whether no letter, digit or blank stands there: it is a sign, no
    message."""
    return 0 < len(text) <= _EMOJI_CHARS and not any(
        c.isalnum() or c.isspace() or c.isascii() or not (
            c.isprintable() or c in "\u200d\ufe0f") for c in text)
