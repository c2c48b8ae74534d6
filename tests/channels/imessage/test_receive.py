"""What people write in Messages."""


from claw.core.channel import Marks
from claw.testing.fake_imessage import person
from claw.testing.fake_imessage.store import apple_now, archive


async def test_words_that_stand_in_the_body_alone_are_read(desk, mac):
    """macOS 26 leaves `text` empty."""
    async with desk().listening() as here:
        mac.say("hello 世界")
        message = await here.until(1)

    assert message.content == "hello 世界"
    assert message.sender == message.reply_target == person()
    assert message.channel == "imessage"
    assert message.labels == ()


async def test_the_first_start_reads_nothing_old(desk, mac):
    mac.say("long ago")
    async with desk(fresh=True).listening() as here:
        await here.wait_for(lambda: here.marks.get("at"))
        mac.say("now")
        message = await here.until(1)

    assert message.content == "now"


async def test_what_came_while_nobody_listened_is_read_once(desk, mac):
    async with desk().listening() as here:
        mac.say("first")
        await here.until(1)
    mac.say("meanwhile")
    async with desk().listening() as again:
        message = await again.until(1)

    assert message.content == "meanwhile"
    assert len(again.taken) == 1


async def test_own_messages_and_tapbacks_are_not_answered(desk, mac):
    async with desk().listening() as here:
        mac.say("mine", is_from_me=1)
        mac.say("Liked “x”", associated_message_type=2001)
        mac.say("real")
        message = await here.until(1)

    assert message.content == "real"
    assert len(here.taken) == 1


async def test_an_sms_is_left_out_unless_the_settings_take_it(desk, mac):
    async with desk().listening() as here:
        mac.say("forged number", service="SMS")
        mac.say("real")
        assert (await here.until(1)).content == "real"
    assert [event for event, _ in here.events] == ["sms_left_out"]


async def test_strangers_are_not_let_in_and_pair_by_the_code(desk, mac):
    async with desk(allowed_users=()).listening() as here:
        await here.wait_for(lambda: here.events)
        code = here.events[0][1]["code"]
        mac.say("hello", who=person(1002))
        mac.say(f"/bind {code}", who=person(1003))
        await here.wait_for(
            lambda: "You are paired" in str(mac.shown(person(1003))))
        mac.say("now I am somebody", who=person(1003))
        message = await here.until(1)

    assert message.sender == person(1003)
    assert mac.shown(person(1002)) == []


async def test_in_groups_only_what_names_claw_where_wanted(desk, mac):
    async with desk(mention_only=True).listening() as here:
        mac.say("just us", group="chat123")
        mac.say("Claw, what time is it?", group="chat123")
        message = await here.until(1)

    assert message.content == "what time is it?"
    assert message.reply_target != message.sender


async def test_a_file_is_fetched_and_a_voice_note_is_one(desk, mac):
    async with desk().listening() as here:
        mac.say("\ufffc", files=(("note.caf", b"caff", "audio/x-caf"),),
                is_audio_message=1)
        mac.say("\ufffclook", files=(("a.png", b"\x89PNG", "image/png"),))
        await here.until(2)

    voice, picture = here.taken
    assert voice.content == "[Voice]"
    assert "[IMAGE:" in picture.content
    assert "look" in picture.content
    assert picture.attachments[0].size_bytes == 4


async def test_a_database_that_was_built_anew_brings_nothing_twice(
        desk, mac):
    async with desk().listening() as here:
        mac.say("one")
        mac.say("two")
        await here.until(2)
    first = [message.id for message in here.taken]
    with mac.store.open() as db:  # the rows get other numbers
        db.execute("UPDATE message SET ROWID = ROWID + 100")
        db.execute("UPDATE chat_message_join SET message_id = "
                   "message_id + 100")
    async with desk().listening() as again:
        mac.say("three")
        await again.until(1)
        await again.wait_for(
            lambda: "three" in [m.content for m in again.taken])

    # What is read again has the ids that it had: the queue knows them.
    assert {m.id for m in again.taken if m.content != "three"} <= set(first)


async def test_an_edit_is_read_as_one(desk, mac):
    async with desk().listening() as here:
        rowid = mac.say("at five")
        await here.until(1)
        mac.change(rowid, attributedBody=archive("at six"),
                   date_edited=apple_now())
        message = await here.until(2)

    assert message.content == "[Edited] at six"
    assert message.id != here.taken[0].id


def test_marks_of_another_form_are_no_fault(desk):
    here = desk()
    here.marks.set("at", "{}")
    assert isinstance(here.marks, Marks)
    assert here.channel._listener._at() is None
