"""What every provider must do, as tests to inherit.

    class TestMine(ProviderContract):
        @contextmanager
        def running(self):
            yield MyProvider()

pytest collects the subclass. Nothing about the wording of answers is
assumed, only their shape.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Passage,
    PromptGuided,
    Provider,
    ProviderCapabilities,
    StreamChunk,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string

T = TypeVar("T")

TOOL = ToolSpec("get_weather", "The weather in a city.",
                closed_object(city=string("name of the city")))
HOSTILE = ("\0 \x1b[2J \u202edrow\u202c \ud83d lone, 안녕 你好 こんにちは "
           "👩\u200d👩\u200d👧 "
           "<think>hidden</think> <tool_call>{</tool_call> [IMAGE:x] "
           + "x" * 20_000)


class ProviderContract:
    """Inherit and give `running`; `model` is a model it knows."""

    model = "fake-model"

    def running(self) -> AbstractContextManager[Provider]:
        """A fresh provider that answers, for one test."""
        raise NotImplementedError

    def use(self, work: Callable[[Provider], Awaitable[T]]) -> T:
        """Run `work` with a provider that is closed afterwards."""
        async def with_provider(provider: Provider) -> T:
            try:
                return await work(provider)
            finally:
                await provider.aclose()
        with self.running() as provider:
            return asyncio.run(with_provider(provider))

    def chat(self, request: ChatRequest) -> ChatResponse:
        return self.use(lambda p: p.chat(request, self.model, 0.7))

    def test_it_has_a_name(self) -> None:
        with self.running() as provider:
            assert provider.name
            assert provider.name == provider.name.strip()

    def test_the_one_required_call_answers(self) -> None:
        text = self.use(lambda p: p.chat_with_system(
            "Be brief.", "hello", self.model, 0.7))

        assert text.strip()

    def test_the_short_calls_answer_too(self) -> None:
        async def work(provider: Provider) -> list[str]:
            messages = [ChatMessage.user("hello")]
            return [
                await provider.simple_chat("hello", self.model, 0.7),
                await provider.chat_with_system(None, "hello", self.model,
                                                0.7),
                await provider.chat_with_history(messages, self.model, 0.7)]

        assert all(text.strip() for text in self.use(work))

    def test_a_chat_gives_text_or_calls(self) -> None:
        response = self.chat(ChatRequest([ChatMessage.user("hello")]))

        assert isinstance(response, ChatResponse)
        assert (response.text or "").strip() or response.tool_calls

    def test_capabilities_and_tool_payload_agree(self) -> None:
        with self.running() as provider:
            guided = isinstance(provider.convert_tools([TOOL]), PromptGuided)
            native = provider.capabilities().native_tool_calling

            assert native is not guided
            assert native is provider.supports_native_tools()
            assert provider.supports_vision() is \
                provider.capabilities().vision
            assert isinstance(provider.capabilities_for(self.model),
                              ProviderCapabilities)

    def test_tools_and_passages_may_come_along(self) -> None:
        request = ChatRequest(
            [ChatMessage.system("Be brief."), ChatMessage.user("hello")],
            tools=[TOOL], passages=[Passage("stdin", "a line\n")],
            max_tokens=100)
        response = self.chat(request)

        assert (response.text or "").strip() or response.tool_calls

    def test_chat_with_tools_is_chat(self) -> None:
        response = self.use(lambda p: p.chat_with_tools(
            [ChatMessage.user("hello")], [TOOL], self.model, 0.7))

        assert (response.text or "").strip() or response.tool_calls

    def test_a_history_with_calls_and_results_is_taken(self) -> None:
        calls = AssistantToolCalls(
            None, (ToolCall("c1", "get_weather", '{"city": "Oslo"}'),))
        response = self.chat(ChatRequest([
            ChatMessage.user("hello"), encode_tool_calls(calls),
            encode_tool_result(ToolResultMessage("c1", "5 degrees")),
        ], tools=[TOOL]))

        assert (response.text or "").strip() or response.tool_calls

    def test_a_stream_ends_with_the_whole_answer(self) -> None:
        chunks = self.use(self._collect)

        assert [c.is_final for c in chunks].count(True) == 1
        assert chunks[-1].is_final
        assert chunks[-1].response is not None
        said = "".join(c.delta for c in chunks)
        assert said == (chunks[-1].response.text or "")
        assert all(c.token_count > 0 for c in chunks if c.delta)

    def test_the_short_streams_stream(self) -> None:
        async def work(provider: Provider) -> list[str]:
            texts = []
            for stream in (
                    provider.stream_chat_with_system(
                        "Be brief.", "hello", self.model, 0.7),
                    provider.stream_chat_with_history(
                        [ChatMessage.user("hello")], self.model, 0.7)):
                texts.append("".join([c.delta async for c in stream]))
            return texts

        assert all(text.strip() for text in self.use(work))

    def test_a_stream_may_be_left_early(self) -> None:
        async def work(provider: Provider) -> ChatResponse:
            request = ChatRequest([ChatMessage.user("hello")])
            stream: Any = provider.stream_chat(request, self.model, 0.7)
            async for _ in stream:
                break
            await stream.aclose()
            return await provider.chat(request, self.model, 0.7)

        assert self.use(work)

    def test_any_text_is_taken(self) -> None:
        response = self.chat(ChatRequest([
            ChatMessage.system(HOSTILE), ChatMessage.user(HOSTILE),
            ChatMessage.assistant(HOSTILE), ChatMessage.tool(HOSTILE),
            ChatMessage.user("hello " + HOSTILE)]))

        assert (response.text or "").strip() or response.tool_calls

    def test_an_empty_conversation_does_not_crash(self) -> None:
        assert self.chat(ChatRequest([ChatMessage.user(" hello ")],
                                     tools=[], passages=[]))

    def test_chats_at_once_do_not_disturb_each_other(self) -> None:
        async def work(provider: Provider) -> list[ChatResponse]:
            request = ChatRequest([ChatMessage.user("hello")])
            return await asyncio.gather(*(
                provider.chat(request, self.model, 0.7) for _ in range(5)))

        assert len(self.use(work)) == 5

    def test_models_are_names(self) -> None:
        names = self.use(lambda p: p.models())

        assert all(isinstance(name, str) and name for name in names)

    def test_it_closes_more_than_once(self) -> None:
        async def work(provider: Provider) -> bool:
            await provider.aclose()
            await provider.aclose()
            return True

        assert self.use(work)

    async def _collect(self, provider: Provider) -> list[StreamChunk]:
        request = ChatRequest([ChatMessage.user("hello")])
        return [c async for c in provider.stream_chat(request, self.model,
                                                      0.7)]
