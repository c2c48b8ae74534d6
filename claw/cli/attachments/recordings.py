"""What a recording says, for a question that it goes with."""

import asyncio
import os
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from claw.config.tree import Tree
from claw.core.errors import ConfigError, UsageError
from claw.core.files import safe_name
from claw.speech import build_transcriber
from claw.speech.audio import find_speech
from claw.speech.settings import TranscriptionSettings
from claw.wiring.models.metered import meter_transcriber


def transcribe(name: str, data: bytes, tree: Tree, *, paid: bool) -> str:
    """The words of a recording, by [transcription]. Raises ConfigError
    where that is off, UsageError where it costs money and is not to be
    `paid`, and what a Transcriber raises."""
    speech = find_speech(data)
    assert speech is not None
    inner = build_transcriber(
        tree.decode("transcription", TranscriptionSettings), os.environ)
    transcriber = meter_transcriber(tree, inner)
    if transcriber is None:
        raise ConfigError(
            f"{name} is a recording, and transcription is off",
            hint="claw config set transcription.enabled true, and name who "
                 "does it with transcription.default_provider")
    if transcriber is not inner and not paid:
        raise UsageError(
            f"{name} is a recording, and --max-cost does not count what "
            f"{transcriber.name} takes for writing it down",
            hint="leave out --max-cost, or give its words as text")
    # A copy: it may have come through a pipe or a link, and its name may
    # tell another format.
    with TemporaryDirectory(prefix="claw-") as folder:
        stem = safe_name(PurePath(name).stem, "recording")
        path = Path(folder, f"{stem}.{speech.extension}")
        path.write_bytes(data)
        text = asyncio.run(transcriber.transcribe(path, speech.mime_type))
    return text or "(nothing was heard in it)"
