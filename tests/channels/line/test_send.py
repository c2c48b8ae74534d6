"""What goes to LINE: replies and pushes, each shown once."""

import asyncio

import pytest

from claw.core.channel import Attachment, Button, SendMessage
from claw.core.errors import (
    AuthError,
    ClawError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.testing.fake_line import GROUP, USER
from tests.channels.line.conftest import deliver
from tests.channels.line.test_receive import said


def run(account, work, **given):
    """What `work(channel)` gives, with a message of the person's before."""
    async def go():
        async with account.open(**given) as channel:
            return await work(channel)
    return asyncio.run(go())


async def hear(channel, platform, text="hi", **where):
    """Somebody writes; the id of it."""
    (event,) = said(platform, text, **where)
    await deliver(channel, platform, event)
    return f"line_{event['webhookEventId']}"


def by(platform):
    return [message["by"] for message in platform.sent]


# -- reply or push


def test_an_answer_is_a_reply_and_what_comes_alone_a_push(account, platform):
    async def work(channel):
        await channel.send(SendMessage("news", USER))
        await hear(channel, platform)
        await channel.send(SendMessage("answer", USER))
        await channel.send(SendMessage("more", USER))
    run(account, work)

    assert by(platform) == ["push", "reply", "push"]
    assert platform.pushed == 2


@pytest.mark.parametrize(("age_s", "sent"), [
    (0, "reply"), (44, "reply"), (46, "push"), (3600, "push"),
    (-60, "reply")])
def test_a_token_is_used_while_it_is_fresh(account, platform, age_s, sent):
    account.time = 1_800_000_000.0

    async def work(channel):
        await hear(channel, platform)
        (part,) = channel.parts(SendMessage("answer", USER))
        account.time += age_s
        await channel.send_part(SendMessage("answer", USER), part)
    run(account, work)

    assert by(platform) == [sent]


def test_a_redelivered_event_brings_no_token(account, platform):
    """The first delivery's answer may have used it."""
    async def work(channel):
        (event,) = said(platform, "hi")
        await deliver(channel, platform, {
            **event, "deliveryContext": {"isRedelivery": True}})
        await channel.send(SendMessage("answer", USER))
    run(account, work)

    assert by(platform) == ["push"]


def test_two_parts_never_share_a_token(account, platform):
    async def work(channel):
        await hear(channel, platform)
        message = SendMessage("answer", USER)
        (first,), (second,) = channel.parts(message), channel.parts(message)
        for part in (second, first):
            await channel.send_part(message, part)
    run(account, work)

    assert by(platform) == ["push", "reply"]


@pytest.mark.parametrize("fault", ["reset_after", "half"])
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("answers", [True, False])
def test_a_call_that_broke_off_is_not_shown_twice(account, platform, fault,
                                                  restarted, answers):
    message = SendMessage("answer", USER)

    async def first(channel):
        if answers:
            await hear(channel, platform)
        (part,) = channel.parts(message)
        platform.fault("*", fault)
        with pytest.raises(UnavailableError):
            await channel.send_part(message, part)
        if not restarted:
            await again(channel, part)
        return part

    async def again(channel, part):
        assert channel.knows_key(message, part)
        await channel.send_part(message, part)
    part = run(account, first)
    if restarted:
        run(account, lambda channel: again(channel, part))

    assert platform.answers() == ["answer"]
    assert by(platform) == ["reply" if answers else "push"]


@pytest.mark.parametrize("fault", ["reset", "reset_after"])
def test_a_reply_in_doubt_is_one_for_good_after_its_minute(account, platform,
                                                           fault):
    """Then nobody can tell: it goes out again with its note, as a push."""
    account.time = 1_800_000_000.0
    message = SendMessage("answer", USER)

    async def work(channel):
        await hear(channel, platform)
        (part,) = channel.parts(message)
        platform.fault("reply", fault)
        with pytest.raises(UnavailableError):
            await channel.send_part(message, part)
        account.time += 56
        known = channel.knows_key(message, part)
        noted = channel.mark_repeated(part, "(again) ")
        await channel.send_part(message, noted)
        return known, channel.knows_key(message, noted)
    known, keyed = run(account, work)

    assert (known, keyed) == (False, True)
    assert platform.answers()[-1] == "(again) answer"
    assert by(platform)[-1] == "push"


def test_a_token_that_line_does_not_take_is_no_answer_lost(account,
                                                           platform):
    """Neither if the push in its place breaks off, and another process
    goes on."""
    platform.token_s = -1.0
    message = SendMessage("answer", USER)

    async def first(channel):
        await hear(channel, platform)
        (part,) = channel.parts(message)
        platform.fault("push", "reset")
        with pytest.raises(UnavailableError):
            await channel.send_part(message, part)
        return part
    part = run(account, first)

    async def second(channel):
        assert channel.knows_key(message, part)
        await channel.send_part(message, part)
    run(account, second)

    assert platform.answers() == ["answer"]
    assert by(platform) == ["push"]


@pytest.mark.parametrize(("fault", "error"), [
    (("429", {"retry_after": 900}), RateLimitedError),
    (("status", {"status": 401}), AuthError)])
def test_a_token_that_was_not_looked_at_is_still_good(account, platform,
                                                      fault, error):
    kind, options = fault
    message = SendMessage("answer", USER)

    async def work(channel):
        await hear(channel, platform)
        (part,) = channel.parts(message)
        platform.fault("reply", kind, **options)
        with pytest.raises(error):
            await channel.send_part(message, part)
        account.clock += 1000
        await channel.send_part(message, part)
    run(account, work)

    assert by(platform) == ["reply"]


def test_a_key_is_known_for_a_day(account, platform):
    account.time = 1_800_000_000.0
    message = SendMessage("news", USER)

    async def work(channel):
        (part,) = channel.parts(message)
        found = []
        for age_s in (0, 80_000, 86_400):
            account.time = 1_800_000_000.0 + age_s
            found.append(channel.knows_key(message, part))
        return found

    assert run(account, work) == [True, True, False]


# -- the month is used up


def test_what_waits_for_the_month_goes_when_the_person_writes(account,
                                                              platform):
    platform.quota = 0
    message = SendMessage("news", USER)

    async def work(channel):
        (part,) = channel.parts(message)
        with pytest.raises(QuotaError, match="used up") as refused:
            await channel.send_part(message, part)
        await hear(channel, platform)
        await channel.send_part(message, part)
        return refused.value
    error = run(account, work)

    assert error.retry_after_s
    assert "claw channel doctor" in error.hint
    assert by(platform) == ["reply"]


def test_what_waits_goes_before_the_answer_to_what_was_written(account,
                                                               platform):
    """In a chat the outbox keeps the order: were the token the answer's,
    neither would go."""
    platform.quota = 0
    news, answer = SendMessage("news", USER), SendMessage("answer", USER)

    async def work(channel):
        (first,) = channel.parts(news)
        with pytest.raises(QuotaError):
            await channel.send_part(news, first)
        await hear(channel, platform)
        (second,) = channel.parts(answer)
        await channel.send_part(news, first)
        with pytest.raises(QuotaError):
            await channel.send_part(answer, second)
        await hear(channel, platform)
        await channel.send_part(answer, second)
    run(account, work)

    assert platform.answers() == ["news", "answer"]


def test_a_late_reply_that_broke_off_is_not_shown_twice(account, platform):
    """Also if another process goes on."""
    platform.quota = 0
    message = SendMessage("news", USER)

    async def first(channel):
        (part,) = channel.parts(message)
        await hear(channel, platform)
        platform.fault("reply", "reset_after")
        with pytest.raises(UnavailableError):
            await channel.send_part(message, part)
        return part
    part = run(account, first)

    async def second(channel):
        assert channel.knows_key(message, part)
        await channel.send_part(message, part)
    run(account, second)

    assert by(platform) == ["reply"]
    assert not [k for k in account.marks.keys()  # noqa: SIM118
                if k.startswith("late")]


def test_a_push_in_doubt_becomes_no_reply(account, platform):
    message = SendMessage("news", USER)

    async def work(channel):
        (part,) = channel.parts(message)
        platform.fault("push", "reset_after")
        with pytest.raises(UnavailableError):
            await channel.send_part(message, part)
        platform._keys.clear()  # LINE judges the month before the key
        platform.quota = 0
        await hear(channel, platform)
        with pytest.raises(QuotaError):
            await channel.send_part(message, part)
    run(account, work)

    assert platform.answers() == ["news"]


# -- forms


def test_five_texts_go_in_one_call(account, platform):
    account.sends("x" * 30_000)

    assert platform.pushed == 2
    assert [len(m["text"]) for m in platform.sent[:5]] == [4960] * 5
    assert "".join(platform.answers()) == "x" * 30_000


@pytest.mark.parametrize(("content", "links", "shown"), [
    ("**b** [w](https://a.example/x)", None, "b w (https://a.example/x)"),
    ("see https://a.example/x", (), "see https[:]//a[.]example/x"),
    ("see https://a.example/x", ("https://a.example/x",),
     "see https://a.example/x"),
    ("a\0b\x1b[2J", None, "ab[2J"),
    ("[IMAGE:https://a.example/x.png]", None, "https://a.example/x.png"),
    ("[IMAGE:https://a.example/x.png]", (),
     "Image: https[:]//a[.]example/x[.]png"),
    ("[IMAGE:http://a.example/x.png]", None,
     "Image: http://a.example/x.png"),
    ("[DOCUMENT:https://a.example/x.pdf]", None,
     "Document: https://a.example/x.pdf"),
])
def test_what_people_see(account, platform, content, links, shown):
    account.sends(content, links=links)

    assert platform.answers() == [shown]


def test_a_file_says_why_it_is_not_there(account, platform):
    (account.workspace / "a.png").write_bytes(b"x")
    account.sends("here: [IMAGE:a.png]", attachments=(
        Attachment(str(account.workspace / "a.png"), "b.png", "image/png"),))

    (text,) = platform.answers()
    assert "Image a.png can not be sent: LINE takes pictures" in text
    assert "Image b.png can not be sent" in text


@pytest.mark.parametrize(("count", "kind"), [(3, "template"), (4, "template"),
                                             (5, "quickReply")])
def test_buttons_come_back_as_what_they_mean(account, platform, count, kind):
    buttons = tuple(Button(f"Option number {n} of them all", f"a:{n}")
                    for n in range(count))

    question, choices = account.sends("Which?", buttons=buttons)

    actions = choices["template"]["actions"] if kind == "template" else [
        item["action"] for item in choices["quickReply"]["items"]]
    assert question["text"] == "Which?"
    assert [a["data"] for a in actions] == [b.action for b in buttons]
    assert platform.pushed == 1


def test_an_answer_to_an_older_question_quotes_it(account, platform):
    async def work(channel):
        first = await hear(channel, platform, "one?", chat=GROUP)
        await channel.send(SendMessage("1", GROUP, answers=first))
        (event,) = said(platform, {"id": "9", "type": "text", "text": "two?"},
                        chat=GROUP)
        await deliver(channel, platform, event)
        await channel.send(SendMessage("2", GROUP, answers=first))
    run(account, work)

    assert [m.get("quoteToken") for m in platform.sent] == [None, "q1"]


@pytest.mark.parametrize("to", ["", "mina", "U12", "u" + "1" * 32, "\ud83d"])
def test_who_is_no_address_gets_nothing(account, to):
    with pytest.raises(RequestRefusedError, match="no address"):
        account.sends("hi", to)


def test_who_has_blocked_the_account_is_told_of(account, platform):
    account.takes(platform.build("unfollow"))

    with pytest.raises(RequestRefusedError, match="blocked"):
        account.sends("hi")


@pytest.mark.parametrize(("status", "words", "kind"), [
    (400, "The request body has 1 error(s)", RequestRefusedError),
    (401, "Authentication failed", AuthError),
    (403, "Access to this API is not available", RequestRefusedError),
    (500, "Internal error", UnavailableError),
    (429, "You have reached your monthly limit.", QuotaError),
])
def test_a_refusal_says_what_it_is(account, platform, status, words, kind):
    platform.fault("push", "status", None, status=status, description=words)

    with pytest.raises(ClawError) as refused:
        account.sends("hi")
    assert type(refused.value) is kind


def test_a_short_limit_is_waited_out(account, platform):
    platform.fault("push", "429", 2, retry_after=3)
    account.sends("hi")

    assert platform.answers() == ["hi"]


def test_typing_is_shown_to_people_and_not_too_often(account, platform):
    async def work(channel):
        for chat in (USER, USER, GROUP, "nobody"):
            await channel.start_typing(chat)
        account.clock += 15
        await channel.start_typing(USER)
    run(account, work)

    assert [sign["chatId"] for sign in platform.loading] == [USER] * 2
