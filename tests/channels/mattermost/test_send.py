"""What goes out, and what is known of it afterwards."""

import asyncio
import json
import re

import pytest

from claw.channels.mattermost.markup import escape, split_markdown
from claw.channels.mattermost.posts import parse_recipient
from claw.channels.mattermost.signs import find_name
from claw.core.abilities import Doubt
from claw.core.channel import Attachment, Button, Part, SendMessage
from claw.core.errors import (
    AuthError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.testing.fake_mattermost.world import is_previewed


def run(work):
    return asyncio.run(work)


# -- where to

@pytest.mark.parametrize(("recipient", "thread", "expected"), [
    ("chan1", None, ("chan1", "", "")),
    ("chan1:post1", None, ("chan1", "post1", "")),
    ("chan1", "post1", ("chan1", "post1", "")),
    ("chan1", "mattermost_post1", ("chan1", "post1", "")),
    ("chan1:post1", "post2", ("chan1", "post1", "")),
    ("@Alice", None, ("", "", "alice")),
])
def test_an_address_is_a_channel_a_thread_or_a_name(recipient, thread,
                                                    expected):
    assert tuple(parse_recipient(recipient, thread)) == expected


@pytest.mark.parametrize("recipient", [
    "", " ", "#town", "a b", "../users/me", "@", "@a/b", "x" * 100, "\ud83d"])
def test_what_is_no_address_is_refused(recipient):
    with pytest.raises(RequestRefusedError):
        parse_recipient(recipient)


def test_a_person_is_written_to_directly(bot, platform):
    (post,) = bot.sends("hello", "@alice")

    assert post["channel_id"] == platform.direct(platform.alice)


def test_a_name_that_nobody_has_is_refused(bot):
    with pytest.raises(RequestRefusedError, match="users/username"):
        bot.sends("hello", "@nobody")


def test_an_answer_goes_into_its_thread(bot, platform):
    root = platform.post("root", channel=platform.channel)
    (post,) = bot.sends("hello", f"{platform.channel}:{root}")

    assert post["root_id"] == root


def test_an_answer_to_a_deleted_thread_goes_to_the_channel(bot, platform):
    root = platform.post("root", channel=platform.channel)
    platform.delete(root)
    (post,) = bot.sends("hello", f"{platform.channel}:{root}")

    assert post["root_id"] == ""


# -- what

def test_a_long_answer_is_split_at_the_server_s_limit(bot, platform):
    posts = bot.sends("word " * 7000)

    assert len(posts) == 3
    assert all(len(p["message"]) <= 16383 for p in posts)
    assert sum(p["message"].count("word") for p in posts) == 7000


def test_an_older_server_s_limit_is_learned_and_kept(bot, platform):
    platform.world.max_post_size = 4000

    async def go():
        async with bot.listening():
            await platform.until(lambda: platform.hub.caught_up)
    run(go())
    posts = bot.sends("word " * 1500)

    assert len(posts) == 2
    assert all(len(p["message"]) <= 4000 for p in posts)


@pytest.mark.parametrize(("markdown", "shown"), [
    ("**bold** *i* ~~s~~ `c`", "**bold** *i* ~~s~~ `c`"),
    ("2 * 3 [x] a_b _x", r"2 \* 3 \[x\] a_b \_x"),
    ("![cat](https://x.org/c.png)", "[cat](https://x.org/c.png)"),
    ("see https://x.org/a", "see [https://x.org/a](https://x.org/a)"),
    ("www.x.org", "[www.x.org](http://www.x.org)"),
    ("> a\n> b\nc", "> a\n> b\n\nc"),
    ("```py\nx\n```", "```py\nx\n```"),
    ("`a``b`", "```a``b```"),
    ("@all and @channel.", "@\u2060all and @\u2060channel."),
    ("@alice and @allan", "@alice and @allan"),
    ("&#64;all &commat;here &x; `&lt;` a & b", "&\u2060#64;all "
     "&\u2060commat;here &\u2060x; `&lt;` a & b"),
    ("file.txt 1.5 a.b", "file.txt 1.5 a.b"),
])
def test_markdown_is_written_anew(markdown, shown):
    assert split_markdown(markdown, 1000, None) == [shown]


HOSTILE = [
    "https://x.org/?s=1", "HTTPS://x.org/a", "<https://x.org/a>",
    "![a](https://x.org/a.png)", "[a](https://x.org)", "www.x.org/a",
    "[![a](https://x.org/a.png)](https://y.org)", "a.https://x.org/a",
    "_https://x.org/a_", "**https://x.org/a**", "(https://x.org/a)",
    "[x]: https://x.org/a\n![x]", "[https://x.org](https://y.org/a)",
    "``` https://x.org", "`https://x.org", "\\`https://x.org/a\\`",
    "> https://x.org/a", "# https://x.org/a", "- https://x.org/a",
    "https://x.org/a](b", "[a](https://x.org/a(b)c)d", "a\\https://x.org/a",
]


@pytest.mark.parametrize("markdown", HOSTILE)
def test_no_answer_is_previewed(markdown):
    for links in (None, (), ("https://x.org/a",)):
        (shown,) = split_markdown(markdown, 1000, links)
        assert not is_previewed({"props": {}, "message": shown}), shown


@pytest.mark.parametrize("markdown", HOSTILE)
def test_only_known_addresses_are_links(markdown):
    (shown,) = split_markdown(markdown, 1000, ())

    assert "](" not in re.sub(r"\\.|(`+)[^`].*?\1", "", shown)


def test_escaped_text_means_itself():
    assert escape("# a\n- b\n> c") == "\\# a\n\\- b\n\\> c"


def test_a_question_says_how_a_word_with_a_slash_is_typed(bot, platform):
    async def go():
        async with bot.open() as channel:
            await channel.send(SendMessage(
                "Approve? /approve a1 or /deny a1", platform.channel,
                buttons=(Button("Allow", "approve:a1:yes"),)))
    run(go())

    (shown,) = platform.answers()
    assert shown.startswith("Approve? /approve a1 or /deny a1\n")
    assert "put a blank before it" in shown


def test_files_stand_below_the_words(bot, platform):
    for n in range(12):
        (bot.workspace / f"f{n}.txt").write_text(f"content {n}")
    posts = bot.sends("here\n" + "\n".join(
        f"[DOCUMENT:f{n}.txt]" for n in range(12)))

    assert [p["message"] for p in posts] == ["here", ""]
    assert [len(p["file_ids"]) for p in posts] == [10, 2]
    assert platform.files_of(posts[1]) == [b"content 10", b"content 11"]


def test_an_attachment_keeps_its_name(bot, platform):
    path = bot.workspace / "x.bin"
    path.write_bytes(b"\0\xff\r\n--")
    (post,) = bot.sends(attachments=(Attachment(
        str(path), 'my "report".pdf', "application/pdf"),))
    info, content = platform.world.files[post["file_ids"][0]]

    assert content == b"\0\xff\r\n--"
    assert info["name"].endswith(".pdf")


def test_a_file_outside_is_told_in_words(bot, tmp_path):
    (tmp_path / "secret.txt").write_text("s")
    (post,) = bot.sends(f"here [DOCUMENT:{tmp_path}/secret.txt]")

    assert post["file_ids"] == []
    assert "can not be sent: it lies outside the workspace" \
        in post["message"]


def test_a_refused_file_does_not_cost_the_words(bot, platform):
    (bot.workspace / "a.txt").write_text("a")
    platform.fault("POST files", "status", None, status=403)
    (post,) = bot.sends("here [DOCUMENT:a.txt]")

    assert post["message"].startswith("here")
    assert "a.txt can not be sent" in post["message"]


def test_a_file_that_is_gone_when_it_goes_out_is_told(bot, platform):
    (bot.workspace / "a.txt").write_text("a")
    message = SendMessage("word " * 3268 + " [DOCUMENT:a.txt]",
                          platform.channel)

    async def go():
        async with bot.open() as channel:
            (part,) = channel.parts(message)
            (bot.workspace / "a.txt").unlink()
            await channel.send_part(message, part)
    run(go())

    (shown,) = platform.answers()  # as much of it as there is room for
    assert shown.count("word") == 3268
    assert "(a.txt can not be" in shown


def test_a_token_that_is_refused_at_a_file_is_no_fault_of_the_file(
        bot, platform):
    (bot.workspace / "a.txt").write_text("a")
    platform.fault("POST files", "status", status=401)
    with pytest.raises(AuthError):
        bot.sends("here [DOCUMENT:a.txt]")

    assert platform.messages() == []


def test_a_file_that_did_not_get_through_is_tried_again(bot, platform):
    (bot.workspace / "a.txt").write_text("a")
    platform.fault("POST files", "status", status=500)
    with pytest.raises(UnavailableError):
        bot.sends("here [DOCUMENT:a.txt]")

    assert platform.messages() == []


# -- once

async def parts_of(bot, message):
    async with bot.open() as channel:
        return channel.parts(message)


def test_a_key_is_drawn_for_each_part_and_sent_twice(bot, platform):
    message = SendMessage("a " * 9000, platform.channel)
    first, second = run(parts_of(bot, message))
    bot.sends("hi")
    (post,) = platform.messages()

    assert first.data["key"] != second.data["key"]
    assert post["pending_post_id"] == \
        f"{platform.me}:{post['props']['claw_key']}"


def test_past_the_key_s_window_a_post_is_found_by_its_key(bot, platform):
    """The server forgets the key: without looking there would be two."""
    platform.world.pending_s = 0.0
    message = SendMessage("hi", platform.channel)

    async def go():
        async with bot.open() as channel:
            (part,) = channel.parts(message)
            kept = json.loads(json.dumps([part.kind, part.text,
                                          dict(part.data)]))
            part = Part(*kept)
            missing = await channel.find_sent(Doubt(message, part))
            sent = await channel.send_part(message, part)
            for n in range(450):
                platform.post(f"chatter {n}", channel=platform.channel)
            found = await channel.find_sent(Doubt(message, part))
            again = await channel.send_part(message, part)
            return missing, sent, found, again
    missing, sent, found, again = run(go())

    assert missing == ()
    assert found == (sent,)
    assert again != sent  # so looking is what keeps it one


def test_a_part_without_a_key_can_not_be_looked_for(bot, platform):
    async def go():
        async with bot.open() as channel:
            return await channel.find_sent(Doubt(
                SendMessage("x", platform.channel),
                Part("text", "x", {"message": "x"})))

    assert run(go()) is None


def test_an_answer_that_is_lost_is_given_again_by_the_server(bot, platform):
    platform.fault("POST posts", "reset_after")
    message = SendMessage("hi", platform.channel)

    async def go():
        async with bot.open() as channel:
            (part,) = channel.parts(message)
            with pytest.raises(UnavailableError):
                await channel.send_part(message, part)
            return await channel.send_part(message, part)

    assert run(go()) == platform.messages()[0]["id"]
    assert len(platform.messages()) == 1


# -- limits and refusals

def test_a_short_limit_is_waited_out(bot, platform):
    platform.fault("POST posts", "429", retry_after=4)
    bot.sends("hi")

    assert bot.slept == [4.0]
    assert platform.answers() == ["hi"]


def test_a_long_limit_closes_the_bot_for_all_calls(bot, platform):
    platform.fault("POST posts", "429", retry_after=120)

    async def go():
        async with bot.open() as channel:
            for _ in range(2):
                with pytest.raises(RateLimitedError) as caught:
                    await channel.send(SendMessage("hi", platform.channel))
            await channel.start_typing(platform.channel)
            return caught.value.retry_after_s

    assert run(go()) == 120
    assert len(platform.list_calls("POST posts")) == 1
    assert platform.world.typing == []


def test_a_channel_that_we_are_not_in_is_refused_with_a_hint(bot):
    with pytest.raises(RequestRefusedError) as caught:
        bot.sends("hi", "elsewhere")

    assert "member" in caught.value.hint


# -- signs

def test_typing_and_reactions(bot, platform):
    root = platform.post("root", channel=platform.channel)

    async def go():
        async with bot.open() as channel:
            where = f"{platform.channel}:{root}"
            await channel.start_typing(where)
            own = f"mattermost_{root}_edit_17"
            await channel.add_reaction(where, own, "👀")
            await channel.add_reaction(where, own, "⚠️")
            await channel.remove_reaction(where, own, "👀")
    run(go())

    assert platform.world.typing == [
        {"channel_id": platform.channel, "parent_id": root}]
    assert platform.world.reactions[root] == ["warning"]


@pytest.mark.parametrize(("emoji", "name"), [
    ("👀", "eyes"), ("✅", "white_check_mark"), ("❤️", "heart"),
    (":tada:", "tada"), ("+1", "+1"), ("🦑", None), ("a/b", None)])
def test_an_emoji_has_a_name(emoji, name):
    assert find_name(emoji) == name
