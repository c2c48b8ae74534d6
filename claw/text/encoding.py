"""Bytes -> text, or what they are where they are no text.

UTF-8, or UTF-16 and UTF-32 by their byte order mark. Bytes that are none
become U+FFFD, so that a log with a few bytes of Latin-1 can be read. Where
there are many of them, or NUL bytes beyond what separates a list, nobody
wrote it to be read. Valid UTF-8 without NUL is text in every language.
Sources of the first bytes: the formats' own specifications and
/usr/share/misc/magic, read 2026-11. Pure.
"""

import codecs

from claw.core.images import image_type
from claw.core.value import Value

_ASK = "claw ask -f FILE takes images and recordings"
_UNPACK = "unpack it, and name the files in it"
_CONVERT = ("text in another encoding becomes UTF-8 with: "
            "iconv -f ENCODING -t UTF-8")
_READ = "the words in a program: strings FILE"
_NAME = "`file NAME` may tell what it is; give what was made to be read"
_VIDEO = "take its sound: ffmpeg -i FILE -vn sound.mp3"
# Where, which bytes, what it is, what to do.
_MAGIC = (
    (0, b"%PDF-", "a PDF document", "turn it into text: pdftotext FILE -"),
    (0, b"PK\3\4", "a ZIP archive or an office document",
     f"{_UNPACK}; a document: save it as text or PDF, then pdftotext"),
    (0, b"\x7fELF", "a program (ELF)", _READ),
    (0, b"MZ", "a program (Windows)", _READ),
    *((0, magic, "a program (macOS)", _READ) for magic in (
        b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe",
        b"\xfe\xed\xfa\xcf", b"\xfe\xed\xfa\xce")),
    (0, b"SQLite format 3\0", "an SQLite database",
     "its contents as text: sqlite3 FILE .dump"),
    (0, b"\x1f\x8b\x08", "gzip data", "unpack it: gzip -dc FILE"),
    (0, b"BZh", "bzip2 data", "unpack it: bzip2 -dc FILE"),
    (0, b"\xfd7zXZ\0", "xz data", "unpack it: xz -dc FILE"),
    (0, b"\x28\xb5\x2f\xfd", "zstd data", "unpack it: zstd -dc FILE"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (0, b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (257, b"ustar", "a tar archive", _UNPACK),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document",
     "save it as text or PDF, then pdftotext"),
    (0, b"II*\0", "a TIFF image", "turn it into a PNG or JPEG"),
    (0, b"MM\0*", "a TIFF image", "turn it into a PNG or JPEG"),
    (0, b"\x1aE\xdf\xa3", "a video", _VIDEO),
    (4, b"ftyp", "a video", _VIDEO),
    (0, b"OggS\0", "a recording", _ASK),
    (0, b"fLaC\0", "a recording", _ASK),
    (8, b"WAVEfmt ", "a recording", _ASK),
    (0, b"\xca\xfe\xba\xbe", "a program", _READ),
    (0, b"\0asm", "a WebAssembly program", _READ),
)
# Signs that a text may begin with; the bytes after them decide.
_WORDS = (b"%PDF-", b"BZh", b"PK\3\4", b"MZ", b"ustar", b"ftyp")
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf-32"),
          (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"),
          (b"\xfe\xff", "utf-16"))
# Control characters that no text has; NUL among them.
_CONTROLS = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b")) + b"\x7f"
_MOST_BAD = 0.3  # Latin-1 has a tenth, Windows-1251 and noise far more
_MOST_WITH_NUL = 0.1  # lists with NUL between the names have fewer
_MOSTLY = 0.98  # printable, in what may be text
_LOOK_BYTES = 4096
_FEW = 2  # so many are no sign in the shortest text


class Binary(Value):
    """What some bytes are, and what to do about it."""

    what: str
    hint: str


def decode_text(data: bytes) -> str:
    """The text of some bytes, without its mark. What is no text comes out
    as U+FFFD: see `find_binary`."""
    return data.decode(_find_encoding(data), "replace")


def count_bad(data: bytes, text: str) -> int:
    """How many U+FFFD in their text stand for what is no text: not those
    that were written so."""
    if "\ufffd" not in text:
        return 0
    return text.count("\ufffd") - data.count("\ufffd".encode())


def has_mark(data: bytes) -> bool:
    """Whether they begin with a byte order mark."""
    return _find_encoding(data) != "utf-8"


def find_binary(data: bytes) -> Binary | None:
    """What these bytes are; None for text, an empty one too."""
    image = image_type(data)
    if image is not None:
        return Binary(f"an image ({image})", _ASK)
    for at, start, what, hint in _MAGIC:
        if data.startswith(start, at) and not (
                start in _WORDS and _is_plain(data, start)):
            return Binary(what, hint)
    if _is_text(data):
        return None
    return Binary("binary data", _CONVERT if _may_be_text(data) else _NAME)


def _may_be_text(data: bytes) -> bool:
    """Whether another encoding could make words of it: one of bytes, which
    has no control characters either, or UTF-16 without its mark."""
    data = data[:_LOOK_BYTES]
    if len(data.translate(None, _CONTROLS)) >= len(data) * _MOSTLY:
        return True
    for encoding in ("utf-16-le", "utf-16-be"):
        try:
            text = data[:len(data) // 2 * 2].decode(encoding)
        except UnicodeDecodeError:
            continue
        plain = sum(c.isprintable() or c.isspace() for c in text)
        if plain >= len(text) * _MOSTLY:
            return True
    return False


def _is_plain(data: bytes, start: bytes) -> bool:
    """Whether it only begins as such a format does. "%PDF-1" opens a
    document however little is in it."""
    if start == b"%PDF-":
        return not data[5:6].isdigit()
    return b"\0" not in data[:512] and _is_text(data)


def _is_text(data: bytes) -> bool:
    encoding = _find_encoding(data)
    if encoding.startswith(("utf-16", "utf-32")):
        text = data.decode(encoding, "replace")
        bad = text.count("\ufffd") + text.count("\0")
        return bad <= len(text) * _MOST_WITH_NUL
    bad = len(data) - len(data.translate(None, _CONTROLS))
    try:
        data.decode()
        if b"\0" not in data:
            return True
    except UnicodeDecodeError:
        bad += data.decode("utf-8", "replace").count("\ufffd") \
            - data.count("\ufffd".encode())
    most = _MOST_WITH_NUL if b"\0" in data else _MOST_BAD
    return bad <= max(_FEW, len(data) * most)


def _find_encoding(data: bytes) -> str:
    return next((name for mark, name in _MARKS
                 if data.startswith(mark) and data != mark), "utf-8")


def open_decoder(start: bytes) -> codecs.IncrementalDecoder:
    """What decodes a text that begins so and comes in pieces, bytes that
    are none as U+FFFD."""
    return codecs.getincrementaldecoder(_find_encoding(start))("replace")
