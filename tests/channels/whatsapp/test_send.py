"""What people get: parts, files, buttons, the window, and what goes
wrong."""

import asyncio
import json
import time
from pathlib import Path

import jsonschema
import pytest

from claw.core.abilities import Doubt
from claw.core.channel import Attachment, Button, SendMessage
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.testing.fake_whatsapp.platform import NUMBER, USER_ID
from claw.testing.fake_whatsapp.webhooks import build_status

from .conftest import deliver
from .test_receive import said

SCHEMAS = json.loads(
    (Path(__file__).parent / "messages.json").read_text("utf-8"))
# Later than the OpenAPI: Meta's changelog has them.
LATER = {"recipient": {"type": "string"},
         "biz_opaque_callback_data": {"type": "string", "maxLength": 512}}


@pytest.fixture(autouse=True)
def _judge(platform):
    """All that was sent is what Meta's OpenAPI describes."""
    yield
    for body in platform.sent:
        check(body)


def check(body):
    """Raises ValidationError. The parts of an allOf are closed each by
    itself there, so that nothing would fit: here the whole is closed."""
    kind = f"{body['type'].capitalize()}Message"
    whole = {"properties": {}, "required": []}
    for part in SCHEMAS[kind]["allOf"]:
        part = SCHEMAS[part["$ref"].rpartition("/")[2]] if "$ref" in part \
            else part
        whole["properties"] |= part["properties"]
        whole["required"] += [name for name in part["required"]
                              if name != "to"]
    jsonschema.validate(
        {key: value for key, value in body.items() if key != "id"},
        {"type": "object", "additionalProperties": False,
         "required": whole["required"],
         "properties": {**whole["properties"], **LATER},
         "components": {"schemas": SCHEMAS}})


def test_the_judge_refuses_what_is_wrong():
    with pytest.raises(jsonschema.ValidationError):
        check({"messaging_product": "whatsapp", "to": "1", "type": "text",
               "recipient_type": "individual", "text": {"boody": "x"}})


def test_a_text_goes_out_without_a_preview(number):
    (body,) = number.sends("**It** is _done_: `x` ~~y~~ [a](https://b.c)")

    assert body["to"] == NUMBER[1:]
    assert body["text"] == {"body": "*It* is _done_: `x` ~y~ a (https://b.c)",
                            "preview_url": False}


@pytest.mark.parametrize(("markdown", "shown"), [
    ("# Head\n\n- one\n- two", "*Head*\n\n• one\n• two"),
    ("```py\na = 1\n```", "```a = 1```"),
    ("> quoted\n> twice", "> quoted\n> twice"),
    ("***both***", "*_both_*"),
    ("2 * 3 * 4 and snake_case", "2 * 3 * 4 and snake_case"),
])
def test_markdown_becomes_whatsapps_markup(number, markdown, shown):
    (body,) = number.sends(markdown)

    assert body["text"]["body"] == shown


def test_addresses_that_may_not_be_links_are_code(number):
    (body,) = number.sends("see https://evil.example/x", links=())

    assert body["text"]["body"] == "see `https://evil.example/x`"


