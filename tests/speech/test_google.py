"""Google: recordings become text and text becomes speech."""

import asyncio
import base64
import json

import pytest

from claw.core.errors import (
    AuthError,
    ConfigError,
    UnavailableError,
    UsageError,
)
from claw.core.speech import Speech
from claw.speech import build_synthesizer, build_transcriber
from claw.speech.settings import (
    GoogleHearing,
    GoogleSpeech,
    TranscriptionSettings,
    TtsSettings,
)

KEY = "AIza-0000-secret"
ENV = {"GOOGLE_API_KEY": KEY}
HEARD = b'{"results": [{"alternatives": [{"transcript": "hello"}]}]}'


def hear(server, path, mime=None, language_code="en-US", **settings):
    room = build_transcriber(TranscriptionSettings(
        enabled=True, default_provider="google", google=GoogleHearing(
            api_url=server.url + "/v1/speech:recognize",
            language_code=language_code), **settings), ENV)
    return asyncio.run(room.transcribe(path, mime))


def say(server, text="Hi", language_code="en-US", **settings):
    room = build_synthesizer(TtsSettings(
        enabled=True, default_provider="google", google=GoogleSpeech(
            api_url=server.url + "/v1/text:synthesize",
            language_code=language_code), **settings), ENV)
    return asyncio.run(room.speak(text))


@pytest.mark.parametrize(("name", "mime", "encoding"), [
    ("v.ogg", None, {"encoding": "OGG_OPUS", "sampleRateHertz": 48_000}),
    ("v.oga", None, {"encoding": "OGG_OPUS", "sampleRateHertz": 48_000}),
    ("v.opus", None, {"encoding": "OGG_OPUS", "sampleRateHertz": 48_000}),
    ("v", "audio/webm", {"encoding": "WEBM_OPUS", "sampleRateHertz": 48_000}),
    ("v.wav", None, {}), ("v.flac", None, {}),
])
def test_a_recording_is_sent_with_what_it_is(server, recordings, name, mime,
                                             encoding):
    server.body = HEARD
    path = recordings(name)

    assert hear(server, path, mime) == "hello"

    target, headers, raw = server.requests[0]
    assert target == "/v1/speech:recognize"
    assert headers["x-goog-api-key"] == KEY
    assert json.loads(raw) == {
        "config": {"languageCode": "en-US",
                   "enableAutomaticPunctuation": True, **encoding},
        "audio": {"content": base64.b64encode(path.read_bytes()).decode()}}


@pytest.mark.parametrize(("settings", "language"), [
    ({}, "en-US"), ({"language_code": "ko-KR"}, "ko-KR"),
    ({"language": "de"}, "de"),
    ({"language": "de", "language_code": "ko-KR"}, "de")])
def test_the_language_is_told(server, recordings, settings, language):
    server.body = HEARD
    hear(server, recordings("v.ogg"), **settings)

    config = json.loads(server.requests[0][2])["config"]
    assert config["languageCode"] == language


@pytest.mark.parametrize(("body", "text"), [
    ({}, ""), ({"totalBilledTime": "3s"}, ""), ({"results": []}, ""),
    ({"results": [{}]}, ""),
    ({"results": [{"alternatives": [{"transcript": "Hi. "},
                                    {"transcript": "High"}]},
                  {"alternatives": [{"transcript": " You \u202ethere"}]}]},
     "Hi. You there")])
def test_the_pieces_are_one_text(server, recordings, body, text):
    server.body = json.dumps(body).encode()

    assert hear(server, recordings("v.ogg")) == text


@pytest.mark.parametrize("body", [
    b"<html>", b"[]", b"", b'{"results": 5}', b'{"results": [5]}',
    b'{"results": [{"alternatives": [{"transcript": null}]}]}',
    b'{"results": [{"alternatives": 7}]}'])
def test_an_answer_that_makes_no_sense_is_an_error(server, recordings, body):
    server.body = body

    with pytest.raises(UnavailableError, match="no transcript"):
        hear(server, recordings("v.ogg"))


