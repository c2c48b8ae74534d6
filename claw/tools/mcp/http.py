"""A server at an address, over the streamable HTTP transport of `mcp`.

The name is resolved once for each request, every address it has is checked,
and the connection goes to such an address (TLS still asks for the name).
An address inside is reached only where the owner's url names one, or the
server is `private`. Redirects are followed by the package, within the
origin alone; each is checked anew. No proxy and no cookie of the
environment takes part.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from claw.core.errors import AuthError, DeniedError
from claw.net.guarded import Resolve, resolve
from claw.net.remote import load_certificates
from claw.security.egress import check_url, is_public
from claw.tools.mcp.settings import McpServerSettings
from claw.version import __version__

BODY_BYTES = 4 << 20
_CONNECT_S = 10.0
_ADDRESSES = 4


def open_http(server: McpServerSettings, *, resolve: Resolve = resolve
              ) -> Transport:
    """A connection to the server's url. Raises nothing until it is used;
    then DeniedError for an address that may not be reached."""
    return _open(server, resolve)


@asynccontextmanager
async def _open(server: McpServerSettings, resolve: Resolve
                ) -> AsyncIterator[Any]:
    url = server.url or ""
    tls = load_certificates() if url.startswith("https:") else False
    async with httpx2.AsyncClient(
            transport=Guarded(httpx2.AsyncHTTPTransport(
                verify=tls, trust_env=False), resolve,
                inside=server.private or _is_inside(url)),
            headers={"user-agent": f"claw/{__version__}",
                     "accept-encoding": "identity", **server.headers},
            timeout=httpx2.Timeout(server.tool_timeout_secs,
                                   connect=_CONNECT_S),
            trust_env=False) as client, \
        streamable_http_client(
            url, http_client=client, max_sse_event_size=BODY_BYTES
            ) as streams:
        yield streams


def _is_inside(url: str) -> bool:
    """Whether the owner's own url names an address inside."""
    try:
        check_url(url)
    except DeniedError:
        return True
    return False


class Guarded(httpx2.AsyncBaseTransport):
    """Sends each request to an address that was checked; `inside` ones may
    be reached too. Answers are bounded and never packed."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, resolve: Resolve, *,
                 inside: bool) -> None:
        self._inner = inner
        self._resolve = resolve
        self._inside = inside

    async def handle_async_request(self, request: httpx2.Request
                                   ) -> httpx2.Response:
        host = request.url.host
        port = request.url.port or (443 if request.url.scheme == "https"
                                    else 80)
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(f"{host} has no address",
                                      request=request) from error
        for address in addresses:
            if not self._inside and not is_public(address):
                raise DeniedError(
                    f"{host} leads to {address}, which is no public address",
                    hint="if that is meant: private = true in the server's "
                         "table")
        response = await self._connect(request, addresses)
        if response.status_code in (401, 403):
            await response.aclose()
            raise AuthError(
                f"{host} refused the token (HTTP {response.status_code})",
                hint="it stands in the server's table as "
                     "headers.Authorization; claw knows no OAuth",
                status=response.status_code)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.RemoteProtocolError(
                "the answer is packed, which was not asked for",
                request=request)
        if not response.headers.get("content-type", "").startswith(
                "text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream)
        return response

    async def _connect(self, request: httpx2.Request,
                       addresses: Sequence[str]) -> httpx2.Response:
        """From the first address that lets us in."""
        host = request.url.host
        failed: Exception = httpx2.ConnectError(f"{host} has no address")
        for address in addresses[:_ADDRESSES]:
            pinned = httpx2.Request(
                request.method, request.url.copy_with(host=address),
                headers=request.headers, stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host})
            try:
                return await self._inner.handle_async_request(pinned)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failed = error
        raise failed

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """A body of at most BODY_BYTES."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > BODY_BYTES:
                raise httpx2.ReadError("the answer has more than "
                                       f"{BODY_BYTES >> 20} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
