"""Files that people send: fetched within bounds, saved under a safe name.

A file that can't be had does not stop its message: its line in the text
says why it is not there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from claw.core.channel import Attachment, ChannelDeps
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    StorageError,
    UnavailableError,
)
from claw.core.files import save_bytes
from claw.core.value import Value
from claw.security.files import nofollow

FETCH_S = 60.0
_TRIES = 3
_WAIT_S = 1.0
_MIB = 1024 * 1024


class FileRef(Value):
    """A file of a message, not fetched yet. `kind` is image, document,
    video, voice (recorded for us) or audio (any other recording)."""

    kind: str
    file_id: str
    name: str
    mime_type: str | None = None
    size_bytes: int = 0


class FileSaver:
    """Fetches with `download` (file_id -> bytes) what has at most
    `most_bytes`, and saves it below the channel's folder."""

    def __init__(self, deps: ChannelDeps,
                 download: Callable[[str], Awaitable[bytes]], *,
                 most_bytes: int,
                 sleep: Callable[[float], Awaitable[Any]]) -> None:
        self._deps = deps
        self._download = download
        self._most_bytes = most_bytes
        self._sleep = sleep

    async def save(self, ref: FileRef, name: str
                   ) -> tuple[Attachment | None, str]:
        """The file saved as `name`, or why there is none. Raises
        StorageError."""
        if ref.size_bytes > self._most_bytes:
            return None, (f"it has {-(-ref.size_bytes // _MIB)} MiB, "
                          f"bots can fetch {self._most_bytes / _MIB:.0f} "
                          "MiB")
        try:
            # No longer than a watchdog takes for a hang: a file that never
            # comes must not keep the messages after it.
            async with asyncio.timeout(FETCH_S):
                data = await self._fetch(ref)
        except (UnavailableError, AuthError, TimeoutError) as error:
            why = (error.message if isinstance(error, ClawError)
                   else f"it did not arrive within {FETCH_S:g} s")
            self._deps.log("file_not_fetched", file=ref.name, error=why)
            return None, why
        path = await asyncio.to_thread(
            save_bytes, self._deps.files, name, data)
        return Attachment(path=str(path), file_name=ref.name,
                          mime_type=ref.mime_type,
                          size_bytes=len(data)), ""

    async def save_all(self, named: Iterable[tuple[FileRef, str]],
                       heard: Callable[[], None]
                       ) -> tuple[list[str], list[Attachment]]:
        """Files and the names to save them as: the lines that stand for
        them in the text, and those that could be had. `heard` is called
        after each."""
        lines: list[str] = []
        found: list[Attachment] = []
        for ref, name in named:
            attachment, why = await self.save(ref, name)
            heard()
            lines.append(describe_file(
                ref, attachment.path if attachment else None, why))
            if attachment is not None:
                found.append(attachment)
        return lines, found

    def find(self, ref: FileRef, name: str) -> Attachment | None:
        """The file as it was saved before, None where it is not there."""
        with suppress(OSError, StorageError):
            found = nofollow.status(self._deps.files, name)
            if found is not None and nofollow.is_plain(found):
                return Attachment(str(self._deps.files / name), ref.name,
                                  ref.mime_type, found.st_size)
        return None

    async def _fetch(self, ref: FileRef) -> bytes:
        for attempt in range(1, _TRIES):
            try:
                return await self._download(ref.file_id)
            except (RequestRefusedError, RateLimitedError):
                raise
            except UnavailableError:
                await self._sleep(_WAIT_S * attempt)
        return await self._download(ref.file_id)


def describe_file(ref: FileRef, path: str | None, why: str = "") -> str:
    """The line that stands for a file: where it is, or `why` it is not
    there."""
    title = {"image": "Image", "video": "Video", "voice": "Voice",
             "audio": "Audio"}.get(ref.kind, "Document")
    if path is None:
        return f"[{title}: {ref.name} could not be fetched: {why}]"
    if ref.kind == "image":
        return f"[IMAGE:{path}]"
    return "[Voice]" if ref.kind == "voice" else (
        f"[{title}: {ref.name}] {path}")


def name_strangers(refs: Iterable[FileRef]
                   ) -> tuple[list[str], list[Attachment]]:
    """The lines of a stranger's files, which are left where they are."""
    return [describe_file(ref, None, "files of strangers are not kept")
            for ref in refs], []


def mark_voice(path: str) -> str:
    """What stands in a quote for a voice message that is saved there, until
    it is transcribed."""
    return f"[Voice: {path}]"
