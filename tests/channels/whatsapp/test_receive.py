"""What people write: webhooks in, messages of claw out."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from claw.channels.whatsapp import WhatsappChannel, WhatsappSettings
from claw.core.abilities import WebhookCall, WebhookRefused
from claw.core.channel import STRANGER, ChannelDeps, SendMessage
from claw.core.errors import ConfigError
from claw.core.value import replace
from claw.testing.contracts.stage import KeepingInbox
from claw.testing.fake_whatsapp import sign, wrap
from claw.testing.fake_whatsapp.platform import NUMBER, USER_ID
from claw.testing.fake_whatsapp.webhooks import build_message

from .conftest import VECTORS, call, deliver

MINA = "US.13491208655302741918"  # who writes in the vectors
EVERYBODY = {"allowed_users": ("*", "+972987654321", "+16505551234")}


def said(text="hello", *, number=NUMBER, user_id=USER_ID, **fields):
    return build_message(number, user_id, "Mina", {
        "id": "wamid.1", "timestamp": str(int(time.time())), "type": "text",
        "text": {"body": text}, **fields})


# every kind of message that is known

@pytest.mark.parametrize(("file", "name", "content", "labels"), [
    ("message", "text", "Body Text", ()),
    ("message", "forwarded", "[Forwarded] forwarded text", ("forwarded",)),
    ("message", "forwarded_many_times",
     "[Forwarded] text forwarded many times", ("forwarded",)),
    ("message", "referral", "BODY", ()),
    ("message", "reply", "> An earlier message:\n> [not known any more]\n\n"
     "replied text", ("quoted",)),
    ("message", "current_location",
     "[Forwarded] [Location: 12.25089, 43.90539]", ("forwarded", "unknown")),
    ("message", "chosen_location",
     "[Forwarded] [Location: Facebook HQ, 1 Hacker Way, Menlo Park, CA 94025 "
     "(37.4611978, -122.2164385)]", ("forwarded", "unknown")),
    ("message", "contacts",
     "[Contacts: Chandler Bing, +1 555-555-5555; Monica, +1 666-666-6666; "
     "Rachel Green, +1 777-777-7777]", ("unknown",)),
    ("message", "order",
     "[Order: 3 x HAMBURGER at 30 ILS, 2 x FRENCH_FRIES at 35 ILS, "
     "2 x SODA at 10 ILS]", ("unknown",)),
    ("message", "unsupported", "[Unsupported message: unsupported]", ()),
    ("message", "unsupported_with_type", "[Unsupported message: pool]", ()),
    ("callback_button", "quick_reply_without_context", "title", ()),
])
def test_each_kind_becomes_text(number, file, name, content, labels):
    (message,) = number.takes(VECTORS[file][name], **EVERYBODY)

    assert message.content == content
    assert message.labels == labels
    assert message.kind == "message"
    assert message.id == f"whatsapp_{VECTORS[file][name]['messages'][0]['id']}"
    assert (message.sender, message.reply_target) == (MINA, MINA)
    assert message.sender_name == "Test Name"
    assert message.timestamp > 1_690_000_000


@pytest.mark.parametrize(("file", "name"), [
    ("callback_button", "button"), ("callback_selection", "callback"),
    ("callback_selection", "description")])
def test_a_pressed_button_is_an_action(number, file, name):
    (message,) = number.takes(VECTORS[file][name], **EVERYBODY)

    assert (message.kind, message.content) == ("action", "callback_data")


@pytest.mark.parametrize(("file", "name"), [
    ("message", "reaction"), ("message", "unreaction_empty"),
    ("message", "unreaction_no_emoji"), ("deleted_message", "revoke"),
    ("system", "identity_change"), ("message_status", "sent"),
    ("message_status", "delivered"), ("message_status", "read"),
    ("message_status", "played"), ("message_status", "group")])
def test_what_nobody_has_to_answer_is_no_message(number, file, name):
    assert number.takes(VECTORS[file][name], **EVERYBODY) == []


@pytest.mark.parametrize(("name", "kind", "text", "labels"), [
    ("image", "image.jpg", "[IMAGE:{}]", ()),
    ("media_with_url", "image.jpg", "[IMAGE:{}]", ()),
    ("video", "video.mp4", "[Forwarded] [Video: video.mp4] {}\n\ncaption",
     ("forwarded",)),
    ("document", "filename.pdf",
     "[Forwarded] [Document: filename.pdf] {}\n\ncaption",
     ("forwarded", "attachment")),
    ("audio", "audio.ogg", "[Forwarded] [Audio: audio.ogg] {}",
     ("forwarded", "attachment")),
    ("voice", "audio.ogg", "[Voice]", ()),
    ("static_sticker", "sticker.webp", "[IMAGE:{}]", ()),
    ("animated_sticker", "sticker.webp", "[IMAGE:{}]", ()),
])
def test_files_are_fetched_and_kept(number, platform, name, kind, text,
                                    labels):
    vector = VECTORS["message"][name]
    media = vector["messages"][0][vector["messages"][0]["type"]]
    platform.media[media["id"]] = b"the bytes", media["mime_type"], ""

    (message,) = number.takes(vector, **EVERYBODY)

    (file,) = message.attachments
    assert file.file_name == kind
    assert Path(file.path).read_bytes() == b"the bytes"
    assert message.content == text.format(file.path)
    assert message.labels == labels
    assert [h["authorization"] for h in platform.fetched] == [
        f"Bearer {platform.token}"]


def test_a_recording_that_is_passed_on_is_not_his_voice(number, platform):
    vector = VECTORS["message"]["voice"]
    message = vector["messages"][0] | {"context": {"forwarded": True}}
    platform.media[message["audio"]["id"]] = b"x", "audio/ogg", ""

    (found,) = number.takes({**vector, "messages": [message]}, **EVERYBODY)

    assert found.content.startswith("[Forwarded] [Audio: audio.ogg]")
    assert "attachment" in found.labels


def test_an_edit_comes_again_and_says_so(number, platform):
    vector = VECTORS["edited_message"]["image"]
    platform.add_media(b"x", "image/jpeg")
    platform.media["1234567890"] = b"new", "image/jpeg", ""

    (message,) = number.takes(vector, allowed_users=(MINA, "16505551234"))

    assert message.content.startswith("[Edited] ")
    assert message.content.endswith("\n\nUpdated image caption")
    assert message.id == f"whatsapp_{vector['messages'][0]['id']}"


def test_a_reply_quotes_what_it_answers(number, platform):
    async def go():
        async with number.open() as channel:
            await deliver(channel, said("what is the time?"), platform)
            await channel.send(SendMessage("It is ten.", USER_ID))
            ours = platform.sent[-1]["id"]
            found = [await deliver(channel, said(
                text, id=f"wamid.{text[:3]}", context={"id": given}), platform)
                for text, given in (("thanks", ours), ("bump", "wamid.1"),
                                    ("yes k7m3p", ours), ("/new", ours))]
            return [d.messages[0] for d in found]
    thanks, bump, decision, command = asyncio.run(go())

    assert thanks.content == "> You wrote:\n> It is ten.\n\nthanks"
    assert thanks.labels == ("quoted",)
    assert bump.content == "> They wrote:\n> what is the time?\n\nbump"
    assert decision.content == "yes k7m3p"
    assert command.content == "/new"


# who it is

@pytest.mark.parametrize("entry", [
    NUMBER, NUMBER[1:], int(NUMBER[1:]), "+49 170 1234-5678", USER_ID])
def test_people_are_let_in_by_number_or_user_id(number, entry):
    (message,) = number.takes(said(), allowed_users=(entry,))

    assert (message.sender, message.reply_target) == (USER_ID, USER_ID)
    assert message.labels == ()


def test_without_user_ids_a_person_is_his_number(number):
    (message,) = number.takes(said(user_id=""), allowed_users=(NUMBER[1:],))

    assert (message.sender, message.reply_target) == (NUMBER, NUMBER)


def test_who_hides_his_number_later_stays_let_in(number):
    seen, hidden = number.takes(said(), said(number=""),
                                allowed_users=(NUMBER,))

    assert seen.sender == hidden.sender == USER_ID


def test_a_number_that_changed_hands_lets_nobody_else_in(number):
    found = number.takes(said(), said(user_id="DE.77"),
                         allowed_users=(NUMBER,))

    assert [m.sender for m in found] == [USER_ID]
    assert number.logged("name.rejected")[0]["holder"] == USER_ID


def moved(**system):
    return {"messages": [{"from": NUMBER[1:], "id": "wamid.s", "timestamp":
                          "1753851315", "type": "system", "system": system}]}


def test_a_new_number_carries_everything_over(number):
    later = said(number="+4915100000000", user_id="DE.2", id="wamid.2")
    found = number.takes(
        said(), moved(type="user_changed_number", wa_id="4915100000000",
                      user_id="DE.2", previous_user_id=USER_ID), later)

    assert number.carried == [(NUMBER, "+4915100000000"), (USER_ID, "DE.2")]
    assert [m.sender for m in found] == [USER_ID, "DE.2"]
    assert number.logged("person_moved")[1] == {"old": USER_ID, "new": "DE.2"}


def test_a_new_user_id_alone_carries_over_too(number):
    change = moved(type="user_changed_user_id", user_id="DE.2",
                   previous_user_id=USER_ID)
    del change["messages"][0]["from"]
    found = number.takes(said(), change, said(number="", user_id="DE.2"))

    assert number.carried == [(USER_ID, "DE.2")]
    assert [m.sender for m in found] == [USER_ID, "DE.2"]


def test_the_change_of_somebody_unknown_lets_nobody_in(number):
    found = number.takes(
        moved(type="user_changed_number", wa_id="4915100000000",
              user_id="DE.2", previous_user_id="DE.1"),
        said(number="+4915100000000", user_id="DE.2"),
        allowed_users=("DE.99",))

    assert (found, number.carried) == ([], [])


def test_the_known_vector_of_a_change_carries_the_number(number):
    number.takes(VECTORS["system"]["phone_number_change"],
                 allowed_users=("972987654321",))

    assert number.carried == [("+972987654321", "+972912345678")]


def test_a_number_that_was_given_up_lets_its_next_holder_in_no_more(number):
    change = VECTORS["system"]["phone_number_change"]
    given = {"allowed_users": ("972987654321",)}

    def from_number(text, name):
        return said(text, number=f"+{name}", user_id="", id=f"wamid.{text}")
    found = number.takes(
        from_number("a", "972987654321"), change, change,
        from_number("b", "972987654321"), from_number("c", "972912345678"),
        said("d", number="+972912345678", user_id="IL.1", id="wamid.d"),
        **given)

    assert [m.content for m in found] == ["a", "c", "d"]
    assert len(number.carried) == 1


def test_strangers_are_told_once_and_their_files_are_left(number, platform):
    media = platform.add_media(b"secret", "image/jpeg")
    assert number.takes(said(user_id="DE.5", number="+4915155555")) == []
    assert "adding DE.5 to allowed_users" in platform.answers("DE.5")[0]

    (message,) = number.takes(said(
        user_id="DE.6", number="", type="image", image={
            "id": media, "mime_type": "image/jpeg"}),
        allowed_users=("*", NUMBER))

    assert message.labels == (STRANGER,)
    assert message.attachments == ()
    assert platform.fetched == []


def test_the_code_lets_the_owner_in(number, platform):
    async def go():
        async with number.listening(allowed_users=()):
            (code,) = [line["code"] for line in number.logged("pairing")]
            for text in ("/bind 000", f"/bind {code}", "hello"):
                platform.write(text)
            await platform.until(lambda: number.inbox.messages)
    asyncio.run(go())

    assert number.remembered == [USER_ID]
    assert number.inbox.contents == ["hello"]
    assert platform.answers() == ["That code is not valid.",
                                  "You are paired."]


# webhooks

def test_a_batch_holds_messages_of_several_entries(number, platform):
    body = json.loads(wrap(
        platform.number_id, said("one", id="wamid.a"),
        {**said("two", id="wamid.b"), "statuses": [{"id": "wamid.c"}]}))
    more = json.loads(wrap(platform.number_id, said("three", id="wamid.d")))
    body["entry"] += more["entry"]

    found = number.takes(json.dumps(body).encode())

    assert [m.content for m in found] == ["one", "two", "three"]


def test_another_numbers_messages_are_ignored(number):
    found = number.takes(wrap("999", said()), wrap("999", said()))

    assert found == []
    assert number.logged("other_number_ignored") == [
        {"phone_number_id": "999"}]


def test_groups_are_left_alone_and_it_is_logged(number):
    assert number.takes(said(group_id="g1")) == []
    assert number.logged("group_ignored") == [{"group": "g1"}]


@pytest.mark.parametrize("headers", [
    {}, {"X-Hub-Signature-256": "sha256=" + "0" * 64},
    {"X-Hub-Signature-256": ""}, {"X-Hub-Signature-256": "sha256=é"}])
def test_what_is_not_signed_is_not_parsed(number, platform, headers):
    body = wrap(platform.number_id, said())
    made = replace(call(platform, body), headers=tuple(
        (name.lower(), value.encode()) for name, value in headers.items()))

    with pytest.raises(WebhookRefused) as refused:
        number.make().verify(made)

    assert refused.value.status == 401


def test_one_changed_byte_breaks_the_signature(number, platform):
    made = call(platform, wrap(platform.number_id, said()))
    number.make().verify(made)

    with pytest.raises(WebhookRefused):
        number.make().verify(replace(made, body=made.body + b" "))


def test_without_a_secret_nothing_is_taken_and_the_next_step_is_named(
        number, platform):
    channel = number.make(app_secret="")
    body = wrap(platform.number_id, said())

    with pytest.raises(WebhookRefused) as refused:
        channel.verify(WebhookCall("POST", "", tuple(
            (k.lower(), v.encode()) for k, v in sign("", body).items()),
            "", body))
    with pytest.raises(ConfigError) as missing:
        asyncio.run(channel.listen(KeepingInbox()))

    assert refused.value.status == 401
    assert missing.value.hint == \
        "claw config set channels_config.whatsapp.app_secret"


@pytest.mark.parametrize(("query", "status"), [
    ("hub.mode=subscribe&hub.verify_token={}&hub.challenge=11580", None),
    ("hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1", 403),
    ("hub.mode=subscribe&hub.challenge=1", 403),
    ("hub.mode=other&hub.verify_token={}&hub.challenge=1", 403),
    ("hub.mode=subscribe&hub.verify_token={}&hub.verify_token=x", 403),
    ("hub.mode=subscribe&hub.verify_token={}", 400),
    ("hub.mode=subscribe&hub.verify_token={}&hub.challenge=%0a<b>%00", 400),
    ("&" * 5_000, 403),
])
def test_the_handshake_answers_who_knows_the_token(number, platform, query,
                                                   status):
    made = WebhookCall("GET", query.format(platform.verify_token), (), "")

    async def go():
        channel = number.make()
        channel.verify(made)
        return (await channel.parse(made)).answer
    if status is None:
        assert asyncio.run(go()) == b"11580"
        return
    with pytest.raises(WebhookRefused) as refused:
        asyncio.run(go())
    assert refused.value.status == status


def test_without_a_verify_token_there_is_no_handshake(number):
    with pytest.raises(WebhookRefused) as refused:
        number.make(verify_token="").verify(WebhookCall(
            "GET", "hub.mode=subscribe&hub.verify_token=&hub.challenge=1",
            (), ""))

    assert refused.value.status == 404


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_no_json_object_is_refused(number, platform, body):
    with pytest.raises(WebhookRefused) as refused:
        number.takes(body)

    assert refused.value.status == 400


@pytest.mark.each("odd", [
    {"id": 7}, {"id": "wamid.x\n"}, {"id": ""}, {"type": 7}, {"text": None},
    {"text": "no object"}, {"text": {"body": 7}}, {"text": {}},
    {"timestamp": None}, {"timestamp": "soon"}, {"timestamp": -5},
    {"timestamp": "9" * 400}, {"context": "x"}, {"context": {"id": 5}},
    {"type": "image"}, {"type": "image", "image": []},
    {"type": "image", "image": {"id": 7}}, {"type": "interactive"},
    {"type": "interactive", "interactive": {"button_reply": {"id": 7}}},
    {"type": "location", "location": {"latitude": "x"}},
    {"type": "contacts", "contacts": [{"name": 7}]},
    {"type": "order", "order": {"product_items": 7}},
    {"type": "system"}, {"type": "system", "system": {"type": 7}},
    {"type": "system", "system": {"type": "user_changed_number"}},
    {"type": "edit"}, {"type": "edit", "edit": {"message": {"type": 7}}},
    {"type": "edit", "edit": {"message": {"type": "edit"}}},
    {"type": "__class__"}, {"type": "at"}, {"type": "\ud83d"},
    {"type": "x" * 100_000}, {"from": ["x"]}, {"from_user_id": {"a": 1}},
    {"group_id": []}, {"text": {"body": "half \ud83d"}},
    {"type": "unsupported", "unsupported": {"type": [[]]}},
])
def test_one_odd_message_loses_no_other(number, odd):
    value = said("odd")
    value["messages"][0] |= odd
    value["messages"] += said("good", id="wamid.2")["messages"]
    value["messages"] += [None, 7, []]
    value["statuses"] = [None, {"id": 7}, {"id": "w", "errors": 7},
                         {"id": "w", "status": "failed", "errors": ["x"]}]

    found = number.takes(value)

    assert found[-1].content == "good"
    for message in found:
        assert message.content.encode()
        assert len(message.content) < 1000


@pytest.mark.each("value", [
    {"messages": 7}, {"messages": {"a": 1}}, {"contacts": "x"},
    {"statuses": None}, {"metadata": 7}, {}, {"contacts": [{"profile": 7}]},
    {"errors": [{"code": 131000}]}])
def test_an_odd_value_is_passed_over(number, value):
    assert number.takes(value) == []


# files that do not come

def with_image(media, **fields):
    return said(type="image", image={"id": media, "mime_type": "image/png"},
                **fields)


def test_a_young_message_is_asked_for_again_for_its_files_sake(number,
                                                               platform):
    media = platform.add_media(b"x", "image/png")
    platform.fault("file", "status", None, status=500)

    with pytest.raises(WebhookRefused) as refused:
        number.takes(with_image(media))
    platform.clear_faults()
    (message,) = number.takes(with_image(media))

    assert refused.value.status == 503
    assert len(message.attachments) == 1


def test_an_old_message_is_kept_and_says_what_is_missing(number, platform):
    media = platform.add_media(b"x", "image/png")
    platform.fault("file", "status", None, status=500)

    (message,) = number.takes(with_image(
        media, timestamp=str(int(time.time()) - 3600)))

    assert message.content.startswith(
        "[Image: image.png could not be fetched: ")


def test_what_is_gone_is_not_asked_for_again(number):
    (message,) = number.takes(with_image("12345"))

    assert "could not be fetched" in message.content


def test_a_file_that_was_fetched_is_not_fetched_twice(number, platform):
    media = platform.add_media(b"x", "image/png")

    number.takes(with_image(media), with_image(media))

    assert len(platform.fetched) == 1


@pytest.mark.parametrize("url", [
    "https://evil.example/x", "https://facebook.com.evil.example/",
    "http://lookaside.fbsbx.com/x", "https://evilfbsbx.com/", "file:///x",
    "https://lookaside.fbsbx.com:444/", "//x", "https://[", ""])
def test_the_token_goes_to_metas_hosts_alone(number, platform, url,
                                             monkeypatch):
    from claw.testing.fake_whatsapp.platform import FakeWhatsapp, _json
    monkeypatch.setattr(FakeWhatsapp, "_do_url",
                        lambda self, request: _json({"url": url}))

    (message,) = number.takes(with_image("12345"))

    assert "the file is not at WhatsApp" in message.content
    assert platform.fetched == []


def test_it_hears_again_what_it_could_not_keep(number, platform):
    async def go():
        number.inbox.broken = OSError("the disk is full")
        async with number.listening():
            platform.write("hello")
            await platform.until(lambda: platform.refusals)
            number.inbox.broken = None
            await platform.until(lambda: number.inbox.messages)
    asyncio.run(go())

    assert set(platform.refusals) == {503}
    assert number.inbox.contents == ["hello"]
    assert number.inbox.heard >= 1


def test_a_status_counts_as_a_receive(number, platform):
    async def go():
        async with number.listening() as channel:
            await channel.send(SendMessage("hi", NUMBER))
            await platform.until(lambda: number.inbox.heard)
    asyncio.run(go())


def test_web_mode_is_refused_with_the_way_that_works(tmp_path):
    with pytest.raises(ConfigError) as refused:
        WhatsappChannel(WhatsappSettings(session_path="x.db"),
                        ChannelDeps(tmp_path, tmp_path))

    assert "Web" in refused.value.message
    assert "claw channel setup whatsapp" in refused.value.hint


def test_with_both_modes_set_the_cloud_api_is_used(number):
    number.make(session_path="x.db")

    assert number.logged("web_mode_ignored")
