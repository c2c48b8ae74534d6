"""One request, until it is answered: the loop that all wires share.

What a server refuses is left out and the rest asked again; an empty answer
is asked for once more. Once something was shown every error is told.
"""

from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Generic, Self, TypeVar

from claw.core.errors import ClawError
from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    StreamChunk,
)
from claw.core.value import Value, replace
from claw.providers.connection import Connection
from claw.providers.wire.answers import build_chunk, check_empty
from claw.providers.wire.json import Json
from claw.providers.wire.options import add_options
from claw.providers.wire.reader import AnswerReader
from claw.providers.wire.refusals import Feature, Refusal
from claw.providers.wire.unsupported import UnsupportedFeatures


class WireRequest(Value):
    """One request body."""

    body: Json


class RequestState:
    """One request on its way, and what is left out of it."""

    def __init__(self, request: ChatRequest, model: str, temperature: float,
                 without: set[Feature]) -> None:
        self.request = request
        self.model = model
        self.temperature = temperature
        self.without = without


S = TypeVar("S", bound=RequestState)
W = TypeVar("W", bound=WireRequest)
R = TypeVar("R", bound=AnswerReader)


class WireProvider(ChatProvider, Generic[S, W, R]):
    """What the wires have in common; a wire says what is written and read.

    `_unsupported` holds what the models are known to refuse.
    """

    _unsupported: UnsupportedFeatures

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.vendor = connection.vendor
        self.name = self.vendor.name

    @classmethod
    def build(cls, connection: Connection) -> Self:
        return cls(connection)

    @abstractmethod
    def _begin(self, request: ChatRequest, model: str,
               temperature: float) -> S:
        """Raises where the model can't be asked at all."""

    @abstractmethod
    async def _write(self, state: S, *, stream: bool) -> W:
        """The request body, less what is left out."""

    @abstractmethod
    def _reader(self, state: S, wire: W) -> R:
        """What puts one answer together."""

    @abstractmethod
    async def _read_whole(self, wire: W, reader: R) -> None:
        """Ask, and read an answer in one piece."""

    @abstractmethod
    def _deltas(self, wire: W, reader: R) -> AsyncGenerator[str]:
        """Ask, and give the visible text of a stream piece by piece."""

    @abstractmethod
    def _find_refusal(self, error: ClawError, wire: W) -> Refusal | None:
        """The part of a request that an error refuses."""

    def _end(self, state: S, wire: W, reader: R) -> tuple[str, ChatResponse]:
        """What is left to show, and the whole answer."""
        return reader.end()

    def _place_options(self, options: Mapping[str, Any]) -> Json:
        """The vendor's own options as they stand in a body."""
        return dict(options)

    def _add_options(self, state: S, wire: W) -> W:
        """The request with the vendor's own options. They are no part of
        what is left out when a server refuses it: who gave them hears."""
        options = state.request.options
        return wire if not options else replace(wire, body=add_options(
            wire.body, self._place_options(options)))

    def _note_no_tools(self, model: str) -> None:
        """A model was found to take no tools."""

    def _go_on(self, state: S, error: ClawError, wire: W, *,
               shown: bool = False) -> None:
        """Prepare the next try. Raises what is to be told where there is
        none, as there never is behind a text that was shown."""
        if shown or not self._leave_out(
                state, self._find_refusal(error, wire)):
            raise error

    def _leave_out(self, state: S, refusal: Refusal | None) -> bool:
        """Whether the request is worth repeating without what was refused.
        A refusal that will come again is remembered for the model."""
        if refusal is None or refusal.feature in state.without:
            return False
        state.without.add(refusal.feature)
        self._unsupported.add(state.model, refusal)
        if refusal.feature == "tools" and refusal.lasting:
            self._note_no_tools(state.model)
        return True

    def supports_streaming(self) -> bool:
        return True

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        state = self._begin(request, model, temperature)
        attempt = 1
        while True:
            wire = await self._write(state, stream=False)
            reader = self._reader(state, wire)
            try:
                await self._read_whole(self._add_options(state, wire), reader)
            except ClawError as error:
                self._go_on(state, error, wire)
                continue
            response = self._end(state, wire, reader)[1]
            if response.text or response.tool_calls:
                return response
            check_empty(self.vendor.title, response, attempt)
            attempt += 1

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        state = self._begin(request, model, temperature)
        attempt = 1
        while True:
            wire = await self._write(state, stream=True)
            reader = self._reader(state, wire)
            shown = False
            try:
                async with aclosing(self._deltas(
                        self._add_options(state, wire), reader)) as deltas:
                    async for delta in deltas:
                        shown = True
                        yield build_chunk(delta)
            except ClawError as error:
                self._go_on(state, error, wire, shown=shown)
                continue
            rest, response = self._end(state, wire, reader)
            if not rest and not shown and not response.tool_calls:
                check_empty(self.vendor.title, response, attempt)
                attempt += 1
                continue
            if rest:
                yield build_chunk(rest)
            yield StreamChunk(is_final=True, response=response)
            return
