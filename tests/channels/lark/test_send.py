"""Sending: cards, files, threads, keys, limits."""

import asyncio
import json

import pytest

from claw.channels.lark.cards import TEXT_BYTES, measure, split_markdown
from claw.channels.lark.outgoing import measure_opus
from claw.core.abilities import Doubt
from claw.core.channel import Attachment, Button, SendMessage
from claw.core.errors import RateLimitedError, RequestRefusedError


def drive(app, work, **given):
    async def go():
        channel = app.make(**given)
        try:
            return await work(channel)
        finally:
            await app.aclose()
    return asyncio.run(go())


def content(message):
    return json.loads(message["body"]["content"])


@pytest.mark.each(("markdown", "card"), [
    ("**b** *i* `c` ~~s~~", "**b** *i* `c` ~~s~~"),
    ("# Head", "**Head**"),
    ("```py\na*b\n```", "```py\na*b\n```"),
    ("2 * 3 < 4 & a_b", "2 &#42; 3 &#60; 4 &#38; a&#95;b"),
    ("<at id=all></at>", "&#60;at id=all&#62;&#60;/at&#62;"),
    ("[x](https://a.test/(1))", "[x](https://a.test/%281%29)"),
    ("`a``b`", "`a&#96;&#96;b`"),
])
def test_markdown_is_the_platforms_and_nobody_is_rung(markdown, card):
    (found,) = split_markdown(markdown, None)
    if "``" in markdown:
        assert "&#96;" in found or "```" in found
    else:
        assert found == card


def test_an_address_that_may_not_be_a_link_is_code():
    (found,) = split_markdown("see https://evil.test/x", ())

    assert found == "see `https://evil.test/x`"


def test_long_answers_are_cut_by_bytes(app, platform):
    text = "中文 <&> \\ \" " * 8_000
    asyncio.run(app.send(text))

    assert len(platform.messages()) > 3
    assert "".join("".join(platform.answers()).split()) \
        == "".join(text.split())
    for message in platform.messages():
        card = content(message)
        assert measure(card["body"]["elements"][0]["content"]) <= TEXT_BYTES


def test_a_card_that_is_refused_goes_without_its_markdown(app, platform):
    platform.fault("create", "status", status=400,
                   parameters={"code": 230099})

    asyncio.run(app.send("**hi** 2 * 3 < 7"))

    assert platform.answers() == ["**hi** 2 * 3 < 7"]


@pytest.mark.each(("recipient", "kind"), [
    ("oc_1001", "chat_id"), ("ou_1001", "open_id"), ("on_1", "union_id"),
    ("a@b.test", "email")])
def test_recipients_by_their_form(app, platform, recipient, kind):
    async def work(channel):
        try:
            await channel.send(SendMessage("hi", recipient))
        except RequestRefusedError:
            pass
    drive(app, work)

    assert platform.list_calls("create")[-1].query["receive_id_type"] == kind


def test_in_a_thread_it_replies_and_where_that_is_gone_it_does_not(
        app, platform):
    root = platform.say("root", "oc_2000")

    asyncio.run(app.send("one", "oc_2000", thread_ts=root))
    platform.world.find(root)["deleted"] = True
    asyncio.run(app.send("two", "oc_2000", thread_ts=root))

    one, two = platform.messages()
    assert one["root_id"] == root
    assert one["thread_id"]
    assert "root_id" not in two
    assert platform.answers() == ["one", "two"]


def test_buttons_stand_under_the_text_and_can_be_taken_away(app, platform):
    async def work(channel):
        message = SendMessage("Sure?", "oc_1001", buttons=(
            Button("Yes", "approve:1"), Button("", "x"), Button("No", "n")))
        (part,) = channel.parts(message)
        number = await channel.send_part(message, part)
        before = content(platform.messages()[0])
        await app.make().clear_buttons("oc_1001", number)
        return before
    before = drive(app, work)

    assert len(before["body"]["elements"]) == 2
    assert len(before["body"]["elements"][1]["columns"]) == 2
    assert len(content(platform.messages()[0])["body"]["elements"]) == 1
    assert platform.answers() == ["Sure?"]


def test_the_buttons_of_an_unknown_card_are_refused_plainly(app):
    async def work(channel):
        with pytest.raises(RequestRefusedError):
            await channel.clear_buttons("oc_1001", "om_x\0")
    drive(app, work)


def opus(seconds):
    def page(granule, packet):
        return (b"OggS\0\0" + granule.to_bytes(8, "little") + b"\0" * 12
                + b"\x01" + bytes([len(packet)]) + packet)
    return (page(0, b"OpusHead" + b"\0" * 11)
            + page(int(seconds * 48_000), b"x" * 10))


