"""SIGKILLs from outside while answers go out: what people see in the end."""

import random
import time

from claw.testing.prove.answers import ask_for
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.qq import QqStage

KILLS = 4


def test_kills_lose_double_and_swap_nothing(tmp_path):
    random_ = random.Random(3)
    with Scene(tmp_path, QqStage()) as scene:
        for life in range(KILLS):
            child = scene.start()
            for number in range(8):
                scene.post(1001 + number % 4, ask_for(
                    number, f"m{life}-{number}", files=True))
            child.wait_ready(60)
            time.sleep(random_.uniform(0.05, 0.4))
            child.kill()
        last = scene.start()
        assert scene.wait_quiet(30), last.last_words()
        last.stop()
        found = scene.tally()

    assert (found.lost, found.duplicated, found.parts, found.files,
            found.marked, found.out_of_order) == (0,) * 6
    assert scene.stage.problems() == []
