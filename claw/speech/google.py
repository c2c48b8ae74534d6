"""Google Cloud: Speech-to-Text and Text-to-Speech with an API key.

POST v1/speech:recognize {config, audio{content: base64}} gives
results[].alternatives[0].transcript, nothing where nobody spoke; it takes a
minute of sound at most. POST v1/text:synthesize {input, voice, audioConfig}
gives audioContent in base64. The key goes in the header x-goog-api-key: an
address may be logged.
Sources: Google Cloud's references of both, read 2026-11.
"""

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claw.core.errors import UnavailableError, UsageError
from claw.core.speech import Speech, SpeechLimits, Synthesizer, Transcriber
from claw.core.value import replace
from claw.net.http import Answer
from claw.speech.audio import Recording, read_recording, seconds, spoken
from claw.speech.settings import TranscriptionSettings, TtsSettings
from claw.speech.speaking import TIMEOUT_S, longest, speakable
from claw.speech.voices import chosen_voice, language_of
from claw.speech.wire import (
    Endpoint,
    clean,
    endpoint,
    key_of,
    limits_of,
    object_of,
    odd,
)

MOST_SECONDS = 60.0
MOST_BYTES = 7_500_000  # 10 MB in base64
MOST_TEXT_BYTES = 5_000
# By format: FLAC and WAV say in their heads what they are.
_ENCODINGS: dict[str, dict[str, Any]] = {
    "flac": {}, "wav": {},
    "ogg": {"encoding": "OGG_OPUS", "sampleRateHertz": 48_000},
    "opus": {"encoding": "OGG_OPUS", "sampleRateHertz": 48_000},
    "webm": {"encoding": "WEBM_OPUS", "sampleRateHertz": 48_000}}


class GoogleTranscriber(Transcriber):
    """One request a recording."""

    name = "google"

    def __init__(self, to: Endpoint, limits: SpeechLimits,
                 language: str) -> None:
        self._to = to
        self._limits = limits
        self._language = language

    @property
    def limits(self) -> SpeechLimits:
        return self._limits

    async def transcribe(self, path: Path,
                         mime_type: str | None = None) -> str:
        recording = await asyncio.to_thread(
            read_recording, path, mime_type, self._limits)
        answer = await self._to.post(json={
            "config": {"languageCode": self._language,
                       "enableAutomaticPunctuation": True,
                       **_encoding(recording, path.name)},
            "audio": {"content": base64.b64encode(recording.data).decode()}})
        return _transcript(answer, self._to)


def _encoding(recording: Recording, name: str) -> dict[str, Any]:
    """How the recording is to be read. Raises UsageError for what Google
    does not take."""
    other = "another transcription.default_provider takes it"
    encoding = _ENCODINGS.get(recording.name.rpartition(".")[2])
    if encoding is None:
        raise UsageError(f"{name}: google takes flac, wav, ogg, opus and "
                         "webm", hint=other)
    length = seconds(recording.data)
    if length is not None and length > MOST_SECONDS:
        raise UsageError(f"{name} is {length:.0f} s long; google takes "
                         f"{MOST_SECONDS:g} s", hint=other)
    return encoding


def _transcript(answer: Answer, to: Endpoint) -> str:
    results = object_of(answer, to.peer).get("results", [])
    try:
        pieces = [result["alternatives"][0]["transcript"].strip()
                  for result in results if result.get("alternatives")]
    except (LookupError, TypeError, AttributeError) as error:
        raise odd(to.peer) from error
    return clean(" ".join(pieces))


class GoogleSynthesizer(Synthesizer):
    """`voice` is the language, and the name where one is chosen."""

    name = "google"

    def __init__(self, to: Endpoint, voice: Mapping[str, str],
                 max_chars: int) -> None:
        self._to = to
        self._voice = dict(voice)
        self._max_chars = max_chars

    async def speak(self, text: str) -> Speech:
        text = speakable(text, self._max_chars)
        if len(text.encode("utf-8", "replace")) > MOST_TEXT_BYTES:
            raise UsageError(f"google speaks up to {MOST_TEXT_BYTES:,} "
                             "bytes of text at once",
                             hint="lower tts.max_text_length")
        answer = await self._to.post(json={
            "input": {"text": text}, "voice": self._voice,
            # Ogg is what chats take for a voice message.
            "audioConfig": {"audioEncoding": "OGG_OPUS"}})
        speech = spoken(_recording(answer))
        if speech is None:
            raise UnavailableError(
                f"{self._to.peer.title} sent something that is no recording",
                hint="does its address belong to a speech API?")
        return speech


def _recording(answer: Answer) -> bytes:
    """Nothing where there is none."""
    try:
        return base64.b64decode(answer.json()["audioContent"], validate=True)
    except (ValueError, LookupError, TypeError, RecursionError):
        return b""


def transcriber(settings: TranscriptionSettings, env: Mapping[str, str]
                ) -> GoogleTranscriber:
    own = settings.google
    key = key_of("google", "transcription.google.api_key", own.api_key,
                 "GOOGLE_API_KEY", env)
    return GoogleTranscriber(
        endpoint("google", "Google Speech-to-Text", own.api_url, key,
                 scheme="{}", header="x-goog-api-key"),
        replace(limits_of(settings), max_bytes=MOST_BYTES),
        settings.language or own.language_code)


def synthesizer(settings: TtsSettings, env: Mapping[str, str]
                ) -> GoogleSynthesizer:
    own = settings.google
    key = key_of("google", "tts.google.api_key", own.api_key,
                 "GOOGLE_API_KEY", env)
    name = chosen_voice(settings, "google", "en-US-Chirp3-HD-Achernar")
    voice = {"languageCode": own.language_code}
    if name is not None:
        voice = {"languageCode": language_of(name), "name": name}
    return GoogleSynthesizer(
        endpoint("google", "Google Text-to-Speech", own.api_url, key,
                 scheme="{}", header="x-goog-api-key", timeout_s=TIMEOUT_S),
        voice, longest(settings))
