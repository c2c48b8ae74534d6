"""The probes: which row fails, and what it says."""

import asyncio

import pytest

from claw.core.errors import (
    AuthError,
    ConfigError,
    ExitCode,
    UnavailableError,
)
from claw.core.provider import ChatResponse, ToolCall
from claw.providers.check import check_provider, not_built, worst
from claw.providers.factory import create_provider
from claw.providers.settings import ProviderSettings
from claw.testing.fake_openai import FakeOpenAI, failure, stalled, tool_call
from claw.testing.scripted import ScriptedProvider


def probe(provider, model="m"):
    async def go():
        try:
            return await check_provider(provider, model)
        finally:
            await provider.aclose()
    return asyncio.run(go())


def against(replies, **server):
    with FakeOpenAI(replies, **server) as fake:
        return probe(create_provider(
            f"custom:{fake.url}",
            settings=ProviderSettings(provider_timeout_secs=0.5)))


def test_a_good_provider_passes_every_probe():
    checks = against(["OK", "OK", tool_call("report_word", word="OK")])

    assert [c.id for c in checks] == ["reach", "key", "model", "answer",
                                      "stream", "tools"]
    assert all(c.ok for c in checks)
    assert checks[4].detail.startswith("first words after ")
    assert checks[4].ms is not None
    assert checks[5].detail == "the model calls them"
    assert worst(checks) is ExitCode.DONE


@pytest.mark.parametrize(("reply", "failed", "code"), [
    (failure(401, "no"), "key", ExitCode.AUTH),
    (failure(404, "no model m"), "model", ExitCode.UNAVAILABLE),
    (failure(429, "slow"), "answer", ExitCode.UNAVAILABLE),
    (failure(500, "oh"), "answer", ExitCode.UNAVAILABLE),
    (stalled(), "reach", ExitCode.UNAVAILABLE),
])
def test_the_row_that_fails_has_the_cause_and_is_the_last(reply, failed,
                                                          code):
    checks = against([reply])

    assert [c.id for c in checks if not c.ok] == [failed]
    assert checks[-1].id == failed
    assert checks[-1].hint
    assert worst(checks) is code


def test_a_server_that_is_down_fails_to_be_reached():
    with FakeOpenAI() as fake:
        pass
    checks = probe(create_provider(f"custom:{fake.url}"))

    assert [(c.id, c.ok) for c in checks] == [("reach", False)]
    assert "connection refused" in checks[0].detail


def test_a_stream_that_breaks_fails_alone():
    checks = against(["OK", stalled(), "no call"])

    assert [c.id for c in checks if not c.ok] == ["stream"]
    assert checks[-1].detail == "accepted, but the model made no call"


def test_the_clock_gives_the_milliseconds():
    ticks = iter(range(100))
    provider = ScriptedProvider(["a", "b", ChatResponse(
        tool_calls=(ToolCall("1", "report_word", "{}"),))])
    checks = asyncio.run(check_provider(
        provider, "m", clock=lambda: next(ticks) / 4))

    assert [c.ms for c in checks if c.ms] == [250, 250, 250]


def test_tools_in_the_prompt_are_told_so():
    checks = probe(ScriptedProvider(["a", "b"], native_tools=False))

    assert checks[-1].detail == "described in the prompt"


@pytest.mark.parametrize(("error", "name", "code"), [
    (ConfigError("no model"), "config", ExitCode.CONFIG),
    (AuthError("no key"), "key", ExitCode.AUTH),
    (UnavailableError("down"), "reach", ExitCode.UNAVAILABLE),
])
def test_a_provider_that_cannot_be_built_is_a_row(error, name, code):
    check = not_built(error)

    assert (check.id, check.ok, check.code) == (name, False, code)
    assert worst([check]) is code
