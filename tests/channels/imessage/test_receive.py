"""What is read from chat.db, and what is left out."""

import asyncio
import plistlib
from pathlib import Path

import pytest

from claw.channels.imessage.rows import to_apple
from claw.core.labels import ATTACHMENT
from claw.testing.contracts.stage import KeepingInbox, run_listener, until
from claw.testing.fake_imessage import person
from claw.testing.fake_imessage.store import OWN, apple_now, archive

OTHER = person(1002)


def contents(messages):
    return [message.content for message in messages]


def test_the_first_start_reads_nothing_old(place):
    place.marks.set("at", None)
    place.platform.say("long ago")

    heard = place.hear(say=lambda: place.platform.say("now"))

    assert contents(heard) == ["now"]


def test_what_was_said_while_claw_was_away_is_read_once(place):
    place.hear(say=lambda: place.platform.say("one"))
    place.platform.say("two")

    heard = place.hear(say=lambda: place.platform.say("three"))

    assert contents(heard) == ["two", "three"]


def test_a_private_chat_is_its_person(place):
    (message,) = place.hear(allowed_users=("Al@Example.org",), say=lambda:
                            place.platform.say("hi", who="al@example.org"))

    assert message.sender == message.reply_target == "al@example.org"


@pytest.mark.parametrize("columns", [
    {"is_from_me": 1}, {"associated_message_type": 2000},
    {"associated_message_type": 3007}, {"associated_message_type": 1000},
    {"item_type": 1}, {"who": OTHER}, {"who": OWN}, {"service": "SMS"},
    {"service": "RCS"}, {"date": to_apple(1_700_000_000)}],
    ids=lambda columns: "-".join(map(str, columns.values())))
def test_what_is_not_for_us_is_left_out(place, columns):
    place.platform.say("not this", **columns)

    heard = place.hear(say=lambda: place.platform.say("this"),
                       allowed_users=(person(), OWN))

    assert contents(heard) == ["this"]


def test_sms_is_taken_where_it_is_wanted(place):
    (message,) = place.hear(sms=True, say=lambda: place.platform.say(
        "green", service="SMS"))

    assert message.content == "green"


def test_a_group_is_answered_in_the_group(place):
    (message,) = place.hear(say=lambda: place.platform.say(
        "all", group="chat77"))

    assert message.reply_target == "group:chat77"
    assert message.sender == person()


def test_in_a_group_only_what_names_us_where_that_is_wanted(place):
    def say():
        place.platform.say("just talk, clawed", group="chat77")
        place.platform.say("Claw, what now?", group="chat77")
        place.platform.say("yes k7m3p", group="chat77")
        place.platform.say("private")

    heard = place.hear(3, say=say, mention_only=True)

    assert contents(heard) == ["what now?", "yes k7m3p", "private"]


def test_an_answered_message_is_quoted_and_foreign_words_are_labelled(place):
    asked = place.platform.say("buy now", who=OTHER, group="chat77")

    (message,) = place.hear(say=lambda: place.platform.say(
        "what of it?", group="chat77",
        thread_originator_guid=place.platform.guid(asked)))

    assert message.content == (f"> [Reply to {OTHER}]\n> buy now\n\n"
                               "what of it?")
    assert message.labels == ("quoted",)
    assert message.thread_ts is None


def test_an_edit_comes_as_one(place):
    rowid = place.platform.say("frist")

    def edit():
        place.platform.change(
            rowid, date_edited=apple_now(), attributedBody=None,
            message_summary_info=plistlib.dumps({"ec": {"0": [
                {"d": 1.0, "t": archive("frist")},
                {"d": 2.0, "t": archive("first")}]}},
                fmt=plistlib.FMT_BINARY))

    first = place.hear()
    (edited,) = place.hear(say=edit)

    assert contents(first) == ["frist"]
    assert edited.content == "[Edited] first"
    assert edited.id.startswith(first[0].id)
    assert edited.id != first[0].id


