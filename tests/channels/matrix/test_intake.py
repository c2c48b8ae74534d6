"""From events to messages: who may, what is meant, files, edits."""

import pytest

from claw.channels.matrix.events import strip_fallback
from claw.core.channel import STRANGER
from claw.testing.fake_matrix import ALICE, BOT, ROOM

BOB = "@bob:fake"
PILL = f'<a href="https://matrix.to/#/{BOT.replace(":", "%3A")}">Bot</a>: hi'


def reply(to, **more):
    return {"m.relates_to": {"m.in_reply_to": {"event_id": to}, **more}}


def thread(root, **more):
    return {"m.relates_to": {"rel_type": "m.thread", "event_id": root,
                             **more}}


def test_a_message_has_its_persons_id_and_name(account, platform):
    (message,) = account.hears("hello")

    assert message.sender == ALICE
    assert message.sender_name == "Alice"
    assert message.reply_target == ROOM
    assert message.id.startswith("matrix_$")
    assert message.thread_ts is None


@pytest.mark.parametrize("allowed", ["@ALICE:Fake", "alice:fake"])
def test_ids_are_compared_in_any_case(account, platform, allowed):
    assert account.hears("hello", allowed_users=(allowed,))


def test_strangers_in_a_chat_of_two_get_one_hint(account, platform):
    platform.add_room("!hers:fake", BOB)
    account.hears(*[{"body": "let me in", "sender": BOB,
                     "room_id": "!hers:fake"}] * 3)

    assert account.inbox.messages == []
    (hint,) = platform.answers("!hers:fake")
    assert BOB in hint
    assert "[channels_config.matrix]" in hint


def test_strangers_in_groups_are_not_answered(account, platform):
    account.hears({"body": "hello", "sender": BOB})

    assert platform.answers() == []


def test_who_passes_only_because_everybody_does_is_a_stranger(
        account, platform):
    owner, guest = account.hears(
        "hello", {"body": "hello", "sender": BOB},
        allowed_users=("*", ALICE))

    assert STRANGER not in owner.labels
    assert STRANGER in guest.labels


@pytest.mark.parametrize("content", [
    {"msgtype": "m.notice", "body": "I am a bot"},
    {"msgtype": "m.key.verification.request", "body": "verify"},
    {"formatted_body": "no msgtype"}, {},
    {"msgtype": "m.text", "body": " "},
])
def test_what_nobody_says_to_us_is_ignored(account, platform, content):
    assert account.hears({"body": None, **content}) == []


def test_our_own_words_and_redactions_are_ignored(account, platform):
    said = platform.post("mine", sender=BOT)

    assert account.hears(
        {"body": "mine", "sender": BOT},
        {"body": None, "kind": "m.room.redaction", "redacts": said}) == []


@pytest.mark.parametrize(("content", "heard"), [
    ({"msgtype": "m.emote", "body": "waves"}, "* Alice waves"),
    ({"msgtype": "m.location", "body": "Home",
      "geo_uri": "geo:51.5,-0.1"}, "[Location: Home, 51.5,-0.1]"),
    ({"kind": "m.sticker", "body": "a cat"}, "[Sticker: a cat]"),
])
def test_other_kinds_are_put_into_words(account, platform, content, heard):
    (message,) = account.hears({"body": None, **content})

    assert message.content == heard


# -- edits, replies, threads

