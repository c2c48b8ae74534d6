"""Who may write: allow-list, pairing, strangers, groups, buttons."""

import asyncio

import pytest

# -- strangers

def test_a_stranger_gets_one_hint_an_hour_and_no_further(platform, bot):
    async def go():
        async with bot.listening(allowed_users=("owner",)):
            for n in range(3):
                platform.post(f"let me in {n}", user_id=77)
            await platform.until(lambda: platform.pending() == 0)
            bot.now += 3601
            platform.post("again", user_id=77)
            await platform.until(lambda: len(platform.answers()) == 2)
    asyncio.run(go())

    assert bot.inbox.messages == []
    assert "77" in platform.answers()[0]
    assert "allowed_users" in platform.answers()[0]
    assert "/bind" not in platform.answers()[0]
    assert [f["id"] for f in bot.logged("stranger")] == [77, 77]


def test_strangers_hear_nothing_where_the_hint_is_off(platform, bot):
    bot.hears(0, "hello", allowed_users=("owner",),
              show_hint_to_strangers=False)
    assert platform.answers() == []
    assert bot.logged("stranger")


def test_strangers_in_groups_get_nothing(platform, bot):
    bot.hears(0, {"text": "/bind 000000", "chat_id": -5},
              {"text": "hello", "chat_id": -5}, allowed_users=("owner",))
    assert platform.answers() == []
    assert bot.inbox.messages == []


# -- pairing

def pairing(bot, *texts, until, **fields):
    """Send texts to a bot that allows nobody; `{code}` is its code."""
    async def go():
        async with bot.listening(allowed_users=()):
            await bot.platform.until(lambda: bot.logged("pairing"))
            code = bot.logged("pairing")[0]["code"]
            for text in texts:
                bot.platform.post(text.replace("{code}", code), **fields)
            await bot.platform.until(until)
        return code
    return asyncio.run(go())


def test_the_code_of_the_log_lets_its_sender_in(platform, bot):
    code = pairing(bot, "hello", "/bind {code}", "now?", user_id=1001,
                   until=lambda: bot.inbox.messages)

    assert len(code) == 6
    assert code.isdigit()
    assert bot.remembered == ["1001"]
    assert "/bind" in platform.answers()[0]
    assert platform.answers()[1] == "You are paired."
    assert bot.inbox.contents == ["now?"]
    assert bot.logged("paired")[0]["saved"] is True
    assert len(bot.logged("pairing")) == 1


def test_a_pairing_that_cannot_be_kept_says_so(platform, bot):
    bot.saves = False
    pairing(bot, "/bind@claw_test_bot  {code} ",
            until=lambda: platform.answers())
    assert "config.toml could not be changed" in platform.answers()[0]
    assert "1001" in platform.answers()[0]


def test_a_code_works_once(platform, bot):
    async def go():
        async with bot.listening(allowed_users=()):
            await platform.until(lambda: bot.logged("pairing"))
            code = bot.logged("pairing")[0]["code"]
            platform.post(f"/bind {code}")
            platform.post(f"/bind {code}", chat_id=2002, username="bob")
            platform.post("hi", chat_id=2002, username="bob")
            await platform.until(lambda: platform.pending() == 0)
    asyncio.run(go())

    assert bot.remembered == ["1001"]
    assert "not allowed" in platform.answers(2002)[0]
    assert bot.inbox.messages == []


def test_five_wrong_codes_lock_the_chat(platform, bot):
    async def go():
        async with bot.listening(allowed_users=()):
            await platform.until(lambda: bot.logged("pairing"))
            code = bot.logged("pairing")[0]["code"]
            wrong = "000000" if code != "000000" else "111111"
            for _ in range(5):
                platform.post(f"/bind {wrong}")
            platform.post(f"/bind {code}")
            await platform.until(lambda: platform.pending() == 0)
            assert bot.remembered == []
            bot.now += 300
            platform.post(f"/bind {code}")
            await platform.until(lambda: bot.remembered)
    asyncio.run(go())

    assert platform.answers()[3] == "That code is not valid."
    assert "Try again in 300 seconds" in platform.answers()[4]


def test_a_flood_of_codes_leaves_no_flood_of_answers(platform, bot):
    """Each was a row of the outbox, before what the owner waits for."""
    async def go():
        async with bot.listening(allowed_users=()):
            await platform.until(lambda: bot.logged("pairing"))
            code = bot.logged("pairing")[0]["code"]
            for _ in range(50):
                platform.post("/bind 1", chat_id=2002, username="bob")
            platform.post(f"/bind {code}")
            for _ in range(50):
                platform.post("/bind 2", chat_id=3003, username="eve")
            await platform.until(lambda: platform.pending() == 0)
            await platform.until(lambda: platform.answers(3003))
    asyncio.run(go())

    assert bot.remembered == ["1001"]
    assert len(platform.answers(2002)) == 6  # five codes and one hint
    assert len(platform.answers(3003)) == 1


