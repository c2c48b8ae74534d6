"""Webhook mode: nothing that is not the platform's gets in."""

import asyncio
import json

import pytest

from claw.core.abilities import ReceivesWebhook, WebhookCall, WebhookRefused
from claw.core.errors import ConfigError, StorageError
from claw.testing.contracts.stage import KeepingInbox
from claw.testing.fake_lark.posts import encrypt, sign

KEY = "an encrypt key of a test"


class Served(KeepingInbox):
    def __init__(self):
        super().__init__()
        self.channel = None

    async def serve_webhook(self, channel):
        self.channel = channel
        await asyncio.Event().wait()


def call(body, headers=None):
    return WebhookCall("POST", "", tuple(
        (k.lower(), v.encode()) for k, v in (headers or {}).items()), "1",
        body)


def event(platform, text="hello", token="v"):
    number = platform.world.add("oc_1001", {
        "id": "ou_1001", "sender_type": "user"}, "text", {"text": text})
    return json.dumps({"schema": "2.0", "header": {
        "event_id": "e1", "event_type": "im.message.receive_v1",
        "token": token}, "event": platform._tell(number)}).encode()


def post(app, *calls, inbox=None, **given):
    """What each call is answered with: an answer, or a status."""
    inbox = inbox or Served()

    async def go():
        channel = app.make(**{"receive_mode": "webhook", **given})
        task = asyncio.create_task(channel.listen(inbox))
        try:
            await app.until(lambda: inbox.channel)
            found = []
            for one in calls:
                try:
                    channel.verify(one)
                    found.append((await channel.parse(one)).answer)
                except WebhookRefused as refused:
                    found.append(refused.status)
            return found, inbox.contents
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await channel.aclose()
    return asyncio.run(go())


def test_it_receives_by_webhook_in_that_mode_alone(app):
    assert not isinstance(app.make(), ReceivesWebhook)
    channel = app.make(receive_mode="webhook", verification_token="v",
                       port=9999)
    assert isinstance(channel, ReceivesWebhook)
    assert channel.webhook.path == "/lark"
    assert channel.webhook.address == ("127.0.0.1", 9999)


def test_without_a_key_and_a_token_it_never_starts(app):
    with pytest.raises(ConfigError) as caught:
        app.make(receive_mode="webhook")

    assert "encrypt_key" in caught.value.hint


def test_a_signed_post_is_a_message_and_a_replay_is_no_other(app, platform):
    body = encrypt(KEY, event(platform))
    good = call(body, sign(KEY, body))

    answers, contents = post(app, good, good, encrypt_key=KEY,
                             verification_token="v")

    assert answers == [{}, {}]
    assert contents == ["hello"]


def test_whatever_is_not_signed_is_refused(app, platform):
    plain = event(platform)
    body, other = encrypt(KEY, plain), encrypt(KEY, event(platform, "x"))
    signed = sign(KEY, body)
    calls = [
        call(body), call(other, signed), call(plain, sign(KEY, plain)),
        call(body, {**signed, "X-Lark-Signature": ""}),
        call(body, {**signed, "X-Lark-Signature": "é"}),
        call(body, {**signed, "X-Lark-Request-Nonce": "other"}),
        call(body, sign("another", body)), call(b"", sign(KEY, b"")),
        call(b'{"encrypt": "AAAA"}', sign(KEY, b'{"encrypt": "AAAA"}')),
        call(encrypt("another", plain), sign(KEY, encrypt(KEY, plain))),
        call(b"[" * 100_000), call(b'{"type": "url_verification", '
                                   b'"challenge": "c"}'),
    ]
    wrong = encrypt(KEY, event(platform, token="w"))
    calls.append(call(wrong, sign(KEY, wrong)))

    answers, contents = post(app, *calls, encrypt_key=KEY,
                             verification_token="v")

    assert {*answers} <= {400, 401}
    assert contents == []


def test_with_a_token_alone_the_token_is_what_counts(app, platform):
    bare = json.loads(event(platform))
    del bare["header"]["token"]
    calls = [call(event(platform)), call(event(platform, token="w")),
             call(json.dumps(bare).encode()), call(b"[]"), call(b"\xff"),
             call(encrypt(KEY, event(platform)))]

    answers, contents = post(app, *calls, verification_token="v")

    assert answers == [{}, 401, 401, 400, 400, 401]
    assert contents == ["hello"]


def test_the_check_of_the_address_is_answered(app):
    asked = json.dumps({"type": "url_verification", "challenge": "c-1",
                        "token": "v"}).encode()

    answers, _ = post(app, call(encrypt(KEY, asked)), encrypt_key=KEY,
                      verification_token="v")
    plain, _ = post(app, call(asked), verification_token="v")

    assert answers == plain == [{"challenge": "c-1"}]


def test_what_can_not_be_kept_is_to_come_again(app, platform):
    inbox = Served()
    inbox.broken = StorageError("the disk is full")
    body = encrypt(KEY, event(platform))

    answers, _ = post(app, call(body, sign(KEY, body)), inbox=inbox,
                      encrypt_key=KEY)

    assert answers == [503]


def test_a_pressed_button_is_answered_with_a_toast(app, platform):
    body = encrypt(KEY, json.dumps({"schema": "2.0", "header": {
        "event_id": "e1", "event_type": "card.action.trigger"}, "event": {
            "operator": {"open_id": "ou_1001"},
            "action": {"value": {"claw": "yes"}},
            "context": {"open_message_id": "om_1",
                        "open_chat_id": "oc_1001"}}}).encode())

    answers, contents = post(app, call(body, sign(KEY, body)),
                             encrypt_key=KEY)

    assert answers[0]["toast"]["type"] == "info"
    assert contents == ["yes"]
