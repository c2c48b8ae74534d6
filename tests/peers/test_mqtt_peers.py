"""MqttChannel against Mosquitto, with paho-mqtt as the other client; and
the broker double against paho-mqtt.

Mosquitto runs with TLS, passwords and an access list, from a folder of its
own; the system's service is left alone.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from claw.channels.mqtt import MqttChannel, MqttSettings, link
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.core.errors import AuthError
from claw.testing.contracts.stage import Kept, close, refusal, until
from claw.testing.fake_mqtt import FakeMqtt

pytestmark = pytest.mark.peers
pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")

import paho.mqtt.client as paho  # noqa: E402
from paho.mqtt.enums import CallbackAPIVersion  # noqa: E402
from paho.mqtt.packettypes import PacketTypes  # noqa: E402
from paho.mqtt.properties import Properties  # noqa: E402

BINARY = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")
PASSWORDS = {"claw": "canary-of-claw", "alice": "pass-a", "eve": "pass-e"}
ALICE = "claw/ask/alice"
ACCESS = """\
user claw
topic read claw/ask/+
topic write claw/ask/+/reply
user alice
topic write claw/ask/alice
topic write claw/ask/alice/r/+
topic read claw/ask/alice/#
user eve
topic write claw/ask/eve
topic read #
"""
CONFIG = """\
per_listener_settings false
allow_anonymous false
password_file {folder}/passwords
acl_file {folder}/access
persistence true
persistence_location {folder}/
listener {port} 127.0.0.1
listener {tls_port} 127.0.0.1
certfile {folder}/cert.pem
keyfile {folder}/key.pem
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Mosquitto:
    """A broker that can be stopped, started again, and frozen."""

    def __init__(self, folder):
        self.folder = folder
        self.port, self.tls_port = free_port(), free_port()
        lines = []
        for name, password in PASSWORDS.items():
            file = folder / f"of-{name}"
            file.touch(mode=0o600)
            subprocess.run([f"{BINARY}_passwd".replace("sbin", "bin"), "-b",
                            str(file), name, password], check=True,
                           capture_output=True)
            lines.append(file.read_text())
        (folder / "passwords").write_text("".join(lines))
        (folder / "access").write_text(ACCESS)
        for file in ("passwords", "access"):
            (folder / file).chmod(0o600)
        make_certificate(folder)
        user = "user root\n" if os.geteuid() == 0 else ""
        (folder / "mosquitto.conf").write_text(user + CONFIG.format(
            folder=folder, port=self.port, tls_port=self.tls_port))
        self.start()

    def start(self):
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [BINARY, "-c", str(self.folder / "mosquitto.conf")],
                stdout=log, stderr=log)
        end = time.monotonic() + 10
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            assert self._process.poll() is None, self.said()
            assert time.monotonic() < end, self.said()
            time.sleep(0.01)

    def said(self):
        return (self.folder / "log").read_text(errors="replace")[-2000:]

    def stop(self):
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:  # a broker may hang in its end
            self._process.kill()
            self._process.wait(10)

    def freeze(self):
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self._process.send_signal(signal.SIGCONT)


def make_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "9", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key.pem"),
         "-out", str(folder / "cert.pem")], check=True, capture_output=True)


class Person:
    """paho-mqtt: somebody who publishes and reads."""

    def __init__(self, port, name="alice", *topics, client_id=None):
        self.got = []
        self._ready = threading.Event()
        self._topics = topics
        self.client = paho.Client(CallbackAPIVersion.VERSION2,
                                  client_id=client_id or f"person-{name}",
                                  protocol=paho.MQTTv5)
        self.client.username_pw_set(name, PASSWORDS[name])
        self.client.on_connect = self._on_connect
        self.client.on_subscribe = lambda *_: self._ready.set()
        self.client.on_message = lambda _c, _u, m: self.got.append(m)
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        assert self._ready.wait(5)

    def _on_connect(self, client, *_):
        if self._topics:
            client.subscribe([(topic, 1) for topic in self._topics])
        else:
            self._ready.set()

    def say(self, topic, text, **properties):
        found = Properties(PacketTypes.PUBLISH)
        for name, value in properties.items():
            setattr(found, name, value)
        self.client.publish(topic, text, qos=1, properties=found
                            ).wait_for_publish(5)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()


class House:
    """A broker and channels at it."""

    def __init__(self, broker, folder):
        self.broker, self.folder = broker, folder
        self.marks, self.inbox, self.logged = Marks(), Kept(), []
        self.people = []

    def make(self, **settings):
        return MqttChannel(MqttSettings(**{
            "broker_url": f"mqtts://127.0.0.1:{self.broker.tls_port}",
            "ca_file": str(self.broker.folder / "cert.pem"),
            "username": "claw", "password": PASSWORDS["claw"],
            "client_id": "claw", "topics": ("claw/ask/+",),
            "allowed_users": (ALICE,), **settings}), ChannelDeps(
                workspace=self.folder, files=self.folder, marks=self.marks,
                log=lambda event, **more: self.logged.append(event)))

    async def person(self, *arguments, **more):
        person = await asyncio.to_thread(
            Person, self.broker.port, *arguments, **more)
        self.people.append(person)
        return person

    @contextlib.asynccontextmanager
    async def listening(self, channel=None, inbox=None):
        channel = channel or self.make()
        task = asyncio.create_task(channel.listen(inbox or self.inbox))
        try:
            await until(lambda: task.done()
                        or channel._listener.working.is_set())
            yield channel
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})
            await close(channel)

    async def hear(self, count):
        await until(lambda: len(self.inbox.messages) >= count)

    @property
    def texts(self):
        return [m.content for m in self.inbox.messages]


