"""Answers: by the session webhook while it lives, else by the robot API."""

import asyncio
import json
import time

import pytest

from claw.channels.dingtalk.hosts import is_own, is_session
from claw.channels.dingtalk.markup import escape, read_button, split_markdown
from claw.channels.dingtalk.voice import measure_ms
from claw.core.channel import Attachment, Button, SendMessage
from claw.core.errors import (
    AuthError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.testing.fake_dingtalk import ALICE, GROUP, show

OWN = ("https://api.dingtalk.com", "https://oapi.dingtalk.com")
HOOK = "https://oapi.dingtalk.com/robot/sendBySession?session=abc"


def send(bot, content, recipient=ALICE, **fields):
    asyncio.run(bot.send(content, recipient, **fields))
    return bot.platform.messages()


def know(bot, chat=ALICE):
    """The chat has a session webhook, of a process before."""
    url = bot.platform.open_session(chat)
    bot.marks.set(f"session:{chat}", json.dumps([url, time.time() + 5400]))
    return url


# where it goes

def test_an_answer_goes_to_the_session(bot, platform):
    async def work():
        async with bot.listening() as channel:
            platform.say("hi", group=GROUP)
            (message,) = await bot.hears()
            await channel.send(SendMessage(
                "**done**", message.reply_target, answers=message.id))

    asyncio.run(work())

    (said,) = platform.messages()
    assert (said.chat, said.via, said.title) == (GROUP, "session", "done")
    assert said.text == f"**done**\n\n@{ALICE}"
    assert said.data["at"] == {"atUserIds": [ALICE], "isAtAll": False}
    assert platform.list_calls("token") == []


def test_a_restart_answers_the_session_still(bot):
    know(bot)

    assert [m.via for m in send(bot, "done")] == ["session"]


def test_after_its_time_the_robot_answers(bot):
    know(bot)
    bot.later = 5_390.0

    assert [m.via for m in send(bot, "done")] == ["oto"]
    assert bot.marks.get(f"session:{ALICE}") is None


def test_a_session_that_dingtalk_has_forgotten_is_left(bot, platform):
    know(bot)
    platform.sessions.clear()

    assert [m.via for m in send(bot, "done")] == ["oto"]
    assert bot.logged("session_refused")
    send(bot, "done")
    assert len(platform.list_calls("session")) == 1


def test_an_answer_whose_fate_is_unknown_is_not_sent_another_way(
        bot, platform):
    know(bot)
    platform.fault("session", "reset_after")

    with pytest.raises(UnavailableError):
        send(bot, "done")

    assert [m.via for m in platform.messages()] == ["session"]


def test_groups_and_people_are_written_to_first(bot):
    send(bot, "news", GROUP)

    assert [(m.chat, m.via) for m in send(bot, "news")] == [
        (GROUP, "group"), (ALICE, "oto")]


def test_whoever_is_not_of_the_organisation_has_to_write_first(bot):
    stranger = "$:LWCP_v1:$bob"
    with pytest.raises(RequestRefusedError, match="can't be written to"):
        send(bot, "news", stranger)
    know(bot, stranger)

    assert [m.via for m in send(bot, "news", stranger)] == ["session"]


def test_somebody_whom_dingtalk_does_not_know_is_an_error(bot, platform):
    platform.strangers.add("nobody")

    with pytest.raises(RequestRefusedError, match="knows nobody"):
        send(bot, "news", "nobody")


def test_a_right_that_lacks_is_named(bot, platform):
    platform.rights = False

    with pytest.raises(RequestRefusedError) as caught:
        send(bot, "news")

    assert "qyapi_robot_sendmsg" in (caught.value.hint or "")


# whose hosts

@pytest.mark.parametrize("url", [
    "https://evil.example/robot/sendBySession?session=a",
    "http://oapi.dingtalk.com/robot/sendBySession?session=a",
    "https://oapi.dingtalk.com.evil.example/robot/sendBySession?session=a",
    "https://evildingtalk.com/robot/sendBySession?session=a",
    "https://oapi.dingtalk.com@evil.example/robot/sendBySession?session=a",
    "https://x@oapi.dingtalk.com/robot/sendBySession?session=a",
    "https://evil.example\\@oapi.dingtalk.com/robot/sendBySession?session=a",
    "https://evil.example#@oapi.dingtalk.com/robot/sendBySession",
    "https://oapi.dingtalk.com:8443/robot/sendBySession?session=a",
    "https://oapi.dingtalk.com/robot/send?access_token=a",
    "https://oapi.dingtalk.com/x/../robot/sendBySession/../send",
    "https://oapi.dingtalk.com\t/robot/sendBySession?session=a",
    "https://oapi.dіngtalk.com/robot/sendBySession?session=a",
    "//oapi.dingtalk.com/robot/sendBySession", "file:///etc/passwd",
    "http://127.0.0.1:80/robot/sendBySession?session=a",
    "https://[::1", "https://oapi.dingtalk.com:99999/robot/sendBySession",
    "", "x"])
def test_an_address_elsewhere_is_no_session(url):
    assert not is_session(url, OWN)


def test_dingtalks_own_addresses_are():
    assert is_session(HOOK, OWN)
    assert is_session(HOOK.replace(".com", ".io"), OWN)
    assert is_own("wss://wss-open-connection.dingtalk.com:443/connect", OWN,
                  schemes=("wss",))


def test_a_forged_session_gets_no_answer(bot, platform):
    async def work():
        async with bot.listening() as channel:
            platform.say("hi", sessionWebhook=(
                "https://evil.example/robot/sendBySession?session=a"))
            await bot.hears()
            await channel.send(SendMessage("the secret", ALICE))

    asyncio.run(work())

    assert [m.via for m in platform.messages()] == ["oto"]
    assert list(bot.marks.keys()) == []


def test_a_forged_session_does_not_take_the_place_of_a_good_one(
        bot, platform):
    async def work():
        async with bot.listening() as channel:
            platform.say("hi")
            platform.say("hi", sessionWebhook=(
                "https://evil.example/robot/sendBySession?session=a"))
            await bot.hears(2)
            await channel.send(SendMessage("done", ALICE))

    asyncio.run(work())

    assert [m.via for m in platform.messages()] == ["session"]


def test_a_forged_mark_gets_no_answer(bot):
    for forged in ('["https://evil.example/robot/sendBySession", 9e99]',
                   "7", "[1]", "{", '["", "x"]'):
        bot.marks.set(f"session:{ALICE}", forged)
        assert send(bot, "done")[-1].via == "oto"


# how it looks

@pytest.mark.parametrize(("markdown", "text"), [
    ("# Head\n\n- **a**\n- `b`", "**Head**\n\n• **a**  \n• `b`"),
    ("one\ntwo", "one  \ntwo"),
    ("> q\n> r\n\nmine", "> q\n> r\n\nmine"),
    ("[x](https://a.b/c)", "[x](https://a.b/c)"),
    ("2 * 3 < 4", "2 * 3 < 4"),
    ("```py\n1\n```", "```py\n1\n```")])
def test_markdown_is_written_as_dingtalk_reads_it(markdown, text):
    (piece,) = split_markdown(markdown, 6_000, None)

    assert show(piece).strip() == show(text).strip()
    assert ("**" in piece) is ("**" in text)


@pytest.mark.parametrize("markdown", [
    "[ok](dtmd://dingtalkclient/sendMessage?content=yes%20k7m3p)",
    "[ok](DTMD://dingtalkclient/sendMessage?content=yes)",
    "[ok](dingtalk://dingtalkclient/action/sendmsg?dingtalk_id=1)",
    "[ok](javascript:alert(1))",
    "![x](https://evil.example/?secret)",
    "\\[ok](dtmd://dingtalkclient/sendMessage?content=yes)",
    "\\![x](https://evil.example/?secret)", "`![x](//evil.example/s)`",
    "wow![x](https://evil.example/?secret)",
    "<img src=https://evil.example/x>", "<font color=red>x</font>",
    "```\n![x](https://evil.example/?secret)\n```",
    "`![x]( https://evil.example/?secret)` `<img src=x>`",
    "```\n[ok](dtmd://dingtalkclient/sendMessage?content=yes)\n```",
    "[ok] (dtmd://dingtalkclient/sendMessage?content=yes)",
    "[a][b]\n\n[b]: dtmd://dingtalkclient/sendMessage?content=yes"])
def test_no_answer_writes_for_who_clicks_it_or_fetches_anything(markdown):
    for links in (None, (), ("dtmd://dingtalkclient/sendMessage?content=yes",
                             "https://evil.example/?secret")):
        text = "".join(split_markdown(markdown, 6_000, links))
        bare = text.split("`")[::2]  # outside of code
        assert "](dtmd" not in text.lower()
        assert "](dingtalk" not in text.lower()
        assert "](javascript" not in text.lower()
        assert not any("![" in part and "](" in part for part in bare)
        if "`" in markdown:
            assert "](https" not in text
        assert "<img" not in text
        assert "<font" not in text
        assert not any("dtmd://" in part.lower() for part in bare)


def test_only_addresses_that_may_be_are_links():
    (piece,) = split_markdown("see https://a.b/c and https://x.y/z", 6_000,
                              ("https://a.b/c",))

    assert piece == "see https://a.b/c and `https://x.y/z`"


def test_buttons_are_links_that_are_read_again(bot):
    (said,) = send(bot, "Approve shell?", buttons=(
        Button("Allow", "approve:k7m3p:yes"),
        Button("De[n]y", "approve:k7m3p:no"), Button("x", "a b")))

    links = [part.partition(")")[0] for part in said.text.split("](")[1:]]
    from urllib.parse import unquote
    assert [read_button(unquote(link.partition("content=")[2]))
            for link in links] == ["approve:k7m3p:yes", "approve:k7m3p:no"]
    assert said.title == "Approve shell?"


def test_code_is_what_it_was():
    code = "f = table[0](x) < 1; a[b](c); <div>"

    assert split_markdown(f"`{code}`", 6_000, None) == [f"`{code}`"]


def test_a_label_of_half_a_character_is_a_button_too(bot):
    (said,) = send(bot, "which?", buttons=(Button("a\ud83d", "answer:q:1"),))

    assert "content=" in said.text


def test_what_is_no_button_is_read_as_text():
    assert read_button("Allow (approve:k7m3p:yes)") is None
    assert read_button("▸ Allow (approve:k7m3p:yes) and more") is None
    assert read_button("▸ Allow (approve:k7m3p:yes)\n▸ x (y)") is None


def test_a_long_answer_comes_in_pieces_that_dingtalk_takes(bot, platform):
    know(bot)
    text = "字" * 9_000 + "\\\"\n" * 4_000 + " the end"
    send(bot, text)
    found = platform.messages()
    platform.sessions.clear()
    send(bot, text)

    assert len(found) > 3
    assert sum(m.text.count("字") for m in found) == 9_000
    assert len(platform.messages()) == 2 * len(found)


def test_text_is_never_a_heading():
    assert show(escape("#tag")) == "#tag"
    assert not escape("#tag").startswith("#")


# files

def ogg(seconds):
    def page(granule, packet):
        return (b"OggS\0\0" + granule.to_bytes(8, "little") + bytes(12)
                + bytes([1, len(packet)]) + packet)
    return page(0, b"OpusHead" + bytes(11)) + page(
        seconds * 48_000, b"sound")


@pytest.mark.parametrize(("name", "kind", "content", "key"), [
    ("a.png", "IMAGE", b"png", "sampleImageMsg"),
    ("a.pdf", "DOCUMENT", b"pdf", "sampleFile"),
    ("a.ogg", "VOICE", ogg(3), "sampleAudio"),
    ("a.mp3", "VOICE", b"mp3", "sampleFile"),
    ("a.mp4", "VIDEO", b"mp4", "sampleFile")])
def test_a_file_goes_out_by_the_robot(bot, name, kind, content, key):
    (bot.workspace / name).write_bytes(content)
    know(bot)

    said = send(bot, f"here\n\n[{kind}:{name}]")

    assert [m.kind for m in said] == ["sampleMarkdown", key]
    assert said[1].content == content
    if key == "sampleAudio":
        assert said[1].data["duration"] == "3000"
    if key == "sampleFile":
        assert said[1].data["fileName"] == name
        assert said[1].data["fileType"] == name[2:]


def test_a_file_that_cant_be_sent_is_told(bot, platform):
    (bot.workspace / "empty.pdf").write_bytes(b"")
    said = send(bot, "", attachments=(
        Attachment(str(bot.workspace / "empty.pdf"), "empty.pdf"),
        Attachment("/etc/passwd", "passwd")))

    assert "outside the workspace" in said[0].text
    assert "it is empty" in said[1].text


def test_where_a_right_lacks_a_file_says_so_in_its_place(bot, platform):
    know(bot)
    platform.rights = False
    (bot.workspace / "a.pdf").write_bytes(b"pdf")

    (said,) = send(bot, "", attachments=(
        Attachment(str(bot.workspace / "a.pdf"), "a.pdf"),))

    assert "qyapi_robot_sendmsg" in said.text


def test_a_file_that_is_too_large_says_so_in_its_place(bot):
    with (bot.workspace / "a.pdf").open("wb") as file:
        file.truncate(21 * 1024 * 1024)

    (said,) = send(bot, "[DOCUMENT:a.pdf]")

    assert "can not be sent" in said.text


def test_a_file_for_somebody_outside_is_told(bot):
    stranger = "$:LWCP_v1:$bob"
    know(bot, stranger)
    (bot.workspace / "a.pdf").write_bytes(b"pdf")

    (said,) = send(bot, "", stranger, attachments=(
        Attachment(str(bot.workspace / "a.pdf"), "a.pdf"),))

    assert "people of the organisation only" in said.text


def test_recordings_are_measured():
    amr = b"#!AMR\n" + (bytes([0x3c]) + bytes(31)) * 50

    assert measure_ms(amr) == 1_000
    assert measure_ms(ogg(2)) == 2_000
    for data in (b"", b"OggS", b"OggSOpusHead", b"#!AMR\n", b"RIFF",
                 b"OggS" + b"\xff" * 40 + b"OpusHead"):
        assert measure_ms(data) is None


# tokens and limits

def test_a_token_is_fetched_early_and_again_when_it_is_refused(
        bot, platform):
    async def work():
        channel = bot.make()
        try:
            for expected in (1, 1):
                await channel.send(SendMessage("a", ALICE))
                assert len(platform.list_calls("token")) == expected
            bot.later = 7_000.0
            await channel.send(SendMessage("b", ALICE))
            assert len(platform.list_calls("token")) == 2
            platform.tokens.clear()
            await channel.send(SendMessage("c", ALICE))
            assert len(platform.list_calls("token")) == 3
            await asyncio.gather(*(
                channel.send(SendMessage("d", ALICE)) for _ in range(5)))
            assert len(platform.list_calls("token")) == 3
        finally:
            await channel.aclose()

    asyncio.run(work())

    assert len(platform.messages()) == 9


@pytest.mark.parametrize(("code", "status", "wait"), [
    ("Forbidden.AccessDenied.QpsLimitForApi", 403, 5.0),
    ("Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", 403, 5.0),
    ("90018", 400, 5.0), ("send.too.fast", 400, 60.0),
    ("130101", 400, 60.0)])
def test_a_limit_by_any_name_is_waited_for(bot, platform, code, status,
                                           wait):
    platform.fault("oto", "status", status=status, description=code)

    async def work():
        channel = bot.make()
        try:
            with pytest.raises(RateLimitedError) as caught:
                await channel.send(SendMessage("a", ALICE))
            assert caught.value.retry_after_s == wait
            with pytest.raises(RateLimitedError):
                await channel.send(SendMessage("a", ALICE))
            assert len(platform.list_calls("oto")) == 0
            await channel.send(SendMessage("a", GROUP))
            bot.later = wait + 1
            await channel.send(SendMessage("a", ALICE))
        finally:
            await channel.aclose()

    asyncio.run(work())

    assert [m.chat for m in platform.messages()] == [GROUP, ALICE]


def test_a_group_gets_twenty_messages_a_minute(bot, platform):
    know(bot, GROUP)

    async def work():
        channel = bot.make()
        try:
            for _ in range(20):
                await channel.send(SendMessage("a", GROUP))
            with pytest.raises(RateLimitedError) as caught:
                await channel.send(SendMessage("a", GROUP))
            assert 50 < caught.value.retry_after_s <= 60
            await channel.send(SendMessage("a", ALICE))
            bot.later = 61.0
            await channel.send(SendMessage("a", GROUP))
        finally:
            await channel.aclose()

    asyncio.run(work())

    assert len(platform.messages(GROUP)) == 21


def test_a_session_that_is_limited_is_not_gone_around(bot, platform):
    know(bot)
    platform.fault("session", "status", status=200, description="130101")

    with pytest.raises(RateLimitedError):
        send(bot, "done")

    assert platform.messages() == []


def test_a_wrong_secret_is_told(bot, platform):
    secret = "another-secret-than-the-fakes"
    with pytest.raises(AuthError) as caught:
        send(bot, "done", make={"client_secret": secret})

    assert secret not in f"{caught.value}{caught.value.hint}"


def test_no_error_holds_a_session(bot, platform):
    url = know(bot)
    token = url.partition("session=")[2]
    platform.fault("session", "status", None, status=500,
                   description=f"oops {token}")

    with pytest.raises(UnavailableError) as caught:
        send(bot, "done")

    assert token not in f"{caught.value}{caught.value.hint}{bot.logs}"


def test_secrets_that_are_over_are_forgotten(bot, platform):
    async def work():
        channel = bot.make()
        try:
            for number in range(500):
                channel._api._http.guard(f"http://x/?s=old-secret-{number}",
                                         {})
            await channel.send(SendMessage("a", ALICE))
            return channel._api.peer.secrets
        finally:
            await channel.aclose()

    secrets = asyncio.run(work())

    assert platform.secret in secrets
    assert len(secrets) < 300


# signs and health

def test_reactions_are_words_that_dingtalk_shows(bot, platform):
    async def work():
        async with bot.listening() as channel:
            platform.say("hi", group=GROUP)
            (message,) = await bot.hears()
            for emoji in ("👀", "🦆"):
                await channel.add_reaction(GROUP, message.id, emoji)
            await channel.remove_reaction(GROUP, message.id, "👀")
            await channel.add_reaction(GROUP, "telegram_1_2", "👀")

    asyncio.run(work())

    assert [how for how, _ in platform.reactions] == ["reply", "recall"]
    body = platform.reactions[0][1]
    assert body["openConversationId"] == GROUP
    assert body["openMsgId"].startswith("msg")


def test_a_reaction_that_fails_is_logged_once(bot, platform):
    platform.fault("emotion/reply", "status", None, status=400)

    async def work():
        channel = bot.make()
        try:
            for _ in range(3):
                await channel.add_reaction("x", "dingtalk_c|m|u", "👀")
        finally:
            await channel.aclose()

    asyncio.run(work())

    assert len(bot.logged("dingtalk_call_failed")) == 1


def diagnose(bot, **given):
    async def work():
        channel = bot.make(**given)
        try:
            return {f.id: f for f in await channel.diagnose()}, \
                await channel.health_check()
        finally:
            await channel.aclose()
    return asyncio.run(work())


def test_the_doctor_finds_nothing_wrong(bot):
    rows, well = diagnose(bot)

    assert well
    assert {i for i, f in rows.items() if f.status == "ok"} >= {
        "tcp", "token", "stream", "allow_list"}


@pytest.mark.parametrize(("given", "step"), [
    ({"client_secret": "another-secret"}, "token"),
    ({"client_id": ""}, "stream"),
    ({"allowed_users": (GROUP,)}, "allow_list"),
    ({"allowed_users": ()}, "allow_list")])
def test_the_doctor_names_the_step_that_fails(bot, given, step):
    rows, _ = diagnose(bot, **given)

    assert rows[step].status in ("fail", "warn")
    assert rows[step].hint
