"""What the HTTP client and its two ways out agree on.

Requests to this machine go over plain sockets (loopback.py), all others
over httpx (remote.py), which a question to a local model never loads. Both
raise WireFailure; its causes tell what went wrong, by the names of their
classes (net/errors.py).
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Protocol

from claw.core.value import Value, hidden


class WireFailure(Exception):
    """A request that got no answer, or not all of it."""


class BadHeader(Exception):
    """A header that no request can carry."""


class InvalidURL(WireFailure):
    """No request can go to such an address."""


class ConnectError(WireFailure):
    """No connection."""


class ConnectTimeout(WireFailure):
    """No connection in time."""


class ReadError(WireFailure):
    """The connection broke while the answer was read."""


class ReadTimeout(WireFailure):
    """Silence."""


class WriteError(WireFailure):
    """The connection broke while the request was written."""


class WriteTimeout(WireFailure):
    """The server does not read."""


class RemoteProtocolError(WireFailure):
    """What came is no HTTP."""


class Request(Value):
    """One request; header names in lower case. `leaving` is called right
    before its first byte is written."""

    method: str
    url: str
    headers: Mapping[str, str] = hidden()
    content: bytes | None = hidden(default=None)
    connect_s: float = 10.0
    timeout_s: float = 120.0
    leaving: Callable[[], None] | None = hidden(default=None)


class Response(Protocol):
    """An answer that is still arriving; header names in lower case."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncGenerator[bytes]:
        """The body, unpacked, as it comes."""
        ...

    async def aclose(self) -> None: ...


class Carrier(Protocol):
    """A way to a server."""

    async def send(self, request: Request) -> Response:
        """The head of the answer. Raises WireFailure and BadHeader."""
        ...

    async def aclose(self) -> None: ...
