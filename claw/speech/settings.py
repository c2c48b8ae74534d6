"""What config.toml may say about hearing ([transcription]) and speaking
([tts])."""

from typing import Annotated

import msgspec

GROQ_URL = "https://api.groq.com/openai/v1/audio/transcriptions"
OPENAI_STT_URL = "https://api.openai.com/v1/audio/transcriptions"
DEEPGRAM_URL = "https://api.deepgram.com/v1/listen"
OPENAI_TTS_URL = "https://api.openai.com/v1/audio/speech"
ELEVENLABS_URL = "https://api.elevenlabs.io/v1/text-to-speech"
ASSEMBLYAI_URL = "https://api.assemblyai.com"
GOOGLE_STT_URL = "https://speech.googleapis.com/v1/speech:recognize"
GOOGLE_TTS_URL = "https://texttospeech.googleapis.com/v1/text:synthesize"
PIPER_URL = "http://127.0.0.1:5000/v1/audio/speech"

# Accepted because the reference's files have them; nothing reads them yet.
INERT = ("transcription.initial_prompt",)

MAX_TEXT_LENGTH = 4096

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Size = Annotated[int, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Speed = Annotated[float, msgspec.Meta(ge=0.25, le=4)]


class OpenAiHearing(msgspec.Struct, frozen=True, kw_only=True):
    """[transcription.openai]

    api_key: its key, else OPENAI_API_KEY; kept encrypted
    model: the model to ask
    api_url: the address to send recordings to
    """

    api_key: str | None = None
    model: str = "whisper-1"
    api_url: str = OPENAI_STT_URL


class DeepgramHearing(msgspec.Struct, frozen=True, kw_only=True):
    """[transcription.deepgram]

    api_key: its key, else DEEPGRAM_API_KEY; kept encrypted
    model: the model to ask
    api_url: the address to send recordings to
    """

    api_key: str | None = None
    model: str = "nova-2"
    api_url: str = DEEPGRAM_URL


class AssemblyAiHearing(msgspec.Struct, frozen=True, kw_only=True):
    """[transcription.assemblyai]

    api_key: its key, else ASSEMBLYAI_API_KEY; kept encrypted
    models: the models to ask, best first; empty: what it chooses
    api_url: where its API is; https://api.eu.assemblyai.com is in Europe
    """

    api_key: str | None = None
    models: tuple[str, ...] = ("universal-3-pro", "universal-2")
    api_url: str = ASSEMBLYAI_URL


class GoogleHearing(msgspec.Struct, frozen=True, kw_only=True):
    """[transcription.google]; it takes a minute of flac, wav, ogg, opus or
    webm.

    api_key: its key, else GOOGLE_API_KEY; kept encrypted
    language_code: the language that is spoken, where transcription.language
        is not set
    api_url: the address to send recordings to
    """

    api_key: str | None = None
    language_code: str = "en-US"
    api_url: str = GOOGLE_STT_URL


class LocalWhisper(msgspec.Struct, frozen=True, kw_only=True):
    """[transcription.local_whisper]: a server of one's own.

    url: its address, e.g. http://127.0.0.1:8000/v1/audio/transcriptions
    bearer_token: its token, where it asks for one; kept encrypted
    model: the model to ask, where it has several
    max_audio_bytes: the largest recording it is sent
    timeout_secs: seconds for one recording
    """

    url: str | None = None
    bearer_token: str | None = None
    model: str | None = None
    max_audio_bytes: Size = 25 * 1024 * 1024
    timeout_secs: Seconds = 300


class TranscriptionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[transcription]; the keys without a meaning here stand in INERT.

    enabled: write down what voice messages say
    default_provider: who does it: groq, openai, deepgram, assemblyai,
        google, local_whisper or command
    api_key: the key of groq, else GROQ_API_KEY; kept encrypted
    api_url: the address of groq
    model: the model of groq
    language: the language that is spoken, such as en; unset: it is heard
    max_duration_secs: longer recordings are kept, not transcribed
    transcribe_non_ptt_audio: transcribe audio files too that are no voice
        messages
    command: a program of this machine and its arguments; {file} stands for
        the recording, and what it prints is the text
    """

    enabled: bool = False
    default_provider: str = "groq"
    api_key: str | None = None
    api_url: str = GROQ_URL
    model: str = "whisper-large-v3-turbo"
    language: str | None = None
    initial_prompt: str | None = None
    max_duration_secs: Seconds = 120
    transcribe_non_ptt_audio: bool = False
    command: tuple[str, ...] = ()
    openai: OpenAiHearing = OpenAiHearing()
    deepgram: DeepgramHearing = DeepgramHearing()
    assemblyai: AssemblyAiHearing = AssemblyAiHearing()
    google: GoogleHearing = GoogleHearing()
    local_whisper: LocalWhisper = LocalWhisper()


class OpenAiSpeech(msgspec.Struct, frozen=True, kw_only=True):
    """[tts.openai]

    api_key: its key, else OPENAI_API_KEY; kept encrypted
    model: the model to ask
    speed: how fast it speaks, 0.25 to 4
    api_url: the address to send text to
    """

    api_key: str | None = None
    model: str = "tts-1"
    speed: Speed = 1.0
    api_url: str = OPENAI_TTS_URL


class ElevenLabsSpeech(msgspec.Struct, frozen=True, kw_only=True):
    """[tts.elevenlabs]; default_voice is the id of a voice.

    api_key: its key, else ELEVENLABS_API_KEY; kept encrypted
    model_id: the model to ask
    stability: how even the voice is, 0 to 1
    similarity_boost: how close to the original voice, 0 to 1
    api_url: the address to send text to
    """

    api_key: str | None = None
    model_id: str = "eleven_monolingual_v1"
    stability: Share = 0.5
    similarity_boost: Share = 0.5
    api_url: str = ELEVENLABS_URL


class GoogleSpeech(msgspec.Struct, frozen=True, kw_only=True):
    """[tts.google]; default_voice is the name of a voice, such as
    en-US-Chirp3-HD-Achernar.

    api_key: its key, else GOOGLE_API_KEY; kept encrypted
    language_code: the language, where no voice is chosen
    api_url: the address to send text to
    """

    api_key: str | None = None
    language_code: str = "en-US"
    api_url: str = GOOGLE_TTS_URL


class EdgeSpeech(msgspec.Struct, frozen=True, kw_only=True):
    """[tts.edge]: the program edge-tts (pip install edge-tts);
    default_voice is the name of a voice, such as en-US-EmmaNeural.

    binary_path: the program, by its name or its path
    """

    binary_path: str = "edge-tts"


class PiperSpeech(msgspec.Struct, frozen=True, kw_only=True):
    """[tts.piper]: a server of one's own.

    api_url: its address
    """

    api_url: str = PIPER_URL


class TtsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[tts]; the keys without a meaning here stand in INERT.

    enabled: answer voice messages by voice too
    default_provider: who speaks: openai, elevenlabs, google, edge, piper or
        command
    default_voice: the voice
    default_format: the format that piper is asked for; openai is always
        asked for opus
    max_text_length: longer answers stay text; 0 means 4096
    command: a program of this machine and its arguments; it reads the text
        from stdin and writes the recording to {file}
    """

    enabled: bool = False
    default_provider: str = "openai"
    default_voice: str = "alloy"
    default_format: str = "mp3"
    max_text_length: Count = MAX_TEXT_LENGTH
    command: tuple[str, ...] = ()
    openai: OpenAiSpeech = OpenAiSpeech()
    elevenlabs: ElevenLabsSpeech = ElevenLabsSpeech()
    google: GoogleSpeech = GoogleSpeech()
    edge: EdgeSpeech = EdgeSpeech()
    piper: PiperSpeech = PiperSpeech()
