"""What people write, and what becomes of it."""

import asyncio

import pytest

from claw.channels.mattermost.posts import address, find_ref, is_for_nobody
from claw.channels.mattermost.wire import File, Me, Post, read_post
from claw.core.channel import STRANGER
from claw.core.errors import StorageError


def test_a_direct_message_is_answered_where_it_stands(bot, platform):
    post = platform.post
    (message,) = bot.hears("hello", count=1)

    assert post
    assert message.content == "hello"
    assert message.sender == platform.alice
    assert message.sender_name == "alice"
    assert message.reply_target == platform.direct(platform.alice)
    assert message.thread_ts is None
    assert message.interruption_scope_id is None
    assert message.id.startswith("mattermost_post")


@pytest.mark.parametrize("threads", [True, False])
def test_a_channel_is_answered_in_a_thread(bot, platform, threads):
    (message,) = bot.hears({"message": "hi", "channel": platform.channel},
                           thread_replies=threads)
    post = message.id.removeprefix("mattermost_")

    assert message.reply_target == platform.channel + (
        f":{post}" if threads else "")
    assert message.interruption_scope_id is None


@pytest.mark.parametrize("threads", [True, False])
def test_a_thread_is_answered_in_it(bot, platform, threads):
    root = platform.post("root", channel=platform.channel)
    messages = bot.hears({"message": "deeper", "channel": platform.channel,
                          "root_id": root}, count=2, thread_replies=threads)

    assert messages[1].reply_target == f"{platform.channel}:{root}"
    assert messages[1].thread_ts == root
    assert messages[1].interruption_scope_id == root
    if threads:  # one conversation from its first post on
        assert messages[0].reply_target == messages[1].reply_target
        assert messages[0].thread_ts == root


ME = Me("bot1", "claw")


@pytest.mark.parametrize(("text", "expected"), [
    ("@claw do it", "do it"),
    ("do it @CLAW", "do it"),
    ("@claw", ""),
    ("hey @claw, do it", "hey  , do it"),
    ("thanks @claw.", "thanks  ."),
    ("@claw.bot do it", None),
    ("@claw-dev do it", None),
    ("@claws do it", None),
    ("mail me@claw", None),
    ("@claw and @claw", "and"),
    ("nobody", None),
])
def test_a_mention_is_a_whole_name(text, expected):
    post = Post("p", "c", "u", message=text)

    assert address(post, ME) == expected


def test_a_command_is_typed_with_a_blank_before_it(bot, platform):
    first, second = bot.hears(
        " /approve a1", {"message": "@claw /new",
                         "channel": platform.channel}, mention_only=True)

    assert {first.content, second.content} == {"/approve a1", "/new"}


def test_a_mention_that_the_server_found_counts():
    post = Post("p", "c", "u", message="hello")

    assert address(post, ME, ["bot1"]) == "hello"
    assert address(post, Me("bot1", ""), ["bot2"]) is None


def test_with_mention_only_a_channel_needs_the_mention(bot, platform):
    group = platform.room("G")
    messages = bot.hears(
        {"message": "not for you", "channel": platform.channel},
        {"message": "nor this", "channel": group},
        {"message": "@claw", "channel": platform.channel},
        {"message": "@claw yes", "channel": platform.channel},
        "no mention needed", count=2, mention_only=True)

    assert sorted(m.content for m in messages) == ["no mention needed",
                                                   "yes"]


def test_what_no_person_wrote_is_left_out(bot, platform):
    other = platform.world.add_user("otherbot", is_bot=True)
    bob = platform.person("bob")
    room = platform.room("O", platform.alice, other, bob)
    gone = platform.post("gone", channel=room)
    platform.delete(gone)
    messages = bot.hears(
        {"message": "I am a bot", "channel": room, "user": other},
        {"message": "hook", "channel": room,
         "props": {"from_webhook": "true"}},
        {"message": "joined", "channel": room,
         "type": "system_join_channel"},
        {"message": "mine", "channel": room, "user": platform.me},
        {"message": "real", "channel": room}, count=1)

    assert [m.content for m in messages] == ["real"]


