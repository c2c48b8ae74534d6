"""Chat Completions over HTTP, for every vendor that speaks it.

Sends only what was asked for. What a server does not know (tools, usage in
streams, JSON schemas, a temperature, max_tokens) is learned from its first
refusal and left out from then on; tools then stand in the prompt.
Source: the openai SDK's types; servers' own error texts.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from claw.core.errors import (
    AuthError,
    ClawError,
    IncompleteAnswerError,
    UnavailableError,
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
    prompt_guide,
    with_instructions,
)
from claw.core.tool import ToolSpec
from claw.core.value import Value, replace
from claw.net.errors import Peer, status_error
from claw.net.http import HttpClient, OpenAnswer
from claw.net.lean import httpx
from claw.net.sse import Decoder, Event
from claw.providers.connection import Connection
from claw.providers.refusals import Feature, refused_feature
from claw.providers.vendors import Vendor, shown_name
from claw.providers.wire import (
    Json,
    StreamReader,
    merge_system,
    read_answer,
    told_calls,
    told_messages,
    wire_messages,
    wire_tools,
)


class Plan(Value):
    """One request body; `reads_calls`: the calls will stand in the text."""

    body: Json
    reads_calls: bool = False


class CompatibleProvider(ChatProvider):
    """One vendor's endpoint. `transport` replaces the network in tests."""

    def __init__(self, vendor: Vendor, *, key: str | None = None,
                 extra_headers: Mapping[str, str] | None = None,
                 timeout_s: float = 120.0,
                 transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.name = vendor.name
        self.vendor = vendor
        self.chat_url, self.models_url = endpoints(vendor.url,
                                                   vendor.api_path)
        self._key = key or vendor.default_key
        self._headers = headers_for(vendor, self._key, extra_headers or {})
        self._learned: dict[str, set[Feature]] = {}
        self._http = HttpClient(peer_of(vendor, self._key),
                                timeout_s=timeout_s, transport=transport)

    @classmethod
    def build(cls, connection: Connection) -> "CompatibleProvider":
        return cls(connection.vendor, key=connection.key,
                   extra_headers=connection.extra_headers,
                   timeout_s=connection.timeout_s,
                   transport=connection.transport)

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(
            native_tool_calling=self.vendor.native_tools,
            vision=self.vendor.vision)

    def supports_streaming(self) -> bool:
        return True

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        if not self.vendor.native_tools:
            return super().convert_tools(tools)
        return OpenAITools(wire_tools(tools))

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        without = set(self._learned.get(model, ()))
        for attempt in (1, 2):
            response = await self._answer(request, model, temperature,
                                          without)
            if response.text or response.tool_calls:
                return response
            self._check_empty(response, attempt)
        raise AssertionError("unreachable")

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        without = set(self._learned.get(model, ()))
        attempt = 1
        while True:
            plan = self._plan(request, model, temperature, without,
                              stream=True)
            reader = StreamReader(hold_calls=plan.reads_calls)
            shown = ""
            try:
                async with aclosing(self._deltas(plan, reader)) as deltas:
                    async for delta in deltas:
                        shown += delta
                        yield _chunk(delta)
            except ClawError as error:
                if shown or not self._learn(model, error, plan, without):
                    raise
                continue
            rest, response = reader.end()
            if plan.reads_calls:
                rest, response = _with_told_calls(response, shown)
            if not rest and not shown and not response.tool_calls:
                self._check_empty(response, attempt)
                attempt += 1
                continue
            if rest:
                yield _chunk(rest)
            yield StreamChunk(is_final=True, response=response)
            return

    async def models(self) -> list[str]:
        answer = await self._http.request("GET", self.models_url,
                                          headers=self._headers)
        try:
            return model_names(answer.json())
        except ValueError as error:
            raise UnavailableError(
                f"{self.vendor.title} gave no list of models",
                hint="correct the base URL") from error

    async def warmup(self) -> None:
        await self._http.request("GET", self.models_url,
                                 headers=self._headers)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _answer(self, request: ChatRequest, model: str,
                      temperature: float, without: set[Feature]
                      ) -> ChatResponse:
        self._check_key()
        while True:
            plan = self._plan(request, model, temperature, without,
                              stream=False)
            try:
                answer = await self._http.request(
                    "POST", self.chat_url, headers=self._headers,
                    json=plan.body, model=model)
                self._refuse_page(answer.headers)
                response = self._read(answer.text)
            except ClawError as error:
                if self._learn(model, error, plan, without):
                    continue
                raise
            if plan.reads_calls:
                return _with_told_calls(response, "")[1]
            return response

    async def _deltas(self, plan: Plan, reader: StreamReader
                      ) -> AsyncGenerator[str]:
        """The visible text of one stream, piece by piece."""
        self._check_key()
        async with self._http.open(
                "POST", self.chat_url, json=plan.body,
                headers={**self._headers, "accept-encoding": "identity"},
                model=plan.body["model"]) as answer:
            self._refuse_page(answer.headers)
            if "json" in answer.headers.get("content-type", ""):
                whole = (await answer.read()).decode("utf-8", "replace")
                self._read(whole)
                yield reader.take_whole(self._checked(whole))
                return
            async with aclosing(self._events(answer)) as events:
                async for event in events:
                    if event.data.strip() == "[DONE]":
                        return
                    delta = reader.take(self._checked(event.data))
                    if delta:
                        yield delta
            if not reader.finished:
                raise IncompleteAnswerError(
                    f"the stream of {self.vendor.title} ended before the "
                    "answer did", hint="try again")

    async def _events(self, answer: OpenAnswer) -> AsyncGenerator[Event]:
        decoder = Decoder(self.vendor.title)
        async with aclosing(answer.chunks()) as chunks:
            async for chunk in chunks:
                for event in decoder.feed(chunk):
                    yield event
        for event in decoder.end():
            yield event

    def _refuse_page(self, headers: Mapping[str, str]) -> None:
        """Raises UnavailableError for an answer that is a web page."""
        if "html" in headers.get("content-type", ""):
            raise UnavailableError(
                f"{self.vendor.title} answered with a web page (HTML)",
                hint="correct the base URL; it mostly ends in /v1")

    def _checked(self, text: str) -> Json:
        """A JSON object that is no error."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise IncompleteAnswerError(
                f"{self.vendor.title} sent something that is no answer",
                hint="is the base URL right?")
        if data.get("error") and not data.get("choices"):
            code = data["error"].get("code") \
                if isinstance(data["error"], dict) else None
            status = code if isinstance(code, int) and code >= 400 else 502
            raise status_error(self._http.peer, status, text)
        return data

    def _read(self, text: str) -> ChatResponse:
        data = self._checked(text)
        try:
            return read_answer(data)
        except ValueError as error:
            raise IncompleteAnswerError(
                f"{self.vendor.title} sent an answer without a message",
                hint="is the base URL right?") from error

    def _plan(self, request: ChatRequest, model: str, temperature: float,
              without: set[Feature], *, stream: bool) -> Plan:
        vendor, tools = self.vendor, request.tools or ()
        native = vendor.native_tools and "tools" not in without
        messages = list(request.messages)
        if not native:
            messages = told_messages(messages)
            if tools:
                messages = with_instructions(messages, prompt_guide(tools))
        schema = request.response_schema
        if schema is not None and "response_format" in without:
            messages = with_instructions(messages, schema_words(schema))
        if vendor.merge_system:
            messages = merge_system(messages)
        body: Json = {"model": model, "messages": wire_messages(messages),
                      "stream": stream}
        if "temperature" not in without:
            body["temperature"] = temperature
        if stream and "stream_options" not in without:
            body["stream_options"] = {"include_usage": True}
        if native and tools:
            body["tools"] = list(wire_tools(tools))
            body["tool_choice"] = "auto"
            if vendor.tool_stream and stream:
                body["tool_stream"] = True
        if request.max_tokens is not None:
            key = vendor.max_tokens_key if "max_tokens" not in without \
                else "max_completion_tokens"
            body[key] = request.max_tokens
        if schema is not None and "response_format" not in without:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema}}
        return Plan(body, reads_calls=bool(
            tools and vendor.native_tools and not native))

    def _learn(self, model: str, error: ClawError, plan: Plan,
               without: set[Feature]) -> bool:
        """Whether the request is worth repeating without what was refused.

        `without` is this request's; a refusal that will come again is also
        remembered for the model."""
        status = error.status if isinstance(error, UnavailableError) else None
        refused = refused_feature(status, error.message, plan.body)
        if refused is None or refused.feature in without:
            return False
        without.add(refused.feature)
        if refused.lasting:
            self._learned.setdefault(model, set()).add(refused.feature)
        return True

    def _check_key(self) -> None:
        if self.vendor.needs_key and not self._key:
            raise AuthError(f"{self.vendor.title} API key not set",
                            hint=key_hint(self.vendor))

    def _check_empty(self, response: ChatResponse, attempt: int) -> None:
        """An empty answer is asked for once more, then it is an error."""
        if response.finish_reason == "length":
            raise IncompleteAnswerError(
                f"{self.vendor.title} used up its tokens before it said "
                "anything", hint="allow more with --max-tokens")
        if response.finish_reason == "content_filter":
            raise IncompleteAnswerError(
                f"{self.vendor.title} held its answer back (content filter)")
        if attempt > 1:
            raise IncompleteAnswerError(
                f"{self.vendor.title} gave an empty answer, twice",
                hint="try again, or another model with -m")


def _chunk(delta: str) -> StreamChunk:
    return StreamChunk(delta, token_count=estimate_tokens(delta))


def _with_told_calls(response: ChatResponse, shown: str
                     ) -> tuple[str, ChatResponse]:
    """The answer with the calls read out of its text, and what of the text
    was not shown yet."""
    text, calls = told_calls(response.text or "")
    rest = text if not shown else ""
    return rest, replace(response, text=text or None,
                         tool_calls=response.tool_calls + calls)


def endpoints(base: str, api_path: str | None = None) -> tuple[str, str]:
    """The addresses for chat and for the list of models.

    `api_path` goes on the base; a base that ends in /chat/completions is
    the chat address itself. A query stays at the end.
    """
    scheme, netloc, path, query, _ = urlsplit(base.strip())
    path = path.rstrip("/")
    root = path.removesuffix("/chat/completions")
    if api_path:
        chat = f"{path}/{api_path.strip().lstrip('/')}"
    else:
        chat = f"{root}/chat/completions"
    return (urlunsplit((scheme, netloc, chat, query, "")),
            urlunsplit((scheme, netloc, f"{root}/models", query, "")))


def headers_for(vendor: Vendor, key: str | None,
                extra: Mapping[str, str]) -> dict[str, str]:
    """Key and other headers of a request; `extra` wins."""
    headers = dict(vendor.headers)
    if key:
        if vendor.auth == "bearer":
            headers["authorization"] = f"Bearer {key}"
        else:
            headers[vendor.auth] = key
    return headers | dict(extra)


def key_hint(vendor: Vendor) -> str:
    """How to set a vendor's key."""
    config = "claw config set api_key KEY"
    if not vendor.keys:
        return f"set CLAW_API_KEY, or: {config}"
    return f"set {vendor.keys[0]}, or: {config}"


def peer_of(vendor: Vendor, key: str | None) -> Peer:
    return Peer(vendor.title, secrets=(key,) if key else (),
                key_hint=key_hint(vendor), start_hint=vendor.start_hint,
                models_hint=f"claw provider models {shown_name(vendor.name)}")


def schema_words(schema: Mapping[str, Any]) -> str:
    """A JSON Schema as an instruction, for servers that take none."""
    return ("Answer with one JSON value and nothing else, no code fence. "
            "It must be valid against this JSON Schema:\n"
            + json.dumps(schema, ensure_ascii=False))


def model_names(data: Any) -> list[str]:
    """Names in an answer to GET /models, in any of its shapes. Raises
    ValueError when it is no list of models."""
    rows = data
    if isinstance(data, dict):
        rows = data.get("data", data.get("models"))
    if not isinstance(rows, list):
        raise ValueError("no list of models")
    names = [row if isinstance(row, str) else
             row.get("id") or row.get("name") or row.get("model")
             for row in rows if isinstance(row, str | dict)]
    return [name for name in names if isinstance(name, str) and name]
