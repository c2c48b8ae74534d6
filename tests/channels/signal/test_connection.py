"""The stream: outages, silence, what is kept over a kill."""

import asyncio

import pytest

from claw.channels.signal.journal import Journal
from claw.core.errors import AuthError, StorageError
from claw.testing.fake_signal import OWN_ACI, FakeSignal


def test_what_was_written_while_we_were_away_is_read(bot):
    bot.hears("first")
    bot.platform.post("meanwhile")
    bot.hears("then", count=3)

    assert bot.inbox.contents == ["first", "meanwhile", "then"]


def test_the_first_start_answers_nothing_old(bot):
    bot.platform.post("of last week", server_ms=1_600_000_000_000)
    bot.hears("now", count=1)

    assert bot.inbox.contents == ["now"]


def test_a_restarted_daemon_is_found_again(bot):
    async def go():
        async with bot.listening():
            bot.platform.post("before")
            await bot.settle(1)
            bot.platform.down()
            await bot.platform.until(lambda: bot.inbox.failures)
            bot.platform.up()
            bot.platform.post("after")
            await bot.settle(2)
    asyncio.run(go())

    assert bot.inbox.contents == ["before", "after"]
    assert bot.logged("poll_works_again")


def test_a_connection_that_is_cut_unseen_is_given_up(bot):
    async def go():
        async with bot.listening(silence_s=0.3):
            bot.platform.mute = True
            await bot.platform.until(lambda: bot.inbox.failures)
            bot.platform.mute = False
            await bot.platform.until(lambda: bot.platform.listeners)
            bot.platform.post("after")
            await bot.settle(1)
    asyncio.run(go())

    assert bot.inbox.contents == ["after"]


def test_keep_alives_are_receives(bot):
    async def go():
        async with bot.listening(silence_s=0.4):
            for _ in range(8):
                await asyncio.sleep(0.1)
                bot.platform.keep_alive()
            heard = bot.inbox.heard
            bot.platform.keep_alive()
            await bot.platform.until(lambda: bot.inbox.heard > heard)
    asyncio.run(go())

    assert bot.inbox.failures == []


def test_headers_may_come_late(bot):
    """0.13 sends them with its first keep-alive."""
    bot.platform.headers_late_s = 0.3

    (message,) = bot.hears("hello", silence_s=5.0)

    assert message.content == "hello"
    assert bot.inbox.failures == []


@pytest.mark.parametrize("kind", ["status", "html", "reset", "half"])
def test_a_refused_stream_is_asked_for_again(bot, kind):
    bot.platform.fault("events", kind, 2)

    assert [m.content for m in bot.hears("hello")] == ["hello"]
    assert bot.slept


def test_an_account_that_is_not_there_is_told(bot):
    with pytest.raises(AuthError) as caught:
        bot.hears("hello", account="+4999999999")

    assert "no account" in caught.value.message
    assert "listAccounts" in caught.value.hint


def test_several_accounts_of_one_daemon_are_told_apart(bot):
    bot.platform.accounts.append("+4930000077")

    assert bot.hears("hello")
    with pytest.raises(AuthError, match="valid account"):
        bot.sends("hi", account="")


def test_the_account_may_be_an_aci(bot):
    assert bot.hears("hello", account=OWN_ACI)
    assert bot.sends("hi", account=OWN_ACI.upper().lower())


def test_a_daemon_of_one_account_needs_none(tmp_path):
    from tests.channels.signal.conftest import Bot
    with FakeSignal(single=True) as platform:
        bot = Bot(platform, tmp_path)

        assert bot.hears("hello", account="")
        assert bot.sends("hi", account="")


# -- what was handed over is in our hands

def test_what_could_not_be_kept_is_there_after_the_next_start(bot):
    bot.inbox.broken = StorageError("the disk is full")
    with pytest.raises(StorageError):
        bot.hears("hello", count=2)
    bot.inbox.broken = None
    bot.hears(count=1)

    assert bot.inbox.contents == ["hello"]


def test_an_event_is_written_down_before_it_is_handled(bot):
    async def go():
        stuck = asyncio.Event()

        async def hold(message):
            stuck.set()
            await asyncio.sleep(60)
        bot.inbox.put = hold
        async with bot.listening():
            bot.platform.post("one")
            bot.platform.post("two")
            await stuck.wait()
            await asyncio.sleep(0.05)
            (file,) = (bot.workspace / "state" / "signal").iterdir()
            return file.read_text(), file.stat().st_mode & 0o777
    text, mode = asyncio.run(go())

    assert "one" in text
    assert "two" in text
    assert mode == 0o600


def test_what_was_handled_leaves_nothing_behind(bot):
    bot.hears("one", "two")

    (file,) = (bot.workspace / "state" / "signal").iterdir()
    assert file.read_text() == ""


def test_half_a_line_of_a_killed_process_is_left_out(tmp_path):
    (tmp_path / "j").write_bytes(b'"first"\n"sec')
    journal = Journal(tmp_path, "j", lambda *_, **__: None)
    journal.load()
    journal.add("third")
    again = Journal(tmp_path, "j", lambda *_, **__: None)
    again.load()

    assert [len(journal), journal.first()] == [2, "first"]
    journal.done()
    assert journal.first() == "third"
    assert len(again) == 2


def test_a_journal_that_cant_be_written_says_so_once_and_holds(tmp_path):
    logged = []
    (tmp_path / "j").mkdir()
    journal = Journal(tmp_path, "j", lambda *event, **_: logged.append(event))
    journal.add("one")
    journal.add("two")

    assert len(journal) == 2
    assert logged == [("journal_failed",)]
