"""The HTTP double, seen through the standard library's own client."""

import json
import urllib.error
import urllib.request
from http.client import IncompleteRead

import pytest

from claw.testing.fake_openai import (
    FakeOpenAI,
    cut_off,
    endless,
    failure,
    html_page,
    malformed,
    tool_call,
)


def ask(server, text="hello", **extra):
    body = {"model": "fake-model",
            "messages": [{"role": "user", "content": text}], **extra}
    request = urllib.request.Request(
        f"{server.url}/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer k"})
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def events(text):
    return [line[6:] for line in text.split("\n") if line.startswith("data:")]


def test_replies_are_played_in_order_and_the_last_repeats():
    with FakeOpenAI(["one", "two"]) as server:
        said = [json.loads(ask(server)[1])["choices"][0]["message"]["content"]
                for _ in range(3)]

    assert said == ["one", "two", "two"]
    assert [r.body["messages"][0]["content"] for r in server.chats] == [
        "hello"] * 3


def test_without_replies_the_last_user_message_is_echoed():
    with FakeOpenAI() as server:
        _, body = ask(server, "안녕 👋")

    assert json.loads(body)["choices"][0]["message"]["content"] == "안녕 👋"


def test_a_stream_carries_the_text_in_pieces_and_ends_with_done():
    with FakeOpenAI(["a longer answer"]) as server:
        _, body = ask(server, stream=True,
                      stream_options={"include_usage": True})
    found = events(body)
    chunks = [json.loads(e) for e in found[:-1]]

    assert found[-1] == "[DONE]"
    assert "".join(c["choices"][0]["delta"].get("content", "")
                   for c in chunks if c["choices"]) == "a longer answer"
    assert chunks[-1]["usage"]["completion_tokens"] == 3


def test_streamed_tool_calls_come_by_index_in_pieces():
    with FakeOpenAI([tool_call("weather", city="Oslo")]) as server:
        _, body = ask(server, stream=True)
    deltas = [d for e in events(body)[:-1]
              for d in json.loads(e)["choices"][0]["delta"].get(
                  "tool_calls", [])]

    assert deltas[0]["function"]["name"] == "weather"
    assert "".join(d["function"]["arguments"] for d in deltas) == (
        '{"city": "Oslo"}')


@pytest.mark.parametrize(("server", "status", "fragment"), [
    (FakeOpenAI([failure(429, "slow down", retry_after="7")]), 429, "slow"),
    (FakeOpenAI([html_page(502)]), 502, "<html>"),
    (FakeOpenAI(api_key="other"), 401, "API key"),
    (FakeOpenAI(strict_models=True, models=["m"]), 404, "fake-model"),
    (FakeOpenAI(refuse_keys=["temperature"]), 400,
     "unknown parameter: temperature"),
])
def test_refusals(server, status, fragment):
    with server:
        got, body = ask(server, temperature=0.5)

    assert got == status
    assert fragment in body


@pytest.mark.parametrize("fault", [cut_off(), malformed(), endless()])
def test_a_faulty_stream_has_no_terminal_event(fault):
    with FakeOpenAI([fault]) as server:
        try:
            _, body = ask(server, stream=True)
        except (OSError, IncompleteRead) as error:
            body = str(error)

    assert "[DONE]" not in body


def test_a_plain_answer_can_be_cut_off():
    with FakeOpenAI([cut_off()]) as server, pytest.raises(IncompleteRead):
        ask(server)


def test_models_are_listed():
    with FakeOpenAI(models=["a", "b"]) as server, urllib.request.urlopen(
            f"{server.url}/models", timeout=5) as response:
        assert [m["id"] for m in json.load(response)["data"]] == ["a", "b"]
