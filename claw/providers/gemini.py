"""Gemini: generateContent with an API key, or with the sign-in of its CLI.

What a model refuses is learned from its first refusal and said another way
or left out from then on (gemini_refusals.py); tools then stand in the
prompt. gemini_http.py is the way there, gemini_wire.py what is sent,
gemini_reader.py what comes back.
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from pathlib import Path
from typing import Any

from claw.core.errors import (
    ClawError,
    IncompleteAnswerError,
    UnavailableError,
)
from claw.core.ledger import set_aside
from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    GeminiTools,
    ProviderCapabilities,
    StreamChunk,
    ToolsPayload,
    estimate_tokens,
)
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.net.errors import host_of
from claw.net.lean import httpx
from claw.providers.connection import Connection, KeepsFacts, unheard
from claw.providers.gemini_auth import Login, login_files
from claw.providers.gemini_http import GENERATE, HOST, GeminiHttp, bare_name
from claw.providers.gemini_reader import Reader
from claw.providers.gemini_refusals import refused
from claw.providers.gemini_wire import (
    OUTPUT_TOKENS,
    Plan,
    declarations,
    is_callable,
    plan,
)
from claw.providers.learned import Learned
from claw.providers.settings import ReasoningSettings
from claw.providers.vendors import Vendor
from claw.providers.wire import told_calls

_PAGES = 20


class GeminiProvider(ChatProvider):
    """The models of Gemini. `login` stands in for a key; `auth` is the
    header for the key where the query is not the place (a gateway);
    `transport` replaces the network in tests."""

    answer_tokens = OUTPUT_TOKENS

    def __init__(self, vendor: Vendor, *, key: str | None = None,
                 login: Login | None = None, auth: str | None = None,
                 extra_headers: Mapping[str, str] | None = None,
                 timeout_s: float = 120.0,
                 reasoning: ReasoningSettings | None = None,
                 facts: KeepsFacts | None = None,
                 notify: Callable[[str], None] = unheard,
                 transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.name = vendor.name
        self.vendor = vendor
        self._reasoning = reasoning
        self._notify = notify
        self._told: set[str] = set()
        self._http = GeminiHttp(
            vendor, key=key, login=login, auth=auth,
            extra_headers=extra_headers or {}, timeout_s=timeout_s,
            transport=transport)
        self.address = self._http.address
        self._learned = Learned(self.address, facts)

    @classmethod
    def build(cls, connection: Connection) -> "GeminiProvider":
        return cls(connection.vendor, key=connection.key,
                   login=find_login(connection),
                   auth=connection.named.auth,
                   extra_headers=connection.extra_headers,
                   timeout_s=connection.timeout_s,
                   reasoning=connection.reasoning,
                   facts=connection.facts, notify=connection.notify,
                   transport=connection.transport)

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(
            native_tool_calling=self.vendor.native_tools, vision=True)

    def supports_streaming(self) -> bool:
        return True

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        if not self.vendor.native_tools:
            return super().convert_tools(tools)
        return GeminiTools(tuple(declarations(tools)))

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        without = self._learned.without(model)
        attempt = 1
        while True:
            wanted = self._plan(request, model, temperature, without)
            reader = Reader(hold_calls=wanted.reads_calls)
            try:
                await self._read_whole(wanted, reader)
            except ClawError as error:
                if not self._learn(model, error, wanted, without):
                    raise
                continue
            _, response = _end(reader, wanted)
            if response.text or response.tool_calls:
                return response
            self._check_empty(response, attempt)
            attempt += 1

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        without = self._learned.without(model)
        attempt = 1
        while True:
            wanted = self._plan(request, model, temperature, without)
            reader = Reader(hold_calls=wanted.reads_calls)
            shown = ""
            try:
                async with aclosing(self._deltas(wanted, reader)) as deltas:
                    async for delta in deltas:
                        shown += delta
                        yield _chunk(delta)
            except ClawError as error:
                if shown or not self._learn(model, error, wanted, without):
                    raise
                continue
            rest, response = _end(reader, wanted, shown)
            if not rest and not shown and not response.tool_calls:
                self._check_empty(response, attempt)
                attempt += 1
                continue
            if rest:
                yield _chunk(rest)
            yield StreamChunk(is_final=True, response=response)
            return

    async def models(self) -> list[str]:
        """Models that can answer. A sign-in has no such list."""
        self._http.check_key()
        found: list[str] = []
        page = ""
        for _ in range(_PAGES if self._http.has_list else 0):
            data = await self._http.models_page(page)
            found += model_names(data)
            before, page = page, str(data.get("nextPageToken") or "")
            if not page or page == before:
                break
        return list(dict.fromkeys(found))

    async def takes_tools(self, model: str) -> bool:
        """Whether a model is offered tools in Gemini's own format."""
        return self.vendor.native_tools \
            and "tools" not in self._learned.without(model)

    async def warmup(self) -> None:
        await self._http.warmup()

    async def aclose(self) -> None:
        await self._http.aclose()

    def _plan(self, request: ChatRequest, model: str, temperature: float,
              without: set[str]) -> Plan:
        for tool in request.tools or ():
            if not is_callable(tool.name):
                self._say(f"{self.vendor.title} takes no tool of the name "
                          f"{tool.name!r}; it is left out")
        return plan(request, model, temperature, without=without,
                    native_tools=self.vendor.native_tools,
                    reasoning=self._reasoning)

    async def _read_whole(self, wanted: Plan, reader: Reader) -> None:
        reader.take(await self._http.whole(wanted))
        failed = reader.failure(self._http.peer)
        if failed is not None:
            raise failed
        if not reader.answers:
            raise IncompleteAnswerError(
                f"{self.vendor.title} sent an answer without a candidate",
                hint="is the base URL right?")

    async def _deltas(self, wanted: Plan, reader: Reader
                      ) -> AsyncGenerator[str]:
        """The visible text of one stream, piece by piece."""
        try:
            async with aclosing(self._http.pieces(wanted)) as pieces:
                async for data in pieces:
                    delta = reader.take(data)
                    if delta:
                        yield delta
        except IncompleteAnswerError:
            if not reader.finished:  # after its end nothing is missing
                raise
        failed = reader.failure(self._http.peer)
        if failed is not None:
            rest = reader.rest()
            if rest:
                yield rest
            raise failed
        if not reader.finished:
            raise IncompleteAnswerError(
                f"the stream of {self.vendor.title} ended before the "
                "answer did", hint="try again")

    def _learn(self, model: str, error: ClawError, wanted: Plan,
               without: set[str]) -> bool:
        """Whether the request is worth repeating without what was refused.

        `without` is this request's; a refusal that will come again is also
        remembered for the model."""
        if not isinstance(error, UnavailableError):
            return False
        found = refused(error.status, error.message, wanted.body)
        if found is None or found.feature in without:
            return False
        without.add(found.feature)
        self._learned.add(model, found)
        if found.feature == "tools":
            self._say(f"{model} takes no tools; they are described in the "
                      "prompt")
        return True

    def _say(self, text: str) -> None:
        """Tell a person, once."""
        if text not in self._told:
            self._told.add(text)
            self._notify(text)

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


