"""The files of an answer: what a text names, and what is attached.

Files must lie in the workspace, or where received ones are kept, and be none
of claw's own. A file that was received goes back to its own chat only, when
a text names it: a text is a model's, and each chat asks for what it likes.
Pure but for looking where a file lies.
"""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from claw.channels.markers import Marker, lone_attachment, parse_markers
from claw.core.channel import Attachment, ChannelDeps
from claw.core.files import safe_name
from claw.core.value import Value
from claw.security.files import beneath

_TITLES = {"image": "Image", "video": "Video", "audio": "Audio",
           "voice": "Voice"}
_ADDRESSES = ("http://", "https://")
_KINDS = {
    "image": ("image/jpeg", "image/png", "image/webp", "image/bmp"),
    "voice": ("audio/ogg", "audio/opus"),
    "audio": ("audio/mpeg", "audio/mp4", "audio/x-m4a"),
    "video": ("video/mp4",),
}


class OutsideError(Exception):
    """A file that lies where nothing may be sent from."""


class OutFile(Value):
    """A file to send: the `path` where it really lies, or an `url`; else
    `problem` says why it can't be. `kind` is image, document, video, audio
    or voice."""

    kind: str
    name: str
    path: str = ""
    url: str = ""
    problem: str = ""

    @property
    def title(self) -> str:
        return _TITLES.get(self.kind, "Document")

    @property
    def text(self) -> str:
        """What stands for it where it can't be shown."""
        if self.problem:
            return f"({self.title} {self.name} can not be sent: " \
                   f"{self.problem})"
        return f"{self.title}: {self.url or self.name}"


def name_received(channel: str, chat: str, message_id: str,
                  name: str) -> str:
    """What a received file is saved as; `mark_received` tells its chat."""
    return mark_received(channel, chat) + safe_name(
        f"{message_id}_{name}", "file")


def mark_received(channel: str, chat: str) -> str:
    """What the names of the files of a chat begin with."""
    digest = hashlib.blake2b(chat.encode("utf-8", "replace"), digest_size=6)
    return f"{channel}_{digest.hexdigest()}_"


class OutFiles:
    """Finds and reads the files of answers. `mark` gives what the names of
    a chat's received files begin with."""

    def __init__(self, deps: ChannelDeps, mark: Callable[[str], str]) -> None:
        self._deps = deps
        self._mark = mark
        self._roots = (deps.workspace, deps.files)

    def split(self, content: str, chat: str) -> tuple[str, list[OutFile]]:
        """The text without its markers, and the files that they name. A
        message that is nothing but the place of a file is the file."""
        lone = self._find_lone(content, chat)
        if lone is not None:
            return "", [lone]
        text, markers = parse_markers(content)
        return text, [self.find(m.kind, m.target, chat=chat)
                      for m in markers]

    def attached(self, attachments: Iterable[Attachment]) -> list[OutFile]:
        return [self.find(guess_kind(file), file.path, file.file_name)
                for file in attachments]

    def find(self, kind: str, target: str, name: str = "",
             chat: str | None = None) -> OutFile:
        """The file of a marker or an attachment; `chat` is whose text named
        it."""
        if target.startswith(_ADDRESSES):
            return OutFile(kind, name or target, url=target)
        name = name or PurePosixPath(target).name
        try:
            path = self.locate(target)
            if chat is not None and self._is_of_another(path, chat):
                raise OutsideError("it was sent in another chat")
            if path.is_file():
                return OutFile(kind, name, str(path))
            why = "there is no such file"
        except OutsideError as error:
            why = str(error)
        except (OSError, ValueError) as error:
            why = type(error).__name__
        return OutFile(kind, name, problem=why)

    def locate(self, target: str) -> Path:
        """Where a file really is. Raises OutsideError."""
        root, name = self._split(target)
        return root / name

    def read(self, path: str, most_bytes: int) -> bytes:
        """The bytes; where the file lies is judged again now, on what was
        opened. Raises OutsideError, ClawError, OSError."""
        root, name = self._split(path)
        return beneath.read(root, name, self._is_inside, most_bytes)

    def _find_lone(self, content: str, chat: str) -> OutFile | None:
        marker: Marker | None = lone_attachment(content)
        if marker is None:
            return None
        if not marker.target.startswith(_ADDRESSES):
            try:
                if not self.locate(marker.target).is_file():
                    return None
            except (OutsideError, OSError, ValueError):
                return None
        return self.find(marker.kind, marker.target, chat=chat)

    def _is_of_another(self, path: Path, chat: str) -> bool:
        return (path.is_relative_to(self._deps.files.resolve())
                and not path.name.startswith(self._mark(chat)))

    def _split(self, target: str) -> tuple[Path, str]:
        """The folder that it may be sent from, and its name from there.
        Raises OutsideError."""
        path = Path(target.removeprefix("file://"))
        if path.parts[:2] == ("/", "workspace") \
                and not path.is_relative_to(self._deps.workspace):
            path = self._deps.workspace.joinpath(*path.parts[2:])
        real = (self._deps.workspace / path).resolve()
        root = next((found for found in map(Path.resolve, self._roots)
                     if real.is_relative_to(found)), None)
        if root is None:
            raise OutsideError("it lies outside the workspace")
        if not self._deps.may_send(real):
            raise OutsideError("it is not for sending")
        return root, str(real.relative_to(root))

    def _is_inside(self, real: Path) -> bool:
        try:
            self.locate(str(real))
        except OutsideError:
            return False
        return True


def guess_kind(attachment: Attachment) -> str:
    """By its type; where that is not known by its name."""
    mime = (attachment.mime_type or "").lower().partition(";")[0]
    for kind, types in _KINDS.items():
        if mime in types:
            return kind
    if mime:
        return "document"
    marker = lone_attachment(f"/{attachment.file_name or attachment.path}")
    return marker.kind if marker is not None else "document"
