"""The probes: which row fails, and what it says."""

import asyncio
import base64

import pytest

from claw.core.errors import (
    AuthError,
    ConfigError,
    ExitCode,
    IncompleteAnswerError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    ChatResponse,
    StreamChunk,
    TokenUsage,
    ToolCall,
)
from claw.providers.catalog.info import ModelInfo
from claw.providers.catalog.model_info import ModelInfoFile
from claw.providers.catalog.vendors import Vendor
from claw.providers.check import (
    Check,
    check_provider,
    explain_unbuilt,
    find_worst_code,
)
from claw.providers.connection import Connection
from claw.providers.factory import create_provider
from claw.providers.ollama.provider import OllamaProvider
from claw.providers.settings import ProviderSettings
from claw.providers.wire.messages import split_parts
from claw.testing.fake_ollama import FakeOllama, Model
from claw.testing.fake_openai import FakeOpenAI, failure, stalled, tool_call
from claw.testing.http_server import HttpServer
from claw.testing.http_server import Reply as WireReply
from claw.testing.scripted import ScriptedProvider

NOW = 1_795_176_000.0  # 2026-11-20


def probe(provider, model="m", **more):
    async def go():
        try:
            return await check_provider(provider, model, **more)
        finally:
            await provider.aclose()
    return asyncio.run(go())


def row(checks, name):
    return next(c for c in checks if c.id == name)


def calls(*, text=None, usage=None):
    return ChatResponse(text, (ToolCall("1", "report_word", "{}"),), usage)


def against(replies, **server):
    with FakeOpenAI(replies, **server) as fake:
        return probe(create_provider(
            f"custom:{fake.url}",
            settings=ProviderSettings(provider_timeout_secs=0.5)))


@pytest.mark.parametrize(("model", "hint"), [
    ("gpt-5-mini", None), ("GPT-5:online", None), ("models/gpt-5", None),
    ("gpt-5-min", "near it: gpt-5-mini, gpt-5"),
    ("nosuch", "the list has 2 models, and none of a name like it")])
def test_a_model_that_the_list_lacks_is_told(model, hint):
    with FakeOpenAI(["OK"], models=("gpt-5", "gpt-5-mini")) as fake:
        found = row(probe(create_provider(f"custom:{fake.url}"), model),
                    "model")

    assert found.ok
    assert found.status == ("warn" if hint else "ok")
    assert found.hint == hint


def test_a_good_provider_passes_every_probe():
    checks = against(["OK", "OK", tool_call("report_word", word="OK")])

    assert [c.id for c in checks] == ["reach", "key", "model", "answer",
                                      "stream", "tools", "vision", "usage"]
    assert all(c.ok for c in checks)
    assert checks[4].detail.startswith("first words after ")
    assert checks[4].ms is not None
    assert checks[5].detail == "the model calls them"
    assert checks[6].detail == "images are taken"
    assert checks[7].detail == "tokens are counted: 8 in, 1 out"
    assert find_worst_code(checks) is ExitCode.DONE


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
    assert find_worst_code(checks) is code


def test_a_server_that_is_down_fails_to_be_reached():
    with FakeOpenAI() as fake:
        pass
    checks = probe(create_provider(f"custom:{fake.url}"))

    assert [(c.id, c.ok) for c in checks] == [("reach", False)]
    assert "connection refused" in checks[0].detail


def test_a_stream_that_breaks_fails_alone():
    checks = against(["OK", stalled(), "no call"])

    assert [c.id for c in checks if not c.ok] == ["stream"]
    assert row(checks, "tools").detail == (
        "accepted, but the model made no call")
    assert find_worst_code(checks) is ExitCode.UNAVAILABLE


def test_a_stream_that_never_ends_properly_fails():
    class Endless(ScriptedProvider):
        def supports_streaming(self):
            return True

        async def stream_chat(self, request, model, temperature):
            yield StreamChunk("half")
    checks = probe(Endless(["a", "b", "c"]))

    assert [c.id for c in checks if not c.ok] == ["stream"]
    assert "ended before the answer did" in row(checks, "stream").detail


def test_the_clock_gives_the_milliseconds():
    ticks = iter(range(100))
    provider = ScriptedProvider(["a", "b", ChatResponse(
        tool_calls=(ToolCall("1", "report_word", "{}"),))])
    checks = asyncio.run(check_provider(
        provider, "m", clock=lambda: next(ticks) / 4))

    assert [c.ms for c in checks if c.ms] == [250, 250, 250]


