"""Nonsense over a real socket: refused in OpenAI's shape, never a fault."""

import json
import random
import urllib.error
import urllib.request

import pytest

from claw.gateway.settings import GatewaySettings
from claw.testing.fake_openai import FakeOpenAI
from tests.wiring.gateway.conftest import serve

PATHS = ("/chat/completions", "/responses", "/embeddings")
BASE = {
    "model": "fast", "input": "x", "instructions": "x", "seed": 1,
    "messages": [{"role": "user", "content": [
        {"type": "text", "text": "x"}]}],
    "tools": [{"type": "function", "function": {
        "name": "t", "parameters": {"type": "object"}}}],
    "tool_choice": "auto", "temperature": 1, "stop": ["a"],
    "response_format": {"type": "text"}, "max_tokens": 5, "logit_bias": {},
    "stream_options": {"include_usage": True}, "dimensions": 3,
    "text": {"format": {"type": "text"}}, "reasoning": {"effort": "low"},
    "encoding_format": "float"}
JUNK = (None, 0, -1, 1.5, "", "x", [], {}, True, [[]], [{}], {"type": "x"},
        {"type": 5}, [None], ["x", 5], 10 ** 400, "\ud800", "\0",
        float("nan"))


@pytest.fixture
def served(ask_server):
    with FakeOpenAI(["ok"]) as server, serve(
            ask_server(server, '[model_aliases]\nfast = "quick"\n'),
            GatewaySettings(rate_limit_per_minute=0)) as served:
        yield served


def post(served, path, body):
    asked = urllib.request.Request(served.url + path, body, {
        "Authorization": f"Bearer {served.keys['laptop']}"})
    try:
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def mutate(value, rng):
    """The value with some piece of it replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.7:
        key = rng.choice(list(value))
        return {**value, key: mutate(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        return [mutate(value[0], rng), *value[1:]]
    return rng.choice(JUNK)


def message(extra):
    return ('{"model": "fast", "input": "x", "messages": [{"role": "user", '
            f'"content": "x"}}], {extra}}}').encode()


@pytest.mark.each("body", [
    b"", b"[]", b'"x"', b"\xff\xfe", b"[" * 5000, b"{" * 5000,
    message('"temperature": 1e999'),
    message('"temperature": ' + "9" * 400),
    message('"max_tokens": ' + "9" * 5000),
    message('"x": ' + '{"a":' * 900 + "1" + "}" * 900),
    message('"tools": [{"type": "function", "function": {"name": "t", '
            '"parameters": ' + '{"a":' * 900 + "1" + "}" * 900 + "}}]")])
def test_a_body_that_is_none_is_refused(served, body):
    for path in PATHS:
        status, said = post(served, path, body)

        assert status < 500
        assert status == 200 or json.loads(said)["error"]["message"]


def test_changed_requests_never_make_a_fault(served):
    rng = random.Random(18)
    for _ in range(150):
        body = json.dumps(mutate(mutate(BASE, rng), rng)).encode()
        for path in PATHS:
            status, said = post(served, path, body)

            assert status < 500, (path, body, said)
    assert not served.find("gateway.fault")