def test_with_a_person_s_token_that_person_is_not_heard():
    post = Post("p", "c", "bot1", message="mine")

    assert is_for_nobody(post, ME)
    assert not is_for_nobody(post, Me("bot2"))
    assert is_for_nobody(Post("p", "c", "u", type="custom_calls"), ME)
    assert not is_for_nobody(Post("p", "c", "u", type="custom_voice",
                                  file_ids=("f",)), ME)


def test_channel_id_keeps_the_bot_to_some_channels(bot, platform):
    room, other = platform.room(), platform.room()
    messages = bot.hears(
        {"message": "a", "channel": room}, {"message": "b", "channel": other},
        {"message": "c", "channel": platform.channel}, "direct",
        count=3, channel_id=f"{room}, {platform.channel}")

    assert sorted(m.content for m in messages) == ["a", "c", "direct"]


def test_an_edit_says_so_and_comes_once(bot, platform):
    async def go():
        async with bot.began().listening():
            post = platform.post("helo")
            await bot.settle(1)
            platform.edit(post, "hello")
            platform.pin(post)
            await bot.settle(2)
            return post
    post = asyncio.run(go())

    assert bot.inbox.contents == ["helo", "[Edited] hello"]
    assert bot.inbox.messages[1].id.startswith(f"mattermost_{post}_edit_")


def test_a_pin_of_an_old_edit_is_no_edit(bot, platform):
    post = platform.post("old")
    platform.world.posts[post] |= {"edit_at": 5_000, "update_at": 5_000}

    async def go():
        async with bot.listening():
            await platform.until(lambda: platform.hub.caught_up)
            platform.pin(post)
            platform.post("new")
            await bot.settle(1)
    asyncio.run(go())

    assert bot.inbox.contents == ["new"]


def test_files_are_saved_and_named(bot, platform):
    image = platform.add_file("../../cat.png", b"meow", "image/png")
    sheet = platform.add_file("a.csv", b"1,2", "text/csv")
    (message,) = bot.hears({"message": "look", "file_ids": [image, sheet]})

    picture, table = message.attachments
    assert message.content.endswith("\n\nlook")
    assert f"[IMAGE:{picture.path}]" in message.content
    assert f"[Document: a.csv] {table.path}" in message.content
    assert bot.files in [p.parent for p in bot.files.iterdir()]
    assert "attachment" in message.labels
    assert {p.read_bytes() for p in bot.files.iterdir()} == {b"meow", b"1,2"}


def test_a_server_may_leave_the_files_to_be_asked_for(bot, platform):
    file = platform.add_file("a.txt", b"words", "text/plain")
    (message,) = bot.hears({"message": "look", "file_ids": [file],
                            "metadata": {}})

    assert "[Document: a.txt]" in message.content


@pytest.mark.parametrize(("name", "mime", "alone", "kind"), [
    ("v.ogg", "audio/ogg", True, "voice"),
    ("v.m4a", "", True, "voice"),
    ("v.ogg", "audio/ogg", False, "audio"),
    ("v.mp4", "video/mp4", True, "video"),
    ("v.PNG", "", True, "image"),
    ("v", "", True, "document"),
])
def test_a_recording_without_words_is_a_voice_message(name, mime, alone,
                                                      kind):
    assert find_ref(File("f", name, mime), alone=alone).kind == kind


def test_a_file_that_can_not_be_had_is_told(bot, platform):
    file = platform.add_file("a.txt", b"words", "text/plain")
    platform.fault("GET files", "status", None, status=404)
    platform.fault("GET files/" + file, "status", None, status=404)
    (message,) = bot.hears({"message": "look", "file_ids": [file]})

    assert "a.txt could not be fetched" in message.content
    assert message.attachments == ()


def test_a_forwarded_post_is_labelled(bot):
    (message,) = bot.hears({"message": "see", "embeds": [{
        "type": "permalink", "data": {
            "channel_display_name": "Ops",
            "post": {"message": "run it\nnow"}}}]})

    assert message.content == (
        "> [Forwarded from Ops]\n> run it\n> now\n\nsee")
    assert "forwarded" in message.labels


