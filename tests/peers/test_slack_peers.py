"""SlackChannel and its fake against other people's Slack: slack_sdk as the
client of our fake and as the judge of what we send, and emulate as a server
(REST alone, no Socket Mode, no bot_id, no x-oauth-scopes, and a history that
ignores `oldest`)."""

import asyncio
import threading

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import Block
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

from claw.channels.slack import SlackChannel, SlackSettings
from claw.core.abilities import Doubt
from claw.core.channel import (
    Attachment,
    Button,
    ChannelDeps,
    Marks,
    SendMessage,
)
from claw.core.errors import ClawError
from claw.testing.contracts.stage import until
from claw.testing.fake_slack import FakeSlack

pytestmark = pytest.mark.peers

LONG = "**Bold** and `code`, 안녕 👋 < & >. " + "word " * 1_500 + "the end"


class Inbox:
    """Keeps what it is given, the first of each id."""

    def __init__(self):
        self.kept = {}

    async def put(self, message):
        self.kept.setdefault(message.id, message)

    @property
    def texts(self):
        return [m.content for m in self.kept.values()]


def run(work, folder, **settings):
    """`work(channel)` with a channel of these settings."""
    async def hasten(seconds):
        await asyncio.sleep(min(seconds, 0.05))

    async def go():
        channel = SlackChannel(
            SlackSettings(allowed_users=("*",), allow_everyone=True,
                          **settings),
            ChannelDeps(workspace=folder, files=folder / "files",
                        marks=Marks()), sleep=hasten)
        try:
            async with asyncio.timeout(30):
                return await work(channel)
        finally:
            await channel.aclose()
    return asyncio.run(go())


# slack_sdk as the client of our fake

@pytest.fixture
def platform():
    with FakeSlack() as found:
        yield found
    assert found.problems == []


@pytest.fixture
def web(platform):
    return WebClient(platform.bot_token, base_url=f"{platform.url}/")


def test_the_sdk_writes_reads_and_changes_messages(platform, web):
    bot = web.auth_test()
    key = {"event_type": "x", "event_payload": {"key": "1"}}
    sent = web.chat_postMessage(channel="D1001", text="a &lt; b",
                                metadata=key)
    web.reactions_add(channel="D1001", timestamp=sent["ts"], name="eyes")
    web.chat_update(channel="D1001", ts=sent["ts"], text="c")
    found = web.conversations_history(channel="D1001",
                                      include_all_metadata=True)

    (message,) = found["messages"]
    assert bot["user_id"] == "U0BOT"
    assert (message["text"], message["metadata"]) == ("c", key)
    headers = {name.lower(): value for name, value in bot.headers.items()}
    assert "im:history" in headers["x-oauth-scopes"]


def test_the_sdk_is_refused_as_slack_refuses(platform, web):
    with pytest.raises(SlackApiError) as found:
        web.chat_postMessage(channel="C404", text="x")
    assert found.value.response["error"] == "channel_not_found"
    web.token = "xoxb-wrong"
    with pytest.raises(SlackApiError) as found:
        web.auth_test()
    assert found.value.response["error"] == "invalid_auth"


def test_the_sdk_brings_files(platform, web):
    found = web.files_upload_v2(channel="D1001", filename="a.txt",
                                content="content")

    assert found["ok"]
    assert b"content" in platform.world.contents.values()


def test_the_sdk_listens_in_socket_mode(platform, web):
    """hello, an event, a button, a command, and a connection that ends."""
    heard, news = [], threading.Condition()
    client = SocketModeClient(platform.app_token, web_client=web)

    def listen(client, request):
        client.send_socket_mode_response(
            SocketModeResponse(request.envelope_id))
        with news:
            heard.append((request.type, request.payload))
            news.notify_all()

    def wait(count):
        with news:
            assert news.wait_for(lambda: len(heard) >= count, 10)

    client.socket_mode_request_listeners.append(listen)
    client.connect()
    try:
        ts = platform.say("hello")
        platform.press(ts, "yes")
        platform.command("/new")
        wait(3)
        platform.wait_until(lambda: not platform.pending())
    finally:
        client.close()

    # The SDK hands each to a thread of its own: their order is not kept.
    assert sorted(kind for kind, _ in heard) == ["events_api", "interactive",
                                                 "slash_commands"]
    assert dict(heard)["events_api"]["event"]["text"] == "hello"


# slack_sdk as the judge of what we send

def test_the_sdk_knows_our_blocks(platform, tmp_path):
    text = f"# Head\n\n- [a](https://b.c)\n\n```\ncode\n```\n\n> q\n\n{LONG}"

    async def work(channel):
        await channel.send(SendMessage(text, "D1001", buttons=(
            Button("Yes", "approve:7"),)))

    run(work, tmp_path, bot_token=platform.bot_token,
        api_base_url=platform.url)

    sent = [b for m in platform.messages() for b in m["blocks"]]
    parsed = [Block.parse(block) for block in sent]
    assert {type(p).__name__ for p in parsed} == {"RichTextBlock",
                                                  "ActionsBlock"}
    assert [p.to_dict() for p in parsed] == sent


# emulate as the server

ALICE, CLAW = "xoxp-alice-of-the-peer", "xoxb-claw-of-the-peer"


