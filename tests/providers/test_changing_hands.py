"""One conversation that is handed from vendor to vendor and back: each
request is valid for its vendor, and no vendor sees another's thoughts."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from claw.agent.dispatchers.native import NativeDispatcher
from claw.agent.history import (
    Chat,
    ToolResults,
    decode,
    encode,
    repair,
    trim_history,
)
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolCall,
    ToolResultMessage,
    decode_tool_calls,
    decode_tool_result,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.providers.factory import Providers
from claw.providers.settings import NamedProviderSettings, ProviderSettings
from claw.testing import fake_anthropic_answers, fake_gemini
from claw.testing.fake_anthropic import FakeAnthropic
from claw.testing.fake_anthropic_rules import complaint
from claw.testing.fake_gemini import FakeGemini
from claw.testing.fake_ollama import FakeOllama, Model
from claw.testing.fake_openai import FakeOpenAI, Reply
from claw.wiring.ask.api import ask

anthropic = pytest.importorskip("anthropic")
genai = pytest.importorskip("google.genai")
openai = pytest.importorskip("openai")
pydantic = pytest.importorskip("pydantic")

PNG = ("[IMAGE:data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAA"
       "AfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==]")
TOOL = ToolSpec("look", "Looks.", closed_object(at=string("what")))
ARGUMENTS = '{"at": "it"}'
TOLD = f'<tool_call>{{"name": "look", "arguments": {ARGUMENTS}}}</tool_call>'
SIGNATURE = "c2lnbmVkLWJ5LWdlbWluaQ=="
WIRES = ("anthropic", "gemini", "responses", "chat", "compatible", "deepseek",
         "ollama", "told")


def secret(wire: str) -> str:
    """What only this vendor's model thought."""
    return f"thought-of-{wire}"


def replies(wire: str) -> list[Any]:
    """A thought with a call, then words."""
    calls = (("look", ARGUMENTS),)
    if wire == "anthropic":
        return [fake_anthropic_answers.Reply(
            "I look.", tool_calls=calls, thinking=secret(wire)), "Seen."]
    if wire == "gemini":
        return [fake_gemini.Reply((
            {"text": secret(wire), "thought": True}, {"text": "I look."},
            fake_gemini.call_part("look", {"at": "it"},
                                  signature=SIGNATURE))), "Seen."]
    if wire == "told":
        return [Reply(f"<think>{secret(wire)}</think>I look.\n{TOLD}"),
                "Seen."]
    return [Reply("I look.", tool_calls=calls, reasoning=secret(wire)),
            "Seen."]


FAKES = {"anthropic": FakeAnthropic, "gemini": FakeGemini,
         "ollama": partial(FakeOllama, models=[Model(
             "m", tools=True, vision=True, thinking=True)])}


@contextmanager
def vendor(wire: str, answers: list[Any] | None = None
           ) -> Iterator[tuple[Any, Any]]:
    """A vendor's double, and its provider."""
    given = replies(wire) if answers is None else answers
    with FAKES.get(wire, FakeOpenAI)(given) as server:
        kind = {"responses": "openai", "chat": "openai"}.get(wire, wire)
        named = {}
        if kind in ("compatible", "told"):
            kind = f"custom:{server.url}"
            named = {kind: NamedProviderSettings(native_tools=wire != "told")}
        elif wire in ("chat", "responses"):
            named = {"openai": NamedProviderSettings(
                base_url=server.url, wire_api="chat_completions"
                if wire == "chat" else "responses")}
        url = None if named else server.url
        provider = Providers(
            ProviderSettings(default_provider=kind, api_url=url), named,
        ).create(kind, "key")
        yield server, provider


async def asks(provider, messages, *, stream, tools=True):
    request = ChatRequest(messages, tools=[TOOL] if tools else None)
    if not stream:
        return await provider.chat(request, "m", 0.5)
    chunks = [c async for c in provider.stream_chat(request, "m", 0.5)]
    return chunks[-1].response


def said(response) -> ChatMessage:
    if not response.tool_calls:
        return ChatMessage.assistant(response.text or "")
    return encode_tool_calls(AssistantToolCalls(
        response.text, response.tool_calls, response.reasoning_content,
        response.replay))


def results_of(response) -> list[ChatMessage]:
    """What the tool gave; to a model that was told of it, in words."""
    if not response.tool_calls:
        assert TOLD in response.text
        return [ChatMessage.user("<tool_result>a cat</tool_result>")]
    assert [c.name for c in response.tool_calls] == ["look"]
    return [encode_tool_result(ToolResultMessage(c.id, "a cat"))
            for c in response.tool_calls]


def hand(wire, messages, *, stream=False):
    """A tool round and an answer by this vendor: the messages with it, and
    what the vendor was sent."""
    async def work():
        talk = [*messages, ChatMessage.user(f"{PNG} and now?")]
        with vendor(wire) as (server, provider):
            try:
                first = await asks(provider, talk, stream=stream)
                talk += [said(first), *results_of(first)]
                second = await asks(provider, talk, stream=stream)
                talk.append(said(second))
            finally:
                await provider.aclose()
            return talk, bodies(server)
    return asyncio.run(work())


