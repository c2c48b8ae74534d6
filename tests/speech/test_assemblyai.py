"""AssemblyAI: a recording goes up, a job is made and asked for."""

import asyncio
import json

import pytest

from claw.core.errors import AuthError, RateLimitedError, UnavailableError
from claw.speech import build_transcriber
from claw.speech.settings import AssemblyAiHearing, TranscriptionSettings

KEY = "aai-0000-secret"
UPLOADED = b'{"upload_url": "https://cdn.test/upload/1"}'


def state(status, **more):
    return json.dumps({"id": "job-1_A", "status": status, **more}).encode()


@pytest.fixture
def room(server):
    def room(wait_s=10.0, models=("universal-2",), **settings):
        made = build_transcriber(TranscriptionSettings(
            enabled=True, default_provider="assemblyai",
            assemblyai=AssemblyAiHearing(api_url=server.url + "/",
                                         models=models), **settings),
            {"ASSEMBLYAI_API_KEY": KEY})
        made._poll_s, made._wait_s = 0.01, wait_s
        return made
    return room


def hear(room, path):
    return asyncio.run(room.transcribe(path))


def test_a_recording_is_sent_and_asked_for_until_it_is_done(
        server, room, recordings):
    server.bodies = [UPLOADED, state("queued"), state("queued"),
                     state("processing"),
                     state("completed", text=" Guten Tag. ")]
    path = recordings("v.ogg")

    assert hear(room(language="de"), path) == "Guten Tag."

    (upload, up_headers, raw), (create, _, asked), *polls = server.requests
    assert server.methods == ["POST", "POST", "GET", "GET", "GET"]
    assert (upload, create) == ("/v2/upload", "/v2/transcript")
    assert [target for target, _, _ in polls] == 3 * [
        "/v2/transcript/job-1_A"]
    assert raw == path.read_bytes()
    assert up_headers["content-type"] == "application/octet-stream"
    assert json.loads(asked) == {
        "audio_url": "https://cdn.test/upload/1", "language_code": "de",
        "speech_models": ["universal-2"]}
    assert {headers["authorization"] for _, headers, _
            in server.requests} == {KEY}


def test_without_a_language_it_is_heard(server, room, recordings):
    server.bodies = [UPLOADED, state("queued"), state("completed", text="a")]

    hear(room(models=()), recordings("v.ogg"))

    assert json.loads(server.requests[1][2]) == {
        "audio_url": "https://cdn.test/upload/1", "language_detection": True}


@pytest.mark.parametrize("text", ["", None, "  \n"])
def test_silence_is_no_text(server, room, recordings, text):
    server.bodies = [UPLOADED, state("queued"), state("completed",
                                                      text=text)]

    assert hear(room(), recordings("v.ogg")) == ""


def test_a_job_that_fails_says_why(server, room, recordings):
    server.bodies = [UPLOADED, state("queued"), state(
        "error", error="Download \x1b[2J failed " + "x" * 999)]

    with pytest.raises(UnavailableError,
                       match=r"could not transcribe it: Download \[2J fail"
                       ) as caught:
        hear(room(), recordings("v.ogg"))
    assert len(caught.value.message) < 300


def test_a_job_that_is_never_done_is_given_up(server, room, recordings):
    server.bodies = [UPLOADED, state("queued")]
    server.body = state("processing")

    with pytest.raises(UnavailableError, match=r"not done within 0\.2 s"):
        hear(room(wait_s=0.2), recordings("v.ogg"))


@pytest.mark.parametrize("bodies", [
    [b"<html>"], [b"{}"], [b'{"upload_url": 5}'], [UPLOADED, b"[]"],
    [UPLOADED, b'{"id": null}'], [UPLOADED, b'{"id": "../../v1/keys"}'],
    [UPLOADED, state("queued"), b"<html>"],
    [UPLOADED, state("queued"), b'{"id": "job-1_A"}'],
], ids=str)
def test_an_answer_that_makes_no_sense_is_an_error(server, room, recordings,
                                                   bodies):
    server.bodies, server.body = list(bodies), b"never asked for"

    with pytest.raises(UnavailableError, match="no transcript"):
        hear(room(), recordings("v.ogg"))
    assert len(server.requests) == len(bodies)


@pytest.mark.parametrize(("status", "kind"), [
    (401, AuthError), (429, RateLimitedError), (500, UnavailableError)])
def test_refusals_are_errors_without_the_key(server, room, recordings,
                                             status, kind):
    server.status = status
    server.body = json.dumps({"error": f"no {KEY}"}).encode()

    with pytest.raises(kind) as caught:
        hear(room(), recordings("v.ogg"))
    assert KEY not in f"{caught.value.message} {caught.value.hint}"
