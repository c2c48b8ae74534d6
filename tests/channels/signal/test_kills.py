"""SIGKILLs while people write: what claw has read it answers, once."""

import random
import time

from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.signal import SignalStage
from claw.testing.prove.verdict import judge

KILLS, CHATS = 4, (1001, 1002, 1003)


def test_kills_lose_and_double_nothing_that_was_read(tmp_path):
    chance, stage, wrote = random.Random(7), SignalStage(), []
    with Scene(tmp_path, stage) as scene:
        for _ in range(KILLS):
            child = scene.start()
            child.wait_ready(60)
            for _ in range(8):
                wrote.append(stage.post(chance.choice(CHATS),
                                        f"m{len(wrote)}"))
                time.sleep(chance.uniform(0, 0.03))
            child.kill()
        last = scene.start()
        deadline = time.monotonic() + 30
        while judge(wrote, stage.got()).lost and time.monotonic() < deadline:
            time.sleep(0.05)
        last.stop()
    found = judge(wrote, stage.got())

    assert (found.lost, found.duplicated, found.out_of_order) == (0, 0, 0)
    assert found.marked <= KILLS
    assert stage.problems() == []