@pytest.fixture
def house(tmp_path, monkeypatch):
    if BINARY is None:
        pytest.skip("mosquitto is not installed")
    monkeypatch.setattr("claw.channels.connection._TRY_AGAIN_S", (0.05,))
    monkeypatch.setattr("claw.channels.connection.CONFLICT_S", (0.3,))
    broker = Mosquitto(tmp_path)
    house = House(broker, tmp_path)
    yield house
    for person in house.people:
        person.close()
    broker.stop()


def test_a_request_over_tls_gets_its_answer(house):
    async def work():
        alice = await house.person("alice", "claw/ask/alice/#")
        async with house.listening() as channel:
            alice.say(ALICE, "hello 👋", ResponseTopic=f"{ALICE}/r/1",
                      CorrelationData=b"\0\1", UserProperty=("sender", "Al"))
            await house.hear(1)
            asked = house.inbox.messages[0]
            await channel.send(SendMessage("re " + "x" * 100_000,
                                           asked.reply_target,
                                           answers=asked.id))
        return asked, alice.got

    monitored = asyncio.run(_with_access(house, work))

    asked, got = monitored
    assert (asked.content, asked.sender, asked.sender_name) == (
        "hello 👋", ALICE, "Al")
    answers = [m for m in got if m.topic == f"{ALICE}/r/1"]
    assert [dict(m.properties.UserProperty)["part"] for m in answers] == [
        "1/4", "2/4", "3/4", "4/4"]
    assert {m.properties.CorrelationData for m in answers} == {b"\0\1"}
    assert {m.properties.ContentType for m in answers} == {
        "text/plain; charset=utf-8"}


async def _with_access(house, work):
    """claw may write below the topics of this test too."""
    access = house.broker.folder / "access"
    access.write_text(ACCESS.replace(
        "topic write claw/ask/+/reply", "topic write claw/ask/+/reply\n"
        "topic write claw/ask/+/r/+"))
    house.broker.stop()
    house.broker.start()
    return await work()


def test_the_doctor_finds_nothing_wrong(house):
    async def work():
        async with house.listening() as channel:
            return {f.id: (f.status, f.detail)
                    for f in await channel.diagnose()}

    rows = asyncio.run(work())

    assert {status for status, _ in rows.values()} == {"ok"}, rows


def test_a_wrong_password_and_a_strange_certificate_are_named(house):
    async def work(**settings):
        channel = house.make(**settings)
        error = await refusal(channel.send(SendMessage("x", f"{ALICE}/reply")))
        await close(channel)
        return error

    wrong = asyncio.run(work(password="wrong-word"))
    strange = asyncio.run(work(ca_file=None))

    assert isinstance(wrong, AuthError)
    assert "wrong-word" not in repr(wrong)
    assert "certificate" in strange.message
    assert "ca_file" in strange.hint


def test_what_the_access_list_refuses_is_an_auth_error(house):
    async def work():
        async with house.listening() as channel:
            return await refusal(channel.send(
                SendMessage("open", "home/door/open")))

    error = asyncio.run(work())

    assert isinstance(error, AuthError)
    assert "0x87" in error.message


def test_nobody_can_write_as_somebody_else(house):
    async def work():
        eve = await house.person("eve")
        alice = await house.person("alice")
        async with house.listening():
            eve.say(ALICE, "let me in")  # the broker drops it
            eve.say("claw/ask/eve", '{"sender": "alice", "content": "open"}')
            alice.say(ALICE, "hello")
            await house.hear(1)

    asyncio.run(work())

    assert house.texts == ["hello"]


@pytest.mark.parametrize("restart", [False, True])
def test_what_is_sent_while_we_are_away_waits(house, restart):
    async def work():
        alice = await house.person("alice")
        async with house.listening():
            alice.say(ALICE, "one")
            await house.hear(1)
        for number in range(30):
            alice.say(ALICE, f"n{number}")
        if restart:
            house.broker.stop()
            house.broker.start()
        async with house.listening():
            await house.hear(31)

    asyncio.run(work())

    assert house.texts == ["one", *(f"n{n}" for n in range(30))]
    assert "session_lost" not in house.logged


