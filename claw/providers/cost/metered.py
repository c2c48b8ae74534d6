"""Metered: a provider whose calls stand in the ledger.

It stands around each concrete provider, inside of what repeats and falls
over, so that each real call is one record: answered, failed, cancelled or
left in mid-stream. What a call may cost and did cost: call.py.
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Sequence,
)
from typing import Any

from claw.core.ledger import Ledger
from claw.core.provider import (
    ChatMessage,
    ChatProvider,
    ChatRequest,
    ChatResponse,
    Provider,
    StreamChunk,
    WrappedProvider,
    close_stream,
)
from claw.core.tool import ToolSpec
from claw.providers.connection import ignore_notice
from claw.providers.cost.call import (
    ANSWER_TOKENS,
    MeteredCall,
    Terms,
)
from claw.providers.cost.prices import Prices
from claw.providers.settings import CostSettings


class MeteredProvider(WrappedProvider):
    """`name` is the provider's name in the ledger, `local` says that it
    costs nothing. `limits` are those of [cost], `daily_cents` that of
    [autonomy], 0 for none. `notify` hears of limits that come near and of
    a ledger that can't be written; `said` is what it has heard, for several
    providers that share it. `limits_set`: see Terms."""

    def __init__(self, provider: Provider, *, name: str, local: bool,
                 ledger: Ledger, prices: Prices,
                 limits: CostSettings | None = None, daily_cents: int = 0,
                 notify: Callable[[str], None] = ignore_notice,
                 said: set[str] | None = None,
                 limits_set: bool = False) -> None:
        super().__init__(provider)
        self._terms = Terms(name, local, ledger, prices,
                            limits or CostSettings(), daily_cents, notify,
                            set() if said is None else said, limits_set,
                            getattr(provider, "answer_tokens",
                                    ANSWER_TOKENS))

    def __getattr__(self, name: str) -> Any:
        """What only this kind of provider has (an address, say)."""
        if name == "inner":  # not built yet
            raise AttributeError(name)
        return getattr(self.inner, name)

    # -- calls

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        async with self._call(request, model) as call:
            return await call.answered(
                await self.inner.chat(call.request, model, temperature))

    async def chat_with_tools(self, messages: Sequence[ChatMessage],
                              tools: Sequence[ToolSpec], model: str,
                              temperature: float) -> ChatResponse:
        async with self._call(ChatRequest(messages, tools), model) as call:
            return await call.answered(await self.inner.chat_with_tools(
                messages, tools, model, temperature))

    async def simple_chat(self, message: str, model: str,
                          temperature: float) -> str:
        if type(self.inner).simple_chat is Provider.simple_chat:
            return await self.chat_with_system(None, message, model,
                                               temperature)
        async with self._call(_asked(None, message), model) as call:
            return await call.said(await self.inner.simple_chat(
                message, model, temperature))

    async def chat_with_system(self, system_prompt: str | None, message: str,
                               model: str, temperature: float) -> str:
        request = _asked(system_prompt, message)
        if type(self.inner).chat_with_system \
                is ChatProvider.chat_with_system:
            return await self.chat_with_history(request.messages, model,
                                                temperature)
        async with self._call(request, model) as call:
            return await call.said(await self.inner.chat_with_system(
                system_prompt, message, model, temperature))

    async def chat_with_history(self, messages: Sequence[ChatMessage],
                                model: str, temperature: float) -> str:
        request = ChatRequest(messages)
        if type(self.inner).chat_with_history \
                is ChatProvider.chat_with_history:  # chat counts tokens
            return (await self.chat(request, model, temperature)).text or ""
        async with self._call(request, model) as call:
            return await call.said(await self.inner.chat_with_history(
                messages, model, temperature))

    # Plain functions that return a generator: one generator around another
    # would cost twice, and close the inner one too late.

    def stream_chat(self, request: ChatRequest, model: str,
                    temperature: float) -> AsyncIterator[StreamChunk]:
        return self._stream(request, model, lambda limited:
                            self.inner.stream_chat(limited, model,
                                                   temperature))

    def stream_chat_with_system(
            self, system_prompt: str | None, message: str, model: str,
            temperature: float) -> AsyncIterator[StreamChunk]:
        return self._stream(
            _asked(system_prompt, message), model,
            lambda _: self.inner.stream_chat_with_system(
                system_prompt, message, model, temperature))

    def stream_chat_with_history(
            self, messages: Sequence[ChatMessage], model: str,
            temperature: float) -> AsyncIterator[StreamChunk]:
        return self._stream(
            ChatRequest(messages), model,
            lambda _: self.inner.stream_chat_with_history(
                messages, model, temperature))

    async def _stream(self, request: ChatRequest, model: str,
                      begin: Callable[[ChatRequest],
                                      AsyncIterator[StreamChunk]]
                      ) -> AsyncGenerator[StreamChunk]:
        async with self._call(request, model, streamed=True) as call:
            async with close_stream(begin(call.request)) as chunks:
                async for chunk in chunks:
                    if chunk.delta:
                        call.heard(chunk.delta)
                    if chunk.is_final:  # before it is shown: who reads it
                        await call.ended(chunk.response)  # may read no more
                    yield chunk
            await call.ran_out()

    def _call(self, request: ChatRequest, model: str, *,
              streamed: bool = False) -> MeteredCall:
        return MeteredCall(self._terms, request, model, streamed)


def _asked(system_prompt: str | None, message: str) -> ChatRequest:
    messages = [ChatMessage.user(message)]
    if system_prompt is not None:
        messages.insert(0, ChatMessage.system(system_prompt))
    return ChatRequest(messages)
