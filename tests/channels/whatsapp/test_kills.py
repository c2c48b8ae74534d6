"""SIGKILLs while answers go out: what people see in the end."""

import random
import time

from claw.testing.prove.answers import ask_for
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.whatsapp import WhatsappStage
from claw.testing.prove.verdict import Tally

CHATS = 4


def test_kills_lose_nothing_and_double_nothing(tmp_path):
    """The statuses tell what arrived."""
    chance = random.Random(1)
    stage = WhatsappStage()
    asked = []
    with Scene(tmp_path, stage) as scene:
        for _ in range(3):
            # An answer is there, and the process hears nothing of it.
            stage.platform.clear_faults()
            stage.platform.fault("messages", "delay", delay_s=3.0)
            child = scene.start()
            child.wait_ready(60)
            before = len(stage.platform.list_sent())
            for _ in range(4):
                asked.append(ask_for(len(asked), f"m{len(asked)}",
                                     files=True))
                scene.post(1001 + chance.randrange(CHATS), asked[-1])
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
        found = sum(bool(e.get("found")) for child in scene.children
                    for e in child.events("sent"))
        tally = scene.tally()

    assert tally == Tally(messages=len(asked))
    assert found
    assert stage.problems() == []


def test_an_answer_whose_call_broke_off_is_found_by_its_status(tmp_path):
    stage = WhatsappStage()
    with Scene(tmp_path, stage) as scene:
        child = scene.start()
        child.wait_ready(60)
        stage.platform.fault("messages", "reset_after")
        scene.post(1001, "hello")
        assert scene.wait_quiet(30), child.last_words()
        child.stop()
        found = [bool(e.get("found")) for e in child.events("sent")]
        tally = scene.tally()

    assert tally == Tally(messages=1)
    assert found == [True]
