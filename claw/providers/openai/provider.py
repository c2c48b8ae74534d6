"""Every vendor that speaks Chat Completions, over HTTP.

Sends only what was asked for. What a server does not know (tools, usage in
streams, JSON schemas, a temperature ...) is learned from its first refusal
and left out from then on; tools then stand in the prompt. Where Chat
Completions is not there the Responses API is tried once; when that fails
too, the first error is what is told.
Source: the openai SDK's types; servers' own error texts.
"""

from collections.abc import (
    Sequence,
)

from claw.core.errors import (
    AuthError,
    ClawError,
    ContextOverflowError,
    RateLimitedError,
    UnavailableError,
)
from claw.core.provider import (
    ChatRequest,
    ChatResponse,
    OpenAITools,
    ProviderCapabilities,
    ToolsPayload,
)
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.net.errors import status_error
from claw.net.http import HttpClient
from claw.providers.catalog.address import (
    build_peer,
    endpoints,
    headers_for,
    key_hint,
    model_names,
    responses_endpoint,
)
from claw.providers.catalog.vendors import Vendor, with_host_quirks
from claw.providers.connection import Connection
from claw.providers.openai.body import (
    Api,
    OpenAIRequest,
    RequestOptions,
    build_request,
    schemas,
)
from claw.providers.openai.errors import find_error
from claw.providers.wire.answers import (
    json_object,
    no_list,
)
from claw.providers.wire.events import EventProvider
from claw.providers.wire.json import Json
from claw.providers.wire.loop import RequestState
from claw.providers.wire.messages import wire_tools
from claw.providers.wire.reader import EventReader
from claw.providers.wire.refusals import Feature, Refusal, find_refusal
from claw.providers.wire.unsupported import UnsupportedFeatures


class OpenAIState(RequestState):
    """One request on its way: also which API it takes, and the error that
    is told when the other API fails too."""

    def __init__(self, request: ChatRequest, model: str, temperature: float,
                 without: set[Feature], api: Api) -> None:
        super().__init__(request, model, temperature, without)
        self.api = api
        self.first_error: ClawError | None = None


