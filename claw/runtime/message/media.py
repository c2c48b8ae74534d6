"""Media pipeline: what a message's attachments say, as text.

A channel saves an attachment first and leaves a mark in the text: "[Voice]"
for a recorded message, a path for anything else. Here a voice message
becomes "[Voice] what was said", also where it is quoted; one that can't be
transcribed says so and where it lies. [media_pipeline] adds a line for each
other attachment. None is ever left out: what nothing else mentions is named
with its path.
"""

import re
from pathlib import Path, PurePath
from typing import Literal, TypeAlias

from claw.channels.media import mark_voice
from claw.core.channel import Attachment, ChannelMessage
from claw.core.errors import ClawError
from claw.core.files import safe_name
from claw.core.log import Log
from claw.core.speech import Transcriber
from claw.core.value import Value, replace
from claw.runtime.settings import MediaSettings

# Said by audio that is no voice message: a stranger's words.
LABEL = "audio"
# A burst of recordings must not keep a turn busy for an hour.
MOST_RECORDINGS = 8

Kind: TypeAlias = Literal["audio", "image", "video", "other"]

_SUFFIXES: dict[Kind, frozenset[str]] = {
    "audio": frozenset((".flac", ".mp3", ".mpeg", ".mpga", ".m4a", ".ogg",
                        ".oga", ".opus", ".wav", ".webm", ".aac", ".amr")),
    "image": frozenset((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp",
                        ".heic", ".avif", ".tif", ".tiff")),
    "video": frozenset((".mp4", ".mkv", ".mov", ".avi", ".m4v", ".3gp",
                        ".mpg")),
}
# On a line of its own, or after what a channel puts before a text; a
# quoted line begins with ">".
_MARK = re.compile(r"^(?P<before>(?:\[[^\[\]\n]*\] ?)*)\[Voice\][ \t]*$",
                   re.MULTILINE)
_SPOKEN = re.compile(r"^(?:\[[^\[\]\n]*\] ?)*\[Voice(?:\]| message[,:])",
                     re.MULTILINE)

_BRACKETS = str.maketrans("[]", "()")


class Hearing(Value):
    """What a recording says, or why that is not known (text None)."""

    text: str | None = None
    problem: str = ""


async def describe(message: ChannelMessage, settings: MediaSettings,
                   transcriber: Transcriber | None, log: Log, *,
                   sees: bool = False) -> ChannelMessage:
    """The message with its attachments in words. `sees`: the model looks
    at images itself."""
    return (await _Pipeline(message, settings, transcriber, log, sees).run()
            if message.attachments else message)


def is_voice(message: ChannelMessage) -> bool:
    """Whether somebody spoke, before or after `describe`."""
    return (any(detect_kind(a) == "audio" for a in message.attachments)
            and _SPOKEN.search(message.content) is not None)


def detect_kind(attachment: Attachment) -> Kind:
    """By the type, else by the suffix of the name."""
    prefix = (attachment.mime_type or "").lower().partition("/")[0]
    if prefix in ("audio", "image", "video"):
        return prefix  # type: ignore[return-value]
    suffix = PurePath(attachment.file_name).suffix.lower()
    return next((kind for kind, suffixes in _SUFFIXES.items()
                 if suffix in suffixes), "other")


