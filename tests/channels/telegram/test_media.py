"""Files that people send: fetched, saved, never lost in silence."""

import asyncio

import pytest

from claw.core.errors import StorageError

PNG = b"\x89PNG\r\n\x1a\n"


def photo(platform, data=PNG, **fields):
    file_id = platform.add_file(data, "photos/file_1.jpg")
    return {"photo": [{"file_id": "small", "file_unique_id": "s",
                       "width": 1, "height": 1},
                      {"file_id": file_id, "file_unique_id": "u", "width": 9,
                       "height": 9, "file_size": len(data)}], **fields}


def file(platform, kind, data=b"data", path="documents/f.bin", **fields):
    return {kind: {"file_id": platform.add_file(data, path),
                   "file_unique_id": "u", **fields}}


def test_the_largest_photo_is_saved_and_marked(platform, bot):
    found, = bot.hears(photo(platform, caption="what is it?"))

    attachment, = found.attachments
    assert found.content == f"[IMAGE:{attachment.path}]\n\nwhat is it?"
    assert attachment.mime_type == "image/jpeg"
    assert attachment.size_bytes == len(PNG)
    saved, = bot.files.iterdir()
    assert str(saved) == attachment.path
    assert saved.read_bytes() == PNG
    assert saved.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("kind", "fields", "start", "mime"), [
    ("document", {"file_name": "notes.txt", "mime_type": "text/plain"},
     "[Document: notes.txt] ", "text/plain"),
    ("document", {"file_name": "scan.PNG", "mime_type": "image/png"},
     "[IMAGE:", "image/png"),
    ("document", {}, "[Document: document] ", None),
    ("voice", {"duration": 3, "mime_type": "audio/ogg"}, "[Voice]",
     "audio/ogg"),
    ("audio", {"duration": 3, "file_name": "song.m4a"},
     "[Audio: song.m4a] ", "audio/mpeg"),
    ("video", {"file_name": "clip.mp4"}, "[Video: clip.mp4] ", "video/mp4"),
    ("video_note", {"length": 5}, "[Video: video.mp4] ", "video/mp4"),
])
def test_each_kind_is_saved_with_its_line(platform, bot, kind, fields, start,
                                          mime):
    found, = bot.hears(file(platform, kind, b"content", **fields))

    attachment, = found.attachments
    assert found.content.startswith(start)
    assert attachment.mime_type == mime
    with open(attachment.path, "rb") as saved:
        assert saved.read() == b"content"


def test_an_animation_is_fetched_once_although_it_comes_twice(platform, bot):
    found, = bot.hears({**file(platform, "animation"),
                        **file(platform, "document", file_name="a.mp4")})
    assert len(found.attachments) == 1
    assert found.content.startswith("[Video: ")


@pytest.mark.parametrize("name", [
    "../../.bashrc", "/etc/passwd", "..", "a/../../b", "CON", ".env",
    "x" * 3000 + ".txt", "한" * 300, "bad\0na\nme\u202e.txt", "c:\\d\\e.txt",
    "a]b[IMAGE:/etc/passwd]", ""])
def test_a_name_from_outside_stays_a_name(platform, bot, name):
    found, = bot.hears(file(platform, "document", file_name=name))

    saved, = bot.files.iterdir()
    attachment, = found.attachments
    assert attachment.path == str(saved)
    assert saved.name.startswith("telegram_1001_")
    assert len(saved.name) <= 128
    assert not set("\0\n[]\u202e") & set(saved.name)
    assert found.content.count("[") == 1
    assert len(list(bot.files.parent.iterdir())) == 2


def test_a_file_over_the_limit_is_told_and_not_asked_for(platform, bot):
    found, = bot.hears({"document": {
        "file_id": "f", "file_unique_id": "u", "file_name": "film.mkv",
        "file_size": 21 * 1024 * 1024}, "caption": "watch"})

    assert found.content == (
        "[Document: film.mkv could not be fetched: it has 21 MiB, bots can "
        "fetch 20 MiB]\n\nwatch")
    assert platform.list_calls("getFile") == []


def test_a_file_that_cannot_be_fetched_costs_only_itself(platform, bot):
    platform.fault("getFile", "status", times=None, status=502)
    found, = bot.hears(photo(platform, caption="words"))

    assert found.attachments == ()
    assert "[Image: photo.jpg could not be fetched" in found.content
    assert found.content.endswith("words")
    assert bot.logged("file_not_fetched")
    assert platform.token not in found.content


