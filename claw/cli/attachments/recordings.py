"""What a recording says, for a question that it goes with."""

import asyncio
import os
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from claw.config.tree import Tree
from claw.core.errors import ConfigError
from claw.core.files import safe_name
from claw.speech import build_transcriber
from claw.speech.audio import find_speech
from claw.speech.settings import TranscriptionSettings
from claw.wiring.metered import meter_transcriber


def transcribe(name: str, data: bytes, tree: Tree) -> str:
    """The words of a recording, by [transcription]. Raises ConfigError
    where that is off, and what a Transcriber raises."""
    speech = find_speech(data)
    assert speech is not None
    transcriber = meter_transcriber(tree, build_transcriber(
        tree.decode("transcription", TranscriptionSettings), os.environ))
    if transcriber is None:
        raise ConfigError(
            f"{name} is a recording, and transcription is off",
            hint="claw config set transcription.enabled true, and name who "
                 "does it with transcription.default_provider")
    # A copy: it may have come through a pipe or a link, and its name may
    # tell another format.
    with TemporaryDirectory(prefix="claw-") as folder:
        stem = safe_name(PurePath(name).stem, "recording")
        path = Path(folder, f"{stem}.{speech.extension}")
        path.write_bytes(data)
        text = asyncio.run(transcriber.transcribe(path, speech.mime_type))
    return text or "(nothing was heard in it)"
