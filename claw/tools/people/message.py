"""message: a text to somebody, through a channel that is set up.

It goes through the outbox under the key (turn, call), so that a turn that
is taken up after a kill can't send it twice.
"""

from claw.core.errors import ConfigError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    string,
)
from claw.core.turn import SendsText
from claw.tools.offer.checked import CheckedTool
from claw.tools.people.sending import build_key, count_sent


class Message(CheckedTool):
    """Sends text, never a file."""

    name = "message"
    description = ("Send a text message to somebody. Not for the answer to "
                   "the one who asks: that is sent by itself.")
    repeatable = True  # the key is known to the outbox
    labels_itself = True

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy
        self._send: SendsText | None = deps.send

    def parameters_schema(self) -> Schema:
        channels = self._send.channels if self._send else ()
        return closed_object(
            to=string("CHANNEL:RECIPIENT. Channels: "
                      + (", ".join(channels) or "none"), minLength=1),
            text=string("The whole message", minLength=1))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        if self._send is None:
            raise ConfigError("no channel is set up here to send through")
        count_sent(self.name)
        return ToolResult(await self._send.send_text(
            build_key(), args["to"], args["text"]))
