"""Every channel against the one contract."""

import asyncio
import io
import json
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from claw.channels import REGISTRY
from claw.channels.cli.channel import CliChannel, CliSettings
from claw.channels.telegram import TelegramChannel, TelegramSettings
from claw.channels.webhook import WebhookChannel, WebhookSettings
from claw.core.channel import Channel, ChannelDeps
from claw.core.errors import UnavailableError
from claw.core.value import replace
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import FAULTS, hasten, until
from claw.testing.fake_telegram import FakeTelegram
from claw.testing.fake_webhook import FakeReceiver, sign
from claw.testing.memory_channel import MemoryChannel
from tests.gateway.hosted import Hosted

SPEC = Path(__file__).parents[1] / "channels" / "telegram" / "bot_api.json"


class Least(Channel):
    """The least that a channel may be."""

    name = "least"

    def __init__(self, waiting, sent):
        self._waiting, self._sent = waiting, sent

    async def send(self, message):
        self._sent.append(message.content)

    async def listen(self, inbox):
        while True:
            if self._waiting:
                await inbox.put(self._waiting[0])
                self._waiting.pop(0)
            await asyncio.sleep(0.002)


class MemoryStage(Stage):
    edits = False
    person = "alice"

    def __init__(self):
        self.waiting, self.all_sent, self.broken = [], [], False
        super().__init__()

    def make(self):
        channel = MemoryChannel("memory", self.edits, drafts=self.edits)
        channel.waiting, channel.sent = self.waiting, self.all_sent
        channel.before = self._before
        return channel

    def _before(self, method, *_):
        if self.broken and method.startswith("send"):
            raise UnavailableError("the platform is away")

    async def say(self, text):
        self.channel.say(text, sender_name=self.person)

    async def rename(self):
        self.person = "alicia"
        return True

    def shown(self):
        return [s.text for s in self.all_sent
                if not s.deleted]

    def acknowledged(self):
        return not self.waiting

    def fail(self, how):
        self.broken = True


class EditingStage(MemoryStage):
    edits = True


class LeastStage(Stage):
    person = "alice"

    def __init__(self):
        self.words = MemoryChannel("least")
        self.all_sent = []
        super().__init__()

    def make(self):
        return Least(self.words.waiting, self.all_sent)

    async def say(self, text):
        self.words.say(text, "7", sender_name=self.person)

    async def rename(self):
        self.person = "alicia"
        return True

    def shown(self):
        return self.all_sent

    def acknowledged(self):
        return not self.words.waiting


class TestLeast(ChannelContract):
    name = "least"

    @contextmanager
    def running(self):
        yield LeastStage()


class TestMemory(ChannelContract):
    name = "memory"
    failures = ("away",)

    @contextmanager
    def running(self):
        yield MemoryStage()


class TestMemoryThatEdits(TestMemory):
    @contextmanager
    def running(self):
        yield EditingStage()


class TelegramStage(Stage):
    recipient = "1001"
    person = "alice"

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.secret = platform.token.partition(":")[2]
        super().__init__()

    def make(self):
        return TelegramChannel(
            TelegramSettings(
                bot_token=self.platform.token, allowed_users=("*", "1001"),
                api_base_url=self.platform.url, poll_timeout_secs=1),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log), sleep=hasten)

    async def say(self, text):
        self.platform.post(text, username=self.person)

    async def rename(self):
        self.person = "alicia"
        return True

    def shown(self):
        return self.platform.answers()

    def acknowledged(self):
        return self.platform.pending() == 0

    def fail(self, how):
        kind, options = FAULTS[how]
        self.platform.fault("*", kind, None, **options)

    def connections(self):
        return self.platform.connections

    def previews(self):
        return sum(call.params.get("link_preview_options") != {
            "is_disabled": True} for method in (
                "sendMessage", "editMessageText")
            for call in self.platform.list_calls(method))


