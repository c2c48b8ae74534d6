"""MatrixChannel against a real Synapse, with rooms of version 12, and a
matrix-nio client as the other person in encrypted rooms."""

import asyncio
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from claw.channels.matrix import MatrixChannel, MatrixSettings
from claw.core.abilities import Doubt
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.core.errors import AuthError, RateLimitedError
from claw.testing.contracts.stage import refusal, until
from tests.peers.conftest import INSTALL, PEERS, _wait, free_port

pytestmark = pytest.mark.peers

API = "/_matrix/client/v3"
FAST = """
enable_registration: true
enable_registration_without_verification: true
trusted_key_servers: []
rc_registration: {per_second: 1000, burst_count: 1000}
rc_message: {per_second: 1000, burst_count: 1000}
rc_joins: {local: {per_second: 1000, burst_count: 1000}}
rc_invites: {per_user: {per_second: 1000, burst_count: 1000}}
presence: {enabled: false}
"""


class Synapse:
    """A homeserver of its own in a folder."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.python = str(PEERS / "synapse" / "bin" / "python")
        self._run("--server-name", "localhost", "--generate-config",
                  "--report-stats=no").wait(60)
        config = folder / "hs.yaml"
        config.write_text(config.read_text().replace(
            "port: 8008", f"port: {self.port}") + "\n" + FAST)
        self.start()

    def _run(self, *options):
        with open(self.folder / "out.log", "ab") as log:
            return subprocess.Popen(
                [self.python, "-m", "synapse.app.homeserver",
                 "--config-path", "hs.yaml", *options], cwd=self.folder,
                stdout=log, stderr=log, start_new_session=True)

    def start(self):
        self.process = self._run()
        _wait(self.process, f"{self.url}{API.replace('v3', 'versions')}",
              self.folder / "out.log")

    def stop(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def register(self, name):
        body = self.call("POST", f"{API}/register", {
            "username": name, "password": "a password of a test",
            "auth": {"type": "m.login.dummy"}})
        return Person(self, body)

    def call(self, method, path, body=None, token=None):
        request = urllib.request.Request(
            self.url + path, None if body is None else json.dumps(
                body).encode(), {"Content-Type": "application/json",
                                 **({"Authorization": f"Bearer {token}"}
                                    if token else {})}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())


class Person:
    """A user of the server."""

    count = 0

    def __init__(self, server, login):
        self.server, self.id = server, login["user_id"]
        self.token, self.device = login["access_token"], login["device_id"]

    def call(self, method, path, body=None):
        return self.server.call(method, API + path, body, self.token)

    def make_room(self, *invited, **more):
        return self.call("POST", "/createRoom", {
            "invite": [person.id for person in invited],
            "preset": "private_chat", **more})["room_id"]

    def say(self, room, body, **more):
        return self.send(room, {"msgtype": "m.text", "body": body, **more})

    def send(self, room, content, kind="m.room.message"):
        Person.count += 1
        return self.call("PUT", f"/rooms/{room}/send/{kind}/"
                         f"t{Person.count}", content)["event_id"]

    def read(self, room):
        """Events of others, the oldest first."""
        found = self.call("GET", f"/rooms/{room}/messages?dir=b&limit=200")
        return [event for event in found["chunk"][::-1]
                if event["sender"] != self.id]

    def texts(self, room):
        return [event["content"]["body"] for event in self.read(room)
                if event["type"] == "m.room.message" and event["content"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if not (PEERS / "synapse" / "bin" / "python").exists():
        pytest.skip(f"synapse is not installed; {INSTALL}")
    running = Synapse(tmp_path_factory.mktemp("synapse"))
    yield running
    running.stop()


class Inbox:
    def __init__(self):
        self.messages = []

    async def put(self, message):
        if message.id not in {kept.id for kept in self.messages}:
            self.messages.append(message)

    @property
    def texts(self):
        return [message.content for message in self.messages]


class Bot:
    """A channel for a person, over restarts."""

    def __init__(self, server, person, folder):
        self.server, self.person, self.folder = server, person, folder
        self.marks, self.inbox, self.logs = Marks(), Inbox(), []

    def make(self, **given):
        return MatrixChannel(
            MatrixSettings(**{"homeserver": self.server.url,
                              "access_token": self.person.token,
                              "allowed_users": (self.alice.id,), **given}),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        marks=self.marks, log=lambda event, **fields:
                        self.logs.append((event, fields))))

    @asynccontextmanager
    async def listening(self, **given):
        channel = self.make(**given)
        task = asyncio.create_task(channel.listen(self.inbox))
        try:
            await until(lambda: task.done() or self.marks.get(
                f"since {self.person.id}"))
            yield channel
        finally:
            if task.done() and not task.cancelled():
                task.result()
            task.cancel()
            await asyncio.wait({task})
            await channel.aclose()

    async def hear(self, count=1):
        return await until(lambda: len(self.inbox.messages) >= count)

    async def joined(self, room):
        await until(lambda: room in self.person.call(
            "GET", "/joined_rooms")["joined_rooms"])


def read_file(message):
    return Path(message.attachments[0].path).read_text()


NUMBERS = iter(range(1000))


@pytest.fixture
def alice(server):
    return server.register(f"alice{next(NUMBERS)}")


@pytest.fixture
def bot(server, alice, tmp_path):
    made = Bot(server, server.register(f"bot{next(NUMBERS)}"), tmp_path)
    made.alice = alice
    return made


def test_a_talk_with_all_there_is(alice, bot, tmp_path):
    """Invitation, words of before joining, edit, thread, reply, reactions,
    files, drafts, typing, receipts."""
    (tmp_path / "a.txt").write_text("the file")

    async def work():
        async with bot.listening(stream_mode="partial") as channel:
            room = alice.make_room(bot.person, is_direct=True)
            assert ":" not in room  # version 12
            first = alice.say(room, "before you came")
            await bot.hear(1)
            alice.say(room, "* edited", **{
                "m.new_content": {"msgtype": "m.text", "body": "edited"},
                "m.relates_to": {"rel_type": "m.replace",
                                 "event_id": first}})
            alice.say(room, "in a thread", **{"m.relates_to": {
                "rel_type": "m.thread", "event_id": first}})
            await bot.hear(3)
            hello, edited, threaded = bot.inbox.messages
            assert [m.content for m in bot.inbox.messages] == [
                "before you came", "[Edited] edited", "in a thread"]
            assert threaded.thread_ts == first
            assert hello.reply_target == room

            await channel.start_typing(room)
            await channel.add_reaction(room, hello.id, "👀")
            await channel.remove_reaction(room, edited.id, "👀")
            await channel.add_reaction(room, hello.id, "✅")
            draft = await channel.send_draft(SendMessage("thinking", room))
            await channel.send(SendMessage(
                "**done**\n[DOCUMENT:a.txt]", room, thread_ts=first))
            await channel.cancel_draft(room, draft)

            events = alice.read(room)
            reactions = [e["content"]["m.relates_to"]["key"] for e in events
                         if e["type"] == "m.reaction" and e["content"]]
            assert reactions == ["✅"]
            answer, file = [
                e["content"] for e in events
                if e["type"] == "m.room.message" and e["content"]]
            assert answer["formatted_body"] == "<strong>done</strong>"
            assert answer["m.relates_to"]["event_id"] == first
            assert file["filename"] == "a.txt"

            alice.send(room, {"msgtype": "m.file", "body": "back.txt",
                              "url": file["url"]})
            await bot.hear(4)
            assert read_file(bot.inbox.messages[3]) == "the file"

            findings = {f.id: f.status for f in await channel.diagnose()}
            assert {findings[k] for k in ("server", "token", "rooms")} \
                == {"ok"}

    asyncio.run(work())


def test_one_key_is_one_event_and_history_finds_it_later(alice, bot):
    async def work():
        async with bot.listening() as channel:
            room = alice.make_room(bot.person)
            await bot.joined(room)
            message = SendMessage("hello", room)
            (part,), (never,) = channel.parts(message), channel.parts(message)
            sent = {await channel.send_part(message, part)
                    for _ in range(3)}
            assert len(sent) == 1
            assert await channel.find_sent(Doubt(message, part)) == (*sent,)
            assert await channel.find_sent(Doubt(message, never)) == ()
            await channel.send(SendMessage("x" * 100_000, room))
            assert alice.texts(room)[0] == "hello"
            assert "".join(alice.texts(room)[1:]) == "x" * 100_000

    asyncio.run(work())


def test_a_restart_of_the_server_and_a_long_absence_lose_nothing(
        alice, bot, server):
    async def work():
        async with bot.listening():
            room = alice.make_room(bot.person)
            await bot.joined(room)
            alice.say(room, "one")
            await bot.hear(1)
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)
            alice.say(room, "two")
            await bot.hear(2)
        for n in range(70):  # more than one timeline holds
            alice.say(room, f"n{n}")
        async with bot.listening():
            await bot.hear(72)
        assert bot.inbox.texts == ["one", "two",
                                   *[f"n{n}" for n in range(70)]]

    asyncio.run(work())


def test_a_person_is_found_by_id_and_a_room_by_alias(alice, bot):
    async def work():
        channel = bot.make()
        await channel.send(SendMessage("one", alice.id))
        await channel.aclose()
        invited = alice.call("GET", "/sync?timeout=0")["rooms"]["invite"]
        (room,) = invited
        channel = bot.make()
        await channel.send(SendMessage("two", alice.id))
        alice.call("POST", f"/rooms/{room}/join", {})
        lobby = alice.make_room(bot.person, room_alias_name=f"l{room[1:9]}")
        bot.person.call("POST", f"/rooms/{lobby}/join", {})
        await channel.send(SendMessage("three", f"#l{room[1:9]}:localhost"))
        await channel.aclose()
        assert alice.texts(room) == ["one", "two"]
        assert alice.texts(lobby) == ["three"]

    asyncio.run(work())


def test_a_stranger_is_declined_and_a_wrong_token_told(alice, bot, server):
    mallory = server.register(f"mallory{next(NUMBERS)}")

    async def work():
        async with bot.listening():
            room = mallory.make_room(bot.person)
            await until(lambda: any(
                e["type"] == "m.room.member"
                and e["content"]["membership"] == "leave"
                for e in mallory.read(room)))
        bot.person.token = "nonsense"
        channel = bot.make()
        with pytest.raises(AuthError, match="M_UNKNOWN_TOKEN"):
            await channel.listen(bot.inbox)
        await channel.aclose()

    asyncio.run(work())


def test_an_upgraded_room_is_followed_with_its_invitation(alice, bot):
    async def work():
        async with bot.listening():
            room = alice.make_room(bot.person, room_version="11",
                                   preset="public_chat")
            await bot.joined(room)
            new = alice.call("POST", f"/rooms/{room}/upgrade", {
                "new_version": "12"})["replacement_room"]
            await bot.joined(new)
            alice.say(new, "here now")
            await until(lambda: "here now" in bot.inbox.texts)

    asyncio.run(work())


# -- encrypted rooms

@asynccontextmanager
async def nio_client(server, person, folder):
    nio = pytest.importorskip("nio")
    folder.mkdir()
    client = nio.AsyncClient(
        server.url, person.id, person.device, str(folder),
        nio.AsyncClientConfig(encryption_enabled=True))
    client.restore_login(person.id, person.device, person.token)
    await client.sync(timeout=0, full_state=True)
    await client.keys_upload()
    try:
        yield client
    finally:
        await client.close()


LOCKED = {"initial_state": [{
    "type": "m.room.encryption", "state_key": "",
    "content": {"algorithm": "m.megolm.v1.aes-sha2"}}]}


def test_an_encrypted_talk_in_both_directions(alice, bot, server, tmp_path):
    pytest.importorskip("nio")
    (tmp_path / "a.txt").write_text("a secret file")

    async def work():
        async with nio_client(server, alice, tmp_path / "alice") as client:
            room, seen = None, []

            async def say(text):
                await client.sync(timeout=0)
                if client.should_query_keys:
                    await client.keys_query()
                await client.room_send(
                    room, "m.room.message",
                    {"msgtype": "m.text", "body": text},
                    ignore_unverified_devices=True)

            async def read(count):
                while len(seen) < count:
                    body = await client.sync(timeout=3000)
                    found = body.rooms.join.get(room)
                    seen.extend(e for e in found.timeline.events
                                if e.sender == bot.person.id
                                and hasattr(e, "body")) if found else None
                return seen[-1]

            async with bot.listening() as channel:
                room = alice.make_room(bot.person, **LOCKED)
                await bot.joined(room)
                await say("can you read me?")
                await bot.hear(1)
                await channel.send(SendMessage("I can **read**", room))
                answer = await read(1)
                assert (answer.body, answer.decrypted) == ("I can read", True)
                assert bot.inbox.texts == ["can you read me?"]
                await channel.send(SendMessage("[DOCUMENT:a.txt]", room))
                file = await read(2)
                assert file.source["content"]["file"]["url"]
                await client.room_send(
                    room, "m.room.message", file.source["content"],
                    ignore_unverified_devices=True)
                await bot.hear(2)
                assert read_file(bot.inbox.messages[1]) == "a secret file"
            await say("while you were away")
            async with bot.listening() as channel:
                await bot.hear(3)
                assert bot.inbox.texts[2] == "while you were away"
                message = SendMessage("again", room)
                (part,) = channel.parts(message)
                ids = {await channel.send_part(message, part)
                       for _ in range(2)}
                assert len(ids) == 1
                assert await channel.find_sent(Doubt(message, part)) \
                    == (*ids,)
                assert (await read(3)).body == "again"
            raw = alice.read(room)
            assert not any(e["type"] == "m.room.message" for e in raw)

    asyncio.run(work())


def test_without_the_extra_it_is_said_once_and_nothing_leaks(
        alice, bot, monkeypatch):
    monkeypatch.setattr("claw.channels.matrix.machine.find_spec",
                        lambda name: None)

    async def work():
        async with bot.listening() as channel:
            room = alice.make_room(bot.person, **LOCKED)
            await bot.joined(room)
            for n in range(2):
                alice.send(room, {"algorithm": "m.megolm.v1.aes-sha2",
                                  "ciphertext": f"x{n}"}, "m.room.encrypted")
            await until(lambda: alice.texts(room))
            with pytest.raises(Exception, match="encrypted"):
                await channel.send(SendMessage("plain", room))
            (text,) = alice.texts(room)
            assert "encrypted" in text

    asyncio.run(work())


def test_limits_of_the_server_are_obeyed(alice, bot, server):
    config = server.folder / "hs.yaml"
    config.write_text(config.read_text().replace(
        "rc_message: {per_second: 1000, burst_count: 1000}",
        "rc_message: {per_second: 0.2, burst_count: 3}"))

    async def work():
        room = alice.make_room(bot.person)
        bot.person.call("POST", f"/rooms/{room}/join", {})
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
        channel = bot.make()
        results = [await refusal(channel.send(SendMessage(f"n{n}", room)))
                   for n in range(6)]
        await channel.aclose()
        assert isinstance(results[-1], RateLimitedError)
        assert 0 < results[-1].retry_after_s <= 6
        assert alice.texts(room) == [f"n{n}" for n in range(
            len(alice.texts(room)))]

    asyncio.run(work())
