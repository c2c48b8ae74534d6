"""SIGKILLs from outside while answers go out: what people see in the end."""

import random
import time

from claw.testing.prove.answers import ask_for
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.imessage import ImessageStage


def test_kills_lose_double_and_swap_nothing(tmp_path):
    draw = random.Random(3)
    with Scene(tmp_path, ImessageStage()) as scene:
        for life in range(3):
            child = scene.start()
            for number in range(6):
                scene.post(1001 + number % 3, ask_for(
                    number, f"m{life}-{number}", files=False))
            child.wait_ready(60)
            time.sleep(draw.uniform(0.05, 0.4))
            child.kill()
        last = scene.start()
        assert scene.wait_quiet(30), last.last_words()
        last.stop()
        found = scene.tally()

    assert (found.lost, found.duplicated, found.out_of_order) == (0, 0, 0)
    assert scene.stage.problems() == []
