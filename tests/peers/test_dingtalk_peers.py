"""The vendor's own SDK (dingtalk-stream) as a robot on our fake: what the
fake sends is what the SDK reads, and the SDK's calls are what it takes. Then
the channel does the same on the same fake, beside it."""

import asyncio
import json
import os
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from claw.channels.dingtalk import DingtalkChannel, DingtalkSettings
from claw.core.channel import ChannelDeps, SendMessage
from claw.testing.contracts.stage import KeepingInbox
from claw.testing.fake_dingtalk import ALICE, BOT, GROUP, FakeDingtalk

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))
PYTHON = PEERS / "dingtalk" / "bin" / "python"


@pytest.fixture
def platform():
    with FakeDingtalk() as found:
        yield found
    assert found.problems == []


@contextmanager
def robot(platform):
    """The SDK's robot, connected; what it says."""
    if not PYTHON.exists():
        pytest.skip(f"no dingtalk-stream; run {HERE / 'install.sh'}")
    process = subprocess.Popen(
        [PYTHON, HERE / "dingtalk_robot.py", platform.url,
         platform.client_id, platform.secret], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)
    said = []

    def read():
        for line in process.stdout:
            said.append(json.loads(line))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        platform.wait_until(lambda: platform.sockets.connections, 20)
        yield said
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()


def test_the_sdk_reads_what_the_fake_sends_and_answers(platform):
    with robot(platform) as said:
        platform.say("hello 안녕", group=GROUP)
        code = platform.add_file(b"a picture")
        platform.say("", msgtype="richText", content={"richText": [
            {"text": "look"}, {"type": "picture", "downloadCode": code}]})
        platform.wait_until(lambda: not platform.pending())
        platform.wait_until(lambda: len(platform.answers()) == 2)

    by_chat = {m["chat"]: m for m in said}
    assert by_chat[GROUP]["texts"] == ["hello 안녕"]
    assert by_chat[GROUP]["sender"] == ALICE
    assert by_chat[GROUP]["at"] == [BOT]
    assert [url for m in said for url in m["images"]] == [
        f"{platform.url}/files/{code}"]
    assert sorted(platform.answers()) == ["pong: hello 안녕", "pong: look"]


def test_the_sdk_lives_with_pings_and_disconnects(platform):
    with robot(platform):
        platform.push({"x": 1}, "/v1.0/im/bot/messages/get")
        platform.wait_until(lambda: platform.acks)
        platform.close_sockets()
        platform.wait_until(lambda: platform.sockets.connections, 20)
        platform.say("again")
        platform.wait_until(lambda: platform.answers(), 20)

    assert platform.answers() == ["pong: again"]


def test_our_acknowledgement_has_the_form_of_the_sdks(platform, tmp_path):
    with robot(platform):
        platform.say("for the SDK")
        platform.wait_until(lambda: platform.acks)
    theirs, = platform.acks
    platform.acks.clear()

    async def work():
        inbox = KeepingInbox()
        channel = DingtalkChannel(DingtalkSettings(
            client_id=platform.client_id, client_secret=platform.secret,
            allowed_users=(ALICE,), api_base_url=platform.url,
            oapi_base_url=platform.url),
            ChannelDeps(workspace=tmp_path, files=tmp_path / "files"))
        task = asyncio.create_task(channel.listen(inbox))
        try:
            await platform.until(lambda: platform.sockets.connections)
            platform.say("for claw")
            await platform.until(lambda: platform.acks)
            await channel.send(SendMessage("done", ALICE))
        finally:
            task.cancel()
            await asyncio.wait({task})
            await channel.aclose()
        return inbox.contents

    assert asyncio.run(work()) == ["for claw"]
    ours, = platform.acks
    assert ours["code"] == theirs["code"]
    assert set(ours["headers"]) == set(theirs["headers"])
    assert set(json.loads(ours["data"])) == set(json.loads(theirs["data"]))
    assert [m.via for m in platform.messages()] == ["session", "session"]
