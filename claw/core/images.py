"""Images in messages: the marker that stands for one, and the type of one.

    [IMAGE:sessions/images/<sha256>.png]      [IMAGE:/a/path.jpg]
    [IMAGE:https://host/cat.png]              [IMAGE:data:image/png;base64,.]

The first bytes decide about the type, never a name. Pure.
Sources: the PNG, JPEG (JFIF), GIF, WebP (RIFF) and BMP formats, their first
bytes, read 2026-11.
"""

import re
from collections.abc import Iterator

from claw.core.value import Value

MARK = "[IMAGE:"

# type -> how a file of it ends
EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp",
              "image/gif": "gif", "image/bmp": "bmp"}
_MAGIC = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"),
          (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"))
# A reference stands on one line and has its brackets in pairs.
_MARKER = (r"\[IMAGE:(data:[\w.+/-]{1,60};base64,[\w+/=-]*+|"
           r"(?:[^\[\]\n]|\[[^\[\]\n]*+\]){1,2048}+)\]")


class ImageMarker(Value):
    """Where in a text a marker stands, and what it refers to."""

    start: int
    end: int
    ref: str


def find_images(text: str) -> Iterator[ImageMarker]:
    """The image markers of a text, in order. Linear in its length."""
    at = text.find(MARK)
    while at >= 0:
        found = re.compile(_MARKER).match(text, at)
        end = found.end() if found else at + len(MARK)
        if found is not None:
            yield ImageMarker(at, end, found[1].strip())
        at = text.find(MARK, end)


def image_type(data: bytes) -> str | None:
    """The media type of an image by its first bytes, None for other data."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    # "BM" alone begins many a text; a bitmap has four zeros after its size.
    if data[:2] == b"BM" and data[6:10] == bytes(4):
        return "image/bmp"
    return next((kind for start, kind in _MAGIC
                 if data.startswith(start)), None)
