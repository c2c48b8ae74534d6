"""Calls and function documents of the Berkeley Function Calling Leaderboard
over the wires of the providers.

    git clone --depth 1 https://github.com/ShishirPatil/gorilla
    python bench/function_calls_wires.py \\
        gorilla/berkeley-function-call-leaderboard/bfcl_eval/data [--items 30]

The fake servers of claw.testing play a model that calls what the leaderboard
calls right, by the names that the request offered. Every item is asked plain
and streamed, its stream in pieces of one of six sizes, and with text before
the calls every other time.

    n        answers
    exact    the share whose calls come back: names, values, types, order
    text     the share whose text comes back
    ms       median CPU time of one answer, the server's with it

The second table sends every function document to each vendor: "refused" are
those that the types of its SDK don't take, "schema" those whose parameters
are no JSON Schema of an object, "names" those whose name breaks the vendor's
rule (Ollama has none). Below all four strategies of `clean_schema` are held
against JSON Schema.
"""

import argparse
import asyncio
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anthropic
import jsonschema
import openai
import pydantic
from function_calls import pick, same, share
from function_calls_data import TURNS, WITH, WITHOUT, Item, read_category
from google.genai import types

from claw.agent.rounds.calls import native_call
from claw.core.provider import ChatMessage, ChatRequest, Provider
from claw.core.tool import ToolSpec
from claw.providers.factory import create_provider
from claw.providers.schema import (
    CleaningStrategy,
    clean_schema,
    tool_parameters,
)
from claw.providers.settings import NamedProviderSettings
from claw.testing import (
    fake_anthropic_answers,
    fake_gemini,
    fake_ollama,
    fake_openai,
)
from claw.testing.fake_anthropic import FakeAnthropic
from claw.testing.model_server import ModelServer

SIZES = (1, 2, 3, 7, 40, 10_000)
BEFORE = "I look it up. "
Call = tuple[str, dict[str, Any]]
_SAFE = r"[A-Za-z0-9_-]{1,64}"


class Wire(NamedTuple):
    """A server and the provider that talks to it. `reply` writes text and
    calls, `tools` reads (name, parameters) of a request's body, `check`
    refuses a body that the vendor's types don't take."""

    server: Callable[..., ModelServer]
    reply: Callable[[str, list[Call], int], Any]
    tools: Callable[[Any], list[tuple[str, Any]]]
    check: Callable[[Any], object]
    name: str
    settings: dict[str, Any]
    rule: str = _SAFE


def _openai(text: str, calls: list[Call], size: int) -> Any:
    return fake_openai.Reply(text, tuple(
        (name, json.dumps(arguments)) for name, arguments in calls),
        chunk_size=size)


def _anthropic(text: str, calls: list[Call], size: int) -> Any:
    return fake_anthropic_answers.Reply(text or None, tuple(
        (name, json.dumps(arguments)) for name, arguments in calls),
        chunk_size=size)


def _gemini(text: str, calls: list[Call], size: int) -> Any:
    return fake_gemini.Reply((*([{"text": text}] if text else []), *(
        fake_gemini.call_part(name, arguments) for name, arguments in calls)),
        chunk_size=size, split=size * 16)


def _chat_tools(body: Any) -> list[tuple[str, Any]]:
    return [(one["function"]["name"], one["function"]["parameters"])
            for one in body["tools"]]


def _typed(kind: Any) -> Callable[[Any], object]:
    adapter = pydantic.TypeAdapter(list[kind])
    return lambda body: adapter.validate_python(body["tools"])


def _check_gemini(body: Any) -> None:
    for one in body["tools"]:
        types.Tool.model_validate(one)
    for _, schema in _gemini_tools(body):
        _check_types(schema)


def _gemini_tools(body: Any) -> list[tuple[str, Any]]:
    return [(one["name"], one.get("parameters", {"type": "object"}))
            for tool in body["tools"] for one in tool["functionDeclarations"]]


