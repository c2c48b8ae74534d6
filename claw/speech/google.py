"""Google Cloud: Speech-to-Text and Text-to-Speech with an API key.

POST v1/speech:recognize {config, audio{content: base64}} gives
results[].alternatives[0].transcript, nothing where nobody spoke; it takes a
minute of sound at most. POST v1/text:synthesize {input, voice, audioConfig}
gives audioContent in base64. The key goes in the header x-goog-api-key: an
address may be logged.
Sources: Google Cloud's references of both, read 2026-11.
"""

import base64
from collections.abc import Mapping
from typing import Any

from claw.core.errors import UsageError
from claw.core.speech import Speech, SpeechLimits, Synthesizer
from claw.core.value import replace
from claw.net.http import Answer
from claw.speech.audio import (
    Recording,
    RecordingTranscriber,
    check_spoken,
    seconds,
)
from claw.speech.settings import TranscriptionSettings, TtsSettings
from claw.speech.speaking import TIMEOUT_S, longest, speakable
from claw.speech.voices import chosen_voice, read_language
from claw.speech.wire import (
    Endpoint,
    clean,
    endpoint,
    find_key,
    odd,
    read_limits,
    read_object,
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


class GoogleTranscriber(RecordingTranscriber):
    """One request a recording."""

    name = "google"
    paid_model = "speech-to-text"

    def __init__(self, to: Endpoint, limits: SpeechLimits,
                 language: str) -> None:
        super().__init__(limits)
        self._to = to
        self._language = language

    async def write_down(self, recording: Recording) -> str:
        answer = await self._to.post(json={
            "config": {"languageCode": self._language,
                       "enableAutomaticPunctuation": True,
                       **_encoding(recording)},
            "audio": {"content": base64.b64encode(recording.data).decode()}})
        return _transcript(answer, self._to)


def _encoding(recording: Recording) -> dict[str, Any]:
    """How the recording is to be read. Raises UsageError for what Google
    does not take."""
    other = "another transcription.default_provider takes it"
    encoding = _ENCODINGS.get(recording.name.rpartition(".")[2])
    if encoding is None:
        raise UsageError(
            f"{recording.file_name}: google takes flac, wav, ogg, opus and "
            "webm", hint=other)
    length = seconds(recording.data)
    if length is not None and length > MOST_SECONDS:
        raise UsageError(
            f"{recording.file_name} is {length:.0f} s long; google takes "
            f"{MOST_SECONDS:g} s", hint=other)
    return encoding


def _transcript(answer: Answer, to: Endpoint) -> str:
    results = read_object(answer, to.peer).get("results", [])
    try:
        pieces = [result["alternatives"][0]["transcript"].strip()
                  for result in results if result.get("alternatives")]
    except (LookupError, TypeError, AttributeError) as error:
        raise odd(to.peer) from error
    return clean(" ".join(pieces))


class GoogleSynthesizer(Synthesizer):
    """`voice` is the language, and the name where one is chosen."""

    name = "google"
    paid_model = "text-to-speech"

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
        return check_spoken(
            _recording(answer),
            f"{self._to.peer.title} sent something that is no recording",
            "does its address belong to a speech API?")


def _recording(answer: Answer) -> bytes:
    """Nothing where there is none."""
    try:
        return base64.b64decode(answer.json()["audioContent"], validate=True)
    except (ValueError, LookupError, TypeError, RecursionError):
        return b""


def transcriber(settings: TranscriptionSettings, env: Mapping[str, str]
                ) -> GoogleTranscriber:
    own = settings.google
    key = find_key("google", "transcription.google.api_key", own.api_key,
                 "GOOGLE_API_KEY", env)
    return GoogleTranscriber(
        endpoint("google", "Google Speech-to-Text", own.api_url, key,
                 scheme="{}", header="x-goog-api-key"),
        replace(read_limits(settings), max_bytes=MOST_BYTES),
        settings.language or own.language_code)


def synthesizer(settings: TtsSettings, env: Mapping[str, str]
                ) -> GoogleSynthesizer:
    own = settings.google
    key = find_key("google", "tts.google.api_key", own.api_key,
                 "GOOGLE_API_KEY", env)
    name = chosen_voice(settings, "google", "en-US-Chirp3-HD-Achernar")
    voice = {"languageCode": own.language_code}
    if name is not None:
        voice = {"languageCode": read_language(name), "name": name}
    return GoogleSynthesizer(
        endpoint("google", "Google Text-to-Speech", own.api_url, key,
                 scheme="{}", header="x-goog-api-key", timeout_s=TIMEOUT_S),
        voice, longest(settings))
