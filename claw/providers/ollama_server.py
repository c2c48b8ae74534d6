"""What an Ollama server is asked beside chats: what a model can do, what is
loaded, and from both the context to ask for.

Each question is asked once for a model and process, as far as the answer
can't change.
"""

from collections.abc import Mapping
from typing import Any

from claw.core.errors import UnavailableError
from claw.net.errors import host_of
from claw.net.http import HttpClient, is_loopback
from claw.providers.ollama_model import (
    Model,
    context_for,
    loaded_context,
    read_model,
)

CLOUD_HOST = "ollama.com"


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
                self._models[name] = read_model(answer.json())
            except (ValueError, RecursionError):
                self._models[name] = Model()
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
        if CLOUD_HOST in host_of(self._address) or name.endswith("-cloud"):
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
        answer = await self._http.request("GET", f"{self._address}{path}",
                                          headers=self._headers)
        try:
            return answer.json()
        except (ValueError, RecursionError):
            return None

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
