"""What goes with a question: text, a document, an image, a recording; a
file, a folder, an address, or what is piped in.

The first bytes decide. An image becomes a marker with a data: URL, a
recording what is said in it, a web page the text that a reader sees, a PDF
or an office document its text; other binary data is refused.
"""

import base64
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from claw.agent.settings import MultimodalSettings
from claw.cli.terminal.stdin import (
    NAME,
    RAISE_LIMIT,
    note_wait,
    read_past,
    read_words,
)
from claw.config.tree import Tree
from claw.core.errors import UsageError
from claw.core.images import MARK, image_type
from claw.core.provider import Passage
from claw.core.value import Value, hidden
from claw.text.documents.kind import MOST_BYTES, is_document

STDIN = "-"
RECORDING_BYTES = 25 << 20
_HEAD_BYTES = 64

_STARTS = (b"OggS\0", b"fLaC", b"ID3", b"\xff", b"RIFF", b"\x1aE")
_NO_AUDIO = (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"avif", b"avis")


class Attached(Value):
    """What goes with a question: passages to put under it, and markers of
    images."""

    passages: list[Passage]
    images: list[str]


class Limits(Value):
    """Most bytes of each kind, and how to raise it. `paid`: recordings may
    be written down for money."""

    text: int
    tree: Tree
    way_out: str = RAISE_LIMIT
    paid: bool = True

    @property
    def image(self) -> int:
        return self.tree.decode(
            "multimodal", MultimodalSettings).max_image_size_mb << 20

    @property
    def needs_sandbox(self) -> bool:
        """Whether a document is read in a whole sandbox or not at all."""
        from claw.security.settings import SandboxSettings
        return self.tree.decode("security.sandbox", SandboxSettings
                                ).effective_mode() == "required"

    def find(self, head: bytes) -> tuple[int, str]:
        if image_type(head) is not None:
            return self.image, ("raise it with: claw config set "
                                "multimodal.max_image_size_mb (up to 20)")
        if is_recording(head):
            return RECORDING_BYTES, "send a shorter recording"
        if is_document(head):
            return MOST_BYTES, "send a part of it"
        return self.text, self.way_out


Say = Callable[[str], None]


class Content(Value):
    """Bytes with a name. `text` is what they say, where that is known
    already."""

    name: str
    data: bytes = hidden()
    text: str | None = None


def read_attachments(names: Sequence[str], limit_bytes: int, tree: Tree, *,
                     say: Say = lambda _: None, dry_run: bool = False,
                     paid: bool = True) -> Attached:
    """The passages and images of files, folders and addresses; "-" is
    stdin.

    Raises UsageError for what can't be read, is too long or of no kind
    that a model takes, UnavailableError for an address that gives nothing,
    MissingPartError for a PDF that nothing here reads, and for recordings
    what transcribing raises. In a dry run no recording leaves this machine.
    """
    limits = Limits(limit_bytes, tree, paid=paid)
    found = Attached([], [])
    for name in names:
        if name == STDIN:
            content = _read_stdin(limits, say)
        elif is_address(name):
            from claw.cli.attachments.fetch import fetch_content
            content = fetch_content(name, limits)
        elif is_folder(name):
            from claw.cli.attachments.folder import read_folder
            found.passages.extend(read_folder(name, limits, say))
            continue
        else:
            content = _read(Path(name), limits)
        _attach(found, content, f"file:{content.name}", limits, say, dry_run)
    return found


def read_piped(limits: Limits, *, say: Say,
               dry_run: bool = False) -> Attached:
    """What comes through stdin, as a file would be read. Raises the same
    errors."""
    found = Attached([], [])
    _attach(found, _read_stdin(limits, say), "stdin", limits, say, dry_run)
    return found


def _read_stdin(limits: Limits, say: Say) -> Content:
    with note_wait(say):
        return Content(NAME, _read_bounded(sys.stdin.buffer, NAME, limits))


def is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):  # reading it says what is wrong
        return False


def _attach(found: Attached, content: Content, source: str, limits: Limits,
            say: Say, dry_run: bool) -> None:
    kind = image_type(content.data)
    if kind is None:
        text = _read_words(content, limits, say, dry_run=dry_run)
        found.passages.append(Passage(source, text))
        return
    found.images.append(f"{MARK}data:{kind};base64,"
                        f"{base64.b64encode(content.data).decode()}]")


def is_address(name: str) -> bool:
    return name[:8].lower().startswith(("http://", "https://"))


def is_recording(data: bytes) -> bool:
    """Whether the first bytes are those of recorded speech. More than the
    sign of a format is asked for: "ID3 tags" begins a text too."""
    if data[4:8] == b"ftyp":
        sure = data[:2] == bytes(2) and data[8:12] not in _NO_AUDIO
    elif data[:4] == b"fLaC":
        sure = data[4:5] in (b"\0", b"\x80")
    elif data[:3] == b"ID3":
        sure = data[3:4] < b"\x10"
    else:
        sure = data.startswith(_STARTS)
    if not sure:
        return False
    from claw.speech.audio import find_speech
    return find_speech(data) is not None


def _read_words(content: Content, limits: Limits, say: Say, *,
                dry_run: bool) -> str:
    name, data = content.name, content.data
    if content.text is not None:
        return content.text
    if is_recording(data):
        if dry_run:
            return "(a recording; a dry run transcribes nothing)"
        from claw.cli.attachments.recordings import transcribe
        return transcribe(name, data, limits.tree, paid=limits.paid)
    if data[4:8] == b"ftyp" and data[8:12] in _NO_AUDIO:
        raise UsageError(f"{name} is a HEIC or AVIF image, which "
                         "models do not take",
                         hint="turn it into a PNG or JPEG")
    if is_document(data):
        from claw.cli.attachments.documents import read_whole
        text = read_whole(name, data, limits, say)
        if text is not None:
            return text
    return read_words(name, data, say)


def _read(path: Path, limits: Limits) -> Content:
    try:
        with path.open("rb") as file:
            return Content(str(path), _read_bounded(file, str(path), limits))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path}: {why.lower()}",
                         hint="-f takes a readable file") from error


def _read_bounded(file: BinaryIO, name: str, limits: Limits) -> bytes:
    """All of it. Raises UsageError for more than there may be."""
    head = read_past(file, _HEAD_BYTES - 1)
    limit, way_out = limits.find(head)
    rest = read_past(file, limit - len(head)) if len(head) <= limit else b""
    if len(head) + len(rest) > limit:
        raise UsageError(f"{name} is longer than {limit:,} bytes",
                         hint=way_out)
    return head + rest