def test_nobody_else_may_write_and_a_stranger_gets_one_hint(bot, platform):
    bob = platform.person("bob")
    direct = platform.direct(bob)
    room = platform.room("O", bob)
    messages = bot.hears(
        {"message": "let me in", "user": bob},
        {"message": "please", "user": bob},
        {"message": "hello all", "user": bob, "channel": room}, "hi",
        count=1, allowed_users=(platform.alice,))

    assert [m.content for m in messages] == ["hi"]
    (hint,) = platform.answers(direct)
    assert bob in hint
    assert platform.answers(room) == []


def test_a_name_that_looks_like_an_owners_id_lets_nobody_in(bot, platform):
    mallory = platform.person(platform.alice, "mallory".ljust(26, "0"))
    platform.rename(mallory, platform.alice)
    messages = bot.hears({"message": "let me in", "user": mallory}, "hi",
                         count=1, allowed_users=(platform.alice,))

    assert [m.content for m in messages] == ["hi"]


def test_a_stranger_is_labelled_and_his_files_stay(bot, platform):
    bob = platform.person("bob")
    file = platform.add_file("a.txt", b"words", "text/plain")
    (message,) = bot.hears({"message": "hi", "user": bob,
                            "file_ids": [file]})

    assert STRANGER in message.labels
    assert "files of strangers are not kept" in message.content
    assert not bot.files.exists()


def test_the_code_lets_somebody_in(bot, platform):
    async def go():
        async with bot.began().listening(allowed_users=()):
            await platform.until(lambda: bot.logged("pairing"))
            code = bot.logged("pairing")[0]["code"]
            assert bot.logged("pairing")[0]["bind"] == " /bind"
            platform.post(f"/bind {code}")
            await platform.until(lambda: platform.answers(
                platform.direct(platform.alice)))
            platform.post("hello")
            await bot.settle(1)
    asyncio.run(go())

    assert bot.remembered == [platform.alice]
    assert bot.inbox.contents == ["hello"]


def test_nothing_that_is_old_is_read_at_the_first_start(bot, platform):
    platform.post("old")

    async def go():
        async with bot.listening():
            await platform.until(lambda: platform.hub.caught_up)
            platform.post("new")
            await bot.settle(1)
    asyncio.run(go())

    assert bot.inbox.contents == ["new"]


def test_what_was_said_while_it_was_away_is_read_once(bot, platform):
    async def life(*texts):
        before = len(bot.inbox.messages)
        async with bot.listening():
            await bot.settle(before + len(texts))

    asyncio.run(life())
    platform.post("one")
    platform.post("two", channel=platform.channel)
    new = platform.room("O")
    platform.post("three", channel=new)
    asyncio.run(life(1, 2, 3))
    asyncio.run(life())

    assert sorted(bot.inbox.contents) == ["one", "three", "two"]


def test_what_a_stranger_was_told_is_not_told_again_after_a_restart(
        bot, platform):
    bob = platform.person("bob")

    async def life(**given):
        async with bot.listening(**given):
            await bot.settle(0)
            platform.post("let me in", user=bob)
            await platform.until(lambda: platform.answers())
            await asyncio.sleep(0.05)
        async with bot.listening(allowed_users=(bob,)):
            await asyncio.sleep(0.1)
    asyncio.run(life(allowed_users=(platform.alice,)))

    assert len(platform.answers()) == 1
    assert bot.inbox.contents == []


def test_posts_of_one_moment_are_all_read(bot, platform):
    asyncio.run(_once(bot))
    now = platform.world.now_ms()
    platform.world.now_ms = lambda: now
    for n in range(3):
        platform.post(f"a{n}")
    asyncio.run(_once(bot, 3))
    platform.post("late, of the same moment")
    asyncio.run(_once(bot, 4))

    assert "late, of the same moment" in bot.inbox.contents


