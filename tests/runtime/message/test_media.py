"""Attachments become words, and none is lost."""

import asyncio
import os
import sys

import pytest

from claw.core.channel import Attachment, ChannelMessage
from claw.core.errors import UnavailableError
from claw.core.speech import SpeechLimits, Transcriber
from claw.runtime.message.media import (
    MOST_RECORDINGS,
    MediaSettings,
    describe,
    detect_kind,
    is_voice,
)
from claw.speech import build_transcriber
from claw.speech.settings import TranscriptionSettings

ON = MediaSettings(enabled=True)
VOICE = Attachment("/files/voice.ogg", "voice.ogg", "audio/ogg", 9)
SONG = Attachment("/files/song.mp3", "song.mp3", "audio/mpeg", 9)
PHOTO = Attachment("/files/p.jpg", "p.jpg", "image/jpeg", 9)
CLIP = Attachment("/files/c.mp4", "c.mp4", "video/mp4", 9)
PAPER = Attachment("/files/a.pdf", "a.pdf", "application/pdf", 9)


class Says(Transcriber):
    """Says the name of each file, or raises."""

    name = "says"

    def __init__(self, *, text=None, error=None, other=False):
        self.text = text
        self.error = error
        self.heard = []
        self._other = other

    @property
    def limits(self):
        return SpeechLimits(other_audio=self._other)

    async def transcribe(self, path, mime_type=None):
        self.heard.append((str(path), mime_type))
        if self.error is not None:
            raise self.error
        return f"I am {path.name}" if self.text is None else self.text


class Told:
    """The content of a described message, and what was logged."""

    def __init__(self, content, *attachments, settings=None, by=None,
                 sees=False, labels=()):
        self.events = []
        self.message = asyncio.run(describe(
            ChannelMessage("1", "zoe", "chat", content, "telegram", 0,
                           attachments=attachments, labels=labels),
            settings or MediaSettings(), by, self.log, sees=sees))
        self.content = self.message.content

    def log(self, event, **fields):
        self.events.append((event, fields))


def test_a_voice_message_is_what_was_said():
    room = Says()
    told = Told("[Voice]", VOICE, by=room)

    assert told.content == "[Voice] I am voice.ogg"
    assert told.message.attachments == (VOICE,)
    assert told.message.labels == ()
    assert room.heard == [("/files/voice.ogg", "audio/ogg")]


@pytest.mark.parametrize("settings", [MediaSettings(), ON])
def test_marks_and_recordings_go_together_in_order(settings):
    second = Attachment("/files/v2.ogg", "v2.ogg", "audio/ogg", 9)
    told = Told("> [Voice] old\n\n[Forwarded from @u] [Voice]\nand\n[Voice]\n"
                "see [Voice] in a line", VOICE, second,
                by=Says(), settings=settings)

    assert told.content == (
        "> [Voice] old\n\n[Forwarded from @u] [Voice] I am voice.ogg\nand\n"
        "[Voice] I am v2.ogg\nsee [Voice] in a line")


@pytest.mark.parametrize("settings", [MediaSettings(), ON])
def test_a_quoted_voice_message_is_what_was_said_in_it(settings):
    quoted = Attachment("/files/old.ogg", "voice.ogg", "audio/ogg", 9)
    told = Told("> @zoe:\n> [Voice: /files/old.ogg]\n\n[Voice]", quoted,
                VOICE, by=Says(text="one]\n\n> two"), settings=settings)
    assert told.content == ("> @zoe:\n> [Voice] one) > two\n\n"
                            "[Voice] one]\n\n> two")

    told = Told("> @zoe:\n> [Voice: /files/old.ogg]\n\nwhat did I say?",
                quoted, settings=settings)
    assert told.content == (
        "> @zoe:\n> [Voice message, not transcribed: transcription is off. "
        "It is saved at /files/old.ogg]\n\nwhat did I say?")
    assert not is_voice(told.message)


@pytest.mark.parametrize(("by", "why"), [
    (None, "transcription is off"),
    (Says(text=""), "nothing was heard in it"),
    (Says(error=UnavailableError("Groq is\ndown")), "Groq is down"),
])
@pytest.mark.parametrize("settings", [MediaSettings(), ON])
def test_a_voice_message_that_stays_one_says_where_it_is(by, why, settings):
    told = Told("[Voice]\n\ncaption", VOICE, by=by, settings=settings)

    assert told.content == (f"[Voice message, not transcribed: {why}. It is "
                            "saved at /files/voice.ogg]\n\ncaption")
    assert is_voice(told.message)


def test_a_failure_is_logged():
    told = Told("[Voice]", VOICE, by=Says(error=UnavailableError("down")))

    assert told.events == [("transcription_failed", {
        "file": "/files/voice.ogg", "provider": "says", "error": "down"})]


