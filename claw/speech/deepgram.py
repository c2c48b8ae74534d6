"""Transcription by Deepgram: the recording as it is, its settings in the
query.

Source: Deepgram's API reference, "Pre-recorded audio", read 2026-11.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from claw.core.speech import SpeechLimits, Transcriber
from claw.core.value import replace
from claw.speech.audio import read_recording
from claw.speech.settings import TranscriptionSettings
from claw.speech.wire import Endpoint, endpoint, key_of, limits_of, text_of


class DeepgramTranscriber(Transcriber):
    """One request a recording."""

    name = "deepgram"

    def __init__(self, to: Endpoint, limits: SpeechLimits,
                 model: str) -> None:
        self._to = to
        self._limits = limits
        self._model = model

    @property
    def limits(self) -> SpeechLimits:
        return self._limits

    async def transcribe(self, path: Path,
                         mime_type: str | None = None) -> str:
        recording = await asyncio.to_thread(
            read_recording, path, mime_type, self._limits)
        answer = await self._to.post(
            headers={"content-type": recording.mime_type},
            content=recording.data, model=self._model)
        return text_of(answer, self._to.peer, "results", "channels", 0,
                       "alternatives", 0, "transcript")


def deepgram(settings: TranscriptionSettings, env: Mapping[str, str]
             ) -> DeepgramTranscriber:
    own = settings.deepgram
    key = key_of("deepgram", "transcription.deepgram.api_key", own.api_key,
                 "DEEPGRAM_API_KEY", env)
    to = endpoint("deepgram", "Deepgram", own.api_url, key,
                  scheme="Token {}")
    asked = {"model": own.model, "punctuate": "true"}
    if settings.language:
        asked["language"] = settings.language
    joint = "&" if "?" in to.url else "?"
    return DeepgramTranscriber(
        replace(to, url=to.url + joint + urlencode(asked)),
        limits_of(settings), own.model)
