"""Ten thousand messages wait, and the process that had them is dead: how
long until another one works on them."""

import asyncio
import subprocess
import sys
import time

from claw.core.channel import ChannelMessage
from claw.core.value import replace
from claw.storage.queue.model import Arrival
from claw.storage.queue.owner import Owner, this_process
from claw.storage.queue.sqlite import SqliteQueue
from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.telegram import TelegramStage
from claw.testing.prove.verdict import Said, judge

ROWS, CHATS, RUNNING = 10_000, 1_000, 8
LIMIT_S = 1.0
STARTS = 3
FIRST_CHAT = 1001
_SOME = 50


def backlog(bench: Bench, channel: str) -> Proof:
    """Start in front of 10,000 waiting rows, be killed, start again."""
    proof = Proof("backlog", channel)
    stage = TelegramStage()
    with Scene(bench.root, stage) as scene:
        said = [Said(str(FIRST_CHAT + n % CHATS), f"m{n}")
                for n in range(ROWS)]
        for chat in range(CHATS):
            stage.platform.add_chat(FIRST_CHAT + chat)
        scene.queue_file.parent.mkdir(parents=True, mode=0o700)
        asyncio.run(_fill(scene, said))
        ready: list[float] = []
        first: list[float] = []
        starts = bench.pick(STARTS, 1)
        for _ in range(starts):
            before = len(stage.got())
            child = scene.start()
            child.wait_ready()
            proof.recovery_ms.append(child.recovery_ms())
            ready.append(time.monotonic() - child.started_at)
            while len(stage.got()) == before and child.code is None:
                time.sleep(0.005)
            first.append(time.monotonic() - child.started_at)
            while len(stage.got()) < before + _SOME and child.code is None:
                time.sleep(0.02)
            child.kill()
        got = stage.got()
        answered = {g.text.partition(":")[2] for g in got}
        proof.tally = judge([s for s in said if s.text in answered], got)
        proof.kills = starts
        proof.more.update(
            rows=ROWS, process_to_ready_ms=round(1000 * min(ready)),
            process_to_first_answer_ms=round(1000 * min(first)))
        if max(proof.recovery_ms) > LIMIT_S * 1000:
            proof.breaks(f"recovery took {max(proof.recovery_ms):.0f} ms",
                         scene)
        scene.keep = scene.keep or bench.keep
    return proof.judge()


async def _fill(scene: Scene, said: list[Said]) -> None:
    """A queue as a killed process leaves it."""
    queue = SqliteQueue(scene.queue_file, owner=_dead())
    lease = await queue.lease("listen", 15.0)
    assert lease is not None
    now = int(time.time())
    arrivals = [Arrival(ChannelMessage(
        id=f"telegram_{chat}_{number}", sender=chat, reply_target=chat,
        content=text, channel="telegram", timestamp=now),
        f"telegram_{chat}_{chat}")
        for number, (chat, text) in enumerate(said, 1)]
    for start in range(0, len(arrivals), 1000):
        await queue.accept(lease, arrivals[start:start + 1000])
    for arrival in arrivals[:RUNNING]:
        await queue.claim(lease, arrival.conversation)
    await queue.aclose()


def _dead() -> Owner:
    """A process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    pid = process.pid
    process.wait()
    return replace(this_process(), pid=pid, started="0")