def bodies(server) -> list[Any]:
    return [r.body for r in server.requests
            if r.method == "POST" and r.path != "/api/show"]


# what each vendor takes

def valid(wire: str, body: Any) -> None:
    """Raises where the vendor would refuse it."""
    {"anthropic": _anthropic, "gemini": _gemini, "responses": _responses,
     "ollama": _ollama}.get(wire, _chat)(body)


def _anthropic(body: Any) -> None:
    assert complaint(body) is None, complaint(body)


def _gemini(body: Any) -> None:
    contents = pydantic.TypeAdapter(list[genai.types.Content])
    contents.validate_python(body["contents"])
    asked: list[str] = []
    for content in body["contents"]:
        parts = content["parts"]
        assert parts
        results = [p["functionResponse"] for p in parts
                   if "functionResponse" in p]
        assert [r["name"] for r in results] == asked
        asked = [p["functionCall"]["name"] for p in parts
                 if "functionCall" in p]
        assert content["role"] == ("model" if asked else content["role"])
    assert not asked
    assert body["contents"][0]["role"] == "user"


CHAT_MESSAGES = {
    role: pydantic.TypeAdapter(getattr(
        openai.types.chat, f"ChatCompletion{role.title()}MessageParam"))
    for role in ("system", "user", "assistant", "tool")}


def _chat(body: Any) -> None:
    asked: list[str] = []
    for message in body["messages"]:
        CHAT_MESSAGES[message["role"]].validate_python(message)
        if message["role"] == "tool":
            asked.remove(message["tool_call_id"])
            continue
        assert not asked
        asked = [c["id"] for c in message.get("tool_calls") or []]
        assert len(set(asked)) == len(asked)
        assert all(c["function"]["name"] for c in
                   message.get("tool_calls") or [])
        assert message.get("content") is not None or asked
    assert not asked


def _responses(body: Any) -> None:
    pydantic.TypeAdapter(
        openai.types.responses.ResponseInputParam).validate_python(
            body["input"])
    asked: list[str] = []
    for item in body["input"]:
        if item.get("type") == "function_call":
            assert item["call_id"] not in asked
            asked.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            asked.remove(item["call_id"])
    assert not asked


def _ollama(body: Any) -> None:
    asked: list[str] = []
    for message in body["messages"]:
        assert message["role"] in ("system", "user", "assistant", "tool")
        if message["role"] == "tool":
            assert message["tool_name"] in asked
            asked.remove(message["tool_name"])
            continue
        assert not asked
        asked = [c["function"]["name"]
                 for c in message.get("tool_calls") or []]
    assert not asked


# in order and back

@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("order", [WIRES, WIRES[::-1]])
def test_a_conversation_goes_round_all_vendors_and_back(order, stream):
    messages = [ChatMessage.system("Be short.")]
    for wire in (*order, order[0]):
        messages, sent = hand(wire, messages, stream=stream)
        assert len(sent) == 2
        for body in sent:
            valid(wire, body)


# What only its maker can read, and who takes thoughts in plain words from
# any model.
MARKS = {"anthropic": '"signature"', "gemini": SIGNATURE,
         "responses": '"sealed"'}
SHOWN = ("compatible", "deepseek", "ollama", "told")


@pytest.mark.each("stream", [False, True])
@pytest.mark.each(("first", "second"), [
    (first, second) for first, second in itertools.permutations(WIRES, 2)
    if first in MARKS or second not in SHOWN])
def test_no_vendor_sees_the_thoughts_of_another(first, second, stream):
    messages, _ = hand(first, [], stream=stream)
    _, sent = hand(second, messages, stream=stream)

    seen = json.dumps(sent)
    assert first not in MARKS or MARKS[first] not in seen
    if second not in SHOWN:
        assert secret(first) not in seen


@pytest.mark.parametrize("wire", ["anthropic", "gemini", "responses",
                                  "deepseek"])
def test_who_thought_is_shown_it_again(wire):
    messages, sent = hand(wire, [])
    between, _ = hand("compatible", messages)
    _, later = hand(wire, between)

    mark = secret(wire) if wire == "deepseek" else MARKS[wire]
    assert mark not in json.dumps(sent[0])
    assert mark in json.dumps(sent[1])
    assert mark in json.dumps(later[0])


# conversations that something happened to, as the agent hands them on

def kept(messages, limit: int = 1000) -> list[ChatMessage]:
    """The messages out of a session, in order again, the newest so
    many."""
    items: list[Any] = []
    for message in messages:
        calls = decode_tool_calls(message)
        if message.role == "tool":
            last = items[-1].results if items and isinstance(
                items[-1], ToolResults) else ()
            if last:
                items.pop()
            items.append(ToolResults((*last, decode_tool_result(message))))
        else:
            items.append(calls or Chat(message))
    return NativeDispatcher().to_provider_messages(repair(
        trim_history([decode(encode(item)) for item in items], limit)))


def call(call_id, name="look", arguments=ARGUMENTS):
    return ToolCall(call_id, name, arguments)


def round_of(*calls, text="I look."):
    return encode_tool_calls(AssistantToolCalls(text, calls))