class _Pipeline:
    def __init__(self, message: ChannelMessage, settings: MediaSettings,
                 transcriber: Transcriber | None, log: Log,
                 sees: bool) -> None:
        self._message = message
        self._settings = settings
        self._transcriber = transcriber
        self._log = log
        self._sees = sees
        self._left = MOST_RECORDINGS
        self._foreign = False

    async def run(self) -> ChannelMessage:
        content, quoted = await self._fill_quotes(self._message.content)
        # The recordings that the marks stand for, in order: those that the
        # text does not mention by path.
        voices = [a for a in self._message.attachments
                  if detect_kind(a) == "audio" and a.path not in content
                  and a not in quoted][:len(_MARK.findall(content))]
        content = await self._fill_marks(content, voices)
        lines = []
        for attachment in self._message.attachments:
            if attachment not in voices and attachment not in quoted:
                line = await self._describe_other(attachment)
                if line is None and attachment.path not in content:
                    line = _mention(attachment)
                lines += [line] if line is not None else []
        labels = (LABEL,) if self._foreign else ()
        return replace(
            self._message,
            content="\n\n".join(filter(None, ("\n".join(lines), content))),
            labels=tuple(dict.fromkeys((*self._message.labels, *labels))))

    async def _fill_quotes(self, content: str
                           ) -> tuple[str, list[Attachment]]:
        """The text with what was said in the voice messages that it
        quotes, and these. A line of a quote stays one."""
        quoted = [a for a in self._message.attachments
                  if f"> {mark_voice(a.path)}" in content]
        for attachment in quoted:
            heard = await self._hear(attachment)
            said = "[Voice] " + " ".join(heard.text.split()).translate(
                _BRACKETS) if heard.text else self._explain(heard, attachment)
            content = content.replace(mark_voice(attachment.path), said, 1)
        return content, quoted

    async def _fill_marks(self, content: str,
                          voices: list[Attachment]) -> str:
        """The text with what was said in place of its marks."""
        waiting = iter([await self._describe_voice(attachment)
                        for attachment in voices])

        def fill(match: re.Match[str]) -> str:
            text = next(waiting, None)
            return match[0] if text is None else match["before"] + text
        return _MARK.sub(fill, content)

    async def _describe_voice(self, attachment: Attachment) -> str:
        heard = await self._hear(attachment)
        return (f"[Voice] {heard.text}" if heard.text
                else self._explain(heard, attachment))

    @staticmethod
    def _explain(heard: Hearing, attachment: Attachment) -> str:
        problem = heard.problem or "nothing was heard in it"
        return (f"[Voice message, not transcribed: {problem}. It is saved "
                f"at {attachment.path}]")

    async def _describe_other(self, attachment: Attachment) -> str | None:
        """The line of an attachment, None where it gets none."""
        kind = detect_kind(attachment)
        if kind == "audio":
            return await self._describe_audio(attachment)
        if not self._settings.enabled:
            return None
        name = safe_name(attachment.file_name, "unnamed")
        if kind == "image":
            look = ", will be processed by vision model" if (
                self._sees and self._settings.describe_images) else ""
            return f"[Image: {name} attached{look}]"
        return f"[Video: {name} attached]" if kind == "video" else None

    async def _describe_audio(self, attachment: Attachment) -> str | None:
        transcriber, settings = self._transcriber, self._settings
        wanted = settings.transcribe_audio and settings.enabled
        if transcriber is None or not (
                wanted or transcriber.limits.other_audio):
            return "[Audio: attached]" if settings.enabled else None
        heard = await self._hear(attachment)
        if heard.text is None:
            return "[Audio: transcription failed]"
        self._foreign = True
        # A stranger's recording can't end its own line or write a marker.
        text = " ".join(heard.text.split()).translate(_BRACKETS)
        return f"[Audio transcription: {text or '(empty)'}]"

    async def _hear(self, attachment: Attachment) -> Hearing:
        if self._transcriber is None:
            return Hearing(problem="transcription is off")
        self._left -= 1
        if self._left < 0:
            return Hearing(problem="too many recordings at once")
        try:
            return Hearing(await self._transcriber.transcribe(
                Path(attachment.path), attachment.mime_type))
        except ClawError as error:
            self._log("transcription_failed", file=attachment.path,
                      provider=self._transcriber.name, error=error.message)
            return Hearing(problem=" ".join(error.message.split()))


def _mention(attachment: Attachment) -> str:
    if detect_kind(attachment) == "image":
        return f"[IMAGE:{attachment.path}]"
    name = safe_name(attachment.file_name, "unnamed")
    return f"[Document: {name}] {attachment.path}"
