"""A run against llmock: it refuses, breaks off, stalls and talks nonsense,
and judges from its journal how the client took it."""

import asyncio
import json
import urllib.request
from collections import Counter

import pytest

from claw.core.errors import (
    AuthError,
    IncompleteAnswerError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import ChatMessage, ChatRequest
from claw.providers.factory import create_provider
from claw.providers.resilience.reliable import Endpoint, ReliableProvider
from claw.providers.settings import ProviderSettings

pytestmark = pytest.mark.peers

MODEL = "gpt-4o"
ECHO = ("--response-style", "echo")


class Judge:
    """llmock's journal and verdict."""

    def __init__(self, url):
        self.url = url
        self._admin = url.removesuffix("/v1") + "/_llmock"

    def call(self, method, path, data=None):
        request = urllib.request.Request(
            self._admin + path, method=method,
            data=None if data is None else json.dumps(data).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def script(self, *behaviors):
        self.call("POST", "/reset")
        self.call("POST", "/scenario", {"behaviors": list(behaviors)})

    @property
    def records(self):
        return self.call("GET", "/requests")["requests"]

    def verdict(self):
        """The findings that count; warnings too."""
        return self.call("GET", "/verdict")["findings"]

    def answered(self):
        """How many whole answers each question got."""
        return Counter(
            r["body"]["messages"][-1]["content"] for r in self.records
            if r["status"] < 400 and not r["fault"])


@pytest.fixture(scope="module")
def judge(llmock, tmp_path_factory):
    # With pauses it sees that a stream was left before its end.
    with llmock(tmp_path_factory.mktemp("llmock"), *ECHO,
                "--stream-chunk-delay-ms", "10") as url:
        yield Judge(url)


def provider_at(url, *keys, timeout_s=20.0, **more):
    settings = ProviderSettings(provider_timeout_secs=timeout_s)

    def make(key):
        return lambda: create_provider(f"custom:{url}", key,
                                       settings=settings)
    return ReliableProvider(
        [Endpoint("mock", "mock", [make(k) for k in keys or ("sk-one",)])],
        backoff_ms=100, rng=lambda: 1.0, **more)


def run(provider, work):
    async def go():
        try:
            return await work
        finally:
            await provider.aclose()
    return asyncio.run(go())


def asked(text):
    return ChatRequest([ChatMessage.user(text)])


async def streamed(provider, text, seen=None):
    """The whole answer, and what was shown of it."""
    shown = seen if seen is not None else []
    async for chunk in provider.stream_chat(asked(text), MODEL, 0.5):
        shown.append(chunk.delta)
    return "".join(shown), chunk.response


FAULTS = [
    {"type": "fail", "status": 429, "retry_after": 0.4},
    {"type": "fail", "status": 500, "retry_after": 0.1},
    {"type": "fail", "status": 502, "retry_after": 0.1},
    {"type": "fail", "status": 503, "retry_after": 0.3},
    {"type": "fail", "status": 504, "retry_after": 0.1},
    {"type": "fail", "status": 529, "retry_after": 0.1},
    {"type": "stream_fault", "kind": "disconnect", "after_chunks": 1},
    {"type": "stream_fault", "kind": "disconnect", "after_chunks": 0},
    {"type": "stream_fault", "kind": "truncate", "after_chunks": 1},
    {"type": "stream_fault", "kind": "malformed", "after_chunks": 1},
    {"type": "stream_fault", "kind": "stall", "after_chunks": 1,
     "stall_seconds": 3},
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: "-".join(
    str(v) for v in list(f.values())[1:3]))
def test_what_passes_is_waited_for_as_told_and_answered_once(judge, fault):
    judge.script({**fault, "times": 2})
    provider = provider_at(judge.url, timeout_s=1.0)

    text, response = run(provider, streamed(provider, "how are you?"))

    assert text == response.text == "Hello! You said: how are you?"
    assert judge.verdict() == []
    assert judge.answered() == {"how are you?": 1}
    assert len(judge.records) == 3


@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
def test_a_break_in_sight_is_an_error_and_is_not_asked_again(judge, kind):
    judge.script({"type": "stream_fault", "kind": kind, "after_chunks": 3})
    provider = provider_at(judge.url)
    shown = []

    with pytest.raises(IncompleteAnswerError):
        run(provider, streamed(provider, "how are you?", shown))

    assert "".join(shown)
    assert len(judge.records) == 1


@pytest.mark.parametrize(("status", "kind"), [
    (400, RequestRefusedError), (401, AuthError), (403, AuthError),
    (422, RequestRefusedError)])
def test_what_stays_is_asked_once(judge, status, kind):
    judge.script({"type": "fail", "status": status})
    provider = provider_at(judge.url)

    with pytest.raises(kind):
        run(provider, provider.chat(asked("x"), MODEL, 0.5))

    assert judge.verdict() == []
    assert len(judge.records) == 1


def test_it_gives_up_after_its_attempts(judge):
    judge.script({"type": "fail", "status": 503, "retry_after": 0.1,
                  "times": 20})
    provider = provider_at(judge.url)

    with pytest.raises(UnavailableError, match="asked 3 times"):
        run(provider, provider.chat(asked("x"), MODEL, 0.5))

    assert judge.verdict() == []
    assert len(judge.records) == 3


def test_a_wait_of_hours_is_told_and_not_waited(judge):
    judge.script({"type": "fail", "status": 429, "retry_after": 7200})
    provider = provider_at(judge.url)

    with pytest.raises(RateLimitedError) as caught:
        run(provider, provider.chat(asked("x"), MODEL, 0.5))

    assert caught.value.hint == "try again in 2 hours"
    assert len(judge.records) == 1


def test_questions_over_the_limit_wait_their_turn_and_none_is_lost(
        llmock, tmp_path):
    with llmock(tmp_path, *ECHO, "--rpm", "60") as url:
        judge, provider = Judge(url), provider_at(url)
        questions = [f"question {n}" for n in range(66)]

        async def all_at_once():
            return await asyncio.gather(*(
                streamed(provider, q) for q in questions))
        answers = run(provider, all_at_once())

        assert [text for text, _ in answers] == [
            f"Hello! You said: {q}" for q in questions]
        assert judge.verdict() == []
        assert judge.answered() == Counter(questions)
        assert max(Counter(r["fingerprint"] for r in judge.records
                           ).values()) <= 3


def test_a_second_key_takes_over_at_once(llmock, tmp_path):
    heard = []
    with llmock(tmp_path, *ECHO, "--rpm", "1") as url:
        provider = provider_at(url, "sk-one", "sk-two", notify=heard.append)

        async def two():
            return [(await provider.chat(asked(q), MODEL, 0.5)).text
                    for q in ("a", "b")]
        texts = run(provider, two())
        statuses = [r["status"] for r in Judge(url).records]

    assert texts == ["Hello! You said: a", "Hello! You said: b"]
    assert statuses == [200, 429, 200]
    assert heard == []


def test_a_bad_day_loses_and_doubles_nothing(llmock, tmp_path):
    """Everything at random. A person asks once more where an answer broke
    off before their eyes."""
    options = [*ECHO]
    for status in (429, 500, 503):
        options += ["--error-rate", f"{status}=0.08"]
    for kind in ("disconnect", "truncate", "malformed"):
        options += ["--stream-fault", f"{kind}=0.06"]
    with llmock(tmp_path, *options) as url:
        judge, provider = Judge(url), provider_at(url, retries=5)
        questions = [f"question {n} of a long day" for n in range(60)]

        async def person(question):
            while True:
                shown = []
                try:
                    return await streamed(provider, question, shown)
                except IncompleteAnswerError:
                    assert "".join(shown)  # else it was asked again for us
                    assert f"Hello! You said: {question}".startswith(
                        "".join(shown))

        async def day():
            gate = asyncio.Semaphore(8)

            async def one(question):
                async with gate:
                    return await person(question)
            return await asyncio.gather(*map(one, questions))
        answers = run(provider, day())
        findings = [f for f in judge.verdict() if f["severity"] == "error"]

        assert [text for text, _ in answers] == [
            f"Hello! You said: {q}" for q in questions]
        assert findings == []
        assert judge.answered() == Counter(questions)
