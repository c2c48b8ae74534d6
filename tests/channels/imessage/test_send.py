"""What is sent, how it is confirmed, and what goes wrong."""

import asyncio
import json

import pytest

from claw.channels.imessage.mac import Mac, explain
from claw.channels.imessage.rows import Target, parse_recipient
from claw.core.abilities import Doubt
from claw.core.channel import SendMessage
from claw.core.errors import (
    AuthError,
    ConfigError,
    RequestRefusedError,
    UnavailableError,
)
from claw.runtime.retry_rules import may_have_arrived
from claw.testing.fake_imessage import person

TO = person()
INJECTIONS = ['" & (do shell script "id") & "', "-e", "--", "$(id)`id`",
              "\\\" \n end tell", "'; rm -rf /"]


def send(place, content, to=TO):
    channel = place.make()
    message = SendMessage(content, to)

    async def work():
        return [await channel.send_part(message, part)
                for part in channel.parts(message)]
    return asyncio.run(work())


def calls(place):
    lines = (place.platform.store.folder / "calls").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("text", INJECTIONS)
def test_a_text_is_an_argument_and_never_script(place, text):
    assert send(place, f"x {text}")[0]

    ((_, _, target, content),) = calls(place)
    assert target == TO
    assert content.startswith("x")


def test_the_id_is_the_guid_of_the_row(place):
    (guid,) = send(place, "hello")

    assert guid == place.platform.guid(1)


@pytest.mark.parametrize("mode", ["silent", "ghost", "pending"])
def test_success_that_delivers_nothing_gives_no_id(place, mode):
    place.platform.store.set_mode(**{mode: True})

    assert send(place, "hello") == [None]


def test_what_was_not_delivered_is_not_there_and_what_was_is(place):
    channel, message = place.make(), SendMessage("hello", TO)
    (part,) = channel.parts(message)
    place.platform.store.set_mode(silent=True)
    asyncio.run(channel.send_part(message, part))
    assert asyncio.run(channel.find_sent(Doubt(message, part))) == ()

    place.platform.store.set_mode(pending=True)
    asyncio.run(channel.send_part(message, part))
    with pytest.raises(UnavailableError, match="still sending"):
        asyncio.run(channel.find_sent(Doubt(message, part)))

    place.platform.change(1, is_sent=1)
    assert asyncio.run(channel.find_sent(Doubt(message, part))) == (
        place.platform.guid(1),)


def test_a_red_mark_is_a_refusal(place):
    place.platform.store.set_mode(failed=True)

    with pytest.raises(RequestRefusedError, match="no iMessage"):
        send(place, "hello")


def test_a_group_is_found_by_the_guid_that_messages_knows(place):
    place.platform.say("hi", group="chat77")
    place.platform.store.set_mode(no_chats=["any;+;chat77"])
    with pytest.raises(RequestRefusedError):
        send(place, "hello", "group:chat77")
    place.platform.store.set_mode()

    assert send(place, "hello", "group:chat77")[0]
    assert [call[1:3] for call in calls(place)] == [
        ["chat", "any;+;chat77"], ["chat", "iMessage;+;chat77"],
        ["chat", "any;+;chat77"]]


def test_a_person_whom_messages_does_not_find_is_reached_by_the_chat(place):
    place.platform.say("hi")
    place.platform.store.set_mode(no_people=True)

    assert send(place, "hello")[0]
    assert [call[1] for call in calls(place)] == ["imessage", "chat"]


def test_who_wrote_by_sms_is_answered_by_sms(place):
    place.platform.say("hi", service="SMS")

    send(place, "hello")

    assert calls(place)[0][1] == "sms"


def test_a_file_is_put_where_messages_may_read_it(place):
    (place.folder / "report.txt").write_text("it")

    ids = send(place, "see\n[DOCUMENT:report.txt]")

    assert all(ids)
    assert place.platform.shown() == ["see", "[report.txt]"]
    (_, _, file) = place.platform.sent()[1]
    assert file.read_text() == "it"


def test_a_file_outside_the_workspace_does_not_leave(place, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "key"
    other.write_text("secret")

    send(place, f"see\n[DOCUMENT:{other}]")

    assert "can not be sent" in place.platform.shown()[0]


def test_markdown_is_plain_and_other_links_are_disarmed(place):
    channel = place.make()
    message = SendMessage("**a** [b](https://evil.example/x)", TO, links=())

    (part,) = channel.parts(message)

    assert "**" not in part.text
    assert "https://evil.example" not in part.text


@pytest.mark.parametrize(("recipient", "target"), [
    ("+1 (555) 000-1001", Target("+15550001001", False)),
    ("Al@Example.org", Target("al@example.org", False)),
    ("any;-;+15550001001", Target("+15550001001", False)),
    ("group:chat77", Target("chat77", True)),
    ("iMessage;+;chat77", Target("chat77", True)),
    ("group:0a", Target("0a", True))])
def test_addresses(recipient, target):
    assert parse_recipient(recipient) == target


@pytest.mark.parametrize("recipient", ["", "alice", "\0", "a@b", "group:",
                                       "group:a b", "+1" * 200])
def test_what_is_no_address_is_refused(recipient):
    with pytest.raises(RequestRefusedError):
        parse_recipient(recipient)


@pytest.mark.parametrize(("number", "kind", "maybe"), [
    (-1743, AuthError, False), (-1728, RequestRefusedError, False),
    (-600, UnavailableError, False), (-1712, UnavailableError, True),
    (-609, UnavailableError, True)])
def test_errors_of_messages(number, kind, maybe):
    error = explain(f"12:30: execution error: Words. ({number})", 1)

    assert isinstance(error, kind)
    assert may_have_arrived(error) is maybe
    assert error.hint


def test_elsewhere_than_on_a_mac_it_is_refused_plainly(place):
    with pytest.raises(ConfigError, match="a Mac only"):
        place.make(Mac("linux", place.platform.store.folder))


@pytest.mark.parametrize(("mode", "row", "words"), [
    ({}, "automation", "signed in"),
    ({"accounts": 0}, "automation", "not signed in"),
    ({"error": -1743}, "automation", "control Messages")])
def test_the_doctor_tells_which_right_is_missing(place, mode, row, words):
    place.platform.store.set_mode(**mode)

    found = {f.id: f for f in asyncio.run(place.make().diagnose())}

    assert words in found[row].detail
    assert (found[row].status == "ok") is (not mode)


def test_the_doctor_tells_of_full_disk_access(place, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(1, "Operation not permitted")
    monkeypatch.setattr("builtins.open", refuse)
    found = {f.id: f for f in asyncio.run(place.make().diagnose())}

    assert found["full_disk_access"].status == "fail"
    assert "Full Disk Access" in found["full_disk_access"].hint


def test_without_osascript_it_says_so(place):
    mac = Mac("darwin", place.platform.store.folder, "no-such-osascript")

    with pytest.raises(UnavailableError, match="can't be started"):
        asyncio.run(place.make(mac).send(SendMessage("hello", TO)))
