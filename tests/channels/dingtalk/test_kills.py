"""SIGKILLs from outside while texts, files and long answers go out to
several chats at once: what people see in the end."""

from claw.testing.prove.bench import Bench
from claw.testing.prove.kills import random_kills


def test_kills_lose_double_and_swap_nothing(tmp_path):
    proof = random_kills(Bench(tmp_path, kills=3), "dingtalk")

    assert proof.broken == []
    assert proof.tally.messages > 8
