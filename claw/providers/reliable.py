"""ReliableProvider: ask again, ask elsewhere, and never twice in sight.

Models (the wanted one, then its fall-backs) -> lanes in order -> attempts.
What an error is decides (net/failures.py): a rate limit turns to the next
key at once and waits when every key was tried; what may pass is asked again
after a back-off with full jitter; anything else goes to the next lane. Once
a delta was given out nothing is asked again, and no call makes more than 10
attempts.

A conversation that is too long is raised at once: the turn above holds it,
cuts it short and asks again, and says so. Cut here, the person's words
would be lost without a word, and for another lane they would be as long.
"""

import asyncio
import random
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager

from claw.core.errors import ClawError, IncompleteAnswerError
from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    Provider,
    ProviderCapabilities,
    StreamChunk,
    ToolsPayload,
)
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.providers.attempts import HANDLED, Attempt, Call, Policy
from claw.providers.breaker import Breaker
from claw.providers.connection import unheard
from claw.providers.lanes import Keys, sees
from claw.providers.lanes import Lane as Lane


class ReliableProvider(ChatProvider):
    """The lanes as one provider.

    `model_fallbacks` maps a model to those to ask in its place. `breaker`
    may be shared by the providers of a process. `notify` hears one line
    when another lane or model is asked, and when it takes a while.
    """

    def __init__(self, lanes: Sequence[Lane], *, retries: int = 2,
                 backoff_ms: float = 500.0,
                 model_fallbacks: Mapping[str, Sequence[str]] | None = None,
                 breaker: Breaker | None = None,
                 sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
                 rng: Callable[[], float] = random.random,
                 clock: Callable[[], float] = time.monotonic,
                 notify: Callable[[str], None] = unheard) -> None:
        if not lanes:
            raise ValueError("a ReliableProvider needs a lane")
        self.name = lanes[0].name
        self.lanes = [Keys(lane, clock) for lane in lanes]
        self.policy = Policy(
            retries=max(0, retries), base_s=max(0.0, backoff_ms) / 1000,
            fallbacks=dict(model_fallbacks or {}),
            breaker=breaker or Breaker(clock=clock), sleep=sleep, rng=rng,
            clock=clock, notify=notify)

    def capabilities(self) -> ProviderCapabilities:
        """Those of the first lane; sight where any lane has it."""
        first = self._first().capabilities()
        return ProviderCapabilities(
            first.native_tool_calling,
            first.vision or any(map(sees, self.lanes)),
            first.prompt_caching)

    def supports_streaming(self) -> bool:
        return self._first().supports_streaming()

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return self._first().convert_tools(tools)

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        call = Call(self.policy, self.lanes, request, model)
        async with aclosing(call.attempts()) as attempts:
            async for attempt in attempts:
                try:
                    response = await attempt.provider.chat(
                        request, attempt.model, temperature)
                except HANDLED as error:
                    attempt.failed(error)
                    continue
                attempt.worked()
                return self._signed(response, attempt)
        raise call.verdict()

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        call = Call(self.policy, self.lanes, request, model)
        async with aclosing(call.attempts()) as attempts:
            async for attempt in attempts:
                try:
                    ended = False
                    async with _closing(attempt.provider.stream_chat(
                            request, attempt.model, temperature)) as chunks:
                        async for chunk in chunks:
                            if not attempt.done and (
                                    chunk.delta or chunk.is_final):
                                attempt.worked()
                            ended = ended or chunk.is_final
                            if chunk.response is not None:
                                chunk = replace(chunk, response=self._signed(
                                    chunk.response, attempt))
                            yield chunk
                    if not ended:
                        raise IncompleteAnswerError(
                            f"the stream of {attempt.keys.lane.name} ended "
                            "before the answer did", hint="try again")
                except HANDLED as error:
                    if attempt.done:  # it was seen
                        raise
                    attempt.failed(error)
                    continue
                return
        raise call.verdict()

    def _signed(self, response: ChatResponse,
                attempt: Attempt) -> ChatResponse:
        """The answer with who gave it, where that is not the first lane or
        the model does not say its name."""
        lane = attempt.keys.lane.name
        changes: dict[str, str] = {}
        if lane != self.name and response.provider is None:
            changes["provider"] = lane
        if response.model is None:
            changes["model"] = attempt.model
        return replace(response, **changes) if changes else response

    async def models(self) -> list[str]:
        return await self._first().models()

    async def warmup(self) -> None:
        await asyncio.gather(*map(_warm, self.lanes))

    async def aclose(self) -> None:
        failed: BaseException | None = None
        for keys in self.lanes:
            for provider in keys.made:
                try:
                    await provider.aclose()
                except (ClawError, OSError) as error:
                    failed = failed or error
        if failed is not None:
            raise failed

    def _first(self) -> Provider:
        """The provider of the first lane that can be built."""
        failed: ClawError | None = None
        for keys in self.lanes:
            try:
                return keys.provider()
            except ClawError as error:
                failed = failed or error
        assert failed is not None
        raise failed


@asynccontextmanager
async def _closing(chunks: AsyncIterator[StreamChunk]
                   ) -> AsyncIterator[AsyncIterator[StreamChunk]]:
    """Closes a stream that is left early, in order."""
    try:
        yield chunks
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


async def _warm(keys: Keys) -> None:
    try:
        await keys.provider().warmup()
    except (ClawError, OSError):
        return  # it is only to be faster later
