"""The one HTTP client policy.

- this machine is asked over plain sockets, everyone else over httpx;
- redirects are followed on the same host only (307, 308, and for GET 301,
  302), so a key never travels to another;
- connecting may take 10 s, a whole answer `timeout_s`; in a stream that is
  the longest silence;
- answers are bounded, errors are translated once (net/errors.py).
"""

import asyncio
import json as json_module
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterator,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from claw.core.errors import ConfigError, UnavailableError
from claw.core.failpoint import reach
from claw.core.value import Value, hidden, replace
from claw.net.addresses import is_loopback, redirect, secrets_in
from claw.net.carrier import (
    BadHeader,
    Carrier,
    InvalidURL,
    ReadError,
    Request,
    Response,
    WireFailure,
)
from claw.net.errors import (
    Peer,
    class_names,
    extract_host,
    status_error,
    wire_error,
)
from claw.net.loopback import Loopback
from claw.version import __version__

if TYPE_CHECKING:
    import httpx

CONNECT_S = 10.0
ANSWER_BYTES = 64 * 1024 * 1024
ERROR_BYTES = 64 * 1024
_HOPS = 3

_leaving: ContextVar[Callable[[], None] | None] = ContextVar(
    "leaving", default=None)


@contextmanager
def tell_leaving(leaving: Callable[[], None]) -> Iterator[None]:
    """Inside, `leaving` is called right before the first byte of each
    request is written."""
    token = _leaving.set(leaving)
    try:
        yield
    finally:
        _leaving.reset(token)


class Answer(Value):
    """A whole answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str] = hidden()
    content: bytes = hidden()

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """Raises ValueError for anything but JSON."""
        return json_module.loads(self.text)


class OpenAnswer:
    """An answer that is still arriving."""

    def __init__(self, client: "HttpClient", url: str,
                 response: Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self._client = client
        self._url = url
        self._response = response

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The bytes as they come, bounded in sum."""
        left = self._client.max_bytes
        try:
            async with aclosing(self._response.chunks()) as pieces:
                async for chunk in pieces:
                    left -= len(chunk)
                    if left < 0:
                        raise self._client.too_large()
                    yield chunk
        except WireFailure as error:
            raise self._client.broken(self._url, error) from error

    async def read(self, limit: int | None = None) -> bytes:
        """All of it; with `limit` the first so many bytes."""
        found = bytearray()
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                found += chunk
                if limit is not None and len(found) >= limit:
                    break
        return bytes(found[:limit])


