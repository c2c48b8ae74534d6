"""/cost: tokens and money of a conversation."""

import threading

import pytest

from claw.core.ledger import Total
from claw.core.provider import ChatResponse, TokenUsage
from claw.runtime.turn.outcomes import cost_text
from claw.testing.scripted import ScriptedProvider

NONE = "No tokens were counted in this conversation yet."


def money(today, month, unpriced=0):
    return (Total(calls=1, cost_usd=today),
            Total(calls=3, cost_usd=month, unpriced=unpriced))


@pytest.mark.parametrize(("tokens", "spent", "text"), [
    (None, None, NONE), ([0, 0], (Total(), Total()), NONE),
    ([1200, 30], None,
     "Tokens in this conversation since the start: 1,200 in, 30 out."),
    (None, money(0.0, 1.5),
     NONE + "\nMoney: $0.00 today, $1.50 this month."),
    ([1, 2], money(0.02, 1.5, 1),
     "Tokens in this conversation since the start: 1 in, 2 out.\nMoney: "
     "$0.0200 today, $1.50 this month, without 1 call of unknown price."),
    (None, money(0.0, 0.0, 2),
     NONE + "\nMoney: $0.00 today, $0.00 this month, without 2 calls of "
     "unknown price."),
])
def test_cost_tells_tokens_and_money(tokens, spent, text):
    assert cost_text(tokens, spent) == text


async def test_cost_asks_the_ledger_for_this_conversation(stage):
    async with stage(ScriptedProvider([ChatResponse(
            "hi", usage=TokenUsage(1200, 30))])) as s:
        asked = []

        def spent(session):
            asked.append((session, threading.current_thread()
                          is threading.main_thread()))
            return money(0.25, 2.0)
        s.desk.spent = spent
        s.channel.say("hello")
        await s.answers(1)
        s.channel.say("/cost")
        answer = (await s.answers(2))[1]

        assert answer == (
            "Tokens in this conversation since the start: 1,200 in, 30 out."
            "\nMoney: $0.2500 today, $2.00 this month.")
        (key, on_the_loop), = asked
        assert not on_the_loop
        assert "alice" in key


async def test_cost_without_a_ledger_tells_tokens(stage):
    async with stage() as s:
        s.desk.spent = lambda _: None
        s.channel.say("/cost")

        assert await s.answers(1) == [NONE]
