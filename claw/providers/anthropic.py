"""Anthropic's Messages API over HTTP, and servers that copy it.

What a model does not take (a temperature, a kind of thinking, a schema) is
learned from its first refusal and left out from then on.
Source: the anthropic SDK's types (2.12); spec/agent.md 2.3.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

from claw.core.errors import (
    ClawError,
    IncompleteAnswerError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.ledger import set_aside
from claw.core.provider import (
    AnthropicTools,
    ChatProvider,
    ChatRequest,
    ChatResponse,
    ProviderCapabilities,
    StreamChunk,
    ToolsPayload,
    estimate_tokens,
)
from claw.core.tool import ToolSpec
from claw.net.errors import Peer, status_error
from claw.net.http import HttpClient, OpenAnswer
from claw.net.sse import Decoder, Event
from claw.providers.anthropic_auth import (
    auth_style,
    endpoints,
    headers_for,
    is_setup_token,
    key_hint,
    no_key,
)
from claw.providers.anthropic_messages import Json
from claw.providers.anthropic_refusals import (
    error_status,
    refused_part,
)
from claw.providers.anthropic_stream import AnswerReader
from claw.providers.anthropic_wire import (
    Asking,
    Plan,
    answer_tokens,
    check_effort,
    plan_for,
    wire_tools,
)
from claw.providers.connection import Connection
from claw.providers.learned import Learned
from claw.providers.vendors import shown_name
from claw.providers.wire import parsed

_PAGE = 1000
_PAGES = 20


class AnthropicProvider(ChatProvider):
    """One endpoint of the Messages API."""

    def __init__(self, connection: Connection) -> None:
        vendor, key = connection.vendor, connection.key
        check_effort(connection.reasoning)
        self.name = vendor.name
        self.vendor = vendor
        self.chat_url, self.models_url = endpoints(vendor.url,
                                                   vendor.api_path)
        self._key = key or vendor.default_key
        style = auth_style(connection.named.auth or "", vendor.auth,
                           self._key or "")
        self._headers = headers_for(vendor, self._key, style,
                                    connection.extra_headers)
        self.answer_tokens = answer_tokens(connection.reasoning)
        self._asking = Asking(connection.reasoning, vendor.native_tools,
                              vendor.vision,
                              is_setup_token(self._key or "", style))
        self._learned = Learned(self.chat_url, connection.facts)
        self._http = HttpClient(
            Peer(vendor.title, secrets=(key,) if key else (),
                 key_hint=key_hint(vendor), start_hint=vendor.start_hint,
                 models_hint="claw provider models "
                             + shown_name(vendor.name)),
            timeout_s=connection.timeout_s, transport=connection.transport)

    @classmethod
    def build(cls, connection: Connection) -> "AnthropicProvider":
        return cls(connection)

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(
            native_tool_calling=self.vendor.native_tools,
            vision=self.vendor.vision,
            prompt_caching=True)

    def supports_streaming(self) -> bool:
        return True

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        if not self.vendor.native_tools:
            return super().convert_tools(tools)
        return AnthropicTools(tuple(wire_tools(tools)))

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        self._check_key()
        without = self._learned.without(model)
        attempt = 1
        while True:
            plan = plan_for(request, model, temperature, self._asking,
                            without)
            try:
                reader = await self._whole(plan)
            except ClawError as error:
                if not self._learn(model, error, plan, without):
                    raise
                continue
            response = self._ended(reader)[1]
            if response.text or response.tool_calls:
                return response
            self._check_empty(response, attempt)
            attempt += 1

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        self._check_key()
        without = self._learned.without(model)
        attempt = 1
        while True:
            plan = plan_for(request, model, temperature, self._asking,
                            without, stream=True)
            reader = self._reader(plan)
            shown = False
            try:
                async with aclosing(self._deltas(plan, reader)) as deltas:
                    async for delta in deltas:
                        shown = True
                        yield _chunk(delta)
            except ClawError as error:
                if shown or not self._learn(model, error, plan, without):
                    raise
                continue
            rest, response = self._ended(reader)
            if not rest and not shown and not response.tool_calls:
                self._check_empty(response, attempt)
                attempt += 1
                continue
            if rest:
                yield _chunk(rest)
            yield StreamChunk(is_final=True, response=response)
            return

    async def models(self) -> list[str]:
        self._check_key()
        names: list[str] = []
        after = ""
        for _ in range(_PAGES):
            page = await self._page(_PAGE, after)
            names += names_of(page)
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
        answer = await self._http.request("GET", url, headers=self._headers)
        try:
            page = answer.json()
        except (ValueError, RecursionError):
            page = None
        if not isinstance(page, dict) or not isinstance(
                page.get("data"), list):
            raise UnavailableError(
                f"{self.vendor.title} gave no list of models",
                hint="correct the base URL")
        return page

    async def _whole(self, plan: Plan) -> AnswerReader:
        """An answer in one piece."""
        answer = await self._http.request(
            "POST", self.chat_url, headers=self._headers, json=plan.body,
            model=plan.body["model"])
        self._refuse_page(answer.headers)
        reader = self._reader(plan)
        self._take_whole(reader, answer.text)
        return reader

    def _reader(self, plan: Plan) -> AnswerReader:
        return AnswerReader(self.vendor.title, plan.names,
                            hold_calls=plan.reads_calls)

    def _take_whole(self, reader: AnswerReader, text: str) -> str:
        try:
            return reader.take_whole(self._checked(text))
        except ValueError as error:
            raise IncompleteAnswerError(
                f"{self.vendor.title} sent an answer without content",
                hint="is the base URL right?") from error

    async def _deltas(self, plan: Plan, reader: AnswerReader
                      ) -> AsyncGenerator[str]:
        """The visible text of one stream, piece by piece."""
        async with self._http.open(
                "POST", self.chat_url, json=plan.body,
                headers={**self._headers, "accept-encoding": "identity"},
                model=plan.body["model"]) as answer:
            self._refuse_page(answer.headers)
            if "json" in answer.headers.get("content-type", ""):
                whole = (await answer.read()).decode("utf-8", "replace")
                if shown := self._take_whole(reader, whole):
                    yield shown
                return
            async with aclosing(self._events(answer)) as events:
                async for event in events:
                    delta = reader.take(self._checked(event.data))
                    if delta:
                        yield delta
                    if reader.finished:
                        return
            raise IncompleteAnswerError(
                f"the stream of {self.vendor.title} ended before the answer "
                "did", hint="try again")

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
                hint="correct the base URL; /v1/messages is put after it")

    def _checked(self, text: str) -> Json:
        """A JSON object that is no error."""
        try:
            data = parsed(text)
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise IncompleteAnswerError(
                f"{self.vendor.title} sent something that is no answer",
                hint="is the base URL right?")
        if data.get("type") == "error" or (
                data.get("error") and "type" not in data):
            raise status_error(self._http.peer, error_status(data), text)
        return data

    def _ended(self, reader: AnswerReader) -> tuple[str, ChatResponse]:
        """The answer, unless it is a refusal: what was said before one is
        no answer to keep."""
        refusal = reader.refusal
        if refusal is not None:
            raise RequestRefusedError(
                f"{self.vendor.title} refused to answer"
                + (f" ({refusal})" if refusal else ""),
                hint="ask in other words, or another model with -m")
        return reader.end()

    def _learn(self, model: str, error: ClawError, plan: Plan,
               without: set[str]) -> bool:
        """Whether the request is worth repeating without what was refused.

        `without` is this request's; a refusal that will come again is also
        remembered for the model."""
        status = error.status if isinstance(error, UnavailableError) else None
        refused = refused_part(status, error.message, plan.parts)
        if refused is None or refused.feature in without:
            return False
        without.add(refused.feature)
        self._learned.add(model, refused)
        return True

    def _check_key(self) -> None:
        if self.vendor.needs_key and not self._key:
            raise no_key(self.vendor)

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


def names_of(page: Mapping[str, Any]) -> list[str]:
    """The names on a page of the list of models."""
    ids = [row.get("id") for row in page["data"] if isinstance(row, dict)]
    return [name for name in ids if isinstance(name, str) and name]


def _chunk(delta: str) -> StreamChunk:
    return StreamChunk(delta, token_count=estimate_tokens(delta))