class HttpClient:
    """Requests to one peer. `transport` replaces the network in tests.

    `proxy_url` is http, https, socks5 or socks5h.
    """

    def __init__(self, peer: Peer, *, timeout_s: float = 120.0,
                 max_bytes: int = ANSWER_BYTES,
                 proxy_url: str | None = None,
                 transport: "httpx.AsyncBaseTransport | None" = None) -> None:
        self.peer = peer
        self.timeout_s = timeout_s
        self.max_bytes = max_bytes
        self._proxy_url = proxy_url
        self._transport = transport
        self._clients: dict[tuple[bool, bool], Carrier] = {}

    async def request(self, method: str, url: str, *,
                      headers: Mapping[str, str] | None = None,
                      json: Any = None, content: bytes | None = None,
                      model: str | None = None, check: bool = True,
                      timeout_s: float | None = None) -> Answer:
        """One answer, whole. Raises for a status of 300 or more, with
        `check` off for none; `model` is named in the hint of such an error.
        `timeout_s` is a shorter limit than the client's."""
        limit_s = min(timeout_s or self.timeout_s, self.timeout_s)
        try:
            async with (asyncio.timeout(limit_s),
                        self.open(method, url, headers=headers, json=json,
                                  content=content, model=model,
                                  check=check) as answer):
                body = await answer.read()
        except TimeoutError as error:
            raise self.broken(url, error, limit_s) from error
        return Answer(answer.status, answer.headers, body)

    @asynccontextmanager
    async def open(self, method: str, url: str, *,
                   headers: Mapping[str, str] | None = None,
                   json: Any = None, content: bytes | None = None,
                   model: str | None = None,
                   check: bool = True) -> AsyncIterator[OpenAnswer]:
        """An answer whose body is read inside the block."""
        send = {"user-agent": f"claw/{__version__}"}
        send.update({k.lower(): v for k, v in (headers or {}).items()})
        self.guard(url, send)
        if json is not None:
            content = to_bytes(json)
            send.setdefault("content-type", "application/json")
        response = await self._send(method, url, send, content)
        try:
            answer = OpenAnswer(self, url, response)
            if check and answer.status >= 300:
                body = await answer.read(ERROR_BYTES)
                raise status_error(self.peer, answer.status,
                                   body.decode("utf-8", "replace"),
                                   headers=answer.headers, model=model)
            yield answer
        finally:
            await response.aclose()

    def guard(self, url: str, headers: Mapping[str, str]) -> None:
        """Let no error tell what a request says of who asks."""
        new = [s for s in secrets_in(url, headers)
               if s not in self.peer.secrets]
        if new:
            self.peer = replace(self.peer,
                                secrets=(*self.peer.secrets, *new))

    async def aclose(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    def broken(self, url: str, error: BaseException,
               timeout_s: float | None = None) -> UnavailableError:
        """The translated error of a request that failed on the way."""
        found = wire_error(self.peer, url, unwrap_reset(error),
                           timeout_s or self.timeout_s)
        if self._proxy_url is not None:
            found.hint = ("the way goes through the proxy_url at "
                          f"{extract_host(self._proxy_url)}; is that right?")
        elif found.message.startswith("could not reach") \
                and not is_loopback(url):
            from claw.net.remote import environment_proxy
            if proxy := environment_proxy(url):
                found.hint = (
                    f"the way goes through the proxy at {proxy}; check "
                    "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY")
                found.cause = None
        return found

    def too_large(self) -> UnavailableError:
        return UnavailableError(
            f"{self.peer.title} sent more than "
            f"{self.max_bytes // (1024 * 1024)} MiB",
            hint="is that the right server? check the base URL")

    async def _send(self, method: str, url: str, headers: dict[str, str],
                    content: bytes | None) -> Response:
        for _ in range(_HOPS + 1):
            try:
                client = self._client_for(
                    url, urlsplit(url).scheme == "https")
            except ValueError as error:
                wrong = InvalidURL(str(error))
                raise self.broken(url, wrong) from wrong
            request = Request(method, url, headers, content,
                              min(CONNECT_S, self.timeout_s), self.timeout_s,
                              _leaving.get())
            reach("net.request")
            try:
                response = await client.send(request)
            except WireFailure as error:
                raise self.broken(url, error) from error
            except BadHeader as error:
                raise ConfigError(
                    f"a header for {self.peer.title} holds what no header "
                    "can", hint="check extra_headers and the key") from error
            reach("net.response")
            target = redirect(method, url, response.status,
                              response.headers.get("location"))
            if target is None:
                return response
            await response.aclose()
            url = target
        raise UnavailableError(
            f"{self.peer.title} redirects in a circle",
            hint="correct the base URL")

    def _client_for(self, url: str, secure: bool) -> Carrier:
        """Raises ConfigError for proxies that can't be, MissingPartError
        for SOCKS."""
        near = is_loopback(url)
        client = self._clients.get((secure, near))
        if client is None:
            client = self._clients[secure, near] = \
                Loopback() if near and not secure and not self._proxy_url \
                and self._transport is None else self._remote(secure, near)
        return client

    def _remote(self, secure: bool, near: bool) -> Carrier:
        from claw.net.remote import Remote
        own = {} if self._proxy_url is None else {
            "proxy": self._proxy_url,
            "proxy_name": f"the proxy_url of {self.peer.title}"}
        return Remote(secure=secure, near=near, transport=self._transport,
                      **own)


def unwrap_reset(error: BaseException) -> BaseException:
    """An error without those below it where a connection stood and was
    reset: down there that is a ConnectionError, as if nobody were at home.
    """
    names = class_names(error)
    if names & {"ReadError", "WriteError"} and "SSLError" not in names:
        return ReadError("the connection was reset")
    return error


def to_bytes(value: Any) -> bytes:
    """Compact JSON in UTF-8. Surrogates are joined to the characters they
    stand for; a lone one becomes U+FFFD, since servers refuse it."""
    text = json_module.dumps(value, ensure_ascii=False,
                             separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        pairs = text.encode("utf-16-le", "surrogatepass")
        return pairs.decode("utf-16-le", "replace").encode()
