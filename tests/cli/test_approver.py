"""Approvals between the lines of a conversation."""

import asyncio

import pytest

from claw.cli.chat.approver import InlineApprover
from claw.core.turn import ApprovalRequest


class Screen:
    """The view and the keyboard: answers are played in order."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.lines = []

    def close(self):
        pass

    def exact_line(self, text, style):
        self.lines.append(text)

    async def answer(self, question):
        self.lines.append(question)
        return self.answers.pop(0)


@pytest.mark.parametrize(("answers", "decision"), [
    (("?", "y"), "yes"), (("please do", "n"), "no"), (("w", "a"), "always")])
def test_who_answers_something_else_is_asked_again(answers, decision):
    screen = Screen(*answers)
    request = ApprovalRequest("shell", "ls", "key", "supervised mode", True)

    said = asyncio.run(InlineApprover(screen, screen).approve(request))

    assert said == decision
    assert screen.lines[-2:] == [
        "y: this call, once; n: not now; a: this very call, until claw ends",
        "[y]es / [n]o / [a]lways: "]
