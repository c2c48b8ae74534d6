"""Who counts as the sender of a mail, and who is let in."""

import asyncio
import time

import pytest

from claw.channels.access import Person
from claw.channels.email.envelope import (
    normalise,
    read_envelope,
    read_sender,
)
from claw.channels.email.intake import Addresses
from claw.channels.email.proof import judge_sender
from claw.channels.email.quoting import read_html
from claw.core.channel import STRANGER
from claw.testing.contracts.stage import until

GOOD = "fake.test; dkim=pass header.d=people.test"
BAD = "fake.test; dkim=fail header.d=people.test"


@pytest.mark.each(("header", "domain", "good"), [
    ("mx.example; dkim=pass header.i=@a.org header.b=x=; spf=pass (ok: a "
     "(b) c) smtp.mailfrom=b@c.d; dmarc=pass (p=NONE) header.from=a.org",
     "a.org", True),
    # without a name, as Exchange Online writes it
    ("spf=pass (sender IP is 1.2.3.4) smtp.mailfrom=a.org; dkim=pass "
     "(signature was verified) header.d=a.org;dmarc=pass action=none "
     "header.from=a.org;compauth=pass reason=100", "a.org", True),
    ("x; none", "a.org", False),
    ("x 1; DKIM = Pass header.d = A.ORG", "a.org", True),
    ("x; dkim/1=pass header.d=a.org.", "a.org", True),
    ("x; dkim=pass header.d=evil.org", "a.org", False),
    ("x; dkim=pass header.d=org", "a.org", False),
    ("x; dkim=pass header.d=a.org", "sub.a.org", True),
    ("x; dkim=pass header.d=sub.a.org", "a.org", False),
    ("x; dkim=pass header.d=nota.org", "a.org", False),
    ("x; spf=pass smtp.mailfrom=me@a.org", "a.org", True),
    ("x; spf=pass smtp.helo=a.org", "a.org", False),
    ("x; spf=softfail smtp.mailfrom=me@a.org", "a.org", False),
    ("x; dmarc=pass", "a.org", False),
    ("x; dmarc=pass header.from=evil.org", "a.org", False),
    ("x; dmarc=fail; dkim=pass header.d=a.org", "a.org", False),
    ("x; arc=pass header.d=a.org", "a.org", False),
    ('x; spf=pass smtp.mailfrom="x; dkim=pass header.d=a.org"@evil.org',
     "a.org", False),
    ('x; spf=pass smtp.mailfrom="me"@a.org', "a.org", True),
    ("x; spf=fail (dkim=pass header.d=a.org) smtp.mailfrom=e@evil.org",
     "a.org", False),
    ('x; dkim=pass header.d="a.org', "a.org", False),
    # a local part that its writer chose
    ("x; spf=pass smtp.mailfrom=a.org=b@evil.org", "a.org", False),
    ("x; dkim=pass header.i=a.org=b@evil.org", "a.org", False),
    ('x; spf=pass smtp.mailfrom="me@a.org".b@evil.org', "a.org", False),
    ('x; spf=pass smtp.mailfrom=b."me@a.org"@evil.org', "a.org", False),
    ("x; spf=pass smtp.mailfrom=a.org\xa0b@evil.org", "a.org", False),
    ("x; spf=pass smtp.mailfrom=a.org(b)c@evil.org", "a.org", False),
    ("x; spf=pass smtp.mailfrom=prvs=1=me@a.org", "a.org", True),
    ("x; dkim=pass header.b=x= header.d=a.org", "a.org", True),
    ("x; dkim=pass (open header.d=a.org", "a.org", False),
    ("", "a.org", False),
])
def test_a_header_proves_a_domain(header, domain, good):
    assert judge_sender([header], domain).is_good is good


def test_what_a_stranger_writes_is_read_in_one_walk():
    started = time.process_time()

    judge_sender(["x; " + "(\\" * 10_000] * 3, "a.org", "mx.example")
    read_html(" " * 200_000)

    assert time.process_time() - started < 3.0


def test_only_the_topmost_header_counts():
    assert not judge_sender([BAD, GOOD], "people.test").is_good
    assert judge_sender([GOOD, BAD], "people.test").is_good
    assert not judge_sender([], "people.test").is_good


def test_a_header_for_each_method_is_read_to_the_first_that_says_something():
    assert judge_sender([
        "bimi.x; bimi=skipped reason=\"none\"", "arc.x; arc=none",
        "dmarc.x; dmarc=pass header.from=people.test"], "people.test").is_good
    assert not judge_sender(["x; none", GOOD], "people.test").is_good
    assert not judge_sender(["x; auth=pass", GOOD], "people.test").is_good


def test_only_the_named_server_is_believed():
    forged = "forged.test; dkim=pass header.d=people.test"

    assert not judge_sender([forged], "people.test", "fake.test").is_good
    assert judge_sender([forged, GOOD], "people.test", "FAKE.test").is_good
    assert not judge_sender([forged, BAD, GOOD], "people.test",
                            "fake.test").is_good


