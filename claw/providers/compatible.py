"""Every vendor that speaks Chat Completions, over HTTP.

Sends only what was asked for. What a server does not know (tools, usage in
streams, JSON schemas, a temperature ...) is learned from its first refusal
and left out from then on; tools then stand in the prompt. Where Chat
Completions is not there the Responses API is tried once; when that fails
too, the first error is what is told.
Source: the openai SDK's types; servers' own error texts.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Protocol

from claw.core.errors import (
    AuthError,
    ClawError,
    ContextOverflowError,
    IncompleteAnswerError,
    RateLimitedError,
    UnavailableError,
)
from claw.core.ledger import set_aside
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
from claw.core.value import replace
from claw.net.errors import status_error
from claw.net.http import HttpClient
from claw.net.lean import httpx
from claw.net.sse import Decoder, Event
from claw.providers.address import (
    endpoints,
    headers_for,
    key_hint,
    model_names,
    peer_of,
    responses_endpoint,
)
from claw.providers.chat_stream import StreamReader
from claw.providers.connection import Connection, KeepsFacts, unheard
from claw.providers.inband import found_error
from claw.providers.learned import Learned
from claw.providers.plans import Api, Asked, Plan, plan, schemas
from claw.providers.refusals import Feature, Refused, refused_feature
from claw.providers.responses_wire import ResponsesReader, read_response
from claw.providers.settings import ReasoningSettings
from claw.providers.vendors import Vendor, with_host_quirks
from claw.providers.wire import Json, parsed, read_answer, told_calls

Reader = StreamReader | ResponsesReader


class Exchange(Protocol):
    """An answer whose body is still to be read; header names in lower
    case."""

    headers: Mapping[str, str]

    def chunks(self) -> AsyncGenerator[bytes]: ...

    async def read(self) -> bytes: ...


class Turn:
    """One request on its way: which API it takes, what it leaves out, and
    the error that is told when the other API fails too."""

    def __init__(self, request: ChatRequest, model: str, temperature: float,
                 api: Api, without: set[Feature]) -> None:
        self.request = request
        self.model = model
        self.temperature = temperature
        self.api = api
        self.without = without
        self.attempt = 1
        self.first_error: ClawError | None = None


class CompatibleProvider(ChatProvider):
    """One vendor's endpoint. `told_tools`: that it takes tools, or does
    not, is said by the settings. `transport` replaces the network in
    tests."""

    def __init__(self, vendor: Vendor, *, key: str | None = None,
                 extra_headers: Mapping[str, str] | None = None,
                 timeout_s: float = 120.0,
                 transport: httpx.AsyncBaseTransport | None = None,
                 reasoning: ReasoningSettings | None = None,
                 facts: KeepsFacts | None = None,
                 notify: Callable[[str], None] = unheard,
                 told_tools: bool = False) -> None:
        self.name = vendor.name
        self.vendor = vendor = with_host_quirks(vendor)
        self.chat_url, self.models_url = endpoints(vendor.url,
                                                   vendor.api_path)
        self.responses_url = responses_endpoint(vendor.url, vendor.api_path)
        self._key = key or vendor.default_key
        self._headers = headers_for(vendor, self._key, extra_headers or {})
        self._timeout_s = timeout_s
        self._reasoning = reasoning or ReasoningSettings()
        self._learned = Learned(self.chat_url, facts)
        self._notify = notify
        self._speaks_chat = False
        self._told_tools = told_tools
        self._http = HttpClient(peer_of(vendor, self._key),
                                timeout_s=timeout_s, transport=transport)

    @classmethod
    def build(cls, connection: Connection) -> "CompatibleProvider":
        return cls(with_wire_api(connection), key=connection.key,
                   extra_headers=connection.extra_headers,
                   timeout_s=connection.timeout_s,
                   transport=connection.transport,
                   reasoning=connection.reasoning, facts=connection.facts,
                   notify=connection.notify,
                   told_tools=connection.named.native_tools is not None)

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(
            native_tool_calling=self.vendor.native_tools,
            vision=self.vendor.vision)

    def supports_streaming(self) -> bool:
        return True

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        if not self.vendor.native_tools:
            return super().convert_tools(tools)
        return OpenAITools(tuple(
            {"type": "function", "function": {
                "name": t.name, "description": t.description,
                "parameters": schema}} for t, schema in zip(
                    tools, schemas(tools, self.vendor), strict=True)))

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        turn = self._turn(request, model, temperature)
        while True:
            made = self._plan(turn, stream=False)
            try:
                response = await self._answer(made)
            except ClawError as error:
                self._go_on(turn, error, made)
                continue
            self._worked(turn)
            if response.text or response.tool_calls:
                return response
            self._check_empty(turn, response)

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        turn = self._turn(request, model, temperature)
        while True:
            made = self._plan(turn, stream=True)
            reader = made.reader()
            shown = ""
            try:
                async with aclosing(self._deltas(made, reader)) as deltas:
                    async for delta in deltas:
                        shown += delta
                        yield _chunk(delta)
            except ClawError as error:
                if shown:
                    raise
                self._go_on(turn, error, made)
                continue
            self._worked(turn)
            rest, response = _finished(made, reader, shown)
            if not rest and not shown and not response.tool_calls:
                self._check_empty(turn, response)
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
        except (ValueError, RecursionError) as error:
            raise UnavailableError(
                f"{self.vendor.title} gave no list of models",
                hint="correct the base URL") from error

    async def warmup(self) -> None:
        await self._http.request("GET", self.models_url,
                                 headers=self._headers)

    async def aclose(self) -> None:
        await self._http.aclose()

    # What a subclass with another way to the server changes.

    def _open(self, made: Plan, headers: Mapping[str, str]
              ) -> AbstractAsyncContextManager[Exchange]:
        """The answer to one body; raises for a status of 300 or more."""
        url = self.responses_url if made.api == "responses" \
            else self.chat_url
        return self._http.open("POST", url, json=made.body,
                               headers={**self._headers, **headers},
                               model=made.body["model"])

    def _broken(self, error: BaseException) -> UnavailableError:
        return self._http.broken(self.chat_url, error, self._timeout_s)

    def _api_of(self, model: str, without: set[Feature]) -> Api:
        """The API that a model is asked through at first."""
        if self.vendor.wire_api == "responses" or (
                "chat" in without and self.vendor.responses_fallback):
            return "responses"
        return "chat"

    def _asked(self, turn: Turn, *, stream: bool) -> Asked:
        return Asked(turn.request, turn.model, turn.temperature, turn.api,
                     frozenset(turn.without), self._native(turn), stream,
                     reasoning=self._reasoning)

    def _native(self, turn: Turn) -> bool:
        """Whether tools go in the API's own format. A local server's row
        only guesses; what is known of the model goes before it."""
        if "tools" in turn.without:
            return False
        return self.vendor.native_tools or (
            self.vendor.local and not self._told_tools
            and self._learned.facts(turn.model).native_tools is True)

    # One request.

    def _turn(self, request: ChatRequest, model: str,
              temperature: float) -> Turn:
        if self.vendor.needs_key and not self._key:
            raise AuthError(f"{self.vendor.title} API key not set",
                            hint=key_hint(self.vendor))
        without = self._learned.without(model)
        return Turn(request, model, temperature,
                    self._api_of(model, without), without)

    def _plan(self, turn: Turn, *, stream: bool) -> Plan:
        return plan(self._asked(turn, stream=stream), self.vendor)

    async def _answer(self, made: Plan) -> ChatResponse:
        try:
            async with (asyncio.timeout(self._timeout_s),
                        self._open(made, {}) as answer):
                self._refuse_page(answer.headers)
                text = (await answer.read()).decode("utf-8", "replace")
        except TimeoutError as error:
            raise self._broken(error) from error
        data = self._checked(text, made)
        try:
            response = read_response(data) if made.api == "responses" \
                else read_answer(data)
        except ValueError as error:
            raise IncompleteAnswerError(
                f"{self.vendor.title} sent an answer without a message",
                hint="is the base URL right?") from error
        response = made.names.restored(response)
        if made.reads_calls:
            return _with_told_calls(response, "")[1]
        return response

    async def _deltas(self, made: Plan, reader: Reader
                      ) -> AsyncGenerator[str]:
        """The visible text of one stream, piece by piece."""
        async with self._open(
                made, {"accept-encoding": "identity"}) as answer:
            self._refuse_page(answer.headers)
            if "json" in answer.headers.get("content-type", ""):
                whole = (await answer.read()).decode("utf-8", "replace")
                data = self._checked(whole, made)
                self._check_whole(data, made)
                yield reader.take_whole(data)
                return
            async with aclosing(self._events(answer, reader)) as events:
                async for event in events:
                    if event.data.strip() == "[DONE]":
                        break
                    delta = reader.take(self._checked(event.data, made))
                    if delta:
                        yield delta
                    if reader.finished and made.api == "responses":
                        break  # what comes behind the last event is nothing
                else:
                    if not reader.finished:
                        raise IncompleteAnswerError(
                            f"the stream of {self.vendor.title} ended "
                            "before the answer did", hint="try again")
            if made.api == "responses" and not reader.finished:
                raise IncompleteAnswerError(
                    f"the stream of {self.vendor.title} ended before the "
                    "answer did", hint="try again")

    async def _events(self, answer: Exchange, reader: Reader
                      ) -> AsyncGenerator[Event]:
        """The events as they come. A connection that breaks off or falls
        silent behind the end of the answer took nothing with it."""
        decoder = Decoder(self.vendor.title)
        try:
            async with aclosing(answer.chunks()) as chunks:
                async for chunk in chunks:
                    for event in decoder.feed(chunk):
                        yield event
        except UnavailableError:
            if not reader.finished:
                raise
        for event in decoder.end():
            yield event

    def _refuse_page(self, headers: Mapping[str, str]) -> None:
        """Raises UnavailableError for an answer that is a web page."""
        if "html" in headers.get("content-type", ""):
            raise UnavailableError(
                f"{self.vendor.title} answered with a web page (HTML)",
                hint="correct the base URL; it mostly ends in /v1")

    def _checked(self, text: str, made: Plan) -> Json:
        """A JSON object that is no error."""
        try:
            data = parsed(text)
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise IncompleteAnswerError(
                f"{self.vendor.title} sent something that is no answer",
                hint="is the base URL right?")
        error = found_error(data)
        if error is not None:
            raise status_error(self._http.peer, error.status, error.text,
                               model=made.body["model"])
        return data

    def _check_whole(self, data: Json, made: Plan) -> None:
        """Raises IncompleteAnswerError where there is no message in it."""
        try:
            (read_response if made.api == "responses" else read_answer)(data)
        except ValueError as error:
            raise IncompleteAnswerError(
                f"{self.vendor.title} sent an answer without a message",
                hint="is the base URL right?") from error

    # What comes after an error.

    def _go_on(self, turn: Turn, error: ClawError, made: Plan) -> None:
        """Prepare the next try, without what was refused or through the
        other API. Raises what is to be told where there is none."""
        refused = self._refused(error, made)
        if refused is not None and refused.feature not in (
                "chat", *turn.without):
            turn.without.add(refused.feature)
            self._remember(turn.model, refused)
            return
        wrong_api = (refused is not None and refused.feature == "chat") or (
            is_missing(error)
            and not (turn.api == "chat" and self._speaks_chat))
        if turn.first_error is not None:
            if is_missing(error):
                turn.first_error.hint = ("nothing answers at that path; "
                                         "correct the base URL")
            raise turn.first_error from error
        if not wrong_api or not self.vendor.responses_fallback:
            raise error
        turn.first_error = error
        turn.api = "responses" if turn.api == "chat" else "chat"

    def _refused(self, error: ClawError, made: Plan) -> Refused | None:
        if not isinstance(error, UnavailableError) or isinstance(
                error, RateLimitedError | ContextOverflowError):
            return None
        return refused_feature(error.status, error.message, made.body)

    def _remember(self, model: str, refused: Refused) -> None:
        self._learned.add(model, refused)
        if refused.feature == "tools" and refused.lasting:
            self._notify(f"{model} takes no tools of its own at "
                         f"{self.vendor.title}; they stand in the prompt")

    def _worked(self, turn: Turn) -> None:
        """An API that answered is the one to take from now on."""
        if turn.api == "chat":
            self._speaks_chat = True
        elif turn.first_error is not None:
            self._learned.add(turn.model, Refused("chat"))
            turn.first_error = None

    def _check_empty(self, turn: Turn, response: ChatResponse) -> None:
        """An empty answer is asked for once more, then it is an error."""
        set_aside(response.usage)  # it was paid for
        title = self.vendor.title
        if response.finish_reason == "length":
            raise IncompleteAnswerError(
                f"{title} used up its tokens before it said anything",
                hint="allow more with --max-tokens")
        if response.finish_reason == "content_filter":
            raise IncompleteAnswerError(
                f"{title} held its answer back (content filter)",
                hint="ask in other words, or another model with -m")
        if turn.attempt > 1:
            raise IncompleteAnswerError(
                f"{title} gave an empty answer, twice",
                hint="try again, or another model with -m")
        turn.attempt += 1


def _chunk(delta: str) -> StreamChunk:
    return StreamChunk(delta, token_count=estimate_tokens(delta))


def _finished(made: Plan, reader: Reader, shown: str
              ) -> tuple[str, ChatResponse]:
    """What is left to show, and the whole answer."""
    rest, response = reader.end()
    response = made.names.restored(response)
    if made.reads_calls:
        return _with_told_calls(response, shown)
    return rest, response


def _with_told_calls(response: ChatResponse, shown: str
                     ) -> tuple[str, ChatResponse]:
    """The answer with the calls read out of its text, and what of the text
    was not shown yet."""
    text, calls = told_calls(response.text or "")
    rest = text if not shown else ""
    return rest, replace(response, text=text or None,
                         tool_calls=response.tool_calls + calls)


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
