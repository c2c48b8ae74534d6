"""Receiving: sessions, redelivery, who is who, what goes wrong."""

import asyncio
import uuid

import pytest

from claw.channels.mqtt import link, listener
from claw.core.channel import STRANGER, SendMessage
from claw.core.errors import AuthError, ConfigError
from claw.testing.contracts.stage import Kept, until

ALICE = "claw/ask/alice"
UUID = uuid.UUID(int=7).bytes


# -- sessions and redelivery

def test_what_is_sent_while_we_are_away_waits(place):
    async def work():
        async with place.listening():
            pass
        place.broker.say(ALICE, "one")
        place.broker.say(ALICE, "two")
        async with place.listening():
            await place.hear(2)

    asyncio.run(work())

    assert place.texts == ["one", "two"]
    assert place.events("session_lost") == []


def test_two_equal_messages_on_purpose_are_two(place):
    """The broker gives both the same number, one after the other."""
    async def work():
        async with place.listening():
            for count in (1, 2, 3):
                place.broker.say(ALICE, "yes")
                await place.hear(count)
                await until(place.broker.acknowledged)

    asyncio.run(work())

    assert len({m.id for m in place.inbox.messages}) == 3


def test_a_delivery_that_is_made_again_is_the_same_message(place):
    """Cut off before PUBACK: committed, and delivered again with DUP to
    another process."""
    async def work():
        place.inbox = first = Kept(holds=True)
        async with place.listening():
            place.broker.say(ALICE, "yes")
            await until(lambda: first.offered)
        place.inbox = again = Kept()
        async with place.listening():
            await place.hear(1)
            place.broker.say(ALICE, "yes")
            await place.hear(2)
        return first.offered, again.messages

    offered, messages = asyncio.run(work())

    assert offered[0].id == messages[0].id
    assert messages[0].id != messages[1].id


def test_an_equal_message_after_a_cut_is_a_new_one(place):
    """The first was confirmed and the broker has answered since: what
    comes with DUP under the same number is another one, first sent into a
    dead connection."""
    async def work():
        async with place.listening() as channel:
            place.broker.say(ALICE, "yes")
            await place.hear(1)
            await until(place.broker.acknowledged)
            await channel.send(SendMessage("re", f"{ALICE}/reply"))
            await until(lambda: not place.marks.get("deliveries"))
        session = place.session
        await until(lambda: session.line is None)
        place.broker.say(ALICE, "yes")
        session.under_way[1] = session.waiting.popleft()
        async with place.listening():
            await place.hear(2)

    asyncio.run(work())

    assert len({m.id for m in place.inbox.messages}) == 2


def test_an_id_is_the_same_message_however_it_comes(place):
    async def work():
        async with place.listening():
            for _ in range(2):
                place.broker.say(ALICE, '{"content": "a", "id": "7"}')
            for _ in range(2):
                place.broker.say(ALICE, "b", properties={9: UUID})
            await place.hear(4)

    asyncio.run(work())

    first, second, third, fourth = [m.id for m in place.inbox.messages]
    assert first == second
    assert third == fourth


def test_a_lost_session_is_told(place):
    async def work():
        async with place.listening():
            pass
        place.broker.forget_sessions()
        async with place.listening():
            place.broker.say(ALICE, "hello")
            await place.hear(1)

    asyncio.run(work())

    assert len(place.events("session_lost")) == 1


def test_the_broker_is_told_not_to_give_back_what_is_ours(place):
    """No Local, no retained messages, QoS 1; a share group can't have the
    first."""
    async def work(**settings):
        async with place.listening(**settings):
            return dict(place.session.filters)

    assert asyncio.run(work()) == {"claw/ask/+": 0x25}
    assert asyncio.run(work(share_group="g")) == {"$share/g/claw/ask/+": 0x21}


