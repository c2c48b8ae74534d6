"""OpenAI and Azure OpenAI through the official SDK (Chat Completions).

The SDK costs 0.4 s to import, so this module is loaded only when the
provider is built. Its retries are off: who retries is decided above. Its
errors go through the same table as everyone's.
Source: the SDK's types, openai 2 and 3.
"""

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import openai

from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    IncompleteAnswerError,
)
from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    OpenAITools,
    ProviderCapabilities,
    StreamChunk,
    ToolsPayload,
    estimate_tokens,
)
from claw.core.tool import ToolSpec
from claw.net.errors import Peer, status_error, wire_error
from claw.net.http import proxies, to_bytes
from claw.providers.connection import Connection
from claw.providers.vendors import Vendor
from claw.providers.wire import (
    Json,
    StreamReader,
    read_answer,
    wire_messages,
    wire_tools,
)

# The SDK does not wrap what its HTTP library raises in mid-stream; which
# library that is depends on the SDK's version.
_WIRE_ERRORS: tuple[type[Exception], ...] = (
    OSError, ValueError, *(sys.modules[name].HTTPError
               for name in ("httpx", "httpx2") if name in sys.modules))

_NO_ADDRESS: tuple[type[Exception], ...] = tuple(
    sys.modules[name].InvalidURL for name in ("httpx", "httpx2")
    if name in sys.modules)

AZURE_VERSION = "2024-08-01-preview"

# Reasoning models take no other temperature than 1.
_FIXED = ("gpt-5-mini", "gpt-5-nano", "gpt-5.1-chat-latest",
          "gpt-5.2-chat-latest", "gpt-5.3-chat-latest", "gpt-5", "o1", "o3",
          "o3-mini", "o4-mini")


class OpenAIProvider(ChatProvider):
    """api.openai.com, or an Azure deployment."""

    def __init__(self, vendor: Vendor, client: openai.AsyncOpenAI, *,
                 key: str | None = None, timeout_s: float = 120.0) -> None:
        self.name = vendor.name
        self._vendor = vendor
        self._client = client
        self._timeout_s = timeout_s
        self._peer = Peer(
            vendor.title, secrets=(key,) if key else (),
            key_hint=f"set {vendor.keys[0]}, or: claw config set api_key KEY",
            models_hint=f"claw provider models {vendor.name}")

    @classmethod
    def build(cls, connection: Connection) -> "OpenAIProvider":
        vendor, key = connection.vendor, connection.key
        if not key:
            raise AuthError(f"{vendor.title} API key not set",
                            hint=f"set {vendor.keys[0]}, or: claw config set "
                                 "api_key KEY")
        common: dict[str, Any] = {
            "api_key": key, "max_retries": 0, "timeout": connection.timeout_s,
            "default_headers": dict(connection.extra_headers)}
        azured = vendor.auth == "api-key"
        common |= azure(connection) if azured else {"base_url": vendor.url}
        with proxies(*_NO_ADDRESS):
            # redirects off: a key must not follow one to another host
            common["http_client"] = connection.transport \
                or openai.DefaultAsyncHttpxClient(follow_redirects=False)
            client = (openai.AsyncAzureOpenAI if azured
                      else openai.AsyncOpenAI)(**common)
        return cls(vendor, client, key=key, timeout_s=connection.timeout_s)

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(native_tool_calling=True, vision=True,
                                    prompt_caching=True)

    def supports_streaming(self) -> bool:
        return True

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return OpenAITools(wire_tools(tools))

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        body = request_body(request, model, temperature)
        for attempt in (1, 2):
            try:
                answer = await self._client.chat.completions.create(**body)
                response = read_answer(answer.model_dump())
            except openai.OpenAIError as error:
                raise self._translated(error, model) from error
            except (ValueError, AttributeError) as error:
                raise IncompleteAnswerError(
                    f"{self._vendor.title} sent something that is no answer",
                    hint="is the base URL right?") from error
            if response.text or response.tool_calls:
                return response
            self._check_empty(response, attempt)
        raise AssertionError("unreachable")

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        body = request_body(request, model, temperature)
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        for attempt in (1, 2):
            reader, shown = StreamReader(), False
            try:
                stream: Any = await self._client.chat.completions.create(
                    **body)
                async with stream:
                    async for chunk in stream:
                        delta = reader.take(chunk.model_dump())
                        if delta:
                            shown = True
                            yield _chunk(delta)
            except openai.OpenAIError as error:
                raise self._translated(error, model) from error
            except _WIRE_ERRORS as error:
                raise self._broken(error) from error
            if not reader.finished:
                raise IncompleteAnswerError(
                    f"the stream of {self._vendor.title} ended before the "
                    "answer did", hint="try again")
            rest, response = reader.end()
            if rest:
                yield _chunk(rest)
            if rest or shown or response.tool_calls:
                yield StreamChunk(is_final=True, response=response)
                return
            self._check_empty(response, attempt)

    async def models(self) -> list[str]:
        try:
            page = await self._client.models.list()
        except openai.OpenAIError as error:
            raise self._translated(error, None) from error
        return sorted(model.id for model in page.data)

    async def warmup(self) -> None:
        await self.models()

    async def aclose(self) -> None:
        await self._client.close()

    def _translated(self, error: openai.OpenAIError,
                    model: str | None) -> ClawError:
        if isinstance(error, openai.APIStatusError):
            headers = {k.lower(): v
                       for k, v in error.response.headers.items()}
            return status_error(self._peer, error.status_code,
                                error.response.text, headers=headers,
                                model=model)
        if isinstance(error, openai.APIError) and not isinstance(
                error, openai.APIConnectionError):
            return status_error(self._peer, 502, error.message, model=model)
        return self._broken(error)

    def _broken(self, error: BaseException) -> ClawError:
        return wire_error(self._peer, str(self._client.base_url), error,
                          self._timeout_s)

    def _check_empty(self, response: ChatResponse, attempt: int) -> None:
        if response.finish_reason == "length":
            raise IncompleteAnswerError(
                f"{self._vendor.title} used up its tokens before it said "
                "anything", hint="allow more with --max-tokens")
        if attempt > 1:
            raise IncompleteAnswerError(
                f"{self._vendor.title} gave an empty answer, twice",
                hint="try again, or another model with -m")


def request_body(request: ChatRequest, model: str,
                 temperature: float) -> Json:
    """The arguments of chat.completions.create, as UTF-8 can carry them."""
    body: Json = {"model": model, "messages": wire_messages(request.messages),
                  "temperature": temperature_for(model, temperature)}
    if request.tools:
        body["tools"] = list(wire_tools(request.tools))
        body["tool_choice"] = "auto"
    if request.max_tokens is not None:
        body["max_completion_tokens"] = request.max_tokens
    if request.response_schema is not None:
        body["response_format"] = {
            "type": "json_schema", "json_schema": {
                "name": "answer", "schema": request.response_schema}}
    clean: Json = json.loads(to_bytes(body))
    return clean


def temperature_for(model: str, temperature: float) -> float:
    """1.0 for models that take nothing else (dated names too)."""
    for name in _FIXED:
        rest = model.removeprefix(name)
        if rest == "" and model == name:
            return 1.0
        if rest != model and rest.startswith("-20"):
            return 1.0
    return temperature


def azure(connection: Connection) -> Mapping[str, str]:
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


def _chunk(delta: str) -> StreamChunk:
    return StreamChunk(delta, token_count=estimate_tokens(delta))
