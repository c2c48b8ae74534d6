"""Encrypted rooms: the other person is a second machine of nio's, the
server carries what it can't read."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("nio")

from claw.channels.matrix.api import Me
from claw.channels.matrix.events import ENCRYPTED, read_event
from claw.channels.matrix.machine import (
    Machine,
    lock_file,
    unlock_file,
)
from claw.core.channel import SendMessage
from claw.core.errors import MissingPartError, StorageError, UnavailableError
from claw.testing.fake_matrix import ALICE, BOT, ROOM

BOB = "@bob:fake"


class Device:
    """Another person's device."""

    def __init__(self, platform, folder, user=ALICE, name="PHONE"):
        self.platform, self.keys = platform, platform.room_keys
        self.me = Me(user, name)
        self.machine = Machine(folder / f"{user}{name}", self.me)
        self.sync()

    def sync(self):
        """Upload keys, take what waits."""
        body = self.machine.keys_to_upload()
        if body is not None:
            self.machine.take_uploaded(self.platform.upload_keys(
                self.me.user_id, self.me.device_id, body))
        for raw in self.keys.news(self.me.user_id, self.me.device_id, 0)[
                "to_device"]["events"]:
            self.machine.take_to_device(raw)

    def lock(self, text, *, tells=True, **content):
        """The content of an encrypted message; with `tells` the bot gets
        the key of it, else what would bring it is returned as well."""
        users = (BOT, ALICE)
        self.machine.take_devices(self.keys.query(
            {"device_keys": {user: [] for user in users}}), users)
        wanted = self.machine.claims(users)
        if wanted:
            self.machine.take_claimed(self.keys.claim(
                {"one_time_keys": wanted}))
        self.machine.forget_session(ROOM)
        letters = list(self.machine.share(ROOM, users))
        if tells:
            self.deliver(letters)
        return self.machine.encrypt(ROOM, "m.room.message", {
            "msgtype": "m.text", "body": text, **content}), letters

    def deliver(self, letters):
        for letter in letters:
            self.platform.tell_devices(self.me.user_id, ENCRYPTED, letter)

    def say(self, text, sender=ALICE, **content):
        locked, _ = self.lock(text, **content)
        return self.platform.post(None, kind=ENCRYPTED, sender=sender,
                                  **locked)

    def read(self):
        """What the bot's messages say, as this device reads them."""
        self.sync()
        return [event and event.content["body"] for event in (
            self.machine.decrypt(ROOM, read_event(raw))
            for _, raw in self.platform.sends()
            if raw["type"] == ENCRYPTED)]


@pytest.fixture
def stage(account, platform, tmp_path):
    platform.encrypt()

    @asynccontextmanager
    async def listening(**given):
        async with account.listening(**given) as channel:
            yield channel, Device(platform, tmp_path)
    return listening


def run(work):
    asyncio.run(work())


def test_both_read_each_other_and_the_server_neither(
        account, platform, stage):
    async def work():
        async with stage() as (channel, phone):
            phone.say("hello")
            await platform.until(lambda: account.inbox.messages)
            await channel.send(SendMessage("**a secret**", ROOM))
            assert phone.read() == ["a secret"]

    run(work)

    assert account.inbox.contents == ["hello"]
    assert platform.messages() == []
    assert "secret" not in json.dumps(platform.sends())


def test_a_thread_and_our_key_stay_readable(account, platform, stage):
    root = platform.post("root")

    async def work():
        async with stage() as (channel, _):
            await channel.send(SendMessage("hi", ROOM, thread_ts=root))

    run(work)
    content = platform.sends()[-1][1]["content"]

    assert content["m.relates_to"]["event_id"] == root
    assert content["org.claw.key"].startswith("claw-")


def test_a_message_waits_for_its_key(account, platform, stage):
    async def work():
        async with stage() as (_, phone):
            locked, letters = phone.lock("late", tells=False)
            platform.post(None, kind=ENCRYPTED, **locked)
            await platform.until(lambda: account.logged("key_missing"))
        assert account.inbox.contents == []
        async with account.listening():  # after a restart, too
            phone.deliver(letters)
            await platform.until(lambda: account.inbox.messages)

    run(work)

    assert account.inbox.contents == ["late"]
    assert account.marks.get("undecrypted") is None


