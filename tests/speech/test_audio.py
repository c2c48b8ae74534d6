"""Recordings: what they are, how long, and reading them safely."""

import io
import os
import struct
import wave
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core.errors import UsageError
from claw.core.speech import SpeechLimits
from claw.speech.audio import find_format, find_speech, read_recording, seconds


@pytest.mark.parametrize(("name", "mime", "expected"), [
    ("a.ogg", None, "ogg"), ("a.oga", None, "ogg"), ("A.MP3", None, "mp3"),
    ("a.opus", "x/y", "opus"), ("a.webm", None, "webm"),
    ("voice", "audio/ogg; codecs=opus", "ogg"),
    ("voice.bin", "audio/mpeg", "mp3"), ("voice", "audio/x-wav", "wav"),
    ("voice", "video/mp4", "m4a"),
    ("a.aiff", "audio/aiff", None), ("a.txt", "text/plain", None),
    ("a", None, None), ("a", "text/ogg", None),
])
def test_the_format_is_known_by_name_or_type(name, mime, expected):
    assert find_format(Path(name), mime) == expected


def test_the_length_of_a_wav_is_that_of_the_standard_library():
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(44_100)
        out.writeframes(bytes(4 * 44_100 * 3))

    assert seconds(file.getvalue()) == 3.0


def test_lengths_are_read_from_heads(recordings):
    flac = b"fLaC\0\0\0\x22" + bytes(10) + (
        (44_100 << 44) | (15 << 36) | (44_100 * 7)).to_bytes(8, "big")
    mp4 = (b"\0\0\0\x18ftypM4A " + bytes(12) + b"\0\0\0\x6cmoov"
           b"\0\0\0\x6cmvhd" + struct.pack(">IIIII", 0, 0, 0, 1000, 2500))
    wide = (b"\0\0\0\x18ftypM4A " + bytes(12) + b"\0\0\0\x6cmvhd"
            + struct.pack(">IQQIQ", 1 << 24, 0, 0, 600, 6000))
    vorbis = (b"OggS" + bytes(24) + b"\x01vorbis"
              + struct.pack("<IBI", 0, 1, 16_000)
              + b"OggS\0\4" + struct.pack("<q", 32_000))

    assert seconds(recordings("a.ogg", 121.5).read_bytes()) == 121.5
    assert seconds(vorbis) == 2.0
    assert seconds(flac) == 7.0
    assert seconds(mp4) == 2.5
    assert seconds(wide) == 10.0
    assert seconds(b"ID3 whatever") is None


@given(st.sampled_from([b"OggS", b"RIFF0000WAVE", b"fLaC", b"0000ftyp",
                        b"OggS" + bytes(24) + b"OpusHead",
                        b"0000ftypmvhd", b"RIFF0000WAVEfmt "]),
       st.binary(max_size=80))
def test_a_damaged_head_has_no_length_and_does_no_harm(magic, rest):
    found = seconds(magic + rest)

    assert found is None or found >= 0


def test_a_recording_is_read_under_a_plain_name(recordings):
    path = recordings("x] voice.oga")
    got = read_recording(path, None, SpeechLimits())

    assert (got.name, got.mime_type) == ("audio.ogg", "audio/ogg")
    assert got.data == path.read_bytes()


@pytest.mark.parametrize(("limits", "words"), [
    (SpeechLimits(max_bytes=10), "larger than"),
    (SpeechLimits(max_seconds=1.9), "2 s long, more than the 1.9 s"),
])
def test_limits_hold(recordings, limits, words):
    with pytest.raises(UsageError, match=words):
        read_recording(recordings("v.ogg"), None, limits)


def test_what_is_no_recording_is_one_sentence(tmp_path):
    (tmp_path / "empty.ogg").touch()
    (tmp_path / "dir.ogg").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    os.mkfifo(tmp_path / "pipe.ogg")
    secret = tmp_path / "secret"
    secret.write_text("s")
    (tmp_path / "link.ogg").symlink_to(secret)
    for name, words in {
            "empty.ogg": "empty", "dir.ogg": "can't be read|no plain file",
            "notes.txt": "no audio", "pipe.ogg": "no plain file",
            "link.ogg": "no plain file", "gone.ogg": "No such file",
    }.items():
        with pytest.raises(UsageError, match=words):
            read_recording(tmp_path / name, None, SpeechLimits())


@pytest.mark.parametrize(("data", "mime"), [
    (b"OggS...", "audio/ogg"), (b"ID3...", "audio/mpeg"),
    (b"\xff\xfb\x90", "audio/mpeg"), (b"fLaC", "audio/flac"),
    (b"RIFF....WAVEfmt ", "audio/wav"), (b"....ftypM4A ", "audio/mp4"),
])
def test_speech_is_known_by_its_first_bytes(data, mime):
    assert find_speech(data).mime_type == mime


@pytest.mark.parametrize("data", [b"", b"<html>", b'{"error": 1}', b"RIFF"])
def test_what_is_no_speech_is_known_too(data):
    assert find_speech(data) is None
