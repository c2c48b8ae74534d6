"""Recordings become text, at the wire and by a program."""

import asyncio
import os
import sys
import time

import pytest

from claw.core.errors import (
    AuthError,
    ConfigError,
    MissingPartError,
    RequestRefusedError,
    UnavailableError,
    UsageError,
)
from claw.speech import TRANSCRIBERS, build_transcriber
from claw.speech.command import CommandTranscriber
from claw.speech.settings import (
    DeepgramHearing,
    LocalWhisper,
    OpenAiHearing,
    TranscriptionSettings,
)

KEY = "gsk_abcdefghijklmnop"


def hear(path, env=None, mime=None, **settings):
    room = build_transcriber(TranscriptionSettings(enabled=True, **settings),
                          env or {})
    return asyncio.run(room.transcribe(path, mime))


def test_groq_is_sent_a_form(server, recordings):
    path = recordings("voice.oga")
    text = hear(path, {"GROQ_API_KEY": f" {KEY}\n"},
                api_url=server.url + "/x/transcriptions", language="de",
                initial_prompt="not sent")

    target, headers, _ = server.requests[0]
    fields, file = server.form()
    assert text == "Hello there."
    assert target == "/x/transcriptions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert fields == {"model": "whisper-large-v3-turbo", "language": "de",
                      "response_format": "json"}
    assert file == ("audio.ogg", "audio/ogg", path.read_bytes())


def test_openai_has_settings_of_its_own(server, recordings):
    hear(recordings("a.wav"), {"OPENAI_API_KEY": "sk-env-0000"},
         default_provider="openai", api_key=KEY,
         openai=OpenAiHearing(api_url=server.url, api_key="sk-own-0000"))

    fields, file = server.form()
    assert server.requests[0][1]["authorization"] == "Bearer sk-own-0000"
    assert fields == {"model": "whisper-1", "response_format": "json"}
    assert file[:2] == ("audio.wav", "audio/wav")


def test_a_local_server_needs_no_key(server, recordings):
    own = {"default_provider": "local_whisper"}
    hear(recordings("a.wav"), **own,
         local_whisper=LocalWhisper(url=server.url))
    hear(recordings("a.wav"), **own, local_whisper=LocalWhisper(
        url=server.url, bearer_token="t-0000", model="small"))

    assert "authorization" not in server.requests[0][1]
    assert server.requests[1][1]["authorization"] == "Bearer t-0000"
    assert server.form()[0]["model"] == "small"
    with pytest.raises(UsageError, match="larger than"):
        hear(recordings("a.wav"), **own, local_whisper=LocalWhisper(
            url=server.url, max_audio_bytes=100))


def test_deepgram_is_sent_the_recording_itself(server, recordings):
    server.body = (b'{"results": {"channels": [{"alternatives": '
                   b'[{"transcript": "Guten Tag"}]}]}}')
    path = recordings("v.ogg")
    text = hear(path, {"DEEPGRAM_API_KEY": "dg-0000"}, language="de",
                default_provider="deepgram",
                deepgram=DeepgramHearing(api_url=server.url + "/v1/listen"))

    target, headers, raw = server.requests[0]
    assert text == "Guten Tag"
    assert target == "/v1/listen?model=nova-2&punctuate=true&language=de"
    assert headers["authorization"] == "Token dg-0000"
    assert headers["content-type"] == "audio/ogg"
    assert raw == path.read_bytes()


@pytest.mark.parametrize(("status", "body", "kind"), [
    (401, b'{"error": {"message": "bad key gsk_abcdefghijklmnop"}}',
     AuthError),
    (400, b'{"error": {"message": "could not decode"}}',
     RequestRefusedError),
    (500, b"<html>", UnavailableError),
    (200, b"<html>", UnavailableError), (200, b"[]", UnavailableError),
    (200, b'{"text": null}', UnavailableError), (200, b"", UnavailableError),
])
def test_refusals_are_errors_without_the_key(server, recordings, status,
                                             body, kind):
    server.status, server.body = status, body
    with pytest.raises(kind) as caught:
        hear(recordings("v.ogg"), api_key=KEY, api_url=server.url)

    assert KEY not in f"{caught.value.message} {caught.value.hint}"


def test_silence_is_no_error_and_controls_are_dropped(server, recordings):
    server.body = b'{"text": "  \\n"}'
    assert hear(recordings("v.ogg"), api_key=KEY, api_url=server.url) == ""

    server.body = b'{"text": "a\\u0007b \\u202ec\\n\\nd \xed\x95\x9c"}'
    assert hear(recordings("v.ogg"), api_key=KEY,
                api_url=server.url) == "ab c\n\nd 한"


