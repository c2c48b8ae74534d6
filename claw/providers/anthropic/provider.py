"""Anthropic's Messages API over HTTP, and servers that copy it.

What a model does not take (a temperature, a kind of thinking, a schema) is
learned from its first refusal and left out from then on.
Source: the anthropic SDK's types (2.12); spec/agent.md 2.3.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from claw.core.errors import (
    ClawError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    AnthropicTools,
    ChatRequest,
    ChatResponse,
    ProviderCapabilities,
    ToolsPayload,
)
from claw.core.tool import ToolSpec
from claw.net.errors import Peer, status_error
from claw.net.http import HttpClient
from claw.providers.anthropic.auth import (
    auth_style,
    endpoints,
    headers_for,
    is_setup_token,
    key_hint,
    no_key,
)
from claw.providers.anthropic.errors import error_status, find_refusal
from claw.providers.anthropic.request import (
    AnthropicRequest,
    RequestOptions,
    answer_tokens,
    build_request,
    check_effort,
    wire_tools,
)
from claw.providers.anthropic.response import MessageReader
from claw.providers.catalog.local import is_model_name
from claw.providers.catalog.vendors import display_name
from claw.providers.connection import Connection
from claw.providers.settings import SLOW_HINT
from claw.providers.wire.answers import (
    json_object,
    no_list,
    read_json,
)
from claw.providers.wire.events import EventProvider
from claw.providers.wire.json import Json, objects_in, string_at
from claw.providers.wire.loop import RequestState
from claw.providers.wire.refusals import Refusal
from claw.providers.wire.unsupported import UnsupportedFeatures

_PAGE = 1000
_PAGES = 20

class AnthropicProvider(
        EventProvider[RequestState, AnthropicRequest, MessageReader]):
    """One endpoint of the Messages API."""

    no_page = "correct the base URL; /v1/messages is put after it"
    missing = "content"

    def __init__(self, connection: Connection) -> None:
        vendor, key = connection.vendor, connection.key
        check_effort(connection.reasoning)
        super().__init__(connection)
        self.chat_url, self.models_url = endpoints(vendor.url,
                                                   vendor.api_path)
        self._key = key or vendor.default_key
        style = auth_style(connection.named.auth or "", vendor.auth,
                           self._key or "")
        self._headers = headers_for(vendor, self._key, style,
                                    connection.extra_headers)
        self.answer_tokens = answer_tokens(connection.reasoning)
        self._options = RequestOptions(
            connection.reasoning, vendor.native_tools, vendor.vision,
            is_setup_token(self._key or "", style))
        self._unsupported = UnsupportedFeatures(
            self.chat_url, connection.model_info)
        self._http = HttpClient(
            Peer(vendor.title, secrets=(key,) if key else (),
                 key_hint=key_hint(vendor), start_hint=vendor.start_hint,
                 slow_hint=SLOW_HINT,
                 models_hint="claw provider models "
                             + display_name(vendor.name)),
            timeout_s=connection.timeout_s, transport=connection.transport)

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(
            native_tool_calling=self.vendor.native_tools,
            vision=self.vendor.vision,
            prompt_caching=True)

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return AnthropicTools(tuple(wire_tools(tools))) \
            if self.vendor.native_tools else super().convert_tools(tools)

    async def models(self) -> list[str]:
        self._check_key()
        names: list[str] = []
        after = ""
        for _ in range(_PAGES):
            page = await self._page(_PAGE, after)
            names += model_names(page)
            last = page.get("last_id")
            if not isinstance(last, str) or last == after \
                    or not page.get("has_more"):
                break
            after = last
        return list(dict.fromkeys(names))

    async def warmup(self) -> None:
        self._check_key()
        await self._page(1)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _page(self, limit: int, after: str = "") -> Json:
        """One page of the list of models."""
        url = f"{self.models_url}{'&' if '?' in self.models_url else '?'}" \
              f"limit={limit}"
        if after:
            url += f"&after_id={quote(after, safe='')}"
        page = read_json(await self._http.request("GET", url,
                                                  headers=self._headers))
        if not isinstance(page, dict) or not isinstance(
                page.get("data"), list):
            raise no_list(self.vendor.title)
        return page

    def _begin(self, request: ChatRequest, model: str,
               temperature: float) -> RequestState:
        self._check_key()
        return RequestState(request, model, temperature,
                            self._unsupported.without(model))

    async def _write(self, state: RequestState, *, stream: bool
                     ) -> AnthropicRequest:
        return build_request(state.request, state.model, state.temperature,
                             self._options, state.without, stream=stream)

    def _reader(self, state: RequestState, wire: AnthropicRequest
                ) -> MessageReader:
        return MessageReader(self.vendor.title, wire.names)

    def _parse(self, text: str, wire: AnthropicRequest) -> Json:
        """A JSON object that is no error."""
        data = json_object(self.vendor.title, text)
        if data.get("type") == "error" or (
                data.get("error") and "type" not in data):
            raise status_error(self._http.peer, error_status(data), text)
        return data

    def _end(self, state: RequestState, wire: AnthropicRequest,
             reader: MessageReader) -> tuple[str, ChatResponse]:
        """The answer, unless it is a refusal: what was said before one is
        no answer to keep."""
        refusal = reader.refusal
        if refusal is not None:
            raise RequestRefusedError(
                f"{self.vendor.title} refused to answer"
                + (f" ({refusal})" if refusal else ""),
                hint="ask in other words, or another model with -m")
        return reader.end()

    def _find_refusal(self, error: ClawError, wire: AnthropicRequest
                      ) -> Refusal | None:
        status = error.status if isinstance(error, UnavailableError) else None
        return find_refusal(status, error.message, wire.parts)

    def _check_key(self) -> None:
        if self.vendor.needs_key and not self._key:
            raise no_key(self.vendor)


def model_names(page: Mapping[str, Any]) -> list[str]:
    """The names on a page of the list of models."""
    return [name for row in objects_in(page["data"])
            if is_model_name(name := string_at(row, "id"))]