@pytest.mark.parametrize("restart", [False, True])
def test_a_delivery_that_is_made_again_is_the_same_message(house, restart):
    async def work():
        alice = await house.person("alice")
        held = Kept(holds=True)
        async with house.listening(inbox=held):
            for _ in range(3):
                alice.say(ALICE, "yes")
            await until(lambda: held.offered)
            await asyncio.sleep(0.2)
        if restart:
            house.broker.stop()
            house.broker.start()
            await asyncio.to_thread(alice.client.reconnect)
        async with house.listening():
            await house.hear(3)
            alice.say(ALICE, "yes")
            await house.hear(4)
        return held.offered[0].id

    first = asyncio.run(work())

    ids = [m.id for m in house.inbox.messages]
    assert ids[0] == first
    assert len(set(ids)) == 4


def test_a_property_that_stops_other_clients_stops_nobody(house):
    async def work():
        alice = await house.person("alice")
        async with house.listening():
            alice.say(ALICE, "boom", UserProperty=("k", "a\ufeffb"))
            alice.say(ALICE, "good")
            await house.hear(2)

    asyncio.run(work())

    assert house.texts == ["boom", "good"]


def test_a_broker_that_restarts_is_found_again(house):
    async def work():
        alice = await house.person("alice")
        async with house.listening() as channel:
            house.broker.stop()
            house.broker.start()
            await until(channel._listener.working.is_set)
            await asyncio.to_thread(alice.client.reconnect)
            alice.say(ALICE, "hello")
            await house.hear(1)

    asyncio.run(work())

    assert "poll_works_again" in house.logged


def test_a_second_client_of_our_name_is_a_conflict(house):
    async def work():
        async with house.listening() as channel:
            second = paho.Client(CallbackAPIVersion.VERSION2, "claw",
                                 protocol=paho.MQTTv5)
            second.username_pw_set("claw", PASSWORDS["claw"])
            await asyncio.to_thread(second.connect, "127.0.0.1",
                                    house.broker.port)
            second.loop_start()
            await until(lambda: "conflict" in house.logged)
            second.disconnect()
            second.loop_stop()
            await until(channel._listener.working.is_set)

    asyncio.run(work())


def test_a_frozen_broker_is_given_up_and_found_again(house, monkeypatch):
    monkeypatch.setattr(link, "PONG_S", 0.3)
    monkeypatch.setattr(link, "CONNECT_S", 0.5)

    async def work():
        alice = await house.person("alice")
        channel = house.make(keep_alive_secs=5)
        async with house.listening(channel):
            alice.say(ALICE, "before")
            await house.hear(1)
            channel._listener.link._keep_alive_s = 0.3
            channel._listener.link._tasks[1].cancel()
            channel._listener.link._tasks[1] = asyncio.create_task(
                channel._listener.link._keep_alive())
            house.broker.freeze()
            await until(lambda: "poll_failed" in house.logged)
            house.broker.thaw()
            alice.say(ALICE, "after")
            await house.hear(2)

    asyncio.run(work())

    assert house.texts == ["before", "after"]


def test_hosts_of_a_group_share_the_messages(house):
    async def work():
        alice = await house.person("alice")
        other = Kept()
        one = house.make(share_group="g")
        two = house.make(share_group="g", client_id="claw-2")
        async with house.listening(one), house.listening(two, other):
            for number in range(20):
                alice.say(ALICE, str(number))
            await until(lambda: len(house.inbox.messages)
                        + len(other.messages) == 20)
        return [m.content for m in other.messages]

    texts = asyncio.run(work())

    assert sorted(map(int, house.texts + texts)) == list(range(20))
    assert house.texts
    assert texts


def test_our_own_answer_does_not_come_back(house):
    """By No Local, without looking at it."""
    async def work():
        alice = await house.person("alice", "claw/ask/alice/#")
        channel = house.make(topics=("claw/ask/#",))
        seen = []
        take = channel._intake.read

        async def read(message):
            seen.append(message.topic)
            return await take(message)

        channel._intake.read = read
        access = house.broker.folder / "access"
        access.write_text(ACCESS.replace("topic read claw/ask/+",
                                         "topic read claw/ask/#"))
        house.broker.stop()
        house.broker.start()
        await asyncio.to_thread(alice.client.reconnect)
        async with house.listening(channel):
            await channel.send(SendMessage("re", f"{ALICE}/reply"))
            alice.say(ALICE, "hello")
            await house.hear(1)
        return seen

    assert asyncio.run(work()) == [ALICE]


# -- the double, with paho-mqtt as its client

def test_another_client_is_content_with_the_broker_double():
    with FakeMqtt(username="alice", password=PASSWORDS["alice"]) as broker:
        alice = Person(broker.port, "alice", "a/+")
        alice.say("a/b", "hello", UserProperty=("k", "v"),
                  CorrelationData=b"c", ResponseTopic="r")
        broker.say("a/c", "from elsewhere")
        broker.wait_until(lambda: len(alice.got) == 2)
        alice.close()
        broker.wait_until(lambda: not broker.connections)

    assert [m.payload for m in alice.got] == [b"hello", b"from elsewhere"]
    assert alice.got[0].properties.UserProperty == [("k", "v")]
    assert broker.published[0].user == {"k": "v"}
    assert broker.problems == []
