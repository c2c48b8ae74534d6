"""Who speaks is answered aloud, once, and late enough."""

import asyncio
import stat
from pathlib import Path

import pytest

from claw.core.channel import Attachment, Button, ChannelMessage, SendMessage
from claw.core.errors import UnavailableError
from claw.core.speech import Speech, Synthesizer
from claw.runtime.message.voice import VoiceReplies, wants_voice

LONG = "This answer is long enough to be worth speaking aloud."
NOTE = Attachment("/f/voice.ogg", "voice.ogg", "audio/ogg", 9)


class Speaks(Synthesizer):
    name = "speaks"

    def __init__(self, error=None):
        self.error = error
        self.texts = []

    async def speak(self, text):
        self.texts.append(text)
        if self.error:
            raise self.error
        return Speech(b"OggS" + text.encode(), "audio/ogg", "ogg")


class Scene:
    """Voice replies with a hundredth of the usual waits: 0.1 s and
    0.08 s."""

    def __init__(self, tmp_path, error=None):
        self.room = Speaks(error)
        self.posts = []
        self.events = []
        self.files = tmp_path / "files"

    def play(self, script):
        async def go():
            self.happened = asyncio.Event()
            voices = VoiceReplies(self.room, self.files, self.post, self.log,
                                  wait_s=0.1, quiet_s=0.08)
            try:
                await script(voices)
            finally:
                await voices.aclose()
        asyncio.run(go())

    async def outcome(self):
        """Until something was posted or logged; a disk can be slow."""
        await asyncio.wait_for(self.happened.wait(), 10)

    async def post(self, source, channel, message):
        self.posts.append((source, channel, message))
        self.happened.set()

    def log(self, event, **fields):
        self.events.append((event, fields))
        self.happened.set()


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


def spoken(**more):
    return ChannelMessage("1", "zoe", "chat", "[Voice] hello", "telegram", 0,
                          attachments=(NOTE,), **more)


def written(**more):
    return ChannelMessage("2", "zoe", "chat", "hello", "telegram", 0, **more)


def answer(text=LONG, **more):
    return SendMessage(text, "chat", **more)


def test_an_answer_to_speech_is_spoken_once(scene):
    async def script(voices):
        voices.note_message(spoken(thread_ts="7"))
        voices.note_answer("t1", spoken(thread_ts="7"),
                        answer(thread_ts="7", buttons=(Button("a", "b"),)))
        await asyncio.sleep(0.05)
        assert scene.posts == []
        await scene.outcome()
    scene.play(script)

    [(source, channel, message)] = scene.posts
    [note] = message.attachments
    assert (source, channel) == ("voice:t1", "telegram")
    assert (message.content, message.recipient) == ("", "chat")
    assert (message.thread_ts, message.buttons) == ("7", ())
    assert (note.file_name, note.mime_type) == ("voice.ogg", "audio/ogg")
    assert Path(note.path).read_bytes() == b"OggS" + LONG.encode()
    assert stat.S_IMODE(Path(note.path).stat().st_mode) == 0o600
    assert note.size_bytes == len(LONG) + 4
    assert Path(note.path).parent == scene.files


def test_then_the_chat_has_left_voice_mode(scene):
    async def script(voices):
        voices.note_message(spoken())
        voices.note_answer("t1", spoken(), answer())
        await scene.outcome()
        voices.note_answer("t2", spoken(), answer())
        await asyncio.sleep(0.15)
    scene.play(script)

    assert [source for source, *_ in scene.posts] == ["voice:t1"]


def test_of_several_answers_the_last_is_spoken(scene):
    async def script(voices):
        voices.note_message(spoken())
        voices.note_answer("t1", spoken(), answer("First: " + LONG))
        await asyncio.sleep(0.06)
        voices.note_answer("t2", spoken(), answer("Second: " + LONG))
        await scene.outcome()
        await asyncio.sleep(0.05)
    scene.play(script)

    assert scene.room.texts == ["Second: " + LONG]


@pytest.mark.parametrize("newer", [spoken(), written()])
def test_a_newer_message_makes_the_answer_old(scene, newer):
    async def script(voices):
        voices.note_message(spoken())
        voices.note_answer("t1", spoken(), answer())
        voices.note_message(newer)
        await asyncio.sleep(0.15)
    scene.play(script)

    assert scene.posts == []


def test_text_is_answered_by_text(scene):
    async def script(voices):
        voices.note_message(written())
        voices.note_answer("t1", written(), answer())
        voices.note_message(spoken())
        voices.note_message(written(kind="action"))  # a button changes nothing
        voices.note_answer("t2", spoken(), answer("short"))
        await asyncio.sleep(0.12)
        voices.note_message(written())
        voices.note_answer("t3", written(), answer())
        await asyncio.sleep(0.12)
    scene.play(script)

    assert scene.posts == []


def test_chats_do_not_disturb_each_other(scene):
    async def script(voices):
        voices.note_message(spoken())
        voices.note_answer("t1", spoken(), answer())
        other = ChannelMessage("3", "bob", "other", "hi", "telegram", 0)
        voices.note_message(other)
        voices.note_answer("t2", other, SendMessage(LONG, "other"))
        await scene.outcome()
    scene.play(script)

    assert [source for source, *_ in scene.posts] == ["voice:t1"]


def test_a_failure_is_logged_and_nothing_is_posted(tmp_path):
    scene = Scene(tmp_path, UnavailableError("piper is down"))

    async def script(voices):
        voices.note_message(spoken())
        voices.note_answer("t1", spoken(), answer())
        await scene.outcome()
    scene.play(script)

    assert scene.posts == []
    assert scene.events == [("voice_not_sent", {
        "turn": "t1", "provider": "speaks", "error": "piper is down"})]


def test_closing_ends_the_waiting(scene):
    async def script(voices):
        voices.note_message(spoken())
        voices.note_answer("t1", spoken(), answer())
    scene.play(script)

    assert scene.room.texts == []


@pytest.mark.parametrize(("text", "wanted"), [
    (LONG, True), ("x" * 40, False), ("x" * 41, True),
    (" " * 40 + "x", False), ("안녕하세요 반갑습니다 여러분", True),
    ("https://example.com/" + "x" * 40, False),
    ('{"a": "' + "x" * 40 + '"}', False), ("[" + "x" * 40 + "]", False),
    ("Error: " + "x" * 40, False), ("x" * 40 + "\n```\ncode\n```", False),
    ("x" * 40 + " tool_call", False), ("\n http" + "x" * 40, False),
    ("x" * 40 + "\ud800", True),
])
def test_what_is_worth_speaking(text, wanted):
    assert wants_voice(text) is wanted
