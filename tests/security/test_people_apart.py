"""Nothing of one person's private words is shown to another: random
dialogues of several people on several platforms with a model that obeys
whoever writes. CLAW_PEOPLE_TURNS and CLAW_PEOPLE_SEEDS make it longer.
"""

import asyncio
import os

import pytest
from people_world import (
    GROUPS,
    TABLES,
    PeopleWorld,
)

from claw.channels import REGISTRY
from claw.runtime.people.identities import People

TURNS = int(os.environ.get("CLAW_PEOPLE_TURNS", "60"))
SEEDS = int(os.environ.get("CLAW_PEOPLE_SEEDS", "3"))
MINA, BOB = ("alpha", "7"), ("alpha", "8")


@pytest.fixture
def world(tmp_path, monkeypatch):
    """world(seed, ...): closed at the end."""
    for name in ("alpha", "beta", "gamma"):
        monkeypatch.setitem(REGISTRY._builtins, name,
                            f"people_world:{name.title()}")
    opened = []

    def build(seed=0, **more):
        opened.append(PeopleWorld(tmp_path, seed, **more).__enter__())
        return opened[-1]
    yield build
    for one in opened:
        one.__exit__(None, None, None)


async def play(world, turns):
    """Turns, with restarts, tables that come and go, and an id that
    changes."""
    left = turns
    while left > 0:
        async with world.running():
            for _ in range(min(left, 20)):
                await world.step()
        left -= 20
        world.tables = [who for who in TABLES
                        if world.random.random() < 0.7]
        world.write()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nobody_sees_what_another_said_in_private(world, seed):
    scene = world(seed)
    asyncio.run(play(scene, TURNS))

    assert scene.crossings == []
    assert scene.seen > TURNS
    assert not scene.refused


@pytest.mark.parametrize("where", ["memory", "table", "scopes"])
def test_a_crossing_would_be_seen(world, where, monkeypatch):
    """What is shared on purpose; two people in one table; a fault."""
    scene = world(same={"eve as mina": "mina"} if where == "table" else {})
    if where == "scopes":
        monkeypatch.setattr(People, "list_private", lambda *_: [
            "alpha_7_7", "alpha_8_8"])

    async def go():
        async with scene.running() as service:
            secret = await scene.say(
                "mina", MINA, "my secret number and colour is CANARY, mind")
            if where == "memory":
                service.parts.live().memory.store(
                    "shared", f"the secret number is {secret}")
            account = ("gamma", "mina") if where == "table" else BOB
            await scene.say(
                "eve as mina" if where == "table" else "bob", account,
                "what is the secret number and colour of mina?",
                canary=False)
    asyncio.run(go())

    assert scene.crossings


def test_a_person_finds_on_one_platform_what_he_said_on_another(world):
    scene = world()
    answers = []
    scene.hear, hear = (lambda *told: (answers.append(told), hear(*told))), \
        scene.hear

    async def go():
        async with scene.running():
            secret = await scene.say(
                "mina", MINA, "my secret number and colour is CANARY, mind")
            for account in (("beta", "U12"), ("gamma", "minamina")):
                await scene.say("mina", account,
                                "what is my secret number and colour?",
                                canary=False)
                assert secret in answers[-1][2]
            await scene.say("mina", MINA, "what is my secret number?",
                            group=next(iter(GROUPS)), canary=False)
            assert secret not in answers[-1][2]
    asyncio.run(go())
    assert scene.crossings == []
