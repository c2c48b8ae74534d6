"""Sending: parts, drafts, signs."""

import asyncio
import json
from itertools import pairwise

import pytest

from claw.channels.outfiles import OutFiles
from claw.core.abilities import (
    ClearsButtons,
    ClosesChannel,
    Doubt,
    FindsSent,
    MarksRepeats,
    TellsLeaving,
)
from claw.core.channel import Attachment, Button, Part, SendMessage, SendsParts
from claw.core.errors import (
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.value import replace

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


def does(bot, work, **settings):
    """Run `work(channel)` on an open channel."""
    async def go():
        async with bot.open(**settings) as channel:
            return await work(channel)
    return asyncio.run(go())


def to(content="", recipient="1001", **fields):
    return SendMessage(content, recipient, **fields)


def test_the_contracts_are_kept(bot):
    channel = bot.make()
    for contract in (SendsParts, FindsSent, MarksRepeats, TellsLeaving,
                     ClosesChannel):
        assert isinstance(channel, contract)


# -- text

def test_markdown_arrives_as_text_with_entities(platform, bot):
    message, = bot.sends("**bold** and `code`")

    assert message.text == "bold and code"
    assert [e["type"] for e in message.entities] == ["bold", "code"]
    call, = platform.list_calls("sendMessage")
    assert "parse_mode" not in call.params
    assert call.params["link_preview_options"] == {"is_disabled": True}


def test_a_long_text_arrives_whole_and_in_order(platform, bot):
    text = "\n".join(f"line {n} of many, with 🦀" for n in range(900))
    messages = bot.sends(text)

    assert len(messages) > 4
    assert all(len(m.text.encode("utf-16-le")) <= 8192 for m in messages)
    joined = "\n".join(m.text for m in messages)
    assert [n for n in range(900) if f"line {n} of" not in joined] == []
    assert all(a.message_id < b.message_id for a, b in pairwise(messages))


def test_a_blank_message_has_no_parts(bot):
    assert does(bot, _parts("  \n ")) == []


def _parts(content, **fields):
    async def work(channel):
        return channel.parts(to(content, **fields))
    return work


def test_a_topic_is_written_after_the_chat(platform, bot):
    platform.add_chat(-100500, type="supergroup", is_forum=True)
    first, second = bot.sends("a", "-100500:77") and bot.sends(
        "b", "-100500", thread_ts="78")

    assert (first.chat_id, first.thread_id) == (-100500, 77)
    assert (second.chat_id, second.thread_id) == (-100500, 78)


def test_an_answer_to_a_topic_that_is_gone_goes_to_the_chat(platform, bot):
    platform.fault("sendMessage", "status", status=400,
                   description="Bad Request: message thread not found")
    platform.add_chat(-100500, type="supergroup")
    message, = bot.sends("kept", "-100500:77")
    assert (message.text, message.thread_id) == ("kept", None)


def test_refused_entities_cost_the_format_not_the_text(platform, bot):
    platform.fault("sendMessage", "status", status=400, description=(
        "Bad Request: can't parse entities: character '.' is reserved"))
    message, = bot.sends("**bold**")
    assert (message.text, message.entities) == ("bold", ())


def test_refused_entities_make_no_link_of_what_was_code(platform, bot):
    platform.fault("sendMessage", "status", status=400, description=(
        "Bad Request: can't parse entities"))
    message, = bot.sends("**see** `https://evil.example/?s=x`")

    assert message.text == "see https://evil.example/?s=x"
    assert [(e["type"], e["offset"], e["length"])
            for e in message.entities] == [("pre", 0, len(message.text))]


@pytest.mark.parametrize("recipient", ["", "somebody", "12x", "1" * 40,
                                       "１２", "--5"])
def test_what_is_no_chat_is_refused_before_any_call(platform, bot,
                                                    recipient):
    with pytest.raises(RequestRefusedError, match="no Telegram chat"):
        bot.sends("hi", recipient)
    assert platform.calls == []


def test_a_group_that_became_a_supergroup_is_followed(platform, bot):
    platform.add_chat(-5, type="group")
    platform.add_chat(-1005, type="supergroup")
    platform.fault("sendMessage", "status", status=400,
                   description="Bad Request: group chat was upgraded to a "
                               "supergroup chat",
                   parameters={"migrate_to_chat_id": -1005})

    async def work(channel):
        await channel.send(to("one", "-5"))
        await channel.send(to("two", "-5"))
    does(bot, work)

    assert platform.answers(-1005) == ["one", "two"]


def test_a_chat_that_blocked_the_bot_is_a_refusal(platform, bot):
    platform.fault("sendMessage", "status", status=403)
    with pytest.raises(RequestRefusedError, match="blocked") as caught:
        bot.sends("hi")
    assert caught.value.status == 403


# -- buttons

def test_buttons_stand_under_the_last_text(platform, bot):
    messages = bot.sends("x" * 5000, buttons=(
        Button("Yes", "approve:1"), Button("No", "deny:1")))

    assert messages[0].reply_markup is None
    rows = messages[-1].reply_markup["inline_keyboard"]
    assert [[b["callback_data"] for b in row] for row in rows] == [
        ["approve:1"], ["deny:1"]]


def test_a_button_that_cannot_be_is_left_out_and_told(platform, bot):
    message, = bot.sends("choose", buttons=(
        Button("Long", "한" * 22), Button("Good", "한" * 21)))

    row, = message.reply_markup["inline_keyboard"]
    assert row[0]["text"] == "Good"
    assert bot.logged("button_left_out")[0]["label"] == "Long"


# -- one that may have come before

def marked(bot, content, **fields):
    """Send each part of a message as a repetition."""
    async def work(channel):
        message = to(content, **fields)
        for part in channel.parts(message):
            await channel.send_part(message, channel.mark_repeated(
                part, "(possibly repeated) "))
    does(bot, work)


def test_a_repeated_text_says_so_and_keeps_its_format(platform, bot):
    marked(bot, "**bold** and `code`")

    message, = platform.messages()
    assert message.text == "(possibly repeated) bold and code"
    assert [(e["type"], e["offset"]) for e in message.entities] == [
        ("bold", 20), ("code", 29)]


def test_each_repeated_piece_of_a_long_text_still_fits(platform, bot):
    marked(bot, "🦀 word " * 3_000)

    texts = [m.text for m in platform.messages()]
    assert len(texts) > 5
    assert all(t.startswith("(possibly repeated) ") for t in texts)
    assert sum(t.count("🦀") for t in texts) == 3_000


def test_a_repeated_file_says_so(platform, bot):
    """It came twice, and nothing told."""
    (bot.workspace / "a.txt").write_text("a")
    (bot.workspace / "v.ogg").write_bytes(b"OggS")
    marked(bot, "[DOCUMENT:a.txt]\n[VOICE:v.ogg]\n"
                "[DOCUMENT:https://x.example/b.pdf]")
    platform.fault("sendDocument", "status", status=400)
    marked(bot, "[DOCUMENT:https://x.example/c.pdf]")

    assert [m.text for m in platform.messages()] == [
        "(possibly repeated)"] * 3 + [
        "(possibly repeated) Document: https://x.example/c.pdf"]


def test_a_caption_stays_behind_the_note_and_fits(bot):
    part = Part("voice", "v", {"path": "v", "caption": "🦀" * 600})
    caption = bot.make().mark_repeated(part, "(again) ").data["caption"]

    assert caption.startswith("(again) 🦀")
    assert len(caption.encode("utf-16-le")) // 2 == 1024


def test_a_text_of_an_older_version_without_room_is_sent_whole(
        platform, bot):
    text = "x" * 4096

    async def work(channel):
        await channel.send_part(to(), channel.mark_repeated(
            Part("text", text, {"text": text}), "(again) "))
    does(bot, work)
    assert [m.text for m in platform.messages()] == ["(again)", text]


# -- looking for what was sent

GROUP, OTHER, SUPER = -77, 2002, -1001234567890


def looks(bot, doubt):
    return does(bot, lambda channel: channel.find_sent(doubt))


def doubt_of(recipient, *before, **known):
    part = Part("text", "x", {"text": "x"})
    return Doubt(to("x", recipient), part, before, **known)


@pytest.mark.parametrize("chat", [1001, GROUP, SUPER])
def test_what_arrived_is_found_by_its_id(platform, bot, chat):
    """Ids of other chats lie between; they are known, or not ours."""
    for number in (GROUP, OTHER, SUPER):
        platform.add_chat(number)
    asked = platform.post("hi", chat_id=chat, user_id=1001) and max(
        n for c, n in platform._world.messages if c == chat)
    platform.post("between", chat_id=OTHER)
    other, = bot.sends("to another", str(OTHER))
    platform.post("stranger", chat_id=3003)
    mine = [m for m in bot.sends("x", str(chat)) if m.chat_id == chat][-1]

    found = looks(bot, doubt_of(
        str(chat), ("", f"telegram_{chat}_{asked}"),
        owned=((str(OTHER), str(other.message_id)),)))

    assert found == (str(mine.message_id),)
    assert {m.edits for m in platform.messages()} == {0}


def test_what_never_arrived_is_not_seen(platform, bot):
    first, = bot.sends("one")
    platform.post("a person's", chat_id=1001)

    assert looks(bot, doubt_of("1001", ("1001", str(
        first.message_id)))) == ()
    assert len(platform.list_calls("editMessageReplyMarkup")) == 20


def test_two_that_it_can_be_are_no_answer(platform, bot):
    first, _, _ = [bot.sends("x")[-1] for _ in range(3)]
    assert len(looks(bot, doubt_of("1001", (
        "1001", str(first.message_id))))) == 2


@pytest.mark.parametrize("why", [
    "buttons", "no id before", "another in doubt", "no number"])
def test_what_can_not_be_told_asks_nothing(platform, bot, why):
    before = ("1001", "1")
    doubt = {
        "buttons": lambda: replace(doubt_of("1001", before), part=Part(
            "text", "x", {"text": "x", "keyboard": {}})),
        "no id before": lambda: doubt_of("1001"),
        "another in doubt": lambda: doubt_of(
            "1001", before, unsure=(("1001:7", ""),)),
        "no number": lambda: doubt_of("@channel", before)}[why]()

    assert looks(bot, doubt) is None
    assert platform.calls == []


def test_one_in_doubt_before_is_no_hindrance(platform, bot):
    bot.sends("twice")
    second, third = bot.sends("twice")[-1], bot.sends("x")[-1]
    place = "1001", str(second.message_id)
    assert looks(bot, doubt_of("1001", place, unsure=(place,))) == (
        str(third.message_id),)


@pytest.mark.parametrize("fault", [
    {"kind": "status", "status": 404}, {"kind": "status", "status": 403},
    {"kind": "status", "status": 400, "description": "Bad Request: what?"}])
def test_a_server_that_says_nothing_is_no_answer(platform, bot, fault):
    first, _ = [bot.sends("x")[-1] for _ in range(2)]
    platform.fault("editMessageReplyMarkup", fault.pop("kind"), **fault)
    assert looks(bot, doubt_of("1001", (
        "1001", str(first.message_id)))) is None


@pytest.mark.parametrize(("kind", "error"), [
    ("429", RateLimitedError), ("reset", UnavailableError)])
def test_an_error_on_the_way_is_no_answer(platform, bot, kind, error):
    first, _ = [bot.sends("x")[-1] for _ in range(2)]
    platform.fault("editMessageReplyMarkup", kind, retry_after=60)
    with pytest.raises(error):
        looks(bot, doubt_of("1001", ("1001", str(first.message_id))))


def test_a_call_tells_that_it_leaves_once_it_really_does(platform, bot):
    told = []

    async def work(channel):
        message = to("hi")
        part, = channel.parts(message)
        await channel.send_part_telling(message, part, lambda: told.append(
            len(platform.calls)))
        with pytest.raises(RequestRefusedError):
            await channel.send_part_telling(
                to("hi", "nobody"), part, lambda: told.append("never"))
    does(bot, work)
    assert told == [0]


def test_a_part_survives_the_way_through_json(platform, bot):

    async def work(channel):
        message = to("**a**", buttons=(Button("B", "b"),))
        part, = channel.parts(message)
        again = Part(part.kind, part.text, json.loads(json.dumps(
            dict(part.data))))
        return await channel.send_part(message, again)
    number = does(bot, work)

    message, = platform.messages()
    assert number == str(message.message_id)
    assert (message.text, len(message.entities)) == ("a", 1)


@pytest.mark.parametrize("kind", ["reset", "half", "html", "status"])
def test_a_send_that_got_no_answer_is_unavailable(platform, bot, kind):
    platform.fault("sendMessage", kind)
    with pytest.raises(UnavailableError) as caught:
        bot.sends("hi")
    assert platform.token not in f"{caught.value}{caught.value.hint}"


# -- rate limits

def test_buttons_can_be_taken_from_a_message_more_than_once(platform, bot):
    shown, = bot.sends("Allow it?", buttons=(Button("Yes", "approve:1"),))

    async def go():
        async with bot.open() as channel:
            assert isinstance(channel, ClearsButtons)
            for _ in range(2):
                await channel.clear_buttons("1001", str(shown.message_id))
            with pytest.raises(RequestRefusedError):
                await channel.clear_buttons("1001", "999")
    asyncio.run(go())

    found, = platform.messages()
    assert (found.text, found.reply_markup) == ("Allow it?", None)


@pytest.mark.parametrize("sign", ["sendChatAction", "setMessageReaction"])
def test_an_answer_does_not_wait_for_the_limit_of_a_reaction(platform, bot,
                                                             sign):
    platform.fault(sign, "429", times=None, retry_after=60)
    number = platform.post("hello")
    message = f"telegram_1001_{number}"

    async def go():
        async with bot.open() as channel:
            for _ in range(2):
                await channel.start_typing("1001")
                await channel.add_reaction("1001", message, "👀")
            await channel.send(SendMessage("the answer", "1001"))
    asyncio.run(go())

    assert platform.answers() == ["the answer"]
    assert bot.slept == []
    assert len(platform.list_calls(sign)) == 1  # it is quiet itself


def test_a_short_limit_is_waited_out(platform, bot):
    platform.fault("sendMessage", "429", retry_after=2)
    message, = bot.sends("patience")
    assert message.text == "patience"
    assert bot.slept == [2.0]


def test_a_long_limit_is_put_off_by_the_caller(platform, bot):
    platform.fault("sendMessage", "429", retry_after=60)

    async def work(channel):
        with pytest.raises(RateLimitedError) as first:
            await channel.send(to("a"))
        bot.now += 10
        with pytest.raises(RateLimitedError) as second:
            await channel.send(to("a"))
        platform.add_chat(1002)
        await channel.send(to("others go on", "1002"))
        bot.now += 51
        await channel.send(to("a"))
        return first.value.retry_after_s, second.value.retry_after_s
    waits = does(bot, work)

    assert waits == (60.0, 50.0)
    assert len(platform.list_calls("sendMessage")) == 3
    assert platform.answers() == ["others go on", "a"]


def test_limits_in_two_chats_close_the_bot(platform, bot):
    platform.fault("sendMessage", "429", times=2, retry_after=60)
    for chat in (1002, 1003):
        platform.add_chat(chat)

    async def work(channel):
        for chat in ("1001", "1002", "1003"):
            with pytest.raises(RateLimitedError):
                await channel.send(to("a", chat))
    does(bot, work)
    assert len(platform.list_calls("sendMessage")) == 2


def test_signs_are_dropped_by_a_closed_gate(platform, bot):
    async def work(channel):
        platform.fault("sendMessage", "429", retry_after=30)
        for _ in range(2):
            with pytest.raises(RateLimitedError):
                await channel.send(to("x"))
        await channel.send_draft(to("x"))
        await channel.start_typing("1001")
        await channel.add_reaction("1001", "telegram_1001_1", "👀")
    does(bot, work)

    assert len(platform.list_calls("sendMessage")) == 1
    assert platform.list_calls("sendChatAction") == []
    assert platform.list_calls("setMessageReaction") == []


# -- signs

def test_typing_in_a_topic_names_chat_and_topic(platform, bot):
    platform.add_chat(-100500, type="supergroup")

    async def work(channel):
        await channel.start_typing("-100500:7")
        await channel.start_typing("1001")
        await channel.stop_typing("1001")
    does(bot, work)

    assert [c.params for c in platform.list_calls("sendChatAction")] == [
        {"chat_id": -100500, "message_thread_id": 7, "action": "typing"},
        {"chat_id": 1001, "action": "typing"}]


def test_a_failed_sign_is_logged_once_and_no_error(platform, bot):
    platform.fault("sendChatAction", "status", times=3, status=400)

    async def work(channel):
        for _ in range(3):
            await channel.start_typing("1001")
    does(bot, work)
    assert len(bot.logged("telegram_call_failed")) == 1


@pytest.mark.parametrize(("emoji", "shown"), [
    ("👀", ["👀"]), ("✅", ["👍"]), ("⚠️", ["🤔"]), ("❤️", ["❤"]),
    ("🧀", []),
])
def test_reactions_fall_back_to_what_a_bot_may(platform, bot, emoji, shown):
    message, = bot.hears("hi")

    async def work(channel):
        await channel.add_reaction("1001", message.id, emoji)
    does(bot, work)

    number = int(message.id.rpartition("_")[2])
    assert platform.reactions(number) == shown


def test_a_reaction_that_a_chat_forbids_does_not_leave_the_last(platform,
                                                                bot):
    message, = bot.hears("hi")

    async def work(channel):
        await channel.add_reaction("1001", message.id, "👀")
        platform.fault("setMessageReaction", "status", status=400,
                       description="Bad Request: REACTION_INVALID")
        await channel.add_reaction("1001", message.id, "✅")
    does(bot, work)
    assert platform.reactions(int(message.id.rpartition("_")[2])) == []


def test_a_reaction_goes_away_again(platform, bot):
    message, = bot.hears("hi")

    async def work(channel):
        await channel.add_reaction("1001", message.id, "👀")
        await channel.remove_reaction("1001", message.id, "👀")
    does(bot, work)
    assert platform.reactions(int(message.id.rpartition("_")[2])) == []


@pytest.mark.parametrize("foreign", ["telegram_cb_123", "discord_5", "5", "",
                                     "telegram_x_y"])
def test_ids_of_another_kind_get_no_reaction(platform, bot, foreign):
    async def work(channel):
        await channel.add_reaction("1001", foreign, "👀")
    does(bot, work)
    assert platform.calls == []


# -- files

def test_files_follow_the_text(platform, bot):
    (bot.workspace / "a.png").write_bytes(PNG)
    (bot.workspace / "notes.txt").write_text("hello")
    text, photo, document = bot.sends(
        "See: [IMAGE:/workspace/a.png]\n[DOCUMENT:notes.txt]")

    assert text.text.strip() == "See:"
    assert (photo.method, document.method) == ("sendPhoto", "sendDocument")
    assert platform.file(document.file_id) == b"hello"
    assert platform.file(photo.file_id) == PNG


def test_attachments_go_by_their_kind(platform, bot):
    found = []
    for name, mime in (("a.jpg", "image/jpeg"), ("v.ogg", "audio/ogg"),
                       ("m.mp3", "audio/mpeg"), ("f.mp4", "video/mp4"),
                       ("d.pdf", "application/pdf"), ("x.png", None)):
        path = bot.workspace / name
        path.write_bytes(b"data of " + name.encode())
        found.append(Attachment(str(path), name, mime))
    messages = bot.sends(attachments=tuple(found))

    assert [m.method for m in messages] == [
        "sendPhoto", "sendVoice", "sendAudio", "sendVideo", "sendDocument",
        "sendPhoto"]


def test_a_message_that_is_only_a_path_is_that_file(platform, bot):
    path = bot.workspace / "report.pdf"
    path.write_bytes(b"%PDF")
    message, = bot.sends(str(path))
    assert message.method == "sendDocument"

    text = bot.sends("/nowhere/report.pdf")[-1]
    assert text.text == "/nowhere/report.pdf"


@pytest.mark.parametrize("target", [
    "/etc/passwd", "../secret.txt", "/workspace/../secret.txt", "link.txt",
    "linked/secret.txt", "missing.txt", ".", "a\0b"])
def test_a_file_from_elsewhere_is_not_sent_but_told(platform, bot, target):
    outside = bot.workspace.parent / "secret.txt"
    outside.write_text("secret")
    (bot.workspace / "link.txt").symlink_to(outside)
    (bot.workspace / "linked").symlink_to(bot.workspace.parent)

    async def work(channel):
        return channel.parts(to("", attachments=(
            Attachment(target, "f.txt"),)))
    part, = does(bot, work)

    assert part.kind == "text"
    assert "can not be sent" in part.text


def test_a_received_file_goes_back_to_its_own_chat_only(platform, bot):
    bot.files.mkdir()
    theirs = bot.files / "telegram_1002_5_photo.jpg"
    theirs.write_bytes(b"private")
    (bot.workspace / "link.jpg").symlink_to(theirs)
    platform.add_chat(1002)

    for target in (theirs, "link.jpg", "./link.jpg"):
        told, = bot.sends(f"[IMAGE:{target}]")[-1:]
        assert "can not be sent: it was sent in another chat" in told.text
    told = bot.sends(str(theirs))[-1]
    assert "can not be sent" in told.text
    assert platform.list_calls("sendPhoto") == []

    async def work(channel):
        return channel.parts(SendMessage(f"[IMAGE:{theirs}]", "1002:7"))
    part, = does(bot, work)
    assert part.kind == "photo"


def test_what_claw_keeps_for_itself_is_not_sent(platform, bot):
    own = bot.workspace / "state" / "queue.db"
    own.parent.mkdir()
    own.write_bytes(b"SQLite")
    (bot.workspace / "link.db").symlink_to(own)
    bot.deps = replace(bot.deps, may_send=lambda real: real != own)

    for target in ("state/queue.db", "link.db", str(own)):
        told = bot.sends(f"[DOCUMENT:{target}]")[-1]
        assert "can not be sent: it is not for sending" in told.text
    assert platform.list_calls("sendDocument") == []


def test_a_file_is_judged_again_when_it_is_opened(platform, bot):
    outside = bot.workspace.parent / "secret.txt"
    outside.write_text("top secret")
    path = bot.workspace / "fine.txt"
    path.write_text("fine")

    async def work(channel):
        message = to("", attachments=(Attachment(str(path), "fine.txt"),))
        part, = channel.parts(message)
        path.unlink()
        path.symlink_to(outside)
        await channel.send_part(message, part)
        path.unlink()
        await channel.send_part(message, part)
    does(bot, work)

    assert platform.list_calls("sendDocument") == []
    assert all("can not be sent" in text for text in platform.answers())
    assert len(platform.answers()) == 2


def test_a_folder_swapped_while_a_file_is_opened_gives_nothing_away(
        platform, bot, monkeypatch):
    outside = bot.workspace.parent / "outside"
    outside.mkdir()
    (outside / "fine.txt").write_text("top secret")
    folder = bot.workspace / "folder"
    folder.mkdir()
    (folder / "fine.txt").write_text("fine")
    split = OutFiles._split

    def split_and_swap(self, target):
        found = split(self, target)
        if folder.is_dir() and not folder.is_symlink() and swap:
            folder.rename(bot.workspace / "moved")
            folder.symlink_to(outside)
        return found
    swap = []
    monkeypatch.setattr(OutFiles, "_split", split_and_swap)

    async def work(channel):
        message = to("[DOCUMENT:folder/fine.txt]")
        part, = channel.parts(message)
        swap.append(True)
        await channel.send_part(message, part)
    does(bot, work)

    assert folder.is_symlink()
    assert platform.list_calls("sendDocument") == []
    assert "can not be sent" in platform.answers()[0]


def test_a_photo_that_is_refused_goes_as_a_document(platform, bot):
    (bot.workspace / "a.png").write_bytes(PNG)
    platform.fault("sendPhoto", "status", status=400,
                   description="Bad Request: PHOTO_INVALID_DIMENSIONS")
    message, = bot.sends("[IMAGE:a.png]")
    assert message.method == "sendDocument"
    assert platform.file(message.file_id) == PNG


def test_an_address_is_fetched_by_telegram_or_written_out(platform, bot):
    platform.fault("sendPhoto", "status", status=400, description=(
        "Bad Request: failed to get HTTP URL content"))
    message, = bot.sends("[IMAGE:https://example.com/a.png]")

    call, = platform.list_calls("sendPhoto")
    assert call.params["photo"] == "https://example.com/a.png"
    assert message.text == "Photo: https://example.com/a.png"


def test_a_received_file_can_be_sent_back(platform, bot):
    bot.files.mkdir()
    path = bot.files / "telegram_1_2_a.txt"
    path.write_text("back")
    message, = bot.sends(attachments=(Attachment(str(path), "a.txt"),))
    assert platform.file(message.file_id) == b"back"


def test_buttons_without_text_stand_under_the_file(platform, bot):
    (bot.workspace / "a.png").write_bytes(PNG)
    message, = bot.sends("[IMAGE:a.png]", buttons=(Button("Ok", "ok"),))
    assert message.reply_markup["inline_keyboard"][0][0]["text"] == "Ok"