@pytest.mark.parametrize(("name", "seconds", "words"), [
    ("v.mp3", 2, "google takes"), ("v.m4a", 2, "google takes"),
    ("v.ogg", 61, "google takes 60 s"), ("v.wav", 61, "google takes 60 s")])
def test_what_google_does_not_take_is_never_sent(server, recordings, name,
                                                 seconds, words):
    with pytest.raises(UsageError, match=words) as caught:
        hear(server, recordings(name, seconds))

    assert "default_provider" in caught.value.hint
    assert server.requests == []


def test_google_speaks_ogg(server):
    server.body = json.dumps({"audioContent": base64.b64encode(
        b"OggS and so on").decode()}).encode()

    assert say(server, " Grüß Gott ") == Speech(b"OggS and so on",
                                                "audio/ogg", "ogg")

    target, headers, raw = server.requests[0]
    assert target == "/v1/text:synthesize"
    assert headers["x-goog-api-key"] == KEY
    assert json.loads(raw) == {
        "input": {"text": "Grüß Gott"}, "voice": {"languageCode": "en-US"},
        "audioConfig": {"audioEncoding": "OGG_OPUS"}}


@pytest.mark.parametrize(("settings", "voice"), [
    ({"language_code": "de-DE"}, {"languageCode": "de-DE"}),
    ({"default_voice": "ko-KR-Neural2-A"},
     {"languageCode": "ko-KR", "name": "ko-KR-Neural2-A"}),
    ({"default_voice": "cmn-CN-Chirp3-HD-Kore", "language_code": "de-DE"},
     {"languageCode": "cmn-CN", "name": "cmn-CN-Chirp3-HD-Kore"})])
def test_a_voice_brings_its_language(server, settings, voice):
    server.body = b'{"audioContent": "T2dnUw=="}'
    say(server, **settings)

    assert json.loads(server.requests[0][2])["voice"] == voice


@pytest.mark.parametrize("body", [
    b"<html>", b"{}", b"[]", b'{"audioContent": 5}',
    b'{"audioContent": "not base64"}', b'{"audioContent": "AAAA"}',
    '{"audioContent": "\u00e9"}'.encode()])
def test_an_answer_that_is_no_recording_is_an_error(server, body):
    server.body = body

    with pytest.raises(UnavailableError, match="no recording"):
        say(server)


def test_text_of_5000_bytes_is_spoken(server):
    server.body = json.dumps({"audioContent": base64.b64encode(
        b"OggS and so on").decode()}).encode()

    assert say(server, "안" * 1_666 + "ab").data == b"OggS and so on"
    with pytest.raises(UsageError, match="5,000 bytes"):
        say(server, "안" * 1_666 + "abc")


def test_text_that_is_too_long_for_google_is_not_sent(server):
    with pytest.raises(UsageError, match="5,000 bytes"):
        say(server, "안녕" * 1_000)

    assert server.requests == []


@pytest.mark.parametrize("voice", ["nova", "../x", "en-US", "en-US-a b"])
def test_a_voice_of_somebody_else_is_refused(server, voice):
    with pytest.raises(ConfigError, match="no voice of google") as caught:
        say(server, default_voice=voice)
    assert "such as" in caught.value.hint


def test_refusals_are_errors_without_the_key(server, recordings):
    server.status = 403
    server.body = json.dumps({"error": {"message": f"no {KEY}"}}).encode()

    for ask in (lambda: hear(server, recordings("v.ogg")),
                lambda: say(server)):
        with pytest.raises(AuthError) as caught:
            ask()
        assert KEY not in f"{caught.value.message} {caught.value.hint}"


def test_speaking_needs_a_key():
    with pytest.raises(AuthError) as caught:
        build_synthesizer(TtsSettings(enabled=True, default_provider="google"),
                       {})
    assert "GOOGLE_API_KEY" in caught.value.hint