class CompatibleProvider(
        EventProvider[OpenAIState, OpenAIRequest, EventReader]):
    """One vendor's endpoint."""

    no_page = "correct the base URL; it mostly ends in /v1"
    missing = "a message"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.vendor = vendor = with_host_quirks(with_wire_api(connection))
        self.chat_url, self.models_url = endpoints(vendor.url,
                                                   vendor.api_path)
        self.responses_url = responses_endpoint(vendor.url, vendor.api_path)
        self._key = connection.key or vendor.default_key
        self._headers = headers_for(vendor, self._key,
                                    connection.extra_headers)
        self._unsupported = UnsupportedFeatures(self.chat_url,
                                                connection.model_info)
        self._speaks_chat = False
        self._http = HttpClient(build_peer(vendor, self._key),
                                timeout_s=connection.timeout_s,
                                transport=connection.transport)

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(
            native_tool_calling=self.vendor.native_tools,
            vision=self.vendor.vision)

    def capabilities_for(self, model: str) -> ProviderCapabilities:
        return replace(self.capabilities(),
                       native_tool_calling=self._calls_tools(model))

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return OpenAITools(wire_tools(tools, schemas(tools, self.vendor))) \
            if self.vendor.native_tools else super().convert_tools(tools)

    async def models(self) -> list[str]:
        answer = await self._http.request("GET", self.models_url,
                                          headers=self._headers)
        try:
            return model_names(answer.json())
        except (ValueError, RecursionError) as error:
            raise no_list(self.vendor.title) from error

    async def warmup(self) -> None:
        await self._http.request("GET", self.models_url,
                                 headers=self._headers)

    async def aclose(self) -> None:
        await self._http.aclose()

    def _url(self, wire: OpenAIRequest) -> str:
        return self.responses_url if wire.api == "responses" \
            else self.chat_url

    def _is_over(self, wire: OpenAIRequest, reader: EventReader) -> bool:
        # behind the end of a chat its usage comes
        return reader.finished and wire.api == "responses"

    def _ends_at_done(self, wire: OpenAIRequest) -> bool:
        return wire.api == "chat"

    def _choose_api(self, model: str, without: set[Feature]) -> Api:
        """The API that a model is asked through at first."""
        if self.vendor.wire_api == "responses" or (
                "chat" in without and self.vendor.responses_fallback):
            return "responses"
        return "chat"

    def _options(self, state: OpenAIState, *, stream: bool
                 ) -> RequestOptions:
        return RequestOptions(
            state.request, state.model, state.temperature, state.api,
            frozenset(state.without), self._is_native(state), stream,
            reasoning=self._connection.reasoning)

    def _is_native(self, state: OpenAIState) -> bool:
        """Whether tools go in the API's own format."""
        return "tools" not in state.without and self._calls_tools(state.model)

    def _calls_tools(self, model: str) -> bool:
        """A local server's row only guesses; what is known of the model
        goes before it."""
        return self.vendor.native_tools or (
            self.vendor.local and self._connection.named.native_tools is None
            and self._unsupported.find(model).native_tools is True)

    # One request.

    def _begin(self, request: ChatRequest, model: str,
               temperature: float) -> OpenAIState:
        if self.vendor.needs_key and not self._key:
            raise AuthError(f"{self.vendor.title} API key not set",
                            hint=key_hint(self.vendor))
        without = self._unsupported.without(model)
        return OpenAIState(request, model, temperature, without,
                           self._choose_api(model, without))

    async def _write(self, state: OpenAIState, *, stream: bool
                     ) -> OpenAIRequest:
        return build_request(self._options(state, stream=stream),
                             self.vendor)

    def _reader(self, state: OpenAIState, wire: OpenAIRequest) -> EventReader:
        return wire.reader()

    def _parse(self, text: str, wire: OpenAIRequest) -> Json:
        """A JSON object that is no error."""
        data = json_object(self.vendor.title, text)
        error = find_error(data)
        if error is not None:
            raise status_error(self._http.peer, error.status, error.text,
                               model=wire.body["model"])
        return data

    def _end(self, state: OpenAIState, wire: OpenAIRequest, reader: EventReader
             ) -> tuple[str, ChatResponse]:
        """An API that answered is the one to take from now on."""
        if state.api == "chat":
            self._speaks_chat = True
        elif state.first_error is not None:
            self._unsupported.add(state.model, Refusal("chat"))
            state.first_error = None
        rest, response = reader.end()
        return rest, wire.names.restore(response)

    # What comes after an error.

    def _go_on(self, state: OpenAIState, error: ClawError,
               wire: OpenAIRequest, *, shown: bool = False) -> None:
        """Without what was refused, or through the other API."""
        if shown:
            raise error
        refusal = self._find_refusal(error, wire)
        chat_refused = refusal is not None and refusal.feature == "chat"
        if not chat_refused and self._leave_out(state, refusal):
            return
        wrong_api = chat_refused or (is_missing(error) and not (
            state.api == "chat" and self._speaks_chat))
        if state.first_error is not None:
            if is_missing(error):
                state.first_error.hint = ("nothing answers at that path; "
                                          "correct the base URL")
            raise state.first_error from error
        if not wrong_api or not self.vendor.responses_fallback:
            raise error
        state.first_error = error
        state.api = "responses" if state.api == "chat" else "chat"

    def _find_refusal(self, error: ClawError, wire: OpenAIRequest
                      ) -> Refusal | None:
        if not isinstance(error, UnavailableError) or isinstance(
                error, RateLimitedError | ContextOverflowError):
            return None
        return find_refusal(error.status, error.message, wire.body)

    def _note_no_tools(self, model: str) -> None:
        self._connection.notify(f"{model} takes no tools of its own at "
                     f"{self.vendor.title}; they stand in the prompt")


def is_missing(error: ClawError) -> bool:
    """Whether nothing answers at that path: a 404 or 405 that does not
    speak of a model."""
    return isinstance(error, UnavailableError) \
        and error.status in (404, 405) \
        and "model" not in error.message.lower()


def with_wire_api(connection: Connection) -> Vendor:
    """The row with the API that [model_providers.<name>] asks for."""
    wire_api = connection.named.wire_api
    if not wire_api:
        return connection.vendor
    return replace(connection.vendor, wire_api=wire_api,
                   responses_fallback=False)
