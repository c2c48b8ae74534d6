"""Ollama over its own API, /api/chat.

Its OpenAI-compatible door has no way to ask for context: there, a prompt of
more than 4,096 tokens mostly loses its beginning without a word. Here every
request that may be longer names the context it needs, and forbids the server
to cut (`truncate`); a server that still finds it too long is asked once more
with what it says is needed. See model.py.

What a model can do is asked of the server (/api/show), once for each model
and process, and only for a request that depends on it.
Source: docs.ollama.com/api and the `ollama` SDK's types, read 2026-11.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    ContextOverflowError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    OpenAITools,
    ProviderCapabilities,
    ToolsPayload,
)
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.net.addresses import is_loopback
from claw.net.errors import Peer, extract_host, status_error
from claw.net.http import HttpClient
from claw.providers.catalog.info import ModelInfo
from claw.providers.catalog.local import is_model_name
from claw.providers.catalog.vendors import display_name
from claw.providers.connection import Connection
from claw.providers.ollama.model import (
    guess_tokens,
    overflow,
    power_of_two,
    prompt_tokens,
)
from claw.providers.ollama.request import (
    OPTIONS_OUTSIDE,
    has_image,
    wire_messages,
)
from claw.providers.ollama.response import Lines, Reader
from claw.providers.ollama.server import CLOUD_HOST, OllamaServer, find_root
from claw.providers.settings import SLOW_HINT
from claw.providers.wire.answers import (
    CORRECT_URL,
    cut_off,
    json_object,
    no_list,
    web_page,
)
from claw.providers.wire.json import Json, objects_in, string_at
from claw.providers.wire.loop import RequestState, WireProvider, WireRequest
from claw.providers.wire.messages import wire_tools, write_messages
from claw.providers.wire.options import put_below
from claw.providers.wire.refusals import Refusal, find_refusal
from claw.providers.wire.unsupported import UnsupportedFeatures

TIMEOUT_S = 300.0  # a model may have to be loaded first
_USUAL_TIMEOUT_S = 120.0
_CLOUD = ":cloud"
_KEY_HINT = ("set OLLAMA_API_KEY, or: claw config set "
             "model_providers.ollama.api_key")


class OllamaState(RequestState):
    """One request on its way: also the context that a refusal of it asked
    for."""

    context: int | None = None


class OllamaProvider(WireProvider[OllamaState, WireRequest, Reader]):
    """One Ollama server; `address` is where it is."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.address = find_root(self.vendor.url, connection.env,
                               by_name=self.name == "ollama")
        self.chat_url = f"{self.address}/api/chat"
        self._local = is_loopback(self.address)
        self._key = None if self._local else connection.key
        self._headers = {**dict(self.vendor.headers),
                         **({"authorization": f"Bearer {self._key}"}
                            if self._key else {}),
                         **connection.extra_headers}
        self._unsupported = UnsupportedFeatures(self.address)
        self._http = HttpClient(
            Peer(self.vendor.title, secrets=(self._key,) if self._key else (),
                 key_hint=_KEY_HINT, slow_hint=SLOW_HINT,
                 start_hint=self.vendor.start_hint if self._local else None,
                 models_hint="claw provider models "
                             + display_name(self.name)),
            timeout_s=TIMEOUT_S if connection.timeout_s == _USUAL_TIMEOUT_S
            else connection.timeout_s, transport=connection.transport)
        self._server = OllamaServer(self._http, self.address, self._headers,
                                    connection.env)

    def capabilities(self) -> ProviderCapabilities:
        """The vendor's, as no model is named; each request goes by what its
        own model can do."""
        vision = self._connection.named.vision
        return ProviderCapabilities(
            native_tool_calling=self.vendor.native_tools,
            vision=self.vendor.vision if vision is None else vision)

    def capabilities_for(self, model: str) -> ProviderCapabilities:
        """As configured, else as `provider test` found out."""
        found = self.capabilities()
        if self._connection.named.native_tools is None \
                and self._known_info(model.removesuffix(_CLOUD)).native_tools:
            found = replace(found, native_tool_calling=True)
        return found

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return OpenAITools(wire_tools(tools)) if self.vendor.native_tools \
            else super().convert_tools(tools)

    async def takes_tools(self, model: str) -> bool:
        """Whether requests to this model carry tools in their own format:
        as configured, else as was found out before, else as the server
        says, else as is usual."""
        model = model.removesuffix(_CLOUD)
        if "tools" in self._unsupported.without(model):
            return False
        configured = self._connection.named.native_tools
        if configured is not None:
            return configured
        told = (await self._server.model(model)).can("tools")
        if told is False:
            return False
        known = self._known_info(model).native_tools
        if known is not None:
            return known
        return self.vendor.native_tools if told is None else told

    async def models(self) -> list[str]:
        data = await self._server.get("/api/tags")
        rows = data.get("models") if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise no_list(self.vendor.title)
        return [name for row in objects_in(rows) if is_model_name(
            name := string_at(row, "name") or string_at(row, "model"))]

    async def warmup(self) -> None:
        await self._server.get("/api/version")

    async def aclose(self) -> None:
        await self._http.aclose()

    def _begin(self, request: ChatRequest, model: str,
              temperature: float) -> OllamaState:
        """Raises ConfigError and AuthError for a model of the cloud that
        can't be asked here."""
        if model.endswith(_CLOUD):
            if self._local:
                raise ConfigError(
                    f"{model} runs in Ollama's cloud, and "
                    f"{extract_host(self.address)} is this machine",
                    hint=f"claw config set api_url https://{CLOUD_HOST}, "
                         "and set api_key")
            if not self._key:
                raise AuthError(f"{model} runs in Ollama's cloud and needs "
                                "an API key", hint=_KEY_HINT)
            model = model.removesuffix(_CLOUD)
        return OllamaState(request, model, temperature,
                           self._unsupported.without(model))

    async def _read_whole(self, wire: WireRequest, reader: Reader) -> None:
        answer = await self._http.request(
            "POST", self.chat_url, json=wire.body, headers=self._headers,
            model=wire.body["model"])
        data = self._parse(answer.text)
        reader.take(data)
        if not reader.finished and data.get("done") is False:
            raise cut_off(self.vendor.title)

    async def _deltas(self, wire: WireRequest, reader: Reader
                      ) -> AsyncGenerator[str]:
        async with aclosing(self._lines(wire)) as lines:
            async for line in lines:
                if delta := reader.take(self._parse(line)):
                    yield delta
                if reader.finished:
                    return
        raise cut_off(self.vendor.title)

    async def _lines(self, wire: WireRequest) -> AsyncGenerator[str]:
        lines = Lines(self.vendor.title)
        async with self._http.open(
                "POST", self.chat_url, json=wire.body,
                headers={**self._headers, "accept-encoding": "identity"},
                model=wire.body["model"]) as answer:
            async with aclosing(answer.chunks()) as chunks:
                async for chunk in chunks:
                    for line in lines.feed(chunk):
                        yield line
            for line in lines.end():
                yield line

    def _parse(self, text: str) -> Json:
        """A JSON object that is no error."""
        if text.lstrip()[:1] == "<":
            raise web_page(self.vendor.title, CORRECT_URL)
        data = json_object(self.vendor.title, text)
        if data.get("error"):
            status = data.get("status_code")
            raise status_error(
                self._http.peer, status if isinstance(status, int)
                and status >= 400 else 500, text)
        return data

    async def _write(self, state: OllamaState, *, stream: bool
                     ) -> WireRequest:
        request, model = state.request, state.model
        tools, schema = request.tools or (), request.response_schema
        native = "tools" not in state.without and bool(
            tools or any(m.role == "tool" for m in request.messages)) \
            and await self.takes_tools(model)
        messages = write_messages(request, native=native,
                                  schema_in_words="format" in state.without)
        body: Json = {
            "model": model, "stream": stream, "truncate": False,
            "messages": wire_messages(
                messages, sees=await self._sees(model, messages)),
            "options": {"temperature": state.temperature}}
        if native and tools:
            body["tools"] = list(wire_tools(tools))
        if schema is not None and "format" not in state.without:
            body["format"] = schema
        think = None if "think" in state.without else await self._think(model)
        if think is not None:
            body["think"] = think
        if request.max_tokens is not None:
            body["options"]["num_predict"] = request.max_tokens
        context = self._connection.named.num_ctx or await self._server.context(
            model, max(guess_tokens(body, request.max_tokens),
                       state.context or 0))
        if context is not None:
            body["options"]["num_ctx"] = context
        return WireRequest(body)

    def _reader(self, state: OllamaState, wire: WireRequest) -> Reader:
        return Reader([tool.name for tool in state.request.tools or ()])

    async def _sees(self, model: str,
                    messages: Sequence[ChatMessage]) -> bool:
        """Whether images are sent. Raises RequestRefusedError where the
        model is shown one now and has no eyes; older ones are mentioned."""
        if self._connection.named.vision is False:
            return False
        seen = [m for m in messages if has_image(m)]
        if not seen:
            return True
        if (await self._server.model(model)).can("vision") is not False:
            return True
        last = next((m for m in reversed(messages) if m.role == "user"), None)
        if last is seen[-1]:
            raise RequestRefusedError(
                f"{model} takes no images",
                hint="ask a model that sees, with -m", status=400)
        return False

    async def _think(self, model: str) -> bool | str | None:
        """What `think` says; None leaves it to the model."""
        enabled = self._connection.reasoning.reasoning_enabled
        effort = self._connection.reasoning.reasoning_effort
        if enabled is None and not effort:
            return None
        known = await self._server.model(model)
        if known.can("thinking") is False:
            return None
        if enabled is False:
            return False
        levels = [v for v in known.thinking if isinstance(v, str)] \
            or (["low", "medium", "high"] if "gpt-oss" in model else [])
        wanted = "low" if effort == "minimal" and effort not in levels \
            else effort
        return wanted if wanted in levels else True

    def _known_info(self, model: str) -> ModelInfo:
        keeper = self._connection.model_info
        return keeper.find(self.address, model) if keeper else ModelInfo()

    def _go_on(self, state: OllamaState, error: ClawError,
               wire: WireRequest, *, shown: bool = False) -> None:
        """Without what was refused, or with more context."""
        if not shown and (self._leave_out(
                state, self._find_refusal(error, wire))
                or (overflow(error.message)
                    and self._grow(state, error, wire))):
            return
        raise self._explain(error, state.model) from error.__cause__

    def _find_refusal(self, error: ClawError, wire: WireRequest
                      ) -> Refusal | None:
        status = error.status if isinstance(error, UnavailableError) else None
        refusal = find_refusal(status, error.message, wire.body)
        if refusal is not None and refusal.feature == "tools":
            return refusal
        if overflow(error.message) \
                or status not in (400, 405, 415, 422, 500, 501):
            return None
        text = error.message.lower()
        if "think" in wire.body:
            return Refusal("think", lasting="think" in text)
        return Refusal("format") if "format" in wire.body \
            and "format" in text else None

    def _place_options(self, options: Mapping[str, Any]) -> Json:
        return put_below(options, "options", OPTIONS_OUTSIDE)

    def _note_no_tools(self, model: str) -> None:
        self._connection.notify(f"{model} takes no tools; they are "
                                "described in the prompt")
        if self._connection.model_info is not None:
            known = self._known_info(model)
            self._connection.model_info.learn(
                self.address, model, replace(
                    known, native_tools=False, checked_at="",
                    without=tuple(sorted({*known.without, "tools"}))))

    def _grow(self, state: OllamaState, error: ClawError, wire: WireRequest
              ) -> bool:
        """Once: ask for the context that the server says it takes."""
        if self._connection.named.num_ctx is not None or state.context:
            return False
        told = prompt_tokens(error.message)
        had = wire.body["options"].get("num_ctx", 4096)
        room = state.request.max_tokens or 1024
        state.context = power_of_two(told + room) if told else 4 * had
        limit = self._server.limit(state.model)
        return limit is None or had < limit

    def _explain(self, error: ClawError, model: str) -> ClawError:
        """An error with the next step that only Ollama knows."""
        if not isinstance(error, UnavailableError):
            return error
        text = error.message.lower()
        if overflow(text):
            told = prompt_tokens(error.message)
            size = f" ({told} tokens)" if told else ""
            return ContextOverflowError(
                f"{self.vendor.title}: the prompt{size} is longer than the "
                f"context of {model}",
                hint="start anew, or raise num_ctx in "
                f"[model_providers.{self.name}] if the model can take more",
                status=error.status)
        if error.status == 404 and "model" in text and "not found" in text:
            see = f"; see: {self._http.peer.models_hint}"
            return RequestRefusedError(
                error.message, hint=(f"ollama pull {model}{see}"
                                     if self._local else see[2:]),
                status=404)
        if "more system memory" in text:
            error.hint = ("choose a smaller model, or less context with "
                          f"num_ctx in [model_providers.{self.name}]")
        return error
