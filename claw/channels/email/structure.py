"""The parts of a mail: of one that was fetched whole, and of a large one
by what IMAP's BODYSTRUCTURE says of it. Pure.

A part is named by its section ("1.2"), as RFC 3501, section 6.4.5 counts.
"""

import binascii
import quopri
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from typing import Any
from urllib.parse import quote, unquote

from claw.channels.email.decoding import (
    decode_bytes,
    decode_header,
    read_raw,
)
from claw.core.value import Value

_MOST_DEPTH = 30
_MOST_PARTS = 500
_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature",
               "application/x-pkcs7-signature")


class Node(Value):
    """A part; `kind` is its type in small letters, `size_bytes` what it
    takes on the wire, `is_file` whether it says that it is an attachment."""

    kind: str
    section: str
    children: tuple["Node", ...] = ()
    name: str = ""
    is_file: bool = False
    charset: str = ""
    encoding: str = ""
    size_bytes: int = 0

    @property
    def is_text(self) -> bool:
        return self.kind in ("text/plain", "text/html") and not self.is_file


# -- a mail that is here

def read_whole(data: bytes) -> tuple[Node, dict[str, Message]]:
    """The parts of a mail, and each by its section. A nesting that is too
    deep to be read is one part without a text."""
    try:
        message = BytesParser(policy=compat32).parsebytes(data)
        found: dict[str, Message] = {}
        return _walk(message, "", found), found
    except RecursionError:
        return Node("application/octet-stream", "1"), {}


def _walk(message: Message, section: str, found: dict[str, Message]
          ) -> Node:
    kind = message.get_content_type()
    depth = section.count(".")
    # What is no list may not be asked for undecoded: the library trips over
    # some charsets.
    payload: Any = message.get_payload() if message.is_multipart() else None
    if kind.startswith("multipart/") and isinstance(payload, list) \
            and depth < _MOST_DEPTH:
        return Node(kind, section, tuple(
            _walk(part, f"{section}.{n}".lstrip("."), found)
            for n, part in enumerate(payload, 1)
            if isinstance(part, Message) and len(found) < _MOST_PARTS))
    section = section or "1"
    found[section] = message
    disposition = str(message.get("Content-Disposition", "")).lower()
    name = _file_name(message)
    if kind.startswith("multipart/"):  # its parts can't be told apart
        kind = "text/plain"
    return Node(
        kind, section, name=name,
        is_file=disposition.lstrip().startswith("attachment")
        or (bool(name) and not disposition.lstrip().startswith("inline")),
        charset=_charset(message))


def _charset(message: Message) -> str:
    try:
        return str(message.get_content_charset() or "")
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""  # said in a way that nobody could read


def _file_name(message: Message) -> str:
    said = Message()
    for header in ("Content-Type", "Content-Disposition"):
        for value in read_raw(message, header.lower())[:1]:
            said.set_raw(header, decode_bytes(value.encode(
                "utf-8", "surrogateescape"), "utf-8"))
    try:
        name = said.get_filename() or ""
    except (ValueError, LookupError, TypeError, AttributeError):
        return "unnamed"  # parameters that nobody could read
    return decode_header(name)


def read_part(message: Message) -> bytes:
    """The content of a part, decoded."""
    if message.is_multipart():
        payload: Any = message.get_payload()
        inner = [part for part in payload if isinstance(part, Message)]
        try:
            return inner[0].as_bytes() if inner else b""
        except (ValueError, LookupError, RecursionError, TypeError,
                AttributeError):
            return b""  # it can be read, and not be written
    try:
        decoded: Any = message.get_payload(decode=True)
    except (ValueError, LookupError, TypeError, AttributeError):
        return b""
    return decoded if isinstance(decoded, bytes) else b""


# -- a mail that is not

