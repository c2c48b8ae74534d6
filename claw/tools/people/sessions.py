"""sessions_list, sessions_history, sessions_send: the conversations that
claw keeps.

What every person said stands in them, so they answer the owner at the
machine alone, never a turn that came through a channel.
"""

import asyncio

from claw.core.errors import DeniedError, UnavailableError, UsageError
from claw.core.sessions import ReadsSessions
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    integer,
    string,
)
from claw.core.turn import TurnContext, current_turn
from claw.tools.offer.checked import CheckedTool
from claw.tools.people.sending import count_sent

_MESSAGE_CHARS = 2_000
_SENT_CHARS = 10_000


class _SessionTool(CheckedTool):
    def __init__(self, deps: ToolDeps) -> None:
        self._deps = deps

    def _open(self, operation: str = "read") -> ReadsSessions:
        turn = current_turn.get()
        if turn is not None and turn.chat is not None:
            raise DeniedError("sessions are not read in a channel: what "
                              "others said stands in them")
        self._deps.policy.enforce(operation)
        sessions: ReadsSessions | None = self._deps.sessions
        if sessions is None:
            raise UnavailableError("no sessions are kept here")
        return sessions


class SessionsList(_SessionTool):
    """Which there are."""

    name = "sessions_list"
    reads = repeatable = True
    description = "List the kept conversations, the latest first."

    def parameters_schema(self) -> Schema:
        return closed_object(limit=integer("How many at most", default=20,
                                           minimum=1, maximum=200))

    async def run(self, args: Arguments) -> ToolResult:
        found = await asyncio.to_thread(self._open().list_sessions,
                                        args["limit"])
        if not found:
            return ToolResult(output="No sessions are kept.")
        return ToolResult(output="\n".join(
            f"- {one.key}: {one.title or '(no title)'} ({one.messages} "
            f"messages, {one.updated_at})" for one in found))


class SessionsHistory(_SessionTool):
    """What was said in one."""

    name = "sessions_history"
    reads = repeatable = True
    description = "Read the last messages of a kept conversation."

    def parameters_schema(self) -> Schema:
        return closed_object(
            session=string("Its key, see sessions_list", minLength=1),
            limit=integer("Messages at most", default=20, minimum=1,
                          maximum=200))

    async def run(self, args: Arguments) -> ToolResult:
        lines = await asyncio.to_thread(
            self._open().read_session, args["session"], args["limit"])
        return ToolResult(output="\n".join(
            f"[{line.role}{f' {line.at}' if line.at else ''}] "
            + _shorten(line.text) for line in lines))


class SessionsSend(_SessionTool):
    """Leaves a message in another one: nothing runs there. Whoever goes on
    with it reads the message, and what that was made of labels his turn."""

    name = "sessions_send"
    labels_itself = True
    description = ("Leave a message in another kept conversation of the "
                   "user's, which is read when that is gone on with. Nobody "
                   "answers.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            session=string("Its key, see sessions_list", minLength=1),
            message=string("The message", minLength=1))

    async def run(self, args: Arguments) -> ToolResult:
        key, text = args["session"], args["message"]
        if len(text) > _SENT_CHARS:
            raise UsageError(f"a message has at most {_SENT_CHARS:,} "
                             "characters")
        sessions = self._open("act")
        turn = current_turn.get() or TurnContext("tool")
        if turn.message == f"{turn.origin}:{key}:{turn.turn_id}":
            raise UsageError("that is this conversation")
        count_sent(self.name)
        await asyncio.to_thread(
            sessions.leave_note, key,
            f"[Left here by the agent, in turn {turn.turn_id[:8]} of another "
            f"conversation]\n{text}", {*turn.labels, "tool"})
        return ToolResult(f"It stands in {key}, for whoever goes on there; "
                          "one that is open now reads it when it is opened "
                          "again")


def _shorten(text: str) -> str:
    left_out = len(text) - _MESSAGE_CHARS
    return text if left_out <= 0 else (
        f"{text[:_MESSAGE_CHARS]} [... {left_out} characters left out]")
