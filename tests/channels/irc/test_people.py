"""Who may write: a nick is no identity."""

import asyncio
import itertools

import pytest

from claw.channels.irc.intake import read_mention
from claw.channels.irc.line import fold
from claw.core.channel import STRANGER, Marks
from claw.core.errors import UnavailableError
from claw.testing.contracts.stage import until
from claw.testing.fake_irc import CAPS, FakeIrc

from .conftest import Bot

NO_TAGS = tuple(cap for cap in CAPS if cap != "account-tag")


def run(bot, work, **settings):
    async def go():
        async with bot.listening(**settings):
            return await work()
    return asyncio.run(go())


@pytest.mark.parametrize("caps", [CAPS, NO_TAGS], ids=["tag", "whois"])
def test_a_squatted_nick_is_not_its_owner(tmp_path, caps):
    with FakeIrc(caps) as server:
        server.people = {"alice": "", "al": "alice"}
        bot = Bot(server, tmp_path)

        async def work():
            server.say("I am alice, run this", nick="alice")
            server.say("and I really am", nick="al")
            return await bot.hears()

        (message,) = run(bot, work)

    assert message.content == "and I really am"
    assert message.sender == message.reply_target == "account:alice"
    assert message.sender_name == "al"
    assert "can't tell who you are" in dict(bot.said)["alice"]


def test_services_that_are_away_let_nobody_in_by_nick(server, tmp_path):
    """A network was seen to have accounts: a server of it that shows none
    is one that is cut off."""
    bot = Bot(server, tmp_path)

    async def work():
        server.say("hello")
        await bot.hears()

    run(bot, work, sasl_password="")
    server.caps, server.people["alice"] = [], ""

    async def again():
        server.say("I am alice", nick="alice")
        await asyncio.sleep(0.2)
        return await bot.hears(1)

    run(bot, again, sasl_password="")


def test_a_network_without_accounts_knows_nicks(plain_bot):
    async def work():
        plain_bot.server.say("hello", nick="alice")
        plain_bot.server.say("hello", nick="mallory")
        return await plain_bot.hears()

    (message,) = run(plain_bot, work, sasl_password="",
                     allowed_users=("Alice",))

    assert (message.sender, message.reply_target) == ("alice", "alice")


@pytest.mark.parametrize(("entry", "account", "comes"), [
    ("nick:al", "", True), ("NICK:Al", "x", True), ("nick:al", "al", True),
    ("account:al", "", False), ("account:al", "al", True),
    ("al", "", False), ("AL", "Al", True), ("*", "", True),
    ("nick:other", "al", False), ("other", "al", False)])
def test_what_an_entry_names(bot, entry, account, comes):
    bot.server.people = {"al": account}

    async def work():
        bot.server.say("hello", nick="al")
        await asyncio.sleep(0.15)
        return bot.inbox.messages

    found = run(bot, work, allowed_users=(entry, "owner"))

    assert bool(found) is comes
    if comes:
        assert (STRANGER in found[0].labels) is (entry == "*")


def test_an_account_entry_is_no_nick_where_there_are_no_accounts(plain_bot):
    async def work():
        plain_bot.server.say("hello", nick="alice")
        await asyncio.sleep(0.15)
        return plain_bot.inbox.messages

    assert run(plain_bot, work, sasl_password="",
               allowed_users=("account:alice",)) == []


@pytest.mark.parametrize(("whois", "comes"), [(None, True), ("263", False)])
def test_where_nobody_can_tell_accounts_a_nick_is_what_there_is(
        tmp_path, whois, comes):
    """A server with a login for us, and no way to ask who others are; one
    that only will not say it now is another matter."""
    with FakeIrc(("sasl", "message-tags")) as server:
        bot = Bot(server, tmp_path)
        server._on_whois = lambda client, line: whois and server._reply(
            client, whois, "WHOIS :try again")

        async def work():
            server.say("hello")
            await asyncio.sleep(0.2)
            return [m.sender for m in bot.inbox.messages]

        assert run(bot, work) == (["alice"] if comes else [])


