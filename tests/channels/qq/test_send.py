"""Sending: answers and their windows, keys, "not now", plainer forms."""

import pytest

from claw.channels.qq.chats import AGAIN_S
from claw.channels.qq.markup import disarm, split_answer
from claw.core.channel import Attachment, Button, SendMessage
from claw.core.errors import (
    AuthError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.testing.fake_qq.platform import ALICE, ALICE_IN_GROUP, GROUP

USER = f"user:{ALICE}"
ROOM = f"group:{GROUP}"


def answer(bot, asked, text="it is done", to=USER, **fields):
    return SendMessage(text, to, answers=asked.id, **fields)


def test_an_answer_names_the_message_and_a_number(bot, platform):
    (asked,) = bot.hears("do it")

    (sent,) = bot.sends("it is done", answers=asked.id)

    assert sent.chat == f"users/{ALICE}"
    assert asked.id == f"qq_{sent.body['msg_id']}"
    assert sent.body["msg_seq"] > 0
    assert sent.body["msg_type"] == 0
    assert sent.text == "it is done"


def test_a_group_is_answered_in_the_group(bot, platform):
    (asked,) = bot.hears({"text": "do it", "group": GROUP,
                          "user": ALICE_IN_GROUP})

    (sent,) = bot.sends("done", ROOM, answers=asked.id)

    assert sent.chat == f"groups/{GROUP}"


def test_a_part_that_is_sent_twice_is_shown_once(bot, platform):
    (asked,) = bot.hears("do it")

    async def work(channel):
        message = answer(bot, asked)
        (part,) = channel.parts(message)
        assert channel.knows_key(message, part)
        platform.fault("message", "reset_after")
        with pytest.raises(UnavailableError):
            await channel.send_part(message, part)
        return await channel.send_part(message, part)
    bot.use(work)

    assert platform.answers() == ["it is done"]


@pytest.mark.parametrize(("to", "given", "window_s"), [
    (USER, {}, 3600), (ROOM, {"group": GROUP, "user": ALICE_IN_GROUP}, 300)])
def test_a_key_is_known_as_long_as_the_message_can_be_answered(
        bot, platform, clock, to, given, window_s):
    (asked,) = bot.hears({"text": "do it", **given})

    async def work(channel):
        message = answer(bot, asked, to=to)
        (part,) = channel.parts(message)
        known = [channel.knows_key(message, part)]
        clock.ahead_s = window_s - 50
        return [*known, channel.knows_key(message, part)]

    assert bot.use(work) == [True, False]


def test_what_answers_nothing_has_no_key(bot, platform):
    async def work(channel):
        message = SendMessage("a reminder", USER)
        (part,) = channel.parts(message)
        return channel.knows_key(message, part)

    assert bot.use(work) is False


def test_the_sixth_answer_waits_for_the_next_message(bot, platform):
    platform.rules.own_accord = 0
    (asked,) = bot.hears("tell me all")

    async def work(channel):
        for number in range(5):
            await channel.send(answer(bot, asked, f"part {number}"))
        with pytest.raises(RateLimitedError, match="not now"):
            await channel.send(answer(bot, asked, "part 5"))
        calls = len(platform.calls)
        with pytest.raises(RateLimitedError, match="not now") as error:
            await channel.send(answer(bot, asked, "part 5"))
        assert len(platform.calls) == calls  # nobody is asked again
        return error.value
    error = bot.use(work)

    assert "when the person writes" in error.message
    assert "write to the bot" in error.hint
    assert error.retry_after_s == 15.0
    bot.hears("go on")
    bot.sends("part 5", answers=asked.id)
    assert platform.answers() == [f"part {n}" for n in range(6)]


def test_an_answer_that_comes_too_late_takes_the_newest_message(
        bot, platform, clock):
    (asked,) = bot.hears({"text": "do it", "group": GROUP,
                          "user": ALICE_IN_GROUP})
    clock.ahead_s = 290.0
    bot.hears({"text": "well?", "group": GROUP, "user": ALICE_IN_GROUP})
    clock.ahead_s = 400.0

    (sent,) = bot.sends("done", ROOM, answers=asked.id)

    assert f"qq_{sent.body['msg_id']}" == bot.inbox.messages[-2].id


def test_what_answers_nothing_goes_of_the_bots_own_accord(bot, platform):
    platform.rules.own_accord = 1

    (sent,) = bot.sends("a reminder")

    assert "msg_id" not in sent.body
    with pytest.raises(RateLimitedError, match="own accord there"):
        bot.sends("another one")


def test_a_refused_own_accord_is_asked_for_again_after_hours(
        bot, platform, clock):
    platform.rules.own_accord = 0
    with pytest.raises(RateLimitedError):
        bot.sends("a reminder")
    platform.rules.own_accord = 4
    with pytest.raises(RateLimitedError):
        bot.sends("a reminder")
    clock.ahead_s = AGAIN_S + 1

    bot.sends("a reminder")

    assert platform.answers() == ["a reminder"]


def test_who_switches_it_off_is_not_written_to_until_it_is_on(bot, platform):
    bot.hears(("C2C_MSG_REJECT", {"openid": ALICE, "timestamp": 1}))
    bot.now.ahead_s = 3700.0

    with pytest.raises(RateLimitedError, match="switched off"):
        bot.sends("a reminder")
    bot.hears(("C2C_MSG_RECEIVE", {"openid": ALICE, "timestamp": 2}))
    bot.now.ahead_s = 7400.0
    bot.sends("a reminder")

    assert platform.answers() == ["a reminder"]
    assert not platform.list_calls("unknown")


def test_an_event_may_be_answered_too(bot, platform):
    platform.rules.own_accord = 0
    platform.world.came["FRIEND_ADD:1"] = (f"users/{ALICE}", bot.now())
    bot.hears(("FRIEND_ADD", {"openid": ALICE, "timestamp": 1}))

    bot.sends("welcome")

    (sent,) = platform.messages()
    assert sent.body["event_id"] == "FRIEND_ADD:1"


@pytest.mark.parametrize("code", [304027, 40034025, 22009])
def test_a_message_that_can_not_be_answered_is_known_by_its_code(
        bot, platform, code):
    (asked,) = bot.hears("do it")
    platform.fault("message", "status", 1, status=400,
                   description="it is over", parameters={"code": code})

    (sent,) = bot.sends("done", answers=asked.id)

    assert "msg_id" not in sent.body


# forms


def test_markdown_goes_where_the_bot_may_send_it(bot, platform):
    platform.rules.markdown = True

    (sent,) = bot.sends("**bold** and [a site](https://example.org/a)")

    assert sent.body["msg_type"] == 2
    assert sent.text == "**bold** and a site (https://example.org/a)"


def test_a_bot_without_the_permission_sends_plain_text(bot, platform):
    (sent,) = bot.sends("**bold** and `code`")
    bot.sends("# again")

    assert sent.text == "bold and code"
    types = [c.body["msg_type"] for c in platform.list_calls("message")]
    assert types == [2, 0, 0]  # it is not tried again
    assert bot.logged("qq_refuses")[0]["what"] == "markdown"


def test_a_form_that_was_refused_is_tried_again_after_a_day(bot, platform,
                                                            clock):
    bot.sends("**one**")
    platform.rules.markdown = True
    clock.ahead_s = 86_500.0

    sent = bot.sends("**two**")

    assert [m.text for m in sent] == ["one", "**two**"]


def test_another_form_has_another_number(bot, platform):
    """One that was refused may be used up: the plain form under it would
    count as sent."""
    (asked,) = bot.hears("do it")

    bot.sends("**bold**", answers=asked.id)

    first, second = (c.body["msg_seq"]
                     for c in platform.list_calls("message"))
    assert first != second
    assert platform.answers() == ["bold"]


def test_markdown_can_be_switched_off(bot, platform):
    platform.rules.markdown = True

    (sent,) = bot.sends("**bold**", settings={"markdown": False})

    assert sent.body["msg_type"] == 0


def test_links_that_are_refused_can_still_be_read(bot, platform):
    platform.rules.links = False

    (sent,) = bot.sends("see https://docs.example.org/a/b.html now")
    bot.sends("and docs.example.org")

    assert sent.text == "see docs[.]example[.]org/a/b.html now"
    assert platform.answers()[1] == "and docs[.]example[.]org"
    assert len(platform.list_calls("message")) == 3


def test_links_go_as_they_are_where_they_are_allowed(bot, platform):
    (sent,) = bot.sends("see https://example.org/a")

    assert sent.text == "see https://example.org/a"


def test_only_known_links_are_links_after_foreign_words(bot, platform):
    (sent,) = bot.sends("https://good.example/a https://bad.example/?q=1",
                        links=("https://good.example/a",))

    assert sent.text == "https://good.example/a bad[.]example/?q=1"


def test_nobody_is_rung_and_no_picture_is_fetched():
    (piece,) = split_answer('<@!1> <qqbot-at-everyone /> @everyone '
                            '![x](https://e.example/?secret)')

    for text in (piece.text, piece.markdown):
        assert "<@" not in text
        assert "<qqbot" not in text
        assert "@everyone" not in text
        assert "![" not in text


@pytest.mark.parametrize(("text", "plain"), [
    ("no address", "no address"),
    ("http://a.example:80/x?y=1.2", "a[.]example:80/x?y=1.2"),
    ("1.5 and e.g. this", "1.5 and e.g. this"),
])
def test_only_the_dots_of_hosts_are_changed(text, plain):
    assert disarm(text) == plain


def test_a_long_answer_is_split(bot, platform):
    platform.rules.own_accord = 100

    sent = bot.sends("word " * 3000)

    assert len(sent) == 4
    assert all(len(m.text) <= 5000 for m in sent)
    assert sum(m.text.count("word") for m in sent) == 3000


def test_buttons_go_with_markdown_where_the_bot_may(bot, platform):
    platform.rules.markdown = platform.rules.buttons = True

    (sent,) = bot.sends("May it?", buttons=(
        Button("Yes", "y1"), Button("No", "n1")))

    (row,) = sent.body["keyboard"]["content"]["rows"]
    assert [b["action"]["data"] for b in row["buttons"]] == ["y1", "n1"]
    assert [b["action"]["type"] for b in row["buttons"]] == [1, 1]
    assert sent.text == "May it?"


@pytest.mark.parametrize("markdown", [False, True])
def test_a_question_without_buttons_is_still_asked(bot, platform, markdown):
    platform.rules.markdown = markdown

    (sent,) = bot.sends("May **it**? Type yes.", buttons=(
        Button("Yes", "y1"),))

    assert sent.text == ("May **it**? Type yes." if markdown
                         else "May it? Type yes.")
    assert "keyboard" not in sent.body


# files


@pytest.mark.parametrize(("kind", "name", "file_type"), [
    ("IMAGE", "a.png", 1), ("VIDEO", "a.mp4", 2), ("VOICE", "a.mp3", 3),
    ("VOICE", "a.ogg", 4), ("AUDIO", "a.mp3", 4), ("DOCUMENT", "a.txt", 4)])
def test_files_go_out(bot, platform, kind, name, file_type):
    (bot.workspace / name).write_bytes(b"the bytes")

    text, file = bot.sends(f"here\n[{kind}:{name}]")

    assert text.text == "here"
    assert (file.file, file.file_type) == (b"the bytes", file_type)


def test_an_attached_file_goes_out(bot, platform):
    path = bot.workspace / "a.txt"
    path.write_bytes(b"x")

    (file,) = bot.sends(attachments=(Attachment(str(path), "a.txt"),))

    assert file.file == b"x"


def test_a_kind_that_is_not_open_goes_as_a_file(bot, platform):
    platform.rules.files = (4,)
    (bot.workspace / "a.png").write_bytes(b"x")

    (file,) = bot.sends("[IMAGE:a.png]")

    assert file.file_type == 4


@pytest.mark.parametrize("how", ["gone", "refused", "outside"])
def test_a_file_that_can_not_go_is_named(bot, platform, how):
    platform.rules.files = ()
    if how == "refused":
        (bot.workspace / "a.png").write_bytes(b"x")

    (sent,) = bot.sends("[IMAGE:/etc/passwd]" if how == "outside"
                        else "[IMAGE:a.png]")

    assert "can not be sent" in sent.text
    assert sent.file is None


def test_a_picture_on_the_web_is_never_fetched_by_qq(bot, platform):
    (sent,) = bot.sends("[IMAGE:https://e.example/?secret=1]")

    assert sent.text == "Image: https://e.example/?secret=1"
    assert not platform.list_calls("upload")


# typing, tokens, limits


def test_typing_is_shown_once_a_message(bot, platform):
    bot.hears("hello")

    async def work(channel):
        for _ in range(3):
            await channel.start_typing(USER)
        await channel.start_typing(ROOM)
    bot.use(work)

    (typed,) = platform.world.typed
    assert typed["input_notify"] == {"input_type": 1, "input_second": 60}


def test_typing_leaves_four_answers(bot, platform):
    platform.rules.own_accord = 0
    (asked,) = bot.hears("hello")

    async def work(channel):
        await channel.start_typing(USER)
        for number in range(4):
            await channel.send(answer(bot, asked, f"part {number}"))
        with pytest.raises(RateLimitedError):
            await channel.send(answer(bot, asked, "part 4"))
    bot.use(work)


def test_a_token_is_renewed_before_its_end(bot, platform):
    platform.life_s = "100"

    async def work(channel):
        await channel.send(SendMessage("one", USER))
        bot.offset += 61.0
        await channel.send(SendMessage("two", USER))
    bot.use(work)

    assert len(platform.list_calls("token")) == 2


def test_a_token_that_ended_early_is_renewed_once(bot, platform):
    async def work(channel):
        await channel.send(SendMessage("one", USER))
        platform.end_token()
        await channel.send(SendMessage("two", USER))
    bot.use(work)

    assert platform.answers() == ["one", "two"]


def test_a_wrong_secret_says_what_to_do(bot, platform):
    with pytest.raises(AuthError, match="100016") as error:
        bot.sends("hello", settings={"app_secret": "another-secret"})

    assert "app_secret" in error.value.hint
    assert "another-secret" not in error.value.message


def test_a_limit_holds_up_its_chat_alone(bot, platform):
    platform.fault("message", "429", 1, retry_after=600)

    async def work(channel):
        with pytest.raises(RateLimitedError) as error:
            await channel.send(SendMessage("one", USER))
        assert error.value.retry_after_s == 600
        with pytest.raises(RateLimitedError):
            await channel.send(SendMessage("one", USER))
        await channel.send(SendMessage("two", ROOM))
    bot.use(work)

    assert len(platform.list_calls("message")) == 2


def test_a_short_limit_is_waited_out(bot, platform):
    platform.fault("message", "429", 1, retry_after=1)

    (sent,) = bot.sends("one")

    assert sent.text == "one"


def test_what_waits_for_review_counts_as_sent(bot, platform):
    platform.rules.reviews = True

    bot.sends("hello")

    assert bot.logged("waits_for_review")


@pytest.mark.parametrize("to", ["", "room:1", "user:", "user:a/b", "x" * 999])
def test_an_odd_address_is_refused(bot, platform, to):
    with pytest.raises(RequestRefusedError, match="no QQ chat"):
        bot.sends("hello", to)

    assert not platform.calls


def test_a_guilds_channel_is_written_to(bot, platform):
    platform.world.came["g1"] = "channels/77", bot.now()
    bot.hears(("AT_MESSAGE_CREATE", {
        "id": "g1", "channel_id": "77", "guild_id": "5",
        "author": {"id": ALICE}, "content": "<@!10000001> hi"}))

    (sent,) = bot.sends("**hello**", "channel:77")

    assert sent.body == {"content": "hello", "msg_id": "g1"}


def test_a_site_that_is_allowed_stays_a_link_after_another_was_refused(
        bot, platform):
    platform.fault("message", "status", 1, status=400,
                   parameters={"code": 40054010})
    bot.sends("https://bad.example/a")

    sent = bot.sends("https://good.example/a")

    assert [m.text for m in sent] == ["bad[.]example/a",
                                      "https://good.example/a"]


def test_a_kill_after_a_refused_link_loses_nothing(bot, platform):
    """The number that was refused is used up: under it the text would pass
    for sent."""
    platform.rules.links = False
    (asked,) = bot.hears("where?")

    async def first(channel):
        message = answer(bot, asked, "at https://example.org/a")
        (part,) = channel.parts(message)
        platform.fault("message", "status", 1, status=400,
                       parameters={"code": 40054010})
        platform.fault("message", "reset", 1)
        with pytest.raises(UnavailableError):
            await channel.send_part(message, part)
        return part

    part = bot.use(first)

    async def again(channel):
        await channel.send_part(answer(bot, asked), part)
    bot.use(again)

    assert platform.answers() == ["at example[.]org/a"]


def test_a_clock_that_is_wrong_shortens_no_window(bot, platform, clock):
    """Ages are told by the platform's clock, which its answers show."""
    (asked,) = bot.hears({"text": "do it", "group": GROUP,
                          "user": ALICE_IN_GROUP})
    bot.now = lambda: clock() + 1000.0  # ours alone
    platform.rules.own_accord = 0

    async def work(channel):
        await channel.health_check()
        await channel.send(answer(bot, asked, to=ROOM))
    bot.use(work)

    assert platform.answers(f"groups/{GROUP}") == ["it is done"]


def test_a_burst_of_messages_keeps_its_keys(bot, platform):
    asked = bot.hears(*(f"n{number}" for number in range(12)))

    async def work(channel):
        message = answer(bot, asked[0])
        (part,) = channel.parts(message)
        return channel.knows_key(message, part)

    assert bot.use(work) is True
