"""The one HTTP client policy, over httpx.

- certificates are loaded for https addresses only, when one is first asked;
- proxies of the environment (HTTPS_PROXY, NO_PROXY ...) serve every host but
  this machine; a `proxy_url` of the client's own takes their place and serves
  every host;
- redirects are followed on the same host only (307, 308, and for GET 301,
  302), so a key never travels to another;
- connecting may take 10 s, a whole answer `timeout_s`; in a stream that is
  the longest silence;
- answers are bounded, errors are translated once (net/errors.py).
"""

import asyncio
import json as json_module
import logging
import os
import re
import ssl
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterator,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import parse_qsl, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass  # httpx loads it too

from claw.core.errors import ConfigError, MissingPartError, UnavailableError
from claw.core.failpoint import reach
from claw.core.installed import package_command
from claw.core.value import Value, hidden, replace
from claw.net.errors import (
    Peer,
    class_names,
    extract_host,
    status_error,
    wire_error,
)
from claw.net.lean import httpx
from claw.net.loopback import LoopbackTransport
from claw.version import __version__

CONNECT_S = 10.0
ANSWER_BYTES = 64 * 1024 * 1024
ERROR_BYTES = 64 * 1024
_HOPS = 3
_ENVIRONMENT = "the proxy of the environment"
# Headers of requests in which there is no key, for sure.
_NO_SECRETS = frozenset((
    "accept", "accept-encoding", "anthropic-beta", "anthropic-version",
    "content-type", "http-referer", "user-agent", "x-title"))


class HidesQueries(logging.Filter):
    """HTTP libraries log each address they ask; some have a key in the
    query."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if "?" in text:
            record.msg = re.sub(r"([?&][^=&\s\"']+=)[^&\s\"']+",
                                r"\1[REDACTED]", text)
            record.args = ()
        return True


class _Cookies(httpx.Cookies):
    """Looks for cookies where an answer brings some: httpx builds a
    request of urllib's for each answer to ask that."""

    def extract_cookies(self, response: httpx.Response) -> None:
        if "set-cookie" in response.headers:
            super().extract_cookies(response)


class _Client(httpx.AsyncClient):

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._found = _Cookies()

    @property  # type: ignore[misc]
    def cookies(self) -> httpx.Cookies:
        return self._found


# A service asks the same few addresses again and again.
_parse_url = lru_cache(256)(httpx.URL)

hides_queries = HidesQueries()
logging.getLogger("httpx").addFilter(hides_queries)


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


def _extensions() -> dict[str, Any]:
    """What tells a transport to say when it writes: httpcore's "trace"."""
    leaving = _leaving.get()

    async def trace(event: str, _: Any) -> None:
        if leaving is not None and event.endswith(
                "send_request_headers.started"):
            leaving()
    return {} if leaving is None else {"trace": trace}


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
                 response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = dict(response.headers.items())
        self._client = client
        self._url = url
        self._response = response

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The bytes as they come, bounded in sum."""
        left = self._client.max_bytes
        try:
            async with aclosing(cast("AsyncGenerator[bytes]",
                                     self._response.aiter_bytes())) as pieces:
                async for chunk in pieces:
                    left -= len(chunk)
                    if left < 0:
                        raise self._client.too_large()
                    yield chunk
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
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
                 transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.peer = peer
        self.timeout_s = timeout_s
        self.max_bytes = max_bytes
        self._proxy_url = proxy_url
        self._transport = transport
        self._clients: dict[tuple[bool, bool], httpx.AsyncClient] = {}

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
                and (proxy := environment_proxy(url)):
            found.hint = (f"the way goes through the proxy at {proxy}; check "
                          "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY")
        return found

    def too_large(self) -> UnavailableError:
        return UnavailableError(
            f"{self.peer.title} sent more than "
            f"{self.max_bytes // (1024 * 1024)} MiB",
            hint="is that the right server? check the base URL")

    async def _send(self, method: str, url: str, headers: dict[str, str],
                    content: bytes | None) -> httpx.Response:
        for _ in range(_HOPS + 1):
            client, request = self._request(method, url, headers, content)
            reach("net.request")
            told = _leaving.get()
            if told is not None and self._transport is not None:
                told()  # of a transport of others nothing is known
            try:
                response = await client.send(request, stream=True)
            except (httpx.HTTPError, httpx.InvalidURL, OSError,
                    OverflowError,  # no port has such a number
                    ExceptionGroup) as error:  # a group: anyio, connecting
                raise self.broken(url, error) from error
            reach("net.response")
            target = redirect(method, url, response.status_code,
                              response.headers.get("location"))
            if target is None:
                return response
            await response.aclose()
            url = target
        raise UnavailableError(
            f"{self.peer.title} redirects in a circle",
            hint="correct the base URL")

    def _request(self, method: str, url: str, headers: Mapping[str, str],
                 content: bytes | None
                 ) -> tuple[httpx.AsyncClient, httpx.Request]:
        """Raises UnavailableError for what is no address, ConfigError for
        headers and proxies that can't be, MissingPartError for SOCKS."""
        try:
            secure = urlsplit(url).scheme == "https"
            ascii_url = _parse_url(url)
        except (httpx.InvalidURL, ValueError) as error:
            raise self.broken(url, httpx.InvalidURL(str(error))) from error
        with proxies(name=_ENVIRONMENT if self._proxy_url is None
                     else f"the proxy_url of {self.peer.title}"):
            client = self._client_for(url, secure)
        try:
            return client, client.build_request(
                method, ascii_url, headers=headers, content=content,
                extensions=_extensions())
        except (TypeError, UnicodeError) as error:
            raise ConfigError(
                f"a header for {self.peer.title} holds what no header can",
                hint="check extra_headers and the key") from error

    def _client_for(self, url: str, secure: bool) -> httpx.AsyncClient:
        near = is_loopback(url)
        client = self._clients.get((secure, near))
        if client is None:
            verify = load_certificates() \
                if secure and not self._transport else False
            transport = self._transport
            proxy = self._proxy_url if transport is None else None
            if transport is None and near and not secure and not proxy:
                transport = LoopbackTransport()
            client = _Client(
                verify=verify, trust_env=not near, follow_redirects=False,
                transport=transport, proxy=proxy,
                timeout=httpx.Timeout(self.timeout_s, connect=min(
                    CONNECT_S, self.timeout_s)))
            self._clients[secure, near] = client
        return client


