"""Hints lead to providers and models."""

import asyncio

import pytest

from claw.core.errors import UnavailableError
from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    ProviderCapabilities,
    StreamChunk,
)
from claw.core.tool import ToolSpec, closed_object
from claw.providers.resilience.router import RouterProvider
from claw.testing.scripted import ScriptedProvider

HELLO = ChatRequest([ChatMessage.user("hello")])


def routed(**more):
    first = ScriptedProvider(native_tools=False, models=["a"])
    second = ScriptedProvider(vision=True)
    heard = []
    router = RouterProvider(
        [("first", first), ("second", second)],
        {"fast": (0, "small"), "reasoning": (1, "large")},
        notify=heard.append, **more)
    return router, first, second, heard


def run(work):
    return asyncio.run(work)


@pytest.mark.parametrize(("model", "expected"), [
    ("hint:fast", (0, "small")), ("hint:reasoning", (1, "large")),
    ("gpt-4o", (0, "gpt-4o")), ("", (0, "")), ("Hint:fast", (0, "Hint:fast")),
    ("hint:", (0, "hint:")), ("hint:nothing", (0, "hint:nothing")),
    ("hint:fast ", (0, "hint:fast ")), ("x hint:fast", (0, "x hint:fast")),
])
def test_where_a_model_leads(model, expected):
    assert routed()[0].resolve(model) == expected


def test_the_default_may_be_another_one():
    router, *_ = routed(default_index=1)

    assert router.resolve("gpt-4o") == (1, "gpt-4o")
    assert router.resolve("hint:fast") == (0, "small")


def test_an_unknown_hint_is_told_once_with_the_nearest_known():
    router, first, _, heard = routed()

    for _ in range(3):
        run(router.chat(HELLO, "hint:reasonin", 0.5))

    assert [asked.model for asked in first.requests] == ["hint:reasonin"] * 3
    (line,) = heard
    assert "hint:reasonin" in line
    assert 'did you mean "hint:reasoning"?' in line
    router.resolve("hint:zzz")
    assert len(heard) == 2
    assert "did you mean" not in heard[1]


def test_chats_and_streams_go_where_the_hint_leads():
    router, first, second, heard = routed()

    async def stream():
        return [c async for c in router.stream_chat(
            HELLO, "hint:reasoning", 0.5)]
    chunks = run(stream())
    run(router.chat(HELLO, "hint:fast", 0.1))

    assert chunks[-1].response.text == "hello"
    assert [(a.model, a.streamed) for a in second.requests] == [
        ("large", True)]
    assert [(a.model, a.temperature) for a in first.requests] == [
        ("small", 0.1)]
    assert heard == []


def test_a_stream_that_is_left_is_closed_at_once():
    router, _, second, _ = routed()
    closed = []

    async def stream_chat(*_):
        try:
            for text in "abc":
                yield StreamChunk(text)
        finally:
            closed.append(True)
    second.stream_chat = stream_chat

    async def leave():
        stream = router.stream_chat(HELLO, "hint:reasoning", 0.5)
        async for _ in stream:
            break
        await stream.aclose()
        return list(closed)

    assert run(leave()) == [True]


def test_tools_are_the_defaults_and_sight_is_anybodys():
    router, first, *_ = routed()
    tools = [ToolSpec("t", "a tool", closed_object())]

    assert router.capabilities() == ProviderCapabilities(vision=True)
    assert router.convert_tools(tools) == first.convert_tools(tools)
    assert router.supports_streaming()
    assert run(router.models()) == ["a"]
    assert router.hints == ["fast", "reasoning"]


@pytest.mark.parametrize(("model", "expected"), [
    ("gpt-4o", ProviderCapabilities()),
    ("hint:fast", ProviderCapabilities()),
    ("hint:reasoning", ProviderCapabilities(True, True)),
])
def test_a_model_can_do_what_its_route_can(model, expected):
    router, *_ = routed()

    assert router.capabilities_for(model) == expected


def test_warming_up_ignores_failures_and_closing_reaches_all():
    router, first, second, _ = routed()

    async def warmup():
        raise UnavailableError("not now")

    async def aclose():
        raise UnavailableError("stuck")
    first.warmup, first.aclose = warmup, aclose
    run(router.warmup())
    with pytest.raises(UnavailableError, match="stuck"):
        run(router.aclose())

    assert second.closed


def test_a_route_to_nowhere_can_not_be_built():
    with pytest.raises(ValueError, match="number 3"):
        RouterProvider([("a", ScriptedProvider())], {"x": (3, "m")})
