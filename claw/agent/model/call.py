"""One call of a model: whole or streamed, with a limit and a way out."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
)
from contextlib import asynccontextmanager
from typing import TypeVar

from claw.agent.rendering.signs import CallFilter
from claw.agent.rounds.cancel import race
from claw.core.errors import IncompleteAnswerError, UnavailableError
from claw.core.provider import ChatRequest, ChatResponse, Provider
from claw.core.value import replace
from claw.text.think import ThinkFilter

T = TypeVar("T")


class LiveText:
    """The visible text of a round while it streams.

    `live` shows text at once; else it is kept until `release`. With
    `guarded` everything from the first sign of a call on is held back.
    `take_back` voids what was shown; None where nothing can.
    """

    def __init__(self, show: Callable[[str], None], *, live: bool,
                 guarded: bool,
                 take_back: Callable[[str], None] | None = None) -> None:
        self._show = show
        self._take_back = take_back
        self._live = live
        self._think = ThinkFilter()
        self._calls = CallFilter() if guarded else None
        self._said: list[str] = []
        self.any = False

    def feed(self, delta: str) -> None:
        """A piece from the model."""
        self._pass_on(self._think.feed(delta))

    @property
    def said(self) -> str:
        """The answer so far, without what may be a call."""
        return "".join(self._said)

    def release(self, answer: str) -> None:
        """The round was the answer: show what was not shown yet."""
        shown = self.said if self.any else ""
        if not answer.startswith(shown):  # some of it were thoughts
            if self._take_back is None:
                return self._release_rest()
            self._take_back(shown)
            shown = ""
        if rest := answer[len(shown):]:
            self._show(rest)
        return None

    def _release_rest(self) -> None:
        self._pass_on(self._think.finish())
        if self._calls is not None and (rest := self._calls.finish()):
            self._show(rest)

    def _pass_on(self, text: str) -> None:
        if self._calls is not None:
            text = self._calls.feed(text)
        if not text:
            return
        self._said.append(text)
        if self._live:
            self.any = True
            self._show(text)


async def call_model(provider: Provider, request: ChatRequest, model: str,
                     temperature: float, *, shown: LiveText,
                     stream: bool, cancel: asyncio.Event | None,
                     timeout_s: float | None) -> ChatResponse:
    """The whole response; its text has passed through `shown`.

    Raises TurnCancelled, UnavailableError past `timeout_s`, and the
    provider's own errors.
    """
    async def call() -> ChatResponse:
        try:
            async with asyncio.timeout(timeout_s) as limit:
                if stream:
                    return await _stream(provider, request, model,
                                         temperature, shown)
                response = await provider.chat(request, model, temperature)
                shown.feed(response.text or "")
                return response
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise UnavailableError(
                f"LLM inference step timed out after {timeout_s:g}s "
                "(step_timeout_secs)",
                hint="raise pacing.step_timeout_secs or choose a faster "
                     "model") from error
    return await race(call(), cancel)


@asynccontextmanager
async def closing(chunks: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Closes a stream that is left early, in order: what a generator holds
    open (a connection) must not wait for the garbage collector."""
    try:
        yield chunks
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


async def _stream(provider: Provider, request: ChatRequest, model: str,
                  temperature: float, shown: LiveText) -> ChatResponse:
    pieces: list[str] = []
    final: ChatResponse | None = None
    ended = False
    async with closing(provider.stream_chat(request, model, temperature)
                       ) as chunks:
        async for chunk in chunks:
            if chunk.delta:
                pieces.append(chunk.delta)
                shown.feed(chunk.delta)
            if chunk.is_final:
                ended, final = True, chunk.response
    if not ended:
        raise IncompleteAnswerError(
            "the answer broke off before its end",
            hint="try again; `claw provider test` looks at the connection")
    text = "".join(pieces)
    if final is None:
        return ChatResponse(text)
    if not text and final.text:
        shown.feed(final.text)
    return replace(final, text=final.text or text)