class TestTelegram(ChannelContract):
    name = "telegram"
    failures = tuple(FAULTS)

    @contextmanager
    def running(self):
        with FakeTelegram(spec=SPEC) as platform:
            yield TelegramStage(platform, self.tmp_path)
        assert platform.problems == []


class WebhookStage(Stage):
    recipient = "alice"
    secret = "canary-of-the-webhook-channel"

    def __init__(self, receiver, folder, pool):
        self.receiver, self.folder, self.pool = receiver, folder, pool
        self.posts, self.number = {}, 0
        super().__init__()

    def make(self):
        channel = WebhookChannel(
            WebhookSettings(port=0, secret=self.secret,
                            send_url=f"{self.receiver.url}/answers"),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log))
        self.hosted, listen = Hosted(log=self.log), channel.listen

        async def listen_hosted(inbox):
            self.hosted.inbox = inbox
            await listen(self.hosted)
        channel.listen = listen_hosted
        return channel

    async def say(self, text):
        self.number += 1
        self.posts[self.number] = None, json.dumps(
            {"sender": "alice", "content": text,
             "id": str(self.number)}).encode()
        await self._post(self.number)
        # in order, unless the inbox holds it
        for _ in range(20):
            await asyncio.sleep(0.01)
            if self.posts[self.number][0].done():
                return

    async def _post(self, number):
        await until(lambda: self.hosted.port)
        body = self.posts[number][1]
        url = f"http://127.0.0.1:{self.hosted.port}/webhook"
        self.posts[number] = self.pool.submit(
            httpx.post, url, content=body, timeout=10, headers={
                "Content-Type": "application/json",
                **sign(self.secret, body)}), body

    async def resend(self):
        for number in self.posts:
            if not self._heard(number):
                await self._post(number)

    def acknowledged(self):
        return all(map(self._heard, self.posts))

    def _heard(self, number):
        post = self.posts[number][0]
        return post.done() and post.exception() is None \
            and post.result().status_code == 200

    def shown(self):
        return [d.json()["content"] for d in self.receiver.received]

    def fail(self, how):
        kind, options = FAULTS[how]
        self.receiver.fault("POST", kind, None, **options)

    def connections(self):
        return self.receiver.connections


class TestWebhook(ChannelContract):
    name = "webhook"
    # a 200 is a yes, whatever else it says
    failures = tuple(k for k in FAULTS if k not in ("page", "half"))
    # what makes a repeated delivery harmless for the receiver
    drawn = ("key",)

    @contextmanager
    def running(self):
        with (FakeReceiver(secret=WebhookStage.secret) as receiver,
              ThreadPoolExecutor(4) as pool):
            yield WebhookStage(receiver, self.tmp_path, pool)
        assert receiver.problems == []


