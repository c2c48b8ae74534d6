"""Transcriber and Synthesizer: the contracts of hearing and speaking.

Channels save what was said and commit it first; the runtime asks a
Transcriber afterwards, so the original survives whatever happens here.
"""

from abc import ABC, abstractmethod
from pathlib import Path

from claw.core.value import Value, hidden

AUDIO_BYTES = 25 * 1024 * 1024
AUDIO_SECONDS = 120.0


class SpeechLimits(Value):
    """What a transcriber takes. `other_audio`: also audio that is no voice
    message."""

    max_bytes: int = AUDIO_BYTES
    max_seconds: float = AUDIO_SECONDS
    other_audio: bool = False


class Speech(Value):
    """Spoken text. `extension` has no dot."""

    data: bytes = hidden()
    mime_type: str
    extension: str


class Transcriber(ABC):
    """Turns a recording into text. `paid_model` is what somebody sells it
    by, None where nothing is paid."""

    paid_model: str | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """The registered name, e.g. "groq"."""

    @property
    def limits(self) -> SpeechLimits:
        return SpeechLimits()

    @abstractmethod
    async def transcribe(self, path: Path,
                         mime_type: str | None = None) -> str:
        """What is said in a file, "" for silence. Raises UsageError for a
        file that is no audio, too large or too long, and AuthError,
        UnavailableError, MissingPartError or ConfigError."""


class Synthesizer(ABC):
    """Turns text into a recording. `paid_model`: as of a Transcriber."""

    paid_model: str | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """The registered name, e.g. "piper"."""

    @abstractmethod
    async def speak(self, text: str) -> Speech:
        """Raises UsageError for text that is empty or too long, and the
        errors of Transcriber."""