def test_files_go_as_what_they_are(app, platform):
    made = {"a.png": b"png", "a.pdf": b"pdf", "a.ogg": opus(1.5),
            "a.mp4": b"mp4", "big.png": b"x" * (10 * 2**20 + 1),
            "fake.ogg": b"no opus"}
    for name, data in made.items():
        (app.workspace / name).write_bytes(data)

    asyncio.run(app.send(
        "[IMAGE:a.png]\n[DOCUMENT:a.pdf]\n[VOICE:a.ogg]\n[VIDEO:a.mp4]\n"
        "[IMAGE:big.png]\n[VOICE:fake.ogg]\n[DOCUMENT:/etc/passwd]\n"
        "[DOCUMENT:gone.txt]"))

    kinds = [m["msg_type"] for m in platform.messages()]
    assert kinds == ["image", "file", "audio", "media", "file", "file",
                     "interactive", "interactive"]
    assert "can not be sent" in platform.answers()[-1]
    assert measure_opus(made["a.ogg"]) == 1500
    assert b'name="duration"\r\n\r\n1500' in platform.list_calls(
        "file")[1].raw


def test_a_file_in_doubt_is_the_same_message_again(app, platform):
    (app.workspace / "a.pdf").write_bytes(b"pdf")

    async def work(channel):
        message = SendMessage("", "oc_1001", attachments=(
            Attachment(str(app.workspace / "a.pdf"), "a.pdf"),))
        (part,) = channel.parts(message)
        return [await channel.send_part(message, part) for _ in range(2)]
    first, second = drive(app, work)

    assert first == second
    assert len(platform.list_calls("file")) == 1
    assert len(platform.messages()) == 1


@pytest.mark.parametrize("shows_cards", [True, False])
def test_past_the_hour_a_part_is_found_in_the_history(app, platform,
                                                      shows_cards):
    platform.world.shows_cards = shows_cards
    now = platform.world.clock

    async def work(channel):
        message = SendMessage("it is **done** & over_", "oc_1001")
        other = SendMessage("something else", "oc_1001")
        (part,), (never,) = channel.parts(message), channel.parts(other)
        number = await channel.send_part(message, part)
        platform.world.clock = lambda: now() + 7200
        for n in range(120):
            platform.say(f"m{n}")
        return (number, await channel.find_sent(Doubt(message, part)),
                await channel.find_sent(Doubt(other, never)))
    number, found, missing = drive(app, work)

    assert found == (number,)
    assert missing == ()


def test_in_a_thread_it_is_found_there(app, platform):
    root = platform.say("root", "oc_2000")

    async def work(channel):
        message = SendMessage("done", "oc_2000", thread_ts=root)
        (part,) = channel.parts(message)
        number = await channel.send_part(message, part)
        return number, await channel.find_sent(Doubt(message, part))
    number, found = drive(app, work)

    assert found == (number,)


def test_a_file_is_found_by_what_was_brought(app, platform):
    (app.workspace / "a.png").write_bytes(b"png")

    async def work(channel):
        message = SendMessage("[IMAGE:a.png]", "oc_1001")
        (part,) = channel.parts(message)
        number = await channel.send_part(message, part)
        return number, await channel.find_sent(Doubt(message, part))
    number, found = drive(app, work)

    assert found == (number,)


def test_of_a_person_without_a_chat_nothing_can_be_asked(app):
    async def work(channel):
        message = SendMessage("hi", "ou_1001")
        return await channel.find_sent(Doubt(
            message, channel.parts(message)[0]))

    assert drive(app, work) is None


def test_a_long_limit_is_told_and_a_short_one_waited_out(app, platform):
    platform.fault("create", "429", retry_after=1)
    asyncio.run(app.send("one"))
    platform.fault("create", "429", retry_after=90)

    with pytest.raises(RateLimitedError) as caught:
        asyncio.run(app.send("two"))

    assert app.slept == [pytest.approx(1, abs=0.1)]
    assert caught.value.retry_after_s == 90
    assert platform.answers() == ["one"]


def test_a_limit_of_one_chat_holds_up_no_other(app, platform):
    platform.fault("create", "429", retry_after=90)

    async def work(channel):
        with pytest.raises(RateLimitedError):
            await channel.send(SendMessage("one", "oc_1001"))
        platform.world.chat("oc_1002")
        await channel.send(SendMessage("two", "oc_1002"))
    drive(app, work)

    assert platform.answers() == ["two"]


def test_reactions_are_made_and_taken_away_after_a_restart(app, platform):
    number = platform.say("hello")

    async def work(channel):
        await channel.add_reaction("oc_1001", f"lark_{number}", "👀")
        await channel.add_reaction("oc_1001", f"lark_{number}", "✅")
        await channel.add_reaction("oc_1001", "lark_om_gone", "✅")
        await channel.add_reaction("oc_1001", f"lark_{number}", "🦄")
        await app.make().remove_reaction("oc_1001", f"lark_{number}", "👀")
    drive(app, work)

    assert [n for _, n in platform.world.reactions[number]] == ["DONE"]
