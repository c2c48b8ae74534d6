"""Record the streams of tests/providers/recorded from aimock and LiteLLM.

    python tests/peers/record_streams.py

Each file is the body of one answer, as it came: SERVER-WIRE-CASE.sse. Only
LiteLLM's long, encrypted ids are made short.
"""

import json
import re
import tempfile
import urllib.request
from pathlib import Path

from conftest import _aimock, _litellm

OUT = Path(__file__).parent.parent / "providers" / "recorded"
KEY = "sk-recorded-0123456789abcdef"
USAGE = {"prompt_tokens": 1234, "completion_tokens": 56,
         "input_tokens": 1234, "output_tokens": 56,
         "promptTokenCount": 1234, "candidatesTokenCount": 56}
CASES = {
    # aimock cuts the hand in two; LiteLLM could not take that
    "cut": {"content": "Hello from the other side, in pieces: 안녕 👋 done."},
    "text": {"content": "Hello, in pieces: 안녕 👋 done."},
    "thoughts": {"content": "42", "reasoning": "Let me think about it."},
    "calls": {"content": "I look.", "toolCalls": [
        {"id": "call_a", "name": "get_weather", "arguments": json.dumps(
            {"city": "Ålesund \"x\" \\ \n", "near": [1, -2.5, None, {}]})},
        {"id": "call_b", "name": "get_weather", "arguments": "{}"}]},
}
MODELS = {"chat": "gpt-4o", "responses": "gpt-4o",
          "anthropic": "claude-test", "gemini": "gemini-2.5-flash"}


def fixtures():
    return [{"match": {"userMessage": case},
             "response": {**answer, "usage": USAGE}}
            for case, answer in CASES.items()]


def request_for(wire, base, model, text):
    message = {"role": "user", "content": text}
    path, body = {
        "chat": ("/v1/chat/completions", {
            "messages": [message],
            "stream_options": {"include_usage": True}}),
        "responses": ("/v1/responses", {"input": [message]}),
        "anthropic": ("/v1/messages", {
            "messages": [message], "max_tokens": 500}),
        "gemini": (f"/v1beta/models/{model}:streamGenerateContent?alt=sse",
                   {"contents": [{"role": "user",
                                  "parts": [{"text": text}]}]}),
    }[wire]
    if wire != "gemini":
        body |= {"model": model, "stream": True}
    return urllib.request.Request(
        base + path, json.dumps(body).encode(), {
            "content-type": "application/json",
            "authorization": f"Bearer {KEY}"})


def record(server, base, cases, model=None):
    for wire, usual in MODELS.items():
        for case in cases:
            asked = request_for(wire, base, model or usual, case)
            with urllib.request.urlopen(asked, timeout=30) as answer:
                (OUT / f"{server}-{wire}-{case}.sse").write_bytes(
                    re.sub(rb"resp_[\w=-]{60,}", b"resp_1", answer.read()))


def main():
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _aimock(folder, fixtures(), "--chunk-size", "14") as behind:
            base = behind.removesuffix("/v1")
            record("aimock", base, ("cut", "thoughts", "calls"))
            with _litellm(folder, behind, KEY) as front:
                record("litellm", front, ("text", "thoughts", "calls"), "m")


if __name__ == "__main__":
    main()