def test_files_are_saved_and_strangers_files_are_not(place):
    def say():
        place.platform.say("\ufffc", files=(
            ("a.png", b"png", "image/png"),
            ("b.heic", b"heic", "image/heic"),
            ("x.pluginPayloadAttachment", b"p", "")))
        place.platform.say("\ufffc", who=OTHER, files=(
            ("../../c.txt", b"text", "text/plain"),))

    mine, theirs = place.hear(2, say=say, allowed_users=(person(), "*"))

    assert [Path(a.path).read_bytes() for a in mine.attachments] == [
        b"png", b"heic"]
    assert "HEIC" in mine.content
    assert mine.labels == (ATTACHMENT,)
    assert theirs.attachments == ()
    assert "c.txt could not be fetched" in theirs.content


def test_a_recording_is_a_voice_note(place):
    (message,) = place.hear(say=lambda: place.platform.say(
        "\ufffc", is_audio_message=1,
        files=(("Audio Message.caf", b"caf", "audio/x-caf"),)))

    assert message.content == "[Voice]"
    assert message.attachments


def test_a_file_outside_of_messages_folder_is_not_read(place, tmp_path):
    (tmp_path / "secret").write_text("secret")
    place.platform.say("look", files=(("a", b"", "text/plain"),))
    with place.platform.store.open() as db:
        db.execute("UPDATE attachment SET filename = ?",
                   (str(tmp_path / "secret"),))

    (message,) = place.hear()

    assert message.attachments == ()
    assert "could not be fetched" in message.content


def test_a_row_waits_for_its_chat_and_keeps_the_order(place):
    rowid = place.platform.say("one")
    with place.platform.store.open() as db:
        (chat,) = db.execute("SELECT chat_id FROM chat_message_join"
                             ).fetchone()
        db.execute("DELETE FROM chat_message_join")
    place.platform.say("two")

    def join():
        with place.platform.store.open() as db:
            db.execute("INSERT INTO chat_message_join (chat_id, message_id) "
                       "VALUES (?, ?)", (chat, rowid))

    assert contents(place.hear(2, say=join)) == ["one", "two"]


def test_a_deleted_message_is_no_other_database(place):
    place.hear(say=lambda: place.platform.say("one"))
    with place.platform.store.open() as db:
        db.execute("DELETE FROM message")

    heard = place.hear(say=lambda: place.platform.say("two"))

    assert contents(heard) == ["two"]
    assert "database_replaced" not in place.logged


def test_a_database_that_was_put_back_is_read_on(place):
    place.platform.say("old")
    place.platform.say("newer")
    place.hear(2)
    place.platform.store.path.unlink()
    for rest in place.platform.store.folder.glob("chat.db-*"):
        rest.unlink()
    place.platform.store.create()

    heard = place.hear(say=lambda: place.platform.say("after"))

    assert contents(heard) == ["after"]
    assert "database_replaced" in place.logged


def test_columns_of_later_systems_may_be_missing(place):
    with place.platform.store.open() as db:
        for name in ("date_edited", "thread_originator_guid",
                     "destination_caller_id", "message_summary_info"):
            db.execute(f"ALTER TABLE message DROP COLUMN {name}")

    (message,) = place.hear(say=lambda: _say_plain(place))

    assert message.content == "old Mac"


def _say_plain(place):
    with place.platform.store.open() as db:
        chat = place.platform.store.find_chat(db, person())
        place.platform.store.write(
            db, chat, "old Mac", handle_id=place.platform.store.find_handle(
                db, person(), "iMessage"))


def test_any_types_in_a_row_stop_nothing(place):
    place.platform.change(
        place.platform.say("x"), text=b"\xff\xfe", attributedBody="no blob",
        thread_originator_guid=7, service=b"\xff",
        message_summary_info=b"bplist00")
    place.platform.change(place.platform.say("y"), date="soon",
                          date_edited="never")

    heard = place.hear(say=lambda: place.platform.say("fine"))

    assert contents(heard) == ["fine"]


def test_a_locked_or_missing_database_is_waited_for(place):
    path = place.platform.store.path
    away = path.with_name("away")
    path.rename(away)

    def bring_back():
        away.rename(path)
        place.platform.say("back")

    async def work():
        inbox = KeepingInbox()
        async with run_listener(place.make(), inbox):
            await until(lambda: inbox.failures)
            bring_back()
            await until(lambda: inbox.messages)
        return inbox

    inbox = asyncio.run(work())

    assert "no database here" in inbox.failures[0]
    assert inbox.contents == ["back"]