@contextmanager
def proxies(*no_address: type[Exception],
            name: str = _ENVIRONMENT) -> Iterator[None]:
    """Errors of building a client, as those of its proxies (those of the
    environment, or what `name` says): MissingPartError for SOCKS,
    ConfigError for what is none. `no_address` are more errors that say
    so."""
    none: tuple[type[Exception], ...] = (httpx.InvalidURL, ValueError,
                                         *no_address)
    try:
        yield
    except ImportError as error:
        raise MissingPartError(
            f"{name} speaks SOCKS, and socksio is not installed",
            hint=package_command("httpx[socks]")) from error
    except none as error:
        # Not "from" it: the address may hold a password.
        raise ConfigError(
            f"{name} can't be used: "
            + re.sub(r"//[^\s/]*@", "//[REDACTED]@", str(error)),
            hint="check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
            if name == _ENVIRONMENT else "correct the proxy_url"
        ) from None


def environment_proxy(url: str) -> str | None:
    """Host and port of the proxy that the environment puts before an
    address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    found = getproxies()
    proxy = found.get(parts.scheme) or found.get("all")
    if not proxy or is_loopback(url) or proxy_bypass(parts.netloc):
        return None
    return extract_host(proxy if "://" in proxy else f"http://{proxy}")


def secrets_in(url: str, headers: Mapping[str, str]) -> list[str]:
    """What may be a key in a request: the values of its query, and of
    headers that are not known to be harmless, whole and word by word."""
    try:
        found = [v for _, v in parse_qsl(urlsplit(url).query)]
    except ValueError:
        found = []
    for name, value in headers.items():
        if name.lower() not in _NO_SECRETS:
            found += [value, *re.split(r"[\s,;=]+", value)]
    return [v for v in dict.fromkeys(found) if len(v) >= 8]


def unwrap_reset(error: BaseException) -> BaseException:
    """An error without those below it where a connection stood and was
    reset: down there that is a ConnectionError, as if nobody were at home.
    """
    names = class_names(error)
    if names & {"ReadError", "WriteError"} and "SSLError" not in names:
        return httpx.ReadError("the connection was reset")
    return error


def redirect(method: str, url: str, status: int,
             location: str | None) -> str | None:
    """Where to go on: the same host, never from https to http; or None."""
    moved = status in (307, 308) or (method == "GET"
                                     and status in (301, 302))
    if not moved or not location:
        return None
    target = urljoin(url, location)
    old, new = urlsplit(url), urlsplit(target)
    if old.hostname != new.hostname or new.scheme not in ("http", "https"):
        return None
    if old.scheme == new.scheme:
        return target if old.port == new.port else None
    plain_ports = (old.port in (None, 80), new.port in (None, 443))
    return target if new.scheme == "https" and all(plain_ports) else None


def is_loopback(url: str) -> bool:
    """Whether an address is this machine."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def load_certificates() -> ssl.SSLContext:
    """The system's certificates (SSL_CERT_FILE and SSL_CERT_DIR count);
    those of certifi where the system has none."""
    paths = ssl.get_default_verify_paths()
    try:
        found = bool(paths.cafile) or bool(
            paths.capath and os.listdir(paths.capath))
    except OSError:
        found = False
    return ssl.create_default_context() if found \
        else httpx.create_ssl_context()


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
