"""OpenAI and Azure OpenAI through the official SDK.

Chat Completions, and the Responses API for the models that need it: those
that speak nothing else (codex, pro, deep research) and those that call
tools only there (since gpt-5.4: "Function tools with reasoning_effort are
not supported ... in /v1/chat/completions"). The SDK brings addresses, keys
and its HTTP client; what it would make of the answers is not asked for, so
that nothing gets lost that it does not know, and they are read like
everyone's. Its retries are off: who retries is decided above.
The SDK costs 0.4 s to import, so this module is loaded only when the
provider is built. Source: the SDK's types, openai 2 and 3;
developers.openai.com, model pages; learn.microsoft.com, Azure's v1 API.
"""

import json
import logging
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

import openai

from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    UnavailableError,
)
from claw.core.provider import ProviderCapabilities
from claw.core.value import replace
from claw.net.errors import status_error
from claw.net.http import (
    ANSWER_BYTES,
    hides_queries,
    proxies,
    to_bytes,
)
from claw.providers.catalog.address import key_hint
from claw.providers.catalog.local import is_model_name
from claw.providers.connection import Connection
from claw.providers.openai.body import (
    Api,
    OpenAIRequest,
    RequestOptions,
    thinks,
)
from claw.providers.openai.provider import (
    CompatibleProvider,
    OpenAIState,
)
from claw.providers.openai.quirks import bare_model
from claw.providers.wire.answers import no_list
from claw.providers.wire.json import Json
from claw.providers.wire.refusals import Feature

# The SDK does not wrap what its HTTP library raises in mid-stream; which
# library that is depends on the SDK's version.
_LIBRARIES = tuple(sys.modules[name] for name in ("httpx", "httpx2")
                   if name in sys.modules)
_WIRE_ERRORS: tuple[type[Exception], ...] = (
    OSError, ValueError, *(m.HTTPError for m in _LIBRARIES))
_NO_ADDRESS: tuple[type[Exception], ...] = tuple(
    m.InvalidURL for m in _LIBRARIES)

for _name in ("httpx2", "openai._base_client"):
    logging.getLogger(_name).addFilter(hides_queries)

AZURE_VERSION = "2024-08-01-preview"
_AZURE_V1 = "preview"

# Reasoning models take no other temperature than 1; gpt-5.1 to 5.4 do where
# they don't think.
_FIXED = re.compile(
    r"(?:gpt-5(?:-mini|-nano)?|gpt-5\.[123]-chat-latest|o1|o3|o3-mini"
    r"|o4-mini)(?:-20\d\d.*)?$"
    r"|gpt-5\.[5-9]|gpt-[6-9]|o[1-9]-pro|.*codex|.*deep-research")
_RESPONSES_ONLY = re.compile(
    r".*codex|(?:o\d|gpt-[\d.]+)-pro|.*deep-research|computer-use"
    r"|gpt-5\.[4-9]|gpt-[6-9]")


class OpenAIProvider(CompatibleProvider):
    """api.openai.com, or an Azure deployment.

    `responses_client` is the one for Azure's Responses API, which has an
    address of its own; `deployment` is what it calls the model.
    """

    def __init__(self, connection: Connection, client: openai.AsyncOpenAI,
                 responses_client: openai.AsyncOpenAI | None = None,
                 deployment: str | None = None) -> None:
        super().__init__(replace(connection, vendor=replace(
            connection.vendor, url=str(client.base_url))))
        self._client = client
        self._responses = responses_client or client
        self._deployment = deployment

    @classmethod
    def build(cls, connection: Connection) -> "OpenAIProvider":
        vendor, key = connection.vendor, connection.key
        if not key:
            raise AuthError(f"{vendor.title} API key not set",
                            hint=key_hint(vendor))
        common: dict[str, Any] = {
            "api_key": key, "max_retries": 0, "timeout": connection.timeout_s,
            "default_headers": {**dict(vendor.headers),
                                **connection.extra_headers}}
        place: dict[str, Any] = azure(connection) \
            if vendor.auth == "api-key" else {"base_url": vendor.url}
        beside = None
        with proxies(*_NO_ADDRESS):
            # redirects off: a key must not follow one to another host
            common["http_client"] = connection.transport \
                or openai.DefaultAsyncHttpxClient(follow_redirects=False)
            if vendor.auth == "api-key":
                client: openai.AsyncOpenAI = openai.AsyncAzureOpenAI(
                    **common, **place)
                beside = openai.AsyncAzureOpenAI(
                    **common, api_version=_AZURE_V1,
                    base_url=f"{place['azure_endpoint'].rstrip('/')}"
                             "/openai/v1")
            else:
                client = openai.AsyncOpenAI(**common, **place)
        made = cls(connection, client, beside, place.get("azure_deployment"))
        made._http.guard(str(client.base_url), common["default_headers"])
        return made

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(
            native_tool_calling=self.vendor.native_tools,
            vision=self.vendor.vision, prompt_caching=True)

    async def models(self) -> list[str]:
        failed: ClawError
        try:
            page = await self._client.models.list()
            return sorted(model.id for model in page.data
                          if is_model_name(model.id))
        except openai.OpenAIError as error:
            failed = self._translate_sdk(error, None)
        except (TypeError, AttributeError, OSError, ValueError):
            failed = no_list(self.vendor.title)
        # Not "from" the SDK's error: its text is what the server said, and
        # that may be the key.
        raise failed

    async def warmup(self) -> None:
        await self.models()

    async def aclose(self) -> None:
        await self._client.close()
        if self._responses is not self._client:
            await self._responses.close()
        await super().aclose()

    @asynccontextmanager
    async def _open(self, wire: OpenAIRequest, headers: Mapping[str, str]
                    ) -> AsyncIterator["_Streamed"]:
        body = clean_body(wire.body)
        if wire.api == "responses" and self._deployment:
            body["model"] = self._deployment
        ask: Any = self._responses.responses if wire.api == "responses" \
            else self._client.chat.completions
        try:
            async with ask.with_streaming_response.create(
                    **body, extra_headers=dict(headers)) as answer:
                yield _Streamed(self, answer)
            return
        except openai.OpenAIError as error:
            failed = self._translate_sdk(error, wire.body["model"])
        except _WIRE_ERRORS as error:
            raise self.translate(error) from error
        raise failed  # as in `models`

    def _choose_api(self, model: str, without: set[Feature]) -> Api:
        if self.vendor.responses_fallback and needs_responses(model):
            return "responses"
        return super()._choose_api(model, without)

    def _options(self, state: OpenAIState, *, stream: bool
                 ) -> RequestOptions:
        options = super()._options(state, stream=stream)
        temperature: float | None = temperature_for(state.model,
                                                    state.temperature)
        if options.api == "responses" and fixed_temperature(state.model):
            temperature = None
        return replace(options, temperature=temperature,
                       thinks=thinks(state.model))

    def translate(self, error: BaseException) -> UnavailableError:
        return self._http.broken(str(self._client.base_url), error,
                                 self._connection.timeout_s)

    def _translate_sdk(self, error: openai.OpenAIError,
                    model: str | None) -> ClawError:
        if isinstance(error, openai.APIStatusError):
            headers = {k.lower(): v
                       for k, v in error.response.headers.items()}
            return status_error(self._http.peer, error.status_code,
                                error.response.text, headers=headers,
                                model=model)
        if isinstance(error, openai.APIError) and not isinstance(
                error, openai.APIConnectionError):
            return status_error(self._http.peer, 502, error.message,
                                model=model)
        return self.translate(error)


