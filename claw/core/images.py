"""Images in messages: the marker that stands for one, and the type of one.

    [IMAGE:sessions/images/<sha256>.png]      [IMAGE:/a/path.jpg]
    [IMAGE:https://host/cat.png]              [IMAGE:data:image/png;base64,.]

The first bytes decide about the type, never a name. Pure.
Sources: the PNG, JPEG (JFIF), GIF, WebP (RIFF, VP8, VP8L) and BMP formats,
their first bytes, read 2026-11.
"""

import re
import struct
from collections.abc import Callable, Iterator

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


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels, as the head of an image says; None where
    it says nothing."""
    kind = image_type(data)
    read = _SIZES.get(kind or "")
    try:
        return read(data) if read else None
    except (struct.error, IndexError):
        return None


def _png_size(data: bytes) -> tuple[int, int] | None:
    return (struct.unpack(">II", data[16:24])
            if data[12:16] == b"IHDR" else None)


def _gif_size(data: bytes) -> tuple[int, int]:
    return struct.unpack("<HH", data[6:10])


def _bmp_size(data: bytes) -> tuple[int, int]:
    """Old heads have 16 bits each; a negative height counts downwards."""
    if struct.unpack("<I", data[14:18])[0] == 12:
        return struct.unpack("<HH", data[18:22])
    width, height = struct.unpack("<ii", data[18:26])
    return width, abs(height)


def _webp_size(data: bytes) -> tuple[int, int] | None:
    chunk = data[12:16]
    if chunk == b"VP8X":
        return (1 + int.from_bytes(data[24:27], "little"),
                1 + int.from_bytes(data[27:30], "little"))
    if chunk == b"VP8L" and data[20] == 0x2f:
        bits = struct.unpack("<I", data[21:25])[0]
        return 1 + (bits & 0x3fff), 1 + (bits >> 14 & 0x3fff)
    if chunk == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3fff, height & 0x3fff
    return None


# Segments that hold the size; the others of C0 to CF are tables.
_FRAMES = frozenset(range(0xc0, 0xd0)) - {0xc4, 0xc8, 0xcc}
_BARE = frozenset((0x01, *range(0xd0, 0xd9)))  # markers without a length


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while data[at] == 0xff:
        marker = data[at + 1]
        if marker == 0xff:  # filling
            at += 1
        elif marker in _BARE:
            at += 2
        elif marker in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 5:at + 9])
            return width, height
        else:
            at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    return None


_SIZES: dict[str, Callable[[bytes], tuple[int, int] | None]] = {
    "image/png": _png_size, "image/jpeg": _jpeg_size,
    "image/gif": _gif_size, "image/bmp": _bmp_size,
    "image/webp": _webp_size}
