"""line-bot-sdk, LINE's own client, beside the channel: it understands what
the fake posts as LINE, and the fake's answers, and its models hold what the
channel sends.

LINE itself can't be had on a machine of one's own.
"""

import asyncio
import base64
import json
import os
from pathlib import Path

import pytest

from claw.channels.line import LineChannel, LineSettings
from claw.core.channel import Button, ChannelDeps, SendMessage
from claw.testing.fake_line import GROUP, USER, FakeLine, sign
from tests.channels.line.conftest import deliver
from tests.channels.line.test_receive import mention, said
from tests.peers.talking import Program

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))
PYTHON = PEERS / "line" / "bin" / "python"


class Recording(FakeLine):
    """Keeps the bodies of calls."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    def _answer(self, name, given, request):
        if name in ("push", "reply", "loading"):
            self.bodies.append((name, json.loads(request.body)))
        return super()._answer(name, given, request)


@pytest.fixture
def platform():
    with Recording() as running:
        yield running
    assert running.problems == []


@pytest.fixture(scope="module")
def started():
    """The bot, which takes seconds to load."""
    if not PYTHON.exists():
        pytest.skip(f"no line-bot-sdk: run {HERE / 'install.sh'}")
    found = Program(PYTHON, HERE / "line_bot.py")
    yield found
    found.close()


@pytest.fixture
def bot(started, platform):
    started.ask(do="meet", url=platform.url, token=platform.token,
                secret=platform.secret)
    return started


def take(bot, body, headers):
    return bot.ask(do="take", body=base64.b64encode(body).decode(),
                   signature=headers["X-Line-Signature"])


def test_it_understands_what_the_fake_posts(bot, platform):
    events = [
        *said(platform, "hi", mention("@Claw hi", "@Claw", isSelf=True), {
            "type": "image", "contentProvider": {"type": "line"}}, {
            "type": "video", "contentProvider": {"type": "line"}}, {
            "type": "audio", "contentProvider": {"type": "line"}}, {
            "type": "file", "fileName": "a.pdf", "fileSize": 3}, {
            "type": "sticker", "packageId": "1", "stickerId": "2",
            "stickerResourceType": "STATIC", "keywords": ["hi"]}, {
            "type": "location", "title": "t", "address": "a",
            "latitude": 1.5, "longitude": 2.5}),
        *said(platform, "all", chat=GROUP),
        *said(platform, "room", chat="R" + "5" * 32),
        platform.build("postback", postback={"data": "approve:1"}),
        platform.build("unsend", unsend={"messageId": "1"}),
        platform.build("follow", follow={"isUnblocked": True}),
        platform.build("unfollow"), platform.build("join", chat=GROUP),
        platform.build("leave", chat=GROUP)]

    found = take(bot, *platform.wrap(*events))

    assert [kind for kind, _ in found] == [
        *["MessageEvent"] * 10, "PostbackEvent", "UnsendEvent",
        "FollowEvent", "UnfollowEvent", "JoinEvent", "LeaveEvent"]
    for (_, read), event in zip(found, events, strict=True):
        for key in ("webhookEventId", "timestamp", "source", "replyToken",
                    "deliveryContext"):
            assert read.get(key) == event.get(key), (event, key)
        for key, value in event.get("message", {}).items():
            if key not in ("quoteToken",):
                assert read["message"][key] == value, (event, key)


def test_what_it_writes_the_channel_reads(bot, platform, tmp_path):
    """Its events, with every field that it knows and has no value for."""
    events = said(platform, "hi", mention("@Claw hi", "@Claw", isSelf=True),
                  {"type": "location", "title": "t", "latitude": 1.5,
                   "longitude": 2.5})
    theirs = [event for _, event in take(bot, *platform.wrap(*events))]

    async def go():
        channel = make(platform, tmp_path)
        ours, again = [(await deliver(channel, platform, *given)).messages
                       for given in (events, theirs)]
        await channel.aclose()
        return ours, again
    ours, again = asyncio.run(go())

    assert len(ours) == 3
    assert ours == again


def test_it_believes_the_same_signatures(bot, platform):
    body, headers = platform.wrap(*said(platform, "안녕"))

    assert take(bot, body, headers) != "refused"
    assert take(bot, body, sign("other", body)) == "refused"


def test_its_models_hold_what_the_channel_sends(bot, platform, tmp_path):
    buttons = tuple(Button(f"Option {n}", f"a:{n}") for n in range(5))

    async def go():
        channel = make(platform, tmp_path)
        for event in said(platform, "one?", "two?"):
            await deliver(channel, platform, event)
            first = f"line_{event['webhookEventId']}"
        for message in (
                SendMessage("answer", USER), SendMessage("news", USER),
                SendMessage("x" * 30_000, USER),
                SendMessage("older", USER, answers=first),
                SendMessage("May I?", USER, buttons=buttons[:3]),
                SendMessage("Which?", GROUP, buttons=buttons),
                SendMessage("[IMAGE:https://a.example/x.png]", USER)):
            await channel.send(message)
        await channel.start_typing(USER)
        await channel.aclose()
    asyncio.run(go())

    assert {name for name, _ in platform.bodies} == {"push", "reply",
                                                     "loading"}
    for name, body in platform.bodies:
        read = bot.ask(do="read", call=name, body=body)
        assert drop_unset(read) == body


def test_keys_and_tokens_are_taken_once(bot, platform):
    key = "123e4567-e89b-12d3-a456-426614174000"
    token = platform.build("follow")["replyToken"]

    assert len(bot.ask(do="push", to=USER, text="a", key=key)) == 1
    assert bot.ask(do="push", to=USER, text="a", key=key) == 409
    assert len(bot.ask(do="reply", token=token, text="b")) == 1
    assert bot.ask(do="reply", token=token, text="b") == 400
    assert platform.answers() == ["a", "b"]


def test_it_understands_the_answers_of_the_fake(bot, platform):
    platform.quota, platform.pushed = 200, 37
    platform.callback = "http://127.0.0.1:9/line"

    assert bot.ask(do="look", user=USER, group=GROUP,
                   file=platform.add_file(b"abc")) == {
        "bot": "Claw", "name": "Mina", "member": "Mina",
        "quota": ["limited", 200, 37], "endpoint": True, "test": False,
        "file": "abc"}


def make(platform, tmp_path):
    return LineChannel(
        LineSettings(channel_access_token=platform.token,
                     channel_secret=platform.secret,
                     api_base_url=platform.url, data_base_url=platform.url,
                     allowed_users=(USER,)),
        ChannelDeps(tmp_path, tmp_path / "files"))


def drop_unset(value):
    """Without what the models add that has no value, or the usual one."""
    if isinstance(value, list):
        return [drop_unset(one) for one in value]
    if isinstance(value, dict):
        return {key: drop_unset(one) for key, one in value.items()
                if one is not None and (key, one) != (
                    "notificationDisabled", False)}
    return value