@pytest.fixture(scope="module")
def url(emulate, tmp_path_factory):
    people = [{"name": name, "real_name": name.title(),
               "email": f"{name}@example.org"} for name in ("alice", "claw")]
    tokens = [{"token": token, "user": name, "scopes": [
        "chat:write", "channels:read", "channels:history", "channels:join",
        "groups:read", "im:read", "im:write", "im:history", "mpim:read",
        "users:read", "files:read", "files:write", "reactions:write"]}
        for token, name in ((ALICE, "alice"), (CLAW, "claw"))]
    with emulate(tmp_path_factory.mktemp("emulate"), {"slack": {
            "team": {"name": "Peer", "domain": "peer"}, "users": people,
            "channels": [{"name": "general"}], "tokens": tokens}}) as found:
        yield found


@pytest.fixture
def room(url):
    """A channel that both are in, and alice's client."""
    alice, claw = (WebClient(token, base_url=f"{url}/")
                   for token in (ALICE, CLAW))
    channel = claw.api_call("conversations.list")["channels"][0]["id"]
    for client in (alice, claw):
        client.conversations_join(channel=channel)
    return channel, alice


def read(alice, channel, method="conversations.history", **more):
    found = alice.api_call(method, data={"channel": channel, **more})
    return found["messages"]


def test_emulate_is_polled(url, room, tmp_path):
    channel, alice = room
    alice.chat_postMessage(channel=channel, text="of old")

    async def work(mine):
        inbox = Inbox()
        task = asyncio.create_task(mine.listen(inbox))
        await asyncio.sleep(0.3)
        sent = [alice.chat_postMessage(channel=channel, text=f"m{n} &lt;")
                for n in range(3)]
        await until(lambda: len(inbox.kept) == 3)
        alice.chat_postMessage(channel=channel, text="reply",
                               thread_ts=sent[0]["ts"])
        await until(lambda: len(inbox.kept) == 4)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled(), task.exception()
        return inbox, sent

    inbox, sent = run(work, tmp_path, bot_token=CLAW, api_base_url=url)

    assert inbox.texts == ["m0 <", "m1 <", "m2 <", "reply"]
    assert [m.thread_ts for m in inbox.kept.values()][3] == sent[0]["ts"]


def test_emulate_takes_parts_reactions_and_files(url, room, tmp_path):
    channel, alice = room
    (tmp_path / "notes.txt").write_text("notes")
    root = alice.chat_postMessage(channel=channel, text="go")["ts"]

    async def work(mine):
        await mine.send(SendMessage(LONG, channel, thread_ts=root))
        await mine.send(SendMessage("", channel, thread_ts=root, attachments=(
            Attachment(str(tmp_path / "notes.txt"), "notes.txt"),)))
        await mine.add_reaction(channel, f"slack_{channel}_{root}", "👀")
        await mine.add_reaction(channel, f"slack_{channel}_{root}", "👀")
        await mine.start_typing(f"{channel}:{root}")

    run(work, tmp_path, bot_token=CLAW, api_base_url=url)

    first, *answers, file = read(alice, channel, "conversations.replies",
                                 ts=root)
    assert [r["name"] for r in first["reactions"]] == ["eyes"]
    assert "".join(m["text"] for m in answers).count("word") == 1_500
    assert "< & >".replace("&", "&amp;").replace("<", "&lt;").replace(
        ">", "&gt;") in answers[0]["text"] or "&lt; &amp; &gt;" in \
        answers[0]["text"]
    assert file["files"][0]["name"] == "notes.txt"


@pytest.mark.parametrize("content", ["done", "[DOCUMENT:notes.txt]"])
def test_emulate_tells_what_arrived(url, room, tmp_path, content):
    channel, _ = room
    (tmp_path / "notes.txt").write_text("notes")

    async def work(mine):
        message = SendMessage(content, channel)
        (part,) = mine.parts(message)
        (other,) = mine.parts(message)
        ts = await mine.send_part(message, part)
        return ts, await mine.find_sent(Doubt(message, part)), \
            await mine.find_sent(Doubt(message, other))

    ts, found, missing = run(work, tmp_path, bot_token=CLAW, api_base_url=url)

    assert (found, missing) == ((ts,), ())


def test_emulate_takes_buttons_away(url, room, tmp_path):
    channel, alice = room

    async def work(mine):
        message = SendMessage("May I?", channel, buttons=(
            Button("Yes", "approve:7"),))
        (part,) = mine.parts(message)
        ts = await mine.send_part(message, part)
        await mine.clear_buttons(channel, ts)
        return ts

    ts = run(work, tmp_path, bot_token=CLAW, api_base_url=url)

    (message,) = [m for m in read(alice, channel) if m["ts"] == ts]
    assert [b["type"] for b in message["blocks"]] == ["rich_text"]


def test_the_doctor_tells_what_emulate_lacks(url, tmp_path):
    async def work(mine):
        return {f.id: f.status for f in await mine.diagnose()}

    found = run(work, tmp_path, bot_token=CLAW, app_token="xapp-1",
                api_base_url=url)

    assert (found["token"], found["scopes"], found["socket"]) == (
        "ok", "skip", "fail")


def test_emulate_refuses_a_wrong_token_plainly(url, tmp_path):
    async def work(mine):
        with pytest.raises(ClawError) as found:
            await mine.send(SendMessage("x", "C1"))
        return found.value

    error = run(work, tmp_path, bot_token="xoxb-wrong-token",
                api_base_url=url)

    assert "xoxb-wrong-token" not in error.message