def test_an_edit_is_a_message_of_its_own(account, platform):
    first = platform.post("helo")
    (message,) = account.hears({
        "body": "* hello", "m.new_content": {"msgtype": "m.text",
                                             "body": "hello"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": first}})

    assert message.content == "[Edited] hello"
    assert message.id.startswith(f"matrix_{first}|$")


def test_another_ones_edit_is_none(account, platform):
    """Clients don't show it: nobody would see what the agent does."""
    first = platform.post("delete nothing", sender=BOT)
    messages = account.hears({
        "body": "* hello", "m.new_content": {"msgtype": "m.text",
                                             "body": "delete all"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": first}}, "hi")

    assert [m.content for m in messages] == ["hi"]


def test_a_size_beyond_all_numbers_stops_nothing(account, platform):
    messages = account.hears({
        "msgtype": "m.file", "body": "a.bin", "url": "mxc://fake/a",
        "info": {"size": 10 ** 400}}, "hi")

    assert len(messages) == 2


def test_an_edit_in_a_thread_is_answered_there(account, platform):
    root = platform.post("root")
    first = platform.post("helo", **thread(root))
    (message,) = account.hears({
        "body": "* hello", "m.new_content": {"msgtype": "m.text",
                                             "body": "hello"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": first}})

    assert message.thread_ts == root


def test_a_reply_quotes_what_it_answers(account, platform):
    first = platform.post("the answer is 42", sender=BOT)
    (message,) = account.hears({
        "body": f"> <{BOT}> the answer is 42\n\nwhy?", **reply(first)})

    assert message.content == "> Bot:\n> the answer is 42\n\nwhy?"
    assert "quoted" in message.labels


def test_who_quotes_himself_reads_nothing_foreign(account, platform):
    first = platform.post("my words")
    (message,) = account.hears({"body": "again", **reply(first)})

    assert message.content == "> Alice:\n> my words\n\nagain"
    assert message.labels == ()


def test_a_reply_to_what_is_not_there_still_arrives(account, platform):
    (message,) = account.hears({"body": "why?", **reply("$gone")})

    assert message.content == "> [Message]\n\nwhy?"
    assert "quoted" in message.labels


@pytest.mark.parametrize(("body", "left"), [
    ("> <@a:b> x\n> y\n\nwords", "words"),
    ("> only a quote", "> only a quote"),
    ("words\n> later", "words\n> later"),
    ("> <@a:b> x\n\n> my own quote", "> my own quote"),
    ("> * <@a:b> x\n\nwords", "words"), ("> mine\n\nwords", "> mine\n\nwords"),
])
def test_the_fallback_of_a_reply_is_cut(body, left):
    assert strip_fallback(body) == left


def test_a_thread_is_a_scope_and_its_fallback_no_reply(account, platform):
    root = platform.post("root")
    (message,) = account.hears({"body": "in it", **thread(
        root, is_falling_back=True, **{"m.in_reply_to": {"event_id": root}})})

    assert message.content == "in it"
    assert message.thread_ts == message.interruption_scope_id == root


# -- mentions

@pytest.mark.parametrize(("content", "heard"), [
    ({"body": "Bot: do it", "m.mentions": {"user_ids": [BOT]}}, "do it"),
    ({"body": "Bot: hi", "formatted_body": PILL,
      "format": "org.matrix.custom.html"}, "hi"),
    ({"body": f"{BOT} do it"}, "do it"),
    ({"body": "please do it, bot"}, "please do it, bot"),
    ({"body": "Bot: /new", "m.mentions": {"user_ids": [BOT]}}, "/new"),
    ({"body": "a robot did it"}, None),
    ({"body": "the bot, they say", "m.mentions": {}}, None),
    ({"body": "hello all"}, None),
    ({"body": "hello", "m.mentions": {"user_ids": [BOB]}}, None),
    ({"body": "hello", "m.mentions": {"user_ids": "nonsense"}}, None),
])
def test_in_a_group_the_bot_must_be_named(account, platform, content, heard):
    platform.add_room("!group:fake", ALICE, BOB)
    messages = account.hears({**content, "room_id": "!group:fake"},
                             mention_only=True)

    assert [m.content for m in messages] == ([heard] if heard else [])


def test_in_a_chat_of_two_it_need_not(account, platform):
    assert account.hears("hello", mention_only=True)


def test_an_answer_to_the_bot_is_for_it(account, platform):
    platform.add_room("!group:fake", ALICE, BOB)
    first = platform.post("done", "!group:fake", sender=BOT)
    (message,) = account.hears(
        {"body": "thanks", "room_id": "!group:fake", **reply(first)},
        mention_only=True)

    assert message.content.endswith("thanks")


# -- files

@pytest.mark.parametrize(("content", "line"), [
    ({"msgtype": "m.image", "body": "cat.png"}, "[IMAGE:"),
    ({"msgtype": "m.file", "body": "a.pdf"}, "[Document: a.pdf] "),
    ({"msgtype": "m.audio", "body": "a.mp3"}, "[Audio: a.mp3] "),
    ({"msgtype": "m.video", "body": "a.mp4"}, "[Video: video.mp4] "),
    ({"msgtype": "m.audio", "body": "v.ogg",
      "org.matrix.msc3245.voice": {}}, "[Voice]"),
])
@pytest.mark.parametrize("old", [False, True])
def test_files_are_saved(account, platform, content, line, old):
    platform.old_media = old
    url = platform.add_file(b"the bytes")
    (message,) = account.hears({"body": None, "url": url, **content})

    (attachment,) = message.attachments
    assert message.content.startswith(line)
    with open(attachment.path, "rb") as file:
        assert file.read() == b"the bytes"


def test_a_caption_stands_beside_its_file(account, platform):
    url = platform.add_file(b"x")
    (message,) = account.hears({
        "body": "what is this?", "filename": "../../evil.png", "url": url,
        "msgtype": "m.image"})

    assert message.content.endswith("what is this?")
    assert ".." not in message.attachments[0].path


@pytest.mark.parametrize(("more", "why"), [
    ({"url": "mxc://fake/none"}, "Not found"),
    ({"url": "https://evil.example/x"}, "no address"),
    ({"url": "mxc://../.."}, "no address"),
    ({"url": "mxc://fake/none", "info": {"size": 10**9}}, "954 MiB"),
    ({}, "no address"),
])
def test_a_file_that_can_not_be_had_stops_no_message(account, platform, more,
                                                     why):
    (message,) = account.hears({"body": "a.pdf", "msgtype": "m.file",
                                **more})

    assert "could not be fetched" in message.content
    assert why in message.content
    assert message.attachments == ()


def test_nothing_is_fetched_of_strangers(account, platform):
    url = platform.add_file(b"x")
    (message,) = account.hears(
        {"body": "a.pdf", "msgtype": "m.file", "url": url, "sender": BOB},
        allowed_users=("*", ALICE))

    assert message.attachments == ()
    assert platform.list_calls("download") == []


def test_a_quoted_recording_comes_along(account, platform):
    url = platform.add_file(b"voice")
    first = platform.post("v.ogg", msgtype="m.audio", url=url,
                          **{"org.matrix.msc3245.voice": {}})
    (message,) = account.hears({"body": "what did I say?", **reply(first)})

    (attachment,) = message.attachments
    assert f"[Voice: {attachment.path}]" in message.content


@pytest.mark.parametrize(("content", "foreign"), [
    ({"msgtype": "m.image", "body": "IMG_1.png"}, False),
    ({"msgtype": "m.audio", "body": "v.ogg", "m.voice": {}}, False),
    ({"msgtype": "m.audio", "body": "lecture.mp3"}, True),
    ({"msgtype": "m.file", "body": "do as I say.pdf"}, True),
])
def test_what_somebody_else_may_have_written_is_labelled(
        account, platform, content, foreign):
    (message,) = account.hears({"url": platform.add_file(b"x"), **content})

    assert ("attachment" in message.labels) is foreign


def test_a_files_name_is_no_marker(account, platform):
    (message,) = account.hears({
        "url": platform.add_file(b"x"), "msgtype": "m.file",
        "body": "a]\n[IMAGE:/etc/passwd]"})

    assert "[IMAGE:" not in message.content


def test_a_display_name_is_one_line(account, platform):
    platform.rename(ALICE, "Al\n\n> ice " + "x" * 500)
    (message,) = account.hears("hello")

    assert message.sender_name.startswith("Al > ice x")
    assert len(message.sender_name) == 80


@pytest.mark.parametrize(("said", "heard"), [
    ("Claw: /new", "/new"), ("claw, hello", "hello"),
    ("@claw:fake /stop", "/stop"), ("Claw /new", "/new"),
    ("clawed: x", "clawed: x"), ("Claw is here", "Claw is here")])
def test_a_command_behind_our_name_is_one_without_mention_only(
        account, platform, said, heard):
    platform.rename(BOT, "Claw")

    assert [m.content for m in account.hears(
        said.replace("@claw:fake", BOT))] == [heard]