def _check_types(schema: Any) -> None:
    """What the API asks for beside its types: a type everywhere, items of
    every array."""
    kind = str(schema.get("type", "")).lower()
    if not kind or (kind == "array" and "items" not in schema):
        raise ValueError(f"no type or no items: {schema}")
    for each in (*schema.get("properties", {}).values(),
                 *([schema["items"]] if "items" in schema else [])):
        _check_types(each)


CHAT = openai.types.chat.ChatCompletionFunctionToolParam
WIRES = {
    "openai chat": Wire(
        fake_openai.FakeOpenAI, _openai, _chat_tools, _typed(CHAT),
        "openai", {"base_url": "ROOT/v1"}),
    "openai responses": Wire(
        fake_openai.FakeOpenAI, _openai,
        lambda body: [(one["name"], one["parameters"])
                      for one in body["tools"]],
        _typed(openai.types.responses.FunctionToolParam),
        "mine", {"base_url": "ROOT/v1", "wire_api": "responses"}),
    "openai SDK": Wire(
        fake_openai.FakeOpenAI, _openai, _chat_tools, _typed(CHAT),
        "openai", {"base_url": "ROOT/v1", "client": "sdk"}),
    "compatible": Wire(
        fake_openai.FakeOpenAI, _openai, _chat_tools, _typed(CHAT),
        "custom:", {}),
    "anthropic": Wire(
        FakeAnthropic, _anthropic,
        lambda body: [(one["name"], one["input_schema"])
                      for one in body["tools"]],
        _typed(anthropic.types.ToolParam), "anthropic-custom:", {}),
    "gemini": Wire(
        fake_gemini.FakeGemini, _gemini, _gemini_tools, _check_gemini,
        "gemini", {"base_url": "ROOT"},
        rule=r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}"),
    "ollama": Wire(
        lambda replies: fake_ollama.FakeOllama(
            replies, [fake_ollama.Model("m", tools=True)], write_bytes=11),
        _openai, _chat_tools, _typed(CHAT), "ollama",
        {"base_url": "ROOT", "native_tools": True}, rule=".+"),
}


def connect(wire: Wire, url: str) -> Provider:
    if wire.name.endswith(":"):
        path = "/v1" if wire.name == "custom:" else ""
        return create_provider(f"{wire.name}{url.removesuffix('/v1')}{path}",
                               "key", env={})
    root = url.removesuffix("/v1")
    named = {key: value.replace("ROOT", root) if isinstance(value, str)
             else value for key, value in wire.settings.items()}
    return create_provider(wire.name, "key", env={}, named={
        wire.name: NamedProviderSettings(**named)})


