"""Requests past this machine, over httpx.

- certificates are loaded for https addresses only, when one is first asked;
- proxies of the environment (HTTPS_PROXY, NO_PROXY ...) serve every host but
  this machine; a proxy of the client's own takes their place.
"""

import logging
import os
import re
import ssl
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from functools import lru_cache
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass  # httpx loads it too

from claw.core.errors import ConfigError, MissingPartError
from claw.core.installed import package_command
from claw.net.addresses import is_loopback
from claw.net.carrier import BadHeader, InvalidURL, Request, WireFailure
from claw.net.errors import extract_host
from claw.net.lean import httpx

_ENVIRONMENT = "the proxy of the environment"
_FAILURES = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError,
             OverflowError,  # no port has such a number
             ExceptionGroup)  # anyio, connecting


class Redacts(logging.Filter):
    """Writes `by` in the place of what a pattern finds: HTTP libraries log
    each address they ask, and some have a key in it."""

    def __init__(self, pattern: re.Pattern[str], by: str) -> None:
        super().__init__()
        self._pattern = pattern
        self._by = by

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        clean = self._pattern.sub(self._by, text)
        if clean != text:
            record.msg, record.args = clean, ()
        return True


hides_queries = Redacts(re.compile(r"([?&][^=&\s\"']+=)[^&\s\"']+"),
                        r"\1[REDACTED]")
logging.getLogger("httpx").addFilter(hides_queries)

# A service asks the same few addresses again and again.
_parse_url = lru_cache(256)(httpx.URL)


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


class Remote:
    """httpx, with a policy of ours. `near`: the server is this machine, so
    the proxies of the environment are passed by; `proxy` takes their place
    and is `proxy_name` in errors; `transport` replaces the network.

    Raises MissingPartError for SOCKS, ConfigError for what is no proxy.
    """

    def __init__(self, *, secure: bool, near: bool, proxy: str | None = None,
                 proxy_name: str = _ENVIRONMENT,
                 transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        verify = load_certificates() if secure and not transport else False
        with proxies(name=proxy_name):
            self._client = _Client(
                verify=verify, trust_env=not near, follow_redirects=False,
                transport=transport, proxy=None if transport else proxy)

    async def send(self, request: Request) -> "RemoteResponse":
        try:
            url = _parse_url(request.url)
        except (httpx.InvalidURL, ValueError) as error:
            raise InvalidURL(str(error)) from error
        try:
            built = self._client.build_request(
                request.method, url, headers=request.headers,
                content=request.content,
                timeout=httpx.Timeout(request.timeout_s,
                                      connect=request.connect_s),
                extensions=_extensions(request.leaving))
        except (TypeError, UnicodeError) as error:
            raise BadHeader(str(error)) from error
        if request.leaving is not None and self._transport is not None:
            request.leaving()  # of a transport of others nothing is known
        try:
            return RemoteResponse(await self._client.send(built, stream=True))
        except _FAILURES as error:
            raise WireFailure(str(error)) from error

    async def aclose(self) -> None:
        await self._client.aclose()


class RemoteResponse:
    """An answer of httpx."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = dict(response.headers.items())
        self._response = response

    async def chunks(self) -> AsyncGenerator[bytes]:
        try:
            async with aclosing(cast("AsyncGenerator[bytes]",
                                     self._response.aiter_bytes())) as pieces:
                async for piece in pieces:
                    yield piece
        except _FAILURES as error:
            raise WireFailure(str(error)) from error

    async def aclose(self) -> None:
        await self._response.aclose()


def _extensions(leaving: Callable[[], None] | None) -> dict[str, Any]:
    """What tells httpcore to say when it writes."""
    async def trace(event: str, _: Any) -> None:
        if leaving is not None and event.endswith(
                "send_request_headers.started"):
            leaving()
    return {} if leaving is None else {"trace": trace}


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


def load_certificates() -> ssl.SSLContext:
    """The system's certificates (SSL_CERT_FILE and SSL_CERT_DIR count);
    those of certifi where the system has none. Read once: each connection
    would hold nearly a megabyte of its own."""
    return _load(os.environ.get("SSL_CERT_FILE"),
                 os.environ.get("SSL_CERT_DIR"))


@lru_cache(4)
def _load(*_: str | None) -> ssl.SSLContext:
    paths = ssl.get_default_verify_paths()
    try:
        found = bool(paths.cafile) or bool(
            paths.capath and os.listdir(paths.capath))
    except OSError:
        found = False
    return ssl.create_default_context() if found \
        else httpx.create_ssl_context()
