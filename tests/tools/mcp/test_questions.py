"""What a server asks in the middle of a call, where nobody answers."""

import asyncio
from pathlib import Path

import pytest
from mcp_types import ElicitRequestFormParams

from claw.core.turn import TurnContext, current_turn
from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings
from claw.tools.mcp.questions import Questions

FORM = ElicitRequestFormParams(message="Delete all?", requestedSchema={
    "type": "object", "properties": {"sure": {"type": "boolean"}},
    "required": ["sure"]})


class Owner:
    """An owner who is away, or gives an answer."""

    def __init__(self, answer, *, reached, waits=False):
        self._answer, self._reached, self._waits = answer, reached, waits

    def can_ask(self):
        return self._reached

    async def approve(self, request):
        if self._waits:
            current_turn.get().unanswered.add(request.key)
        return self._answer


@pytest.mark.parametrize(("owner", "action", "expired"), [
    (Owner("yes", reached=False), "decline", [False]),
    (Owner("no", reached=True, waits=True), "decline", [True]),
    (Owner("no", reached=True), "decline", []),
    (Owner("yes", reached=True), "accept", [])])
def test_a_question_that_nobody_answers_is_told_of(owner, action, expired):
    policy = SecurityPolicy(AutonomySettings(), Path("/ws"),
                            home=Path("/home/u"))
    policy.approver = owner
    turn = TurnContext("agent")

    async def ask():
        current_turn.set(turn)
        return await Questions("db", "db__drop", policy).answer(FORM)
    answer = asyncio.run(ask())

    assert answer.action == action
    assert [one.expired for one in turn.refused] == expired
