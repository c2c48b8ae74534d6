"""poll: a question with answers to choose from, for all in a chat.

A platform's own poll where it has them, else a numbered text. It goes
through the outbox as a message does. People vote there; the votes come back
to nobody, answers to the text come as any message.
"""

from claw.core.errors import ConfigError, UnavailableError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    optional,
    string,
)
from claw.core.turn import SendsPolls, current_turn
from claw.tools.offer.checked import CheckedTool, check_arguments
from claw.tools.people.sending import build_key, count_sent
from claw.tools.web.foreign import to_line

MOST_OPTIONS = 10
OPTION_CHARS = 100
QUESTION_CHARS = 250


class Poll(CheckedTool):
    """Sends one poll."""

    name = "poll"
    description = ("Send a poll to a chat. You do not get the votes: people "
                   "see them there.")
    repeatable = True  # the key is known to the outbox
    labels_itself = True

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy
        self._send: SendsPolls | None = deps.send \
            if isinstance(deps.send, SendsPolls) else None

    def parameters_schema(self) -> Schema:
        channels = self._send.channels if self._send else ()
        return closed_object(
            question=string("The question", minLength=1),
            options={"type": "array", "items": {"type": "string"},
                     "description": f"2 to {MOST_OPTIONS} answers"},
            to=optional(string(
                "CHANNEL:RECIPIENT; default: this chat. Channels: "
                + (", ".join(channels) or "none"))))

    async def run(self, args: Arguments) -> ToolResult:
        question = to_line(args["question"], QUESTION_CHARS + 1)
        options = _read_options(args["options"])
        if not 0 < len(question) <= QUESTION_CHARS:
            raise UsageError("the question must have 1 to "
                             f"{QUESTION_CHARS} characters")
        self._policy.enforce("act")
        if self._send is None:
            raise ConfigError("no channel is set up here to send through")
        target = args.get("to") or _find_chat()
        count_sent(self.name)
        return ToolResult(await self._send.send_poll(
            build_key(), target, question, options))


def _read_options(given: list[str]) -> list[str]:
    """The options, each on one line. Raises UsageError."""
    one = closed_object(option=string("", minLength=1))
    options = [to_line(check_arguments(one, {"option": option})["option"],
                       OPTION_CHARS + 1) for option in given]
    if not 2 <= len(options) <= MOST_OPTIONS \
            or len({*options}) < len(options) \
            or not all(0 < len(option) <= OPTION_CHARS
                       for option in options):
        raise UsageError(f"a poll has 2 to {MOST_OPTIONS} different options "
                         f"of 1 to {OPTION_CHARS} characters")
    return options


def _find_chat() -> str:
    """The chat of this turn. Raises UnavailableError."""
    turn = current_turn.get()
    if turn is None or turn.channel is None or not turn.reply_target:
        raise UnavailableError("this turn has no chat; say where with: to")
    return f"{turn.channel.partition(':')[0]}:{turn.reply_target}"
