"""What goes out: texts, files, recordings, buttons, keys and limits."""

import asyncio
import base64
import json

import pytest

from claw.channels.discord.limits import Limits
from claw.channels.discord.nonces import KEY_HOLDS_S
from claw.channels.discord.voice import measure_voice
from claw.core.abilities import Doubt
from claw.core.channel import Attachment, Button, Part, SendMessage
from claw.core.errors import (
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.value import replace
from claw.net.http import Answer
from claw.testing.fake_discord.recording import record_voice


def attach(bot, name, content, mime=None):
    path = bot.workspace / name
    path.write_bytes(content)
    return Attachment(str(path), name, mime, len(content))


def bodies(platform, operation="create_message"):
    return [call.body for call in platform.list_calls(operation)]


def run(bot, work, **given):
    async def go():
        async with bot.open(**given) as channel:
            return await work(channel)
    return asyncio.run(go())


# texts

def test_every_message_has_a_key_mentions_nobody_and_shows_no_preview(
        bot, platform):
    bot.sends("hi @everyone <@1002> https://example.org/x")

    (body,) = bodies(platform)
    assert body["enforce_nonce"] is True
    assert 1 <= len(body["nonce"]) <= 25
    assert body["allowed_mentions"] == {"parse": []}
    assert body["flags"] == 4
    assert body["content"] == "hi @everyone <@1002> https://example.org/x"


def test_a_long_text_comes_in_order_in_pieces_of_2000(bot):
    words = " ".join(f"w{n}" for n in range(1500))

    shown = [m.text for m in bot.sends(words)]

    assert len(shown) > 3
    assert all(len(text) <= 2000 for text in shown)
    assert " ".join(shown).split() == words.split()


def test_a_text_that_escapes_make_longer_still_fits(bot):
    shown = [m.text for m in bot.sends("* " * 3000)]

    assert all(len(text) <= 2000 for text in shown)
    assert "".join(shown).count("*") == 3000


def test_a_person_is_written_to_by_his_id(bot, platform):
    (sent,) = bot.sends("hi", "user:1001")

    assert sent.channel_id == "1001"


@pytest.mark.parametrize("recipient", ["", "alice", "../x", "1 2", "user:x",
                                       "1" * 30, "chat:1"])
def test_what_is_no_address_is_refused_with_a_hint(bot, recipient):
    with pytest.raises(RequestRefusedError) as caught:
        bot.sends("hi", recipient)

    assert "user:" in caught.value.hint


def test_a_channel_that_is_closed_to_us_names_the_permission(bot, platform):
    platform.fault("create_message", "status", status=403)

    with pytest.raises(RequestRefusedError) as caught:
        bot.sends("hi")

    assert "permission" in caught.value.hint


def test_with_few_links_every_other_address_is_code(bot):
    (sent,) = bot.sends("a https://evil.example/?q=1 [b](https://c.example/) "
                        "https://good.example/", links=(
                            "https://good.example/",))

    assert sent.text == ("a `https://evil.example/?q=1` `b` "
                         "https://good.example/")


# files

def test_a_file_is_sent_with_its_name(bot, platform):
    (bot.workspace / "report.txt").write_text("it")

    text, file = bot.sends("here\n[DOCUMENT:report.txt]")

    assert (text.text, file.file) == ("here", b"it")
    assert file.raw["attachments"][0]["filename"] == "report.txt"
    assert bodies(platform)[1]["nonce"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../x", "missing.txt"])
def test_a_file_that_may_not_go_is_told(bot, target):
    (sent,) = bot.sends(f"[DOCUMENT:{target}]")

    assert "can not be sent" in sent.text
    assert sent.file is None


def test_a_file_over_the_limit_is_told_and_not_sent(bot, platform):
    big = attach(bot, "big.bin", b"x" * (10 * 2**20 + 1))

    (sent,) = bot.sends("", attachments=(big,))

    assert "can not be sent" in sent.text


def test_an_address_is_given_as_it_is(bot):
    (sent,) = bot.sends("[IMAGE:https://example.org/a_b.png]")

    assert sent.text == "Image: https://example.org/a_b.png"


def test_a_recording_is_a_voice_message(bot, platform):
    voice = attach(bot, "voice.ogg", record_voice(seconds=1.5), "audio/ogg")

    (sent,) = bot.sends("", attachments=(voice,))

    (body,) = bodies(platform)
    assert body["flags"] == 8192
    assert "content" not in body
    (file,) = body["attachments"]
    assert file["duration_secs"] == 1.5
    assert 0 < len(base64.b64decode(file["waveform"])) <= 256
    assert sent.file == record_voice(seconds=1.5)


@pytest.mark.parametrize("content", [
    b"", b"no ogg at all", record_voice()[:60]])
def test_a_recording_of_another_form_is_a_file(bot, platform, content):
    voice = attach(bot, "voice.ogg", content or b"-", "audio/ogg")

    (sent,) = bot.sends("", attachments=(voice,))

    assert sent.raw["attachments"][0]["filename"] == "voice.ogg"
    assert bodies(platform)[0]["flags"] == 4


def test_where_voice_messages_are_refused_it_is_a_file(bot, platform):
    voice = attach(bot, "voice.ogg", record_voice(), "audio/ogg")
    platform.fault("create_message", "status", status=403)

    (sent,) = bot.sends("", attachments=(voice,))

    assert sent.raw["flags"] == 4
    first, second = bodies(platform)
    assert first["nonce"] == second["nonce"]


def test_the_waveform_is_bounded_and_loud_where_packets_are_large():
    seconds, waveform = measure_voice(record_voice(packets=200, seconds=4))

    points = base64.b64decode(waveform)
    assert seconds == 4.0
    assert len(points) <= 100
    assert list(points) == sorted(points)
    assert max(points) == 255


# buttons and polls

def test_buttons_stand_under_the_last_text_and_go_away(bot, platform):
    buttons = (Button("Yes", "approve:1:yes"), Button(" ", "x"),
               Button("No", "n" * 101), Button("Later", "later"))

    *_, last = bot.sends("word " * 500, buttons=buttons)
    run(bot, lambda c: c.clear_buttons("1001", last.id))

    first, second = bodies(platform)
    assert "components" not in first
    (row,) = second["components"]
    assert [(b["label"], b["custom_id"]) for b in row["components"]] == [
        ("Yes", "approve:1:yes"), ("Later", "later")]
    assert last.components == []
    assert len(bot.logged("button_left_out")) == 2


def test_many_buttons_come_in_rows_of_five(bot, platform):
    bot.sends("?", buttons=tuple(Button(str(n), str(n)) for n in range(30)))

    (body,) = bodies(platform)
    assert [len(row["components"]) for row in body["components"]] == [5] * 5


def test_a_poll_is_a_poll_and_one_too_long_is_none(bot, platform):
    message = SendMessage("when?", "1001", poll=("when?", "now", "later"))

    async def work(channel):
        await channel.send_part(message, channel.poll_part(message))
        return [channel.poll_part(replace(message, poll=poll)) for poll in (
            ("q" * 300, "a", "b"), ("q", "a"), ("q", "a" * 56, "b"),
            ("q", *"abcdefghijk"), (" ", "a", "b"))]

    assert run(bot, work) == [None] * 5
    (body,) = bodies(platform)
    assert body["poll"]["question"] == {"text": "when?"}


# keys, and what is in doubt

def one(channel, text="it is *done*"):
    message = SendMessage(text, "1001")
    (part,) = channel.parts(message)
    return message, part


def test_a_send_that_was_cut_is_repeated_and_shown_once(bot, platform):
    platform.fault("create_message", "reset_after")

    async def work(channel):
        message, part = one(channel)
        with pytest.raises(UnavailableError):
            await channel.send_part(message, part)
        kept = Part(*json.loads(json.dumps(
            [part.kind, part.text, dict(part.data)])))
        return await channel.send_part(message, kept)

    number = run(bot, work)

    assert [m.id for m in platform.messages()] == [number]


def test_a_file_that_was_cut_is_repeated_and_shown_once(bot, platform):
    file = attach(bot, "a.txt", b"it", "text/plain")
    platform.fault("create_message", "half")

    async def work(channel):
        message = SendMessage("", "1001", attachments=(file,))
        (part,) = channel.parts(message)
        with pytest.raises(UnavailableError):
            await channel.send_part(message, part)
        await channel.send_part(message, part)

    run(bot, work)

    assert len(platform.messages()) == 1


def test_what_arrived_and_was_deleted_is_not_sent_again(bot, platform):
    async def work(channel):
        message, part = one(channel)
        first = await channel.send_part(message, part)
        await channel.cancel_draft("1001", first)
        return await channel.send_part(message, part)

    assert run(bot, work) is None
    assert len(platform.messages()) == 1


@pytest.mark.parametrize("shows_nonces", [False, True])
def test_past_the_key_history_tells_what_arrived(
        bot, platform, shows_nonces):
    """The platform has forgotten the nonce: sent again it would be shown
    twice."""
    platform.world.shows_nonces = shows_nonces

    async def work(channel):
        before, = channel.parts(SendMessage("before", "1001"))
        first = await channel.send_part(SendMessage("before", "1001"), before)
        message, part = one(channel)
        arrived = await channel.send_part(message, part)
        _, lost = one(channel, "never sent")
        platform.world.clock = lambda: 2e9  # three minutes and more
        places = (("1001", first),)
        return arrived, await channel.find_sent(Doubt(
            message, part, places)), await channel.find_sent(Doubt(
                SendMessage("never sent", "1001"), lost, places))

    arrived, found, lost = run(bot, work)

    assert found == (arrived,)
    assert lost == ()


def test_without_a_message_before_the_nonce_tells_since_when(bot, platform):
    async def work(channel):
        message, part = one(channel)
        arrived = await channel.send_part(message, part)
        return arrived, await channel.find_sent(Doubt(message, part))

    arrived, found = run(bot, work)

    assert found == (arrived,)


def test_a_part_of_a_clock_that_is_ahead_is_found(bot, platform):
    """Its nonce was drawn before Discord had told its time."""
    bot.ahead_s = 3600

    async def draw(channel):
        return one(channel)

    async def work(channel):
        arrived = await channel.send_part(message, part)
        return arrived, await channel.find_sent(Doubt(message, part))

    message, part = run(bot, draw)
    arrived, found = run(bot, work)

    assert found == (arrived,)


def test_a_file_in_doubt_is_found_by_its_name(bot, platform):
    file = attach(bot, "a.txt", b"it", "text/plain")

    async def work(channel):
        message = SendMessage("", "1001", attachments=(file,))
        (part,) = channel.parts(message)
        return (await channel.send_part(message, part),
                await channel.find_sent(Doubt(message, part)))

    arrived, found = run(bot, work)

    assert found == (arrived,)


def test_the_same_words_twice_are_told_apart_by_what_is_known(
        bot, platform):
    async def work(channel):
        message, part = one(channel)
        _, other = one(channel)
        first = await channel.send_part(message, part)
        second = await channel.send_part(message, other)
        look = Doubt(message, other)
        return (first, second, await channel.find_sent(look),
                await channel.find_sent(replace(
                    look, owned=(("1001", first),))),
                await channel.find_sent(replace(
                    look, unsure=(("1001", ""),))))

    first, second, both, one_left, unsure = run(bot, work)

    assert set(both) == {first, second}
    assert one_left == (second,)
    assert unsure is None


def test_history_of_another_form_is_an_error_and_tells_nothing(
        bot, platform):
    platform.fault("list_messages", "html", status=200)

    async def work(channel):
        await channel.find_sent(Doubt(*one(channel)))

    with pytest.raises(UnavailableError):
        run(bot, work)


def test_the_key_is_trusted_for_less_than_two_minutes():
    assert 60 <= KEY_HOLDS_S <= 90  # and thirty seconds on the way


def test_the_note_of_a_repeat_stands_before_text_file_voice_and_poll(
        bot, platform):
    voice = attach(bot, "voice.ogg", record_voice(), "audio/ogg")
    poll = SendMessage("q?", "1001", poll=("q?", "a", "b"))

    async def work(channel):
        message = SendMessage("done", "1001", attachments=(voice,))
        for part in (*channel.parts(message), channel.poll_part(poll)):
            await channel.send_part(message, channel.mark_repeated(
                part, "(possibly repeated) "))
    run(bot, work)

    text, file, question = platform.messages()
    assert text.text == "(possibly repeated) done"
    assert file.text == "(possibly repeated)"
    assert file.raw["attachments"][0]["filename"] == "voice.ogg"
    assert question.raw["poll"]["question"]["text"] == (
        "(possibly repeated) q?")


# limits

def test_a_bucket_that_is_empty_is_waited_for_and_none_is_refused(
        bot, platform):
    platform.limit = (2, 0.3)

    async def work(channel):
        for number in range(6):
            await channel.send(SendMessage(f"m{number}", "1001"))
        return len(platform.list_calls("create_message"))
    bot.sleep = asyncio.sleep  # the platform's time is real

    assert run(bot, work) == 6
    assert platform.answers() == [f"m{n}" for n in range(6)]


def test_a_full_chat_holds_up_no_other(bot, platform):
    platform.limit = (1, 60.0)
    platform.world.open_dm("1002")

    async def work(channel):
        await channel.send(SendMessage("a", "1001"))
        with pytest.raises(RateLimitedError) as caught:
            await channel.send(SendMessage("b", "1001"))
        await channel.send(SendMessage("c", "1002"))
        return caught.value.retry_after_s

    assert 50 < run(bot, work) <= 60
    assert platform.answers() == ["a", "c"]


@pytest.mark.parametrize(("said", "seconds"), [
    ("7.5", 7.5), ("1e400", 3600.0), ("-3", 0.0), ('"soon"', 5.0),
    ("1" + "0" * 400, 3600.0), ("NaN", 3600.0), ("null", 5.0),
    ("31536000", 3600.0)])
def test_an_odd_wait_is_bounded(bot, said, seconds):
    async def go():
        async with bot.open(api_base_url="http://odd/") as channel:
            return channel._api._refused("POST", "/channels/1/messages", (
                Answer(429, {}, f'{{"message": "slow", "retry_after": {said}}}'
                       .encode())))
    assert asyncio.run(go()).retry_after_s == seconds


def test_a_short_429_is_waited_out(bot, platform):
    platform.fault("create_message", "429", retry_after=1)

    bot.sends("hi")

    assert platform.answers() == ["hi"]
    assert bot.slept == [pytest.approx(1.0, abs=0.1)]


def test_a_global_429_closes_everything_and_another_its_bucket():
    now = [0.0]
    limits = Limits(lambda: now[0])
    post, other = "/channels/1/messages", "/channels/2/messages"
    limits.close("POST", post, 2.0, everywhere=False)

    assert limits.wait_s("POST", post) == 2.0
    assert limits.wait_s("POST", other) == 0.0
    limits.close("POST", post, 1.0, everywhere=True)
    assert limits.wait_s("GET", "/users/@me") == 1.0
    now[0] = 5.0
    assert limits.wait_s("POST", post) == 0.0


def test_routes_that_share_a_bucket_are_counted_together():
    limits = Limits(lambda: 0.0)
    headers = {"x-ratelimit-bucket": "b", "x-ratelimit-remaining": "1",
               "x-ratelimit-reset-after": "5"}
    path = "/channels/1/messages/{}"
    for method in ("PATCH", "DELETE"):
        limits.note(method, path.format(123456), headers)
    limits.take("PATCH", path.format(123456))

    assert limits.wait_s("DELETE", path.format(987654)) == 5.0
    assert limits.wait_s("DELETE", "/channels/2/messages/987654") == 0.0


@pytest.mark.parametrize("value", ["", "x", "-1", "nan", "inf", "1e99"])
def test_headers_of_another_form_limit_nothing(value):
    limits = Limits(lambda: 0.0)
    limits.note("GET", "/x", {"x-ratelimit-remaining": "0",
                              "x-ratelimit-reset-after": value})

    assert limits.wait_s("GET", "/x") == 0.0


# signs and drafts

def test_typing_is_told_once_in_eight_seconds(bot, platform):
    async def work(channel):
        for seconds in (0, 4, 4.5, 4):
            bot.offset += seconds
            await channel.start_typing("1001")
    run(bot, work)

    assert platform.world.typing == ["1001", "1001"]


def test_reactions_come_and_go(bot, platform):
    number = platform.post("hi")

    async def work(channel):
        await channel.add_reaction("1001", f"discord_{number}", "👀")
        await channel.add_reaction("1001", f"discord_{number}", "⚠️")
        await channel.remove_reaction("1001", f"discord_{number}_edit_5",
                                      "👀")
    run(bot, work)

    assert platform.reactions(number) == ["⚠️"]


def test_a_draft_is_silent_grows_without_links_and_goes(bot, platform):
    async def work(channel):
        assert channel.supports_draft_updates()
        draft = await channel.send_draft(SendMessage("...", "1001"))
        for text in ("so", "so far", "so far https://x.example/a", "end"):
            bot.offset += 1.0
            await channel.update_draft("1001", draft, text)
        await channel.cancel_draft("1001", draft)
        await channel.cancel_draft("1001", draft)
    run(bot, work, stream_mode="partial")

    (sent,) = platform.messages()
    assert sent.silent
    assert sent.deleted
    assert sent.history == ["...", "so far", "end"]
    assert not sent.previews


def test_a_draft_that_a_kill_took_is_found(bot, platform):
    async def work(channel):
        draft = await channel.send_draft(SendMessage("...", "1001"))
        await channel.send(SendMessage("...", "1001"))
        doubt = Doubt(SendMessage("...", "1001"),
                      Part("text", "...", {"text": "..."}),
                      (("", f"discord_{int(draft) - 1}"),))
        return draft, await channel.find_sent(doubt)

    draft, found = run(bot, work)

    assert found == (draft,)
