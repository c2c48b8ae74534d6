"""Albums: one message each, whatever polls their photos come by."""

import asyncio

import pytest

from claw.channels.telegram import TelegramChannel
from claw.channels.telegram.albums import LONGEST_S, QUIET_S, Albums
from claw.channels.telegram.updates import group_albums, read_update


def photo(platform, album, **fields):
    file_id = platform.add_file(b"\xff\xd8\xff", path="photos/a.jpg")
    return {"media_group_id": album, "photo": [
        {"file_id": file_id, "file_unique_id": "u", "width": 9,
         "height": 9, "file_size": 3}], **fields}


class Listener:
    """A bot that listens in real time; `posts` are (seconds to wait
    before, arguments of platform.post)."""

    def __init__(self, platform, bot):
        self.platform, self.bot = platform, bot

    def hears(self, wanted, posts):
        async def go():
            channel = TelegramChannel(
                self.bot.settings(
                    poll_timeout_secs=5, allowed_users=("1001", "2002")),
                self.bot.deps)
            task = asyncio.create_task(channel.listen(self.bot.inbox))
            try:
                await self.platform.until(
                    lambda: self.platform.list_calls("getUpdates"))
                for wait_s, post in posts:
                    await asyncio.sleep(wait_s)
                    self.platform.post(**{"text": None, **post})
                await self.platform.until(
                    lambda: len(self.bot.inbox.messages) >= wanted
                    and self.platform.pending() == 0)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await channel.aclose()
        asyncio.run(go())
        return self.bot.inbox.messages


@pytest.fixture
def listener(platform, bot):
    return Listener(platform, bot)


@pytest.mark.parametrize("apart_s", [0.005, 0.05, 0.6])
@pytest.mark.parametrize("captioned", [0, 2])
def test_photos_that_come_by_several_polls_are_one_message(
        platform, listener, apart_s, captioned):
    posts = [(apart_s, photo(platform, "a", **(
        {"caption": "look"} if n == captioned else {}))) for n in range(3)]

    said, = listener.hears(1, posts)

    assert len(said.attachments) == 3
    assert said.content.count("[IMAGE:") == 3
    assert said.content.endswith("]\n\nlook")


def test_ten_photos_are_whole_at_once(platform, listener, monkeypatch):
    for name in ("QUIET_S", "LONGEST_S"):  # neither ends the wait
        monkeypatch.setattr(f"claw.channels.telegram.albums.{name}", 600.0)
    said, = listener.hears(1, [(0.001, photo(platform, "a"))
                               for _ in range(10)])

    assert len(said.attachments) == 10


def test_albums_between_each_other_are_two_messages(platform, listener):
    posts = [(0.05, photo(platform, album, chat_id=chat, caption=album))
             for _ in range(2)
             for album, chat in (("a", 1001), ("b", 1001), ("c", 2002))]

    found = listener.hears(3, posts)

    assert sorted((m.reply_target, len(m.attachments), m.content[-1])
                  for m in found) == [
        ("1001", 2, "a"), ("1001", 2, "b"), ("2002", 2, "c")]


def test_what_stands_behind_an_album_waits_and_other_chats_do_not(
        platform, listener):
    listener.hears(4, [
        (0, {"text": "before"}), (0.01, photo(platform, "a")),
        (0.01, {"text": "behind"}), (0.01, {"text": "else", "chat_id": 2002}),
        (0.3, photo(platform, "a"))])

    contents = [m.content[:6] for m in listener.bot.inbox.messages]
    assert contents == ["before", "else", "[IMAGE", "behind"]
    assert len(listener.bot.inbox.messages[2].attachments) == 2


def test_a_kill_while_an_album_waits_loses_nothing_and_doubles_nothing(
        platform, bot, listener):
    async def killed():
        channel = TelegramChannel(bot.settings(poll_timeout_secs=5), bot.deps)
        task = asyncio.create_task(channel.listen(bot.inbox))
        await platform.until(lambda: platform.list_calls("getUpdates"))
        platform.post("confirmed")
        platform.post(**{"text": None, **photo(platform, "a")})
        await platform.until(
            lambda: len(platform.list_calls("getUpdates")) > 3)
        assert bot.inbox.contents == ["confirmed"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await channel.aclose()
    asyncio.run(killed())
    assert platform.pending() == 1  # the photo, and nothing before it

    listener.hears(2, [(0, photo(platform, "a"))])

    assert [len(m.attachments) for m in bot.inbox.messages] == [0, 2]


def test_an_album_does_not_wait_for_a_server_that_is_gone(platform, bot):
    platform.post(**{"text": None, **photo(platform, "a")})

    async def go():
        async with bot.listening():
            await platform.until(
                lambda: len(platform.list_calls("getUpdates")) >= 2)
            platform.fault("getUpdates", "status", times=None, status=502)
            await platform.until(lambda: bot.inbox.messages)
    asyncio.run(go())

    assert len(bot.inbox.messages) == 1


def test_an_album_is_waited_for_as_long_as_it_grows_and_no_longer():
    now = 0.0
    albums = Albums(lambda: now)

    def part(members):
        batch = group_albums([read_update({"update_id": n, "message": {
            "message_id": n, "date": 1, "media_group_id": "a",
            "chat": {"id": 7, "type": "private"}}})
            for n in range(members)])
        return albums.part(batch) == (batch, [])

    assert not part(1)
    now += 0.9 * QUIET_S
    assert not part(2)
    now += 0.9 * QUIET_S
    assert not part(2)
    now += 0.2 * QUIET_S
    assert part(2)
    assert not part(2)  # another one of that name
    for members in range(3, 9):
        now += 0.9 * QUIET_S
        assert part(members) == (members == 8)
    assert now > LONGEST_S
