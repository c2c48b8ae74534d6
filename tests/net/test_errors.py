"""What servers say, as errors of claw."""

import pytest

from claw.core.errors import (
    AuthError,
    IncompleteAnswerError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.net.errors import (
    Peer,
    host_of,
    retry_after,
    said,
    scrub,
    status_error,
    wire_error,
)

ACME = Peer("Acme", secrets=("very-secret-key",),
            key_hint="set ACME_API_KEY",
            models_hint="claw provider models acme")


@pytest.mark.parametrize(("status", "kind"), [
    (401, AuthError), (403, AuthError), (429, RateLimitedError),
    (400, RequestRefusedError), (404, RequestRefusedError),
    (422, RequestRefusedError), (302, RequestRefusedError),
    (408, UnavailableError), (500, UnavailableError),
    (529, UnavailableError),
])
def test_a_status_has_its_class_and_shape(status, kind):
    error = status_error(ACME, status, '{"error": {"message": "no, no"}}')

    assert type(error) is kind
    assert error.message == f"Acme API error ({status}): no, no"


def test_a_refused_key_says_how_to_set_it():
    assert status_error(ACME, 401, "").hint == "set ACME_API_KEY"


def test_a_missing_model_is_named_with_the_command_that_lists_them():
    error = status_error(ACME, 404, "model not found", model="gpt-9")

    assert "gpt-9" in error.hint
    assert "claw provider models acme" in error.hint


@pytest.mark.parametrize(("body", "expected"), [
    ('{"error": {"message": "a"}}', "a"),
    ('{"error": "b"}', "b"),
    ('{"message": "c"}', "c"),
    ('{"detail": "d"}', "d"),
    ('{"other": "d"}', '{"other": "d"}'),
    ('[{"error": {"message": "e"}}]', "e"),
    ("{broken", "{broken"),
    ("two\n\n  lines", "two lines"),
    ("", "(no text)"),
    ("<html><title>502 Bad\nGateway</title>..", "an HTML page titled"),
    ("<!DOCTYPE html><p>x", "an HTML page"),
    ("[" * 5000, "[[[["),
])
def test_an_error_body_is_reduced_to_its_gist(body, expected):
    text = said(body)

    assert text.startswith(expected)
    assert "<p>" not in text


def test_a_long_body_is_cut_at_500_characters():
    assert said("x" * 9000) == "x" * 500 + "..."


@pytest.mark.parametrize("token", [
    "sk-abc123", "sk-ant-api03-a_b-c", "xoxb-1-2-3", "xoxp-123", "ghp_abcd",
    "gho_abcd", "ghu_abcd", "github_pat_11AA_bb", "very-secret-key",
])
def test_tokens_never_come_back_out(token):
    text = scrub(f'bad key "{token}", or {token}.', ACME.secrets)

    assert text.count("[REDACTED]") == 2
    assert token not in text


def test_ordinary_words_are_left_alone():
    assert scrub("a risk-free task-list, disk-usage") == (
        "a risk-free task-list, disk-usage")


@pytest.mark.parametrize(("headers", "expected"), [
    ({"retry-after": "7"}, 7.0),
    ({"retry-after": "1.5"}, 1.5),
    ({"retry-after": "-3"}, 0.0),
    ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT"}, 30.0),
    ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT"}, 0.0),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "1e99"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ({}, None),
])
def test_retry_after_in_seconds_and_dates(headers, expected):
    noon = 1795176000.0  # 2026-11-20T12:00:00Z

    assert retry_after(headers, noon) == expected


def test_a_rate_limit_carries_its_wait():
    error = status_error(ACME, 429, "slow", headers={"retry-after": "7"})

    assert (error.status, error.retry_after_s) == (429, 7.0)
    assert "7 s" in error.hint


class ReadTimeout(Exception):
    """Named like the HTTP library's."""


class ConnectError(Exception):
    """Named like the HTTP library's."""


def test_the_deepest_cause_decides_the_words():
    outer = ConnectError("all attempts failed")
    outer.__cause__ = ExceptionGroup("all", [ConnectionRefusedError(111)])
    error = wire_error(ACME, "http://u:p@acme.test:81/v1?key=very", outer)

    assert error.message == (
        "could not reach Acme at acme.test:81: connection refused")


def test_a_local_server_that_is_down_gets_its_start_command():
    peer = Peer("Ollama", start_hint="ollama serve")
    error = wire_error(peer, "http://localhost:11434/v1",
                       ConnectionRefusedError(111))

    assert error.hint == "ollama serve"


def test_silence_and_breaks_are_told_apart():
    slow = wire_error(ACME, "https://acme.test", ReadTimeout(), 5.0)
    cut = wire_error(ACME, "https://acme.test", EOFError())

    assert "within 5 s" in slow.message
    assert type(slow) is UnavailableError
    assert type(cut) is IncompleteAnswerError


@pytest.mark.parametrize(("url", "host"), [
    ("https://user:secret@host.test/path?key=1", "host.test"),
    ("http://[::1]:80/", "::1:80"),
    ("http://host:99999999/", "that address"),
    ("", "that address"),
    ("/bot123:secret/getMe", "that address"),
])
def test_only_the_host_of_an_address_is_shown(url, host):
    assert host_of(url) == host
