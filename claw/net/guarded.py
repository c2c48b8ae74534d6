"""Fetching what a stranger names, over httpx.

A name is resolved once, every address it has is checked, and the connection
goes to exactly such an address (TLS still asks for the name), so a name
server that changes its mind changes nothing. Each redirect starts anew.
Proxies of the environment, cookies and unix sockets play no part. The body
is bounded as it is unpacked, the whole of it by one time limit.

What may be reached is the caller's business: `check` judges the URL,
`allowed` an address (security/egress.py).
"""

import asyncio
import socket
import ssl
import zlib
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, contextmanager
from typing import Protocol, TypeAlias, cast
from urllib.parse import urljoin

from claw.core.errors import DeniedError, UnavailableError
from claw.core.failpoint import reach
from claw.core.value import Value, hidden
from claw.net.errors import Peer, wire_error
from claw.net.lean import httpx
from claw.net.remote import load_certificates
from claw.net.unpacking import PACKED, Unpacking
from claw.version import __version__

CONNECT_S = 5.0
PAGE_BYTES = 256 * 1024
HOPS = 5
_ADDRESSES = 4
_MOVED = (301, 302, 303, 307, 308)


class Target(Protocol):
    """A URL that was judged; `host` is a name in ASCII or an address."""

    @property
    def scheme(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def url(self) -> str: ...


Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]


class Page(Value):
    """What was fetched. `content_type` is lower case without parameters
    ("" where the server gave none), `charset` its parameter; `cut` says
    that the body went on after `content`."""

    status: int
    final_url: str
    content_type: str
    content: bytes = hidden()
    cut: bool = False
    charset: str | None = None


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedClient:
    """GET, and nothing else. `check` raises DeniedError for a URL that may
    not be asked; `allowed` says whether an address may be reached; `tls`
    replaces the certificates of the system."""

    def __init__(self, check: Callable[[str], Target],
                 allowed: Callable[[str], bool], *,
                 resolve: Resolve = resolve,
                 tls: ssl.SSLContext | None = None) -> None:
        self._check = check
        self._allowed = allowed
        self._resolve = resolve
        self._tls = tls

    async def fetch(self, url: str, *, max_bytes: int = PAGE_BYTES,
                    timeout_s: float = 10.0,
                    accept: Sequence[str] = ()) -> Page:
        """A page, of any status. With `accept` (media types) anything
        else is refused unread. Raises DeniedError for an address that may
        not be reached, UnavailableError for what can't be had."""
        target = self._check(url)
        try:
            async with asyncio.timeout(timeout_s):
                for _ in range(HOPS + 1):
                    got = await self._hop(target, max_bytes, accept)
                    if isinstance(got, Page):
                        return got
                    target = self._check(_joined(target, got))
        except TimeoutError as error:
            raise UnavailableError(f"{target.host} did not answer within "
                                   f"{timeout_s:g} s") from error
        raise UnavailableError(f"{target.host} redirects more than {HOPS} "
                               "times")

    async def _hop(self, target: Target, max_bytes: int,
                   accept: Sequence[str]) -> Page | str:
        """The page, or where it says that it is."""
        with _translated(target):
            addresses = await self._addresses(target)
            # One client for one hop: a kept connection would be found
            # again by its address, whatever name it was made for.
            if target.scheme == "https" and self._tls is None:
                self._tls = load_certificates()
            async with httpx.AsyncClient(
                    verify=self._tls or False, trust_env=False,
                    follow_redirects=False, timeout=httpx.Timeout(
                        None, connect=CONNECT_S)) as client:
                response = await _connect(client, target, addresses, accept)
                async with aclosing(response):
                    to: str | None = response.headers.get("location")
                    if response.status_code in _MOVED and to:
                        return to
                    return await _page(target, response, max_bytes, accept)

    async def _addresses(self, target: Target) -> list[str]:
        """Those of a name, if every one may be reached."""
        found = list(await self._resolve(target.host, target.port))
        for address in found:
            if not self._allowed(address):
                raise DeniedError(
                    f"not fetched: {target.host} leads to {address}, which "
                    "is no public address")
        if not found:
            raise socket.gaierror(f"{target.host} has no address")
        return found[:_ADDRESSES]


async def _connect(client: httpx.AsyncClient, target: Target,
                   addresses: Sequence[str], accept: Sequence[str]
                   ) -> httpx.Response:
    """The head of the answer, from the first address that lets us in."""
    for number, address in enumerate(addresses, 1):
        request = _request(client, target, address, accept)
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
             accept: Sequence[str]) -> httpx.Request:
    """A request to the address that asks for the name."""
    host = f"[{address}]" if ":" in address else address
    asked = target.url.removeprefix(f"{target.scheme}://")
    return client.build_request(
        "GET", f"{target.scheme}://{host}:{target.port}{target.path}",
        headers={"host": asked.partition("/")[0],
                 "accept": ", ".join(accept) or "*/*",
                 "accept-encoding": "gzip, deflate",
                 "user-agent": f"claw/{__version__}"},
        extensions={"sni_hostname": target.host})


async def _page(target: Target, response: httpx.Response, max_bytes: int,
                accept: Sequence[str]) -> Page:
    kind, _, parameters = response.headers.get(
        "content-type", "").lower().partition(";")
    kind = kind.strip()
    if accept and kind and kind not in accept:
        raise UnavailableError(
            f"{target.host} sent {kind[:60]}, not {' or '.join(accept)}")
    content, cut = await _body(target, response, max_bytes)
    return Page(response.status_code, target.url, kind, content, cut,
                _charset(parameters))


def _joined(target: Target, location: str) -> str:
    try:
        return urljoin(target.url, location)
    except ValueError as error:
        raise UnavailableError(f"{target.host} redirects to what is no "
                               "address") from error


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
def _translated(target: Target) -> Iterator[None]:
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