def test_no_code_is_made_where_somebody_is_allowed(platform, bot):
    bot.hears("hello")
    assert bot.logged("pairing") == []


def test_a_bind_of_an_allowed_person_is_no_prompt(platform, bot):
    bot.hears(1, "/bind 123456", "hello")
    assert bot.inbox.contents == ["hello"]
    assert platform.answers() == ["You are already allowed."]


def test_codes_for_nothing_are_answered_once_an_hour(platform, bot):
    bot.hears(1, *["/bind 123456"] * 5, "hello")
    assert platform.answers() == ["You are already allowed."]


# -- groups and bots

def test_in_groups_only_mentions_count_where_that_is_set(platform, bot):
    bot.hears(2, {"text": "hello all", "chat_id": -5},
              {"text": "@claw_test_bot", "chat_id": -5},
              {"text": "hey @claw_test_bot, you?", "chat_id": -5},
              {"text": "private", "chat_id": 1001}, mention_only=True)
    assert bot.inbox.contents == ["hey , you?", "private"]


def test_bots_are_not_answered(platform, bot):
    bot.hears(1, {"text": "beep", "from": {
        "id": 8, "is_bot": True, "first_name": "B", "username": "b_bot"}},
        "human")
    assert bot.inbox.contents == ["human"]


# -- buttons

def pressed(bot, data="approve:1", **who):
    platform = bot.platform
    platform.post("question")
    number = platform._world.new_message(1001, {
        "from": platform.bot, "text": "?"})["message_id"]

    async def go():
        async with bot.listening(allowed_users=("alice",)):
            await platform.until(lambda: bot.inbox.messages)
            platform.press(number, data, **who)
            await platform.until(lambda: platform.answered_queries)
    asyncio.run(go())
    return bot.inbox.messages[1:]


def test_a_pressed_button_comes_as_an_action_and_is_answered(platform, bot):
    found, = pressed(bot)

    assert (found.kind, found.content) == ("action", "approve:1")
    assert (found.sender, found.reply_target) == ("1001", "1001")
    assert (found.sender_name, found.labels) == ("alice", ())
    assert found.id.startswith("telegram_cb_4")
    answer, = platform.answered_queries
    assert "text" not in answer


def test_a_button_pressed_by_a_stranger_does_nothing(platform, bot):
    assert pressed(bot, username="mallory", user_id=666) == []
    answer, = platform.answered_queries
    assert answer["text"] == "You are not allowed to do this."


@pytest.mark.parametrize(("allowed", "everyone", "labels"), [
    (("*",), True, ("stranger",)),
    (("*", "1001"), False, ()),
    (("*", "alice"), False, ()),
    (("*", "2002"), False, ("stranger",)),
])
def test_beside_everybody_those_who_are_named_are_the_owners(
        bot, allowed, everyone, labels):
    message, = bot.hears("hello", allowed_users=allowed,
                         allow_everyone=everyone)

    assert message.labels == labels


# -- people keep their ids

def test_a_renamed_person_stays_the_one_who_was_let_in(platform, bot):
    said = bot.hears({"text": "one"}, {"text": "two", "username": "alicia"},
                     {"text": "three", "username": None},
                     allowed_users=("alice",))

    assert [(m.content, m.sender) for m in said] == [
        ("one", "1001"), ("two", "1001"), ("three", "1001")]


def test_who_takes_the_name_later_is_refused_and_reported(platform, bot):
    said = bot.hears(
        1, {"text": "mine"}, {"text": "mine now", "chat_id": 1002},
        {"text": "and here", "chat_id": -5, "user_id": 1002},
        allowed_users=("alice",))

    assert [m.sender for m in said] == ["1001"]
    rejected, = bot.logged("name.rejected")
    assert (rejected["id"], rejected["holder"]) == (1002, "1001")
    assert "add 1002" in rejected["hint"]


def test_a_button_of_who_took_the_name_does_nothing(platform, bot):
    assert pressed(bot, user_id=666) == []
    answer, = platform.answered_queries
    assert answer["text"] == "You are not allowed to do this."


def test_wrong_codes_of_a_crowd_do_not_lock_the_owner_out(platform, bot):
    async def go():
        async with bot.listening(allowed_users=()):
            await platform.until(lambda: bot.logged("pairing"))
            code = bot.logged("pairing")[0]["code"]
            wrong = "000000" if code != "000000" else "111111"
            for chat in range(5001, 5041):
                platform.post(f"/bind {wrong}", chat_id=chat, username=None)
            await platform.until(lambda: platform.pending() == 0)
            platform.post(f"/bind {code}")
            await platform.until(lambda: platform.answers(1001))
    asyncio.run(go())

    assert bot.remembered == ["1001"]
    assert platform.answers(1001) == ["You are paired."]
