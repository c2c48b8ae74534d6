"""Sending: parts, keys, threads, files, drafts, reactions, addresses."""

import asyncio
import json

import pytest

from claw.channels.matrix.channel import KEY_HOLDS_S
from claw.channels.matrix.rooms import parse_recipient
from claw.core.abilities import Doubt
from claw.core.channel import Attachment, SendMessage
from claw.core.errors import (
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.testing.contracts.stage import until
from claw.testing.fake_matrix import ALICE, BOT, ROOM

BOB = "@bob:fake"


@pytest.mark.parametrize(("markdown", "html"), [
    ("**bold** *it* ~~no~~ `co<de`",
     "<strong>bold</strong> <em>it</em> <del>no</del> "
     "<code>co&lt;de</code>"),
    ("**b <i>** & x", "<strong>b &lt;i&gt;</strong> &amp; x"),
    ("# Head\ntext", "<strong>Head</strong><br>text"),
    ("```python\nif a < b:\n    pass\n```\nafter",
     '<pre><code class="language-python">if a &lt; b:\n    pass'
     "</code></pre>after"),
    ("> quoted\n> *two*\n\nafter",
     "<blockquote>quoted<br><em>two</em></blockquote><br>after"),
    ('[x](https://a.example/?q="1"&b)',
     '<a href="https://a.example/?q=&quot;1&quot;&amp;b">x</a>'),
])
def test_formats_are_html_and_nothing_else_is(account, platform, markdown,
                                              html):
    (content,) = account.sends(markdown)

    assert content["formatted_body"] == html
    assert content["format"] == "org.matrix.custom.html"


def test_plain_text_has_no_html_and_mentions_nobody(account, platform):
    (content,) = account.sends("5 < 6 @room")

    assert content["body"] == "5 < 6 @room"
    assert "formatted_body" not in content
    assert content["m.mentions"] == {}
    assert content["com.beeper.linkpreviews"] == []


@pytest.mark.parametrize("text", [
    "x" * 200_000, "&" * 60_000, "👋" * 30_000, '"' * 50_000,
    "**b** `c` " * 9_000, "안녕 " * 30_000])
def test_no_event_is_larger_than_64_kib(account, platform, text):
    sent = account.sends(text)

    for content in sent:
        # encrypted it is a third larger
        assert len(json.dumps(content, ensure_ascii=False).encode()
                   ) * 4 / 3 < 64_000
    assert len(sent) <= 3 + max(len(text.encode()) // 6_000,
                                text.count("**") // 80)


def test_what_may_not_be_a_link_is_code(account, platform):
    (content,) = account.sends(
        "see https://evil.example/a and https://good.example/b",
        links=("https://good.example/b",))

    assert "<code>https://evil.example/a</code>" in content["formatted_body"]
    assert "<code>https://good" not in content["formatted_body"]


def test_an_answer_stands_in_its_thread(account, platform):
    root = platform.post("root")
    (content,) = account.sends("hi", thread_ts=root)

    assert content["m.relates_to"] == {
        "rel_type": "m.thread", "event_id": root, "is_falling_back": True,
        "m.in_reply_to": {"event_id": root}}


# -- one answer

def test_the_same_part_twice_is_one_event(account, platform):
    async def work(channel):
        message = SendMessage("hello", ROOM)
        (part,) = channel.parts(message)
        return [await channel.send_part(message, part) for _ in range(2)]

    first, second = account.does(work)

    assert first == second
    assert platform.answers() == ["hello"]


@pytest.mark.parametrize("tells", [True, False])
def test_past_the_keys_time_history_tells(account, platform, tells):
    """Also where the server does not say whose key it was."""
    async def work(channel):
        message = SendMessage("hello", ROOM)
        (part,) = channel.parts(message)
        (other,) = channel.parts(message)
        doubt, never = (Doubt(message, one) for one in (part, other))
        sent = await channel.send_part(message, part)
        platform.forget_keys()
        if not tells:
            del platform.sends()[0][1]["unsigned"]["transaction_id"]
        for n in range(250):
            platform.post(f"n{n}")
        return sent, await channel.find_sent(doubt), \
            await channel.find_sent(never)

    sent, found, absent = account.does(work)

    assert found == (sent,)
    assert absent == ()
    assert platform.answers() == ["hello"]


def test_keys_are_trusted_for_less_than_any_server_keeps_them():
    assert 0 < KEY_HOLDS_S < 30 * 60


def test_a_failing_look_is_no_answer(account, platform):
    async def work(channel):
        message = SendMessage("hello", ROOM)
        (part,) = channel.parts(message)
        platform.fault("messages", "status", None)
        await channel.find_sent(Doubt(message, part))

    with pytest.raises(UnavailableError):
        account.does(work)


def test_leaving_is_told_of_the_event_not_of_the_upload(account, platform):
    (account.workspace / "a.txt").write_text("it")
    left = []

    async def work(channel):
        message = SendMessage("[DOCUMENT:a.txt]", ROOM)
        (part,) = channel.parts(message)
        platform.fault("upload", "reset", 1)
        for _ in range(2):
            try:
                await channel.send_part_telling(
                    message, part, lambda: left.append(len(platform.calls)))
            except UnavailableError:
                assert left == []

    account.does(work)

    assert len(left) == 1


# -- files

@pytest.mark.parametrize(("marker", "name", "msgtype"), [
    ("IMAGE", "a.png", "m.image"), ("DOCUMENT", "a.pdf", "m.file"),
    ("VIDEO", "a.mp4", "m.video"), ("AUDIO", "a.mp3", "m.audio"),
    ("VOICE", "a.ogg", "m.audio")])
def test_files_of_an_answer_are_uploaded(account, platform, marker, name,
                                         msgtype):
    (account.workspace / name).write_bytes(b"bytes")
    text, file = account.sends(f"Here:\n[{marker}:{name}]")

    assert text["body"] == "Here:"
    assert file["msgtype"] == msgtype
    assert file["filename"] == file["body"] == name
    assert file["info"]["size"] == 5
    assert platform.file(file["url"]) == b"bytes"
    assert ("org.matrix.msc3245.voice" in file) == (marker == "VOICE")


def test_attachments_are_sent_and_what_lies_outside_is_not(
        account, platform, tmp_path):
    (account.workspace / "in.txt").write_text("in")
    (tmp_path / "out.txt").write_text("out")
    contents = account.sends("x", attachments=(
        Attachment(str(account.workspace / "in.txt"), "in.txt"),
        Attachment(str(tmp_path / "out.txt"), "out.txt")))

    assert [c["msgtype"] for c in contents] == ["m.text", "m.file", "m.text"]
    assert "out.txt can not be sent" in contents[2]["body"]


def test_a_file_that_the_server_refuses_is_said(account, platform):
    (account.workspace / "a.txt").write_text("it")
    platform.fault("upload", "status", None, status=413, parameters={
        "errcode": "M_TOO_LARGE"})
    (content,) = account.sends("[DOCUMENT:a.txt]")

    assert content["msgtype"] == "m.text"
    assert "can not be sent" in content["body"]


# -- limits and refusals

def test_a_short_limit_is_waited_for(account, platform):
    platform.fault("send", "429", 1, retry_after=2)

    assert account.sends("hello")
    assert 2.0 in account.slept


def test_a_long_limit_of_a_room_holds_up_no_other(account, platform):
    platform.add_room("!other:fake", ALICE)

    async def work(channel):
        platform.fault("send", "429", 1, retry_after=60)
        with pytest.raises(RateLimitedError) as caught:
            await channel.send(SendMessage("one", ROOM))
        assert caught.value.retry_after_s == 60
        await channel.send(SendMessage("two", "!other:fake"))
        with pytest.raises(RateLimitedError):
            await channel.send(SendMessage("three", ROOM))

    account.does(work)

    assert platform.answers() == ["two"]


def test_a_room_that_is_not_ours_refuses_plainly(account, platform):
    platform.add_room("!hers:fake", BOB, bot=False)

    with pytest.raises(RequestRefusedError, match="M_FORBIDDEN"):
        account.sends("hello", "!hers:fake")


# -- addresses

@pytest.mark.parametrize(("recipient", "found"), [
    ("!a:b", "!a:b"), ("!v12", "!v12"), (" #a:b ", "#a:b"),
    ("@a:b", "@a:b"), ("@a:b||!c:d", "!c:d"), ("", "!default")])
def test_addresses(recipient, found):
    assert parse_recipient(recipient, "!default") == found


@pytest.mark.parametrize("recipient", [
    "alice", "!", "@alice", "#room", "12", "!a\nb", "!" + "x" * 300])
def test_what_is_no_address_is_refused(recipient):
    with pytest.raises(RequestRefusedError, match="no room of Matrix"):
        parse_recipient(recipient)


def test_a_person_is_written_to_in_the_room_of_two(account, platform):
    account.sends("hello", ALICE)

    assert platform.answers(ROOM) == ["hello"]


def test_a_room_is_made_for_a_new_person_once(account, platform):
    account.sends("one", BOB)
    account.sends("two", BOB)

    rooms = [room for room, _ in platform.sends()]
    assert len({*rooms}) == 1
    assert platform.world.account_data[BOT, "m.direct"] == {BOB: [rooms[0]]}
    assert platform.answers(rooms[0]) == ["one", "two"]


def test_who_has_left_gets_a_new_room(account, platform):
    async def work():
        async with account.listening() as channel:
            await channel.send(SendMessage("one", ALICE))
            platform.world.enter(platform.world.room(ROOM), ALICE, "leave")
            await account.settle()
            await channel.send(SendMessage("two", ALICE))

    asyncio.run(work())
    first, second = platform.sends()

    assert first[0] == ROOM
    assert second[0] != ROOM


def test_a_stranger_who_invites_the_owner_and_leaves_reads_nothing(
        account, platform):
    platform.add_room("!trap:fake", BOB)
    room = platform.world.room("!trap:fake")
    platform.world.enter(room, "@carol:fake", "invite", BOB)
    platform.world.enter(room, BOB, "leave")

    account.sends("a secret", "@carol:fake")
    account.sends("another", "@carol:fake")

    assert platform.answers("!trap:fake") == []
    assert len({room for room, _ in platform.sends()}) == 1


def test_an_alias_is_looked_up(account, platform):
    platform.add_alias("#lobby:fake", ROOM)
    account.sends("hello", "#lobby:fake")

    assert platform.answers(ROOM) == ["hello"]


# -- drafts and signs

def test_a_draft_is_a_notice_that_goes(account, platform):
    seen = []

    async def work(channel):
        draft = await channel.send_draft(SendMessage("thinking", ROOM))
        seen.append(platform.messages()[0]["msgtype"])
        await channel.update_draft(ROOM, draft, "too soon")
        account.now += 6
        await channel.update_draft(ROOM, draft, "thinking hard")
        await channel.cancel_draft(ROOM, draft)
        await channel.cancel_draft(ROOM, draft)

    account.does(work, stream_mode="partial")
    edits = [event["content"]["m.new_content"]["body"]
             for _, event in platform.sends()
             if "m.new_content" in event["content"]]

    assert seen == ["m.notice"]
    assert edits == ["thinking hard"]
    assert [m for m in platform.messages() if "m.new_content" not in m] == []


def test_a_draft_has_no_links(account, platform):
    account.does(lambda channel: channel.send_draft(SendMessage(
        "see https://evil.example/?secret", ROOM)), stream_mode="partial")
    (content,) = platform.messages()

    assert "<code>https://evil.example/?secret</code>" \
        in content["formatted_body"]


def test_a_limit_stops_drafts_not_the_answer(account, platform):
    async def work(channel):
        draft = await channel.send_draft(SendMessage("a", ROOM))
        account.now += 6
        platform.fault("send", "429", 1, retry_after=60)
        await channel.update_draft(ROOM, draft, "b")
        account.now += 61
        await channel.send(SendMessage("the answer", ROOM))

    account.does(work, stream_mode="partial")

    assert platform.answers() == ["the answer"]


def test_reactions_come_and_go_even_after_a_restart(account, platform):
    event = platform.post("hello")
    own = f"matrix_{event}"
    seen = []

    async def add(channel):
        await channel.add_reaction(ROOM, own, "👀")
        await channel.add_reaction(ROOM, own, "👀")
        seen.append(platform.reactions(event))

    async def swap(channel):
        await channel.remove_reaction(ROOM, own, "👀")
        await channel.add_reaction(ROOM, own, "✅")
        seen.append(platform.reactions(event))

    account.does(add)
    account.does(swap)

    assert seen == [["👀"], ["✅"]]


def test_an_edit_is_reacted_to_where_people_see_it(account, platform):
    event = platform.post("hello")
    account.does(lambda channel: channel.add_reaction(
        ROOM, f"matrix_{event}|$the_edit", "👀"))

    assert platform.reactions(event) == ["👀"]


def test_after_a_limit_reactions_leave_the_way_to_answers(
        account, platform):
    event = platform.post("hello")

    async def work(channel):
        platform.fault("send", "429", 1, retry_after=1)
        await channel.send(SendMessage("one", ROOM))
        await channel.add_reaction(ROOM, f"matrix_{event}", "👀")
        assert platform.reactions(event) == []
        account.now += 61
        await channel.add_reaction(ROOM, f"matrix_{event}", "👀")

    account.does(work)

    assert platform.reactions(event) == ["👀"]


def test_typing_is_shown_and_ended(account, platform):
    async def work(channel):
        await channel.start_typing(ROOM)
        await until(lambda: platform.typing.get(ROOM))
        await channel.stop_typing(ROOM)

    account.does(work)

    assert platform.typing == {ROOM: False}


def test_signs_make_no_room(account, platform):
    account.does(lambda channel: channel.start_typing(BOB))

    assert platform.list_calls("createRoom") == []


def test_two_sends_at_once_go_to_one_room(account, platform):
    async def work(channel):
        await asyncio.gather(*[channel.send(SendMessage(f"n{n}", BOB))
                               for n in range(3)])

    account.does(work)

    assert len(platform.list_calls("createRoom")) == 1
