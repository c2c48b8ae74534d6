"""What providers around others pass on."""

import asyncio

import pytest

from claw.core.errors import AuthError, UnavailableError
from claw.core.provider import (
    ChatProvider,
    ChatResponse,
    StreamChunk,
    WrappedProvider,
    close_stream,
)
from claw.providers.resilience.several import Several, sees
from claw.testing.scripted import ScriptedProvider


class Plain(WrappedProvider, ChatProvider):
    async def chat(self, request, model, temperature):
        return ChatResponse("")


class Noted(ChatProvider):
    """Writes down what was done to it; `fails` is raised after that."""

    def __init__(self, name, done, fails=None, vision=False):
        self.name, self.done, self.fails = name, done, fails
        self.vision = vision

    async def chat(self, request, model, temperature):
        return ChatResponse("")

    def supports_vision(self):
        return self.vision

    async def warmup(self):
        await self._note("warm")

    async def aclose(self):
        await self._note("closed")

    async def _note(self, what):
        self.done.append((self.name, what))
        if self.fails:
            raise self.fails


class Pair(Several):
    def __init__(self, *providers):
        self.providers = providers

    async def chat(self, request, model, temperature):
        return ChatResponse("")

    def first(self):
        return self.providers[0]

    def makers(self):
        return [lambda p=p: p for p in self.providers]

    def list_made(self):
        return self.providers


@pytest.mark.parametrize("flags", [
    {"native_tools": False, "vision": False},
    {"native_tools": True, "vision": False},
    {"native_tools": False, "vision": True, "models": ("a", "b")}])
def test_a_wrapper_can_what_its_provider_can(flags):
    inner = ScriptedProvider(["x"], **flags)
    outer = Plain(inner)

    assert (outer.name, outer.inner) == (inner.name, inner)
    assert outer.capabilities() == inner.capabilities()
    assert outer.capabilities_for("m") == inner.capabilities()
    assert outer.supports_native_tools() is flags["native_tools"]
    assert outer.supports_vision() is flags["vision"]
    assert outer.supports_streaming() is inner.supports_streaming()
    assert outer.convert_tools([]) == inner.convert_tools([])
    assert asyncio.run(outer.models()) == list(flags.get("models", ()))


def test_a_wrapper_warms_and_closes_its_provider():
    done = []
    outer = Plain(Noted("a", done))

    asyncio.run(outer.warmup())
    asyncio.run(outer.aclose())

    assert done == [("a", "warm"), ("a", "closed")]


def test_several_are_warmed_whatever_fails():
    done = []
    asyncio.run(Pair(Noted("a", done, UnavailableError("no")),
                     Noted("b", done, OSError())).warmup())

    assert done == [("a", "warm"), ("b", "warm")]


def test_several_are_all_closed_and_the_first_failure_is_told():
    done, first = [], UnavailableError("first")
    with pytest.raises(UnavailableError) as caught:
        asyncio.run(Pair(Noted("a", done, first), Noted("b", done),
                         Noted("c", done, OSError("second"))).aclose())

    assert caught.value is first
    assert done == [(name, "closed") for name in "abc"]


@pytest.mark.parametrize(("seeing", "expected"), [
    ((False, False), False), ((False, True), True), ((True, False), True)])
def test_several_see_where_any_sees(seeing, expected):
    pair = Pair(*(ScriptedProvider([], vision=v) for v in seeing))

    assert pair.supports_vision() is expected
    assert pair.supports_streaming() is pair.first().supports_streaming()


def test_one_that_can_not_be_made_does_not_see():
    def missing():
        raise AuthError("no key")

    assert not sees(missing)
    assert sees(lambda: Noted("a", [], vision=True))


def test_a_stream_left_early_is_closed_at_once():
    done = []

    async def stream():
        try:
            yield StreamChunk("a")
            yield StreamChunk("b")
        finally:
            done.append("closed")

    async def leave():
        async with close_stream(stream()) as chunks:
            async for chunk in chunks:
                done.append(chunk.delta)
                break
        done.append("after")

    asyncio.run(leave())

    assert done == ["a", "closed", "after"]
