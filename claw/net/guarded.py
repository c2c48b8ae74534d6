"""Fetching what a stranger names.

A name is resolved once, every address it has is checked, and the connection
goes to exactly such an address (TLS still asks for the name), so a name
server that changes its mind changes nothing. Each redirect starts anew.
Proxies of the environment, cookies and unix sockets play no part. The body
is bounded as it is unpacked, the whole of it by one time limit.

What may be reached is the caller's business: `check` judges the URL,
`allowed` an address (security/egress.py, security/hosts.py).
httpx, which carries it, is loaded by the first request (hop.py).
"""

import asyncio
import socket
import ssl
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from typing import Protocol, TypeAlias
from urllib.parse import urljoin

from claw.core.errors import DeniedError, UnavailableError
from claw.core.value import Value, hidden

PAGE_BYTES = 256 * 1024
HOPS = 5
_ADDRESSES = 4
MOVED = (301, 302, 303, 307, 308)


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

    def allows(self, address: str) -> bool:
        """Whether the owner lets this very host have such an address."""


Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
Check: TypeAlias = Callable[[str], Target]


class Page(Value):
    """What was fetched. `content_type` is lower case without parameters
    ("" where the server gave none), `charset` its parameter; `cut` says
    that the body went on after `content`. `reason` and `headers` (names in
    lower case) are the server's words."""

    status: int
    final_url: str
    content_type: str
    content: bytes = hidden()
    cut: bool = False
    charset: str | None = None
    reason: str = hidden(default="")
    headers: Mapping[str, str] = hidden(factory=dict)


class Ask(Value):
    """A request, but for its target. `accept` are media types and ranges
    ("text/*"): where there are any, every other answer is refused
    unread. What `follows` does not read the body of a redirect."""

    method: str = "GET"
    headers: Mapping[str, str] = hidden(factory=dict)
    content: bytes | None = hidden(default=None)
    accept: tuple[str, ...] = ()
    max_bytes: int = PAGE_BYTES
    follows: bool = False


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedClient:
    """Requests to whom a stranger names. `check` raises DeniedError for a
    URL that may not be asked, and stands where a call brings none of its
    own; `allowed` says whether an address may be reached, `tls` replaces
    the certificates of the system."""

    def __init__(self, check: Check, allowed: Callable[[str], bool], *,
                 resolve: Resolve = resolve,
                 tls: ssl.SSLContext | None = None) -> None:
        self._check = check
        self._allowed = allowed
        self._resolve = resolve
        self._tls = tls

    async def fetch(self, url: str, *, max_bytes: int = PAGE_BYTES,
                    timeout_s: float = 10.0, accept: Sequence[str] = (),
                    hops: int = HOPS, check: Check | None = None) -> Page:
        """A page, of any status, wherever it has moved. Raises DeniedError
        for an address that may not be reached, UnavailableError for what
        can't be had."""
        check = check or self._check
        ask = Ask(accept=tuple(accept), max_bytes=max_bytes,
                  follows=True)
        target = check(url)
        async with _limit(target, timeout_s):
            for _ in range(hops + 1):
                page = await self._hop(target, ask)
                to = page.headers.get("location")
                if page.status not in MOVED or not to:
                    return page
                target = check(_joined(target, to))
        raise UnavailableError(f"{target.host} redirects more than {hops} "
                               "times")

    async def request(self, ask: Ask, url: str, *, timeout_s: float,
                      check: Check | None = None) -> Page:
        """One answer, of any status, a redirect too. Raises as `fetch`."""
        target = (check or self._check)(url)
        async with _limit(target, timeout_s):
            return await self._hop(target, ask)

    async def _hop(self, target: Target, ask: Ask) -> Page:
        from claw.net.hop import send, translated
        with translated(target):
            addresses = await self.find_addresses(target)
            if target.scheme == "https" and self._tls is None:
                from claw.net.remote import load_certificates
                self._tls = load_certificates()
            return await send(target, addresses, ask, self._tls)

    async def find_addresses(self, target: Target) -> list[str]:
        """Those of a name, if every one may be reached. Raises DeniedError
        and OSError."""
        found = list(await self._resolve(target.host, target.port))
        for address in found:
            if not (self._allowed(address) or target.allows(address)):
                raise DeniedError(
                    f"not fetched: {target.host} leads to {address}, which "
                    "is no public address")
        if not found:
            raise socket.gaierror(f"{target.host} has no address")
        return found[:_ADDRESSES]


@asynccontextmanager
async def _limit(target: Target, timeout_s: float) -> AsyncIterator[None]:
    """One time limit over all of it, said as an error of claw."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise UnavailableError(f"{target.host} did not answer within "
                               f"{timeout_s:g} s") from error


def _joined(target: Target, location: str) -> str:
    try:
        return urljoin(target.url, location)
    except ValueError as error:
        raise UnavailableError(f"{target.host} redirects to what is no "
                               "address") from error
