"""Catching up: what was said while nobody listened."""

import asyncio


def run(work):
    asyncio.run(work)


async def meet(app, platform, text="known"):
    """Listen for the first time, until a message came."""
    async with app.listening():
        platform.say(text)
        await app.hears(1)


def test_the_first_start_reads_nothing_old(app, platform):
    platform.tells = False
    platform.say("old")
    platform.say("old", "oc_2000")
    platform.tells = True

    run(meet(app, platform))

    assert app.inbox.contents == ["known"]
    assert platform.list_calls("list") == []


def test_what_was_said_meanwhile_is_read_in_order(app, platform):
    async def work():
        await meet(app, platform)
        platform.tells = False
        for n in range(120):
            platform.say(f"m{n}")
        platform.say("in a group", "oc_2000")
        platform.tells = True
        async with app.listening():
            await app.until(lambda: "in a group" in app.inbox.contents)

    run(work())

    kept = list(dict.fromkeys((m.id, m.content) for m in app.inbox.messages))
    assert [text for _, text in kept] == [
        "known", *(f"m{n}" for n in range(120)), "in a group"]


def test_what_was_read_in_a_cut_is_read_after_it(app, platform):
    async def work():
        async with app.listening():
            platform.say("before")
            await app.hears(1)
            platform.tells = False
            platform.say("meanwhile")
            platform.tells = True
            platform.kill_connections()
            await app.until(lambda: len(app.inbox.messages) >= 2)

    run(work())

    assert app.inbox.contents == ["before", "meanwhile"]


def test_replies_in_a_thread_are_read_too(app, platform):
    async def work():
        root = None
        async with app.listening():
            root = platform.say("root", "oc_2000")
            platform.say("reply", "oc_2000", root_id=root,
                         parent_id=root, thread_id="omt_1")
            await app.hears(2)
        platform.tells = False
        platform.say("later", "oc_2000", root_id=root, parent_id=root,
                     thread_id="omt_1")
        platform.tells = True
        async with app.listening():
            await app.until(lambda: "later" in app.inbox.contents)

    run(work())

    assert next(m for m in app.inbox.messages
                if m.content == "later").thread_ts


def test_a_message_that_was_withdrawn_is_not_read(app, platform):
    async def work():
        await meet(app, platform)
        platform.tells = False
        platform.world.find(platform.say("no"))["deleted"] = True
        platform.say("yes")
        platform.tells = True
        async with app.listening():
            await app.until(lambda: "yes" in app.inbox.contents)

    run(work())

    assert "no" not in app.inbox.contents


def test_a_chat_that_can_not_be_read_holds_up_no_other(app, platform):
    async def work():
        async with app.listening():
            platform.say("one", "oc_2000")
            platform.say("two")
            await app.hears(2)
        platform.tells = False
        platform.say("three")
        platform.tells = True
        platform.fault("list", "status", status=400,
                       parameters={"code": 230027})
        async with app.listening():
            await app.until(lambda: "three" in app.inbox.contents)

    run(work())

    assert "scope" in app.logged("chat_not_read")[0]["hint"]


def test_a_history_that_fails_is_read_again(app, platform):
    async def work():
        await meet(app, platform)
        platform.tells = False
        platform.say("later")
        platform.tells = True
        platform.fault("list", "status", status=500)
        platform.fault("list", "html", status=502)
        async with app.listening():
            await app.until(lambda: "later" in app.inbox.contents)

    run(work())

    assert app.logged("catch_up_failed")


def test_a_bad_row_holds_up_no_other(app, platform):
    async def work():
        await meet(app, platform)
        platform.tells = False
        platform.world.add("oc_1001", {"id": "../", "sender_type": "user"},
                           "text", "{}")
        platform.say("good")
        platform.tells = True
        async with app.listening():
            await app.until(lambda: "good" in app.inbox.contents)

    run(work())


