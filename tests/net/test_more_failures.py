"""A second table of what servers say, labelled before it was run, and the
list of spec/agent.md 2.9 phrase by phrase.

more_failures.jsonl: texts that people quote in issues and vendors document
(read 2026-11), ids shortened. "kind": what it is ("a|b" where both may be
said); "again": whether asking again helps where that differs from what the
kind says, null where it may be either.
"""

import json
from pathlib import Path

import pytest

from claw.core.errors import (
    AuthError,
    ClawError,
    ContextOverflowError,
    OverloadedError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.net.errors import Peer, status_error
from claw.net.failures import classify, classify_error

TABLE = [json.loads(line) for line in
         Path(__file__).with_name("more_failures.jsonl")
         .read_text(encoding="utf-8").splitlines()]
PASSES = {"rate", "overload", "network", "timeout", "server", "incomplete",
          "tool_schema"}
CLASSES: dict[str, type[ClawError]] = {
    "auth": AuthError, "quota": QuotaError, "rate": RateLimitedError,
    "overload": OverloadedError, "context_overflow": ContextOverflowError,
    "bad_request": RequestRefusedError, "tool_schema": RequestRefusedError,
    "model_not_found": RequestRefusedError}


@pytest.mark.each(
    "row", TABLE, ids=[f"{row['from']}-{number}"
                       for number, row in enumerate(TABLE)])
def test_texts_nobody_tuned_for_are_understood(row):
    found = classify(row["status"], row["text"])

    assert found.kind in row["kind"].split("|")
    if row.get("again", "by kind") == "by kind":
        assert found.retryable == (found.kind in PASSES)
    elif row["again"] is not None:
        assert found.retryable == row["again"]


@pytest.mark.each("row", [r for r in TABLE if (r["status"] or 0) > 299])
def test_the_error_says_the_same(row):
    found = classify(row["status"], row["text"])
    error = status_error(Peer("Acme"), row["status"], row["text"])

    assert type(error) is CLASSES.get(found.kind, UnavailableError)
    assert classify_error(error).retryable == found.retryable


@pytest.mark.each("status", [None, 400, 422, 500])
@pytest.mark.each("words", [
    "exceeds the context window", "exceeds the available context size",
    "context window of this model", "maximum context length",
    "context length exceeded", "too many tokens", "token limit exceeded",
    "prompt is too long", "input is too long", "prompt exceeds max length"])
def test_words_of_a_full_context(status, words):
    for text in (words, f"Error: {words.upper()} (12 > 8)",
                 json.dumps({"error": {"message": words}})):
        found = classify(status, text)
        assert (found.kind, found.retryable) == ("context_overflow", False)


@pytest.mark.each("status", [None, 400, 404, 422, 500])
@pytest.mark.each("words", [
    "tool call validation failed", "was not in request",
    "not found in tool list", "invalid_tool_call"])
def test_words_of_a_tool_call_that_does_not_fit(status, words):
    for text in (f"400 Bad Request: {words}",
                 json.dumps({"error": {"message": "x", "code": words}})):
        found = classify(status, text)
        assert (found.kind, found.retryable) == ("tool_schema", True)


@pytest.mark.parametrize("words", [
    "invalid api key", "incorrect api key", "missing api key",
    "api key not set", "authentication failed", "auth failed",
    "unauthorized", "forbidden", "permission denied", "access denied",
    "invalid token"])
def test_words_about_the_key(words):
    for text in (words, f"Upstream said: {words.title()}.",
                 json.dumps({"error": words})):
        found = classify(None, text)
        assert (found.kind, found.retryable) == ("auth", False)


@pytest.mark.parametrize("words", [
    "not found", "unknown", "unsupported", "does not exist", "invalid"])
def test_words_about_the_model(words):
    for text in (f"model {words}", f"the model 'gpt-x' {words}",
                 f"{words} model gpt", f"{words}: this model"):
        assert not classify(None, text).retryable


@pytest.mark.parametrize("words", [
    "plan does not include", "doesn't include", "not include",
    "insufficient balance", "insufficient_balance", "insufficient quota",
    "insufficient_quota", "quota exhausted", "out of credits",
    "no available package", "package not active", "purchase package",
    "model not available for your plan", "code: 1113", "(1311)", "1113",
    '{"error":{"code":"1311","message":"x"}}', '{"error":{"code":1113}}'])
def test_a_429_that_is_about_money(words):
    for status, text in ((429, words), (None, f"429 Too Many: {words}")):
        found = classify(status, text)
        assert found.kind == "quota"
        assert not found.retryable
        assert not found.rotates_key


@pytest.mark.parametrize("text", [
    "Request tokens 11130 used", "113113 per minute", "id req_1113abc"])
def test_a_429_with_a_number_that_only_looks_like_one_about_money(text):
    assert classify(429, text).kind == "rate"


@pytest.mark.each("status", range(400, 500))
def test_the_first_4xx_number_in_a_text_decides(status):
    for text in (f"{status} oops", f"server said {status}", f"({status})",
                 f"caused {status}, sorry", f"online {status}",
                 f"API error ({status}): x", f"code={status}",
                 f"503 upstream, then {status}", f"{status} Request failed"):
        assert classify(None, text).retryable == (status == 429), text


@pytest.mark.parametrize("text", [
    "HTTPSConnectionPool(host='a.test', port=443): Read timed out.",
    "connect ETIMEDOUT 104.18.7.192:443", "after 450 tokens: timeout",
    "timeout of 450 ms", "429 requests were fine, then the peer hung up",
    "something 40012 broke", "req_404 failed"])
def test_a_number_that_is_no_status_decides_nothing(text):
    assert classify(None, text).retryable


@pytest.mark.parametrize("text", [
    "429 Too Many Requests", "429 rate", "429 limit",
    "HTTP 429: rate exceeded"])
def test_a_429_in_words_rotates_the_key(text):
    found = classify(None, text)

    assert (found.kind, found.rotates_key) == ("rate", True)
