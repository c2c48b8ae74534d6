"""The five wires of bench/turn.py: how a request reads, what is wrong with
it, and how a step of the script goes out.

`read` gives a request's messages in one form for all wires. What the types
of the vendors' SDKs (vendor_types) do not say, a call and its result and
turns of roles, is in `find_faults`.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from turns.script import MARK, Step, message
from turns.vendor_types import check_types

from claw.testing import (
    fake_anthropic_answers,
    fake_gemini,
    fake_ollama,
    fake_openai,
)
from claw.testing.fake_anthropic import FakeAnthropic
from claw.testing.fake_anthropic_rules import complaint
from claw.testing.fake_gemini import FakeGemini
from claw.testing.fake_ollama import FakeOllama
from claw.testing.fake_openai import FakeOpenAI

Json = dict[str, Any]
MOST_TOKENS = 10_000_000


class Said(NamedTuple):
    """One message: `role` is user, assistant or results; calls and results
    by id, or by the name where the wire has no ids."""

    role: str
    text: str = ""
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    images: int = 0


# How a request reads.

def read(wire: str, body: Json) -> list[Said]:
    """The messages of a request, without the system's."""
    return list({"chat": _read_chat, "responses": _read_responses,
                 "anthropic": _read_anthropic, "gemini": _read_gemini,
                 "ollama": _read_ollama}[wire](body))


def _texts(content: Any) -> str:
    return content if isinstance(content, str) else "".join(
        part.get("text", "") for part in content or [])


def _images(content: Any, kind: str) -> int:
    return 0 if isinstance(content, str) else sum(
        part.get("type") == kind for part in content or [])


def _read_chat(body: Json) -> Iterator[Said]:
    for one in body["messages"]:
        if one["role"] == "tool":
            yield Said("results", results=(one["tool_call_id"],))
        elif one["role"] != "system":
            yield Said(one["role"], _texts(one.get("content")), tuple(
                call["id"] for call in one.get("tool_calls") or []),
                images=_images(one.get("content"), "image_url"))


def _read_responses(body: Json) -> Iterator[Said]:
    for one in body["input"]:
        kind = one.get("type", "message")
        if kind == "function_call":
            yield Said("assistant", calls=(one["call_id"],))
        elif kind == "function_call_output":
            yield Said("results", results=(one["call_id"],))
        elif kind == "message":
            yield Said(one["role"], _texts(one["content"]),
                       images=_images(one["content"], "input_image"))


def _read_anthropic(body: Json) -> Iterator[Said]:
    for one in body["messages"]:
        content = one["content"]
        blocks = [] if isinstance(content, str) else content
        results = tuple(b["tool_use_id"] for b in blocks
                        if b["type"] == "tool_result")
        if results:
            yield Said("results", results=results)
        text = _texts(content)
        if text or not results:
            yield Said(one["role"], text, tuple(
                b["id"] for b in blocks if b["type"] == "tool_use"),
                images=_images(content, "image"))


def _read_gemini(body: Json) -> Iterator[Said]:
    for one in body["contents"]:
        parts = one["parts"]
        answered = tuple(_name(p["functionResponse"]) for p in parts
                         if "functionResponse" in p)
        if answered:
            yield Said("results", results=answered)
        text = _texts(parts)
        if text or not answered:
            yield Said(
                "assistant" if one["role"] == "model" else one["role"], text,
                tuple(_name(p["functionCall"]) for p in parts
                      if "functionCall" in p),
                images=sum("inlineData" in p for p in parts))


def _name(call: Json) -> str:
    return str(call.get("id") or call["name"])


def _read_ollama(body: Json) -> Iterator[Said]:
    for one in body["messages"]:
        if one["role"] == "tool":
            yield Said("results", results=(one["tool_call_id"],))
        elif one["role"] != "system":
            yield Said(one["role"], one.get("content") or "", tuple(
                call["id"] for call in one.get("tool_calls") or []),
                images=len(one.get("images") or ()))


# What is wrong with it.

def find_faults(wire: str, body: Json, seed: int, number: int) -> list[str]:
    """Everything that is wrong with a request of this turn."""
    try:
        check_types(wire, body)
        said = read(wire, body)
    except Exception as error:  # whatever a vendor's type refuses with
        return [f"type: {' '.join(str(error).split())[:300]}"]
    found = list(_unpaired(said))
    if wire == "anthropic" and (trouble := complaint(body)):
        found.append(f"rules: {trouble}")
    if wire in ("anthropic", "gemini"):
        found += _not_in_turns(body)
    return found + list(_lost(said, seed, number))


def _unpaired(said: list[Said]) -> Iterator[str]:
    """Calls without exactly one result right behind them, and results
    without a call. Some wires have a message for each."""
    waiting: list[str] = []
    for place, one in enumerate(said):
        if one.role == "results":
            for result in one.results:
                if result in waiting:
                    waiting.remove(result)
                else:
                    yield f"message {place}: result without call: {result}"
            continue
        if waiting and not one.calls:
            yield f"message {place}: call without result: {waiting}"
            waiting = []
        waiting += one.calls
    if waiting:
        yield f"at the end: call without result: {waiting}"
    if not said or said[0].role != "user":
        yield "the first message is not the user's"


