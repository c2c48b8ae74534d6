"""One hop of net/guarded.py, over httpx: to an address that was checked."""

import ssl
import zlib
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from fnmatch import fnmatchcase
from typing import cast

from claw.core.errors import UnavailableError
from claw.core.failpoint import reach
from claw.net.errors import Peer, wire_error
from claw.net.guarded import MOVED, Ask, Page, Target
from claw.net.lean import httpx
from claw.net.unpacking import PACKED, Unpacking
from claw.version import __version__

CONNECT_S = 10.0


async def send(target: Target, addresses: Sequence[str], ask: Ask,
               tls: ssl.SSLContext | None) -> Page:
    """What the target answers; a redirect without its body."""
    # One client for one hop: a kept connection would be found again by its
    # address, whatever name it was made for.
    async with httpx.AsyncClient(
            verify=tls or False, trust_env=False, follow_redirects=False,
            timeout=httpx.Timeout(None, connect=CONNECT_S)) as client:
        response = await _connect(client, target, addresses, ask)
        async with aclosing(response):
            return await _page(target, response, ask)


async def _connect(client: httpx.AsyncClient, target: Target,
                   addresses: Sequence[str], ask: Ask) -> httpx.Response:
    """The head of the answer, from the first address that lets us in."""
    for number, address in enumerate(addresses, 1):
        request = _request(client, target, address, ask)
        reach("net.request")
        try:
            response = await client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            if number == len(addresses):
                raise
        else:
            reach("net.response")
            return response
    raise AssertionError("an address at least")


def _request(client: httpx.AsyncClient, target: Target, address: str,
             ask: Ask) -> httpx.Request:
    """A request to the address that asks for the name."""
    host = f"[{address}]" if ":" in address else address
    asked = target.url.removeprefix(f"{target.scheme}://")
    return client.build_request(
        ask.method,
        f"{target.scheme}://{host}:{target.port}{target.path}",
        headers={"accept": ", ".join(ask.accept) or "*/*",
                 "user-agent": f"claw/{__version__}",
                 **{name.lower(): value
                    for name, value in ask.headers.items()},
                 "accept-encoding": "gzip, deflate",
                 "host": asked.partition("/")[0]},
        content=ask.content, extensions={"sni_hostname": target.host})


async def _page(target: Target, response: httpx.Response, ask: Ask) -> Page:
    headers = dict(response.headers.items())
    kind, _, parameters = headers.get("content-type", "").lower().partition(
        ";")
    kind = kind.strip()
    content, cut = b"", False
    if not (ask.follows and "location" in headers
            and response.status_code in MOVED):
        if ask.accept and kind and not any(
                fnmatchcase(kind, wanted) for wanted in ask.accept):
            raise UnavailableError(f"{target.host} sent {kind[:60]}, not "
                                   f"{' or '.join(ask.accept)}")
        content, cut = await _body(target, response, ask.max_bytes)
    return Page(response.status_code, target.url, kind, content, cut,
                _charset(parameters), response.reason_phrase, headers)


def _charset(parameters: str) -> str | None:
    for part in parameters.split(";"):
        name, _, value = part.partition("=")
        if name.strip() == "charset":
            return value.strip(" \"'") or None
    return None


async def _body(target: Target, response: httpx.Response, max_bytes: int
                ) -> tuple[bytes, bool]:
    """The first `max_bytes`, unpacked, and whether there was more."""
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in ("", "identity", *PACKED):
        raise UnavailableError(f"{target.host} sent a body packed in a way "
                               f"that was not asked for: {packing[:60]}")
    unpack = Unpacking() if packing in PACKED else None
    body = bytearray()
    raw = cast("AsyncGenerator[bytes]", response.aiter_raw())
    async with aclosing(raw) as chunks:
        async for chunk in chunks:
            # One byte more than wanted tells that there is more.
            room = max_bytes + 1 - len(body)
            body += unpack(chunk, room) if unpack else chunk[:room]
            if len(body) > max_bytes:
                return bytes(body[:max_bytes]), True
    return bytes(body), False


@contextmanager
def translated(target: Target) -> Iterator[None]:
    """Errors of the way as those of claw."""
    try:
        yield
    except zlib.error as error:
        raise UnavailableError(
            f"{target.host} sent a body that can't be unpacked") from error
    except UnicodeError as error:
        raise UnavailableError(f"{target.host} is no name") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError,
            ExceptionGroup) as error:
        if isinstance(error, TimeoutError):
            raise
        raise wire_error(Peer("the page"), target.url, error) from error