def read_bodystructure(body: Any, section: str = "") -> Node:
    """Of IMAPClient's BodyData: tuples as the server gave them."""
    if section.count(".") > _MOST_DEPTH or not isinstance(body, tuple | list) \
            or not body:
        return Node("application/octet-stream", section or "1")
    if isinstance(body[0], list | tuple):
        parts = body[0] if isinstance(body[0], list) else [
            part for part in body if isinstance(part, tuple)]
        subtype = next((one for one in body if isinstance(one, bytes)),
                       b"mixed")
        return Node(f"multipart/{_text(subtype)}", section, tuple(
            read_bodystructure(part, f"{section}.{n}".lstrip("."))
            for n, part in enumerate(parts[:_MOST_PARTS], 1)))
    fields = [*body, *[None] * 12]
    kind = f"{_text(fields[0])}/{_text(fields[1])}"
    # Behind the size a text has its lines, a mail also its own parts.
    after = 8 if fields[0] in (b"text", b"TEXT") or _text(
        fields[0]) == "text" else 10 if kind == "message/rfc822" else 7
    disposition, said = _disposition(fields[after + 1])
    params = _params(fields[2])
    name = decode_header(
        _plain(said.get("filename", "")) or _join(said, "filename")
        or _plain(params.get("name", "")) or _join(params, "name"))
    size = fields[6]
    return Node(kind, section or "1", name=name,
                is_file=disposition == "attachment"
                or (bool(name) and disposition != "inline"),
                charset=params.get("charset", ""),
                encoding=_text(fields[5]),
                size_bytes=size if isinstance(size, int) else 0)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace").lower() \
        if isinstance(value, bytes) else ""


def _disposition(value: Any) -> tuple[str, Mapping[str, str]]:
    if not isinstance(value, tuple | list) or not value:
        return "", {}
    return _text(value[0]), _params(value[1] if len(value) > 1 else None)


def _params(value: Any) -> dict[str, str]:
    if not isinstance(value, tuple | list):
        return {}
    texts = [one.decode("utf-8", "replace") if isinstance(one, bytes)
             else str(one) for one in value]
    return {name.lower(): text for name, text
            in zip(texts[::2], texts[1::2], strict=False)}


def _join(params: Mapping[str, str], name: str) -> str:
    """A value in RFC 2231's form, in one piece ("name*") or in several
    ("name*0*", "name*1")."""
    number, text = 0, params.get(f"{name}*", "")
    while not params.get(f"{name}*") and {
            f"{name}*{number}", f"{name}*{number}*"} & params.keys():
        text += params.get(f"{name}*{number}*") or quote(
            params.get(f"{name}*{number}", ""), safe="")
        number += 1
    return _plain(text, is_coded=True)


def _plain(value: str, *, is_coded: bool = False) -> str:
    """RFC 2231's charset'language'percent form in words."""
    charset, sign, rest = value.partition("'")
    _, second, coded = rest.partition("'")
    if not (sign and second and (is_coded or "%" in coded)):
        return unquote(value) if is_coded else value
    try:
        return unquote(coded, charset or "utf-8", "replace")
    except LookupError:
        return unquote(coded)


def undo_encoding(data: bytes, encoding: str) -> bytes:
    """What a part holds, by its Content-Transfer-Encoding."""
    if encoding == "base64":
        pure = _NO_BASE64.sub(b"", data)
        try:
            return b64decode(pure[:len(pure) // 4 * 4] if len(pure) % 4 == 1
                             else pure + b"=" * (-len(pure) % 4))
        except (binascii.Error, ValueError):
            return data
    return quopri.decodestring(data) if encoding == "quoted-printable" \
        else data


# -- of both

def choose_texts(node: Node) -> list[Node]:
    """The parts that a person reads, in order; of alternatives the plain
    one."""
    if node.kind == "multipart/alternative":
        found = [texts for child in node.children
                 if (texts := choose_texts(child))]
        return next((texts for texts in found
                     if any(one.kind == "text/plain" for one in texts)),
                    found[-1] if found else [])
    if node.children:
        return [one for child in node.children for one in choose_texts(child)]
    return [node] if node.is_text else []


def list_leaves(node: Node) -> Iterator[Node]:
    if node.children:
        for child in node.children:
            yield from list_leaves(child)
    elif not node.kind.startswith("multipart/"):
        yield node


def list_files(node: Node) -> list[Node]:
    """The parts that are files, also those that nobody named."""
    return [leaf for leaf in list_leaves(node)
            if not leaf.is_text and leaf.kind not in _SIGNATURES]
