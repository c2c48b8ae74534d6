"""Credentials do not reach the model or a log."""

import time

import pytest

from claw.security.redact import redaction
from claw.security.redact.redaction import scrub, scrub_tokens


@pytest.mark.parametrize(("text", "clean"), [
    ("token=abcdefgh123", "token=abcd*[REDACTED]"),
    ("API_KEY: abcdefgh", "API_KEY: abcd*[REDACTED]"),
    ('"apiKey": "abcd efgh"', '"apiKey": "abcd*[REDACTED]"'),
    ("password='geheim-wort!'", "password='gehe*[REDACTED]'"),
    ("Authorization: Bearer abcdefgh.ijk",
     "Authorization: Bearer abcd*[REDACTED]"),
    ("client_secret = abcdefghij", "client_secret = abcd*[REDACTED]"),
    ("user-key=12345678", "user-key=1234*[REDACTED]"),
    ("export OPENAI_API_KEY=sk-abcdefghijk",
     "export OPENAI_API_KEY=sk-a*[REDACTED]"),
    ("token=short", "token=short"),
    ("the secret of good tea", "the secret of good tea"),
    ("max_tokens: 4096", "max_tokens: 4096"),
    ("비밀번호 ghp_abcdefghijklmnop", "비밀번호 ghp_*[REDACTED]"),
])
def test_named_credentials_keep_four_characters(text, clean):
    assert scrub(text) == clean


@pytest.mark.parametrize("secret", [
    "sk-ant-api03-abcdefgh", "sk-proj-abcdefghij", "ghp_0123456789abcdef",
    "github_pat_0123456789", "xoxb-123456789-abc", "AKIAABCDEFGHIJKLMNOP",
    "AIzaSyA-1234567890", "gsk_1234567890", "hf_abcdefghij",
    "123456789:AAabcdefghijklmnopqrstuvwxyz1234567"])
def test_tokens_are_known_by_their_form(secret):
    clean = scrub_tokens(f"401 for https://x/bot{secret}?x at {secret}, "
                         "token=abcdefghij")

    assert secret not in clean.partition(" at ")[2]
    assert secret[:4] + "*[REDACTED]" in clean
    assert "token=abcdefghij" in clean


def test_a_bot_token_in_a_url_is_known():
    token = "123456789:AAabcdefghijklmnopqrstuvwxyz1234567"

    assert token not in scrub_tokens(f"https://x/bot{token}/getMe")


def test_scrubbing_is_quick_on_long_text():
    text = "token " * 50_000 + "secret" * 50_000

    assert len(scrub(text)) >= 500_000


@pytest.mark.each("text", [
    "TO\u212aEN=abcdefgh", "pa\u017fsword: abcdefgh", "ap\u0131_key=abcdefgh",
    "CREDENT\u0130AL=abcdefgh", "x-goog-api-key: abcdefgh",
    "user_key = 'abcdefgh'", "bearer abcdefgh", "sk_test_abcdefgh",
    "pk_live_abcdefgh", *(f"{start}abcdefgh" for start in (
        "sk-", "gsk_", "xai-", "hf_", "gho_", "ghu_", "ghs_", "ghr_",
        "glpat-", "xoxa-", "xoxr-", "xapp-", "AKIA", "r8_", "pplx-",
        "nvapi-", "zc_")),
    "123456:" + "a1" * 15])
def test_the_quick_look_overlooks_nothing_that_the_patterns_take(text):
    assert redaction._PREFIXED.search(text) or redaction._NAMED.search(text)
    assert "[REDACTED]" in scrub(text)


def test_long_output_without_a_sign_of_a_secret_costs_next_to_nothing():
    text = "2026-11-23 18:22:11 INFO a.b.c: did this in 12 ms\n" * 20_000

    def measure(work):
        start = time.thread_time()
        work()
        return time.thread_time() - start
    whole = measure(lambda: redaction._PREFIXED.search(text))
    assert min(measure(lambda: scrub(text)) for _ in range(3)) < whole / 2
