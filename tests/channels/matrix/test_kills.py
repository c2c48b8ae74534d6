"""SIGKILLs from outside, and doubts that outlast the server's keys."""

import asyncio
import random
import time

import pytest

from claw.channels.matrix.channel import KEY_HOLDS_S
from claw.core.channel import SendMessage
from claw.runtime.message.parts import split_parts
from claw.runtime.outbox import REPEATED, Sender
from claw.runtime.process.health import Health
from claw.storage.queue.model import NewSend
from claw.storage.queue.sqlite import SqliteQueue
from claw.testing.fake_matrix import ROOM
from claw.testing.prove.answers import ask_for
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.matrix import MatrixStage
from claw.testing.prove.verdict import judge


def test_kills_lose_and_double_nothing_and_need_no_mark(tmp_path):
    stage, chance = MatrixStage(), random.Random(1)
    with Scene(tmp_path, stage) as scene:
        for number in range(5):
            child = scene.start()
            child.wait_ready(60)
            for kind in range(6):
                scene.post(1001 + kind % 4, ask_for(
                    kind, f"n{6 * number + kind}", files=True))
            time.sleep(chance.uniform(0, 0.4))
            child.kill()
        last = scene.start()
        assert scene.wait_quiet(60)
        last.stop()
        found = judge(scene.wrote, stage.got())

    assert (found.lost, found.duplicated, found.parts, found.files,
            found.marked, found.out_of_order) == (0,) * 6
    assert stage.problems() == []


@pytest.mark.parametrize("arrived", [True, False])
def test_a_doubt_that_outlasts_the_key_is_looked_up(account, platform,
                                                    tmp_path, arrived):
    """The answer was lost on the way back, claw was off for hours, and the
    server has forgotten the key."""
    clock = [1_000_000.0]

    async def work():
        queue = SqliteQueue(tmp_path / "q.db", now=lambda: clock[0])
        lease = await queue.lease("listen", 60)
        async with account.open() as channel:
            sender = Sender("matrix", lambda: channel, queue, lambda: lease,
                            Health(), lambda event, /, **fields: None,
                            now=lambda: clock[0])
            message = SendMessage("the answer", ROOM)
            await queue.post([NewSend("s:1", "matrix", message,
                                      split_parts(channel, message), None)])
            platform.fault("send", "reset_after" if arrived else "reset", 1)
            await sender.send_due()
            assert [row.state for row in await queue.outbox_rows()] == [
                "uncertain"]
            clock[0] += KEY_HOLDS_S + 3_600
            platform.forget_keys()
            await sender.send_due()
            assert [row.state for row in await queue.outbox_rows()] == [
                "sent"]
        await queue.aclose()

    asyncio.run(work())

    assert platform.answers() == [
        "the answer" if arrived else f"{REPEATED}the answer"]
