"""Which mails are read, how often, and when they are marked."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta

import pytest

from claw.core.errors import AuthError
from claw.testing.contracts.stage import until


def ago(**how):
    return datetime.now(UTC) - timedelta(**how)


def contents(post):
    return [m.content for m in post.inbox.messages]


def test_the_first_start_answers_the_last_hour_and_nothing_older(post, mail):
    mail.post("years old", at=ago(days=900))
    mail.post("yesterday", at=ago(hours=20))
    mail.post("read already").flags.add("\\Seen")
    mail.post("just now")

    post.hears()

    assert contents(post) == ["just now"]
    assert [("\\Seen" in m.flags) for m in mail.inbox.mails] == [
        False, False, True, True]


def test_what_came_while_we_were_away_is_taken_read_or_not(post, mail):
    mail.post("one")
    post.hears()
    mail.post("two").flags.add("\\Seen")
    mail.post("three", at=ago(hours=-0))

    post.hears(3)

    assert contents(post) == ["one", "two", "three"]


def test_a_restart_repeats_nothing(post, mail):
    mail.post("one")
    post.hears()
    mail.post("two")

    post.hears(2)

    assert contents(post) == ["one", "two"]


def test_a_mailbox_that_is_numbered_anew_loses_nothing(post, mail):
    mail.post("one")
    post.hears()
    first = post.inbox.messages[0].id
    mail.post("two")
    mail.inbox.mails.insert(0, mail.inbox.mails.pop())
    mail.inbox.renumber()

    post.hears(2)

    found = {m.content: m.id for m in post.inbox.messages}
    assert {"one", "two"} == set(found)
    assert found["one"] == first  # so that the queue knows it
    assert post.logged("mail.renumbered")


def test_a_mailbox_that_begins_anew_and_does_not_say_so_is_read(post, mail):
    mail.post("one")
    mail.post("two")
    post.hears(2)
    mail.inbox.mails.clear()
    mail.inbox.next_uid = 1
    mail.post("three")

    post.hears(3)

    assert contents(post) == ["one", "two", "three"]


def test_an_old_mail_that_is_moved_here_is_not_answered(post, mail):
    mail.post("one")
    post.hears()
    mail.post("from the archive", at=ago(days=30))
    mail.post("two")

    post.hears(2)

    assert contents(post) == ["one", "two"]
    assert post.logged("mail.moved")


@pytest.mark.parametrize("clock", [0.0, 4e9])
def test_a_clock_that_is_wrong_loses_nothing_new_and_answers_nothing_old(
        post, mail, clock):
    mail.post("years old", at=ago(days=900))
    mail.post("read").flags.add("\\Seen")
    post.wall = clock
    post.hears(0)

    mail.post("new")
    post.hears(1)
    post.wall = time.time()
    mail.post("newer")

    post.hears(2)

    assert contents(post) == ["new", "newer"]


def test_news_come_by_idle_and_without_it(post, mail):
    async def go(**given):
        async with post.listening(**given):
            await until(mail.connections)
            await asyncio.sleep(0.2)
            mail.post("hello")
            await until(lambda: post.inbox.messages)
    asyncio.run(go())
    post.inbox.messages.clear()
    mail.capabilities = "UIDPLUS"

    asyncio.run(go(idle_timeout_secs=1))

    assert contents(post) == ["hello"]


@pytest.mark.parametrize("strike", ["restart", "reset", "stall"])
def test_a_server_that_goes_is_asked_again(post, mail, strike, monkeypatch):
    monkeypatch.setattr("claw.channels.email.mailbox.READ_S", 0.5)

    async def go():
        async with post.listening(idle_timeout_secs=1):
            mail.post("one")
            await until(lambda: post.inbox.messages)
            if strike == "restart":
                await asyncio.to_thread(mail.down)
                await asyncio.sleep(0.1)
                mail.up()
            elif strike == "reset":
                await asyncio.to_thread(mail.kill_connections)
            else:  # the connection is open, and nobody answers
                mail.faults.add("SEARCH", "stall")
            mail.post("two")
            await until(lambda: "two" in contents(post))
    asyncio.run(go())

    # The first may come again, under its id, where its mark was lost.
    assert list(dict.fromkeys(contents(post))) == ["one", "two"]
    if strike == "stall":
        assert any("no answer" in why for why in post.inbox.failures)


def test_a_mail_that_breaks_the_connection_does_not_stop_the_others(
        post, mail):
    async def go():
        async with post.listening():
            mail.post("one")
            await until(lambda: post.inbox.messages)
            # The headers come, and the whole mail never does.
            for _ in range(3):
                mail.faults.add("FETCH", "delay")
                mail.faults.add("FETCH", "reset")
            mail.post("two", subject="broken")
            await until(lambda: len(post.inbox.messages) == 2)
            mail.post("three")
            await until(lambda: len(post.inbox.messages) == 3)
    asyncio.run(go())

    assert "could not be fetched" in post.inbox.messages[1].content
    assert contents(post)[2] == "three"


@pytest.mark.parametrize(("step", "told"), [
    ("open_mail", ["Subject: odd\n\n(the mail could not be fetched: it failed "
                   "each time)", "well"]),
    ("find_robot", ["well"])])
def test_a_mail_that_nobody_foresaw_stops_no_other(
        post, mail, monkeypatch, step, told):
    import claw.channels.email.intake as module
    real = getattr(module, step)

    def trip(*given):
        if given[-1] == len(odd.raw) or (
                step == "find_robot" and given[0].subject == "odd"):
            raise RuntimeError("what nobody foresaw")
        return real(*given)

    monkeypatch.setattr(module, step, trip)
    odd = mail.post("first", subject="odd")
    mail.post("well")
    channel = post.make()

    async def go():
        for _ in range(10):  # as the supervisor starts it again
            task = asyncio.create_task(channel.listen(post.inbox))
            await until(lambda task=task: task.done() or post.is_read())
            if not task.done():
                task.cancel()
                break
            assert isinstance(task.exception(), RuntimeError)
        await asyncio.gather(task, return_exceptions=True)
    asyncio.run(go())

    assert contents(post) == told


def test_a_wrong_password_is_an_auth_error(post):
    with pytest.raises(AuthError) as error:
        post.hears(password="wrong-password")

    assert "wrong-password" not in str(error.value)
    assert "password" in error.value.hint


def test_a_folder_without_marks_is_read_all_the_same(post, mail):
    mail.faults.add("STORE", "status", times=None)
    mail.post("one")
    mail.post("two")

    post.hears(2)

    assert contents(post) == ["one", "two"]
    assert len(post.logged("mail.no_seen")) == 1


def test_tokens_are_asked_for_anew_when_one_is_refused(post, mail, tmp_path):
    given = tmp_path / "token"
    given.write_text("an-old-token")
    count = tmp_path / "count"
    script = tmp_path / "give"
    script.write_text(f"#!/bin/sh\necho x >> {count}\ncat {given}\n"
                      f"echo -n {mail.token} > {given}\n")
    script.chmod(0o700)
    mail.post("hello")

    post.hears(password="", oauth_command=str(script))
    post.make(password="", oauth_command=str(script))

    assert contents(post) == ["hello"]
    assert count.read_text() == "x\nx\n"


def test_a_mark_of_another_form_is_none(post, mail):
    post.marks.set("read:agent@fake.test@127.0.0.1/INBOX", json.dumps([1]))
    mail.post("hello")

    assert post.hears()[0].content == "hello"