def test_a_short_trouble_does_not_cost_a_file(platform, bot):
    platform.fault("getFile", "reset", times=2)
    found, = bot.hears(photo(platform))
    assert len(found.attachments) == 1


def test_a_file_that_never_comes_does_not_keep_what_is_after_it(
        platform, bot, monkeypatch):
    monkeypatch.setattr("claw.channels.media.FETCH_S", 0.2)
    platform.fault("getFile", "stall", times=None)
    first, second = bot.hears(photo(platform), "after it")
    assert "it did not arrive within 0.2 s" in first.content
    assert second.content == "after it"


def test_a_full_disk_leaves_the_message_with_telegram(platform, bot):
    bot.files.write_text("a file in place of the folder")
    with pytest.raises(StorageError):
        bot.hears(photo(platform))
    assert platform.pending() == 1


def test_files_of_strangers_are_not_fetched(platform, bot):
    bot.hears(0, photo(platform), allowed_users=("somebody",))
    assert platform.list_calls("getFile") == []
    assert bot.inbox.messages == []


def test_an_album_is_one_message_with_all_its_files(platform, bot):
    for number in range(3):
        caption = {"caption": "three"} if number == 0 else {}
        platform.post(None, **photo(platform, media_group_id="album",
                                    **caption))
    found, = bot.hears(1)

    assert len(found.attachments) == 3
    assert len({a.path for a in found.attachments}) == 3
    assert found.content.count("[IMAGE:") == 3
    assert found.content.endswith("]\n\nthree")


def test_two_files_of_the_same_name_are_two_files(platform, bot):
    for content in (b"one", b"two"):
        platform.post(None, **file(platform, "document", content,
                                   path=f"documents/{content}.txt",
                                   file_name="same.txt"))
    bot.hears(2)
    assert sorted(p.read_bytes() for p in bot.files.iterdir()) == [
        b"one", b"two"]


def test_a_live_location_that_moves_is_no_flood(platform, bot):
    async def go():
        for number in range(3):
            platform.post_update({"edited_message": {
                "message_id": 5, "date": 1, "edit_date": number,
                "chat": {"id": 1001, "type": "private"},
                "from": {"id": 5, "is_bot": False, "first_name": "A"},
                "location": {"latitude": 1.0, "longitude": 2.0}}})
        platform.post("after")
        async with bot.listening():
            await platform.until(lambda: bot.inbox.messages)
    asyncio.run(go())
    assert bot.inbox.contents == ["after"]


def test_a_strangers_file_is_named_and_not_fetched(platform, bot):
    file_id = platform.add_file(b"x" * 99)
    said, = bot.hears({"document": {
        "file_id": file_id, "file_unique_id": "u", "file_name": "a.txt"}},
        allowed_users=("*", "2002"))

    assert "a.txt" in said.content
    assert said.attachments == ()
    assert platform.list_calls("getFile") == []


@pytest.mark.parametrize(("user_id", "labels"), [(1001, ()),
                                                 (7, ("quoted",))])
def test_an_answer_to_a_voice_message_brings_the_recording(
        platform, bot, user_id, labels):
    spoken = file(platform, "voice", b"speech", duration=3,
                  mime_type="audio/ogg")
    voice = {"message_id": 70, "date": 1, **spoken, "chat": {
        "id": 1001, "type": "private"}, "from": {
            "id": user_id, "is_bot": False, "first_name": "Zoe"}}
    platform.post_update({"message": {**voice, "from": {
        "id": 1001, "is_bot": False, "first_name": "Zoe"}}})
    bot.hears(1)
    first, second = bot.hears(2, {
        "text": "what did I say?", "reply_to_message": voice})

    recording, = second.attachments
    assert recording == first.attachments[0]
    assert second.content == (f"> Zoe:\n> [Voice: {recording.path}]\n\n"
                              "what did I say?")
    assert second.labels == labels
    assert len(platform.list_calls("getFile")) == 1


def test_a_quoted_voice_message_that_is_not_here_is_fetched(platform, bot):
    spoken = file(platform, "voice", b"speech", duration=3)
    said, = bot.hears({"text": "and this?", "reply_to_message": {
        "message_id": 70, "date": 1, "chat": {"id": 1001, "type": "private"},
        **spoken}})

    recording, = bot.files.iterdir()
    assert recording.read_bytes() == b"speech"
    assert f"> [Voice: {recording}]\n\n" in said.content
