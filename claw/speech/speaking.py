"""Synthesis over HTTP: openai, a local piper in its shape, elevenlabs.

POST JSON, the answer is the recording. What it is, its first bytes say:
servers of one's own often send another format than was asked for.
Sources: OpenAI's API reference, "Create speech"; ElevenLabs', "Text to
speech"; both read 2026-11.
"""

import re
from collections.abc import Mapping
from typing import Any

from claw.core.errors import ConfigError, UsageError
from claw.core.speech import Speech, Synthesizer
from claw.core.value import replace
from claw.speech.audio import check_spoken
from claw.speech.settings import MAX_TEXT_LENGTH, TtsSettings
from claw.speech.wire import Endpoint, endpoint, find_key

TIMEOUT_S = 60.0
_VOICE_ID = re.compile(r"[A-Za-z0-9_-]+")


class HttpSynthesizer(Synthesizer):
    """`field` is where the text goes in the `body`."""

    def __init__(self, to: Endpoint, body: Mapping[str, Any], field: str,
                 max_chars: int, *, paid_model: str | None = None) -> None:
        self._to = to
        self.paid_model = paid_model
        self._body = dict(body)
        self._field = field
        self._max_chars = max_chars

    @property
    def name(self) -> str:
        return self._to.name

    async def speak(self, text: str) -> Speech:
        text = speakable(text, self._max_chars)
        answer = await self._to.post(json={**self._body, self._field: text})
        return check_spoken(
            answer.content,
            f"{self._to.peer.title} sent something that is no recording",
            "does its address belong to a speech API?")


def speakable(text: str, max_chars: int) -> str:
    """Trimmed text. Raises UsageError where it can't be spoken."""
    text = text.strip()
    if not text:
        raise UsageError("there is no text to speak")
    if len(text) > max_chars:
        raise UsageError(
            f"{len(text)} characters are more than the {max_chars} that are "
            "spoken", hint="allow more with tts.max_text_length")
    return text


def longest(settings: TtsSettings) -> int:
    """The longest text that is spoken, in characters."""
    return settings.max_text_length or MAX_TEXT_LENGTH


def openai(settings: TtsSettings, env: Mapping[str, str]) -> HttpSynthesizer:
    own = settings.openai
    key = find_key("openai", "tts.openai.api_key", own.api_key,
                 "OPENAI_API_KEY", env)
    return HttpSynthesizer(
        endpoint("openai", "OpenAI", own.api_url, key, timeout_s=TIMEOUT_S),
        {"model": own.model, "voice": settings.default_voice,
         "speed": own.speed, "response_format": "opus"},
        "input", longest(settings), paid_model=own.model)


def piper(settings: TtsSettings, env: Mapping[str, str]) -> HttpSynthesizer:
    return HttpSynthesizer(
        endpoint("piper", "the piper server", settings.piper.api_url,
                 timeout_s=TIMEOUT_S),
        {"model": "tts-1", "voice": settings.default_voice,
         "response_format": settings.default_format},
        "input", longest(settings))


def elevenlabs(settings: TtsSettings, env: Mapping[str, str]
               ) -> HttpSynthesizer:
    own, voice = settings.elevenlabs, settings.default_voice
    if not _VOICE_ID.fullmatch(voice):
        raise ConfigError(f"tts.default_voice: {voice[:60]!r} is no voice of "
                          "elevenlabs", hint="it is the id of a voice")
    key = find_key("elevenlabs", "tts.elevenlabs.api_key", own.api_key,
                 "ELEVENLABS_API_KEY", env)
    to = endpoint("elevenlabs", "ElevenLabs", own.api_url, key, scheme="{}",
                  header="xi-api-key", timeout_s=TIMEOUT_S)
    # Ogg is what chats take for a voice message.
    url = f"{to.url.rstrip('/')}/{voice}?output_format=opus_48000_64"
    return HttpSynthesizer(
        replace(to, url=url),
        {"model_id": own.model_id, "voice_settings": {
            "stability": own.stability,
            "similarity_boost": own.similarity_boost}},
        "text", longest(settings), paid_model=own.model_id)
