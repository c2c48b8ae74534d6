"""Who may write, what is for us, and files that people send."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from claw.channels.slack.api import Bot as Known
from claw.channels.slack.diagnose import judge_scopes
from claw.core.errors import RequestRefusedError
from claw.testing.fake_slack import FakeSlack


def heard(bot, platform, say, count=1, **given):
    async def work():
        async with bot.listening(**given) as channel:
            await channel.catch_up()  # what is said now comes by itself
            say()
            await bot.hears(count)
            await asyncio.sleep(0.02)
            return bot.inbox.messages
    return asyncio.run(work())


# who

def test_a_person_who_is_not_listed_is_told_how_once_and_in_private(
        bot, platform):
    def say():
        for n in range(3):
            platform.say(f"let me in {n}", "D666")
            platform.say("and here", "C1", "U666")
        platform.say("hello")

    found = heard(bot, platform, say)

    assert [m.content for m in found] == ["hello"]
    (answer,) = platform.answers("D666")
    assert "U666" in answer
    assert platform.answers("C1") == []


def test_nobody_is_allowed_until_one_is_paired(bot, platform):
    async def work():
        async with bot.listening(allowed_users=()):
            await bot.until(lambda: bot.logged("pairing"))
            code = bot.logged("pairing")[0]["code"]
            assert bot.logged("pairing")[0]["bind"] == " /bind"
            platform.say("hello", "D1002")
            platform.say(f" /bind {code}", "D1001")
            await bot.until(lambda: platform.answers("D1001"))
            platform.say("hello", "D1002")
            platform.say("hello")
            return await bot.hears(1)

    (found,) = asyncio.run(work())

    assert found.sender == "U1001"
    assert platform.answers("D1001") == ["You are paired."]


def test_everybody_is_let_in_as_a_stranger(bot, platform):
    platform.world.contents["F9"] = b"x"

    def say():
        platform.say("hi", "D666", files=[platform.add_file(b"x")])
        platform.say("hello")

    stranger, owner = sorted(
        heard(bot, platform, say, 2, allowed_users=("*", "U1001")),
        key=lambda m: m.sender, reverse=True)

    assert "stranger" in stranger.labels
    assert "files of strangers are not kept" in stranger.content
    assert owner.labels == ()
    assert platform.downloads == []


def test_a_display_name_opens_no_door(bot, platform):
    platform.world.person("U666", "U1001")

    def say():
        platform.say("let me in", "D666")
        platform.say("hello")

    assert [m.sender for m in heard(bot, platform, say)] == ["U1001"]


def test_what_bots_and_we_write_is_not_heard(bot, platform):
    def say():
        platform.say("beep", bot_id="B9")
        platform.say("mine", user="U0BOT")
        platform.say("hello")

    assert [m.content for m in heard(bot, platform, say)] == ["hello"]


# what

@pytest.mark.parametrize(("channel", "text", "expected"), [
    ("C1", "<@U0BOT> do it", "do it"),
    ("G1", "do it <@U0BOT|claw>", "do it"),
    ("C1", "do it", None),
    ("C1", "<@U0BOT>", None),
    ("C1", "<@U0BOTX> do it", None),
    ("D1001", "do it", "do it"),
])
def test_mention_only(bot, platform, channel, text, expected):
    def say():
        platform.say(text, channel)
        platform.say("done")

    found = heard(bot, platform, say, 1 if expected is None else 2,
                  mention_only=True)

    assert {m.content for m in found} == {*filter(None, [expected]), "done"}


def test_a_command_behind_a_mention_is_a_command(bot, platform):
    (found,) = heard(bot, platform,
                     lambda: platform.say("<@U0BOT> /new", "C1"))

    assert found.content == "/new"


def test_people_are_called_by_their_names(bot, platform):
    platform.world.person("U2", "bob")
    (found,) = heard(bot, platform, lambda: platform.say("ask <@U2>"))

    assert (found.content, found.sender_name) == ("ask @bob", "alice")
    assert [c.params["user"] for c in platform.list_calls(
        "users.info")] == ["U1001", "U2"]


def test_an_edit_is_heard_and_a_preview_is_not(bot, platform):
    def say():
        ts = platform.say("helo")
        platform.edit("D1001", ts, "helo")
        platform.edit("D1001", ts, "hello")

    found = heard(bot, platform, say, 2)

    assert [m.content for m in found] == ["helo", "[Edited] hello"]


# files

def test_a_file_is_fetched_with_the_token_and_saved(bot, platform):
    (found,) = heard(bot, platform, lambda: platform.say(
        "look", subtype="file_share", files=[
            platform.add_file(b"content", "../../a [x].txt",
                              mimetype="text/plain")]))

    (file,) = found.attachments
    assert Path(file.path).read_bytes() == b"content"
    assert Path(file.path).parent == bot.files
    assert file.file_name == "a (x).txt"
    assert found.content.endswith("\n\nlook")
    assert found.labels == ("attachment",)
    assert platform.downloads[0][1]


def test_a_voice_clip_is_the_persons_own_words(bot, platform):
    (found,) = heard(bot, platform, lambda: platform.say("", files=[
        platform.add_file(b"OggS", "audio_message.m4a",
                          mimetype="audio/mp4", subtype="slack_audio")]))

    assert found.content == "[Voice]"
    assert found.labels == ()


def test_an_image_is_shown_to_the_model(bot, platform):
    (found,) = heard(bot, platform, lambda: platform.say("", files=[
        platform.add_file(b"\x89PNG", "image.png", mimetype="image/png")]))

    assert found.content == f"[IMAGE:{found.attachments[0].path}]"
    assert found.labels == ()


def test_two_files_of_one_name_are_two_files(bot, platform):
    (found,) = heard(bot, platform, lambda: platform.say("", files=[
        platform.add_file(bytes([n]), "image.png", mimetype="image/png")
        for n in range(2)]))

    assert [Path(a.path).read_bytes() for a in found.attachments] == [
        b"\0", b"\1"]


@pytest.mark.parametrize(("file", "why"), [
    ({"url_private": "https://evil.org/x"}, "not at Slack"),
    ({"url_private": "https://slack.com.evil.org/x"}, "not at Slack"),
    ({"url_private": "http://files.slack.com/x"}, "not at Slack"),
    ({"url_private": "", "id": ""}, "no address"),
    ({"url_private": ""}, "file_not_found"),
    ({"size": 10**9}, "bots can fetch 20 MiB"),
])
def test_a_file_that_is_not_fetched_says_why(bot, platform, file, why):
    (found,) = heard(bot, platform, lambda: platform.say("look", files=[
        {**platform.add_file(b"x"), **file}]))

    assert why in found.content
    assert found.content.endswith("look")
    assert platform.downloads == []


def test_a_file_of_another_workspace_is_asked_for(bot, platform):
    """Slack Connect: file_access is "check_file_info"."""
    def say():
        file = platform.add_file(b"content")
        platform.world.files[file["id"]] = file
        platform.say("look", files=[{"id": file["id"], "name": "a.txt",
                                     "file_access": "check_file_info"}])

    (found,) = heard(bot, platform, say)

    assert Path(found.attachments[0].path).read_bytes() == b"content"


def test_a_login_page_is_no_file(bot, platform):
    """What Slack answers where the scope files:read is missing."""
    platform.bot_token = "xoxb-" + "another"

    async def work():
        channel = bot.make()
        platform.bot_token = "xoxb-" + "valid"
        url = platform.add_file(b"x")["url_private"]
        try:
            await channel._api.download(url)
        finally:
            await channel.aclose()

    with pytest.raises(Exception, match="files:read"):
        asyncio.run(work())


def test_the_token_goes_to_the_first_host_alone(bot, platform):
    with FakeSlack() as other:
        url = platform.add_file(b"x")["url_private"]
        platform.moved[urlsplit(url).path] = f"{other.url[:-4]}/files/F1/x"

        async def work():
            channel = bot.make()
            try:
                await channel._api.download(url)
            finally:
                await channel.aclose()

        with pytest.raises(RequestRefusedError, match="login page"):
            asyncio.run(work())
        assert [known for _, known in platform.downloads] == [True]
        assert [known for _, known in other.downloads] == [False]


@pytest.mark.parametrize(("url", "ours"), [
    ("https://files.slack.com/x", True), ("https://slack.com/x", True),
    ("https://a.slack-files.com/x", True), ("https://slack-edge.com", True),
    ("https://slack.com:8443/x", False), ("http://slack.com/x", False),
    ("https://notslack.com/x", False), ("https://[bad", False), ("", False),
    ("http://localhost:1/x", True),  # as the fake is
])
def test_files_are_fetched_from_slack_alone(bot, url, ours):
    assert bot.make()._api._is_ours(url) is ours


def test_a_slow_file_holds_up_its_own_channel_alone(bot, platform):
    """And no acknowledgement of another's message."""
    platform.slow_s = 0.5

    async def work():
        async with bot.listening() as channel:
            await channel.catch_up()
            platform.say("first", files=[platform.add_file(b"x")])
            platform.say("second")
            for n in range(3):
                platform.say(f"m{n}", "C1")
            await bot.until(lambda: len(bot.inbox.messages) == 3)
            early = list(bot.inbox.contents)
            return early, await bot.hears(5)

    early, found = asyncio.run(work())

    assert early == ["m0", "m1", "m2"]
    assert "first" in found[3].content
    assert found[4].content == "second"


