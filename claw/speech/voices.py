"""Voices that are named by their language: en-US-EmmaNeural."""

import re

from claw.core.errors import ConfigError
from claw.speech.settings import TtsSettings

_VOICE = re.compile(r"([a-z]{2,3}-[A-Za-z]{2,4})-[A-Za-z0-9-]+")


def chosen_voice(settings: TtsSettings, plugin: str, such_as: str
                 ) -> str | None:
    """tts.default_voice, None where it still is the default (a voice of
    OpenAI). Raises ConfigError for what is no voice of this plug-in."""
    voice = settings.default_voice
    if voice in ("", TtsSettings().default_voice):
        return None
    if not _VOICE.fullmatch(voice):
        raise ConfigError(f"tts.default_voice: {voice[:60]!r} is no voice of "
                          f"{plugin}", hint=f"such as {such_as}")
    return voice


def read_language(voice: str) -> str:
    """The language that a voice begins with."""
    found = _VOICE.fullmatch(voice)
    return found[1] if found else voice
