"""Speech: plug-ins that write down what is said, and plug-ins that speak.

TRANSCRIBERS and SYNTHESIZERS hold what builds one: called with the settings
of its table and the environment, it returns the plug-in or raises ConfigError
(a setting is missing) or AuthError (a key is).
"""

from collections.abc import Mapping

from claw.core.registry import Registry
from claw.core.speech import Synthesizer, Transcriber
from claw.speech.settings import TranscriptionSettings, TtsSettings

TRANSCRIBERS = Registry("transcription provider", "claw.transcribers", {
    "groq": "claw.speech.openai_like:groq",
    "openai": "claw.speech.openai_like:openai",
    "deepgram": "claw.speech.deepgram:deepgram",
    "assemblyai": "claw.speech.assemblyai:assemblyai",
    "google": "claw.speech.google:transcriber",
    "local_whisper": "claw.speech.openai_like:local_whisper",
    "command": "claw.speech.command:listener",
})
SYNTHESIZERS = Registry("speech provider", "claw.synthesizers", {
    "openai": "claw.speech.speaking:openai",
    "elevenlabs": "claw.speech.speaking:elevenlabs",
    "google": "claw.speech.google:synthesizer",
    "edge": "claw.speech.edge:edge",
    "piper": "claw.speech.speaking:piper",
    "command": "claw.speech.command:speaker",
})


def build_transcriber(settings: TranscriptionSettings, env: Mapping[str, str]
                   ) -> Transcriber | None:
    """What [transcription] asks for, None where it is off. Raises
    ConfigError, AuthError or MissingPartError where it can't be had."""
    if not settings.enabled:
        return None
    found: Transcriber = TRANSCRIBERS.load(settings.default_provider)(
        settings, env)
    return found


def build_synthesizer(settings: TtsSettings, env: Mapping[str, str]
                   ) -> Synthesizer | None:
    """What [tts] asks for, as build_transcriber."""
    if not settings.enabled:
        return None
    found: Synthesizer = SYNTHESIZERS.load(settings.default_provider)(
        settings, env)
    return found