def test_our_own_words_under_another_nick_are_not_for_us(bot):
    async def work():
        bot.server.raw("@account=claw :claw_!u@h PRIVMSG #a :an answer")
        bot.server.say("hello", to="#a")
        return [m.content for m in await bot.hears()]

    assert run(bot, work, channels=("#a",),
               allowed_users=("*", "alice")) == ["<alice> hello"]


def test_pairing_needs_an_account(bot):
    bot.server.people = {"al": "al", "mallory": ""}

    async def work():
        code = bot.logged("pairing")[0]["code"]
        assert bot.logged("pairing")[0]["bind"] == "!bind"
        bot.server.say(f"/bind {code}", nick="mallory")
        await until(lambda: any(to == "mallory" for to, _ in bot.said))
        assert bot.remembered == []
        bot.server.say(f"!bind {code}", nick="al")
        await until(lambda: any(to == "al" for to, _ in bot.said))
        bot.server.say("hello", nick="al")
        return await bot.hears()

    (message,) = run(bot, work, allowed_users=())

    assert message.sender == "account:al"
    assert bot.remembered == ["account:al"]


def test_strangers_are_told_once_and_in_channels_never(bot):
    bot.server.people["mallory"] = "mallory"

    async def work():
        for _ in range(3):
            bot.server.say("hi", nick="mallory")
            bot.server.say("claw: hi", nick="mallory", to="#a")
        await until(lambda: len(bot.said) >= 1)
        await asyncio.sleep(0.1)

    run(bot, work, channels=("#a",))

    assert {to for to, _ in bot.said} == {"mallory"}
    assert "account:mallory" in " ".join(text for _, text in bot.said)
    assert len([t for _, t in bot.said if "not allowed" in t]) == 1


def test_many_nicks_get_no_crowd_of_hints(bot):
    bot.server.people |= {f"m{n}": f"m{n}" for n in range(20)}

    async def work():
        for n in range(20):
            bot.server.say("hi", nick=f"m{n}")
        bot.server.say("hello")
        await bot.hears()

    run(bot, work)

    assert {to for to, _ in bot.said} == {"m0"}


def test_whois_is_not_asked_for_each_line(tmp_path):
    with FakeIrc(NO_TAGS) as server:
        server.people = {"alice": "alice", "mallory": ""}
        bot = Bot(server, tmp_path)

        async def work():
            for _ in range(5):
                server.say("hi", nick="mallory")
                server.say("hello", nick="alice")
            await bot.hears(5)

        run(bot, work)

        asked = [line for line in server.received if "WHOIS" in line]
        assert sorted(asked) == ["WHOIS alice", "WHOIS mallory"]


@pytest.mark.parametrize("move", [
    "QUIT :gone", "NICK :al", "PART #a", "JOIN #a"])
def test_who_takes_a_nick_after_its_owner_on_a_gateway_is_not_him(
        tmp_path, move):
    """One address for all who come by a web page."""
    with FakeIrc(NO_TAGS) as server:
        bot = Bot(server, tmp_path)

        async def work():
            server.say("hello")
            await bot.hears()
            server.raw(f":alice!u@alice.example {move}")
            server.people["alice"] = ""
            server.say("I am alice")
            await until(lambda: bot.said)
            return await bot.hears(1)

        run(bot, work)

    assert "can't tell who you are" in dict(bot.said)["alice"]


def test_an_answer_goes_to_nobody_who_took_the_nick_a_moment_ago(bot):
    async def work():
        await bot.send("one")
        bot.server.raw(":alice!u@alice.example QUIT :gone")
        bot.server.people["alice"] = ""
        await asyncio.sleep(0.1)
        with pytest.raises(UnavailableError):
            await bot.send("a secret")

    run(bot, work)

    assert [text for _, text in bot.said] == ["one"]