def _chunk(delta: str) -> StreamChunk:
    return StreamChunk(delta, token_count=estimate_tokens(delta))


def _end(reader: Reader, wanted: Plan, shown: str = ""
         ) -> tuple[str, ChatResponse]:
    """What of the text was not shown yet, and the whole answer with the
    calls that stand in its text."""
    rest, response = reader.end()
    if not wanted.reads_calls:
        return rest, response
    text, calls = told_calls(response.text or "")
    begun = shown.rstrip()
    rest = text[len(begun):] if text.startswith(begun) else ""
    return rest, replace(response, text=shown + rest or None,
                         tool_calls=response.tool_calls + calls)


def find_login(connection: Connection) -> Login | None:
    """The sign-ins of the Gemini CLI in the user's home. They serve
    Google's own address only: a question that is meant for a gateway must
    not go elsewhere."""
    url = connection.vendor.url
    if connection.key or (url and host_of(url) != HOST):
        return None
    home = connection.env.get("HOME", "").strip()
    files = login_files(Path(home)) if home else []
    if not files:
        return None
    return Login(files, connection.env, timeout_s=connection.timeout_s,
                 notify=connection.notify, transport=connection.transport)


def model_names(data: Mapping[str, Any]) -> list[str]:
    """Names of the models in a page that can generate; a server that does
    not say what they can is believed."""
    found = []
    for row in data.get("models", []):
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            continue
        can = row.get("supportedGenerationMethods")
        if row["name"] and (not isinstance(can, list) or GENERATE in can):
            found.append(bare_name(row["name"]))
    return found