@pytest.mark.each(("value", "address", "name"), [
    ("alice@people.test", "alice@people.test", ""),
    ("Alice <Alice@People.TEST>", "alice@people.test", "Alice"),
    ('"Doe, Alice" <a@b.c>', "a@b.c", "Doe, Alice"),
    ("=?utf-8?q?J=C3=BCrgen?= <a@b.c>", "a@b.c", "Jürgen"),
    ("a@b.c (Alice)", "a@b.c", ""),
    ("x <a@bücher.test>", "a@xn--bcher-kva.test", "x"),
    # a name that is there to be taken for an address
    ('"owner@good.test" <a@evil.test>', "a@evil.test", ""),
    ("=?utf-8?q?owner=40good.test?= <a@evil.test>", "a@evil.test", ""),
])
def test_a_from_line_has_one_address(value, address, name):
    sender, _ = read_sender([value])

    assert (sender.address, sender.name) == (address, name)


@pytest.mark.each("values", [
    [], ["a@b.c", "d@e.f"], ["a@b.c, d@e.f"], [""], ["nobody"], ["@b.c"],
    ["<owner@good.test> <a@evil.test>"], ["owner@good.test <a@evil.test>"],
    ["<owner@good.test>, <a@evil.test>"], ["group: a@b.c;"],
    ["a@b.c@d.e"], ["=?utf-8?q?a=0D=0Ab?=@c.d"],
    ["<a@b.c"], ["=?utf-8?q?owner=40good.test?="],
    ["owner@good.test\0@evil.test"], ['"a b"@b.c'], ["a@ｂ.c"],
    ["a@" + "x" * 300 + "é.c"], ["a\ud83d@b.c"],
])
def test_what_can_be_read_in_two_ways_is_nobody(values):
    assert read_sender(values)[0] is None


def test_letters_that_look_alike_are_not_alike():
    kelvin, cyrillic = "\u212aate@x.org", "\u0430lice@people.test"

    assert normalise(kelvin) != normalise("kate@x.org")
    assert normalise(cyrillic) != normalise("alice@people.test")


@pytest.mark.each(("entry", "address", "is_in"), [
    ("Alice@People.test", "alice@people.test", True),
    ("alice@people.test", "bob@people.test", False),
    ("@people.test", "bob@people.test", True),
    ("people.test", "bob@people.test", True),
    ("people.test", "bob@sub.people.test", False),
    ("people.test", "bob@evilpeople.test", False),
    ("bücher.test", "a@xn--bcher-kva.test", True),
    ("*", "who@ever.test", False),
])
def test_the_list_holds_addresses_and_domains(entry, address, is_in):
    allowed = Addresses([entry])

    assert allowed.is_stranger(Person(address)) is not is_in


def test_a_lone_carriage_return_begins_no_header():
    mail = read_envelope(
        b"Received: from x\rAuthentication-Results: x; dkim=pass "
        b"header.d=people.test\r\nFrom: alice@people.test\r\n\r\n", 1, 0.0)

    assert mail.raw.get_all("Authentication-Results") is None


# -- on the wire

def test_a_mail_without_proof_is_left_out_and_the_log_says_why(post, mail):
    mail.post("forged", proof="")
    mail.post("forged", proof="fail")
    mail.post("forged", proof="", Authentication_Results="evil.test; none")

    post.hears_nothing()

    whys = [fields["why"] for fields in post.logged("mail.refused")]
    assert len(whys) == 2  # two are alike
    assert all("not proven" in why for why in whys)
    assert not any(kept.flags for kept in mail.inbox.mails)
    assert mail.sent == []


def test_strangers_are_left_out_and_hear_nothing(post, mail):
    mail.post("hello", sender="eve@evil.test")

    post.hears_nothing()

    assert post.logged("stranger")[0]["id"] == "eve@evil.test"
    assert mail.sent == []


def test_without_a_check_every_mail_is_foreign(post, mail):
    mail.post("hello", proof="")

    (message,) = post.hears(auth_results="off")

    assert "mail" in message.labels


def test_where_no_server_is_named_a_good_sender_is_foreign_too(post, mail):
    """The topmost header may be the sender's own: some servers write none."""
    mail.post("hello")
    mail.post("hello", proof="fail")

    (message,) = post.hears(auth_results="")

    assert "mail" in message.labels


def test_everybody_is_a_stranger_but_the_owners(post, mail):
    mail.post("hello", sender="eve@evil.test")
    mail.post("hello", sender="alice@people.test")

    eve, alice = post.hears(2, allowed_users=("*", "people.test"))

    assert STRANGER in eve.labels
    assert alice.labels == ()


def test_a_code_lets_its_sender_in(post, mail):
    async def go():
        async with post.listening(allowed_users=()):
            await until(lambda: post.logged("pairing"))
            code = post.logged("pairing")[0]["code"]
            mail.post("/bind 000", sender="eve@evil.test")
            await until(lambda: mail.sent)
            mail.post("", subject=f"/bind {code}")
            await until(lambda: len(mail.sent) == 2)
            mail.post("hello")
            await until(lambda: post.inbox.messages)

    asyncio.run(go())

    assert [sent.recipient for sent in mail.sent] == [
        "eve@evil.test", "alice@people.test"]
    assert "not valid" in mail.sent[0].text
    assert mail.sent[1].text == "You are paired."
    assert post.remembered == ["alice@people.test"]
    assert post.inbox.messages[0].labels == ()
