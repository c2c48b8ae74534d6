"""Webhook mode: the handshake, signatures, events, acknowledgement."""

import asyncio
import json
import time
from contextlib import asynccontextmanager

import pytest

from claw.channels.qq.signature import Signer
from claw.channels.qq.webhook import Webhook
from claw.core.abilities import (
    PollsOnce,
    ReceivesWebhook,
    WebhookCall,
    WebhookRefused,
)
from claw.core.errors import AuthError, ConfigError
from claw.testing.fake_qq.platform import ALICE

# The platform's own examples.
SECRET = "DG5g3B4j9X2KOErG"
PROOF = ("87befc99c42c651b3aac0278e71ada338433ae26fcb24307bdc5ad38c1adc2d0"
         "1bcfcadc0842edac85e85205028a1132afe09280305f13aa6909ffc2d652c706")


def call(body, secret, at=None, **headers):
    """A call that was signed with a secret."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    seconds = str(int(time.time() if at is None else at))
    return WebhookCall("POST", "", tuple({
        "x-signature-timestamp": seconds.encode(),
        "x-signature-ed25519": Signer(secret).sign(
            seconds.encode() + raw).encode(),
        **headers}.items()), "127.0.0.1", raw)


@asynccontextmanager
async def served(bot, **given):
    async with bot.open(mode="webhook", **given) as channel:
        bot.inbox.served = asyncio.Event()

        async def serve(served):
            bot.inbox.served.set()
            await asyncio.Event().wait()
        bot.inbox.serve_webhook = serve
        task = asyncio.create_task(channel.listen(bot.inbox))
        await bot.inbox.served.wait()
        try:
            yield channel
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def takes(bot, *bodies, **given):
    """What these calls bring."""
    async def go():
        found = []
        async with served(bot, **given) as channel:
            for body in bodies:
                one = call(body, bot.platform.secret)
                channel.verify(one)
                found.append(await channel.parse(one))
            await asyncio.sleep(0.05)
        return found
    return asyncio.run(go())


def event(kind, data):
    return {"op": 0, "id": f"{kind}:1", "t": kind, "d": data}


def test_the_handshake_is_answered_as_the_platform_shows_it():
    webhook = Webhook("11111111", SECRET, None, now=lambda: 1725442341)
    one = call({"d": {"plain_token": "Arq0D5A61EgUu4OxUvOp",
                      "event_ts": "1725442341"}, "op": 13}, SECRET,
               1725442341)

    webhook.verify(one)
    found = asyncio.run(webhook.parse(one))

    assert found.messages == ()
    assert found.answer == {"plain_token": "Arq0D5A61EgUu4OxUvOp",
                            "signature": PROOF}


def test_the_key_is_that_of_the_platforms_example():
    key = Signer("naOC0ocQE3shWLAfffVLB1rhYPG7")._key().public_key()

    assert list(key.public_bytes_raw())[:8] == [
        215, 195, 98, 254, 120, 174, 248, 31]


@pytest.mark.parametrize("token", [
    '{"op":0,"t":"C2C_MESSAGE_CREATE","d":{}}', "", "x" * 200, None, 7,
    {"a": 1}])
def test_the_handshake_signs_nothing_that_could_be_an_event(bot, token):
    """Its signature would be that of an event whose body it is."""
    with pytest.raises(WebhookRefused) as refused:
        takes(bot, {"op": 13, "d": {"plain_token": token,
                                    "event_ts": "1725442341"}})

    assert refused.value.status == 400


@pytest.mark.parametrize("change", [
    "body", "time", "signature", "missing", "twice", "stale", "app"])
def test_what_is_not_signed_is_refused(bot, platform, change):
    good = call(event(*platform.message("hi")), platform.secret,
                time.time() - (3600 if change == "stale" else 0),
                **({"x-bot-appid": b"9"} if change == "app" else {}))
    headers = dict(good.headers)
    body = good.body
    if change == "body":
        body += b" "
    elif change == "time":
        headers["x-signature-timestamp"] = str(int(time.time()) + 1).encode()
    elif change == "signature":
        headers["x-signature-ed25519"] = b"0" * 128
    elif change == "missing":
        del headers["x-signature-ed25519"]
    pairs = tuple(headers.items()) * (2 if change == "twice" else 1)

    async def go():
        async with bot.open(mode="webhook") as channel:
            channel.verify(WebhookCall("POST", "", pairs, "127.0.0.1", body))

    with pytest.raises(WebhookRefused) as refused:
        asyncio.run(go())

    assert refused.value.status == 401
    assert platform.secret not in refused.value.message


def test_a_message_is_brought_and_acknowledged(bot, platform):
    kind, data = platform.message("hello")

    first, again = takes(bot, event(kind, data), event(kind, data))

    (found,) = first.messages
    assert (found.content, found.sender) == ("hello", ALICE)
    assert first.answer == {"op": 12, "d": 0}
    assert again.messages[0].id == found.id


def test_a_pressed_button_is_an_action(bot, platform):
    kind, data = platform.press_event("yes")

    (found,) = takes(bot, event(kind, data))

    assert (found.messages[0].kind, found.messages[0].content) == (
        "action", "yes")
    assert platform.world.presses[data["id"]] == 0


def test_a_stranger_is_answered(bot, platform):
    (found,) = takes(bot, event(*platform.message("hi", user="B" * 32)))

    assert found.messages == ()
    assert "not allowed" in bot.inbox.replies[0][2].text


@pytest.mark.parametrize("body", [
    {"op": 0, "t": "NEWS", "d": {}}, {"op": 0}, {"op": 99},
    {"op": 0, "t": "C2C_MESSAGE_CREATE", "d": {"id": 1}}])
def test_other_events_are_acknowledged_too(bot, body):
    (found,) = takes(bot, body)

    assert found.messages == ()
    assert found.answer == {"op": 12, "d": 0}


def test_a_heartbeat_is_answered(bot):
    (found,) = takes(bot, {"op": 1, "d": 7})

    assert found.answer == {"op": 11, "d": 7}


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 10**5,
                                  b'{"op": "0"}'])
def test_what_is_no_payload_is_refused(bot, body):
    with pytest.raises(WebhookRefused) as refused:
        takes(bot, body)

    assert refused.value.status == 400


def test_a_file_is_fetched_before_the_answer(bot, platform):
    file = platform.add_file(b"x", "a.png", "image/png")

    (found,) = takes(bot, event(*platform.message(
        "look", attachments=[file])))

    assert found.messages[0].content.startswith("[IMAGE:")


def test_each_mode_has_what_it_needs(bot):
    async def go():
        async with bot.open() as socket, bot.open(mode="webhook") as posted:
            assert isinstance(socket, PollsOnce)
            assert not isinstance(socket, ReceivesWebhook)
            assert isinstance(posted, ReceivesWebhook)
            assert not isinstance(posted, PollsOnce)
            assert posted.webhook.path == "/qq"
    asyncio.run(go())


@pytest.mark.parametrize(("given", "error"), [
    ({"app_secret": ""}, AuthError), ({}, ConfigError)])
def test_it_does_not_start_without_a_secret_or_a_gateway(bot, given, error):
    async def go():
        async with bot.open(mode="webhook", **given) as channel:
            await channel.listen(bot.inbox)

    with pytest.raises(error):
        asyncio.run(go())