def test_more_than_a_call_gives_is_read_by_pages(bot, platform):
    bot.began()
    base = platform.world.now_ms() - 5_000_000
    for n in range(1300):
        platform.post(f"m{n}", create_at=base + n * 1000)
    asyncio.run(_once(bot, 1300))

    assert bot.inbox.contents == [f"m{n}" for n in range(1300)]


def test_an_edit_while_it_was_away_is_read(bot, platform):
    post = platform.post("helo")
    asyncio.run(_once(bot))
    platform.edit(post, "hello")
    asyncio.run(_once(bot, 1))

    assert bot.inbox.contents == ["[Edited] hello"]


@pytest.mark.parametrize("joins", [True, False])
def test_what_was_said_before_it_was_invited_is_not_read(bot, platform,
                                                         joins):
    asyncio.run(_once(bot))
    room = platform.room()
    platform.post("among us", channel=room)
    platform.post("it is here", channel=room, **(
        {"type": "system_join_team", "user": platform.me} if joins else
        {"type": "system_add_to_channel",
         "props": {"addedUserId": platform.me}}),
        create_at=platform.world.now_ms() + 1)
    platform.post("hello bot", channel=room,
                  create_at=platform.world.now_ms() + 2)
    asyncio.run(_once(bot, 1))

    assert bot.inbox.contents == ["hello bot"]


def test_a_channel_that_is_refused_does_not_stop_the_others(bot, platform):
    asyncio.run(_once(bot))
    room = platform.room()
    platform.post("secret", channel=room)
    platform.post("hi")
    real = platform.world.list_posts

    def refuse(channel, query):
        from claw.testing.fake_mattermost.world import ApiError
        if channel == room:
            raise ApiError(403, "api.context.permissions.app_error", "No.")
        return real(channel, query)
    platform.world.list_posts = refuse
    asyncio.run(_once(bot, 1))

    assert bot.inbox.contents == ["hi"]
    assert bot.logged("channel_not_read")


def test_a_full_disk_is_told_and_the_post_comes_again(bot, platform):
    bot.began()
    bot.inbox.broken = StorageError("the disk is full")
    platform.post("hello")

    async def go():
        async with bot.open() as channel:
            with pytest.raises(StorageError):
                await channel.listen(bot.inbox)
            bot.inbox.broken = None
            task = bot.listener = asyncio.create_task(
                channel.listen(bot.inbox))
            await bot.settle(1)
            task.cancel()
            await asyncio.wait({task})
    asyncio.run(go())

    assert bot.inbox.contents == ["hello"]


@pytest.mark.parametrize("raw", [
    None, 7, [], "post", "\ud83d", {}, {"id": 1},
    {"id": "p", "channel_id": None},
    {"id": "../x", "channel_id": "c", "user_id": "u"},
    {"id": "p", "channel_id": "c", "user_id": "u", "root_id": "a/b"},
    {"id": "p", "channel_id": "c", "user_id": ""},
])
def test_what_is_no_post_is_none(raw):
    assert read_post(raw) is None


@pytest.mark.parametrize("odd", [
    {"metadata": 7}, {"props": "x"}, {"metadata": {"files": [{"id": 4}]}},
    {"file_ids": None, "metadata": {"files": None, "embeds": None}},
    {"update_at": "soon"}, {"metadata": {"embeds": [{"data": [[[[]]]]}]}},
    {"root_id": None, "type": None, "edit_at": None, "delete_at": None},
    {"file_ids": [None]}, {"create_at": 10 ** 30}, {"edit_at": -1},
])
def test_a_post_is_read_whatever_else_is_wrong_with_it(odd):
    post = read_post({"id": "p", "channel_id": "c", "user_id": "u",
                      "message": "hi \ud83d", "create_at": 5, **odd})

    assert post is not None
    assert post.message == "hi \ufffd"


async def _once(bot, count=0):
    """One life, until so many messages are there."""
    async with bot.listening():
        await bot.settle(count)
        await asyncio.sleep(0.03)