def _not_in_turns(body: Json) -> list[str]:
    roles = [one["role"] for one in body.get("messages",
                                             body.get("contents", []))]
    return [f"message {place}: two of {role} in a row"
            for place, role in enumerate(roles[1:], 1)
            if role == roles[place - 1]]


def _lost(said: list[Said], seed: int, number: int) -> Iterator[str]:
    """Each of the person's messages is whole, none is left out between
    the oldest and this one, and no image of it."""
    texts = [one for one in said if one.role == "user"]
    marked = [(int(mark[1]), one) for one in texts
              for mark in MARK.finditer(one.text)]
    numbers = [one for one, _ in marked]
    if not numbers or numbers != list(range(numbers[0], number + 1)):
        yield f"turn {number}: the person's messages are {numbers}"
    for one, where in marked:
        for piece in re.split(r" \[IMAGE:[^\]]*\]", message(seed, one)):
            if piece.strip() not in where.text:
                yield f"turn {number}: message {one} is not whole"
        if "(image)" in message(seed, one) and not where.images:
            yield f"turn {number}: the image of message {one} is gone"


# How a step goes out.

def build_server(wire: str, answer: Callable[[Json], Any]) -> Any:
    """The fake of a wire that asks `answer` for each reply."""
    if wire == "anthropic":  # its rules are among our checks
        return FakeAnthropic([answer], rules=False)
    if wire == "gemini":
        return FakeGemini([answer])
    if wire == "ollama":
        return FakeOllama([answer], [fake_ollama.Model(
            "m", tools=True, vision=True, context_length=MOST_TOKENS,
            num_ctx=MOST_TOKENS)])
    return FakeOpenAI([answer])


def write_settings(wire: str, url: str) -> str:
    """config.toml for a fake of this wire."""
    named = "[model_providers.{}]\nbase_url = '{}'\n{}"
    provider, table = {
        "chat": (f"custom:{url}", ""),
        "responses": ("mine", named.format("mine", url,
                                           'wire_api = "responses"\n')),
        "anthropic": (f"anthropic-custom:{url}", ""),
        "gemini": ("gemini", named.format("gemini", url, "")),
        "ollama": ("ollama", named.format("ollama", url, "")),
    }[wire]
    return (f'default_provider = "{provider}"\ndefault_model = "m"\n'
            f'api_key = "k"\n{table}')


def write_reply(wire: str, step: Step) -> Any:
    """A step as a reply of the fake. A stream stalls after some of its
    text, or before any of it."""
    if step.fault == "overflow":
        return _overflow(wire)
    stall: Json = {}
    if step.fault in ("stall", "silence"):
        stall = {"fault": "stall",
                 "after_chunks": 8 if step.fault == "stall" else 0}
    if wire == "gemini":
        broken = step.fault == "malformed"
        text = f"<tool_call>{step.calls[0]}" if broken else step.text
        return fake_gemini.Reply((
            *([{"text": text}] if text else []),
            *(fake_gemini.call_part(name, json.loads(arguments))
              for name, arguments in (() if broken else step.calls))),
            **stall)
    if wire == "anthropic":
        if step.fault == "malformed":
            (name, arguments), = step.calls
            return fake_anthropic_answers.Reply(blocks=({
                "type": "tool_use", "id": "toolu_1", "name": name,
                "input": arguments},))
        return fake_anthropic_answers.Reply(step.text or None, step.calls,
                                            **stall)
    return fake_openai.Reply(step.text or None, step.calls, **stall)


def _overflow(wire: str) -> Any:
    """A conversation that is too long, in the vendor's own words."""
    if wire == "anthropic":
        return fake_anthropic_answers.refused(
            "prompt is too long: 250000 tokens > 200000 maximum")
    if wire == "gemini":
        return fake_gemini.failure(
            400, "The input token count (1200000) exceeds the maximum "
                 "number of tokens allowed (1048576).")
    if wire == "ollama":
        return fake_ollama.failure(400, json.dumps({"error": {
            "code": 400, "type": "exceed_context_size_error",
            "message": "request (9000 tokens) exceeds the available context "
                       "size (8192 tokens), try increasing it",
            "n_prompt_tokens": 9000, "n_ctx": 8192}}))
    if wire == "chat":
        text = ("This model's maximum context length is 128000 tokens. "
                "However, your messages resulted in 130000 tokens. Please "
                "reduce the length of the messages.")
    else:
        text = ("Your input exceeds the context window of this model. "
                "Please adjust your input and try again.")
    return fake_openai.Reply(status=400, body=json.dumps({"error": {
        "message": text, "type": "invalid_request_error",
        "param": "messages" if wire == "chat" else "input",
        "code": "context_length_exceeded"}}))