def test_a_topic_that_left_the_settings_is_given_up(place):
    async def work():
        async with place.listening(topics=("claw/ask/+", "old/+")):
            pass
        async with place.listening():
            return list(place.session.filters)

    assert asyncio.run(work()) == ["claw/ask/+"]


def test_retained_messages_are_not_answered_again(place):
    async def work():
        place.broker.say(ALICE, "old", retain=True)
        async with place.listening():
            # A broker that sends it all the same.
            place.broker.send_raw("claw", b"\x31\x15\0\x0eclaw/ask/alice"
                                          b"\0old!")
            place.broker.say(ALICE, "new")
            await place.hear(1)

    asyncio.run(work())

    assert place.texts == ["new"]


def test_what_can_be_no_message_holds_up_no_other(place):
    async def work():
        async with place.listening():
            place.broker.say(ALICE, b"\x89PNG\0\xff")
            place.broker.say(ALICE, "")
            place.broker.say(ALICE, "x", properties={38: [("k", "\ufeff")]})
            place.broker.say(ALICE, "[" * 50_000, qos=0)
            await place.hear(2)
            await until(place.broker.acknowledged)

    asyncio.run(work())

    assert [t[:1] for t in place.texts] == ["x", "["]


def test_our_own_answers_are_no_questions(place):
    """The topics overlap, and a bridge gives them back."""
    async def work():
        async with place.listening(topics=("claw/#",), allowed_users=(
                ALICE, f"{ALICE}/reply")) as channel:
            await channel.send(SendMessage("an answer", f"{ALICE}/reply"))
            back = place.broker.published[-1]
            place.broker.say(back.topic, back.payload,
                             properties=back.properties)
            place.broker.say(ALICE, "hello")
            await place.hear(1)

    asyncio.run(work())

    assert place.texts == ["hello"]


# -- who is who

def test_a_name_in_a_message_makes_nobody_an_owner(place):
    async def work():
        async with place.listening(allowed_users=("mina", ALICE)):
            place.broker.say("claw/ask/eve",
                             '{"sender": "mina", "content": "open"}')
            place.broker.say("claw/ask/eve", f'{{"sender": "{ALICE}", '
                                             '"content": "open"}')
            place.broker.say(ALICE, '{"sender": "mina", "content": "hi"}')
            await place.hear(1)

    asyncio.run(work())

    (message,) = place.inbox.messages
    assert (message.sender, message.sender_name) == (ALICE, "mina")
    assert [e["id"] for e in place.events("stranger")] == ["claw/ask/eve"]
    assert place.broker.published == []


def test_a_topic_with_an_at_sign_is_another_persons(place):
    async def work():
        async with place.listening(topics=("+/ask",),
                                   allowed_users=("mina/ask",)):
            place.broker.say("@mina/ask", "eve")
            place.broker.say("mina/ask", "mina")
            await place.hear(1)

    asyncio.run(work())

    assert place.texts == ["mina"]


def test_who_names_two_senders_is_neither(place):
    async def work():
        async with place.listening(allowed_users=("mina",),
                                   trust_senders=True):
            place.broker.say(ALICE, '{"content": "one", "sender": "mina"}',
                             properties={38: [("sender", "eve")]})
            place.broker.say(ALICE, "two", properties={
                38: [("sender", "mina"), ("sender", "eve")]})
            place.broker.say(ALICE, "three", properties={
                38: [("sender", "mina")]})
            await place.hear(1)

    asyncio.run(work())

    assert place.texts == ["three"]


def test_an_id_is_its_senders(place):
    async def work():
        async with place.listening():
            for name in ("a", "b", "a"):
                place.broker.say(ALICE, f'{{"content": "from {name}", '
                                 f'"id": 1, "sender": "{name}"}}')
            await place.hear(2)

    asyncio.run(work())

    assert place.texts[:2] == ["from a", "from b"]
    first, second, *_ = place.inbox.messages
    assert first.id != second.id


