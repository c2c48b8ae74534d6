"""Where an Ollama server is, and what it is asked beside chats: what a model
can do, what is loaded, and from both the context to ask for.

Each question is asked once for a model and process, as far as the answer
can't change.
"""

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from claw.core.errors import UnavailableError
from claw.net.addresses import is_loopback
from claw.net.errors import extract_host
from claw.net.http import HttpClient
from claw.providers.ollama.model import (
    Model,
    context_for,
    loaded_context,
    read_model,
)
from claw.providers.wire.answers import read_json

CLOUD_HOST = "ollama.com"
DEFAULT = "http://localhost:11434"
_PATHS = ("/api/chat", "/api", "/v1")


def find_root(url: str, env: Mapping[str, str], *, by_name: bool) -> str:
    """The server's address without a path of the API.

    `by_name`: it was asked for as "ollama", so ZEROCLAW_PROVIDER_URL wins,
    and OLLAMA_HOST (which ollama itself reads) stands in for the default.
    """
    told = env.get("ZEROCLAW_PROVIDER_URL", "").strip()
    host = env.get("OLLAMA_HOST", "").strip()
    if by_name and told:
        return strip_path(told)
    if strip_path(url) == DEFAULT and host:
        return host_url(host)
    return strip_path(url)


def strip_path(url: str) -> str:
    """An address without /, /v1, /api and /api/chat at its end."""
    url = url.strip().partition("?")[0].partition("#")[0].rstrip("/")
    for path in _PATHS:
        if url.endswith(path):
            return url.removesuffix(path).rstrip("/")
    return url


def host_url(host: str) -> str:
    """OLLAMA_HOST as an address: scheme and port may be left out, and what
    a server binds to in order to be everywhere (0.0.0.0) is this machine.
    """
    scheme, mark, rest = host.partition("://")
    if not mark:
        scheme, rest = "http", host
    try:
        split = urlsplit(f"{scheme}://{rest}")
        name = split.hostname or "127.0.0.1"
        port = split.port or (
            (443 if scheme == "https" else 80) if mark else 11434)
    except ValueError:
        return strip_path(host)  # the request will say that it is no address
    try:
        address = ip_address(name)
        if address.is_unspecified:
            name = "[::1]" if isinstance(address, IPv6Address) \
                else "127.0.0.1"
        elif isinstance(address, IPv6Address):
            name = f"[{name}]"
    except ValueError:
        pass  # a name, not a number
    return strip_path(f"{scheme}://{name}:{port}{split.path}")


class OllamaServer:
    """One server at `address`; `env` is the environment of this process."""

    def __init__(self, http: HttpClient, address: str,
                 headers: Mapping[str, str], env: Mapping[str, str]) -> None:
        self._http = http
        self._address = address
        self._headers = headers
        self._env = env
        self._models: dict[str, Model] = {}
        self._contexts: dict[str, int] = {}

    async def model(self, name: str) -> Model:
        """What it says of a model; one that can't tell is not asked again.
        Raises UnavailableError where nobody answers: the chat itself would
        not get through either."""
        if name not in self._models:
            try:
                answer = await self._http.request(
                    "POST", f"{self._address}/api/show", model=name,
                    json={"model": name}, headers=self._headers)
                self._models[name] = read_model(read_json(answer))
            except UnavailableError as error:
                if error.status is None:
                    raise
                self._models[name] = Model()
        return self._models[name]

    def limit(self, name: str) -> int | None:
        """The most that a model can take, if it was asked for."""
        return self._models.get(name, Model()).context_length

    async def context(self, name: str, need: int) -> int | None:
        """The `num_ctx` to ask for; None leaves it to the server. It only
        grows, as another size makes the server load the model anew."""
        if CLOUD_HOST in extract_host(self._address) \
                or name.endswith("-cloud"):
            return None  # the cloud gives all there is
        had = self._contexts.get(name, 0)
        if need <= had:
            return had
        default = self._default()
        if not had and context_for(need, Model(), default=default) is None:
            return None
        found = context_for(need, await self.model(name), default=default,
                            loaded=max(had, await self._loaded(name)))
        if found is not None:
            self._contexts[name] = found
        return found

    async def get(self, path: str) -> Any:
        """A page of it; None for what is no JSON."""
        return read_json(await self._http.request(
            "GET", f"{self._address}{path}", headers=self._headers))

    async def _loaded(self, name: str) -> int:
        try:
            return loaded_context(await self.get("/api/ps"), name)
        except UnavailableError as error:
            if error.status is None:
                raise
            return 0

    def _default(self) -> int:
        """What a server on this machine was told to give; both read the
        same variable, often from the same place."""
        told = self._env.get("OLLAMA_CONTEXT_LENGTH", "").strip()
        return int(told) if is_loopback(self._address) \
            and told.isdecimal() and len(told) < 10 else 0
