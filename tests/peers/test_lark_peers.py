"""The channel and its fake against the platform's own SDK, lark-oapi: its
Frame against our codec, its client against our fake, our client against a
server that speaks its Frame, and its judge of signed posts against ours."""

import asyncio
import base64
import json
import os
import random
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from claw.channels.lark import LarkChannel, LarkSettings
from claw.channels.lark.cards import draw_key, make_card
from claw.channels.lark.frames import Frame, decode, encode
from claw.channels.lark.webhook import Seal
from claw.core.abilities import WebhookCall, WebhookRefused
from claw.core.channel import ChannelDeps
from claw.testing.contracts.stage import (
    KeepingInbox,
    run_listener,
    until,
)
from claw.testing.fake_lark import FakeLark
from claw.testing.fake_lark.posts import encrypt, sign

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))


class Person:
    """The SDK in a process of its own: a JSON object a line."""

    def __init__(self, *arguments):
        python = PEERS / "lark" / "bin" / "python"
        if not python.exists():
            pytest.skip(f"no lark-oapi: run {HERE / 'install.sh'}")
        self.process = subprocess.Popen(
            [str(python), "-W", "ignore", str(HERE / "lark_person.py"),
             *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        self.heard = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.heard.append(json.loads(line))

    def write(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self, key, count=1):
        """The values that were said under a key, once there are so many."""
        deadline = time.monotonic() + 20
        while len(found := [w for w in list(self.heard) if key in w]) < count:
            assert time.monotonic() < deadline, self.heard
            time.sleep(0.01)
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self._reader.join()
        with suppress(BrokenPipeError):
            self.process.communicate()


@pytest.fixture(scope="module")
def answering():
    """The SDK that answers line by line: it takes seconds to load."""
    with Person("answers") as sdk:
        yield sdk


@pytest.fixture
def sdk(answering):
    answering.heard.clear()
    return answering


def draw_frame(rng):
    def text():
        return "".join(rng.choice("aé中👋\0") for _ in range(
            rng.choice((0, 1, 5, 200))))
    return Frame(
        rng.choice((0, 1, 127, 128, 2**64 - 1)), rng.getrandbits(64),
        rng.choice((0, 7, -1, 2**31 - 1, -2**31)), rng.choice((0, 1, 2)),
        tuple((text(), text()) for _ in range(rng.randint(0, 6))),
        text(), text(), rng.randbytes(rng.choice((0, 1, 130, 5000))), text())


def test_our_codec_and_the_sdks_agree_on_any_frame(sdk):
    rng = random.Random(19)
    frames = [draw_frame(rng) for _ in range(2_000)]
    for frame in frames:
        sdk.write(encode(frame).hex())
    found = sdk.wait("again", len(frames))

    for frame, one in zip(frames, found, strict=True):
        told = one["frame"]
        assert told == {
            "seq": frame.seq_id, "log": frame.log_id,
            "service": frame.service, "method": frame.method,
            "headers": [list(h) for h in frame.headers],
            "encoding": frame.payload_encoding, "type": frame.payload_type,
            "payload": frame.payload.hex(), "new": frame.log_id_new}
        assert decode(bytes.fromhex(one["again"])) == frame


def test_what_the_sdk_refuses_is_no_frame_of_ours_that_differs(sdk):
    """Of broken bytes both read the same, or one of them refuses."""
    rng = random.Random(20)
    broken = []
    for _ in range(2_000):
        data = bytearray(encode(draw_frame(rng)))
        for _ in range(rng.randint(1, 3)):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        broken.append(bytes(data))
    for data in broken:
        sdk.write(data.hex())
    sdk.wait("again")
    deadline = time.monotonic() + 20
    while len(sdk.heard) < len(broken):
        assert time.monotonic() < deadline
        time.sleep(0.01)

    same = 0
    for data, told in zip(broken, sdk.heard, strict=True):
        try:
            ours = decode(data)
        except ValueError:
            continue
        if "frame" in told:
            assert ours.payload.hex() == told["frame"]["payload"]
            assert ours.seq_id == told["frame"]["seq"]
            assert ours.method == told["frame"]["method"]
            same += 1
    assert same > 500


def test_the_sdks_client_hears_our_fake_and_answers_it():
    with FakeLark() as platform, Person(
            "client", platform.url, platform.app_id, platform.secret) as sdk:
        platform.wait_until(lambda: platform.sockets.connections, 20)
        platform.say("hello")
        platform.part_bytes = 50
        platform.say("in many frames")
        platform.part_bytes = 0
        found = sdk.wait("content", 2)
        platform.wait_until(lambda: not platform.pending())
        key = draw_key(time.time())
        card = json.dumps(make_card({"key": key, "text": "**hi**",
                                     "buttons": [("Yes", "yes")]}))
        for _ in range(2):
            sdk.write(json.dumps({"do": "send", "chat": "oc_1001",
                                  "content": card, "uuid": key}))
        sent = sdk.wait("id", 2)
        platform.press(sent[0]["id"], "yes")
        action = sdk.wait("action")
        platform.wait_until(lambda: platform.world.toasts)
        sdk.write(json.dumps({"do": "list", "chat": "oc_1001"}))
        listed = sdk.wait("items")[0]["items"]

    assert sorted(json.loads(f["content"])["text"] for f in found) == [
        "hello", "in many frames"]
    assert {f["by"] for f in found} == {"ou_1001"}
    assert [s["code"] for s in sent] == [0, 0]
    assert sent[0]["id"] == sent[1]["id"]
    assert len(platform.messages()) == 1
    assert action[0]["action"] == {"claw": "yes"}
    assert platform.world.toasts[0]["toast"]["content"] == "from the SDK"
    assert [kind for _, kind, *_ in listed] == ["text", "text", "interactive"]
    assert platform.pings >= 1
    assert platform.problems == []


def envelope(text, number):
    return {"schema": "2.0", "header": {
        "event_id": number, "event_type": "im.message.receive_v1",
        "create_time": "1", "token": "v", "app_id": "cli",
        "tenant_key": "t"}, "event": {
            "sender": {"sender_id": {"open_id": "ou_1"},
                       "sender_type": "user"},
            "message": {"message_id": number, "chat_id": "oc_1",
                        "chat_type": "p2p", "message_type": "text",
                        "create_time": "1795377600000",
                        "content": json.dumps({"text": text})}}}


def test_our_client_speaks_to_a_server_that_has_the_sdks_frame(tmp_path):
    async def work(sdk, url):
        channel = LarkChannel(
            LarkSettings(app_id="cli", app_secret="s3cret-of-a-test",
                         allowed_users=("ou_1",), api_base_url=url),
            ChannelDeps(workspace=tmp_path, files=tmp_path / "files"))
        inbox = KeepingInbox()
        try:
            async with run_listener(channel, inbox), asyncio.timeout(20):
                for n, parts in ((1, 1), (2, 3)):
                    sdk.write(json.dumps({
                        "event": envelope(f"hello {n} 안녕", f"om_{n}"),
                        "number": f"m{n}", "parts": parts}))
                await until(lambda: sum(
                    "frame" in told for told in sdk.heard) >= 3)
        finally:
            await channel.aclose()
        return inbox.contents

    with Person("server") as sdk:
        contents = asyncio.run(work(sdk, sdk.wait("url")[0]["url"]))
        frames = [w["frame"] for w in sdk.wait("frame", 3)]
        asked = sdk.wait("endpoint")[0]

    assert sorted(contents) == ["hello 1 안녕", "hello 2 안녕"]
    assert asked["endpoint"] == {"AppID": "cli",
                                 "AppSecret": "s3cret-of-a-test"}
    ping, *acks = sorted(frames, key=lambda f: f["method"])
    assert ping["headers"] == [["type", "ping"]]
    assert ping["service"] == 9
    assert {dict(a["headers"])["message_id"] for a in acks} == {"m1", "m2"}
    for ack in acks:
        assert json.loads(bytes.fromhex(ack["payload"])) == {"code": 200}
        assert dict(ack["headers"])["biz_rt"].isdigit()
        assert ack["new"] == "x"


def ours(key, token, headers, body):
    """Whether our seal takes a post."""
    seal = Seal(key, token, "channels_config.lark")
    call = WebhookCall("POST", "", tuple(
        (k.lower(), v.encode()) for k, v in headers.items()), "1", body)
    try:
        seal.verify(call)
        seal.open(body)
    except WebhookRefused:
        return False
    return True


@pytest.mark.parametrize(("key", "token"), [
    ("a key", "v"), ("a key", ""), ("", "v")])
def test_the_sdk_and_we_take_the_same_posts(sdk, key, token):
    event = {**envelope("hello", "om_1"), "header": {
        **envelope("hello", "om_1")["header"], **(
            {"token": token} if token else {"token": None})}}
    plain = json.dumps(event).encode()
    good = encrypt(key, plain) if key else plain
    posts = [(sign(key, good), good), (sign("another key", good), good)]
    challenge = json.dumps({"type": "url_verification", "challenge": "c-1",
                            **({"token": token} if token else {})}).encode()
    posts.append(({}, encrypt(key, challenge) if key else challenge))
    if token:
        wrong = plain.replace(b'"token": "v"', b'"token": "w"')
        wrong = encrypt(key, wrong) if key else wrong
        posts.append((sign(key, wrong), wrong))
    for headers, body in posts:
        sdk.write(json.dumps({
            "key": key, "token": token, "headers": headers,
            "body": base64.b64encode(body).decode()}))
    found = sdk.wait("status", len(posts))

    theirs = [one["status"] == 200 for one in found]
    mine = [ours(key, token, *post) for post in posts]
    assert mine == theirs
    assert theirs[0] is True
    assert json.loads(found[2]["content"]) == {"challenge": "c-1"}