@pytest.mark.parametrize(("said", "detail"), [
    ('<tool_call>{"name": "report_word"}</tool_call>',
     "described in the prompt; the model calls them"),
    ("I would call it.",
     "described in the prompt, but the model made no call"),
])
def test_tools_in_the_prompt_are_told_so(said, detail):
    checks = probe(ScriptedProvider(["a", "b", said], native_tools=False))

    assert row(checks, "tools").detail == detail
    assert row(checks, "tools").ok


def test_what_the_tools_probe_finds_is_remembered():
    model_info = ModelInfoFile(None, lambda: NOW)
    for _ in range(2):
        checks = probe(ScriptedProvider(["a", "b", calls()]),
                       model_info=model_info, address="http://h")

    assert model_info.find("http://h", "m").native_tools is True
    assert row(checks, "tools").detail == (
        "the model calls them (known since 2026-11-20)")


def test_no_call_proves_nothing():
    model_info = ModelInfoFile(None)
    probe(ScriptedProvider(["a", "b", "no"]), model_info=model_info, address="http://h")

    assert model_info.find("http://h", "m") == ModelInfo()


def test_without_an_address_nothing_is_remembered():
    model_info = ModelInfoFile(None)
    probe(ScriptedProvider(["a", "b", calls()]), model_info=model_info)

    assert model_info._known == {}


def test_a_refusal_that_the_provider_learned_is_told():
    """Calls came back, but out of the text."""
    model_info = ModelInfoFile(None)
    model_info.learn("http://h", "m", ModelInfo(False, ("tools",)))
    checks = probe(ScriptedProvider(["a", "b", calls()]),
                   model_info=model_info, address="http://h")

    assert row(checks, "tools").detail.startswith(
        "described in the prompt; the model calls them (known since ")
    assert model_info.find("http://h", "m").native_tools is False


TOLD = '<tool_call>{"name": "report_word"}</tool_call>'


@pytest.mark.parametrize(("answer", "known", "detail"), [
    (calls(), True, "the model calls them"),
    ("no call", False, "described in the prompt; the model calls them"),
    (UnavailableError("tools need --jinja", status=500), False,
     "described in the prompt; the model calls them"),
])
def test_a_local_model_is_tried_with_native_tools_once(answer, known,
                                                       detail):
    model_info = ModelInfoFile(None, lambda: NOW)
    twin = ScriptedProvider([answer])
    told = ["a", "b", TOLD]
    checks = probe(ScriptedProvider(told, native_tools=False),
                   model_info=model_info, address="http://h", native=twin)
    again = probe(ScriptedProvider(told, native_tools=False),
                  model_info=model_info, address="http://h", native=twin)

    assert row(checks, "tools").detail == detail
    assert model_info.find("http://h", "m").native_tools is known
    assert row(again, "tools").detail == f"{detail} (known since 2026-11-20)"
    assert len(twin.requests) == 1


@pytest.mark.parametrize(("error", "ok", "detail"), [
    (RequestRefusedError("images are not supported", status=400), True,
     "the model takes no images"),
    (UnavailableError("provide the mmproj", status=500), True,
     "the model takes no images"),
    (RequestRefusedError("too long", status=400), False, "too long"),
    (UnavailableError("image server down", status=503), False,
     "image server down"),
    (IncompleteAnswerError("broke off"), False, "broke off"),
])
def test_a_model_without_eyes_is_no_failure(error, ok, detail):
    provider = ScriptedProvider(["a", "b", calls(), error], vision=True)
    check = row(probe(provider), "vision")

    assert (check.ok, check.detail) == (ok, detail)
    assert (check.code is ExitCode.DONE) is ok


def test_the_picture_is_one():
    provider = ScriptedProvider(["a", "b", calls(), "Red"], vision=True)
    checks = probe(provider)
    (said,) = provider.requests[-1].messages

    assert row(checks, "vision").detail == "images are taken"
    (part,) = [p for p in split_parts(said.content)
               if p["type"] == "image_url"]
    data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data.endswith(b"IEND" + (0xAE426082).to_bytes(4, "big"))


def test_who_does_not_see_is_not_shown_a_picture():
    provider = ScriptedProvider(["a", "b", calls()])

    assert "vision" not in [c.id for c in probe(provider)]


