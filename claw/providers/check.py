"""Does a provider work? The probes of `claw provider test` and `doctor`.

Each probe is a real, tiny request and one row: what was seen, and when it
failed the cause and the next step. What depends on a failed probe is not
tried.
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import cast

from claw.core.errors import (
    AuthError,
    ClawError,
    ExitCode,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Provider,
    StreamChunk,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import Value

ASKED = "Answer with the word OK."
_TOKENS = 400  # room for a model that thinks first
_TOOL = ToolSpec(
    "report_word", "Reports a word. Call it with the word OK.",
    closed_object(word=string("the word to report")))


class Check(Value):
    """One probe. `id` is stable: reach, key, model, answer, stream, tools;
    "config" where the provider can't be built.

    `code` is the exit code that a failure deserves, `ms` how long it took;
    for "stream" until the first words.
    """

    id: str
    ok: bool
    detail: str
    hint: str | None = None
    ms: int | None = None
    code: ExitCode = ExitCode.DONE


async def check_provider(provider: Provider, model: str, *,
                         clock: Callable[[], float] = time.monotonic
                         ) -> list[Check]:
    """Every probe of one provider, in the order of the table."""
    probes = _Probes(provider, model, clock)
    checks = await probes.answer()
    if checks[-1].ok:
        checks.append(await probes.stream())
        checks.append(await probes.tools())
    return checks


class _Probes:
    def __init__(self, provider: Provider, model: str,
                 clock: Callable[[], float]) -> None:
        self._provider = provider
        self._model = model
        self._clock = clock
        self._request = ChatRequest([ChatMessage.user(ASKED)],
                                    max_tokens=_TOKENS)

    async def answer(self) -> list[Check]:
        """Reach, key, model and a plain answer: one request tells all."""
        start = self._clock()
        try:
            response = await self._provider.chat(self._request, self._model,
                                                 0.0)
        except ClawError as error:
            return failed_at(error, self._model, self._ms(start))
        ms = self._ms(start)
        return [Check("reach", True, "it answers"),
                Check("key", True, "it is accepted"),
                Check("model", True, response.model or self._model),
                Check("answer", True, _gist(response), ms=ms)]

    async def stream(self) -> Check:
        """Deltas, and the time until the first one."""
        if not self._provider.supports_streaming():
            return Check("stream", True, "not offered; answers come whole")
        start, first, pieces = self._clock(), None, 0
        try:
            chunks = cast("AsyncGenerator[StreamChunk]",
                          self._provider.stream_chat(self._request,
                                                     self._model, 0.0))
            async with aclosing(chunks):
                async for chunk in chunks:
                    if chunk.delta:
                        pieces += 1
                        first = first or self._ms(start)
        except ClawError as error:
            return _failure("stream", error, self._ms(start))
        return Check("stream", True, f"first words after {first or 0} ms, "
                     f"{pieces} piece{'s' * (pieces != 1)}", ms=first)

    async def tools(self) -> Check:
        """Whether the model calls a tool when asked to."""
        if not self._provider.supports_native_tools():
            return Check("tools", True, "described in the prompt")
        request = ChatRequest(
            [ChatMessage.user("Call the tool report_word with the word OK.")],
            tools=[_TOOL], max_tokens=_TOKENS)
        start = self._clock()
        try:
            response = await self._provider.chat(request, self._model, 0.0)
        except ClawError as error:
            return _failure("tools", error, self._ms(start))
        ms = self._ms(start)
        if response.tool_calls:
            return Check("tools", True, "the model calls them", ms=ms)
        return Check("tools", True, "accepted, but the model made no call",
                     ms=ms)

    def _ms(self, start: float) -> int:
        return max(0, round((self._clock() - start) * 1000))


def failed_at(error: ClawError, model: str, ms: int) -> list[Check]:
    """The rows up to the one at which a request failed."""
    reached = Check("reach", True, "it answers")
    accepted = Check("key", True, "it is accepted")
    if isinstance(error, AuthError):
        return [reached, _failure("key", error, ms)]
    if isinstance(error, RateLimitedError):
        return [reached, accepted, _failure("answer", error, ms)]
    if isinstance(error, RequestRefusedError):
        about_model = error.status == 404 or "model" in error.message.lower()
        return [reached, accepted,
                _failure("model" if about_model else "answer", error, ms)]
    if getattr(error, "status", None) is not None:
        return [reached, _failure("answer", error, ms)]
    return [_failure("reach", error, ms)]


def not_built(error: ClawError) -> Check:
    """The row of a provider that could not even be built or given a
    model."""
    kind = "key" if isinstance(error, AuthError) else \
        "reach" if isinstance(error, UnavailableError) else "config"
    return _failure(kind, error, None)


def worst(checks: list[Check]) -> ExitCode:
    """The exit code for many checks."""
    return max((c.code for c in checks if not c.ok), default=ExitCode.DONE)


def _failure(name: str, error: ClawError, ms: int | None) -> Check:
    return Check(name, False, error.message, error.hint, ms, error.exit_code)


def _gist(response: ChatResponse) -> str:
    text = " ".join((response.text or "").split())
    return text if len(text) <= 40 else text[:39] + "…"
