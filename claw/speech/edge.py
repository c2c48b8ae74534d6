"""Synthesis by edge-tts, a program that speaks with the voices of Microsoft
Edge.

It is asked for one file: edge-tts --file TEXT --write-media MP3. The text
goes in a file, since arguments can be read by everyone on the machine.
Source: the help of edge-tts 7, read 2026-11.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePath

from claw.core.errors import ConfigError
from claw.core.speech import Speech, Synthesizer
from claw.speech.audio import check_spoken
from claw.speech.command import read_output, run_program
from claw.speech.settings import TtsSettings
from claw.speech.speaking import TIMEOUT_S, longest, speakable
from claw.speech.voices import chosen_voice

PROGRAM = "edge-tts"
# It asks a server: the ways out of this machine, besides what every
# program is given.
_PASSED = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy",
           "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy",
           "SSL_CERT_FILE", "SSL_CERT_DIR")


class EdgeSynthesizer(Synthesizer):
    """Runs the program once for each text."""

    name = "edge"

    def __init__(self, binary: str, voice: str | None, max_chars: int,
                 env: Mapping[str, str], timeout_s: float = TIMEOUT_S
                 ) -> None:
        self._binary = binary
        self._voice = voice
        self._max_chars = max_chars
        self._env = env
        self._timeout_s = timeout_s

    async def speak(self, text: str) -> Speech:
        text = speakable(text, self._max_chars)
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "text.txt"), Path(folder, "speech")
            await asyncio.to_thread(source.write_bytes,
                                    text.encode("utf-8", "replace"))
            argv = [self._binary, "--file", str(source),
                    "--write-media", str(target)]
            if self._voice is not None:
                argv += ["--voice", self._voice]
            await run_program(argv, b"", self._env, self._timeout_s,
                              also=_PASSED)
            data = await asyncio.to_thread(read_output, target)
        return check_spoken(
            data, f"{self._binary} wrote no recording",
            "does it speak by itself? "
            f"{PROGRAM} --text hello --write-media hello.mp3")


def edge(settings: TtsSettings, env: Mapping[str, str]) -> EdgeSynthesizer:
    """Raises ConfigError for a program of another name: for any other
    there is tts.command."""
    binary = settings.edge.binary_path
    if PurePath(binary).name.lower().removesuffix(".exe") != PROGRAM:
        raise ConfigError(
            f"tts.edge.binary_path: {binary[:60]!r} is not {PROGRAM}",
            hint="for another program set tts.default_provider to command, "
                 "and tts.command")
    return EdgeSynthesizer(
        binary, chosen_voice(settings, "edge", "en-US-EmmaNeural"),
        longest(settings), env)
