"""Sending: keys, sizes, reason codes, and what is known of a failure."""

import asyncio
import json

import pytest

from claw.channels.mqtt import link
from claw.core.channel import Attachment, SendMessage
from claw.core.errors import (
    AuthError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.value import replace
from claw.runtime.retry_rules import is_final, may_have_arrived
from claw.testing.contracts.stage import refusal, until

ALICE = "claw/ask/alice"
REPLY = f"{ALICE}/reply"


def send(place, message, **settings):
    """What a process that only sends does; its error."""
    async def work():
        channel = place.make(**settings)
        try:
            return await refusal(channel.send(message))
        finally:
            await channel.aclose()
    return asyncio.run(work())


def test_a_process_that_only_sends_leaves_the_listener_alone(place):
    async def work():
        async with place.listening():
            channel = place.make()
            await channel.send(SendMessage("hello", REPLY))
            assert await channel.health_check()
            await channel.diagnose()
            await channel.aclose()
            place.broker.say(ALICE, "still there")
            await place.hear(1)

    asyncio.run(work())

    assert place.events("conflict") == []
    assert place.broker.texts(REPLY) == ["hello"]
    assert list(place.broker.sessions) == ["claw"]


def test_an_answer_has_a_key_and_the_same_when_it_goes_out_again(place):
    async def work():
        channel, message = place.make(), SendMessage("hello", REPLY)
        (part,) = channel.parts(message)
        await channel.send_part(message, part)
        await channel.send_part(message, replace(
            part, text="(possibly repeated) hello"))
        await channel.aclose()

    asyncio.run(work())

    first, second = place.broker.published
    assert first.user["id"] == second.user["id"]
    assert second.text == "(possibly repeated) hello"
    assert first.user["agent"] == "claw"
    assert first.properties[1] == 1
    assert first.properties[3] == "text/plain; charset=utf-8"


def test_each_answer_has_a_key_of_its_own(place):
    channel = place.make()
    message = SendMessage("x" * 70_000, REPLY)

    keys = [p.data["id"] for _ in range(2) for p in channel.parts(message)]

    assert len(set(keys)) == len(keys) == 6


def test_a_long_answer_is_numbered(place):
    send(place, SendMessage("word " * 10_000, REPLY))

    assert [m.user["part"] for m in place.broker.published] == ["1/2", "2/2"]
    assert all(len(m.payload) <= 32_000 for m in place.broker.published)


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_answer_fits_what_the_broker_takes(place, form):
    """The broker counts: a larger packet is a problem there."""
    place.broker.granted = {39: 700}
    text = "grüße 👋 " * 300

    send(place, SendMessage(text, REPLY, thread_ts="t1"), reply_format=form)

    said = [m.text if form == "text" else json.loads(m.text)["content"]
            for m in place.broker.published]
    assert len(said) > 3
    assert "".join(" ".join(said).split()) == "".join(text.split())
    assert len({m.user["id"] for m in place.broker.published}) == len(said)


def test_an_answer_that_a_limit_cuts_off_is_in_doubt(place, monkeypatch):
    """Its beginning is there, so a repetition has to say so."""
    publish = link.Link.publish

    async def once(self, *given, **more):
        if place.broker.published:
            place.broker.fault("refuse", code=0x97)
        return await publish(self, *given, **more)

    monkeypatch.setattr(link.Link, "publish", once)
    place.broker.granted = {39: 700}

    error = send(place, SendMessage("word " * 300, REPLY))

    assert len(place.broker.published) == 1
    assert may_have_arrived(error)
    assert not is_final(error)


def test_a_broker_that_takes_next_to_nothing_is_told(place):
    place.broker.granted = {39: 100}

    error = send(place, SendMessage("hello", REPLY))

    assert isinstance(error, RequestRefusedError)
    assert "100 bytes" in error.message


def test_json_answers_hold_what_old_receivers_cant_see(place):
    send(place, SendMessage("hello", REPLY, thread_ts="t1"),
         reply_format="json")

    (answer,) = place.broker.published
    assert json.loads(answer.text) == {
        "id": answer.user["id"], "content": "hello", "thread_id": "t1"}


def test_a_thread_of_any_text_goes_out(place):
    """The broker double hangs up on a NUL, as brokers do."""
    error = send(place, SendMessage("hello", REPLY, thread_ts="a\0\ud83db"))

    assert error is None
    assert place.broker.published[0].user["thread_id"] == "a b"


def test_files_are_named(place):
    send(place, SendMessage("see", REPLY, attachments=(
        Attachment("/w/a.pdf", "a.pdf"),)))

    assert place.broker.texts(REPLY) == ["see\n(file, not sent: a.pdf)"]


@pytest.mark.parametrize("topic", ["", "a/#", "+", "$SYS/x", "a\0b",
                                   "\ud83d", "x" * 70_000])
def test_what_is_no_topic_is_refused_for_good(place, topic):
    error = send(place, SendMessage("hello", topic))

    assert is_final(error)
    assert place.broker.published == []


@pytest.mark.parametrize(("code", "kind", "final"), [
    (0x87, AuthError, False), (0x97, RateLimitedError, False),
    (0x99, RequestRefusedError, True), (0x95, RequestRefusedError, True),
    (0x90, RequestRefusedError, True), (0x80, UnavailableError, False),
    (0x83, UnavailableError, False)])
def test_what_the_broker_refuses_has_not_arrived(place, code, kind, final):
    place.broker.fault("refuse", code=code)

    error = send(place, SendMessage("hello", REPLY))

    assert isinstance(error, kind)
    assert is_final(error) is final
    assert not may_have_arrived(error)


def test_a_lost_confirmation_is_a_doubt(place):
    place.broker.fault("lost_ack")

    assert may_have_arrived(send(place, SendMessage("hello", REPLY)))


@pytest.mark.parametrize("code", [0x87, 0x97, 0x95, 0x8B, 0x8E])
def test_who_is_sent_away_before_a_confirmation_is_in_doubt(place, code):
    """Whatever the reason is: what was sent may have gone on."""
    place.broker.fault("kick", code=code)

    error = send(place, SendMessage("hello", REPLY))

    assert may_have_arrived(error)
    assert not is_final(error)


def test_no_confirmation_is_a_doubt_and_ends_the_connection(place,
                                                            monkeypatch):
    monkeypatch.setattr(link, "ANSWER_S", 0.2)
    place.broker.fault("stall")

    async def work():
        channel, message = place.make(), SendMessage("hello", REPLY)
        error = await refusal(channel.send(message))
        await channel.send(message)
        await channel.aclose()
        return error

    assert may_have_arrived(asyncio.run(work()))
    assert len(place.broker.hellos) == 2


def test_without_a_connection_nothing_has_left(place):
    place.broker.down()

    error = send(place, SendMessage("hello", REPLY))

    assert isinstance(error, UnavailableError)
    assert not may_have_arrived(error)


def test_a_listener_without_a_connection_is_waited_for(place):
    async def work():
        async with place.listening() as channel:
            place.broker.down()
            await until(lambda: place.events("poll_failed"))
            sending = asyncio.create_task(channel.send(
                SendMessage("hello", REPLY)))
            await asyncio.sleep(0.05)
            place.broker.up()
            await sending

    asyncio.run(work())

    assert place.broker.texts(REPLY) == ["hello"]
    assert {h.client_id for h in place.broker.hellos} == {"claw"}


def test_qos_zero_is_sent_and_that_is_all(place):
    async def work():
        channel = place.make(qos=0)
        await channel.send(SendMessage("hello", REPLY))
        await until(lambda: place.broker.published)
        await channel.aclose()

    asyncio.run(work())

    assert place.broker.published[0].qos == 0


def test_a_broker_that_has_no_qos_one_gets_none(place):
    place.broker.granted = {36: 0}
    send(place, SendMessage("hello", REPLY))

    place.broker.wait_until(lambda: place.broker.published)

    assert place.broker.published[0].qos == 0


def test_who_publishes_for_nobody_is_told(place):
    send(place, SendMessage("hello", REPLY))

    assert place.events("nobody_reads") == [{"topic": REPLY}]


def test_a_drain_is_not_held_up_by_a_broker_that_is_away(place):
    async def work():
        channel = place.make(broker_url="mqtt://127.0.0.1:1")
        listens = asyncio.ensure_future(channel.listen(place.inbox))
        await asyncio.sleep(0.05)
        sends = asyncio.ensure_future(channel.send(SendMessage("hi", REPLY)))
        await asyncio.sleep(0.05)
        listens.cancel()
        try:
            async with asyncio.timeout(2):
                await sends
        finally:
            await channel.aclose()

    with pytest.raises(UnavailableError, match="not connected"):
        asyncio.run(work())
