"""The vendor's own client (@mattermost/client: Client4, WebSocketClient) and
mattermostautodriver as the person at the other side of the fake server, with
the channel as the bot: what the fake sends is what they understand, and each
reads what the other wrote.

No Mattermost server is to be had from a registry.
"""

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from claw.channels.mattermost import MattermostChannel, MattermostSettings
from claw.core.channel import Attachment, ChannelDeps, Marks, SendMessage
from claw.testing.contracts.stage import KeepingInbox
from claw.testing.fake_mattermost import FakeMattermost

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))
TOKEN = "alicetoken0000000000000000"


class Person:
    """One of the two programs."""

    def __init__(self, command, env):
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**os.environ, **env}, text=True)
        self._numbers = itertools.count(1)
        self.answers, self.events = {}, []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            said = json.loads(line)
            if "id" in said:
                self.answers[said["id"]] = said
            else:
                self.events.append(said)

    async def ask(self, do, **given):
        """What it answers; its error raises."""
        number = next(self._numbers)
        self._process.stdin.write(json.dumps(
            {"id": number, "do": do, **given}) + "\n")
        self._process.stdin.flush()
        await until(lambda: number in self.answers)
        answer = self.answers[number]
        assert "error" not in answer, answer
        return answer["ok"]

    def posts(self):
        return [json.loads(e["data"]["post"]) for e in self.events
                if e["event"] == "posted"]

    def messages(self):
        return [post["message"] for post in self.posts()]

    def heard(self, event):
        return [e for e in self.events if e["event"] == event]

    def stop(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdin.close()
        self._process.stdout.close()


async def until(predicate, timeout_s=15.0):
    deadline = time.monotonic() + timeout_s
    while not predicate():
        assert time.monotonic() < deadline, "nothing came of it"
        await asyncio.sleep(0.005)


def read(path):
    return Path(path).read_text("utf-8")


def vendor(platform):
    if not (PEERS / "node_modules" / "@mattermost" / "client").is_dir() \
            or not (PEERS / "node_modules" / "ws").is_dir() \
            or shutil.which("node") is None:
        pytest.skip(f"no @mattermost/client: run {HERE / 'install.sh'}")
    return Person(["node", str(HERE / "mattermost_person.cjs"),
                   platform.url, TOKEN],
                  {"NODE_PATH": str(PEERS / "node_modules")})


def autodriver(platform):
    if not (PEERS / "mattermost" / "mattermostautodriver").is_dir():
        pytest.skip(f"no mattermostautodriver: run {HERE / 'install.sh'}")
    return Person([sys.executable, str(HERE / "mattermost_person.py"),
                   str(platform.port), TOKEN],
                  {"PYTHONPATH": str(PEERS / "mattermost")})


@contextmanager
def scene(make_person, folder):
    with FakeMattermost() as platform:
        platform.tokens[TOKEN] = platform.alice
        person = make_person(platform)
        try:
            yield platform, person
        finally:
            person.stop()
        assert platform.problems == []


def play(platform, folder, work):
    """`work(channel, inbox)` beside a channel that listens."""
    async def go():
        marks = Marks()
        marks.set("from", "0")
        marks.set("at", "0")
        channel = MattermostChannel(
            MattermostSettings(url=platform.url, bot_token=platform.token,
                               allowed_users=(platform.alice,)),
            ChannelDeps(workspace=folder, files=folder / "files",
                        marks=marks))
        inbox = KeepingInbox()
        task = asyncio.create_task(channel.listen(inbox))
        try:
            async with asyncio.timeout(30):
                await until(lambda: platform.hub.caught_up)
                await work(channel, inbox)
        finally:
            task.cancel()
            await asyncio.wait({task})
            await channel.aclose()
    asyncio.run(go())


@pytest.mark.parametrize("make_person", [vendor, autodriver])
def test_a_person_and_the_bot_read_each_other(make_person, tmp_path):
    with scene(make_person, tmp_path) as (platform, person):
        async def work(channel, inbox):
            await until(lambda: person.heard("hello"))
            me = await person.ask("me")
            assert me["username"] == "alice"
            direct = await person.ask("direct", users=[me["id"],
                                                       platform.me])
            await person.ask("post", post={
                "channel_id": direct["id"], "message": "안녕 **bot** 👋"})
            await until(lambda: inbox.messages)
            message = inbox.messages[0]
            assert message.content == "안녕 **bot** 👋"
            assert message.sender == me["id"]
            assert message.sender_name == "alice"

            await channel.send(SendMessage("**Hi** 👋", message.reply_target))
            await until(lambda: "**Hi** 👋" in person.messages())
            listed = await person.ask("posts", channel=direct["id"])
            newest = listed["posts"][listed["order"][0]]
            assert newest["message"] == "**Hi** 👋"
            assert newest["user_id"] == platform.me
        play(platform, tmp_path, work)


def test_files_edits_threads_and_signs_with_the_vendor_s_client(tmp_path):
    (tmp_path / "out.txt").write_text("from the bot")
    with scene(vendor, tmp_path) as (platform, person):
        async def work(channel, inbox):
            await until(lambda: person.heard("hello"))
            room = platform.channel
            sent = await person.ask("upload", channel=room, name="a b.txt",
                                    text="from alice")
            root = await person.ask("post", post={
                "channel_id": room, "message": "look",
                "file_ids": [sent["file_infos"][0]["id"]]})
            await until(lambda: inbox.messages)
            message = inbox.messages[0]
            (file,) = message.attachments
            assert read(file.path) == "from alice"
            assert message.reply_target == f"{room}:{root['id']}"

            await channel.start_typing(message.reply_target)
            await channel.add_reaction(message.reply_target, message.id, "👀")
            await channel.send(SendMessage(
                "here", message.reply_target, attachments=(
                    Attachment(str(tmp_path / "out.txt"), "out.txt"),)))
            await until(lambda: "here" in person.messages())
            answer = next(p for p in person.posts() if p["message"] == "here")
            assert answer["root_id"] == root["id"]
            assert await person.ask("download", file=answer[
                "file_ids"][0]) == "from the bot"

            await person.ask("edit", post={"id": root["id"],
                                           "message": "look again"})
            await until(lambda: len(inbox.messages) == 2)
            assert inbox.messages[1].content.endswith("look again")
            assert inbox.messages[1].content.startswith("[Edited] ")
        play(platform, tmp_path, work)


def test_the_vendor_s_client_takes_up_its_connection_as_ours_does(tmp_path):
    with scene(vendor, tmp_path) as (platform, person):
        async def work(channel, inbox):
            await until(lambda: person.heard("hello"))
            for number in range(3):
                platform.post(f"m{number}")
                await until(lambda n=number: f"m{n}" in person.messages())
                platform.kill_connections()
                platform.post(f"between {number}")
            await until(lambda: "between 2" in person.messages())
            await until(lambda: len(inbox.messages) == 6)

            wanted = [f"{word}{n}" for n in range(3)
                      for word in ("m", "between ")]
            assert person.messages() == wanted
            assert [m.content for m in inbox.messages] == wanted
            assert not person.heard("missed")
            platform.down()
            platform.up()
            await until(lambda: person.heard("missed"))
        play(platform, tmp_path, work)
