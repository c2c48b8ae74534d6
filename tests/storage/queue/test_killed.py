"""A process that dies at any commit loses nothing and repeats nothing
without saying so."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

SCENARIO = Path(__file__).with_name("killed.py")

FILLING = """
import asyncio, signal, sys
from claw.core.channel import ChannelMessage
from claw.core.errors import StorageError
from claw.storage.queue.model import Arrival
from claw.storage.queue.sqlite import SqliteQueue
import resource

async def main():
    queue = SqliteQueue(sys.argv[1])
    lease = await queue.lease("listen", 30)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, -1))

    async def accept(number):
        try:
            await queue.accept(lease, [Arrival(ChannelMessage(
                str(number), "bob", "42", "x" * 3000, "telegram", 1), "c")])
            return str(number)
        except StorageError:
            return None
    accepted = []
    for start in range(0, 400, 40):
        accepted += await asyncio.gather(*map(accept,
                                              range(start, start + 40)))
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    accepted.append(await accept(1000))
    print(" ".join(one for one in accepted if one), flush=True)
    signal.raise_signal(signal.SIGKILL)

asyncio.run(main())
"""


def test_at_every_failpoint_nothing_is_lost(tmp_path):
    done = subprocess.run([sys.executable, SCENARIO, tmp_path],
                          capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    lives = [json.loads(line) for line in done.stdout.splitlines()]

    assert len(lives) > 16
    assert [life["ended"] for life in lives] == [137] * (
        len(lives) - 1) + [0]
    for life in lives:
        said = life["words"]
        assert {word[1] for word in said if word[0] == "received"} == {
            "1", "2"}
        assert said[-1] == ["counts", {
            "waiting": 0, "running": 0, "answered": 2, "refused": 0,
            "failed": 0, "cancelled": 0}, {
            "waiting": 0, "sending": 0, "uncertain": 0, "sent": 2,
            "failed": 0}]
        sent = [tuple(word[1:]) for word in said if word[0] == "sent"]
        assert len(sent) <= 3, "one part at most was in doubt"
        certain = [text for text, uncertain in sent if not uncertain]
        assert len(certain) == len(set(certain)), "repeated without a word"
        texts = [text for text, _ in sent]
        assert texts == sorted(texts), "out of order"
        assert set(texts) == {"to 1", "to 2"}


def test_what_was_accepted_on_a_full_disk_is_there(kit):
    """Writes begin to fail in the middle of shared commits; then there is
    room again, then the process is killed."""
    done = subprocess.run([sys.executable, "-c", FILLING, kit.path],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL
    accepted = done.stdout.split()
    rows = asyncio.run(kit.open().inbox_rows(limit=1000))
    stored = [row.message.id for row in rows]

    assert 40 <= len(accepted) < 400
    assert accepted[-1] == "1000"
    assert stored == accepted