class _Streamed:
    """An answer of the SDK's client, read raw and bounded."""

    def __init__(self, provider: OpenAIProvider, answer: Any) -> None:
        self.headers: Mapping[str, str] = {
            k.lower(): v for k, v in answer.headers.items()}
        self._provider = provider
        self._answer = answer

    async def chunks(self) -> AsyncGenerator[bytes]:
        left = ANSWER_BYTES
        try:
            async with aclosing(cast("AsyncGenerator[bytes]",
                                     self._answer.iter_bytes())) as pieces:
                async for piece in pieces:
                    left -= len(piece)
                    if left < 0:
                        raise too_large(self._provider.vendor.title)
                    yield piece
        except _WIRE_ERRORS as error:
            raise self._provider.translate(error) from error

    async def read(self) -> bytes:
        async with aclosing(self.chunks()) as chunks:
            return b"".join([chunk async for chunk in chunks])


def too_large(title: str) -> UnavailableError:
    return UnavailableError(f"{title} sent more than "
                            f"{ANSWER_BYTES // (1024 * 1024)} MiB",
                            hint="is that the right server? check the base "
                                 "URL")


def needs_responses(model: str) -> bool:
    """Whether a model of OpenAI's needs the Responses API: it speaks
    nothing else, or calls no tools elsewhere."""
    return _RESPONSES_ONLY.match(bare_model(model)) is not None


def fixed_temperature(model: str) -> bool:
    """Whether a model takes no other temperature than 1."""
    return _FIXED.match(model) is not None


def temperature_for(model: str, temperature: float) -> float:
    """1.0 for models that take nothing else (dated names too)."""
    return 1.0 if fixed_temperature(model) else temperature


def clean_body(body: Json) -> Json:
    """The arguments of `create`, as UTF-8 can carry them."""
    clean: Json = json.loads(to_bytes(body))
    return clean


def azure(connection: Connection) -> dict[str, Any]:
    """Endpoint, deployment and version: [model_providers.<name>] first,
    then AZURE_OPENAI_*. Raises ConfigError for what is missing."""
    named, env = connection.named, connection.env

    def setting(key: str) -> str | None:
        value = getattr(named, f"azure_openai_{key}")
        return value or env.get(f"AZURE_OPENAI_{key.upper()}") or None
    resource, deployment = setting("resource"), setting("deployment")
    endpoint = connection.vendor.url or (
        f"https://{resource}.openai.azure.com" if resource else "")
    if not endpoint:
        raise ConfigError("azure: no resource is set",
                          hint="set AZURE_OPENAI_RESOURCE, or "
                               "azure_openai_resource in config.toml")
    if not deployment:
        raise ConfigError("azure: no deployment is set",
                          hint="set AZURE_OPENAI_DEPLOYMENT, or "
                               "azure_openai_deployment in config.toml")
    return {"azure_endpoint": endpoint, "azure_deployment": deployment,
            "api_version": setting("api_version") or AZURE_VERSION}