# the doctor

def findings(bot, **given):
    async def work():
        channel = bot.make(**given)
        try:
            return {f.id: f for f in await channel.diagnose()}
        finally:
            await channel.aclose()
    return asyncio.run(work())


def test_a_good_bot_is_told_so(bot, platform):
    found = findings(bot)

    assert [found[step].status for step in (
        "token", "scopes", "socket", "allow_list")] == ["ok"] * 4
    assert platform.sockets.connections == set()


@pytest.mark.parametrize(("given", "step", "status", "hint"), [
    ({"bot_token": ""}, "token", "fail", "bot_token"),
    ({"bot_token": "xoxb-no"}, "token", "fail", "bot_token"),
    ({"app_token": ""}, "socket", "warn", "app_token"),
    ({"app_token": "xapp-no"}, "socket", "fail", "app_token"),
    ({"channel_id": "C404"}, "channel", "fail", "bot in it"),
    ({"allowed_users": ()}, "allow_list", "warn", "allowed_users"),
    ({"allowed_users": ("alice",)}, "allow_list", "fail", "member ID"),
    ({"allowed_users": ("*", "U1")}, "allow_list", "warn", "U..."),
])
def test_what_is_wrong_names_the_next_step(bot, given, step, status, hint):
    found = findings(bot, **given)[step]

    assert found.status == status
    assert hint in found.hint


def test_missing_scopes_are_named_with_what_they_are_for(bot, platform):
    platform.scopes = "chat:write, im:history"
    found = findings(bot)["scopes"]

    assert found.status == "warn"
    assert "files:read (to fetch files that people send)" in found.detail
    assert " im:history" not in found.detail
    assert judge_scopes(Known(scopes=None)).status == "skip"
    assert judge_scopes(Known(scopes=frozenset())).status == "fail"


def test_no_secret_is_told(bot, platform):
    platform.fault("*", "html", None, status=502)
    found = findings(bot)

    text = repr(found) + repr(bot.logs)
    assert platform.bot_token not in text
    assert platform.app_token not in text