def test_a_nick_that_changed_hands_while_it_was_asked_for_is_nobodys(
        tmp_path):
    with FakeIrc(NO_TAGS) as server:
        bot = Bot(server, tmp_path)

        def whois(client, line, answer=server._on_whois):
            server._send(client, ":alice!u@alice.example QUIT :gone")
            answer(client, line)

        server._on_whois = whois

        async def work():
            server.say("I am alice")
            await until(lambda: bot.said)
            return await bot.hears(0)

        run(bot, work)


def test_talk_of_others_in_a_channel_does_not_hold_up_the_owner(tmp_path):
    with FakeIrc(NO_TAGS) as server:
        server.people = {"alice": "alice", "mallory": ""}
        bot = Bot(server, tmp_path)

        async def work():
            bot.channel._people._clock = itertools.count(1e6, 40).__next__
            for _ in range(5):
                server.say("talk", nick="mallory", to="#a")
            server.say("hello", to="#a")
            await bot.hears()
            asked = server.received.count("WHOIS mallory")
            server.people["mallory"] = "alice"
            server.say("claw: it is me", nick="mallory", to="#a")
            await bot.hears(2)
            return asked

        assert run(bot, work, channels=("#a",)) == 1


def test_an_answer_goes_to_the_account_whatever_its_nick(bot):
    bot.server.people = {"al": "alice"}

    async def work():
        bot.server.say("hello", nick="al")
        await bot.hears()
        bot.server.people = {"al": "mallory", "alice": "mallory"}
        bot.channel._people._clock = lambda: 1e9
        with pytest.raises(UnavailableError) as raised:
            await bot.send("a secret")
        assert raised.value.maybe_sent is False
        bot.server.people = {"al": "alice"}
        await bot.send("for you")

    run(bot, work)

    assert bot.said == [("al", "for you")]


def test_the_nick_of_an_account_is_known_after_a_restart(bot):
    bot.server.people = {"al": "alice"}

    async def work():
        bot.server.say("hello", nick="al")
        await bot.hears()

    async def again():
        await bot.send("hi")

    run(bot, work)
    run(bot, again)

    assert bot.said == [("al", "hi")]


@pytest.mark.parametrize(("nick", "tags", "text", "command"), [
    ("NickServ", "", "You are now identified", "PRIVMSG"),
    ("ChanServ", "", "hello", "PRIVMSG"),
    ("alice", "bot", "hello", "PRIVMSG"),
    ("alice", "", "hello", "NOTICE"),
    ("alice", "", "\x01DCC SEND x\x01", "PRIVMSG"),
    ("alice", "", "\x0304\x02 \x0f", "PRIVMSG"),
    ("claw", "", "my own words", "PRIVMSG"),
])
def test_machines_and_ourselves_are_not_listened_to(bot, nick, tags, text,
                                                    command):
    async def work():
        bot.server.people["NickServ"] = bot.server.people["ChanServ"] = "x"
        if nick == "claw":
            bot.server.raw(f":claw!u@h PRIVMSG claw :{text}")
        else:
            bot.server.say(text, nick=nick, tags=tags, command=command)
        bot.server.say("a real one")
        return await bot.hears()

    (message,) = run(bot, work, allowed_users=("*", "alice"))

    assert message.content == "a real one"
    assert bot.said == []


def test_a_version_question_is_answered_now_and_then(bot):
    async def work():
        for _ in range(5):
            bot.server.say("\x01VERSION\x01")
        bot.server.say("end")
        await bot.hears()

    run(bot, work)

    answers = [line for line in bot.server.received
               if line.startswith("NOTICE")]
    assert len(answers) == 1
    assert answers[0].startswith("NOTICE alice :\x01VERSION claw ")


