"""Speech by a program of this machine: whisper.cpp, piper, espeak ...

The owner's config.toml gives the program and its arguments as a list; no
shell reads them, and {file} becomes the path of the recording. A listener
prints the text; a speaker reads it from stdin and writes the recording.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from claw.core.errors import ConfigError, MissingPartError, UnavailableError
from claw.core.speech import Speech, SpeechLimits, Synthesizer
from claw.speech.audio import Recording, RecordingTranscriber, check_spoken
from claw.speech.settings import TranscriptionSettings, TtsSettings
from claw.speech.speaking import longest, speakable
from claw.speech.wire import AUDIO_BYTES, clean, read_limits

TIMEOUT_S = 300.0
_TOLD_CHARS = 200
# What a program needs of the environment; keys are none of its business.
_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR",
           "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "XDG_CACHE_HOME",
           "HF_HOME", "OMP_NUM_THREADS")


class CommandTranscriber(RecordingTranscriber):
    """Runs the program once for each recording."""

    name = "command"

    def __init__(self, argv: Sequence[str], limits: SpeechLimits,
                 env: Mapping[str, str], timeout_s: float = TIMEOUT_S
                 ) -> None:
        super().__init__(limits)
        self._argv = argv
        self._env = env
        self._timeout_s = timeout_s

    async def write_down(self, recording: Recording) -> str:
        with tempfile.TemporaryDirectory() as folder:
            # A copy: the name tells the format, and what was checked is
            # what is read.
            copy = Path(folder, recording.name)
            await asyncio.to_thread(copy.write_bytes, recording.data)
            out = await run_program(_with(self._argv, copy), b"",
                                    self._env, self._timeout_s)
        return clean(out.decode("utf-8", "replace"))


class CommandSynthesizer(Synthesizer):
    """Runs the program once for each text."""

    name = "command"

    def __init__(self, argv: Sequence[str], max_chars: int,
                 env: Mapping[str, str], timeout_s: float = TIMEOUT_S
                 ) -> None:
        self._argv = argv
        self._max_chars = max_chars
        self._env = env
        self._timeout_s = timeout_s

    async def speak(self, text: str) -> Speech:
        text = speakable(text, self._max_chars)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "speech")
            await run_program(_with(self._argv, path),
                              text.encode("utf-8", "replace"), self._env,
                              self._timeout_s)
            data = await asyncio.to_thread(read_output, path)
        return check_spoken(data, f"{self._argv[0]} wrote no recording",
                            "look at tts.command: it writes to {file}")


def read_output(path: Path) -> bytes:
    """The recording; nothing where none was written, or too much."""
    try:
        with path.open("rb") as file:
            data = file.read(AUDIO_BYTES + 1)
    except OSError:
        return b""
    return data if len(data) <= AUDIO_BYTES else b""


def _with(argv: Sequence[str], path: Path) -> list[str]:
    return [part.replace("{file}", str(path)) for part in argv]


async def run_program(argv: Sequence[str], stdin: bytes,
                      env: Mapping[str, str], timeout_s: float, *,
                      also: Sequence[str] = ()) -> bytes:
    """What the program prints. No process survives the time limit, nor
    being cancelled. `also` names more of the environment that it needs."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, env={k: env[k] for k in (*_PASSED, *also) if k in env},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True)
    except (OSError, ValueError) as error:
        raise MissingPartError(f"{argv[0]} can't be started: {error}",
                               hint="is it installed, and in PATH?") from error
    try:
        async with asyncio.timeout(timeout_s):
            out, err = await process.communicate(stdin)
    except BaseException as error:  # no program outlives its call
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        if isinstance(error, TimeoutError):
            raise UnavailableError(f"{argv[0]} was not done within "
                                   f"{timeout_s:g} s") from error
        raise
    if process.returncode:
        told = " ".join(err.decode("utf-8", "replace").split())[-_TOLD_CHARS:]
        raise UnavailableError(
            f"{argv[0]} ended with {process.returncode}: {told}")
    return out


def listener(settings: TranscriptionSettings, env: Mapping[str, str]
             ) -> CommandTranscriber:
    _check("transcription.command", settings.command)
    return CommandTranscriber(settings.command, read_limits(settings), env)


def speaker(settings: TtsSettings, env: Mapping[str, str]
            ) -> CommandSynthesizer:
    _check("tts.command", settings.command)
    return CommandSynthesizer(settings.command, longest(settings), env)


def _check(setting: str, argv: Sequence[str]) -> None:
    if not argv or not any("{file}" in part for part in argv[1:]):
        raise ConfigError(
            f"{setting}: a program and its arguments are needed, one of "
            "them {file}", hint=f'such as {setting} = ["program", "{{file}}"]')
