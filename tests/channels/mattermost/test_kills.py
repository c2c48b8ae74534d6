"""SIGKILLs while answers go out: what people see in the end, past the time
for which the server knows a key too."""

import random
import sqlite3
import time
from contextlib import closing

import pytest

from claw.testing.prove.answers import ask_for
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.mattermost import MattermostStage
from claw.testing.prove.verdict import Tally

CHATS = 4


@pytest.mark.parametrize("outlasts", [False, True])
def test_kills_lose_and_double_nothing(tmp_path, outlasts):
    """With `outlasts` a minute seems to pass before each new start, and the
    server has forgotten the keys: what were sent again would stand twice,
    had it not been looked for."""
    chance = random.Random(1)
    stage = MattermostStage()
    if outlasts:
        stage.platform.world.pending_s = 0.0
    asked = []
    with Scene(tmp_path, stage) as scene:
        for _ in range(5):
            # The first answer is there, and the process hears nothing of it.
            stage.platform.clear_faults()
            stage.platform.fault("POST posts", "delay", delay_s=3.0)
            child = scene.start()
            child.wait_ready(60)
            before = len(stage.platform.messages())
            for _ in range(5):
                asked.append(ask_for(len(asked), f"m{len(asked)}",
                                     files=True))
                scene.post(1001 + chance.randrange(CHATS), asked[-1])
            limit = time.monotonic() + 8
            while len(stage.platform.messages()) == before \
                    and time.monotonic() < limit:
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.02))
            child.kill()
            if outlasts:
                age(scene.queue_file, 60)
        stage.platform.clear_faults()
        last = scene.start()
        assert scene.wait_quiet(60), last.last_words()
        last.stop()
        found = sum(bool(e.get("found")) for child in scene.children
                    for e in child.events("sent"))
        tally = scene.tally()

    assert tally == Tally(messages=len(asked))
    assert stage.problems() == []
    assert bool(found) == outlasts


def age(queue_file, seconds):
    """All that goes out is older by so much; nobody has the file open."""
    with closing(sqlite3.connect(queue_file)) as queue, queue:
        queue.execute("UPDATE outbox SET created_at = created_at - ?",
                      [seconds])
