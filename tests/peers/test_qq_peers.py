"""The other side: qq-botpy as a bot of our fake platform, beside QqChannel:
both are told the same, and what one has sent the other can not send again."""

import asyncio
import json
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from claw.channels.qq import QqChannel, QqSettings
from claw.core.channel import ChannelDeps, SendMessage
from claw.testing.contracts.stage import KeepingInbox, run_listener
from claw.testing.fake_qq import FakeQq
from claw.testing.fake_qq.platform import ALICE, ALICE_IN_GROUP, GROUP

pytestmark = pytest.mark.peers
HERE = Path(__file__).parent


class Peer:
    """A bot made with qq-botpy; `told` is what it said."""

    def __init__(self, process):
        self.told = []
        self._reading = threading.Thread(target=self._read, args=(process,))
        self._reading.start()

    def _read(self, process):
        for line in process.stdout:
            if line.startswith("["):
                self.told.append(json.loads(line))

    def of(self, kind):
        return [told[1:] for told in self.told if told[0] == kind]

    def end(self):
        self._reading.join(5)


@pytest.fixture
def platform():
    with FakeQq() as running:
        yield running
    assert running.problems == []


@pytest.fixture
def peer(platform, mcp_peer, tmp_path):
    python = mcp_peer("qq/bin/python")

    @contextmanager
    def start():
        with (tmp_path / "peer.log").open("w") as log:
            process = subprocess.Popen(
                [python, str(HERE / "qq_bot.py"), platform.url,
                 platform.app_id, platform.secret], stdout=subprocess.PIPE,
                text=True, stderr=log, cwd=tmp_path)
        found = Peer(process)
        try:
            platform.wait_until(lambda: found.of("ready"), 20)
            yield found
        finally:
            process.terminate()
            process.wait(5)
            found.end()
            process.stdout.close()
    with start() as found:
        yield found


def channel(platform, folder):
    return QqChannel(QqSettings(
        app_id=platform.app_id, app_secret=platform.secret,
        allowed_users=(ALICE, ALICE_IN_GROUP), api_base_url=platform.url,
        token_url=platform.token_url), ChannelDeps(folder, folder))


def test_the_vendors_client_takes_our_fake_for_the_platform(platform, peer):
    file = platform.add_file(b"x", "a.png", "image/png")
    number = platform.say("hello", attachments=[file])
    group = platform.say("hi", group=GROUP, user=ALICE_IN_GROUP)
    pressed = platform.press("yes")
    platform.dispatch("FRIEND_ADD", {"openid": ALICE, "timestamp": 1})
    platform.wait_until(lambda: peer.of("friend") and peer.of("refused")
                        and platform.world.presses[pressed] is not None, 15)

    assert peer.of("c2c") == [[number, ALICE, "hello", [file["url"]]]]
    assert peer.of("group") == [[group, GROUP, ALICE_IN_GROUP, " hi"]]
    assert peer.of("press") == [[pressed, "yes"]]
    assert platform.world.presses[pressed] == 3
    assert peer.of("friend") == [[ALICE]]
    assert platform.answers() == ["echo: hello"]
    assert platform.answers(f"groups/{GROUP}") == ["echo"]
    ((words,),) = peer.of("refused")
    assert "去重" in words


def test_claw_and_the_vendors_client_hear_the_same(platform, peer, tmp_path):
    async def go():
        bot, inbox = channel(platform, tmp_path), KeepingInbox()
        try:
            async with run_listener(bot, inbox):
                await platform.until(lambda: len(platform.sessions) == 2)
                platform.say("안녕 👋")
                platform.say("hi", group=GROUP, user=ALICE_IN_GROUP)
                await platform.until(lambda: len(inbox.messages) == 2, 15)
                for message in inbox.messages:
                    await bot.send(SendMessage(
                        f"claw: {message.content}", message.reply_target,
                        answers=message.id))
                await platform.until(lambda: len(peer.of("c2c")) == 1
                                     and len(peer.of("group")) == 1, 15)
        finally:
            await bot.aclose()
        return inbox.messages

    private, group = asyncio.run(go())
    ((number, person, words, _),) = peer.of("c2c")
    ((group_number, room, member, _),) = peer.of("group")

    assert (private.id, private.sender, private.content) == (
        f"qq_{number}", person, words)
    assert (group.id, group.reply_target, group.sender) == (
        f"qq_{group_number}", f"group:{room}", member)
    platform.wait_until(lambda: len(platform.messages()) == 4)
    assert sorted(platform.answers()) == ["claw: 안녕 👋", "echo: 안녕 👋"]


def test_both_identify_and_beat_alike(platform, peer, tmp_path):
    platform.behaviour.heartbeat_s = 0.3

    async def go():
        bot = channel(platform, tmp_path)
        try:
            async with run_listener(bot, KeepingInbox()):
                await platform.until(lambda: len(platform.sessions) == 2)
                await platform.until(
                    lambda: len(platform.sessions[1].heartbeats) > 1, 15)
        finally:
            await bot.aclose()
    asyncio.run(go())
    time.sleep(0.1)

    theirs, ours = (f["d"] for f in platform.frames if f["op"] == 2)
    assert theirs["token"] == ours["token"]
    assert theirs["shard"] == ours["shard"]
    assert ours["intents"] & theirs["intents"] == theirs["intents"]
    assert set(platform.sessions[1].heartbeats) == {1}
