"""Gemini: generateContent with an API key, or with the sign-in of its CLI.

What a model refuses is learned from its first refusal and said another way
or left out from then on (errors.py); tools then stand in the prompt.
http.py is the way there.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from claw.core.errors import (
    ClawError,
    ConfigError,
    IncompleteAnswerError,
    UnavailableError,
)
from claw.core.provider import (
    ChatRequest,
    GeminiTools,
    ProviderCapabilities,
    ToolsPayload,
)
from claw.core.tool import ToolSpec
from claw.core.turn import has_limited_budget
from claw.net.errors import extract_host
from claw.providers.catalog.local import is_model_name
from claw.providers.connection import Connection
from claw.providers.gemini.auth import Login, login_files
from claw.providers.gemini.errors import find_refusal
from claw.providers.gemini.http import GENERATE, HOST, GeminiHttp, bare_name
from claw.providers.gemini.request import (
    OPTIONS_OUTSIDE,
    OUTPUT_TOKENS,
    GeminiRequest,
    build_request,
    declarations,
    is_callable,
)
from claw.providers.gemini.response import Reader
from claw.providers.wire.answers import cut_off, no_message
from claw.providers.wire.json import Json, objects_in, string_at
from claw.providers.wire.loop import RequestState, WireProvider
from claw.providers.wire.options import put_below
from claw.providers.wire.refusals import Refusal
from claw.providers.wire.unsupported import UnsupportedFeatures

_PAGES = 20


class GeminiProvider(WireProvider[RequestState, GeminiRequest, Reader]):
    """The models of Gemini. `login` stands in for a key."""

    answer_tokens = OUTPUT_TOKENS

    def __init__(self, connection: Connection,
                 login: Login | None = None) -> None:
        super().__init__(connection)
        self._told: set[str] = set()
        self._http = GeminiHttp(connection, login)
        self.address = self._http.address
        self._unsupported = UnsupportedFeatures(self.address,
                                                connection.model_info)

    @classmethod
    def build(cls, connection: Connection) -> "GeminiProvider":
        return cls(connection, find_login(connection))

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(
            native_tool_calling=self.vendor.native_tools, vision=True)

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return GeminiTools(tuple(declarations(tools))) \
            if self.vendor.native_tools else super().convert_tools(tools)

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
            and "tools" not in self._unsupported.without(model)

    async def warmup(self) -> None:
        await self._http.warmup()

    async def aclose(self) -> None:
        await self._http.aclose()

    def _begin(self, request: ChatRequest, model: str,
               temperature: float) -> RequestState:
        for tool in request.tools or ():
            if not is_callable(tool.name):
                self._say(f"{self.vendor.title} takes no tool of the name "
                          f"{tool.name!r}; it is left out")
        return RequestState(request, model, temperature,
                            self._unsupported.without(model))

    async def _write(self, state: RequestState, *, stream: bool
                     ) -> GeminiRequest:
        if has_limited_budget() and {"max_tokens", "config"} & state.without:
            raise ConfigError(
                f"--max-cost can't be kept: {state.model} takes no limit on "
                "the length of its answers",
                hint="choose another model with -m, or leave out --max-cost")
        return build_request(
            state.request, state.model, state.temperature,
            without=state.without, native_tools=self.vendor.native_tools,
            reasoning=self._connection.reasoning)

    def _reader(self, state: RequestState, wire: GeminiRequest) -> Reader:
        return Reader()

    async def _read_whole(self, wire: GeminiRequest, reader: Reader) -> None:
        reader.take(await self._http.whole(wire))
        failed = reader.failure(self._http.peer)
        if failed is not None:
            raise failed
        if not reader.answers:
            raise no_message(self.vendor.title, "a candidate")

    async def _deltas(self, wire: GeminiRequest, reader: Reader
                      ) -> AsyncGenerator[str]:
        try:
            async with aclosing(self._http.pieces(wire)) as pieces:
                async for data in pieces:
                    if delta := reader.take(data):
                        yield delta
        except IncompleteAnswerError:
            if not reader.finished:  # after its end nothing is missing
                raise
        failed = reader.failure(self._http.peer)
        if failed is not None:
            if rest := reader.rest():
                yield rest
            raise failed
        if not reader.finished:
            raise cut_off(self.vendor.title)

    def _find_refusal(self, error: ClawError, wire: GeminiRequest
                      ) -> Refusal | None:
        return find_refusal(error.status, error.message, wire.body) \
            if isinstance(error, UnavailableError) else None

    def _place_options(self, options: Mapping[str, Any]) -> Json:
        return put_below(options, "generationConfig", OPTIONS_OUTSIDE)

    def _note_no_tools(self, model: str) -> None:
        self._say(f"{model} takes no tools; they are described in the "
                  "prompt")

    def _say(self, text: str) -> None:
        """Tell a person, once."""
        if text not in self._told:
            self._told.add(text)
            self._connection.notify(text)


def find_login(connection: Connection) -> Login | None:
    """The sign-ins of the Gemini CLI in the user's home. They serve
    Google's own address only: a question that is meant for a gateway must
    not go elsewhere."""
    url = connection.vendor.url
    if connection.key or (url and extract_host(url) != HOST):
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
    return [bare_name(name) for row in objects_in(data.get("models", []))
            if is_model_name(name := string_at(row, "name"))
            and (not isinstance(can := row.get(
                "supportedGenerationMethods"), list) or GENERATE in can)]