def test_names_count_where_the_broker_checks_them(place):
    async def work():
        async with place.listening(allowed_users=("mina",),
                                   trust_senders=True):
            place.broker.say(ALICE, "no name")
            place.broker.say(ALICE, "hi", properties={
                38: [("sender", "mina")]})
            await place.hear(1)

    asyncio.run(work())

    assert [m.sender for m in place.inbox.messages] == ["mina"]


def test_who_is_not_named_is_a_stranger_where_everybody_may_write(place):
    async def work():
        async with place.listening(allowed_users=("*", ALICE)):
            place.broker.say("claw/ask/eve", "hi")
            place.broker.say(ALICE, "hi")
            await place.hear(2)

    asyncio.run(work())

    assert [m.labels for m in place.inbox.messages] == [(STRANGER,), ()]


def test_a_code_lets_a_topic_in(place):
    async def work():
        async with place.listening(allowed_users=()):
            code = place.events("pairing")[0]["code"]
            place.broker.say(ALICE, "/bind 000")
            place.broker.say(ALICE, f"/bind {code}")
            place.broker.say(ALICE, "hello")
            await place.hear(1)

    asyncio.run(work())

    assert place.texts == ["hello"]
    told = place.broker.texts(f"{ALICE}/reply")
    assert told[0] == "That code is not valid."
    assert told[1].startswith("You are paired")


# -- where answers go

def test_a_request_gets_its_answer_where_it_asked_with_its_data(place):
    async def work():
        async with place.listening() as channel:
            place.broker.say(ALICE, "hello", properties={
                8: f"{ALICE}/r/1", 9: b"\0\1"})
            await place.hear(1)
            asked = place.inbox.messages[0]
            await channel.send(SendMessage("re", asked.reply_target,
                                           answers=asked.id))

    asyncio.run(work())

    (answer,) = place.broker.published
    assert (answer.topic, answer.text) == (f"{ALICE}/r/1", "re")
    assert answer.properties[9] == b"\0\1"
    assert answer.user["id"]


@pytest.mark.parametrize("wanted", [
    "home/door/open", ALICE, "$SYS/x", "claw/ask/+", "claw/ask/bob", "#"])
def test_a_response_topic_elsewhere_is_not_taken(place, wanted):
    async def work():
        async with place.listening():
            place.broker.say(ALICE, "hello", properties={8: wanted})
            await place.hear(1)

    asyncio.run(work())

    assert place.inbox.messages[0].reply_target == f"{ALICE}/reply"
    assert len(place.events("response_topic_refused")) == 1


def test_a_thread_is_a_thread(place):
    async def work():
        async with place.listening():
            place.broker.say(ALICE, '{"content": "hi", "thread_id": "t1"}')
            await place.hear(1)

    asyncio.run(work())

    (message,) = place.inbox.messages
    assert (message.thread_ts, message.interruption_scope_id) == ("t1", "t1")


# -- what goes wrong

@pytest.mark.parametrize(("fault", "error"), [
    (("login", 0x86), AuthError), (("login", 0x87), AuthError),
    (("login", 0x8A), AuthError), (("login", 0x85), ConfigError),
    (("login", 0x84), ConfigError), (("subscribe", 0x87), AuthError),
    (("subscribe", 0x9E), ConfigError)])
def test_a_refusal_that_stays_rises(place, fault, error):
    kind, code = fault

    async def work():
        place.broker.fault(kind, None, code=code)
        with pytest.raises(error) as raised:
            async with asyncio.timeout(5):
                await place.make().listen(place.inbox)
        return raised.value

    assert f"0x{code:02X}" in asyncio.run(work()).message


def test_a_topic_that_is_refused_holds_up_no_other(place):
    async def work():
        place.broker.fault("subscribe", 1)
        async with place.listening(topics=("secret", "claw/ask/+")):
            place.broker.say(ALICE, "hello")
            await place.hear(1)

    asyncio.run(work())

    assert "secret" in place.events("subscribe_refused")[0]["error"]


