"""What a server wants to know in the middle of a call ("elicitation").

It is put to the owner as any approval is: with a yes to a plain question,
or no. A form that wants more than one yes or no is declined, and so is
all where nobody can be asked, at once; the model is told what was asked.
"""

from collections.abc import Mapping
from typing import Any

from mcp_types import (
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
)

from claw.core.refusal import Refusal
from claw.core.turn import (
    ApprovalRequest,
    Approves,
    ReachesOwner,
    current_turn,
)
from claw.security.approval import approval_key, write_call
from claw.security.policy import SecurityPolicy
from claw.tools.mcp.foreign import clean_text

_MOST = 3


class Questions:
    """The questions of one call, at most three of them. `asked` is what
    the model is told of."""

    def __init__(self, server: str, tool: str, policy: SecurityPolicy
                 ) -> None:
        self._server = server
        self._tool = tool
        self._policy = policy
        self._count = 0
        self.asked: list[str] = []

    async def answer(self, params: ElicitRequestParams) -> ElicitResult:
        """The owner's answer, or "decline"."""
        self._count += 1
        content: dict[str, Any] | None = {}
        if isinstance(params, ElicitRequestFormParams):
            content = fill_form(params.requested_schema)
            wanted = ""
        else:
            wanted = f" (it wants you to open {clean_text(params.url)})"
        text = clean_text(params.message) + wanted
        accepted = (content is not None and self._count <= _MOST
                    and await self._ask(text))
        if len(self.asked) < _MOST:
            self.asked.append(f"{text} -> {'yes' if accepted else 'declined'}")
        return ElicitResult(action="accept", content=content or None) \
            if accepted else ElicitResult(action="decline")

    async def _ask(self, text: str) -> bool:
        approver: Approves | None = self._policy.approver
        key = approval_key(self._tool, {"asks": text},
                           self._policy.workspace)
        reason = f"the MCP server {self._server} asks this before it goes on"
        can_ask = isinstance(approver, ReachesOwner) and approver.can_ask()
        accepted = can_ask and approver is not None \
            and await approver.approve(ApprovalRequest(
                self._tool, text, key, reason, may_remember=False)) != "no"
        turn = current_turn.get()
        if turn is not None and (not can_ask or key in turn.unanswered):
            turn.note_refusal(Refusal(
                self._tool, write_call(self._tool, {"asks": text}), reason,
                expired=can_ask))
        return accepted


def fill_form(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a yes stands for: true for the one thing that is asked, and no
    more than what must be said; None where a yes is no answer."""
    properties = schema.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    names = [name for name in fields
             if name in (required if isinstance(required, list) else ())]
    names = names or (list(fields) if len(fields) == 1 else [])
    truths = [name for name in names if isinstance(fields[name], dict)
              and fields[name].get("type") == "boolean"]
    if len(truths) != len(names) or len(names) > 1:
        return None
    return dict.fromkeys(names, True)