def result(call_id, text="a cat"):
    return encode_tool_result(ToolResultMessage(call_id, text))


USER, ANSWER = ChatMessage.user("look"), ChatMessage.assistant("A cat.")
ODD = {
    "an id again later": [USER, round_of(call("c")), result("c"), ANSWER,
                          USER, round_of(call("c")), result("c")],
    "a result under another id": [USER, round_of(call("c")), result("d")],
    "a foreign tool message": [USER, round_of(call("c")),
                               ChatMessage.tool("just words")],
    "no result": [USER, round_of(call("a"), call("b")), result("b")],
    "no result at all": [USER, round_of(call("a"))],
    "no result, then words": [USER, round_of(call("a")), ANSWER, USER],
    "results in another order": [USER, round_of(call("a"), call("b")),
                                 result("b"), result("a")],
    "a result twice": [USER, round_of(call("a")), result("a"), result("a")],
    "cut inside of a round": [result("a"), ANSWER, USER],
    "cut before the question": [round_of(call("a")), result("a"), USER],
    "begins with an answer": [ANSWER, USER],
    "a system message in the middle": [
        USER, ANSWER, ChatMessage.system("Now in French."), USER],
    "a system message in a round": [
        USER, round_of(call("a")), ChatMessage.system("Careful."),
        result("a")],
    "words in a round": [USER, round_of(call("a"), call("b")), result("a"),
                         USER, result("b")],
    "system alone": [ChatMessage.system("Be short.")],
    "two questions": [USER, USER],
    "two answers": [USER, ANSWER, ANSWER, USER],
    "an empty answer": [USER, ChatMessage.assistant(""), USER],
    "an empty question": [ChatMessage.user(""), USER],
    "an empty result": [USER, round_of(call("a")), result("a", "")],
    "no words with the call": [USER, round_of(call("a"), text=None),
                               result("a")],
    "arguments that are no JSON": [
        USER, round_of(call("a", arguments='{"at": ')), result("a")],
    "arguments that are no object": [
        USER, round_of(call("a", arguments="[1]")), result("a")],
    "an odd id": [USER, round_of(call("call|x:1/é" * 20)),
                  result("call|x:1/é" * 20)],
    "an odd name": [USER, round_of(call("a", name="mcp.look now")),
                    result("a")],
    "a tool that is gone": [USER, round_of(call("a", name="gone")),
                            result("a")],
    "a replay of someone": [USER, encode_tool_calls(AssistantToolCalls(
        "I look.", (call("a"),), "hm", '{"by": "someone", "x": 1}')),
        result("a")],
    "a replay that is none": [USER, encode_tool_calls(AssistantToolCalls(
        "I look.", (call("a"),), "hm", "nonsense")), result("a")],
    "an image in a result": [USER, round_of(call("a")), result("a", PNG)],
}


@pytest.mark.each("tools", [True, False])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.each("messages", ODD.values(), ids=list(ODD))
def test_an_odd_conversation_is_a_valid_request(messages, wire, tools):
    async def work():
        with vendor(wire, ["Seen."]) as (server, provider):
            try:
                answer = await asks(provider, kept(messages),
                                    stream=False, tools=tools)
            finally:
                await provider.aclose()
            return answer, bodies(server)
    answer, sent = asyncio.run(work())

    assert answer.text == "Seen."
    for body in sent:
        valid(wire, body)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.each("limit", [1, 2, 3, 4, 5, 7])
def test_a_history_that_was_trimmed_is_a_valid_request(wire, limit):
    messages = [ChatMessage.system("Be short.")]
    for first in ("anthropic", "responses", "chat"):
        messages, _ = hand(first, messages)
    talk = kept(messages[:-1], limit)  # in mid-round
    assert len(talk) < len(messages) - 1
    _, sent = hand(wire, [*talk, ChatMessage.assistant("A cat.")])

    for body in sent:
        valid(wire, body)


def test_a_session_keeps_what_a_vendor_wants_to_see_again(tmp_path,
                                                          monkeypatch):
    """Thoughts of Claude come back to it after another model answered."""
    monkeypatch.setenv("CLAW_API_KEY", "key")
    answers = [fake_anthropic_answers.Reply(
        tool_calls=(("memory_recall", '{"query": "cats"}'),),
        thinking=secret("anthropic")), "Seen."]
    with FakeAnthropic([*answers, "Again."]) as claude, \
            FakeOpenAI(["Other."]) as other:
        def asked(provider):
            return ask("and now?", provider=provider, model="m",
                       session="s", tools=["memory_recall"],
                       workspace=str(tmp_path / "workspace"),
                       config_dir=str(tmp_path))["text"]
        assert asked(f"anthropic-custom:{claude.url}") == "Seen."
        assert asked(f"custom:{other.url}") == "Other."
        assert asked(f"anthropic-custom:{claude.url}") == "Again."

        shown, = bodies(other)
        valid("compatible", shown)
        assert MARKS["anthropic"] not in json.dumps(shown)
        *_, last = bodies(claude)
        valid("anthropic", last)
        assert MARKS["anthropic"] in json.dumps(last)
        assert secret("anthropic") in json.dumps(last)
