"""Text becomes speech, at the wire and by a program."""

import asyncio
import json
import os
import sys

import pytest

from claw.core.errors import (
    AuthError,
    ConfigError,
    RateLimitedError,
    UnavailableError,
    UsageError,
)
from claw.core.speech import Speech
from claw.speech import build_synthesizer
from claw.speech.settings import (
    ElevenLabsSpeech,
    OpenAiSpeech,
    PiperSpeech,
    TtsSettings,
)

OGG = b"OggS and so on"


@pytest.fixture
def voice(server):
    server.body, server.content_type = OGG, "audio/ogg"
    return server


def say(text, env=None, **settings):
    room = build_synthesizer(TtsSettings(enabled=True, **settings), env or {})
    return asyncio.run(room.speak(text))


def test_openai_speaks_opus(voice):
    speech = say(" Hello. ", {"OPENAI_API_KEY": "sk-0000"},
                 openai=OpenAiSpeech(api_url=voice.url + "/speech",
                                     speed=1.5))

    target, headers, raw = voice.requests[0]
    assert speech == Speech(OGG, "audio/ogg", "ogg")
    assert target == "/speech"
    assert headers["authorization"] == "Bearer sk-0000"
    assert json.loads(raw) == {
        "model": "tts-1", "voice": "alloy", "speed": 1.5,
        "response_format": "opus", "input": "Hello."}


def test_piper_is_asked_in_the_same_shape_and_may_send_wav(voice):
    voice.body = b"RIFF....WAVEfmt "
    speech = say("Hi", default_provider="piper", default_voice="amy",
                 piper=PiperSpeech(api_url=voice.url))

    body = json.loads(voice.requests[0][2])
    assert (speech.mime_type, speech.extension) == ("audio/wav", "wav")
    assert "authorization" not in voice.requests[0][1]
    assert (body["input"], body["voice"]) == ("Hi", "amy")
    assert body["response_format"] == "mp3"


def test_elevenlabs_has_its_voice_in_the_path(voice):
    say("Hi", default_provider="elevenlabs", default_voice="vo-1_A",
        elevenlabs=ElevenLabsSpeech(api_url=voice.url, api_key="el-0000"))

    target, headers, raw = voice.requests[0]
    assert target == "/vo-1_A?output_format=opus_48000_64"
    assert headers["xi-api-key"] == "el-0000"
    assert json.loads(raw) == {
        "text": "Hi", "model_id": "eleven_monolingual_v1",
        "voice_settings": {"stability": 0.5, "similarity_boost": 0.5}}


@pytest.mark.parametrize(("text", "settings"), [
    ("", {}), (" \n", {}), ("x" * 4097, {}),
    ("x" * 4097, {"max_text_length": 0}), ("xx", {"max_text_length": 1}),
])
def test_text_that_can_not_be_spoken_is_not_sent(voice, text, settings):
    with pytest.raises(UsageError):
        say(text, default_provider="piper",
            piper=PiperSpeech(api_url=voice.url), **settings)

    assert voice.requests == []


def test_an_answer_that_is_no_recording_is_an_error(voice):
    voice.body = b'{"detail": "no such voice"}'
    with pytest.raises(UnavailableError, match="no recording"):
        say("Hi", default_provider="piper",
            piper=PiperSpeech(api_url=voice.url))
    voice.status = 429
    with pytest.raises(RateLimitedError):
        say("Hi", default_provider="piper",
            piper=PiperSpeech(api_url=voice.url))


@pytest.mark.parametrize(("settings", "kind"), [
    ({}, AuthError),
    ({"default_provider": "elevenlabs", "default_voice": "id"}, AuthError),
    ({"default_provider": "elevenlabs", "default_voice": "../x?y"},
     ConfigError),
    ({"default_provider": "piper", "piper": PiperSpeech(api_url="x")},
     ConfigError),
    ({"default_provider": "espeak"}, ConfigError),
    ({"default_provider": "command", "command": ("{file}",)}, ConfigError),
])
def test_what_can_not_be_used_says_so(settings, kind):
    with pytest.raises(kind) as caught:
        build_synthesizer(TtsSettings(enabled=True, **settings), {})

    assert caught.value.hint


def test_off_is_no_synthesizer():
    assert build_synthesizer(TtsSettings(), {}) is None


def test_a_program_reads_the_text_and_writes_the_recording():
    text = ("import sys; t = sys.stdin.buffer.read();"
            "open(sys.argv[1], 'wb').write(b'OggS' + t)")

    speech = say("Grüß -v $(x)", dict(os.environ), default_provider="command",
                 command=(sys.executable, "-c", text, "{file}"))

    assert speech.data == "OggSGrüß -v $(x)".encode()


def test_a_program_that_writes_nothing_is_told():
    with pytest.raises(UnavailableError, match="wrote no recording"):
        say("Hi", dict(os.environ), default_provider="command",
            command=(sys.executable, "-c", "pass", "{file}"))
