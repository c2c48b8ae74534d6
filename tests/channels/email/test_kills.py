"""SIGKILLs from outside while answers and files go out to several people:
what they see in the end."""

import random
import time

from claw.testing.prove.answers import FILE, LONG
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.email import EmailStage
from claw.testing.prove.verdict import judge

KILLS = 3
CHATS = (1001, 1002, 1003, 1004)


def test_kills_lose_double_and_swap_nothing(tmp_path):
    rng = random.Random(1)
    with Scene(tmp_path, EmailStage()) as scene:
        for number in range(KILLS):
            child = scene.start()
            child.wait_ready(60)
            for chat, kind in zip(CHATS, ("", FILE, LONG, ""), strict=True):
                scene.post(chat, f"{kind}n{number}c{chat}")
            time.sleep(rng.uniform(0.1, 0.6))
            child.kill()
        last = scene.start()
        assert scene.wait_quiet()
        last.stop()
        tally = judge(scene.wrote, scene.stage.got())

    assert tally.messages == KILLS * len(CHATS)
    assert (tally.lost, tally.duplicated, tally.parts, tally.files,
            tally.out_of_order, tally.strange) == (0,) * 6
    assert tally.marked <= KILLS * scene.stage.doubts
    assert scene.stage.problems() == []
