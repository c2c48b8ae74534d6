"""ReliableProvider: ask again, ask elsewhere, and never twice in sight.

Models (the wanted one, then its fall-backs) -> endpoints in order -> tries.
What an error is decides (net/failures.py): a rate limit turns to the next
key at once and waits when every key was tried; what may pass is asked again
after a back-off with full jitter; anything else goes to the next endpoint.
Once a delta was given out nothing is asked again, and no call makes more
than 10 tries.

A conversation that is too long is raised at once: the turn above holds it,
cuts it short and asks again, and says so. Cut here, the person's words
would be lost without a word, and for another endpoint they would be as long.
"""

import asyncio
import random
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing

from claw.core.errors import ClawError, IncompleteAnswerError
from claw.core.provider import (
    ChatRequest,
    ChatResponse,
    Provider,
    ProviderCapabilities,
    StreamChunk,
    close_stream,
)
from claw.core.value import replace
from claw.providers.connection import ignore_notice
from claw.providers.resilience.breaker import Breaker
from claw.providers.resilience.endpoints import Endpoint as Endpoint
from claw.providers.resilience.endpoints import KeyPool, sees_images
from claw.providers.resilience.retry import HANDLED, Call, Policy, Try
from claw.providers.resilience.several import Several


class ReliableProvider(Several):
    """The endpoints as one provider.

    `model_fallbacks` maps a model to those to ask in its place. `breaker`
    may be shared by the providers of a process. `notify` hears one line
    when another endpoint or model is asked, and when it takes a while.
    """

    def __init__(self, endpoints: Sequence[Endpoint], *, retries: int = 2,
                 backoff_ms: float = 500.0,
                 model_fallbacks: Mapping[str, Sequence[str]] | None = None,
                 breaker: Breaker | None = None,
                 sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
                 rng: Callable[[], float] = random.random,
                 clock: Callable[[], float] = time.monotonic,
                 notify: Callable[[str], None] = ignore_notice) -> None:
        if not endpoints:
            raise ValueError("a ReliableProvider needs an endpoint")
        self.name = endpoints[0].name
        self.pools = [KeyPool(endpoint, clock) for endpoint in endpoints]
        self.policy = Policy(
            retries=max(0, retries), base_s=max(0.0, backoff_ms) / 1000,
            fallbacks=dict(model_fallbacks or {}),
            breaker=breaker or Breaker(clock=clock), sleep=sleep, rng=rng,
            clock=clock, notify=notify)

    def capabilities_for(self, model: str) -> ProviderCapabilities:
        """Those of the first endpoint for this model; sight where any
        has it."""
        found = self.first().capabilities_for(model)
        return replace(found, vision=found.vision or any(
            sees_images(pool, model) for pool in self.pools))

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        call = Call(self.policy, self.pools, request, model)
        async with aclosing(call.tries()) as tries:
            async for current in tries:
                try:
                    response = await current.provider.chat(
                        request, current.model, temperature)
                except HANDLED as error:
                    current.fail(error)
                    continue
                current.succeed()
                return self._sign(response, current)
        raise call.build_error()

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        call = Call(self.policy, self.pools, request, model)
        async with aclosing(call.tries()) as tries:
            async for current in tries:
                try:
                    ended = False
                    async with close_stream(current.provider.stream_chat(
                            request, current.model, temperature)) as chunks:
                        async for chunk in chunks:
                            if not current.done and (
                                    chunk.delta or chunk.is_final):
                                current.succeed()
                            ended = ended or chunk.is_final
                            if chunk.response is not None:
                                chunk = replace(chunk, response=self._sign(
                                    chunk.response, current))
                            yield chunk
                    if not ended:
                        raise IncompleteAnswerError(
                            f"the stream of {current.pool.endpoint.name} "
                            "ended before the answer did", hint="try again")
                except HANDLED as error:
                    if current.done:  # it was seen
                        raise
                    current.fail(error)
                    continue
                return
        raise call.build_error()

    def _sign(self, response: ChatResponse,
                current: Try) -> ChatResponse:
        """The answer with who gave it, where that is not the first endpoint or
        the model does not say its name."""
        endpoint = current.pool.endpoint.name
        changes: dict[str, str] = {}
        if endpoint != self.name and response.provider is None:
            changes["provider"] = endpoint
        if response.model is None:
            changes["model"] = current.model
        return replace(response, **changes) if changes else response

    def makers(self) -> Iterable[Callable[[], Provider]]:
        return [pool.provider for pool in self.pools]

    def list_made(self) -> Iterable[Provider]:
        return [provider for pool in self.pools for provider in pool.made]

    def first(self) -> Provider:
        """The provider of the first endpoint that can be built."""
        failed: ClawError | None = None
        for pool in self.pools:
            try:
                return pool.provider()
            except ClawError as error:
                failed = failed or error
        assert failed is not None
        raise failed
