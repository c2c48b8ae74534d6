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
from pathlib import Path
from typing import Any

from claw.core.errors import UnavailableError
from claw.core.speech import SpeechLimits, Transcriber
from claw.speech.audio import read_recording
from claw.speech.settings import TranscriptionSettings
from claw.speech.wire import (
    Endpoint,
    clean,
    endpoint,
    key_of,
    limits_of,
    object_of,
    odd,
    text_of,
)

POLL_S = 3.0
WAIT_S = 180.0
_TOLD_CHARS = 200
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


class AssemblyAiTranscriber(Transcriber):
    """`asked` is what a job is made with, besides its recording."""

    name = "assemblyai"

    def __init__(self, to: Endpoint, limits: SpeechLimits,
                 asked: Mapping[str, Any], *, poll_s: float = POLL_S,
                 wait_s: float = WAIT_S) -> None:
        self._to = to
        self._limits = limits
        self._asked = dict(asked)
        self._poll_s = poll_s
        self._wait_s = wait_s

    @property
    def limits(self) -> SpeechLimits:
        return self._limits

    async def transcribe(self, path: Path,
                         mime_type: str | None = None) -> str:
        recording = await asyncio.to_thread(
            read_recording, path, mime_type, self._limits)
        try:
            async with asyncio.timeout(self._wait_s) as limit:
                return await self._heard(recording.data)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise UnavailableError(
                f"{self._to.peer.title} was not done within "
                f"{self._wait_s:g} s", hint="try again later") from error

    async def _heard(self, data: bytes) -> str:
        to = self._to
        sent = await to.ask(
            "POST", "/v2/upload", content=data,
            headers={"content-type": "application/octet-stream"})
        made = await to.ask("POST", "/v2/transcript", json={
            "audio_url": text_of(sent, to.peer, "upload_url"),
            **self._asked})
        job = text_of(made, to.peer, "id")
        if not _ID.fullmatch(job):  # it becomes a part of an address
            raise odd(to.peer)
        while True:
            answer = await to.ask("GET", f"/v2/transcript/{job}")
            status = text_of(answer, to.peer, "status")
            if status == "completed":
                # Nobody spoke: the text is null.
                text = object_of(answer, to.peer).get("text")
                return clean(text) if isinstance(text, str) else ""
            if status == "error":
                raise UnavailableError(
                    f"{to.peer.title} could not transcribe it: "
                    + text_of(answer, to.peer, "error")[:_TOLD_CHARS])
            await asyncio.sleep(self._poll_s)


def assemblyai(settings: TranscriptionSettings, env: Mapping[str, str]
               ) -> AssemblyAiTranscriber:
    own = settings.assemblyai
    key = key_of("assemblyai", "transcription.assemblyai.api_key",
                 own.api_key, "ASSEMBLYAI_API_KEY", env)
    asked: dict[str, Any] = {"language_code": settings.language} \
        if settings.language else {"language_detection": True}
    if own.models:
        asked["speech_models"] = list(own.models)
    return AssemblyAiTranscriber(
        endpoint("assemblyai", "AssemblyAI", own.api_url, key, scheme="{}"),
        limits_of(settings), asked)