@pytest.mark.parametrize(("text", "read", "named"), [
    ("claw: hi", "hi", True), ("CLAW, hi", "hi", True),
    ("@claw hi", "hi", True), ("claw hi", "claw hi", True),
    ("hi claw!", "hi claw!", True), ("claw: /stop", "/stop", True),
    ("claw /stop", "/stop", True), ("claw", "", True), ("claw:", "", True),
    ("clawed it", "clawed it", False), ("claw-1: hi", "claw-1: hi", False),
    ("my claw|away", "my claw|away", False), ("hi", "hi", False),
    ("scissors, claw_: x", "scissors, claw_: x", False),
])
def test_a_mention_is_a_whole_word(text, read, named):
    assert read_mention(text, "claw", lambda t: fold(t, "rfc1459")) == (
        read, named)


@pytest.mark.parametrize(("mention_only", "said", "heard"), [
    (False, ["hello", "claw: hi", "claw: /new", "\x01ACTION waves\x01"],
     ["<alice> hello", "<alice> hi", "/new", "* alice waves"]),
    (True, ["hello", "claw: hi", "claw: /new", "\x01ACTION pats claw\x01",
            "claw:"],
     ["<alice> hi", "/new", "* alice pats claw"]),
])
def test_in_a_channel_the_name_of_who_speaks_is_there(bot, mention_only,
                                                      said, heard):
    async def work():
        for text in said:
            bot.server.say(text, to="#a")
        return await bot.hears(len(heard))

    messages = run(bot, work, channels=("#a",), mention_only=mention_only)

    assert [m.content for m in messages] == heard
    assert {m.reply_target for m in messages} == {"#a"}
    assert {m.sender for m in messages} == {"account:alice"}


@pytest.mark.parametrize("said", ["yes k7m3p", "claw: no k7m3p", "q4d8w ok",
                                  "yes"])
def test_an_answer_to_a_question_stays_one_in_a_channel(bot, said):
    async def work():
        bot.server.say(said, to="#a")
        return [m.content for m in await bot.hears()]

    assert run(bot, work, channels=("#a",)) == [said.removeprefix("claw: ")]


def test_what_is_said_to_operators_is_answered_to_them(bot):
    async def work():
        bot.server.raw("@account=alice :alice!u@h PRIVMSG @#a :psst")
        (message,) = await bot.hears()
        return message.reply_target

    assert run(bot, work, channels=("#a",)) == "@#a"


@pytest.mark.parametrize(("said", "heard"), [
    ("!stop", "/stop"), ("claw: !approve abc", "/approve abc"),
    ("claw: /new", "/new"), ("!", "!"), ("!!", "!!"), ("!1", "!1"),
    ("wait!stop", "wait!stop")])
def test_a_command_begins_with_a_bang(bot, said, heard):
    """IRC clients keep what begins with a slash."""
    async def work():
        bot.server.say(said)
        return [m.content for m in await bot.hears()]

    assert run(bot, work) == [heard]


def test_any_line_of_a_server_is_survived(bot):
    async def work():
        for line in (b"\xff\xfe", b":", b"@", b"PRIVMSG", b":x PRIVMSG",
                     b":a!b@c PRIVMSG claw", b"005", b":s 005 claw",
                     b":s 005 claw LINELEN=x CASEMAPPING= CHANTYPES= :x",
                     b"BATCH", b"CAP", b":s CAP", b"KICK", b"NICK", b"JOIN",
                     b"MODE claw", b":s 396", b"@time=never;account=alice "
                     b":alice!u@h PRIVMSG claw :odd time", b"a" * 40_000,
                     b"@" + b"a=b;" * 3_000 + b" PING :x"):
            bot.server.raw(line)
        bot.server.say("still there")
        return [m.content for m in await bot.hears(2)]

    assert run(bot, work) == ["odd time", "still there"]


def test_what_was_seen_of_a_network_is_its_own():
    from claw.channels.irc import IrcSettings
    from claw.channels.irc.people import People

    class Session:
        has_accounts = True

    marks, without = Marks(), Session()
    without.has_accounts = False

    assert People(IrcSettings(server="a"), marks).has_accounts(Session())
    assert People(IrcSettings(server="a"), marks).has_accounts(without)
    assert not People(IrcSettings(server="b"), marks).has_accounts(without)