def test_another_client_with_our_id_is_told_and_waited_for(place,
                                                           monkeypatch):
    monkeypatch.setattr("claw.channels.connection.CONFLICT_S", (0.05,))

    async def work():
        async with place.listening() as channel:
            place.broker.kick("claw", 0x8E)
            await until(lambda: place.events("conflict"))
            await until(place.is_there)
            place.broker.say(ALICE, "hello")
            await place.hear(1)
            findings = await channel.diagnose()
            return {f.id: f.status for f in findings}

    rows = asyncio.run(work())

    assert "client_id" in place.events("conflict")[0]["hint"]
    assert rows["client"] == "fail"  # until the connection has lasted


def test_a_broker_that_hangs_up_again_and_again_is_a_conflict(place,
                                                              monkeypatch):
    """Mosquitto throws one of two clients out without a word."""
    monkeypatch.setattr("claw.channels.connection.CONFLICT_S", (0.05,))

    async def work():
        async with place.listening():
            while not place.events("conflict"):
                if place.is_there():
                    place.broker.kill_connections()
                await asyncio.sleep(0.02)
            await until(place.is_there)
            place.broker.say(ALICE, "hello")
            await place.hear(1)

    asyncio.run(work())

    assert "again and again" in place.events("conflict")[0]["error"]
    assert "client_id" in place.events("conflict")[0]["hint"]


def test_a_conflict_is_over_once_a_connection_lasts(place, monkeypatch):
    monkeypatch.setattr("claw.channels.connection.CONFLICT_S", (0.05,))
    monkeypatch.setattr(listener, "STEADY_S", 0.1)

    async def work():
        async with place.listening():
            place.broker.kick("claw", 0x8E)
            await until(lambda: place.events("conflict"))
            await until(place.is_there)
            await asyncio.sleep(0.15)
            place.broker.say(ALICE, "hello")
            await until(lambda: place.events("poll_works_again"))

    asyncio.run(work())


@pytest.mark.parametrize("data", [
    b"\xf0\0", b"\x32\xff\xff\xff\xff", b"\x30\xff\xff\xff\x7f", b"\x40\0"])
def test_a_broker_that_talks_nonsense_is_connected_anew(place, data):
    async def work():
        async with place.listening():
            place.broker.send_raw("claw", data)
            await until(lambda: place.events("poll_failed"))
            place.broker.say(ALICE, "hello")
            await place.hear(1)

    asyncio.run(work())

    assert place.texts == ["hello"]


def test_a_half_open_connection_is_given_up(place, monkeypatch):
    monkeypatch.setattr(link, "PONG_S", 0.1)
    monkeypatch.setattr(link, "CONNECT_S", 0.3)

    async def work():
        channel = place.make(keep_alive_secs=5)
        async with place.listening(channel):
            channel._listener.link._keep_alive_s = 0.1
            task = channel._listener.link._tasks[1]
            task.cancel()
            channel._listener.link._tasks[1] = asyncio.create_task(
                channel._listener.link._keep_alive())
            place.broker.mute = True
            await until(lambda: place.events("poll_failed"))
            place.broker.mute = False
            place.broker.say(ALICE, "hello")
            await place.hear(1)

    asyncio.run(work())

    assert "nothing was heard" in place.events("poll_failed")[0]["error"]


def test_a_quiet_connection_stays(place):
    """The broker asks for a shorter keep-alive time than ours."""
    async def work():
        place.broker.granted = {19: 1}
        async with place.listening() as channel:
            first = channel._listener.link
            place.broker.say(ALICE, "hello")
            await place.hear(1)
            assert place.marks.get("deliveries")
            await asyncio.sleep(2.3)
            assert not place.marks.get("deliveries")  # a ping tells as well
            return first is channel._listener.link, first.heard_at \
                > first.opened_at + 0.9

    assert asyncio.run(work()) == (True, True)