def test_who_can_not_be_read_is_told_once(account, platform, stage,
                                          monkeypatch):
    monkeypatch.setattr("claw.channels.matrix.encryption.TELL_S", 0.0)

    async def work():
        async with stage() as (_, phone):
            for n in range(2):
                locked, _ = phone.lock(f"lost {n}", tells=False)
                platform.post(None, kind=ENCRYPTED, **locked)
            await platform.until(lambda: len(phone.read()) == 2)
            await account.settle()
            await asyncio.sleep(0.6)  # another sync
            assert len(phone.read()) == 2
            assert "Please send it again" in phone.read()[0]

    run(work)


def test_a_stranger_whose_words_we_can_not_read_is_not_waited_for(
        account, platform, stage, tmp_path):
    async def work():
        async with stage() as (_, phone):
            locked, _ = phone.lock("x", tells=False)
            platform.post(None, kind=ENCRYPTED, sender=BOB, **locked)
            await account.settle()

    run(work)

    assert account.logged("key_missing") == []


def test_another_ones_words_under_the_owners_name_are_not_his(
        account, platform, tmp_path):
    """A server that lies about the sender."""
    platform.encrypt()

    async def work():
        async with account.listening(allowed_users=(ALICE, BOB)):
            bob = Device(platform, tmp_path, BOB)
            bob.say("I am bob", sender=BOB)
            await platform.until(lambda: account.inbox.messages)
            bob.say("I am alice", sender=ALICE)
            await platform.until(lambda: account.logged("key_missing"))

    platform.post("in the room", sender=BOB)
    run(work)

    assert account.inbox.contents == ["I am bob"]


def test_a_new_device_reads_what_comes_and_not_what_was(
        account, platform, stage, tmp_path):
    async def work():
        async with stage() as (channel, phone):
            await channel.send(SendMessage("one", ROOM))
            tablet = Device(platform, tmp_path, name="TABLET")
            await account.settle()
            await channel.send(SendMessage("two", ROOM))
            assert phone.read() == ["one", "two"]
            assert tablet.read() == [None, "two"]

    run(work)


def test_who_has_left_reads_no_more(account, platform, stage, tmp_path):
    platform.post("here", sender=BOB)

    async def work():
        async with stage() as (channel, _):
            bob = Device(platform, tmp_path, BOB)
            await channel.send(SendMessage("one", ROOM))
            platform.world.enter(platform.world.room(ROOM), BOB, "leave")
            await account.settle()
            await channel.send(SendMessage("two", ROOM))
            assert bob.read() == ["one", None]

    run(work)


@pytest.mark.parametrize("letter", [
    None, 7, {}, {"algorithm": 7}, {
        "algorithm": "m.olm.v1.curve25519-aes-sha2", "sender_key": "x",
        "ciphertext": {"x": {"type": 0, "body": "nonsense"}}}])
def test_a_bad_letter_stops_no_other(account, platform, stage, letter):
    async def work():
        async with stage() as (_, phone):
            platform.tell_devices(ALICE, ENCRYPTED, {"messages": {
                BOT: {"FAKEDEVICE": letter}}})
            phone.say("hello")
            await platform.until(lambda: account.inbox.messages)

    run(work)

    assert account.inbox.contents == ["hello"]


def test_files_are_locked_both_ways(account, platform, stage):
    (account.workspace / "a.txt").write_text("a secret")

    async def work():
        async with stage() as (channel, phone):
            await channel.send(SendMessage("[DOCUMENT:a.txt]", ROOM))
            assert phone.read() == ["a.txt"]
            locked, keys = lock_file(b"her secret")
            phone.say("b.txt", msgtype="m.file", file={
                **keys, "url": platform.add_file(locked)})
            await platform.until(lambda: account.inbox.messages)

    run(work)
    (attachment,) = account.inbox.messages[0].attachments

    assert b"a secret" not in platform.world.media.values()
    with open(attachment.path, "rb") as file:
        assert file.read() == b"her secret"


def test_a_file_that_was_changed_is_refused():
    locked, keys = lock_file(b"it")

    assert unlock_file(locked, keys) == b"it"
    for wrong in ({}, {**keys, "hashes": []}, {**keys, "key": {"k": "!"}}):
        with pytest.raises(UnavailableError):
            unlock_file(locked, wrong)
    with pytest.raises(UnavailableError):
        unlock_file(locked + b"x", keys)


def test_two_processes_do_not_share_the_keys(tmp_path):
    first = Machine(tmp_path, Me(BOT, "D"))
    with pytest.raises(UnavailableError, match="another claw"):
        Machine(tmp_path, Me(BOT, "D"))
    first.close()
    Machine(tmp_path, Me(BOT, "D")).close()


