"""What goes out, and what becomes of it."""

import asyncio

import pytest

from claw.core.abilities import Doubt
from claw.core.channel import Attachment, SendMessage
from claw.core.errors import (
    AuthError,
    ConfigError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.runtime.retry_rules import is_final, may_have_arrived

ALICE = "alice@people.test"


def test_an_answer_stands_in_its_thread(post, mail):
    mail.post("hi", subject="Plans", message_id="<a1@people.test>")
    mail.post("more", subject="Re: Plans", message_id="<a2@people.test>",
              References="<a1@people.test> <claw.x@fake.test>")
    post.hears(2)

    message = post.sends("ok", thread_ts="<a1@people.test>").message

    assert message["Subject"] == "Re: Plans"
    assert message["In-Reply-To"] == "<a2@people.test>"
    assert message["References"] == (
        "<a1@people.test> <claw.x@fake.test> <a2@people.test>")
    assert message["Auto-Submitted"] == "auto-replied"
    assert message["X-Loop"] == "agent@fake.test"
    assert message["From"] == "agent@fake.test"


def test_a_thread_of_the_same_name_is_another_persons(post, mail):
    mail.post("hi", subject="Plans", message_id="<a1@people.test>")
    mail.post("hi", subject="Buy gold", sender="bob@friends.test",
              References="<a1@people.test>")
    post.hears(2)

    message = post.sends("ok", thread_ts="<a1@people.test>").message

    assert message["Subject"] == "Re: Plans"
    assert message["References"] == "<a1@people.test>"


def test_a_thread_that_is_forgotten_is_still_answered(post):
    message = post.sends("ok", thread_ts="<a1@people.test>").message

    assert message["References"] == "<a1@people.test>"


def test_long_ids_are_not_folded_into_something_else(post, mail):
    ids = [f"<{n}{'x' * 150}@people.test>" for n in range(30)]
    mail.post("hi", message_id="<last@people.test>", References=" ".join(ids))
    post.hears()

    raw = post.sends("ok", thread_ts=ids[0]).raw.decode()

    assert "=?" not in raw.partition("\r\n\r\n")[0]
    assert ids[0] in raw
    assert "<last@people.test>" in raw
    assert ids[5] not in raw


def test_encoded_words_put_no_header_into_the_answer(post, mail):
    word = "=?utf-8?q?a=0D=0ABcc=3Aeve=40evil.test?="
    coded = word.replace("=", "=3D").replace("?", "=3F")
    mail.post("hi", message_id="<a1@people.test>",
              subject=f"=?utf-8?q?{coded}?=",
              References=f"<{word}@people.test> <b@people.test>")
    found = post.hears()[0]

    (post.workspace / "a.txt").write_text("x")
    file = Attachment(str(post.workspace / "a.txt"), f"{word}.txt")

    for root in (found.thread_ts, f"<{word}@people.test>"):
        sent = post.sends("ok", thread_ts=root, attachments=(file,))
        assert b"\nBcc" not in sent.raw
        assert sent.message["Bcc"] is None


@pytest.mark.parametrize(("content", "given", "subject", "text"), [
    ("Subject: Hello\n\nthere", {}, "Hello", "there"),
    ("there", {}, "Message from claw", "there"),
    ("there", {"subject": "Given"}, "Given", "there"),
    ("there", {"subject": "a\r\nBcc: eve@evil.test"},
     "a Bcc: eve@evil.test", "there"),
    ("Subject: a\x0bBcc: e@e.test\nthere", {}, "a",
     "Bcc: e@e.test\nthere"),
    ("there", {"subject": "Grüße 👋"}, "Grüße 👋", "there"),
])
def test_a_subject_is_one_line(post, content, given, subject, text):
    sent = post.sends(content, **given)

    assert sent.message["Subject"] == subject
    assert sent.message["Bcc"] is None
    assert sent.text == text


def test_markdown_is_shown_and_fetches_nothing(post):
    sent = post.sends("**bold** <b> [a](https://x.test/a) ![p](http://e.test)"
                      " [j](javascript:alert)")
    page = sent.message.get_body(("html",)).get_content()

    assert "<strong>bold</strong> &lt;b&gt;" in page
    assert '<a href="https://x.test/a">a</a>' in page
    assert "<img" not in page
    assert "javascript:" not in page.replace("(javascript", "")


def test_only_given_links_are_links(post):
    sent = post.sends("**see** https://evil.test/secret", links=())
    page = sent.message.get_body(("html",)).get_content()

    assert "`https://evil.test/secret`" in sent.text
    assert "<code>https://evil.test/secret</code>" in page


def test_files_go_with_the_mail(post):
    (post.workspace / "report.txt").write_text("it")

    sent = post.sends("here\n[DOCUMENT:report.txt]\n[FILE:/etc/passwd]")

    assert sent.files == [b"it"]
    assert "can not be sent" in sent.text


def test_a_recording_is_attached_as_one(post):
    (post.workspace / "voice.ogg").write_bytes(b"ogg")

    sent = post.sends("", attachments=(Attachment(
        str(post.workspace / "voice.ogg"), "voice.ogg", "audio/ogg"),))

    (part,) = sent.message.iter_attachments()
    assert part.get_content_type() == "audio/ogg"


@pytest.mark.each("recipient", ["", "nobody", "a@b.c, d@e.f", "a@b.c\r\nX: y",
                                "<a@b.c>", "a@b.c>\r\nRCPT TO:<d@e.f"])
def test_a_recipient_is_one_address(recipient):
    from claw.channels.email.outgoing import parse_recipient
    with pytest.raises(RequestRefusedError):
        parse_recipient(recipient)


def test_addresses_of_other_scripts_need_a_server_that_takes_them(post):
    sent = post.sends("hi", "böb@bücher.test")

    assert sent.recipient == "böb@xn--bcher-kva.test"


def fails(post, kind, **given):
    with pytest.raises(kind) as error:
        post.sends("hi", **given)
    return error.value


@pytest.mark.parametrize(("verb", "status", "kind", "final"), [
    ("RCPT", 450, RateLimitedError, False),
    ("MAIL", 421, RateLimitedError, False),
    ("content", 452, RateLimitedError, False),
    ("RCPT", 550, RequestRefusedError, True),
    ("content", 554, RequestRefusedError, True),
    ("content", 552, RequestRefusedError, True),
    ("EHLO", 421, RateLimitedError, False),
    ("AUTH", 535, AuthError, False),
    ("AUTH", 454, RateLimitedError, False),
])
def test_what_the_server_says_decides(post, mail, verb, status, kind, final):
    mail.faults.add(verb, "status", status=status, times=None)

    error = fails(post, kind)

    assert is_final(error) is final
    assert not may_have_arrived(error)
    assert mail.sent == []


def test_a_mail_that_is_too_large_says_so(post, mail):
    mail.size = 100

    error = fails(post, RequestRefusedError)

    assert "MiB at most" in error.message


def test_a_server_that_is_away_was_not_reached(post, mail):
    mail.down()

    assert not may_have_arrived(fails(post, UnavailableError))
    mail.up()


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA"])
def test_before_the_content_nothing_can_have_arrived(post, mail, verb):
    mail.faults.add(verb, "reset")

    error = fails(post, UnavailableError)

    assert may_have_arrived(error) is (verb == "DATA")


def test_a_lost_confirmation_is_a_doubt_that_the_folder_settles(post, mail):
    """Where the server keeps what it sends it is found; else not."""
    async def go():
        channel = post.make()
        message = SendMessage("hi", ALICE)
        (part,) = channel.parts(message)
        mail.faults.add("after content", "reset_after")
        with pytest.raises(UnavailableError) as error:
            await channel.send_part(message, part)
        assert may_have_arrived(error.value)
        lost = await channel.find_sent(Doubt(message, part))
        mail.store.folders["Sent"].add(mail.sent[0].raw)
        found = await channel.find_sent(Doubt(message, part))
        repeated = channel.mark_repeated(part, "(again) ")
        again = await channel.send_part(message, repeated)
        await channel.aclose()
        return lost, found, again, part.data["message_id"]

    lost, found, again, message_id = asyncio.run(go())

    assert lost == ()
    assert found == (message_id,)
    assert again == message_id  # what a mail store shows once is shown once
    assert [sent.text for sent in mail.sent] == ["hi", "(again) hi"]


def test_what_is_sent_is_kept_once(post, mail):
    post.sends("hi")

    kept = mail.store.folders["Sent"].mails
    assert [one.message["Message-ID"] for one in kept] == [
        mail.sent[0].message["Message-ID"]]


@pytest.mark.parametrize("how", ["gmail", "off", "no folder"])
def test_no_copy_where_none_is_wanted(post, mail, how):
    if how == "gmail":
        mail.capabilities += " X-GM-EXT-1"
    if how == "no folder":
        del mail.store.folders["Sent"]

    post.sends("hi", channel=post.make(
        save_sent=False if how == "off" else None))

    sent = mail.store.folders.get("Sent")
    assert sent is None or sent.mails == []
    assert bool(post.logged("sent.unsaved")) is (how == "no folder")


def test_the_kill_before_the_content_leaves_no_doubt(post, mail):
    async def go():
        channel, left = post.make(), []
        message = SendMessage("hi", ALICE)
        (part,) = channel.parts(message)
        mail.faults.add("RCPT", "reset")
        with pytest.raises(UnavailableError):
            await channel.send_part_telling(message, part,
                                            lambda: left.append(1))
        before = list(left)
        await channel.send_part_telling(message, part,
                                        lambda: left.append(1))
        await channel.aclose()
        return before, left

    assert asyncio.run(go()) == ([], [1])


def test_a_missing_setting_is_named(post):
    with pytest.raises(ConfigError, match="imap_host"):
        post.make(imap_host="")