def test_a_broker_that_asks_for_less_pings_gets_ours(place):
    """Else a dead connection would be seen an hour late."""
    async def work():
        place.broker.granted = {19: 3600}
        async with place.listening() as channel:
            return channel._listener.link._keep_alive_s

    assert asyncio.run(work()) == 30


def test_a_flood_that_nobody_confirms_is_bounded(place, monkeypatch):
    monkeypatch.setattr(link, "MOST_BYTES", 10_000)

    async def work():
        place.inbox = inbox = Kept(holds=True)
        async with place.listening():
            place.broker.say(ALICE, "first")
            await until(lambda: inbox.offered)
            for _ in range(50):
                place.broker.say(ALICE, "x" * 1_000, qos=0)
            place.broker.say(ALICE, "last")
            await asyncio.sleep(0.2)
            inbox.free.set()
            await until(lambda: "last" in place.texts)

    asyncio.run(work())

    assert 5 < len(place.texts) < 15


def test_a_broker_that_sends_more_than_we_take_is_left(place, monkeypatch):
    monkeypatch.setattr(link, "MOST_BYTES", 5_000)

    async def work():
        place.inbox = inbox = Kept(holds=True)
        async with place.listening():
            place.broker.say(ALICE, "first")
            await until(lambda: inbox.offered)
            for _ in range(30):
                place.broker.send_raw(
                    "claw", b"\x32\x13\0\x0eclaw/ask/alice\0\7\0")
            await until(lambda: place.session.line is None)
            inbox.free.set()

    asyncio.run(work())


def test_a_session_that_is_kept_for_less_than_a_week_is_told(place):
    async def work():
        place.broker.granted = {17: 60}
        async with place.listening():
            pass

    asyncio.run(work())

    assert place.events("session_short")[0]["seconds"] == 60


def test_a_broker_that_restarts_is_found_again(place):
    async def work():
        async with place.listening():
            place.broker.down()
            await until(lambda: place.events("poll_failed"))
            place.broker.say(ALICE, "while away")
            place.broker.up()
            await place.hear(1)

    asyncio.run(work())

    assert place.texts == ["while away"]


def test_no_more_is_under_way_than_we_take(place):
    async def work():
        place.inbox = inbox = Kept(holds=True)
        async with place.listening():
            for number in range(60):
                place.broker.say(ALICE, str(number))
            await until(lambda: inbox.offered)
            await asyncio.sleep(0.1)
            held = len(place.session.under_way)
            inbox.free.set()
            await place.hear(60)
            return held

    assert asyncio.run(work()) == 20
    assert place.texts == [str(n) for n in range(60)]


def test_hosts_that_share_a_group_share_the_messages(place):
    async def work():
        other = Kept()
        async with place.listening(share_group="g"):
            second = place.make(share_group="g", client_id="claw-2")
            task = asyncio.create_task(second.listen(other))
            await until(lambda: len(place.broker.sessions) == 2
                        and all(s.filters for s in
                                place.broker.sessions.values()))
            for number in range(10):
                place.broker.say(ALICE, str(number))
            await until(lambda: len(place.inbox.messages)
                        + len(other.messages) == 10)
            task.cancel()
            await asyncio.wait({task})
            return [m.content for m in other.messages], list(
                place.session.filters)

    texts, filters = asyncio.run(work())

    assert filters == ["$share/g/claw/ask/+"]
    assert place.texts
    assert texts
    assert sorted(map(int, place.texts + texts)) == list(range(10))


def test_a_client_id_is_drawn_once(place):
    first, second = place.make(client_id=""), place.make(client_id="")

    assert first.account == second.account
    assert first.account.split(":")[-1].startswith("claw-")


def test_without_a_broker_nothing_starts(place):
    with pytest.raises(ConfigError, match="broker_url"):
        asyncio.run(place.make(broker_url="").listen(place.inbox))
