"""What goes with a question: text, an image, a recording; a file or an
address.

The first bytes decide. An image becomes a marker with a data: URL, a
recording what is said in it, a web page the text that a reader sees.
"""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from claw.agent.settings import MultimodalSettings
from claw.cli.stdin import read_past
from claw.config.tree import Tree
from claw.core.errors import UsageError
from claw.core.images import MARK, image_type
from claw.core.provider import Passage
from claw.core.value import Value, hidden

RECORDING_BYTES = 25 << 20
_HEAD_BYTES = 64

_STARTS = (b"OggS\0", b"fLaC", b"ID3", b"\xff", b"RIFF", b"\x1aE")
_NO_AUDIO = (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"avif", b"avis")


class Attached(Value):
    """What the files of a question hold: passages to put under it, and
    markers of images."""

    passages: list[Passage]
    images: list[str]


class Limits(Value):
    """Most bytes of each kind, and how to raise it."""

    text: int
    image: int

    def find(self, head: bytes) -> tuple[int, str]:
        if image_type(head) is not None:
            return self.image, ("raise it with: claw config set "
                                "multimodal.max_image_size_mb (up to 20)")
        if is_recording(head):
            return RECORDING_BYTES, "send a shorter recording"
        return self.text, "raise it with --stdin-limit, or send less"


class Content(Value):
    """Bytes with a name. `text` is what they say, where that is known
    already."""

    name: str
    data: bytes = hidden()
    text: str | None = None


def read_attachments(names: Sequence[str], limit_bytes: int, tree: Tree, *,
                     dry_run: bool = False) -> Attached:
    """The passages and images of files and addresses.

    Raises UsageError for what can't be read, is too long or of no kind
    that a model takes, UnavailableError for an address that gives nothing,
    and for recordings what transcribing raises. In a dry run no recording
    leaves this machine.
    """
    image_mb = tree.decode("multimodal", MultimodalSettings).max_image_size_mb
    limits = Limits(limit_bytes, image_mb << 20)
    passages, images = [], []
    for name in names:
        if is_address(name):
            from claw.cli.attachments.fetch import fetch_content
            content = fetch_content(name, limits)
        else:
            content = _read(Path(name), limits)
        kind = image_type(content.data)
        if kind is not None:
            images.append(f"{MARK}data:{kind};base64,"
                          f"{base64.b64encode(content.data).decode()}]")
            continue
        text = _read_words(content, tree, dry_run=dry_run)
        passages.append(Passage(f"file:{content.name}", text))
    return Attached(passages, images)


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
    from claw.speech.audio import spoken
    return spoken(data) is not None


def _read_words(content: Content, tree: Tree, *, dry_run: bool) -> str:
    if content.text is not None:
        return content.text
    if is_recording(content.data):
        if dry_run:
            return "(a recording; a dry run transcribes nothing)"
        from claw.cli.attachments.recordings import transcribe
        return transcribe(content.name, content.data, tree)
    if content.data[4:8] == b"ftyp" and content.data[8:12] in _NO_AUDIO:
        raise UsageError(f"{content.name} is a HEIC or AVIF image, which "
                         "models do not take",
                         hint="turn it into a PNG or JPEG")
    return content.data.decode("utf-8-sig", "replace")


def _read(path: Path, limits: Limits) -> Content:
    try:
        with path.open("rb") as file:
            data, limit, way_out = _read_bounded(file, limits)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path}: {why.lower()}",
                         hint="-f takes a readable file") from error
    if len(data) > limit:
        raise UsageError(f"{path} is longer than {limit:,} bytes",
                         hint=way_out)
    return Content(str(path), data)


def _read_bounded(file: BinaryIO, limits: Limits) -> tuple[bytes, int, str]:
    """The bytes, what they may be at most, and what to do about more."""
    head = read_past(file, _HEAD_BYTES - 1)
    limit, way_out = limits.find(head)
    rest = read_past(file, limit - len(head)) if len(head) <= limit else b""
    return head + rest, limit, way_out