def test_long_answers_are_split(number, platform):
    number.sends("word " * 3000 + "👋" * 3000)

    texts = platform.answers()
    assert len(texts) > 4
    assert all(len(t.encode("utf-16-le")) // 2 <= 4096 for t in texts)
    assert sum(t.count("word") for t in texts) == 3000
    assert sum(t.count("👋") for t in texts) == 3000


def test_a_user_id_is_a_recipient(number):
    (body,) = number.sends("hi", USER_ID)

    assert body["recipient"] == USER_ID
    assert "to" not in body


@pytest.mark.parametrize("written", [
    "+49 170 1234-5678", "4917012345678", " +4917012345678 "])
def test_numbers_are_taken_as_people_write_them(number, written):
    (body,) = number.sends("hi", written)

    assert body["to"] == NUMBER[1:]


@pytest.mark.parametrize("who", ["", "mina", "US.", "+12", "group:1", "\0"])
def test_what_is_no_address_is_refused(number, who):
    with pytest.raises(RequestRefusedError) as refused:
        number.sends("hi", who)

    assert "+4917012345" in refused.value.hint


# buttons

def press(*labels):
    return tuple(Button(label, f"approve:{n}") for n, label in
                 enumerate(labels))


def test_three_choices_are_buttons(number):
    (body,) = number.sends("May I?", buttons=press(
        "Yes", "No", "Always, for as long as I live"))

    action = body["interactive"]["action"]
    assert body["interactive"]["type"] == "button"
    assert [b["reply"] for b in action["buttons"]] == [
        {"id": "approve:0", "title": "Yes"},
        {"id": "approve:1", "title": "No"},
        {"id": "approve:2", "title": "Always, for as long…"}]


def test_more_choices_are_a_list(number):
    (body,) = number.sends("Which?", buttons=press(
        *"abcd", "a label that is longer than a row may be"))

    rows = body["interactive"]["action"]["sections"][0]["rows"]
    assert body["interactive"]["type"] == "list"
    assert [row["id"] for row in rows] == [f"approve:{n}" for n in range(5)]
    assert rows[-1] == {
        "id": "approve:4", "title": "a label that is longer …",
        "description": "a label that is longer than a row may be"}


def test_buttons_stand_under_the_last_words(number):
    bodies = number.sends("word " * 1000, buttons=press("Yes", "No"))

    assert [b["type"] for b in bodies] == [
        *["text"] * (len(bodies) - 1), "interactive"]
    assert len(bodies[-1]["interactive"]["body"]["text"]) <= 1024


def test_more_than_ten_choices_are_left_out_and_logged(number):
    (body,) = number.sends("Which?", buttons=press(*"abcdefghijkl"))

    assert len(body["interactive"]["action"]["sections"][0]["rows"]) == 10
    assert number.logged("buttons_left_out") == [{"count": 2}]


# files

@pytest.mark.parametrize(("marker", "name", "kind", "extra"), [
    ("IMAGE", "a.png", "image", {}),
    ("IMAGE", "a.webp", "document", {"filename": "a.webp"}),
    ("DOCUMENT", "a.pdf", "document", {"filename": "a.pdf"}),
    ("VIDEO", "a.mp4", "video", {}),
    ("VIDEO", "a.mkv", "document", {"filename": "a.mkv"}),
    ("AUDIO", "a.mp3", "audio", {}),
    ("VOICE", "a.ogg", "audio", {"voice": True}),
    ("VOICE", "a.wav", "document", {"filename": "a.wav"}),
])
def test_files_are_uploaded_and_sent_by_id(number, platform, marker, name,
                                           kind, extra):
    (number.workspace / name).write_bytes(b"the bytes")

    text, body = number.sends(f"here:\n[{marker}:{name}]")

    media = dict(body[kind])
    content, _, shown = platform.media[media.pop("id")]
    assert (content, shown) == (b"the bytes", name)
    assert media == extra
    assert text["text"]["body"].strip() == "here:"


def test_an_attachment_alone_is_one_message(number, platform):
    path = number.workspace / "voice.ogg"
    path.write_bytes(b"spoken")

    (body,) = number.sends(attachments=(
        Attachment(str(path), "voice.ogg", "audio/ogg", 6),))

    assert body["audio"]["voice"] is True


def test_too_large_a_picture_goes_as_a_document(number, platform):
    (number.workspace / "a.png").write_bytes(b"x" * (5 * 2**20 + 1))

    (body,) = number.sends("[IMAGE:a.png]")

    assert body["type"] == "document"


@pytest.mark.parametrize("target", ["/etc/passwd", "../x", "gone.txt"])
def test_what_can_not_be_sent_is_said(number, platform, target):
    number.sends(f"it:\n[DOCUMENT:{target}]")

    (text,) = platform.answers()
    assert "can not be sent" in text


def test_a_file_that_meta_refuses_is_said(number, platform):
    (number.workspace / "a.bin").write_bytes(b"x")
    platform.fault("media", "status", status=400,
                   description="no such file type")

    number.sends("[DOCUMENT:a.bin]")

    assert "no such file type" in platform.answers()[0]


# the window of 24 hours

def hear(number, platform, *, hours_ago=0.0, **given):
    """Somebody wrote so long ago; a channel that has heard it."""
    number.takes(said(timestamp=str(int(time.time() - hours_ago * 3600))),
                 **given)


def test_inside_the_window_text_is_text(number, platform):
    hear(number, platform, hours_ago=23)

    (body,) = number.sends("hi", USER_ID, given={"template": "news"})

    assert body["type"] == "text"


def test_after_the_window_a_template_is_named_as_the_way(number, platform):
    hear(number, platform, hours_ago=25)

    with pytest.raises(RequestRefusedError) as refused:
        number.sends("hi", USER_ID)

    assert "24 hours" in refused.value.message
    assert "claw config set channels_config.whatsapp.template" in \
        refused.value.hint
    assert platform.sent == []


@pytest.mark.parametrize("hours", [25, None])
def test_after_the_window_the_template_carries_the_text(number, platform,
                                                        hours):
    if hours:
        hear(number, platform, hours_ago=hours)

    (body,) = number.sends("two\n\nlines\t" + "x" * 1000, NUMBER, given={
        "template": "claw_news", "template_language": "de"})

    template = body["template"]
    assert (template["name"], template["language"]) == (
        "claw_news", {"policy": "deterministic", "code": "de"})
    (text,) = platform.answers()
    assert text.startswith("two lines xxx")
    assert text.endswith("… (+110 characters)")


def test_a_template_carries_no_file(number, platform):
    hear(number, platform, hours_ago=25)
    (number.workspace / "a.pdf").write_bytes(b"x")

    with pytest.raises(RequestRefusedError) as refused:
        number.sends("[DOCUMENT:a.pdf]", given={"template": "news"})

    assert "carries no file" in refused.value.message


def test_a_window_that_meta_says_is_closed_gets_the_template(number,
                                                             platform):
    hear(number, platform)
    platform.closed[NUMBER] = "now"

    (body,) = number.sends("hi", given={"template": "news"})

    assert body["type"] == "template"
    assert "text" not in body


def test_a_closed_window_without_a_template_says_so(number, platform):
    platform.closed[NUMBER] = "now"

    with pytest.raises(RequestRefusedError) as refused:
        number.sends("hi")

    assert "template" in refused.value.hint


def test_a_status_that_says_so_closes_the_window(number, platform):
    platform.closed[NUMBER] = "later"

    async def go():
        async with number.listening() as channel:
            await channel.send(SendMessage("hi", NUMBER))
            await platform.until(lambda: number.logged("not_delivered"))
            with pytest.raises(RequestRefusedError):
                await channel.send(SendMessage("hi", NUMBER))
    asyncio.run(go())

    (line,) = number.logged("not_delivered")
    assert (line["code"], line["to"]) == (131047, NUMBER)
    assert "template" in line["hint"]


def test_an_old_failure_does_not_close_a_window_that_was_opened_since(
        number, platform):
    hear(number, platform)
    number.takes(build_status("failed", {"id": "w", "to": NUMBER[1:]},
                              int(time.time()) - 60, [{"code": 131047}]))

    (body,) = number.sends("hi")

    assert body["type"] == "text"


# statuses

def test_a_failed_message_is_logged_with_its_reason(number, platform):
    number.takes(build_status("failed", {"id": "wamid.x", "to": "4917"},
                              1, [{"code": 131026, "title": "no",
                                   "error_data": {"details": "Undeliverable"}
                                   }]))

    (line,) = number.logged("not_delivered")
    assert line["error"] == "Undeliverable"
    assert "no WhatsApp" in line["hint"]


def doubt_of(channel, text="hi"):
    message = SendMessage(text, NUMBER)
    (part,) = channel.parts(message)
    return Doubt(message, part)


def test_a_status_tells_a_new_process_that_it_arrived(number, platform):
    async def go():
        async with number.open() as killed:
            doubt = doubt_of(killed)
        async with number.open() as channel:
            sent = {"id": "wamid.x", "to": NUMBER[1:],
                    "biz_opaque_callback_data": doubt.part.data["key"]}
            await deliver(channel, build_status("delivered", sent, 1),
                          platform)
        async with number.open() as third:
            return await third.find_sent(doubt)

    assert asyncio.run(go()) == ("wamid.x",)


def test_a_status_that_comes_while_it_is_waited_for_counts(number, platform):
    async def go():
        async with number.open() as channel:
            doubt = doubt_of(channel)
            looking = asyncio.create_task(channel.find_sent(doubt))
            await asyncio.sleep(0.01)
            await deliver(channel, build_status("sent", {
                "id": "wamid.x", "biz_opaque_callback_data":
                doubt.part.data["key"]}, 1), platform)
            return await looking

    assert asyncio.run(go()) == ("wamid.x",)


def test_no_status_proves_nothing(number):
    async def go():
        async with number.open() as channel:
            return await channel.find_sent(doubt_of(channel))

    assert asyncio.run(go()) is None
    assert number.clock >= 1015  # it was waited for


def test_what_failed_did_not_arrive(number, platform):
    async def go():
        async with number.open() as channel:
            doubt = doubt_of(channel)
            await deliver(channel, build_status("failed", {
                "id": "wamid.x", "biz_opaque_callback_data":
                doubt.part.data["key"]}, 1), platform)
            return await channel.find_sent(doubt)

    assert asyncio.run(go()) == ()


def test_the_keys_of_lost_answers_are_bounded(number, platform):
    async def go():
        async with number.open() as channel:
            for n in range(300):
                await deliver(channel, build_status("sent", {
                    "id": f"wamid.{n}", "biz_opaque_callback_data":
                    f"{n:016x}"}, 1), platform)
    asyncio.run(go())

    assert len(number.marks.keys()) <= 201


# replies, typing, reactions

def test_an_answer_to_an_older_message_quotes_it(number, platform):
    async def go():
        async with number.open() as channel:
            for name in ("wamid.a", "wamid.b"):
                await deliver(channel, said(name, id=name), platform)
            for answers in ("whatsapp_wamid.a", "whatsapp_wamid.b", None):
                await channel.send(SendMessage("hi", USER_ID,
                                               answers=answers))
    asyncio.run(go())

    assert [b.get("context") for b in platform.sent] == [
        {"message_id": "wamid.a"}, None, None]


def test_an_answer_whose_question_is_gone_is_sent_all_the_same(number,
                                                               platform):
    platform.fault("messages", "status", 1, status=400,
                   parameters={"code": 131009})

    async def go():
        async with number.open() as channel:
            for name in ("wamid.a", "wamid.b"):
                await deliver(channel, said(name, id=name), platform)
            await channel.send(SendMessage("hi", USER_ID,
                                           answers="whatsapp_wamid.a"))
    asyncio.run(go())

    assert ["context" in b for b in platform.sent] == [False]


def test_typing_marks_the_message_as_read(number, platform):
    async def go():
        async with number.open() as channel:
            await channel.start_typing(USER_ID)  # nothing was written yet
            await deliver(channel, said(), platform)
            for _ in range(3):
                await channel.start_typing(USER_ID)
            number.clock += 25
            await channel.start_typing(USER_ID)
    asyncio.run(go())

    assert platform.signs == [{
        "messaging_product": "whatsapp", "status": "read",
        "message_id": "wamid.1", "typing_indicator": {"type": "text"}}] * 2


def test_reactions_come_and_go(number, platform):
    async def go():
        async with number.open() as channel:
            await channel.add_reaction(USER_ID, "whatsapp_wamid.1", "👀")
            await channel.remove_reaction(USER_ID, "whatsapp_wamid.1", "👀")
            await channel.add_reaction(USER_ID, "other_1", "👀")
    asyncio.run(go())

    assert [s["reaction"] for s in platform.signs] == [
        {"message_id": "wamid.1", "emoji": "👀"},
        {"message_id": "wamid.1", "emoji": ""}]


# what goes wrong

def test_a_short_limit_is_waited_out(number, platform):
    platform.fault("messages", "429", 2, retry_after=2)

    number.sends("hi")

    assert platform.answers() == ["hi"]
    assert number.clock >= 1004


def test_a_pair_limit_holds_up_one_chat_alone(number, platform):
    fault = platform.fault("messages", "status", 1, status=400,
                           parameters={"code": 131056})

    async def go():
        async with number.open() as channel:
            first = asyncio.create_task(channel.send(
                SendMessage("slow", NUMBER)))
            await platform.until(lambda: fault.struck)
            await channel.send(SendMessage("quick", USER_ID))
            await first
    asyncio.run(go())

    assert sorted(platform.answers()) == ["quick", "slow"]
    assert 1006 <= number.clock < 1009


@pytest.mark.parametrize(("status", "code", "kind", "words"), [
    (401, 190, AuthError, "access_token"),
    (403, 10, AuthError, "whatsapp_business_messaging"),
    (400, 80007, RateLimitedError, "again"),
    (400, 131048, RateLimitedError, "again"),
    (500, 131000, UnavailableError, "later"),
    (400, 131016, UnavailableError, "later"),
    (400, 131026, RequestRefusedError, "no WhatsApp"),
    (400, 131030, RequestRefusedError, "API setup"),
    (400, 33, RequestRefusedError, "phone_number_id"),
    (400, 132001, RequestRefusedError, "approved"),
])
def test_errors_name_the_next_step(number, platform, status, code, kind,
                                   words):
    platform.fault("messages", "status", None, status=status,
                   parameters={"code": code},
                   description=f"see {platform.token}")

    with pytest.raises(kind) as raised:
        number.sends("hi")

    assert type(raised.value).__mro__.index(kind) <= 1
    assert words in raised.value.hint
    assert platform.token not in str(raised.value)


def test_a_note_stands_in_front_of_every_kind(number, platform):
    for name in ("a.png", "a.mp3"):
        (number.workspace / name).write_bytes(b"x")

    async def go():
        async with number.open() as channel:
            message = SendMessage(
                "hi\n[IMAGE:a.png]\n[AUDIO:a.mp3]", NUMBER,
                buttons=press("Yes"))
            for part in channel.parts(message):
                await channel.send_part(message, channel.mark_repeated(
                    part, "(again) "))
    asyncio.run(go())

    assert platform.answers() == ["(again) hi\n", "(again) x", "(again) x"] \
        or platform.answers() == ["(again) hi", "(again) x", "(again) x"]
    assert [b["type"] for b in platform.sent] == [
        "interactive", "image", "document"]


@pytest.mark.parametrize("missing", ["phone_number_id", "access_token"])
def test_what_is_not_set_is_named(number, missing):
    with pytest.raises(ClawError) as raised:
        number.sends("hi", given={missing: ""})

    assert f"whatsapp.{missing}" in raised.value.hint


def test_a_server_that_comes_back_is_written_to_again(number, platform):
    async def go():
        async with number.open() as channel:
            await channel.send(SendMessage("one", NUMBER))
            platform.down()
            with pytest.raises(UnavailableError):
                await channel.send(SendMessage("lost", NUMBER))
            platform.up()
            await channel.send(SendMessage("two", NUMBER))
            platform.kill_connections()
            await channel.send(SendMessage("three", NUMBER))
    asyncio.run(go())

    assert platform.answers() == ["one", "two", "three"]
