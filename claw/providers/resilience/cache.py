"""Cached: a provider that gives an answer again instead of asking twice.

Only at temperature 0, where the same question means the same answer, and
only for a whole final text: no calls, nothing cut off. A plain question is
found by model, system prompt and message, as in the reference; whatever
else is part of a request (an earlier conversation, tools, a schema) is part
of what it is found by: "and then?" means something else each time.

The cache never costs an answer: what goes wrong with it is said once, and
the provider is asked.
Source: spec/agent.md 1.7.
"""

import asyncio
import hashlib
import json
from collections.abc import (
    AsyncIterator,
    Callable,
    Sequence,
)
from typing import Any, TypeVar

from claw.core.errors import ClawError
from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Provider,
    StreamChunk,
    TokenUsage,
    WrappedProvider,
    close_stream,
    estimate_tokens,
)
from claw.providers.connection import ignore_notice
from claw.storage.response_cache import CachedAnswer, ResponseCache

# Longer answers are not given twice.
MAX_CHARS = 1_000_000

_WHOLE = frozenset({None, "stop", "end_turn"})
# A call that a model wrote into its text; one that only looks like it is
# asked for again.
_CALLS = ("<tool", "<invoke", "<function", "<minimax:", "```tool",
          "```invoke", "tool_call")
_IMAGE, _INLINE = "[IMAGE:", "[IMAGE:data:"

T = TypeVar("T")


class CachedProvider(WrappedProvider):
    """`chat` and `stream_chat` look into the cache; the rest is passed on.

    It stands outside of what repeats and falls over: `model` is the name
    that was asked for, "hint:fast" included; what is asked without a name
    is not kept. `scope` tells apart answers
    of one model name from different places (a provider's name or URL). An
    answer that `clean` would change is not kept.
    """

    def __init__(self, provider: Provider, cache: ResponseCache,
                 notify: Callable[[str], None] = ignore_notice, *,
                 scope: str = "", clean: Callable[[str], str] = str
                 ) -> None:
        super().__init__(provider)
        self._clean = clean
        self._cache = cache
        self._notify = notify
        self._scope = scope
        self._said: set[str] = set()

    async def simple_chat(self, message: str, model: str,
                          temperature: float) -> str:
        return await self.inner.simple_chat(message, model, temperature)

    async def chat_with_system(self, system_prompt: str | None, message: str,
                               model: str, temperature: float) -> str:
        return await self.inner.chat_with_system(system_prompt, message,
                                                 model, temperature)

    async def chat_with_history(self, messages: Sequence[ChatMessage],
                                model: str, temperature: float) -> str:
        return await self.inner.chat_with_history(messages, model,
                                                  temperature)

    async def aclose(self) -> None:
        try:
            await super().aclose()
        finally:
            await self._try(self._cache.close)

    # -- looked up

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        key = self._key(request, model, temperature)
        found = await self._look(key)
        if found is not None:
            return _again(found, model)
        response = await self.inner.chat(request, model, temperature)
        await self._keep(key, model, response)
        return response

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        key = self._key(request, model, temperature)
        found = await self._look(key)
        if found is not None:
            yield StreamChunk(found.response, token_count=found.token_count)
            yield StreamChunk(is_final=True, response=_again(found, model))
            return
        async with close_stream(self.inner.stream_chat(
                request, model, temperature)) as chunks:
            async for chunk in chunks:
                if chunk.is_final:  # who reads it may read no more
                    await self._keep(key, model, chunk.response)
                yield chunk

    def _key(self, request: ChatRequest, model: str,
             temperature: float) -> str | None:
        return request_key(request, model, self._scope) \
            if temperature == 0.0 and model else None

    async def _look(self, key: str | None) -> CachedAnswer | None:
        if key is None:
            return None
        found = await self._try(self._cache.get, key)
        if found is not None:
            await self._try(self._cache.touch, key)
        return found

    async def _keep(self, key: str | None, model: str,
                    response: ChatResponse | None) -> None:
        if key is None or response is None or not is_final_text(response):
            return
        text = response.text or ""
        if self._clean(text) != text:
            return
        used = response.usage and response.usage.output_tokens
        await self._try(self._cache.put, key, model, text,
                        used or estimate_tokens(text))

    async def _try(self, work: Callable[..., T], *args: Any) -> T | None:
        """What the cache gives, on a thread; None, said once, where it
        fails."""
        try:
            return await asyncio.to_thread(work, *args)
        except ClawError as error:
            if error.kind not in self._said:
                self._said.add(error.kind)
                self._notify("the response cache was passed over: "
                             f"{error.message}")
            return None


def request_key(request: ChatRequest, model: str,
                scope: str = "") -> str | None:
    """What an answer is kept under: lower-hex SHA-256. None for a request
    whose answer depends on more than it says (an image somewhere else).

    One user message, with or without a system prompt, gives the hash of
    "model|system|message". Anything more, and a "|" that would make two
    requests one, gives the hash of all of it.
    """
    if any(_IMAGE in each.content.replace(_INLINE, "")
           for each in request.messages):
        return None
    plain = None if scope else _plain(request)
    if plain is not None and "|" not in model + plain[0]:
        return _hash(f"{model}|{plain[0]}|{plain[1]}")
    try:
        return _hash("claw|" + json.dumps([
            model, scope, request.max_tokens, request.response_schema,
            *([dict(request.options)] if request.options else []),
            [[each.role, each.content] for each in request.messages],
            request.tools and [[tool.name, tool.description, tool.parameters]
                               for tool in request.tools],
            [[each.source, each.text] for each in request.passages]]))
    except (TypeError, ValueError, RecursionError):
        return None  # a schema that is no JSON


def _plain(request: ChatRequest) -> tuple[str, str] | None:
    """System prompt and message, where there is nothing else."""
    roles = [message.role for message in request.messages]
    if roles not in (["user"], ["system", "user"]) or request.tools \
            or request.passages or request.options \
            or request.max_tokens is not None \
            or request.response_schema is not None:
        return None
    *system, user = (message.content for message in request.messages)
    return "".join(system), user


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_final_text(response: ChatResponse) -> bool:
    """Whether this is all that the model has to say: text that was not cut
    off, without calls."""
    text = response.text or ""
    reason = response.finish_reason and response.finish_reason.lower()
    if response.tool_calls or reason not in _WHOLE or not text.strip() \
            or len(text) > MAX_CHARS:
        return False
    lowered = text.lower()
    return not any(sign in lowered for sign in _CALLS)


def _again(found: CachedAnswer, model: str) -> ChatResponse:
    """A kept answer; giving it again took no tokens."""
    return ChatResponse(found.response, usage=TokenUsage(0, 0), model=model,
                        finish_reason="stop")
