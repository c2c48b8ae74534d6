"""SIGKILLs while answers go out: what people see in the end."""

import random
import time

import pytest

from claw.testing.prove.answers import ask_for
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.line import LineStage
from claw.testing.prove.verdict import Tally


@pytest.mark.parametrize("fault", ["delay", "reset_after"])
def test_kills_lose_nothing_and_double_nothing(tmp_path, fault):
    """Token and key tell what arrived, whichever way it went."""
    chance = random.Random(1)
    stage = LineStage()
    asked = []
    with Scene(tmp_path, stage) as scene:
        for _ in range(3):
            # An answer is there, and the process hears nothing of it.
            stage.platform.clear_faults()
            for call in ("push", "reply"):
                stage.platform.fault(call, fault, delay_s=3.0)
            child = scene.start()
            child.wait_ready(60)
            before = len(stage.platform.list_sent())
            for _ in range(4):
                asked.append(ask_for(len(asked), f"m{len(asked)}",
                                     files=False))
                scene.post(1001 + chance.randrange(4), asked[-1])
            limit = time.monotonic() + 8
            while len(stage.platform.list_sent()) == before \
                    and time.monotonic() < limit:
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.02))
            child.kill()
        stage.platform.clear_faults()
        last = scene.start()
        assert scene.wait_quiet(60), last.last_words()
        last.stop()
        tally = scene.tally()

    assert tally == Tally(messages=len(asked))
    assert {m["by"] for m in stage.platform.list_sent()} == {"push", "reply"}
    assert stage.problems() == []
