"""Credentials do not reach the model or a log."""

import pytest

from claw.security.redaction import scrub, scrub_tokens


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
