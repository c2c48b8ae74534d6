"""What a server or the way to it said, as errors of claw.

Works on the names of exception classes, so one table serves httpx, the
sockets below it and SDKs that bring an HTTP client of their own. Nothing
here imports one. No text that leaves this file holds a key.
"""

import json
import re
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from time import time
from urllib.parse import urlsplit

from claw.core.errors import (
    AuthError,
    ClawError,
    IncompleteAnswerError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.value import Value

BODY_CHARS = 500
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|xoxb-|xoxp-|ghp_|gho_|ghu_|github_pat_|gsk_|"
    r"xai-|pplx-|nvapi-|AIza)[A-Za-z0-9_.:*-]{3,}")
_TITLE = re.compile(r"<title[^>]*>\s*(.*?)\s*</title>", re.I | re.S)


class Peer(Value):
    """The server that is asked, for the sentences of errors.

    `secrets` are removed from everything it says; `key_hint` tells how to
    set the key, `models_hint` how to see its models, `start_hint` how to
    start it where it runs on this machine.
    """

    title: str
    secrets: tuple[str, ...] = ()
    key_hint: str | None = None
    models_hint: str | None = None
    start_hint: str | None = None


def scrub(text: str, secrets: Sequence[str] = ()) -> str:
    """Text without tokens of known shape and without the given secrets."""
    for secret in secrets:
        if len(secret) >= 6:
            text = text.replace(secret, "[REDACTED]")
    return _TOKEN.sub("[REDACTED]", text)


def said(body: str, secrets: Sequence[str] = ()) -> str:
    """The gist of an error body: scrubbed, one line, at most 500
    characters and "..."; of an HTML page its title."""
    text = body.strip()
    if text[:1] == "<" or text[:15].lower().startswith("<!doctype html"):
        found = _TITLE.search(text)
        text = f"an HTML page titled {found[1]!r}" if found \
            else "an HTML page"
    else:
        text = _message(text) or text
    text = " ".join(scrub(text, secrets).split()) or "(no text)"
    return text if len(text) <= BODY_CHARS else text[:BODY_CHARS] + "..."


def _message(body: str) -> str | None:
    """The sentence inside a JSON error of the usual shapes."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return None
    error = data.get("error", data)
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail")
    return error if isinstance(error, str) else None


def retry_after(headers: Mapping[str, str],
                now: float | None = None) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, or
    `retry-after` as seconds or an HTTP date. `headers` in lower case;
    `now` in unix seconds."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            at = parsedate_to_datetime(value).timestamp()
        except (ValueError, OverflowError):
            return None
        seconds = at - (time() if now is None else now)
    return max(0.0, seconds) if seconds < 1e9 else None


def status_error(peer: Peer, status: int, body: str, *,
                 headers: Mapping[str, str] | None = None,
                 model: str | None = None) -> ClawError:
    """The error for an HTTP status of 300 or more."""
    text = said(body, peer.secrets)
    message = f"{peer.title} API error ({status}): {text}"
    if status in (401, 403):
        return AuthError(message, hint=peer.key_hint)
    wait = retry_after(headers or {})
    if status == 429:
        hint = f"try again in {wait:g} s" if wait else "try again later"
        return RateLimitedError(message, hint=hint, status=status,
                                retry_after_s=wait)
    if status >= 500 or status == 408:
        hint = "a proxy answered in its place; is the server up?" \
            if text.startswith("an HTML page") else "try again later"
        return UnavailableError(message, hint=hint, status=status,
                                retry_after_s=wait)
    return RequestRefusedError(
        message, hint=_refusal_hint(peer, status, text, model),
        status=status)


def _refusal_hint(peer: Peer, status: int, text: str,
                  model: str | None) -> str | None:
    if status < 400:
        return "the address has moved; correct the base URL"
    if status == 402:
        return "the account has no credit left"
    if text.startswith("an HTML page"):
        return "that is a web page, not an API; correct the base URL"
    if model and (status == 404 or "model" in text.lower()):
        asks = f"; see: {peer.models_hint}" if peer.models_hint else ""
        return f'is there a model "{model}"?{asks}'
    if status == 404:
        return "nothing answers at that path; correct the base URL"
    return None


# Class names, most telling first, looked for along the chain of causes.
# Each gives the words for "could not reach X" and the next step.
_CAUSES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("gaierror", "herror"), "its name could not be resolved (DNS)",
     "check the network and the base URL"),
    (("SSLCertVerificationError",), "its certificate was not accepted",
     "for a certificate authority of your own set SSL_CERT_FILE"),
    (("SSLError", "SSLEOFError"), "no secure connection (TLS)",
     "does the base URL need http:// in place of https://?"),
    (("ProxyError",), "the proxy refused",
     "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"),
    (("ConnectionRefusedError",), "connection refused",
     "is it running, and is the port right?"),
    (("ConnectTimeout",), "no connection in time",
     "check the network and the base URL"),
    (("UnsupportedProtocol", "InvalidURL", "LocalProtocolError",
      "OverflowError"),
     "that is no address a request can go to", "correct the base URL"),
    (("ConnectError", "ConnectionError"), "no connection",
     "check the network and the base URL"),
)
_SLOW = ("ReadTimeout", "WriteTimeout", "PoolTimeout", "TimeoutException",
         "TimeoutError", "APITimeoutError")


def wire_error(peer: Peer, url: str, error: BaseException,
               timeout_s: float | None = None) -> UnavailableError:
    """The error for a request that got no (whole) answer."""
    where = f"{peer.title} at {host_of(url)}"
    names = class_names(error)
    for classes, words, hint in _CAUSES:
        if names.intersection(classes):
            if "refused" in words or words == "no connection":
                hint = peer.start_hint or hint
            return UnavailableError(f"could not reach {where}: {words}",
                                    hint=hint)
    if names.intersection(_SLOW):
        within = f" within {timeout_s:g} s" if timeout_s else " in time"
        return UnavailableError(
            f"{where} did not answer{within}",
            hint="allow more with --timeout or provider_timeout_secs")
    return IncompleteAnswerError(
        f"{where} broke off in the middle of its answer", hint="try again")


def class_names(error: BaseException) -> set[str]:
    """The class names along an exception's causes."""
    names: set[str] = set()
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        names.update(kind.__name__ for kind in type(current).__mro__)
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
        waiting += [e for e in (current.__cause__, current.__context__) if e]
    return names


def host_of(url: str) -> str:
    """Host and port of a URL, without user, password, path or query."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or "that address"
        return f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        return "that address"
