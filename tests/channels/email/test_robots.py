"""What no person wrote is not answered."""

import pytest

from claw.channels.email import robots
from claw.channels.email.envelope import read_envelope


@pytest.mark.parametrize("headers", [
    {"Auto_Submitted": "auto-replied"},
    {"Auto_Submitted": "auto-generated; owner-email=x"},
    {"Precedence": "bulk"}, {"Precedence": "list"}, {"Precedence": "junk"},
    {"List_Id": "<l.test>"}, {"X_Auto_Response_Suppress": "All"},
    {"Return_Path": "<>"}, {"X_Loop": "agent@fake.test"},
    {"sender": "mailer-daemon@people.test"},
    {"sender": "postmaster@people.test"},
    {"sender": "agent@fake.test"},
    {"List_Unsubscribe": "<mailto:x@y.test>"},
])
def test_it_is_left_alone(post, mail, headers):
    mail.post("away until Monday", **headers)

    post.hears_nothing(allowed_users=("people.test", "fake.test"))

    assert post.logged("mail.ignored")
    assert mail.sent == []


def test_a_person_is_heard(post, mail):
    mail.post("hello", Auto_Submitted="no", Return_Path="<a@people.test>")

    assert post.hears()[0].content == "hello"


def test_a_bounce_of_an_answer_is_told_in_the_log(post, mail):
    sent = post.sends("hello")
    mail.deliver(
        b"From: MAILER-DAEMON@fake.test\r\nReturn-Path: <>\r\n"
        b"Content-Type: multipart/report; report-type=delivery-status; "
        b"boundary=x\r\n\r\n--x\r\nContent-Type: message/delivery-status"
        b"\r\n\r\nFinal-Recipient: rfc822; alice@people.test\r\n"
        b"Action: failed\r\nStatus: 5.1.1\r\n\r\n--x\r\n"
        b"Content-Type: text/rfc822-headers\r\n\r\nMessage-ID: "
        + sent.message["Message-ID"].encode() + b"\r\n\r\n--x--\r\n")

    post.hears_nothing()

    (told,) = post.logged("mail.bounced")
    assert told["message_id"] == sent.message["Message-ID"]
    assert (told["status"], told["recipient"]) == (
        "5.1.1", "alice@people.test")


def test_two_programs_do_not_talk_for_ever(post, mail, monkeypatch):
    monkeypatch.setattr(robots, "ANSWERS", 3)
    for n in range(5):
        mail.post(f"ping {n}", In_Reply_To="<claw.x@fake.test>")
    mail.post("a mail of its own")

    heard = post.hears(4)

    assert [m.content for m in heard] == [
        "ping 0", "ping 1", "ping 2", "a mail of its own"]
    assert "another program" in post.logged("mail.ignored")[0]["why"]


def test_an_answer_that_is_read_again_counts_once():
    limit = robots.AnswerLimit(lambda: 0.0)

    assert all(limit.admits("a@b.c", "<1@b.c>")
               for _ in range(2 * robots.ANSWERS))
    assert [limit.admits("a@b.c", f"<{n}@b.c>")
            for n in range(2, robots.ANSWERS + 2)] == [
                *[True] * (robots.ANSWERS - 1), False]


@pytest.mark.each(("head", "is_robot"), [
    (b"Auto-Submitted: no (a person)", False),
    (b"Auto-Submitted: no\r\nAuto-Submitted: auto-replied", True),
    (b"X-Failed-Recipients: a@b.c", True),
])
def test_headers_are_read_with_comments_and_all_of_them(head, is_robot):
    mail = read_envelope(b"From: a@b.c\r\n" + head + b"\r\n\r\n", 1, 0.0)

    assert (robots.find_robot(mail, ()) is not None) is is_robot