class CliStage(Stage):
    """Another program on both ends: jsonl with ids of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.lines = []
        read, write = os.pipe()
        self.stdin = os.fdopen(read, "rb", buffering=0)
        self.writer = os.fdopen(write, "wb", buffering=0)
        self.stdout = io.BytesIO()
        super().__init__()

    def make(self):
        return CliChannel(
            CliSettings(jsonl=True),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log),
            stdin=self.stdin, stdout=self.stdout)

    async def say(self, text):
        self.lines.append(json.dumps(
            {"content": text, "id": len(self.lines) + 1}).encode() + b"\n")
        self.writer.write(self.lines[-1])

    async def resend(self):
        self.writer.write(self.lines[-1])

    def shown(self):
        return [json.loads(line)["content"]
                for line in self.stdout.getvalue().splitlines()]

    def fail(self, how):
        self.stdout.close()

    def close(self):
        self.stdin.close()
        self.writer.close()


class TestCli(ChannelContract):
    name = "cli"
    failures = ("closed",)

    @contextmanager
    def running(self):
        stage = CliStage(self.tmp_path)
        try:
            yield stage
        finally:
            stage.close()
        assert not [t for t in threading.enumerate()
                    if t.name.startswith("cli")]


SUITE = re.compile(r'^class Test\w+\(\w+\):\n    name = "(\w+)"',
                   re.MULTILINE)


@pytest.mark.parametrize("name", REGISTRY.names())
def test_every_registered_channel_is_covered_here(name):
    covered = {found for file in Path(__file__).parent.glob("test_*.py")
               for found in SUITE.findall(file.read_text("utf-8"))}

    assert name in covered


def test_a_class_is_read_for_its_settings_without_a_client():
    names = [name for name in REGISTRY.names() if name != "cli"]
    code = ("import sys; from claw.channels import REGISTRY\n"
            f"for name in {names}: assert REGISTRY.load(name).Settings\n"
            "assert not {'httpx', 'asyncio'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# The suite itself: each of these faults must be found.

class Forgetful(Least):
    """Acknowledges first and keeps afterwards."""

    async def listen(self, inbox):
        while True:
            if self._waiting:
                message = self._waiting.pop(0)
                await inbox.put(message)
            await asyncio.sleep(0.002)


class Renaming(Least):
    """Gives a message a new id at each delivery."""

    count = 0

    async def listen(self, inbox):
        while True:
            if self._waiting:
                Renaming.count += 1
                said = self._waiting[0]
                await inbox.put(type(said)(
                    f"id{Renaming.count}", said.sender, said.reply_target,
                    said.content, said.channel, said.timestamp))
                self._waiting.pop(0)
            await asyncio.sleep(0.002)


class NamesPeople(Least):
    """Takes a name for a person."""

    async def listen(self, inbox):
        while True:
            if self._waiting:
                said = self._waiting[0]
                await inbox.put(replace(said, sender=said.sender_name))
                self._waiting.pop(0)
            await asyncio.sleep(0.002)


class Cutting(Least):
    """Loses what is too long."""

    async def send(self, message):
        self._sent.append(message.content[:4096])


class Crashing(Least):
    """Lets foreign errors through."""

    async def send(self, message):
        message.content.encode()
        self._sent.append(message.content)


class Lingering(Least):
    """Leaves a task behind."""

    async def listen(self, inbox):
        self.task = asyncio.get_running_loop().create_task(
            asyncio.sleep(60))
        await super().listen(inbox)


class Clinging(Least):
    """Does not let itself be cancelled."""

    async def listen(self, inbox):
        try:
            await super().listen(inbox)
        except asyncio.CancelledError:
            await asyncio.sleep(1.2)
            raise


class Chatty(Least):
    """Raises for people it does not know."""

    async def start_typing(self, recipient):
        raise UnavailableError("chat not found")


FINDS = [
    (Forgetful, "test_nothing_is_acknowledged_before_it_is_kept"),
    (Forgetful, "test_what_could_not_be_kept_comes_again"),
    (Renaming, "test_a_redelivery_to_a_new_process_has_the_same_id"),
    (Renaming, "test_what_could_not_be_kept_comes_again"),
    (NamesPeople, "test_a_person_is_the_same_sender_under_another_name"),
    (Cutting, "test_hostile_text_arrives_or_is_refused_plainly"),
    (Crashing, "test_hostile_text_arrives_or_is_refused_plainly"),
    (Lingering, "test_a_cancelled_listen_ends_at_once_and_leaves_nothing"),
    (Clinging, "test_a_cancelled_listen_ends_at_once_and_leaves_nothing"),
    (Chatty, "test_small_signs_never_raise"),
]


@pytest.mark.parametrize(("faulty", "test"), FINDS)
def test_the_suite_finds_a_faulty_channel(faulty, test, monkeypatch):
    class Faulty(LeastStage):
        def make(self):
            return faulty(self.words.waiting, self.all_sent)

    class Suite(ChannelContract):
        name = "least"

        @contextmanager
        def running(self):
            yield Faulty()

    monkeypatch.setattr("claw.testing.contracts.stage.PATIENCE_S", 0.3)
    with pytest.raises((AssertionError, UnicodeError, UnavailableError)):
        getattr(Suite(), test)()