def test_a_store_that_can_not_be_read_says_what_to_do(tmp_path):
    Machine(tmp_path, Me(BOT, "D")).close()
    store = next(tmp_path.glob("*.db"))
    store.write_bytes(b"no database" * 1000)

    with pytest.raises(StorageError) as caught:
        Machine(tmp_path, Me(BOT, "D"))

    assert "log in for a new token" in caught.value.hint


def test_the_store_is_private(account, platform, stage):
    async def work():
        async with stage():
            pass

    run(work)
    folder = account.workspace / "state" / "matrix"

    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())


def test_what_was_encrypted_is_never_sent_plain(account, platform, stage):
    """Whatever the server says later."""
    async def work():
        async with stage() as (channel, _):
            await channel.send(SendMessage("one", ROOM))
        del platform.world.room(ROOM).state["m.room.encryption", ""]
        async with account.open() as channel:
            await channel.send(SendMessage("two", ROOM))

    run(work)

    assert platform.messages() == []


def test_without_the_extra_nothing_is_sent_plain(account, platform,
                                                 monkeypatch):
    monkeypatch.setattr("claw.channels.matrix.machine.find_spec",
                        lambda name: None)
    platform.encrypt()

    with pytest.raises(MissingPartError) as caught:
        account.sends("hello")

    assert "matrix" in caught.value.hint
    assert platform.messages() == []


def test_without_the_extra_people_are_told_once(account, platform,
                                                monkeypatch):
    monkeypatch.setattr("claw.channels.matrix.machine.find_spec",
                        lambda name: None)
    platform.encrypt()
    for _ in range(2):
        account.hears(*[{"kind": ENCRYPTED, "algorithm": "x"}] * 2)

    (notice,) = platform.messages()
    assert "claw channel doctor matrix" in notice["body"]
    assert len(account.logged("encryption_missing")) == 1


def test_nothing_is_loaded_where_no_room_is_encrypted(account, platform):
    account.hears("hello")

    assert not (account.workspace / "state").exists()
    assert platform.list_calls("keys/upload") == []


def test_keys_that_are_refused_stop_no_message(account, platform):
    """A store that was lost: the server has other keys of this device."""
    platform.encrypt()
    platform.add_room("!plain:fake", ALICE)
    platform.fault("upload", "status", None, status=400)
    account.hears({"body": "hello", "room_id": "!plain:fake"})

    assert account.inbox.contents == ["hello"]
    assert len(account.logged("keys_refused")) <= 2


@pytest.mark.parametrize("keys", [
    {"PHONE": {}}, {"PHONE": None}, [], None,
    {"PHONE": {"algorithms": [], "device_id": "PHONE", "keys": {}}},
    {"PHONE": {"algorithms": [], "device_id": "PHONE", "user_id": BOB,
               "keys": {"ed25519:PHONE": "x", "curve25519:PHONE": "x"},
               "signatures": {BOB: {"ed25519:PHONE": "x"}}}},
])
def test_bad_keys_of_one_person_stop_nobody_else(account, platform, stage,
                                                 keys):
    platform.room_keys.devices[BOB] = keys
    platform.post("in the room", sender=BOB)

    async def work():
        async with stage() as (channel, phone):
            phone.say("hello")
            await platform.until(lambda: account.inbox.messages)
            await channel.send(SendMessage("hi", ROOM))
            assert phone.read() == ["hi"]

    run(work)


@pytest.mark.parametrize("keys", [
    {}, None, {"signed_curve25519:A": None}, {"signed_curve25519:A": {}},
    {"signed_curve25519:A": {"key": "x", "signatures": {}}}])
def test_a_bad_one_time_key_stops_no_answer(account, platform, stage, keys,
                                            tmp_path, monkeypatch):
    claim = platform.room_keys.claim

    def spoilt(body):
        found = claim(body)
        if BOB in body["one_time_keys"]:
            found["one_time_keys"][BOB] = {"PHONE": keys}
        return found

    async def work():
        async with stage() as (channel, phone):
            Device(platform, tmp_path, BOB)
            platform.post("in the room", sender=BOB)
            monkeypatch.setattr(platform.room_keys, "claim", spoilt)
            await channel.send(SendMessage("hi", ROOM))
            assert phone.read() == ["hi"]

    run(work)
