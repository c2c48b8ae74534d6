"""Transcription in OpenAI's shape: groq, openai, a server of one's own.

POST multipart/form-data with `file`, `model`, `response_format=json` and
`language`; the answer is {"text": "..."}.
Source: OpenAI's API reference, "Create transcription", read 2026-11.
"""

from collections.abc import Mapping

from claw.core.errors import ConfigError
from claw.core.speech import SpeechLimits
from claw.core.value import replace
from claw.net.lean import httpx
from claw.speech.audio import Recording, RecordingTranscriber
from claw.speech.settings import TranscriptionSettings
from claw.speech.wire import (
    Endpoint,
    endpoint,
    find_key,
    read_limits,
    read_text,
    sendable,
)


class OpenAiTranscriber(RecordingTranscriber):
    """One request a recording."""

    def __init__(self, to: Endpoint, limits: SpeechLimits, *,
                 model: str | None = None, language: str | None = None,
                 paid: bool = False) -> None:
        super().__init__(limits)
        self.paid_model = model if paid else None
        self._to = to
        self._fields = {"response_format": "json"}
        if model:
            self._fields["model"] = model
        if language:
            self._fields["language"] = language

    @property
    def name(self) -> str:
        return self._to.name

    async def write_down(self, recording: Recording) -> str:
        content, kind = _form(self._fields, recording)
        answer = await self._to.post(headers={"content-type": kind},
                                     content=content,
                                     model=self._fields.get("model"))
        return read_text(answer, self._to.peer, "text")


def _form(fields: Mapping[str, str], recording: Recording
          ) -> tuple[bytes, str]:
    """The body and its content type."""
    request = httpx.Request(
        "POST", "http://form", data=dict(fields),
        files={"file": (recording.name, recording.data,
                        recording.mime_type)})
    return request.read(), request.headers["content-type"]


def groq(settings: TranscriptionSettings, env: Mapping[str, str]
         ) -> OpenAiTranscriber:
    key = find_key("groq", "transcription.api_key", settings.api_key,
                 "GROQ_API_KEY", env)
    return OpenAiTranscriber(
        endpoint("groq", "Groq", settings.api_url, key),
        read_limits(settings), model=settings.model,
        language=settings.language, paid=True)


def openai(settings: TranscriptionSettings, env: Mapping[str, str]
           ) -> OpenAiTranscriber:
    own = settings.openai
    key = find_key("openai", "transcription.openai.api_key", own.api_key,
                 "OPENAI_API_KEY", env)
    return OpenAiTranscriber(
        endpoint("openai", "OpenAI", own.api_url, key), read_limits(settings),
        model=own.model, language=settings.language, paid=True)


def local_whisper(settings: TranscriptionSettings, env: Mapping[str, str]
                  ) -> OpenAiTranscriber:
    own = settings.local_whisper
    if not own.url:
        raise ConfigError("local_whisper: no address is set", hint=(
            "claw config set transcription.local_whisper.url "
            "http://127.0.0.1:8000/v1/audio/transcriptions"))
    token = (own.bearer_token or "").strip() or None
    if token:
        sendable(token, "transcription.local_whisper.bearer_token")
    return OpenAiTranscriber(
        endpoint("local_whisper", "the local whisper server", own.url, token,
                 timeout_s=own.timeout_secs),
        replace(read_limits(settings), max_bytes=own.max_audio_bytes),
        model=own.model, language=settings.language)
