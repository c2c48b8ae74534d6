"""An answer says who gave it, an error how often was asked."""

import asyncio

import pytest

from claw.core.errors import OverloadedError, RequestRefusedError
from claw.core.ledger import current_attempt
from claw.core.provider import ChatMessage, ChatRequest, ChatResponse
from claw.providers.factory import Providers
from claw.providers.resilience.reliable import Endpoint, ReliableProvider
from claw.providers.resilience.router import RouterProvider
from claw.testing.scripted import ScriptedProvider

HELLO = ChatRequest([ChatMessage.user("hello")])
BUSY = OverloadedError("it is overloaded", hint="try later", status=503)
REFUSED = RequestRefusedError("no such parameter", status=400)


async def no_sleep(seconds):
    await asyncio.sleep(0)


def named(name, script):
    provider = ScriptedProvider(script)
    provider.name = name
    return provider


def reliable(*endpoints, models=None):
    return ReliableProvider(
        [Endpoint(p.name, f"{p.name}.test", [lambda p=p: p], model)
         for p, model in zip(endpoints, models or [None] * len(endpoints),
                             strict=True)],
        sleep=no_sleep, rng=lambda: 1.0)


def answer(provider, *, stream, model="m"):
    async def go():
        if not stream:
            return await provider.chat(HELLO, model, 0.5)
        return [c async for c in provider.stream_chat(
            HELLO, model, 0.5)][-1].response
    return asyncio.run(go())


both = pytest.mark.parametrize("stream", [False, True])


@both
def test_the_first_choice_says_nothing_of_itself(stream):
    response = answer(reliable(named("a", ["hi"])), stream=stream)

    assert response.provider is None
    assert response.model == "m"


@both
def test_who_stood_in_is_named_with_its_model(stream):
    both_ways = reliable(named("a", [REFUSED]), named("b", ["hi"]),
                         models=[None, "own"])
    response = answer(both_ways, stream=stream)

    assert (response.text, response.provider, response.model) == (
        "hi", "b", "own")


@both
def test_a_model_that_says_its_name_keeps_it(stream):
    response = answer(reliable(named("a", [
        ChatResponse("hi", model="m-2026")])), stream=stream)

    assert response.model == "m-2026"


@both
def test_a_route_names_its_provider(stream):
    router = RouterProvider(
        [("default", named("a", ["no"])), ("b", named("b", ["hi"]))],
        {"fast": (1, "small")})

    assert answer(router, stream=stream, model="hint:fast").provider == "b"
    assert answer(router, stream=stream).provider is None


@both
def test_one_failing_server_is_one_sentence(stream):
    with pytest.raises(OverloadedError) as caught:
        answer(reliable(named("a", [BUSY] * 3)), stream=stream)

    assert caught.value.message == "it is overloaded (asked 3 times)"
    assert caught.value.hint == "try later"
    assert caught.value.__cause__ is BUSY
    assert BUSY.message == "it is overloaded"


def test_each_try_has_its_number():
    numbers = []

    def noted(step):
        def play(_):
            numbers.append(current_attempt.get())
            return step
        return play
    provider = reliable(named("a", [noted(BUSY), noted(REFUSED)]),
                        named("b", [noted("hi")]))

    answer(provider, stream=False)

    assert numbers == [1, 2, 3]


def test_all_providers_of_a_process_share_what_is_known_of_servers():
    providers = Providers(env={"GROQ_API_KEY": "gsk_1"})
    first = providers.create_resilient("groq")
    second = providers.create_resilient("groq")

    assert first.policy.breaker is second.policy.breaker
    assert first.policy.breaker is not Providers().create_resilient(
        "ollama").policy.breaker
