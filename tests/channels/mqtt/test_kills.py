"""SIGKILLs from outside while questions come and answers go out: nothing is
lost, and nothing comes twice without saying so. Longer: claw prove --only
kills-mqtt --kills 300."""

from claw.testing.prove.bench import Bench
from claw.testing.prove.kills import random_kills


def test_kills_lose_and_double_nothing(tmp_path):
    proof = random_kills(Bench(tmp_path, kills=4, seed=2), "mqtt")

    assert proof.broken == []
    assert proof.tally.messages > 10
