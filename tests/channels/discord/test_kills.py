"""SIGKILLs from outside while answers go out: what people see in the end.
And a process that stays away for longer than its keys hold."""

import random
import sqlite3
import time
from contextlib import closing

from claw.testing.prove.answers import ask_for
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.discord import DiscordStage

KILLS = 4


def test_kills_lose_double_and_swap_nothing(tmp_path):
    random_ = random.Random(3)
    with Scene(tmp_path, DiscordStage()) as scene:
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


def test_past_the_key_what_arrived_is_found_in_history(tmp_path):
    """The message arrived, its answer did not, and the process was away
    until Discord had forgotten the nonce: it would be shown twice."""
    stage = DiscordStage()
    platform = stage.platform
    with Scene(tmp_path, stage) as scene:
        platform.latency_s = 0.6
        child = scene.start()
        child.wait_ready(60)
        scene.post(1001, "m1")
        # Done at half of the latency, and answered never.
        platform.wait_until(platform.answers, 30)
        child.kill()
        platform.latency_s = 0.0
        platform.world.nonces.clear()
        age_outbox(scene, 600)
        last = scene.start()
        assert scene.wait_quiet(30), last.last_words()
        last.stop()
        found = scene.tally()
        looked = [e for e in last.events("sent") if e.get("found")]

    assert (found.lost, found.duplicated, found.marked) == (0, 0, 0)
    assert looked


def age_outbox(scene, seconds):
    """Make what waits older than it is."""
    with closing(sqlite3.connect(scene.queue_file)) as queue, queue:
        queue.execute("UPDATE outbox SET created_at = created_at - ?",
                      (seconds,))
