"""The text of bytes and headers that say a wrong charset, or none. Pure.

Parsing is compat32's of the standard library, which takes any bytes and
loses none; its newer policies raise on some headers. Source: RFC 2047, 2231.
"""

import base64
import binascii
import codecs
import quopri
import re
from email.message import Message

from claw.text.addresses import drop_controls
from claw.text.charset import decode_page, find_charset
from claw.text.segment import clean

# Charsets of mail that pages may not name; no codec that is none of text.
_NAMES = re.compile(r"(?:utf|iso|windows|cp|koi8|gb|hz|big5|euc|shift|mac|ks_c"
                    r"|ascii|us-ascii|latin|tis|ibm|ansi)[\w.:-]*", re.ASCII)
_BYTES = frozenset(("ascii", "iso8859-1", "cp1252"))  # said of anything
_WORD = re.compile(r"=\?([\w.:-]{1,40})(?:\*[\w-]*)?\?([bq])\?([^?]*)\?=",
                   re.IGNORECASE | re.ASCII)
_BETWEEN = re.compile(r"[ \t\r\n]*")
_BLANKS = re.compile(r"\s+")


def decode_bytes(data: bytes, charset: str | None = None) -> str:
    """The text of a part: by the charset that is named, where the bytes
    agree, else by a look at them. Never raises."""
    name = (charset or "").strip().strip("\"'").lower()
    codec = find_charset(data, name, is_page=False) or _find_codec(name)
    if codec is not None and not (
            codecs.lookup(codec).name in _BYTES and _is_utf8(data)):
        try:
            return _tidy(data.decode(codec))
        except (UnicodeError, ValueError):
            pass
    return _tidy(decode_page(data, None) if codec is None or codec == "utf-8"
                 or codecs.lookup(codec).name in _BYTES
                 else data.decode(codec, "replace"))


def _tidy(text: str) -> str:
    return drop_controls(clean(text).removeprefix("\ufeff"))


def _find_codec(name: str) -> str | None:
    if not _NAMES.fullmatch(name):
        return None
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


def _is_utf8(data: bytes) -> bool:
    try:
        return not data.decode().isascii()
    except UnicodeDecodeError:
        return False


def read_raw(message: Message, name: str) -> list[str]:
    """The values of a header, bare bytes in them as surrogates: the library
    has a U+FFFD for each."""
    return [str(value) for key, value in message.raw_items()
            if key.lower() == name]


def decode_utf8(raw: str) -> str:
    """Bare bytes as what they most likely are; unchanged where they are no
    UTF-8."""
    try:
        return raw.encode("utf-8", "surrogateescape").decode()
    except UnicodeError:
        return raw


def decode_header(raw: str) -> str:
    """A header's value in words, on one line: encoded words, broken ones
    and bare bytes included. Never raises."""
    raw = str(raw)
    try:
        raw.encode("ascii")
    except UnicodeEncodeError:
        data = raw.encode("utf-8", "surrogateescape")
        raw = decode_bytes(data, "utf-8")
    pieces: list[str] = []
    words: list[tuple[str, bytes]] = []
    at = 0
    for match in _WORD.finditer(raw):
        gap = raw[at:match.start()]
        if not (words and _BETWEEN.fullmatch(gap)):
            pieces += [_join(words), gap]
            words = []
        charset, data = match[1].lower(), _decode_word(match[2], match[3])
        if words and words[-1][0] == charset:  # a character may be cut
            words[-1] = (charset, words[-1][1] + data)
        else:
            words.append((charset, data))
        at = match.end()
    text = "".join([*pieces, _join(words), raw[at:]])
    return _BLANKS.sub(" ", _tidy(text)).strip()


def _join(words: list[tuple[str, bytes]]) -> str:
    return "".join(decode_bytes(data, charset) for charset, data in words)


def _decode_word(how: str, coded: str) -> bytes:
    data = coded.encode("utf-8", "replace")
    if how.lower() == "q":
        return quopri.decodestring(data, header=True)
    try:
        return base64.b64decode(data + b"=" * (-len(data) % 4))
    except (binascii.Error, ValueError):
        return data
