"""Files that go with a question: text, or an image as a data: URL."""

import base64
from collections.abc import Sequence
from pathlib import Path

from claw.cli.stdin import read_past
from claw.core.errors import UsageError
from claw.core.provider import Passage

_IMAGE_BYTES = 5 << 20

# first bytes -> media type
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)


def read_attachments(paths: Sequence[Path], limit_bytes: int
                     ) -> tuple[list[Passage], list[str]]:
    """Passages of the text files and data: URLs of the images.

    Raises UsageError for what can't be read or is too long.
    """
    passages, images = [], []
    for path in paths:
        data = _read(path, max(limit_bytes, _IMAGE_BYTES))
        kind = media_type(data)
        if kind is not None:
            images.append(f"data:{kind};base64,"
                          f"{base64.b64encode(data).decode()}")
        elif len(data) > limit_bytes:
            raise UsageError(
                f"{path} is longer than {limit_bytes:,} bytes",
                hint="raise it with --stdin-limit, or send less")
        else:
            passages.append(Passage(f"file:{path}",
                                    data.decode("utf-8-sig", "replace")))
    return passages, images


def media_type(data: bytes) -> str | None:
    """The type of an image by its first bytes, None for other data."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _MAGIC
                 if data.startswith(start)), None)


def _read(path: Path, limit_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = read_past(file, limit_bytes)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or '').lower()}",
                         hint="-f takes a readable file") from error
    if len(data) > limit_bytes:
        raise UsageError(f"{path} is longer than {limit_bytes:,} bytes",
                         hint="raise it with --stdin-limit, or send less")
    return data
