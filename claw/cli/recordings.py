"""What a recording says, for a question that it goes with."""

import asyncio
import os
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from claw.config.tree import Tree
from claw.core.errors import ConfigError
from claw.core.files import safe_name
from claw.speech import transcriber_of
from claw.speech.audio import spoken
from claw.speech.settings import TranscriptionSettings


def heard(name: str, data: bytes, tree: Tree) -> str:
    """The words of a recording, by [transcription]. Raises ConfigError
    where that is off, and what a Transcriber raises."""
    speech = spoken(data)
    assert speech is not None
    room = transcriber_of(
        tree.decode("transcription", TranscriptionSettings), os.environ)
    if room is None:
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
        said = asyncio.run(room.transcribe(path, speech.mime_type))
    return said or "(nothing was heard in it)"