def test_a_long_recording_is_never_sent(server, recordings):
    with pytest.raises(UsageError, match="121 s long"):
        hear(recordings("v.ogg", 121), api_key=KEY, api_url=server.url)

    assert server.requests == []
    assert hear(recordings("v.ogg", 121), api_key=KEY, api_url=server.url,
                max_duration_secs=200) == "Hello there."


def test_off_is_no_transcriber():
    assert build_transcriber(TranscriptionSettings(), {}) is None


@pytest.mark.parametrize(("settings", "kind", "words"), [
    ({}, AuthError, "GROQ_API_KEY"),
    ({"default_provider": "openai", "api_key": KEY}, AuthError,
     "OPENAI_API_KEY"),
    ({"default_provider": "deepgram"}, AuthError, "DEEPGRAM_API_KEY"),
    ({"default_provider": "assemblyai"}, AuthError, "ASSEMBLYAI_API_KEY"),
    ({"default_provider": "google"}, AuthError, "GOOGLE_API_KEY"),
    ({"api_key": "enc2:00"}, ConfigError, "claw config set"),
    ({"api_key": "ключ"}, ConfigError, "copy"),
    ({"api_key": KEY, "api_url": "groq.com"}, ConfigError, "http"),
    ({"default_provider": "local_whisper"}, ConfigError, "claw config set"),
    ({"default_provider": "command"}, ConfigError, "{file}"),
    ({"default_provider": "command", "command": ("x",)}, ConfigError,
     "{file}"),
    ({"default_provider": "grok"}, ConfigError, "groq"),
])
def test_what_can_not_be_used_says_what_to_do(settings, kind, words):
    with pytest.raises(kind) as caught:
        build_transcriber(TranscriptionSettings(enabled=True, **settings), {})

    assert words in caught.value.hint


def test_every_room_has_its_name_and_limits():
    env = {"GROQ_API_KEY": "k-000000", "OPENAI_API_KEY": "k-000000",
           "DEEPGRAM_API_KEY": "k-000000",
           "ASSEMBLYAI_API_KEY": "k-000000", "GOOGLE_API_KEY": "k-000000"}
    for name in TRANSCRIBERS.names():
        room = build_transcriber(TranscriptionSettings(
            enabled=True, default_provider=name, max_duration_secs=7,
            transcribe_non_ptt_audio=True, command=("x", "{file}"),
            local_whisper=LocalWhisper(url="http://127.0.0.1:1")), env)
        assert room.name == name
        assert room.limits.max_seconds == 7
        assert room.limits.other_audio


# -- a program of this machine

def program(text):
    return (sys.executable, "-c", text, "{file}")


def run(path, text, timeout_s=20.0):
    room = build_transcriber(TranscriptionSettings(
        enabled=True, default_provider="command", command=program(text)),
        dict(os.environ))
    room._timeout_s = timeout_s
    return asyncio.run(room.transcribe(path))


def test_what_a_program_prints_is_the_text(recordings):
    path = recordings("v; touch x.ogg")
    text = run(path, "import sys, os; f = sys.argv[1];"
                     "print(os.path.basename(f), os.path.getsize(f))")

    assert text == f"audio.ogg {path.stat().st_size}"


def test_a_program_is_given_no_key(recordings, monkeypatch):
    monkeypatch.setenv("GROQ_API_KEY", KEY)

    assert run(recordings("v.ogg"),
               "import os; print(sorted(k for k in os.environ "
               "if 'KEY' in k))") == "[]"


def test_a_program_that_fails_says_why(recordings):
    with pytest.raises(UnavailableError, match=r"ended with 3: no model$"):
        run(recordings("v.ogg"), "import sys;"
            "sys.stderr.write('no model\\n'); sys.exit(3)")
    with pytest.raises(MissingPartError, match="can't be started"):
        asyncio.run(CommandTranscriber(
            ("/no/such/program", "{file}"),
            build_transcriber(TranscriptionSettings(
                enabled=True, default_provider="command",
                command=("x", "{file}")), {}).limits,
            {}).transcribe(recordings("v.ogg")))


def test_no_process_survives_the_time_limit(recordings, tmp_path):
    note = tmp_path / "pid"
    text = ("import os, subprocess, sys, time;"
            "p = subprocess.Popen(['sleep', '60']);"
            f"open({str(note)!r}, 'w').write(str(p.pid)); time.sleep(60)")
    with pytest.raises(UnavailableError, match=r"within 0\.5 s"):
        run(recordings("v.ogg"), text, timeout_s=0.5)

    assert gone(int(note.read_text()))


def gone(pid):
    """Whether a process has ended (one that nobody buried counts)."""
    for _ in range(50):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False
