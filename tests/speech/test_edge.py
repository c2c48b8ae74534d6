"""edge-tts: a program that is asked for one file."""

import asyncio
import json
import os
import sys

import pytest

from claw.core.errors import (
    ConfigError,
    MissingPartError,
    UnavailableError,
    UsageError,
)
from claw.speech import build_synthesizer
from claw.speech.settings import EdgeSpeech, TtsSettings

# Takes the options that edge-tts has; says what it was given.
PROGRAM = """#!{python}
import argparse, json, os
parser = argparse.ArgumentParser()
group = parser.add_mutually_exclusive_group(required=True)
group.add_argument("-t", "--text")
group.add_argument("-f", "--file")
parser.add_argument("-v", "--voice", default="en-US-EmmaMultilingualNeural")
parser.add_argument("--write-media")
args = parser.parse_args()
with open(args.file, encoding="utf-8") as file:
    text = file.read()
{more}
with open(args.write_media, "wb") as file:
    file.write(b"ID3" + json.dumps(
        [text, args.voice, dict(os.environ)]).encode())
"""


@pytest.fixture
def edge(tmp_path):
    def edge(more="", name="edge-tts", env=None, **settings):
        path = tmp_path / name
        path.write_text(PROGRAM.format(python=sys.executable, more=more))
        path.chmod(0o755)
        return build_synthesizer(TtsSettings(
            enabled=True, default_provider="edge",
            edge=EdgeSpeech(binary_path=str(path)), **settings),
            env or dict(os.environ))
    return edge


def say(room, text):
    speech = asyncio.run(room.speak(text))
    return speech, json.loads(speech.data[3:])


@pytest.mark.parametrize("text", [
    "Hello.", "Grüß Gott, 안녕", "--help", "@/etc/passwd", "$(x) `y` \"z\"",
    "two\nlines"])
def test_a_text_is_spoken_as_it_is(edge, text):
    speech, (heard, voice, _) = say(edge(), text)

    assert (heard, voice) == (text, "en-US-EmmaMultilingualNeural")
    assert (speech.mime_type, speech.extension) == ("audio/mpeg", "mp3")


def test_a_voice_can_be_chosen(edge):
    _, (_, voice, _) = say(edge(default_voice="de-DE-KatjaNeural"), "Hi")

    assert voice == "de-DE-KatjaNeural"


def test_it_is_given_the_way_out_but_no_key(edge):
    env = {**os.environ, "HTTPS_PROXY": "http://127.0.0.1:1",
           "OPENAI_API_KEY": "sk-0000", "BOT_TOKEN": "1:a"}

    _, (_, _, given) = say(edge(env=env), "Hi")

    assert given["HTTPS_PROXY"] == "http://127.0.0.1:1"
    assert {"OPENAI_API_KEY", "BOT_TOKEN"}.isdisjoint(given)


def test_a_program_that_fails_says_why(edge):
    with pytest.raises(UnavailableError, match="ended with 1: no network"):
        say(edge("raise SystemExit('no network')"), "Hi")


@pytest.mark.parametrize("more", [
    "raise SystemExit(0)",
    "open(args.write_media, 'w').write('an error'); raise SystemExit(0)"])
def test_a_program_that_writes_no_recording_is_told(edge, more):
    with pytest.raises(UnavailableError, match="wrote no recording"):
        say(edge(more), "Hi")


def test_a_program_that_hangs_is_ended(edge):
    room = edge("import time; time.sleep(60)")
    room._timeout_s = 0.5

    with pytest.raises(UnavailableError, match="not done within"):
        say(room, "Hi")


def test_a_program_that_is_not_there_is_a_missing_part(tmp_path):
    room = build_synthesizer(TtsSettings(
        enabled=True, default_provider="edge",
        edge=EdgeSpeech(binary_path=str(tmp_path / "edge-tts"))), {})

    with pytest.raises(MissingPartError, match="can't be started"):
        asyncio.run(room.speak("Hi"))


@pytest.mark.parametrize("binary", ["", "sh", "/bin/sh", "edge-tts; rm x",
                                    "edge-tts/../sh", "--help"])
def test_only_edge_tts_is_run(binary):
    with pytest.raises(ConfigError, match="is not edge-tts") as caught:
        build_synthesizer(TtsSettings(
            enabled=True, default_provider="edge",
            edge=EdgeSpeech(binary_path=binary)), {})
    assert "tts.command" in caught.value.hint


def test_a_voice_of_somebody_else_is_refused(edge):
    with pytest.raises(ConfigError, match="no voice of edge"):
        edge(default_voice="nova")


def test_text_that_can_not_be_spoken_is_not_sent(edge):
    for text in ("", " \n", "x" * 4097):
        with pytest.raises(UsageError):
            say(edge(), text)
