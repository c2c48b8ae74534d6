"""The other side of both: discord.py as a bot of our fake platform, and
discord.py beside DiscordChannel, each hearing what the other says.

discord.py reads JSON only where the Content-Type is exactly
application/json, and inflates the gateway's stream itself.
"""

import asyncio
import io
from contextlib import asynccontextmanager

import pytest

from claw.channels.discord import DiscordChannel, DiscordSettings
from claw.core.channel import Attachment, Button, ChannelDeps, SendMessage
from claw.testing.contracts.stage import KeepingInbox, until
from claw.testing.fake_discord import FakeDiscord
from claw.testing.fake_discord.recording import record_voice

discord = pytest.importorskip("discord")
yarl = pytest.importorskip("yarl")

pytestmark = pytest.mark.peers

OTHER = "700000000000000009"
ROOM = "850"


@pytest.fixture
def platform(monkeypatch):
    with FakeDiscord() as running:
        running.add_channel(ROOM)
        running.add_channel("851", parent_id=ROOM)
        monkeypatch.setattr(discord.http.Route, "BASE", running.api_url)
        monkeypatch.setattr(
            discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY",
            yarl.URL(running.gateway_url))
        yield running
    assert running.problems == []


@asynccontextmanager
async def peer(platform, token=None):
    """A bot made with discord.py, ready; `heard` is what it was told."""
    client = discord.Client(
        intents=discord.Intents(guilds=True, messages=True,
                                message_content=True),
        allowed_mentions=discord.AllowedMentions.none())
    client.heard, client.edits, client.pressed = [], [], []
    client.resumes = []

    @client.event
    async def on_message(message):
        client.heard.append(message)

    @client.event
    async def on_message_edit(before, after):
        client.edits.append(after)

    @client.event
    async def on_resumed():
        client.resumes.append(True)

    @client.event
    async def on_interaction(interaction):
        client.pressed.append(interaction.data)
        await interaction.response.defer()

    tasks = []
    try:
        await client.login(token or platform.add_bot(OTHER, "peer"))
        tasks.append(asyncio.create_task(client.connect()))
        async with asyncio.timeout(15):
            await client.wait_until_ready()
        yield client
    finally:
        await client.close()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def claw(platform, folder, inbox):
    """Our channel, that hears the other bot."""
    channel = DiscordChannel(
        DiscordSettings(bot_token=platform.token, allowed_users=(OTHER,),
                        listen_to_bots=True, api_base_url=platform.api_url),
        ChannelDeps(workspace=folder, files=folder / "files"))
    sessions = len(platform.sessions)
    task = asyncio.create_task(channel.listen(inbox))
    try:
        await platform.until(lambda: len(platform.sessions) > sessions)
        yield channel
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await channel.aclose()


def test_a_bot_of_theirs_works_with_our_platform(platform):
    async def go():
        async with peer(platform) as client:
            platform.post("hello bot", ROOM)
            await until(lambda: client.heard)
            (heard,) = client.heard
            assert (heard.content, heard.author.name, heard.guild.id,
                    heard.channel.name) == (
                        "hello bot", "alice", 900, "room-850")
            answer = await heard.reply("pong", nonce="n1")
            await answer.edit(content="pong!")
            await heard.add_reaction("👀")
            assert platform.reactions(str(heard.id)) == ["👀"]
            await heard.channel.send(file=discord.File(
                io.BytesIO(b"it"), "a.txt"))
            history = [m async for m in heard.channel.history(limit=5)]
            assert [m.content for m in history] == ["", "pong!", "hello bot"]
            assert await history[0].attachments[0].read() == b"it"
            await answer.delete()
            with pytest.raises(discord.NotFound):
                await answer.edit(content="x")
            with pytest.raises(discord.HTTPException):
                await heard.channel.send("x" * 2001)
            await until(lambda: client.edits)
    asyncio.run(go())


def test_a_bot_of_theirs_resumes_with_our_platform(platform):
    async def go():
        async with peer(platform) as client:
            platform.close(4000)
            platform.post("while it was away", ROOM)
            await until(lambda: client.heard and client.resumes)
            assert [m.content for m in client.heard] == ["while it was away"]
    asyncio.run(go())


def test_their_wrong_token_is_refused(platform):
    async def go():
        async with peer(platform, "NzAw.wrong.token"):
            pass

    with pytest.raises(discord.LoginFailure):
        asyncio.run(go())


def test_they_read_what_we_send(platform, tmp_path):
    (tmp_path / "report.txt").write_text("the report")
    (tmp_path / "voice.ogg").write_bytes(record_voice(seconds=2))
    voice = Attachment(str(tmp_path / "voice.ogg"), "voice.ogg", "audio/ogg")

    async def go():
        async with peer(platform) as client, \
                claw(platform, tmp_path, KeepingInbox()) as channel:
            await channel.send(SendMessage(
                "Done: **yes**\n[DOCUMENT:report.txt]", ROOM,
                buttons=(Button("Allow", "approve:1:yes"),)))
            await channel.send(SendMessage("", ROOM, attachments=(voice,)))
            message = SendMessage("q?", "851", poll=("q?", "a", "b"))
            await channel.send_part(message, channel.poll_part(message))
            await until(lambda: len(client.heard) == 4)
            text, file, spoken, poll = client.heard
            assert text.content == "Done: **yes**"
            assert text.flags.suppress_embeds
            (row,) = text.components
            assert row.children[0].custom_id == "approve:1:yes"
            assert await file.attachments[0].read() == b"the report"
            assert spoken.flags.voice
            assert spoken.attachments[0].is_voice_message()
            assert spoken.attachments[0].duration == 2.0
            assert poll.poll.question == "q?"
            assert isinstance(poll.channel, discord.Thread)
            await channel.clear_buttons(ROOM, str(text.id))
            await until(lambda: client.edits)
            assert client.edits[0].components == []
    asyncio.run(go())


def test_we_read_what_they_send(platform, tmp_path):
    inbox = KeepingInbox()

    async def go():
        async with claw(platform, tmp_path, inbox), \
                peer(platform) as client:
            room = client.get_channel(int(ROOM))
            thread = room.get_thread(851)
            first = await room.send("hello **claw** 안녕")
            await first.reply("and more")
            await thread.send("in a thread", files=[
                discord.File(io.BytesIO(b"1"), "a.txt"),
                discord.File(io.BytesIO(b"22"), "b.txt")])
            await first.edit(content="hello again")
            await until(lambda: len(inbox.messages) == 4)
    asyncio.run(go())

    first, reply, files, edit = inbox.messages
    assert (first.content, first.sender, first.reply_target) == (
        "hello **claw** 안녕", OTHER, ROOM)
    assert reply.content == "> peer:\n> hello **claw** 안녕\n\nand more"
    assert [a.size_bytes for a in files.attachments] == [1, 2]
    assert (files.reply_target, files.thread_ts) == ("851", "851")
    assert edit.content == "[Edited] hello again"
    assert edit.id.startswith(first.id)
