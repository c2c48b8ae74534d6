"""Recordings: which format, how long, and reading one safely.

The length is taken from the file itself where its format tells (Ogg, WAV,
FLAC, MP4): what the sender's program claims is not known here. Sources:
RFC 3533 (Ogg), RFC 7845 (Opus in Ogg), RFC 9639 (FLAC), the RIFF and ISO
base media file formats, read 2026-11.
"""

import asyncio
import struct
from abc import abstractmethod
from pathlib import Path

from claw.core.errors import StorageError, UnavailableError, UsageError
from claw.core.speech import Speech, SpeechLimits, Transcriber
from claw.core.value import Value, hidden
from claw.security.files import nofollow

FORMATS = ("flac", "mp3", "mpeg", "mpga", "mp4", "m4a", "ogg", "oga",
           "opus", "wav", "webm")
# What files of a format are called on the wire.
_SENT_AS = {"oga": "ogg"}
_MIME = {"flac": "audio/flac", "mp3": "audio/mpeg", "mpeg": "audio/mpeg",
         "mpga": "audio/mpeg", "mp4": "audio/mp4", "m4a": "audio/mp4",
         "ogg": "audio/ogg", "opus": "audio/ogg", "wav": "audio/wav",
         "webm": "audio/webm"}
# By type, where the name tells nothing.
_BY_TYPE = {"mpeg": "mp3", "mp3": "mp3", "mp4": "m4a", "x-m4a": "m4a",
            "m4a": "m4a", "aac": "m4a", "ogg": "ogg", "opus": "opus",
            "wav": "wav", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav",
            "flac": "flac", "x-flac": "flac", "webm": "webm"}
# By the first bytes.
_MAGIC = ((b"OggS", "ogg"), (b"fLaC", "flac"), (b"ID3", "mp3"),
          (b"\xff\xfb", "mp3"), (b"\xff\xf3", "mp3"), (b"\xff\xf2", "mp3"),
          (b"\x1aE\xdf\xa3", "webm"))
_OPUS_RATE = 48_000


class Recording(Value):
    """A recording as it is sent: `name` has the format as its suffix;
    `file_name` is what people call it."""

    name: str
    mime_type: str
    data: bytes = hidden()
    file_name: str = ""


class RecordingTranscriber(Transcriber):
    """Reads a file within its limits, on a thread; a plug-in says what
    stands in the recording."""

    def __init__(self, limits: SpeechLimits) -> None:
        self._limits = limits

    @property
    def limits(self) -> SpeechLimits:
        return self._limits

    async def transcribe(self, path: Path,
                         mime_type: str | None = None) -> str:
        return await self.write_down(await asyncio.to_thread(
            read_recording, path, mime_type, self._limits))

    @abstractmethod
    async def write_down(self, recording: Recording) -> str:
        """What is said in it; the errors of `transcribe`."""


def find_format(path: Path, mime_type: str | None) -> str | None:
    """The format by the name, else by the type; None for no audio that a
    transcriber takes."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        kind, _, subtype = (mime_type or "").lower().partition("/")
        known = _BY_TYPE.get(subtype.partition(";")[0].strip())
        if kind not in ("audio", "video") or known is None:
            return None
        suffix = known
    return _SENT_AS.get(suffix, suffix)


def read_recording(path: Path, mime_type: str | None,
                   limits: SpeechLimits) -> Recording:
    """A recording that keeps to the limits. Blocks; raises UsageError."""
    kind = find_format(path, mime_type)
    if kind is None:
        raise UsageError(f"{path.name} is no audio that can be transcribed",
                         hint="one of: " + ", ".join(FORMATS))
    data = _read(path, limits.max_bytes)
    length = seconds(data)
    if length is not None and length > limits.max_seconds:
        raise UsageError(
            f"{path.name} is {length:.0f} s long, more than the "
            f"{limits.max_seconds:g} s that are transcribed",
            hint="allow more with transcription.max_duration_secs")
    return Recording(f"audio.{kind}", _MIME[kind], data, path.name)


def _read(path: Path, max_bytes: int) -> bytes:
    """A link is not followed: tools may write where recordings lie, and
    what is read here leaves the machine."""
    try:
        data = nofollow.read(*nofollow.split(path), max_bytes + 1)
    except StorageError as error:
        raise UsageError(f"{path.name} is no plain file: {error.message}",
                         hint=error.hint) from error
    except OSError as error:
        raise UsageError(f"{path.name} can't be read: {error.strerror}"
                         ) from error
    if not data:
        raise UsageError(f"{path.name} is empty")
    if len(data) > max_bytes:
        raise UsageError(f"{path.name} is larger than the "
                         f"{max_bytes / 2**20:g} MiB that are transcribed")
    return data


def find_speech(data: bytes) -> Speech | None:
    """Recorded speech by its first bytes, None for anything else."""
    kind = next((k for magic, k in _MAGIC if data.startswith(magic)), None)
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        kind = "wav"
    elif data[4:8] == b"ftyp":
        kind = "m4a"
    return Speech(data, _MIME[kind], kind) if kind else None


def check_spoken(data: bytes, message: str, hint: str) -> Speech:
    """Recorded speech; raises UnavailableError for anything else."""
    speech = find_speech(data)
    if speech is None:
        raise UnavailableError(message, hint=hint)
    return speech


def seconds(data: bytes) -> float | None:
    """How long a recording is, None where its format does not say."""
    try:
        if data[:4] == b"OggS":
            return _ogg_seconds(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
            return _wav_seconds(data)
        if data[:4] == b"fLaC":
            packed = int.from_bytes(data[18:26], "big")
            return float(packed & 0xFFFFFFFFF) / (packed >> 44)
        if data[4:8] == b"ftyp":
            return _mp4_seconds(data)
    except (struct.error, ZeroDivisionError, IndexError):
        pass  # a damaged head: as good as none
    return None


def _ogg_seconds(data: bytes) -> float | None:
    """The position at the end of the last page, in samples."""
    head = data.find(b"OpusHead", 0, 512)
    if head >= 0:
        rate = _OPUS_RATE
        skipped = struct.unpack_from("<H", data, head + 10)[0]
    elif (head := data.find(b"\x01vorbis", 0, 512)) >= 0:
        rate, skipped = struct.unpack_from("<I", data, head + 12)[0], 0
    else:
        return None
    last = data.rfind(b"OggS")
    position: int = struct.unpack_from("<q", data, last + 6)[0]
    return max(0.0, position - float(skipped)) / float(rate)


def _wav_seconds(data: bytes) -> float | None:
    at, rate = 12, 0
    while at + 8 <= len(data):
        name, size = data[at:at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if name == b"fmt ":
            rate = struct.unpack_from("<I", data, at + 16)[0]
        elif name == b"data":
            # A recorder that was cut off leaves a size of its own.
            return float(min(size, len(data) - at - 8)) / rate
        at += 8 + size + size % 2
    return None


def _mp4_seconds(data: bytes) -> float | None:
    at = data.find(b"mvhd")
    if at < 0:
        return None
    wide = data[at + 4] == 1
    scale, length = struct.unpack_from(">IQ" if wide else ">II", data,
                                       at + (24 if wide else 16))
    return float(length) / float(scale)