class Play:
    """The model: answers each request with the calls of the item at hand,
    under the names that the request gave its tools."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.item: Item | None = None
        self.text, self.size = "", 1
        self.body: Any = None

    def __call__(self, body: Any) -> Any:
        assert self.item is not None
        self.body = body
        sent = {tool.name: name for tool, (name, _) in zip(
            self.item.tools, self.wire.tools(body), strict=True)}
        return self.wire.reply(self.text, [
            (sent[name], arguments) for name, arguments in self.item.calls],
            self.size)


async def ask(provider: Provider, tools: list[ToolSpec], *,
              stream: bool) -> Any:
    request = ChatRequest([ChatMessage.user("hello")], tools)
    if not stream:
        return await provider.chat(request, "m", 0.5)
    response = None
    async for chunk in provider.stream_chat(request, "m", 0.5):
        response = chunk.response or response
    return response


async def play_wire(wire: Wire, items: list[Item], failures: list[str]
                    ) -> Iterator[tuple[bool, bool, float]]:
    """(exact, text, seconds) of every answer."""
    found = []
    model = Play(wire)
    with wire.server(replies=[model]) as server:
        provider = connect(wire, server.url)
        for number, item in enumerate(items):
            for stream in (False, True):
                model.item, model.size = item, SIZES[number % len(SIZES)]
                model.text = BEFORE * (number % 2)
                start = time.process_time()
                response = await ask(provider, item.tools, stream=stream)
                seconds = time.process_time() - start
                calls = [[call.name, call.arguments] for call in map(
                    native_call, response.tool_calls)]
                exact = same(calls, item.calls)
                text = (response.text or "").strip() == model.text.strip()
                found.append((exact, text, seconds))
                if not (exact and text):
                    failures.append(f"{item.id} {calls} {response.text!r}")
        await provider.aclose()
    return iter(found)


async def send_documents(wire: Wire, specs: list[ToolSpec]
                         ) -> dict[str, list[str]]:
    """The names of the documents that a vendor would not take."""
    bad: dict[str, list[str]] = {"refused": [], "schema": [], "names": []}
    model = Play(wire)
    with wire.server(replies=[model]) as server:
        provider = connect(wire, server.url)
        for spec in specs:
            model.item = Item("", "", [spec], [(spec.name, {})])
            response = await ask(provider, [spec], stream=False)
            name, schema = wire.tools(model.body)[0]
            if not re.fullmatch(wire.rule, name) or \
                    response.tool_calls[0].name != spec.name:
                bad["names"].append(spec.name)
            if not is_schema(_lower(schema)):
                bad["schema"].append(spec.name)
            try:
                wire.check(model.body)
            except ValueError as error:
                bad["refused"].append(f"{spec.name}: {error}")
        await provider.aclose()
    return bad


def _lower(schema: Any) -> Any:
    """Gemini's names of types in small letters."""
    if isinstance(schema, list):
        return list(map(_lower, schema))
    if not isinstance(schema, dict):
        return schema
    return {key: held.lower() if key == "type" and isinstance(held, str)
            else _lower(held) for key, held in schema.items()}


def is_schema(schema: Any) -> bool:
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError:
        return False
    return schema.get("type") == "object"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--items", type=int, default=30,
                        help="at most so many of each category; 0: all")
    parser.add_argument("--documents", type=int, default=300,
                        help="at most so many documents; 0: all")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    every = [item for name in (*WITH, *TURNS, *WITHOUT)
             for item in read_category(options.directory, name)]
    items = [item for name in (*WITH, *TURNS) for item in pick(
        read_category(options.directory, name), options.items)]
    wires = {name: wire for name, wire in WIRES.items()
             if options.only in name}
    faults = 0
    print(f"{'wire':20}{'n':>7}{'exact':>8}{'text':>8}{'ms':>8}")
    for name, wire in wires.items():
        failures: list[str] = []
        rows = list(asyncio.run(play_wire(wire, items, failures)))
        exact, text, seconds = zip(*rows, strict=True)
        print(f"{name:20}{len(rows):>7}{share(list(exact)):>8}"
              f"{share(list(text)):>8}"
              f"{1e3 * statistics.median(seconds):>8.2f}", flush=True)
        for failure in failures[:3]:
            print(f"- {failure[:400]}")
        faults += len(failures)
    unique = {json.dumps([tool.name, tool.parameters]): tool
              for item in every for tool in item.tools}
    specs = list(unique.values())
    some = specs if not options.documents else specs[::max(
        1, len(specs) // options.documents)]
    print(f"\n{'documents':20}{'n':>7}{'refused':>8}{'schema':>8}{'names':>8}")
    for name, wire in wires.items():
        bad = asyncio.run(send_documents(wire, some))
        print(f"{name:20}{len(some):>7}" + "".join(
            f"{len(found):>8}" for found in bad.values()), flush=True)
        for found in bad.values():
            for one in found[:2]:
                print(f"- {one[:300]}")
            faults += len(found)
    for strategy in CleaningStrategy:
        wrong = [spec.name for spec in specs if not (
            is_schema(clean_schema(spec.parameters, strategy))
            and is_schema(tool_parameters(spec.parameters, strategy)))]
        print(f"{strategy.value:20}{len(specs):>7}{'-':>8}{len(wrong):>8}"
              f"{'-':>8}")
        faults += len(wrong)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
