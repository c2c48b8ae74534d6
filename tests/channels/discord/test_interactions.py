"""Pressed buttons and slash commands."""

import asyncio

import pytest

from claw.channels.discord.interactions import COMMANDS
from claw.core.channel import Button, SendMessage
from claw.core.errors import StorageError


def asked(bot, platform, work, **given):
    """A question with a button, then what `work(message id)` does."""
    async def go():
        async with bot.listening(**given) as channel:
            await channel.send(SendMessage("sure?", "1001", buttons=(
                Button("Yes", "approve:7:yes"),)))
            number = platform.messages()[-1].id
            key = work(number)
            await platform.until(lambda: platform.response(key))
            return key
    return asyncio.run(go())


def test_a_press_is_an_action_and_answered_at_once(bot, platform):
    key = asked(bot, platform, lambda n: platform.press(n, "approve:7:yes"))

    (action,) = bot.inbox.messages
    assert (action.kind, action.content, action.sender,
            action.reply_target) == ("action", "approve:7:yes", "1001",
                                     "1001")
    assert platform.response(key) == {"type": 6}


def test_a_press_of_somebody_else_is_refused_for_him_alone(bot, platform):
    key = asked(bot, platform, lambda n: platform.press(
        n, "approve:7:yes", user="1002"))

    assert bot.inbox.messages == []
    data = platform.response(key)["data"]
    assert "not allowed" in data["content"]
    assert data["flags"] == 64


def test_a_press_in_a_thread_belongs_to_it(bot, platform):
    platform.add_channel("50")
    platform.add_channel("51", parent_id="50")
    number = platform.post("x", "51")

    asked(bot, platform, lambda _: platform.press(number, "a:1", "51"))

    (action,) = [m for m in bot.inbox.messages if m.kind == "action"]
    assert (action.reply_target, action.thread_ts) == ("51", "51")


def test_a_press_is_answered_after_the_commit(bot, platform):
    async def go():
        async with bot.listening():
            number = platform.post("x")
            await bot.gets(1)
            free, put = asyncio.Event(), bot.inbox.put

            async def slow(message):
                await free.wait()
                await put(message)
            bot.inbox.put = slow
            key = platform.press(number, "a:1")
            await asyncio.sleep(0.1)
            assert platform.response(key) is None
            free.set()
            await platform.until(lambda: platform.response(key))
    asyncio.run(go())


def test_a_press_that_could_not_be_kept_is_resumed(bot, platform):
    async def fails():
        async with bot.listening():
            number = platform.post("x")
            await bot.gets(1)
            bot.inbox.broken = StorageError("the disk is full")
            platform.press(number, "a:1")
            await platform.until(lambda: bot.listener.done())
    with pytest.raises(StorageError):
        asyncio.run(fails())
    bot.inbox.broken = None

    found = bot.hears()

    assert [m.kind for m in found] == ["message", "action"]


@pytest.mark.parametrize(("command", "options", "text"), [
    ("new", {}, "/new"), ("stop", {}, "/stop"), ("model", {}, "/model"),
    ("model", {"name": "gpt-5 fast"}, "/model gpt-5 fast"),
])
def test_a_slash_command_is_the_text_that_people_type(
        bot, platform, command, options, text):
    key = asked(bot, platform,
                lambda _: platform.command(command, **options))

    (message,) = bot.inbox.messages
    assert (message.kind, message.content) == ("message", text)
    assert platform.response(key)["data"] == {
        "content": f"`{text}`", "flags": 64,
        "allowed_mentions": {"parse": []}}


def test_commands_are_offered_once_and_others_stay(bot, platform):
    platform.world.commands = [{"id": "1", "name": "own"},
                               {"id": "2", "name": "new"}]

    async def go():
        for _ in range(2):
            async with bot.listening():
                await platform.until(
                    lambda: len(platform.world.commands) == 4)
            platform.forget_sessions()
    asyncio.run(go())

    assert [c["name"] for c in platform.world.commands] == [
        "own", "new", "stop", "model"]
    assert len(platform.list_calls("create_application_command")) == 2
    assert {c["name"] for c in COMMANDS} == {"new", "stop", "model"}


def test_commands_that_can_not_be_offered_stop_nothing(bot, platform):
    platform.fault("list_application_commands", "status", None, status=403)

    assert [m.content for m in bot.hears("hi")] == ["hi"]
    assert bot.logged("commands_not_offered")
