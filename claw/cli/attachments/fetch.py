"""What lies at an address that goes with a question.

The owner names it, so it may be a server of their own. Where that sends us
on to another host, only public ones are asked: whoever writes a redirect
does not choose what is read here.
"""

import asyncio
import re
from urllib.parse import urljoin, urlsplit, urlunsplit

from claw.cli.attachments.read import (
    RECORDING_BYTES,
    Content,
    Limits,
    is_recording,
)
from claw.cli.terminal.stdin import read_words
from claw.core.errors import UnavailableError, UsageError
from claw.core.images import image_type
from claw.core.value import Value, hidden
from claw.net.errors import Peer
from claw.net.guarded import GuardedClient
from claw.net.http import HttpClient
from claw.security.egress import check_url, is_public
from claw.text.charset import find_charset
from claw.text.documents.kind import MOST_BYTES, is_document
from claw.text.encoding import has_mark
from claw.text.html import tidy, title_and_text

TIMEOUT_S = 30.0
_PAGE = ("text/html", "application/xhtml+xml")
_WORDS = re.compile(r"text/.*|application/(?:.*[+-])?"
                    r"(?:json|xml|yaml|toml|javascript|ndjson)")


class Fetched(Value):
    """An answer: its type in lower case without parameters, and what it
    says of its charset."""

    kind: str
    charset: str
    data: bytes = hidden()


def fetch_content(url: str, limits: Limits) -> Content:
    """What lies there. Raises UsageError for what is too long or of no
    kind that a model takes, UnavailableError and DeniedError for what can't
    be had."""
    shown = _hide_query(url)
    got = asyncio.run(_fetch(url, shown, max(
        limits.text, limits.image, RECORDING_BYTES, MOST_BYTES)))
    limit, way_out = limits.find(got.data)
    content = Content(shown, got.data)
    if not (image_type(got.data) or is_recording(got.data)
            or is_document(got.data)):
        content = Content(shown, b"", _read_text(shown, got, limit))
    said = (content.text or "").encode("utf-8", "replace")
    if len(content.data or said) > limit:
        raise UsageError(f"{shown} is longer than {limit:,} bytes",
                         hint=way_out)
    return content


def _hide_query(url: str) -> str:
    """The address without its query, which may hold a key. Raises
    UsageError for one with a password in it."""
    try:
        parts = urlsplit(url)
        if parts.username is not None or parts.password is not None:
            raise UsageError("-f: no user or password in an address",
                             hint="fetch it with another program and pipe "
                                  "it into claw ask")
        return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    except ValueError as error:
        raise UsageError("-f: that address can't be read",
                         hint="it looks like https://host/path") from error


async def _fetch(url: str, shown: str, max_bytes: int) -> Fetched:
    """The answer, of whatever kind."""
    client = HttpClient(Peer(urlsplit(url).hostname or "the server"),
                        timeout_s=TIMEOUT_S, max_bytes=max_bytes)
    try:
        answer = await client.request("GET", url, check=False)
    finally:
        await client.aclose()
    location = answer.headers.get("location")
    if 300 <= answer.status < 400 and location:
        return await _fetch_redirect(urljoin(url, location), shown, max_bytes)
    _check_status(shown, answer.status)
    kind, _, parameters = answer.headers.get(
        "content-type", "").lower().partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0]
    return Fetched(kind.strip(), charset.strip(" \"'"), answer.content)


async def _fetch_redirect(url: str, shown: str, max_bytes: int) -> Fetched:
    page = await GuardedClient(check_url, is_public).fetch(
        url, max_bytes=max_bytes, timeout_s=TIMEOUT_S)
    _check_status(shown, page.status)
    if page.cut:
        raise UsageError(f"{shown} is longer than {max_bytes:,} bytes")
    return Fetched(page.content_type, page.charset or "", page.content)


def _check_status(shown: str, status: int) -> None:
    if not 200 <= status < 300:
        raise UnavailableError(f"{shown} answered HTTP {status}",
                               hint="is the address right?", status=status)


def _read_text(shown: str, got: Fetched, limit: int) -> str:
    """The words of a page or a file. Raises UsageError for anything
    else."""
    if got.kind in _PAGE:
        title, text = title_and_text(_decode(shown, got), limit)
        return "\n".join(filter(None, (" ".join(title.split()),
                                       tidy(text))))
    if _WORDS.fullmatch(got.kind) or (not got.kind and _is_utf8(got.data)):
        return _decode(shown, got)
    raise UsageError(
        f"{shown} is {got.kind[:60] or 'of no known type'}",
        hint="-f takes text, web pages, documents, images and recordings")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode(shown: str, got: Fetched) -> str:
    """Text by its header, its own word, or its mark and UTF-8. Raises
    UsageError for what is no text."""
    if not has_mark(got.data):
        charset = find_charset(got.data, got.charset,
                               is_page=got.kind in _PAGE)
        if charset is not None:
            return got.data.decode(charset, "replace")
    return read_words(shown, got.data)
