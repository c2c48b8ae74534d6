"""Ollama over its own API, /api/chat.

Its OpenAI-compatible door has no way to ask for context: there, a prompt of
more than 4,096 tokens mostly loses its beginning without a word. Here every
request that may be longer names the context it needs, and forbids the server
to cut (`truncate`); a server that still finds it too long is asked once more
with what it says is needed. See ollama_model.py.

What a model can do is asked of the server (/api/show), once for each model
and process, and only for a request that depends on it.
Source: docs.ollama.com/api and the `ollama` SDK's types, read 2026-11.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    ContextOverflowError,
    IncompleteAnswerError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.ledger import set_aside
from claw.core.provider import (
    ChatMessage,
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
from claw.net.errors import Peer, host_of, status_error
from claw.net.http import HttpClient, is_loopback
from claw.providers.connection import Connection, Facts
from claw.providers.ollama_model import (
    overflow,
    power_of_two,
    prompt_tokens,
    tokens_needed,
)
from claw.providers.ollama_server import CLOUD_HOST, OllamaServer
from claw.providers.ollama_wire import (
    Lines,
    Reader,
    has_image,
    root_of,
    wire_messages,
)
from claw.providers.refusals import refused_feature
from claw.providers.vendors import shown_name
from claw.providers.wire import Json, parsed, told_messages, wire_tools

TIMEOUT_S = 300.0  # a model may have to be loaded first
_USUAL_TIMEOUT_S = 120.0
_CLOUD = ":cloud"
_KEY_HINT = ("set OLLAMA_API_KEY, or: claw config set "
             "model_providers.ollama.api_key KEY")


class _Wish:
    """One request and what was learned about it on the way."""

    def __init__(self, request: ChatRequest, model: str, temperature: float,
                 without: set[str]) -> None:
        self.request = request
        self.model = model
        self.temperature = temperature
        self.without = without
        self.context: int | None = None


class _Plan(Value):
    """One request body; `reads_calls`: the calls will stand in the text."""

    body: Json
    reads_calls: bool = False


class OllamaProvider(ChatProvider):
    """One Ollama server; `address` is where it is."""

    def __init__(self, connection: Connection) -> None:
        self.vendor = connection.vendor
        self.name = self.vendor.name
        self.address = root_of(self.vendor.url, connection.env,
                               by_name=self.name == "ollama")
        self.chat_url = f"{self.address}/api/chat"
        self._connection = connection
        self._local = is_loopback(self.address)
        self._key = None if self._local else connection.key
        self._headers = {**dict(self.vendor.headers),
                         **({"authorization": f"Bearer {self._key}"}
                            if self._key else {}),
                         **connection.extra_headers}
        self._learned: dict[str, set[str]] = {}
        self._http = HttpClient(
            Peer(self.vendor.title, secrets=(self._key,) if self._key else (),
                 key_hint=_KEY_HINT,
                 start_hint=self.vendor.start_hint if self._local else None,
                 models_hint=f"claw provider models {shown_name(self.name)}"),
            timeout_s=TIMEOUT_S if connection.timeout_s == _USUAL_TIMEOUT_S
            else connection.timeout_s, transport=connection.transport)
        self._server = OllamaServer(self._http, self.address, self._headers,
                                    connection.env)

    @classmethod
    def build(cls, connection: Connection) -> "OllamaProvider":
        return cls(connection)

    def capabilities(self) -> ProviderCapabilities:
        """The vendor's, as no model is named; each request goes by what its
        own model can do."""
        vision = self._connection.named.vision
        return ProviderCapabilities(
            native_tool_calling=self.vendor.native_tools,
            vision=self.vendor.vision if vision is None else vision)

    def supports_streaming(self) -> bool:
        return True

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        if not self.vendor.native_tools:
            return super().convert_tools(tools)
        return OpenAITools(wire_tools(tools))

    async def takes_tools(self, model: str) -> bool:
        """Whether requests to this model carry tools in their own format:
        as configured, else as was found out before, else as the server
        says, else as is usual."""
        model = model.removesuffix(_CLOUD)
        if "tools" in self._learned.get(model, ()):
            return False
        configured = self._connection.named.native_tools
        if configured is not None:
            return configured
        told = (await self._server.model(model)).can("tools")
        if told is False:
            return False
        known = self._facts(model).native_tools
        if known is not None:
            return known
        return self.vendor.native_tools if told is None else told

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        wish = self._wish(request, model, temperature)
        for attempt in (1, 2):
            response = await self._answer(wish)
            if response.text or response.tool_calls:
                return response
            self._check_empty(response, attempt)
        raise AssertionError("unreachable")

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        wish = self._wish(request, model, temperature)
        attempt = 1
        while True:
            plan = await self._plan(wish, stream=True)
            reader = self._reader(wish, plan)
            shown = False
            try:
                async with aclosing(self._deltas(plan, reader)) as deltas:
                    async for delta in deltas:
                        shown = True
                        yield _chunk(delta)
            except ClawError as error:
                if shown or not self._learn(wish, error, plan):
                    raise self._explained(error, wish.model) \
                        from error.__cause__
                continue
            rest, response = reader.end()
            if not response.text and not response.tool_calls:
                self._check_empty(response, attempt)
                attempt += 1
                continue
            if rest:
                yield _chunk(rest)
            yield StreamChunk(is_final=True, response=response)
            return

    async def models(self) -> list[str]:
        data = await self._server.get("/api/tags")
        rows = data.get("models") if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise UnavailableError(
                f"{self.vendor.title} gave no list of models",
                hint="correct the base URL")
        names = [row.get("name") or row.get("model") for row in rows
                 if isinstance(row, dict)]
        return [name for name in names if isinstance(name, str) and name]

    async def warmup(self) -> None:
        await self._server.get("/api/version")

    async def aclose(self) -> None:
        await self._http.aclose()

    def _wish(self, request: ChatRequest, model: str,
              temperature: float) -> _Wish:
        """Raises ConfigError and AuthError for a model of the cloud that
        can't be asked here."""
        if model.endswith(_CLOUD):
            if self._local:
                raise ConfigError(
                    f"{model} runs in Ollama's cloud, and "
                    f"{host_of(self.address)} is this machine",
                    hint=f"claw config set api_url https://{CLOUD_HOST}, "
                         "and set api_key")
            if not self._key:
                raise AuthError(f"{model} runs in Ollama's cloud and needs "
                                "an API key", hint=_KEY_HINT)
            model = model.removesuffix(_CLOUD)
        return _Wish(request, model, temperature,
                     set(self._learned.get(model, ())))

    async def _answer(self, wish: _Wish) -> ChatResponse:
        while True:
            plan = await self._plan(wish, stream=False)
            try:
                answer = await self._http.request(
                    "POST", self.chat_url, json=plan.body,
                    headers=self._headers, model=wish.model)
                data = self._checked(answer.text)
            except ClawError as error:
                if self._learn(wish, error, plan):
                    continue
                raise self._explained(error, wish.model) from error.__cause__
            reader = self._reader(wish, plan)
            reader.take(data)
            if not reader.finished and data.get("done") is False:
                raise self._cut_off()
            return reader.end()[1]

    async def _deltas(self, plan: _Plan, reader: Reader
                      ) -> AsyncGenerator[str]:
        """The visible text of one stream, piece by piece."""
        async with aclosing(self._lines(plan)) as lines:
            async for line in lines:
                delta = reader.take(self._checked(line))
                if delta:
                    yield delta
                if reader.finished:
                    return
        raise self._cut_off()

    async def _lines(self, plan: _Plan) -> AsyncGenerator[str]:
        lines = Lines(self.vendor.title)
        async with self._http.open(
                "POST", self.chat_url, json=plan.body,
                headers={**self._headers, "accept-encoding": "identity"},
                model=plan.body["model"]) as answer:
            async with aclosing(answer.chunks()) as chunks:
                async for chunk in chunks:
                    for line in lines.feed(chunk):
                        yield line
            for line in lines.end():
                yield line

    def _checked(self, text: str) -> Json:
        """A JSON object that is no error."""
        try:
            data = parsed(text)
        except ValueError:
            data = None
        if not isinstance(data, dict):
            if text.lstrip()[:1] == "<":
                raise UnavailableError(
                    f"{self.vendor.title} answered with a web page (HTML)",
                    hint="correct the base URL")
            raise IncompleteAnswerError(
                f"{self.vendor.title} sent something that is no answer",
                hint="is the base URL right?")
        if data.get("error"):
            status = data.get("status_code")
            raise status_error(
                self._http.peer, status if isinstance(status, int)
                and status >= 400 else 500, text)
        return data

    async def _plan(self, wish: _Wish, *, stream: bool) -> _Plan:
        request, model = wish.request, wish.model
        messages, tools = list(request.messages), request.tools or ()
        native = "tools" not in wish.without and bool(
            tools or any(m.role == "tool" for m in messages)) \
            and await self.takes_tools(model)
        if not native:
            messages = told_messages(messages)
            if tools:
                messages = with_instructions(messages, prompt_guide(tools))
        schema = request.response_schema
        if schema is not None and "format" in wish.without:
            messages = with_instructions(messages, _in_words(schema))
        body: Json = {
            "model": model, "stream": stream, "truncate": False,
            "messages": wire_messages(
                messages, sees=await self._sees(model, messages)),
            "options": {"temperature": wish.temperature}}
        if native and tools:
            body["tools"] = list(wire_tools(tools))
        if schema is not None and "format" not in wish.without:
            body["format"] = schema
        think = None if "think" in wish.without else await self._think(model)
        if think is not None:
            body["think"] = think
        if request.max_tokens is not None:
            body["options"]["num_predict"] = request.max_tokens
        context = self._connection.named.num_ctx or await self._server.context(
            model, max(tokens_needed(body, request.max_tokens),
                       wish.context or 0))
        if context is not None:
            body["options"]["num_ctx"] = context
        return _Plan(body, reads_calls=bool(tools) and not native)

    def _reader(self, wish: _Wish, plan: _Plan) -> Reader:
        return Reader(hold_calls=plan.reads_calls, known=[
            tool.name for tool in wish.request.tools or ()])

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

    def _facts(self, model: str) -> Facts:
        keeper = self._connection.facts
        return keeper.facts(self.address, model) if keeper else Facts()

    def _learn(self, wish: _Wish, error: ClawError, plan: _Plan) -> bool:
        """Whether the request is worth repeating without what was refused,
        or with more context."""
        status = error.status if isinstance(error, UnavailableError) else None
        refused = refused_feature(status, error.message, plan.body)
        if refused is not None and refused.feature == "tools":
            self._no_tools(wish, lasting=refused.lasting)
            return True
        if overflow(error.message):
            return self._grow(wish, error, plan)
        if status not in (400, 405, 415, 422, 500, 501):
            return False
        text = error.message.lower()
        if "think" in plan.body:
            wish.without.add("think")
            if "think" in text:
                self._learned.setdefault(wish.model, set()).add("think")
            return True
        if "format" in plan.body and "format" in text:
            wish.without.add("format")
            self._learned.setdefault(wish.model, set()).add("format")
            return True
        return False

    def _no_tools(self, wish: _Wish, *, lasting: bool) -> None:
        wish.without.add("tools")
        if not lasting:
            return
        self._learned.setdefault(wish.model, set()).add("tools")
        self._connection.notify(f"{wish.model} takes no tools; they are "
                                "described in the prompt")
        if self._connection.facts is not None:
            known = self._facts(wish.model)
            self._connection.facts.learn(
                self.address, wish.model, replace(
                    known, native_tools=False, checked_at="",
                    without=tuple(sorted({*known.without, "tools"}))))

    def _grow(self, wish: _Wish, error: ClawError, plan: _Plan) -> bool:
        """Once: ask for the context that the server says it takes."""
        if self._connection.named.num_ctx is not None or wish.context:
            return False
        told = prompt_tokens(error.message)
        had = plan.body["options"].get("num_ctx", 4096)
        room = wish.request.max_tokens or 1024
        wish.context = power_of_two(told + room) if told else 4 * had
        limit = self._server.limit(wish.model)
        return limit is None or had < limit

    def _explained(self, error: ClawError, model: str) -> ClawError:
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

    def _cut_off(self) -> IncompleteAnswerError:
        return IncompleteAnswerError(
            f"the stream of {self.vendor.title} ended before the answer did",
            hint="try again")

    def _check_empty(self, response: ChatResponse, attempt: int) -> None:
        """An empty answer is asked for once more, then it is an error."""
        set_aside(response.usage)  # it was paid for
        if response.finish_reason == "length":
            raise IncompleteAnswerError(
                f"{self.vendor.title} used up its tokens before it said "
                "anything", hint="allow more with --max-tokens")
        if attempt > 1:
            raise IncompleteAnswerError(
                f"{self.vendor.title} gave an empty answer, twice",
                hint="try again, or another model with -m")


def _in_words(schema: Json) -> str:
    """A JSON Schema as an instruction, for servers that take none."""
    return ("Answer with one JSON value and nothing else, no code fence. It "
            "must be valid against this JSON Schema:\n"
            + json.dumps(schema, ensure_ascii=False))


def _chunk(delta: str) -> StreamChunk:
    return StreamChunk(delta, token_count=estimate_tokens(delta))