def test_the_marks_of_chats_are_bounded(app, platform):
    from claw.channels.lark.events import Incoming
    from claw.channels.lark.history import MOST_CHATS, MOST_THREADS

    async def work():
        channel = app.make()
        history = channel._receiver._history
        for n in range(500):
            history.note(Incoming(f"om_{n}", f"oc_{n}", True, "ou_1", n,
                                  "text", {}), is_ours=True)
            history.note(Incoming(f"om_t{n}", "oc_1", True, "ou_1", n,
                                  "text", {}, {}, "om_r", "om_r",
                                  f"omt_{n}"), is_ours=True)
        await channel.aclose()
        return history

    history = asyncio.run(work())
    assert len(app.marks.keys()) <= MOST_CHATS + 2
    assert len(history._read_threads()) == MOST_THREADS


def test_a_long_thread_is_read_from_its_end(app, platform):
    async def work():
        now = platform.world.clock
        platform.world.clock = lambda: now() - 3600
        root = platform.say("root", "oc_2000")
        platform.tells = False
        inside = {"root_id": root, "parent_id": root, "thread_id": "omt_1"}
        for n in range(300):
            platform.say(f"old{n}", "oc_2000", **inside)
        platform.world.clock = now
        platform.tells = True
        async with app.listening():
            platform.say("known", "oc_2000", **inside)
            await app.hears(2)
        platform.tells = False
        for n in range(60):
            platform.say(f"m{n}", "oc_2000", **inside)
        platform.tells = True
        async with app.listening():
            await app.until(lambda: "m59" in app.inbox.contents)

    run(work())

    texts = app.inbox.contents
    assert [t for t in texts if t.startswith("m")] == [
        f"m{n}" for n in range(60)]
    pages = [c for c in platform.list_calls("list")
             if c.query["container_id_type"] == "thread"]
    assert len(pages) <= 3


def test_what_comes_live_puts_no_mark_before_what_was_missed(app, platform):
    """The history can't be read for a while, somebody writes on, and claw
    is killed before it is read."""
    async def work():
        now = platform.world.clock
        platform.world.clock = lambda: now() - 600
        app.marks.set("since", str(int((now() - 700) * 1000)))
        await meet(app, platform)
        await asyncio.sleep(0.1)
        platform.tells = False
        platform.say("missed")
        platform.tells, platform.world.clock = True, now
        platform.fault("list", "status", None, status=500)
        async with app.listening():
            platform.say("live")
            await app.until(lambda: "live" in app.inbox.contents)
            await asyncio.sleep(0.05)
        platform.clear_faults()
        assert "missed" not in app.inbox.contents
        async with app.listening():
            await app.until(lambda: "missed" in app.inbox.contents)

    run(work())


def test_what_comes_live_is_marked_once_we_have_caught_up(app, platform):
    async def work():
        await meet(app, platform)
        async with app.listening() as channel:
            await app.until(lambda: platform.list_calls("list"))
            await channel.catch_up()
            number = platform.say("live")
            await app.until(lambda: "live" in app.inbox.contents)
            await app.until(lambda: not platform.pending())
        return platform.world.find(number)

    message = asyncio.run(work())
    assert app.marks.get("at:oc_1001") == (
        f"{message['create_time']} p {message['message_id']}")


def test_what_was_said_in_the_second_before_the_first_start_is_old(
        app, platform):
    async def work():
        platform.tells = False
        old = platform.world.find(platform.say("old"))
        app.marks.set("since", str(int(old["create_time"]) + 1))
        app.marks.set("at:oc_1001", "0 p")
        platform.say("new")
        async with app.listening():
            await app.until(lambda: "new" in app.inbox.contents)

    run(work())

    assert app.inbox.contents == ["new"]


def test_the_last_message_is_not_read_again_at_each_start(app, platform):
    platform.world.contents["img_1"] = b"png"

    async def work():
        async with app.listening():
            platform.post("image", {"image_key": "img_1"})
            await app.hears(1)
        for _ in range(2):
            platform.calls.clear()
            async with app.listening() as channel:
                await app.until(lambda: platform.list_calls("list"))
                await channel.catch_up()

    run(work())

    assert len(app.inbox.messages) == 1
    assert len(list(app.files.iterdir())) == 1
