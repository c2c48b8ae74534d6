"""Transcription by Deepgram: the recording as it is, its settings in the
query.

Source: Deepgram's API reference, "Pre-recorded audio", read 2026-11.
"""

from collections.abc import Mapping
from urllib.parse import urlencode

from claw.core.speech import SpeechLimits
from claw.core.value import replace
from claw.speech.audio import Recording, RecordingTranscriber
from claw.speech.settings import TranscriptionSettings
from claw.speech.wire import (
    Endpoint,
    endpoint,
    find_key,
    read_limits,
    read_text,
)


class DeepgramTranscriber(RecordingTranscriber):
    """One request a recording."""

    name = "deepgram"

    def __init__(self, to: Endpoint, limits: SpeechLimits,
                 model: str) -> None:
        super().__init__(limits)
        self._to = to
        self._model = self.paid_model = model

    async def write_down(self, recording: Recording) -> str:
        answer = await self._to.post(
            headers={"content-type": recording.mime_type},
            content=recording.data, model=self._model)
        return read_text(answer, self._to.peer, "results", "channels", 0,
                       "alternatives", 0, "transcript")


def deepgram(settings: TranscriptionSettings, env: Mapping[str, str]
             ) -> DeepgramTranscriber:
    own = settings.deepgram
    key = find_key("deepgram", "transcription.deepgram.api_key", own.api_key,
                 "DEEPGRAM_API_KEY", env)
    to = endpoint("deepgram", "Deepgram", own.api_url, key,
                  scheme="Token {}")
    asked = {"model": own.model, "punctuate": "true"}
    if settings.language:
        asked["language"] = settings.language
    joint = "&" if "?" in to.url else "?"
    return DeepgramTranscriber(
        replace(to, url=to.url + joint + urlencode(asked)),
        read_limits(settings), own.model)
