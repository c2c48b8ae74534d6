"""A question to the owner -> session/request_permission.

The editor shows the call and the choices that the house offers; the word of
the person at the editor is the owner's.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from claw.core.turn import (
    ApprovalRequest,
    Decision,
    current_call,
    current_turn,
)
from claw.gateway.acp.updates import Update, Updates
from claw.gateway.acp.wire import PermissionAnswer, RpcError
from claw.security.approval.question import name_content, show_lines
from claw.security.visible import visible

# decision -> (label, kind)
_OPTIONS: dict[Decision, tuple[str, str]] = {
    "yes": ("Allow once", "allow_once"),
    "always": ("Always this call, until the session ends", "allow_always"),
    "week": ("This call in this folder, for a week", "allow_always"),
    "no": ("Reject", "reject_once"),
}

Ask = Callable[[dict[str, Any]], Awaitable[msgspec.Raw]]


class EditorApprover:
    """Asks in the editor. `ask` sends a request with these params."""

    def __init__(self, ask: Ask, updates: Updates,
                 note: Callable[[str], None]) -> None:
        self._ask = ask
        self._updates = updates
        self._note = note

    def can_ask(self) -> bool:
        return True

    async def approve(self, request: ApprovalRequest) -> Decision:
        """The person's word. Where the editor gives none, nobody answered,
        and the person is told what would allow the call."""
        options = list_options(request)
        call = self._updates.ask_about(
            current_call.get(), *describe_request(request))
        try:
            raw = await self._ask({"toolCall": call, "options": [
                _write_option(one) for one in options]})
            answer = msgspec.json.decode(raw, type=PermissionAnswer).outcome
        except (RpcError, msgspec.MsgspecError) as error:
            self._note(f"the editor gave no permission: {error}")
            if (turn := current_turn.get()) is not None:
                turn.unanswered.add(request.key)
            return "no"
        return next((one for one in options if answer.outcome == "selected"
                     and one == answer.option_id), "no")


def list_options(request: ApprovalRequest) -> list[Decision]:
    """The answers that this request takes."""
    offered = {"yes": True, "always": request.may_remember,
               "week": request.may_keep, "no": True}
    return [one for one in _OPTIONS if offered[one]]


def describe_request(request: ApprovalRequest) -> tuple[str, str, str]:
    """Title, kind, and what is to be read before a yes: all of it, and
    nothing in it that hides something."""
    title = f"{visible(request.tool)}: {visible(request.summary)}"
    kind = "execute" if request.tool == "shell" else (
        "edit" if request.diff or request.details else "other")
    lines = [f"{name_content(request)}:", _fence(show_lines(request))]
    if request.place:
        lines.append(f"In: {visible(request.place)}")
    if changes := [*request.details, *request.diff]:
        lines.append(_fence("\n".join(map(visible, changes)), "diff"))
    lines.append(f"Why: {visible(request.reason)}")
    return title[:200], kind, "\n".join(lines)


def _write_option(decision: Decision) -> Update:
    name, kind = _OPTIONS[decision]
    return {"optionId": decision, "name": name, "kind": kind}


def _fence(text: str, language: str = "") -> str:
    """The text as a block of code, whatever it holds."""
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
