"""TelegramChannel against other people's ideas of the Bot API.

mockpost never long-polls, ignores the offset and gives every update again
for ever, the newest first with update_id 1: ids hold only while nothing
new is said. telegram-test-api forgets on reading
and knows neither chat actions nor reactions. Neither may cost a message.
"""

import asyncio
import json
import urllib.request

import pytest

from claw.channels.telegram import TelegramChannel, TelegramSettings
from claw.core.channel import ChannelDeps, SendMessage
from claw.core.errors import ClawError
from claw.testing.contracts.stage import until

pytestmark = pytest.mark.peers

TOKEN = "1234567:TEST-token-of-a-peer-test-000000000"
LONG = "**Bold** and `code`, 안녕 👋. " + "word " * 1_500 + "the end"


class Inbox:
    """Keeps what it is given, the first of each id; `puts` counts all."""

    def __init__(self):
        self.kept = {}
        self.puts = 0
        self.heard = 0

    async def put(self, message):
        self.puts += 1
        self.kept.setdefault(message.id, message)

    def received(self):
        self.heard += 1

    @property
    def texts(self):
        return [m.content for m in self.kept.values()]


def post(url, body):
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())


def run(url, folder, work, logged=None):
    """`work(channel, inbox)` beside a channel that listens."""
    async def go():
        def log(event, **fields):
            if logged is not None:
                logged.append(f"{event} {fields}")

        channel = TelegramChannel(
            TelegramSettings(bot_token=TOKEN, allowed_users=("*",),
                             allow_everyone=True, api_base_url=url,
                             poll_timeout_secs=1),
            ChannelDeps(workspace=folder, files=folder / "files", log=log))
        inbox = Inbox()
        task = asyncio.create_task(channel.listen(inbox))
        try:
            async with asyncio.timeout(30):
                return await work(channel, inbox)
        finally:
            task.cancel()
            await asyncio.wait({task})
            await channel.aclose()
            assert task.cancelled(), task.exception()
    return asyncio.run(go())


@pytest.fixture(scope="module")
def mockpost_url(mockpost, tmp_path_factory):
    with mockpost(tmp_path_factory.mktemp("mockpost")) as url:
        yield url


@pytest.fixture(scope="module")
def test_api_url(telegram_test_api, tmp_path_factory):
    with telegram_test_api(tmp_path_factory.mktemp("test-api")) as url:
        yield url


def test_mockpost_updates_that_repeat_for_ever_are_put_once(
        mockpost_url, tmp_path):
    said = ["one", "two 안녕 👋", "three"]
    for text in said:
        post(f"{mockpost_url}/client/sendMessage",
             {"chat_id": 42, "text": text, "from_user": "alice"})

    async def work(channel, inbox):
        await until(lambda: len(inbox.kept) >= 3 and inbox.heard >= 4)
        return inbox

    inbox = run(mockpost_url, tmp_path, work)

    assert sorted(inbox.texts) == sorted(said)
    assert len(inbox.kept) == inbox.puts == 3
    assert {m.reply_target for m in inbox.kept.values()} == {"42"}


def test_mockpost_takes_parts_and_files(mockpost_url, tmp_path):
    (tmp_path / "notes.txt").write_text("notes")

    async def work(channel, inbox):
        message = SendMessage(LONG + "\n[DOCUMENT:notes.txt]", "42")
        parts = channel.parts(message)
        kinds = [p.kind for p in parts]
        ids = [await channel.send_part(message, p) for p in parts]
        await channel.start_typing("42")
        await channel.add_reaction("42", "telegram_42_1", "👀")
        await channel.cancel_draft("42", ids[0])
        assert await channel.health_check() is True
        return kinds, ids

    kinds, ids = run(mockpost_url, tmp_path, work)

    assert kinds == ["text", "text", "document"]
    assert len(set(ids)) == 3


def test_telegram_test_api_messages_arrive_once_and_are_answered(
        test_api_url, tmp_path):
    person = {"id": 7, "first_name": "Alice", "username": "alice",
              "is_bot": False}
    for text in ("hello", "안녕 👋"):
        post(f"{test_api_url}/sendMessage", {
            "botToken": TOKEN, "from": person, "date": 1_700_000_000,
            "chat": {"id": 42, "type": "private", "first_name": "Alice"},
            "text": text})

    async def work(channel, inbox):
        await until(lambda: len(inbox.kept) == 2 and inbox.heard >= 3)
        asked = list(inbox.kept.values())[-1]
        await channel.start_typing(asked.reply_target)
        await channel.add_reaction(asked.reply_target, asked.id, "👀")
        message = SendMessage(LONG, asked.reply_target)
        parts = channel.parts(message)
        for part in parts:
            await channel.send_part(message, part)
        return inbox, parts

    logged = []
    inbox, parts = run(test_api_url, tmp_path, work, logged)

    assert inbox.texts == ["hello", "안녕 👋"]
    assert inbox.puts == 2
    assert {m.sender for m in inbox.kept.values()} == {"7"}
    history = post(f"{test_api_url}/getUpdatesHistory", {"token": TOKEN})
    sent = [u["message"]["text"] for u in history["result"]
            if "chat_id" in u["message"]]
    assert sent == [p.data["text"] for p in parts]
    assert TOKEN.partition(":")[2] not in "\n".join(logged)


def test_an_unknown_method_of_telegram_test_api_is_a_plain_error(
        test_api_url, tmp_path):
    (tmp_path / "notes.txt").write_text("notes")

    async def work(channel, inbox):
        message = SendMessage("[DOCUMENT:notes.txt]", "42")
        with pytest.raises(ClawError) as refused:
            await channel.send(message)
        return str(refused.value)

    text = run(test_api_url, tmp_path, work)

    assert "sendDocument" in text or "500" in text
    assert TOKEN.partition(":")[2] not in text
