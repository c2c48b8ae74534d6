"""SIGKILLs while answers go out: what people see in the end."""

from claw.testing.prove.bench import Bench
from claw.testing.prove.kills import random_kills


def test_kills_lose_and_double_nothing(tmp_path):
    proof = random_kills(Bench(tmp_path, kills=4, lanes=1), "imessage")

    assert proof.broken == []
    assert proof.tally.messages > 0
