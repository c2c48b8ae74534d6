"""Embeddings over HTTP: what is asked, and what of the answers counts."""

import asyncio
import json
import time
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core.errors import (
    AuthError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.memory.embeddings import http
from claw.memory.embeddings.connection import Connection
from claw.memory.embeddings.http import (
    BATCH_BYTES,
    BATCH_TEXTS,
    HttpEmbedder,
    batches,
    cut,
    endpoint,
)
from claw.net.lean import httpx
from claw.testing.http_server import HttpServer, Reply

KEY = "sk-embedding-canary-1234567890"


def refusal(status, text="no", **headers):
    return httpx.Response(status, headers=headers,
                          json={"error": {"message": text}})


@pytest.mark.parametrize(("base", "expected"), [
    ("https://api.openai.com", "https://api.openai.com/v1/embeddings"),
    ("https://api.openai.com/", "https://api.openai.com/v1/embeddings"),
    ("https://openrouter.ai/api/v1",
     "https://openrouter.ai/api/v1/embeddings"),
    ("http://h:11434/v1/", "http://h:11434/v1/embeddings"),
    ("http://h/v2/embeddings", "http://h/v2/embeddings"),
    ("http://h/v2/embeddings/", "http://h/v2/embeddings"),
    ("http://h/x?api-version=3", "http://h/x/embeddings?api-version=3"),
])
def test_the_endpoint_follows_from_the_base(base, expected):
    assert endpoint(base) == expected


def test_texts_are_sent_as_openai_documents_it(server):
    embedder = server.embedder(key=KEY, headers=(("X-Title", "claw"),))
    found = embedder.embed(["one", "three"])

    (request,) = server.requests
    assert str(request.url) == "http://e.test/v1/embeddings"
    assert server.bodies == [{"model": "m", "input": ["one", "three"]}]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-title"] == "claw"
    assert [list(vector) for vector in found] == [[3, 0, 1.5], [5, 1, 1.5]]


def test_without_a_key_there_is_no_authorization(server):
    server.embedder().embed(["a"])

    assert "authorization" not in server.requests[0].headers


def test_a_missing_key_is_said_before_anything_is_sent(server):
    embedder = server.embedder(no_key=AuthError("no key"))
    depths = []
    for _ in range(3):
        with pytest.raises(AuthError, match="no key") as caught:
            embedder.embed(["a"])
        depths.append(len(caught.traceback))

    assert server.requests == []
    assert depths[0] == depths[2]  # nothing gathers in it


@pytest.mark.parametrize(("model", "expected"), [
    ("text-embedding-3-small", 3), ("openai/text-embedding-3-large", 3),
    ("text-embedding-ada-002", None), ("bge-m3", None)])
def test_the_length_is_asked_for_where_a_model_can(server, model, expected):
    server.embedder(model=model).embed(["a"])

    assert server.bodies[0].get("dimensions") == expected


def test_vectors_are_put_in_the_order_of_their_texts(server):
    def mixed(body):
        rows = json.loads(server.good(body).content)["data"]
        return httpx.Response(200, json={"data": rows[::-1]})

    server.replies = [mixed]
    found = server.embedder().embed(["a", "bb", "ccc"])

    assert [vector[0] for vector in found] == [1, 2, 3]


def test_rows_without_an_index_are_in_order(server):
    server.replies = [httpx.Response(200, json={
        "data": [{"embedding": [1, 2, 3]}, {"embedding": [4, 5, 6]}]})]

    assert [list(vector) for vector in server.embedder().embed(["a", "b"])] \
        == [[1, 2, 3], [4, 5, 6]]


def rows(*embeddings, **more):
    return {"data": [{"index": number, "embedding": e, **more}
                     for number, e in enumerate(embeddings)]}


@pytest.mark.parametrize(("answer", "words"), [
    (rows([1, 2, 3]), "1 vectors for 2 texts"),
    (rows([1, 2, 3], [1, 2, 3], [1, 2, 3]), "3 vectors for 2 texts"),
    (rows([1, 2, 3], [1, 2]), "vectors of 2 numbers, "
                              "memory.embedding_dimensions is 3"),
    (rows([1, 2, 3], [1, 2, 1e39]), "infinite"),
    (rows([1, 2, 3], [1, 2, 3], index=0), "indexes"),
    (rows([1, 2, 3], [[1, 2, 3]]), "without vectors"),
    (rows([1, 2, 3], "AACAPw=="), "without vectors"),
    ({"error": {"message": "model is loading"}}, "model is loading"),
    ({"data": None}, "without vectors"),
    ([], "without vectors"),
])
def test_an_answer_that_does_not_fit_is_refused(server, answer, words):
    server.replies = [httpx.Response(200, json=answer)]

    with pytest.raises(UnavailableError, match=words) as caught:
        server.embedder().embed(["a", "b"])
    assert caught.value.hint


@pytest.mark.parametrize("content", [
    b"", b"<html><title>Sign in</title></html>", b"{", b"\xff\xfe",
    b'{"data": [{"embedding": [NaN, 1, 2]}]}',
    b'{"data": [{"embedding": [1e999, 1, 2]}]}', b"[" * 100_000])
def test_what_is_no_answer_is_refused(server, content):
    server.replies = [httpx.Response(200, content=content)]

    with pytest.raises(UnavailableError, match="the embedding API"):
        server.embedder().embed(["a"])


def test_the_setting_to_change_stands_in_the_hint(server):
    server.replies = [httpx.Response(200, json=rows([0.5] * 768))]

    with pytest.raises(UnavailableError) as caught:
        server.embedder(dimensions=1536).embed(["a"])
    assert caught.value.hint \
        == "claw config set memory.embedding_dimensions 768"


@pytest.mark.parametrize(("status", "kind"), [
    (401, AuthError), (403, AuthError), (404, RequestRefusedError),
    (400, RequestRefusedError), (302, RequestRefusedError)])
def test_a_refusal_is_said_once_without_the_key(server, status, kind):
    server.replies = [refusal(status, f"bad key {KEY} for you")]

    with pytest.raises(kind) as caught:
        server.embedder(key=KEY).embed(["a"])
    assert str(caught.value) == caught.value.message == (
        f"Embedding API error {status}: bad key [REDACTED] for you")
    assert KEY not in repr(caught.value)
    assert len(server.requests) == 1


def test_a_refused_key_says_how_to_set_one(server):
    server.replies = [refusal(401)]

    with pytest.raises(AuthError) as caught:
        server.embedder(key=KEY).embed(["a"])
    assert "memory.embedding_api_key" in caught.value.hint


@pytest.mark.parametrize("reply", [
    refusal(429), refusal(500), refusal(503), refusal(408),
    httpx.ReadError("reset")], ids=str)
def test_a_busy_server_is_asked_again(server, reply):
    server.replies = [reply, reply, server.good]
    (vector,) = server.embedder().embed(["four"])

    assert vector[0] == 4
    assert server.waits == [0.25, 0.5]  # half of the jitter


def test_the_server_says_how_long_to_wait(server):
    server.replies = [refusal(429, **{"retry-after": "3"}), server.good]
    server.embedder().embed(["a"])

    assert server.waits == [3.05]


@pytest.mark.parametrize(("reply", "kind", "asked"), [
    (refusal(503, "down"), UnavailableError, 4),
    (refusal(429, **{"retry-after": "3600"}), RateLimitedError, 1),
    (refusal(429, **{"retry-after": "9"}), RateLimitedError, 3),
    (httpx.ConnectError("no"), UnavailableError, 1),
    (httpx.ReadTimeout("slow"), UnavailableError, 1),
], ids=["down", "an hour", "too long in all", "not there", "slow"])
def test_patience_ends(server, reply, kind, asked):
    server.replies = [reply]

    with pytest.raises(kind):
        server.embedder().embed(["a"])
    assert len(server.requests) == asked
    assert sum(server.waits) <= 20


def test_an_empty_account_is_not_asked_again(server):
    server.replies = [httpx.Response(429, json={"error": {
        "message": "You exceeded your current quota",
        "code": "insufficient_quota"}})]

    with pytest.raises(QuotaError, match="quota") as caught:
        server.embedder().embed(["a"])
    assert "credit" in caught.value.hint
    assert len(server.requests) == 1


def test_a_slow_server_is_told_from_a_slow_chat(server):
    server.replies = [httpx.ReadTimeout("slow")]

    with pytest.raises(UnavailableError) as caught:
        server.embedder().embed(["a"])
    assert "provider_timeout_secs" not in caught.value.hint


def test_many_texts_go_in_batches_and_come_back_in_order(server):
    texts = ["x" * (number % 90 + 1) for number in range(250)]
    found = server.embedder().embed(texts)

    assert [len(body["input"]) for body in server.bodies] == [100, 100, 50]
    assert [vector[0] for vector in found] == [len(text) for text in texts]


def test_no_texts_ask_nobody(server):
    assert server.embedder().embed([]) == []
    assert server.requests == []


@given(st.lists(st.text(max_size=50) | st.just("猫" * 30_000),
                max_size=250))
def test_batches_keep_every_text_within_bounds(texts):
    made = list(batches([cut(text) for text in texts]))

    assert [text for batch in made for text in batch] \
        == [cut(text) for text in texts]
    for batch in made:
        size = sum(len(text.encode()) for text in batch)
        assert 0 < len(batch) <= BATCH_TEXTS
        assert size <= BATCH_BYTES or len(batch) == 1


@given(st.text(), st.integers(4, 100))
def test_a_cut_text_is_its_beginning_and_never_blank(text, size):
    found = cut(text, size)

    assert found
    assert len(found.encode()) <= max(size, 1)
    assert found == " " or text.lstrip().encode(
        "utf-8", "replace").startswith(found.encode())


def test_blank_and_broken_texts_are_sent_as_something(server):
    server.embedder().embed(["", " \n", "a\ud800b"])

    assert server.bodies[0]["input"] == [" ", " ", "a?b"]


def test_a_batch_that_is_too_long_goes_in_halves(server):
    def at_most_three(body):
        return server.good(body) if len(body["input"]) <= 3 else refusal(
            422, "batch size 8 > maximum allowed batch size 3")

    server.replies = [at_most_three]
    found = server.embedder().embed(["x" * n for n in range(1, 9)])

    assert [vector[0] for vector in found] == list(range(1, 9))


@pytest.mark.parametrize("reply", [
    refusal(400, "maximum context length is 512 tokens"), refusal(413),
    refusal(500, "input (9 tokens) is too large to process")])
def test_a_text_that_is_too_long_is_cut_and_the_others_are_not(server,
                                                               reply):
    def short(body):
        fits = all(len(text) <= 2000 for text in body["input"])
        return server.good(body) if fits else reply

    server.replies = [short]
    found = server.embedder().embed(["a", "b" * 7000, "c" * 2000])

    assert [vector[0] for vector in found] == [1, 1750, 2000]


def test_a_server_that_finds_everything_too_long_is_believed(server):
    server.replies = [refusal(400, "invalid token")]

    with pytest.raises(RequestRefusedError):
        server.embedder().embed(["x" * 30_000] * 100)
    assert len(server.requests) < 20


def test_it_says_what_it_is(server):
    embedder = server.embedder(
        name="custom:http://e.test/v1?key=secret",
        url="http://e.test/v1?key=secret", model="bge-m3")

    assert embedder.name == "custom:http://e.test/v1"
    assert embedder.dimensions == 3
    assert embedder.model == "http://e.test/v1/embeddings|bge-m3|3"
    assert embedder.is_multilingual
    embedder.embed(["a"])
    assert server.requests[0].url.query == b"key=secret"


def test_it_works_where_a_loop_is_running(server):
    async def go():
        return server.embedder().embed(["four"])

    assert asyncio.run(go())[0][0] == 4


@contextmanager
def serving(handle):
    real = HttpServer(handle)
    real.start()
    try:
        yield f"http://127.0.0.1:{real.port}/v1"
    finally:
        real.stop()
    assert real.errors == []


def embedder_at(url):
    return HttpEmbedder(Connection(f"custom:{url}", "m", 3, url))


def test_a_real_server_is_asked_over_a_real_wire():
    seen = []

    def handle(request):
        seen.append(request)
        return Reply(200, json.dumps(rows([1, 2, 3], [4, 5, 6])).encode())

    with serving(handle) as url:
        found = embedder_at(url).embed(["猫", "\U0001f63a"])

    assert [list(vector) for vector in found] == [[1, 2, 3], [4, 5, 6]]
    assert seen[0].path == "/v1/embeddings"
    assert json.loads(seen[0].body)["input"] == ["猫", "\U0001f63a"]
    assert seen[0].headers["user-agent"].startswith("claw/")


@pytest.mark.parametrize("ending", ["half", "reset"])
def test_a_broken_answer_is_asked_for_again(ending):
    replies = [Reply(200, json.dumps(rows([1, 2, 3])).encode(),
                     ending=ending),
               Reply(200, json.dumps(rows([1, 2, 3])).encode())]

    with serving(lambda request: replies.pop(0)) as url:
        embedder = HttpEmbedder(Connection("custom", "m", 3, url),
                                rng=lambda: 0.0)
        assert list(embedder.embed(["a"])[0]) == [1, 2, 3]
    assert replies == []


def test_a_silent_server_is_given_up(monkeypatch):
    monkeypatch.setattr(http, "ONE_TIMEOUT_S", 0.15)
    begun = time.monotonic()

    with serving(lambda request: Reply(ending="silence")) as url, \
            pytest.raises(UnavailableError, match="did not answer"):
        embedder_at(url).embed(["a"])
    assert time.monotonic() - begun < 20


def test_an_endless_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(http, "ANSWER_BYTES", 1000)

    with serving(lambda request: Reply(200, b" " * 5000)) as url, \
            pytest.raises(UnavailableError, match="sent more than"):
        embedder_at(url).embed(["a"])


def test_nobody_there_is_said_at_once():
    with serving(lambda request: Reply()) as url:
        pass

    with pytest.raises(UnavailableError, match="could not reach"):
        embedder_at(url).embed(["a"])