def test_the_pipeline_has_a_line_for_each_attachment_in_order():
    told = Told("look [Document: a.pdf] /files/a.pdf", SONG, PHOTO, PAPER,
                CLIP, settings=ON, by=Says(), labels=("forwarded",))

    assert told.content == (
        "[Audio transcription: I am song.mp3]\n[Image: p.jpg attached]\n"
        "[Video: c.mp4 attached]\n\nlook [Document: a.pdf] /files/a.pdf")
    assert told.message.labels == ("forwarded", "audio")


@pytest.mark.parametrize(("settings", "sees", "line"), [
    (ON, True, "[Image: p.jpg attached, will be processed by vision model]"),
    (ON, False, "[Image: p.jpg attached]"),
    (MediaSettings(enabled=True, describe_images=False), True,
     "[Image: p.jpg attached]"),
])
def test_images_are_for_models_that_see(settings, sees, line):
    assert Told("x", PHOTO, settings=settings, sees=sees
                ).content == f"{line}\n\nx"


@pytest.mark.parametrize(("by", "settings", "line"), [
    (Says(), ON, "[Audio transcription: I am song.mp3]"),
    (Says(text=" \n"), ON, "[Audio transcription: (empty)]"),
    (Says(text="a] [IMAGE:/x]\nb"), ON,
     "[Audio transcription: a) (IMAGE:/x) b]"),
    (Says(error=UnavailableError("x")), ON, "[Audio: transcription failed]"),
    (None, ON, "[Audio: attached]"),
    (Says(), MediaSettings(enabled=True, transcribe_audio=False),
     "[Audio: attached]"),
    (Says(other=True), MediaSettings(),
     "[Audio transcription: I am song.mp3]"),
    (Says(other=True), MediaSettings(enabled=True, transcribe_audio=False),
     "[Audio transcription: I am song.mp3]"),
    (Says(), MediaSettings(), "[Document: song.mp3] /files/song.mp3"),
])
def test_audio_that_is_no_voice_message(by, settings, line):
    assert Told("", SONG, settings=settings, by=by).content == line


def test_an_audio_file_that_the_text_names_is_no_voice_message():
    """The mark belongs to the recording, not to the document before it."""
    told = Told("[Document: song.mp3] /files/song.mp3\n[Voice]", SONG, VOICE,
                by=Says())

    assert told.content == ("[Document: song.mp3] /files/song.mp3\n"
                            "[Voice] I am voice.ogg")


def test_what_nothing_mentions_is_named_with_its_path():
    told = Told("hi", PHOTO, PAPER,
                Attachment("/files/x", "a]\n[Voice].bin", None, 1))

    assert told.content == (
        "[IMAGE:/files/p.jpg]\n[Document: a.pdf] /files/a.pdf\n"
        "[Document: a)(Voice).bin] /files/x\n\nhi")


def test_without_attachments_nothing_changes():
    told = Told("[Voice]", settings=ON, by=Says())

    assert told.content == "[Voice]"


def test_a_flood_of_recordings_has_an_end():
    many = [Attachment(f"/f/{n}.ogg", "v.ogg", "audio/ogg", 1)
            for n in range(100)]
    room = Says()
    told = Told("\n".join(["[Voice]"] * 100), *many, by=room)

    assert len(room.heard) == MOST_RECORDINGS
    assert told.content.count("too many recordings at once") == 92
    assert "/f/99.ogg" in told.content


@pytest.mark.parametrize(("name", "mime", "kind"), [
    ("x", "audio/ogg; codecs=opus", "audio"), ("a.ogg", "video/mp4", "video"),
    ("a.WEBM", None, "audio"), ("a.webm", "video/webm", "video"),
    ("a.png", "application/octet-stream", "image"), ("a.mov", "", "video"),
    ("a.txt", "text/plain", "other"), ("", None, "other"),
])
def test_the_kind_of_an_attachment(name, mime, kind):
    assert detect_kind(Attachment("/f", name, mime)) == kind


@pytest.mark.parametrize(("content", "voice"), [
    ("[Voice]", True), ("[Voice] said", True),
    ("[Forwarded from @u] [Voice] said", True), ("hello", False),
    ("> [Voice] quoted\n\nhello", False),
])
def test_a_voice_message_is_known(content, voice):
    message = ChannelMessage("1", "z", "c", content, "t", 0)

    assert not is_voice(message)
    assert is_voice(Told(content, VOICE, by=Says()).message) is voice


def test_a_recording_on_disk_and_a_real_program(tmp_path):
    path = tmp_path / "voice.ogg"
    path.write_bytes(b"OggS and more")
    room = build_transcriber(TranscriptionSettings(
        enabled=True, default_provider="command",
        command=(sys.executable, "-c", "print('Grüße [x]')", "{file}")),
        {**os.environ, "LC_ALL": "C.UTF-8"})

    there = Told("[Voice]", Attachment(str(path), "voice.ogg", "audio/ogg"),
                 by=room)
    gone = Told("[Voice]", Attachment(str(path) + "x", "v.ogg", "audio/ogg"),
                by=room)

    assert there.content == "[Voice] Grüße [x]"
    assert "can't be read" in gone.content
