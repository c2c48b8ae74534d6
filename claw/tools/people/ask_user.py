"""ask_user: a question to the person of this turn.

It begins with words that a model can't take away: no question passes for one
of claw's own, which asks for approval in the same chat.
"""

import re

from claw.core.errors import UnavailableError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    integer,
    optional,
    string,
)
from claw.core.turn import Asks
from claw.tools.offer.checked import CheckedTool, check_arguments
from claw.tools.web.foreign import clean

TIMEOUT_S = 300
# More buttons no chat shows, and no longer ones.
MOST_CHOICES = 10
CHOICE_CHARS = 60
PREFIX = "The model asks: "


class AskUser(CheckedTool):
    """Waits for the answer; where nobody can be asked it fails at once."""

    name = "ask_user"
    description = ("Ask the user a question and wait for the answer. Only "
                   "for what you can't find out or decide yourself.")
    reads = True
    repeatable = True  # the question is known to the queue
    labels_itself = True

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy
        self._asks: Asks | None = deps.asks

    def parameters_schema(self) -> Schema:
        return closed_object(
            question=string("The question", minLength=1),
            choices=optional({
                "type": "array", "items": {"type": "string"},
                "description": "Answers to choose from, up to "
                               f"{MOST_CHOICES} short ones"}),
            timeout_secs=integer("How long to wait", default=TIMEOUT_S,
                                 minimum=1, maximum=3600))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        choices = [clean(choice) if isinstance(choice, str) else choice
                   for choice in args.get("choices", [])]
        one = closed_object(choice=string("", minLength=1))
        for choice in choices:
            check_arguments(one, {"choice": choice})
        if len(choices) > MOST_CHOICES \
                or any(len(choice) > CHOICE_CHARS for choice in choices):
            return ToolResult.failure(
                f"at most {MOST_CHOICES} choices, of {CHOICE_CHARS} "
                "characters each")
        if self._asks is None:
            raise UnavailableError("nobody can be asked here")
        question = PREFIX + re.sub(r"\n{3,}", "\n\n", clean(args["question"]))
        return ToolResult(await self._asks.ask_user(
            question, choices, float(args["timeout_secs"])))
