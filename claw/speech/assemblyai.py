"""Transcription by AssemblyAI: the recording goes up, a job is made, and its
state is asked for until it is done.

POST /v2/upload (the bytes) gives `upload_url`; POST /v2/transcript with it
gives `id`; GET /v2/transcript/{id} has `status`: queued, processing,
completed (then `text`) or error.
Source: AssemblyAI's API reference, "Transcript", read 2026-11.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from claw.core.errors import UnavailableError
from claw.core.speech import SpeechLimits
from claw.speech.audio import Recording, RecordingTranscriber
from claw.speech.settings import TranscriptionSettings
from claw.speech.wire import (
    Endpoint,
    clean,
    endpoint,
    find_key,
    odd,
    read_limits,
    read_object,
    read_text,
)

POLL_S = 3.0
WAIT_S = 180.0
_TOLD_CHARS = 200
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


class AssemblyAiTranscriber(RecordingTranscriber):
    """`asked` is what a job is made with, besides its recording."""

    name = "assemblyai"

    def __init__(self, to: Endpoint, limits: SpeechLimits,
                 asked: Mapping[str, Any], *, poll_s: float = POLL_S,
                 wait_s: float = WAIT_S) -> None:
        super().__init__(limits)
        self._to = to
        self._asked = dict(asked)
        self.paid_model = "/".join(asked.get("speech_models", ())) \
            or self.name
        self._poll_s = poll_s
        self._wait_s = wait_s

    async def write_down(self, recording: Recording) -> str:
        try:
            async with asyncio.timeout(self._wait_s) as limit:
                return await self._run_job(recording.data)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise UnavailableError(
                f"{self._to.peer.title} was not done within "
                f"{self._wait_s:g} s", hint="try again later") from error

    async def _run_job(self, data: bytes) -> str:
        to = self._to
        sent = await to.ask(
            "POST", "/v2/upload", content=data,
            headers={"content-type": "application/octet-stream"})
        made = await to.ask("POST", "/v2/transcript", json={
            "audio_url": read_text(sent, to.peer, "upload_url"),
            **self._asked})
        job = read_text(made, to.peer, "id")
        if not _ID.fullmatch(job):  # it becomes a part of an address
            raise odd(to.peer)
        while True:
            answer = await to.ask("GET", f"/v2/transcript/{job}")
            status = read_text(answer, to.peer, "status")
            if status == "completed":
                # Nobody spoke: the text is null.
                text = read_object(answer, to.peer).get("text")
                return clean(text) if isinstance(text, str) else ""
            if status == "error":
                raise UnavailableError(
                    f"{to.peer.title} could not transcribe it: "
                    + read_text(answer, to.peer, "error")[:_TOLD_CHARS])
            await asyncio.sleep(self._poll_s)


def assemblyai(settings: TranscriptionSettings, env: Mapping[str, str]
               ) -> AssemblyAiTranscriber:
    own = settings.assemblyai
    key = find_key("assemblyai", "transcription.assemblyai.api_key",
                 own.api_key, "ASSEMBLYAI_API_KEY", env)
    asked: dict[str, Any] = {"language_code": settings.language} \
        if settings.language else {"language_detection": True}
    if own.models:
        asked["speech_models"] = list(own.models)
    return AssemblyAiTranscriber(
        endpoint("assemblyai", "AssemblyAI", own.api_url, key, scheme="{}"),
        read_limits(settings), asked)
