"""OpenAI and Azure OpenAI through the official SDK (`client = "sdk"`).

For those who need what only it has: signing in with Entra (Azure without a
key: AZURE_OPENAI_AD_TOKEN, or the package azure-identity). It brings
addresses, keys and its HTTP client; what it would make of the answers is
not asked for, so that nothing gets lost that it does not know, and they are
read like everyone's. Its retries are off: who retries is decided above.
The SDK costs 0.4 s to import. Source: the SDK's types, openai 2 and 3.
"""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

import openai

from claw.core.errors import AuthError, ClawError, UnavailableError
from claw.core.installed import package_command
from claw.net.errors import status_error
from claw.net.http import ANSWER_BYTES, to_bytes
from claw.net.remote import hides_queries, proxies
from claw.providers.catalog.local import is_model_name
from claw.providers.connection import Connection
from claw.providers.openai.azure import AzurePlace
from claw.providers.openai.body import OpenAIRequest
from claw.providers.openai.official import OpenAIProvider, no_key
from claw.providers.wire.answers import no_list
from claw.providers.wire.json import Json

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

_SCOPE = "https://cognitiveservices.azure.com/.default"


class SdkProvider(OpenAIProvider):
    """The same, asked through the SDK's client; Azure's v1 API has a client
    beside it."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        place = self._place
        signs = {"api_key": connection.key} if connection.key \
            else sign_in(connection, place)
        common: dict[str, Any] = {
            "max_retries": 0, "timeout": connection.timeout_s,
            "default_headers": {**dict(self.vendor.headers),
                                **self._connection.extra_headers}}
        with proxies(*_NO_ADDRESS):
            # redirects off: a key must not follow one to another host
            common["http_client"] = connection.transport \
                or openai.DefaultAsyncHttpxClient(follow_redirects=False)
            self._client = self._responses = openai.AsyncOpenAI(
                **common, **signs, base_url=self.vendor.url) \
                if place is None else _client_for_v1(place, common, signs)
            if place is not None and not place.is_v1:
                self._client = openai.AsyncAzureOpenAI(
                    **common, **signs, azure_endpoint=place.root,
                    azure_deployment=place.deployment,
                    api_version=place.version)
        self._http.guard(str(self._client.base_url),
                         common["default_headers"])

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
        # it knows no other than its own arguments
        said = {key: body.pop(key) for key in (
            "model", "messages", "input", "stream") if key in body}
        ask: Any = self._responses.responses if wire.api == "responses" \
            else self._client.chat.completions
        try:
            async with ask.with_streaming_response.create(
                    **said, extra_body=body,
                    extra_headers=dict(headers)) as answer:
                yield _Streamed(self, answer)
            return
        except openai.OpenAIError as error:
            failed = self._translate_sdk(error, wire.body["model"])
        except _WIRE_ERRORS as error:
            raise self.translate(error) from error
        raise failed  # as in `models`

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

    def __init__(self, provider: SdkProvider, answer: Any) -> None:
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


def _client_for_v1(place: AzurePlace, common: Mapping[str, Any],
                   signs: Mapping[str, Any]) -> openai.AsyncOpenAI:
    """The SDK's client of the v1 API. That for Azure would put the
    deployment into the path of chats, so it is for the Responses alone."""
    url, _, version = place.v1().partition("?api-version=")
    if not place.is_v1:
        return openai.AsyncAzureOpenAI(**common, **signs, base_url=url,
                                       api_version=version)
    token = signs.get("azure_ad_token_provider") or signs.get(
        "azure_ad_token") or signs["api_key"]
    query: dict[str, Any] = {"api-version": version} if version else {}
    return openai.AsyncOpenAI(**common, api_key=token, base_url=url,
                              default_query=query)


def sign_in(connection: Connection, place: AzurePlace | None
            ) -> dict[str, Any]:
    """How Azure is asked without a key: with a token of Entra's."""
    if place is None:
        raise no_key(connection)
    token = connection.env.get("AZURE_OPENAI_AD_TOKEN", "").strip()
    if token:
        return {"azure_ad_token": token}
    try:
        from azure.identity import (  # type: ignore[import-not-found,unused-ignore]
            DefaultAzureCredential,
            get_bearer_token_provider,
        )
    except ImportError as error:
        refused = no_key(connection)
        raise AuthError(
            refused.message, hint=f"{refused.hint}; to sign in with Entra: "
            f"AZURE_OPENAI_AD_TOKEN, or {package_command('azure-identity')}"
        ) from error
    ask = get_bearer_token_provider(DefaultAzureCredential(), _SCOPE)

    async def token_of_entra() -> str:
        return str(await asyncio.to_thread(ask))  # it may start `az`
    return {"azure_ad_token_provider": token_of_entra}


def clean_body(body: Json) -> Json:
    """The arguments of `create`, as UTF-8 can carry them."""
    clean: Json = json.loads(to_bytes(body))
    return clean
