"""What servers say, as errors of claw."""

import errno
import json
import socket
import subprocess
import sys
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest

from claw.core.errors import (
    AuthError,
    ContextOverflowError,
    IncompleteAnswerError,
    OverloadedError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.net import errors
from claw.net.errors import (
    Peer,
    extract_host,
    find_cause,
    retry_after,
    scrub,
    status_error,
    summarise,
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
    (503, OverloadedError), (529, OverloadedError), (402, QuotaError),
    (413, ContextOverflowError),
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


@pytest.mark.parametrize(("status", "body", "kind", "hint"), [
    (400, "Incorrect API key provided", AuthError, "set ACME_API_KEY"),
    (403, "not available in your region", RequestRefusedError, "rules"),
    (429, "insufficient_quota", QuotaError, "billing page"),
    (400, "credit balance is too low", QuotaError, "billing page"),
    (429, "The engine is overloaded", OverloadedError, "try again later"),
    (500, "Overloaded. Try again in 90s", OverloadedError, "in 90 s"),
    (400, "prompt is too long: 9 > 8", ContextOverflowError, "send less"),
    (400, "tool call validation failed", RequestRefusedError, "try again"),
    (404, "gone", RequestRefusedError, "correct the base URL"),
    (404, "<html><title>404</title>", RequestRefusedError, "web page"),
    (403, "<title>Just a moment...</title>", RequestRefusedError,
     "firewall"),
    (502, "<html><title>502 Bad Gateway</title>", UnavailableError,
     "is the server up?"),
    (429, "slow down, please try again in 1m30s", RateLimitedError, "90 s"),
    (429, "<title>oops</title>", RateLimitedError, "try again later"),
])
def test_what_a_server_says_decides_the_class_and_the_next_step(
        status, body, kind, hint):
    error = status_error(ACME, status, body)

    assert type(error) is kind
    assert hint in error.hint
    if kind is not AuthError:
        assert error.status == status


def test_days_of_waiting_are_told_in_days():
    error = status_error(ACME, 429, "slow", headers={
        "retry-after": str(3 * 86400)})

    assert error.retry_after_s == 3 * 86400
    assert error.hint == "try again in 3 days"


@pytest.mark.parametrize("body", [
    '{"error": {"retry_after": 34}}', "Please retry in 34s.",
    '{"error":{"details":[{"retryDelay":"34s"}]}}'])
def test_a_wait_is_also_read_from_the_body(body):
    assert status_error(ACME, 429, body).retry_after_s == 34
    assert status_error(ACME, 503, body).retry_after_s == 34
    assert status_error(ACME, 429, body, headers={
        "retry-after": "5"}).retry_after_s == 5


@pytest.mark.parametrize(("body", "expected"), [
    ('{"base_resp": {"status_code": 1008, "status_msg": "no money"}}',
     "no money"),
    ('{"detail": [{"loc": ["a"], "msg": "bad a"}, {"msg": "bad b"}]}',
     "bad a; bad b"),
    ('{"error": {"message": "{\\"error\\": {\\"message\\": \\"deep\\"}}"}}',
     "deep"),
    ('{"error": {"message": "Provider returned error", "metadata": '
     '{"raw": "it is busy"}}}', "Provider returned error: it is busy"),
    ('{"error": {"message": 5}}', '{"error": {"message": 5}}'),
    ('{"error": null, "message": "m"}', "m"),
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
    text = summarise(body)

    assert text.startswith(expected)
    assert "<p>" not in text


def test_a_long_body_is_cut_at_500_characters():
    assert summarise("x" * 9000) == "x" * 500 + "..."


SECRET = "kéy/with+odd chars=42"


@pytest.mark.parametrize("text", [
    "key {secret} refused", "at /v1?a=1&b={quoted}", "at /v1?a={plus}&b=1",
    'said "{json}"', "sent {base64}", "sent Basic {basic}", "sent {basic2}",
    "sent {basic3}", "sent {urlsafe}",
])
def test_a_secret_is_found_however_it_is_written(text):
    raw = SECRET.encode()
    shown = text.format(
        secret=SECRET, quoted=quote(raw, safe=""), plus=quote_plus(raw),
        json=json.dumps(SECRET)[1:-1],
        base64=b64encode(raw).decode(),
        basic=b64encode(b"user:" + raw).decode(),
        basic2=b64encode(b"ab" + raw + b"!").decode(),
        basic3=b64encode(b"a" + raw + b"!!").decode(),
        urlsafe=urlsafe_b64encode(raw).decode())

    clean = scrub(shown, [SECRET])

    assert "[REDACTED]" in clean
    for form in (raw, b"user:" + raw, b"ab" + raw, b"a" + raw):
        coded = b64encode(form).decode()
        assert coded[8:24] not in clean
    assert "odd" not in clean


@pytest.mark.parametrize("text", [
    "Authorization: Bearer canary42", "authorization: canary42",
    "{'Authorization': 'Bearer canary42'}", '"authorization":"canary42"',
    "Authorization: Basic canary42==", "Proxy-Authorization: Basic canary42",
    "invalid header Bearer canary42", "at https://x.test/v1?key=canary42",
    "at /v1?a=b&access_token=canary42&c=d", "GET /v1?api_key=canary42 HTTP",
    "x-api-key: canary42", "{'x-goog-api-key': 'canary42'}",
    "api-key=canary42", "hf_canary42canary42", "eyJcanary42aa.canary42.x",
])
def test_what_stands_where_keys_do_never_comes_back_out(text):
    clean = scrub(text)

    assert "canary42" not in clean
    assert "[REDACTED]" in clean


@pytest.mark.parametrize("text", [
    "use Bearer authentication", "the bearer token is missing",
    "set the Authorization header", "no api key: see the docs",
    "x-api-key: missing", "what is the basic idea", "see /v1?page=2&n=3",
    "authorization failed",
])
def test_words_about_keys_are_left_alone(text):
    assert scrub(text) == text


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


@pytest.mark.parametrize(("error", "cause"), [
    (ConnectionRefusedError(111, "refused"), "setting"),
    (ExceptionGroup("all", [OSError(errno.ENETUNREACH, "no"),
                            ConnectionRefusedError(111)]), "setting"),
    (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', "
             "9, 0, 0), [Errno 111] Connect call failed"), "setting"),
    (OSError("Multiple exceptions: [Errno 101] x, [Errno 101] y"), None),
    (socket.gaierror(socket.EAI_NONAME, "no such name"), "setting"),
    (socket.gaierror(socket.EAI_AGAIN, "no name server"), "network"),
    (UnicodeError("label too long"), "setting"),
    (OSError(errno.ENETUNREACH, "no way"), "network"),
    (OSError(errno.EHOSTUNREACH, "no way"), "network"),
    (TimeoutError(), "network"),
    (ConnectionResetError(104, "reset"), None)])
def test_a_wrong_address_is_told_from_a_network_that_is_away(
        monkeypatch, error, cause):
    monkeypatch.setattr(errors, "has_route", lambda: True)
    outer = ConnectError("all attempts failed")
    outer.__cause__ = error
    assert find_cause(outer) == cause
    assert getattr(wire_error(ACME, "https://acme.test", outer),
                   "cause", None) == cause


def test_a_name_that_nobody_could_be_asked_about_is_not_wrong(monkeypatch):
    monkeypatch.setattr(errors, "has_route", lambda: False)
    assert find_cause(socket.gaierror(socket.EAI_NONAME, "x")) == "network"


def test_without_a_network_there_is_no_route():
    code = "from claw.net.errors import has_route; print(has_route())"
    done = subprocess.run(
        ["unshare", "-rn", sys.executable, "-c", code],
        capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no network namespace here: {done.stderr}")
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(("status", "cause"), [
    (500, "server"), (503, "server"), (429, "server"), (404, None)])
def test_a_server_that_can_not_answer_now_is_the_cause(status, cause):
    assert status_error(ACME, status, "").cause == cause


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
    assert extract_host(url) == host