@pytest.mark.parametrize(("plain", "streamed", "detail"), [
    (TokenUsage(5, 2), TokenUsage(5, 2), "tokens are counted: 5 in, 2 out"),
    (TokenUsage(5, 2), None,
     "tokens are counted: 5 in, 2 out, but not in streams"),
    (None, TokenUsage(5, None),
     "tokens are counted: 5 in, 0 out, but not in answers"),
    (None, None, "tokens are not counted; costs and limits go by estimates"),
])
def test_whether_tokens_are_counted(plain, streamed, detail):
    provider = ScriptedProvider([ChatResponse("a", usage=plain),
                                 ChatResponse("b", usage=streamed), "c"])

    assert probe(provider)[-1] == Check("usage", True, detail)


def test_the_probes_cost_little():
    with FakeOpenAI(["OK"]) as fake:
        probe(create_provider(f"custom:{fake.url}"))

    assert len(fake.chats) == 4
    assert all(c.body["max_tokens"] <= 400 and len(c.raw) < 1000
               for c in fake.chats)


@pytest.mark.parametrize(("model", "detail"), [
    (Model("m", tools=True), "the model calls them"),
    (Model("m"), "described in the prompt; the model calls them"),
])
def test_ollama_says_by_itself_how_tools_go_out(model, detail):
    def call(body):
        return tool_call("report_word", word="OK") if body.get("tools") \
            else TOLD
    with FakeOllama(["OK", "OK", call], [model]) as fake:
        model_info = ModelInfoFile(None)
        checks = probe(OllamaProvider.build(Connection(
            Vendor("ollama", "Ollama", fake.url, local=True,
                   native_tools=False), model_info=model_info)),
            model_info=model_info, address=fake.url)

    assert row(checks, "tools").detail == detail
    assert model_info.find(fake.url, "m").native_tools is (
        True if model.tools else None)


@pytest.mark.parametrize(("error", "name", "code"), [
    (ConfigError("no model"), "config", ExitCode.CONFIG),
    (AuthError("no key"), "key", ExitCode.AUTH),
    (UnavailableError("down"), "reach", ExitCode.UNAVAILABLE),
])
def test_a_provider_that_cannot_be_built_is_a_row(error, name, code):
    check = explain_unbuilt(error)

    assert (check.id, check.ok, check.code) == (name, False, code)
    assert find_worst_code([check]) is code


def test_a_server_that_nobody_asked_is_not_said_to_answer():
    checks = probe(create_provider("anthropic"))

    assert [(c.id, c.ok) for c in checks] == [("key", False)]
    assert checks[0].code is ExitCode.AUTH


@pytest.mark.parametrize(("status", "body", "kind"), [
    (404, "<html><title>404 Not Found</title></html>", "text/html"),
    (404, '{"detail": "Not Found"}', "application/json"),
    (405, "<html><title>405 Not Allowed</title></html>", "text/html"),
    (403, "<html><title>Blocked</title></html>", "text/html"),
    (502, "<html><title>Bad Gateway</title></html>", "text/html"),
    (407, "a login is needed", "text/plain"),
    (302, "", "text/html"),
    (200, "<html><title>Welcome to the hotel</title></html>", "text/html"),
    (200, "It works!", "text/plain"),
    (200, '{"status": "ok"}', "application/json"),
])
def test_what_is_no_api_is_not_said_to_answer(status, body, kind):
    server = HttpServer(lambda _: WireReply(status, body.encode(), kind))
    server.start()
    checks = probe(create_provider(f"custom:http://127.0.0.1:{server.port}"))
    server.stop()

    assert [c.ok for c in checks] == [False]
    assert checks[0].id == ("answer" if body[:1] in ("I", "{")
                            and status == 200 else "reach")
    assert checks[0].code is ExitCode.UNAVAILABLE
    assert checks[0].hint


@pytest.mark.parametrize(("reply", "ids"), [
    (failure(404, "no model m"), ["reach", "model"]),
    (failure(429, "slow"), ["reach", "answer"]),
    (failure(400, "bad request"), ["reach", "answer"]),
    (failure(401, "no"), ["reach", "key"])])
def test_a_refusal_proves_no_key(reply, ids):
    checks = against([reply])

    assert [c.id for c in checks] == ids
    assert "HTTP 4" in checks[0].detail


def test_a_key_that_nobody_set_is_not_said_to_be_accepted():
    with FakeOpenAI(["OK"]) as fake:
        checks = probe(create_provider(f"custom:{fake.url}"), has_key=False)

    assert row(checks, "key").detail == "none is set, and none was asked for"


def test_a_name_that_can_not_be_resolved_fails_to_be_reached():
    checks = probe(create_provider("custom:http://no-such-host.invalid/v1"))

    assert [(c.id, c.ok) for c in checks] == [("reach", False)]
