"""What a server or the way to it said, as errors of claw.

Works on the names of exception classes, so one table serves httpx, the
sockets below it and SDKs that bring an HTTP client of their own. Nothing
here imports one. No text that leaves this file holds a key.
"""

import errno
import json
import re
import socket
from binascii import b2a_base64
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus, urlsplit

from claw.core.errors import (
    AuthError,
    Cause,
    ClawError,
    ContextOverflowError,
    IncompleteAnswerError,
    OverloadedError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.value import Value
from claw.net.failure_words import Kind
from claw.net.failures import classify, find_title
from claw.net.retry import asked_wait, span
from claw.net.retry import retry_after as retry_after

BODY_CHARS = 500
_PAGE = "an HTML page"
# Patterns are compiled when the first error needs them.
_TOKEN = (
    r"(?<![A-Za-z0-9])(?:(?:sk-|xoxb-|xoxp-|ghp_|gho_|ghu_|github_pat_|gsk_|"
    r"xai-|pplx-|nvapi-|csk-|AIza)[A-Za-z0-9_.:*-]{3,}"
    r"|(?:hf_|fw_|r8_|tgp_v1_|ya29\.)[A-Za-z0-9_.-]{16,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?)")
# `Authorization: Bearer x`, also as JSON or a Python dict writes it.
_HEADER = (r"((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?"
           r"(?:(?:bearer|basic|token|digest|apikey|key)\s+)?)"
           r"[^\s\"',;<>(){}\[\]]{4,}")
_KEY_HEADER = (r"((?:x-goog-|x-|ocp-apim-subscription-)?"
               r"(?:api[-_]?key|subscription-key)[\"']?\s*[:=]\s*[\"']?)"
               r"(?=[^\s\"',;<>]*\d|[^\s\"',;<>]{16,})"
               r"[^\s\"',;<>(){}\[\]]{6,}")
_BEARER = (r"(\b(?:bearer|basic)\s+)(?=[\w.~+/-]*[\d_~+/-]|[\w.~+/]{20})"
           r"[\w.~+/-]{6,}=*")
_QUERY = (r"([?&;](?:api[-_]?key|key|access_token|refresh_token|token|auth"
          r"|code|client_secret|secret|password|sig|signature)=)"
          r"[^&\s\"'<>#]+")


class Peer(Value):
    """The server that is asked, for the sentences of errors.

    `secrets` are removed from everything it says; `key_hint` tells how to
    set the key, `models_hint` how to see its models, `start_hint` how to
    start it where it runs on this machine, `slow_hint` how to wait longer.
    """

    title: str
    secrets: tuple[str, ...] = ()
    key_hint: str | None = None
    models_hint: str | None = None
    start_hint: str | None = None
    slow_hint: str = "try again later"


def scrub(text: str, secrets: Sequence[str] = ()) -> str:
    """Text without tokens of known shape, without what stands where keys
    do, and without the given secrets, however they are written."""
    for secret in secrets:
        if len(secret) >= 6:
            for form in _forms(secret):
                text = text.replace(form, "[REDACTED]")
    text = re.sub(_HEADER, r"\1[REDACTED]", text, flags=re.I)
    text = re.sub(_KEY_HEADER, r"\1[REDACTED]", text, flags=re.I)
    text = re.sub(_BEARER, r"\1[REDACTED]", text, flags=re.I | re.A)
    text = re.sub(_QUERY, r"\1[REDACTED]", text, flags=re.I)
    return re.sub(_TOKEN, "[REDACTED]", text)


def _forms(secret: str) -> list[str]:
    """A secret as it is, as JSON, URLs and base64 write it; longest
    first. Base64 of more than the secret holds it in one of three ways,
    by where it begins."""
    raw = secret.encode("utf-8", "surrogatepass")
    forms = {secret, json.dumps(secret)[1:-1], quote(raw, safe=""),
             quote(raw), quote_plus(raw)}
    for skipped in range(3):
        coded = b2a_base64(b"\0" * skipped + raw, newline=False).decode()
        bits = 8 * (skipped + len(raw))
        core = coded[(0, 2, 3)[skipped]:bits // 6]
        if len(core) >= 8:
            forms |= {core, core.replace("+", "-").replace("/", "_")}
    return sorted(forms, key=len, reverse=True)


def summarise(body: str, secrets: Sequence[str] = ()) -> str:
    """The gist of an error body: scrubbed, one line, at most 500
    characters and "..."; of an HTML page its title."""
    text = body.strip()
    if text[:1] == "<" or text[:15].lower().startswith("<!doctype html"):
        title = find_title(text)
        text = _PAGE if title is None \
            else f"{_PAGE} titled {title.strip()!r}"
    else:
        text = _message(text) or text
    text = " ".join(scrub(text, secrets).split()) or "(no text)"
    text = text.encode("utf-8", "replace").decode()  # half a character
    return text if len(text) <= BODY_CHARS else text[:BODY_CHARS] + "..."


def _message(body: str, depth: int = 0) -> str | None:
    """The sentence inside a JSON error of the usual shapes."""
    if body[:1] not in ("{", "["):
        return None
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return None
    if isinstance(data.get("base_resp"), dict):  # MiniMax
        data = {"error": data["base_resp"].get("status_msg")}
    error = data.get("error") or data
    if isinstance(error, dict):
        error = _upstream(error) or error.get("message") \
            or error.get("detail") or error.get("msg")
    if isinstance(error, list):  # what FastAPI says of a field
        told = [str(e.get("msg")) for e in error
                if isinstance(e, dict) and e.get("msg")]
        error = "; ".join(told) or None
    if not isinstance(error, str):
        return None
    return (_message(error.strip(), depth + 1) if depth < 3 else None) \
        or error


def _upstream(error: Mapping[str, object]) -> str | None:
    """What the server behind OpenRouter said."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return None if not isinstance(raw, str) or not raw.strip() \
        else f"{error.get('message')}: {_message(raw.strip(), 2) or raw}"


def status_error(peer: Peer, status: int, body: str, *,
                 headers: Mapping[str, str] | None = None,
                 model: str | None = None) -> ClawError:
    """The error for an HTTP status of 300 or more."""
    text = summarise(body, peer.secrets)
    message = f"{peer.title} API error ({status}): {text}"
    kind = classify(status, body).kind
    if kind == "auth":
        return AuthError(message, hint=peer.key_hint, status=status)
    hint = _HINTS.get(kind)
    if kind in _REFUSALS:
        if kind in ("bad_request", "model_not_found"):
            hint = _refusal_hint(peer, status, text, model, kind)
        return _REFUSALS[kind](message, hint=hint, status=status)
    wait = asked_wait(headers or {}, body)
    if kind == "quota":
        return QuotaError(message, hint=hint, status=status,
                          retry_after_s=wait)
    again = "try again later" if wait is None \
        else f"try again in {span(wait)}"
    if kind == "rate":
        return RateLimitedError(message, hint=again, status=status,
                                retry_after_s=wait)
    if kind == "overload":
        return OverloadedError(message, hint=_page_hint(text) or again,
                               status=status, retry_after_s=wait)
    return UnavailableError(message, hint=_page_hint(text) or again,
                            status=status, retry_after_s=wait,
                            cause="server")


_REFUSALS: dict[Kind, type[RequestRefusedError]] = {
    "bad_request": RequestRefusedError,
    "model_not_found": RequestRefusedError,
    "tool_schema": RequestRefusedError,
    "context_overflow": ContextOverflowError,
}
_HINTS: dict[Kind, str] = {
    "quota": "the account has no credit or quota left; see its billing page",
    "tool_schema": "the model's tool call did not fit; try again",
    "context_overflow": "it is too long for this model: send less, or use a "
                        "model with a larger context",
}


def _page_hint(text: str) -> str | None:
    return "a proxy answered in its place; is the server up?" \
        if text.startswith(_PAGE) else None


def is_page(error: ClawError) -> bool:
    """Whether a web page stood where the answer of an API should: that of
    a proxy, a portal or another address."""
    return f"): {_PAGE}" in error.message


def _refusal_hint(peer: Peer, status: int, text: str, model: str | None,
                  kind: Kind) -> str | None:
    if status < 400:
        return "the address has moved; correct the base URL"
    if status == 407:
        return "a proxy wants a login; check HTTPS_PROXY and HTTP_PROXY"
    if text.startswith(_PAGE):
        return "a firewall is in the way; correct the base URL" \
            if status == 403 \
            else "that is a web page, not an API; correct the base URL"
    low = text.lower()
    if status == 403 or re.search(r"\b(?:country|region|location)\b", low):
        return "it is against the server's rules, not about the key"
    if model and (kind == "model_not_found" or status == 404
                  or "model" in low):
        asks = f"; see: {peer.models_hint}" if peer.models_hint else ""
        return f'is there a model "{model}"?{asks}'
    if status == 404 and kind != "model_not_found":
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
_NO_ADDRESS = ("UnsupportedProtocol", "InvalidURL", "UnicodeError")
_NO_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", None))
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN,
           errno.EHOSTDOWN, errno.EADDRNOTAVAIL)
# Signs that a request was under way, and that it never got so far.
_UNDER_WAY = frozenset({"ReadError", "WriteError", "ReadTimeout",
                        "WriteTimeout", "RemoteProtocolError"})
_UNSENT = frozenset(name for names, _, _ in _CAUSES for name in names) \
    - {"ConnectionError"} | {"PoolTimeout"}
_SLOW = ("ReadTimeout", "WriteTimeout", "PoolTimeout", "TimeoutException",
         "TimeoutError", "APITimeoutError")


def wire_error(peer: Peer, url: str, error: BaseException,
               timeout_s: float | None = None) -> UnavailableError:
    """The error for a request that got no (whole) answer."""
    where = f"{peer.title} at {extract_host(url)}"
    names = class_names(error)
    for classes, words, hint in _CAUSES:
        if names.intersection(classes):
            if "refused" in words or words == "no connection":
                hint = peer.start_hint or hint
            return UnavailableError(f"could not reach {where}: {words}",
                                    hint=hint, cause=find_cause(error))
    if names.intersection(_SLOW):
        within = f" within {timeout_s:g} s" if timeout_s else " in time"
        return UnavailableError(
            f"{where} did not answer{within}", hint=peer.slow_hint)
    return IncompleteAnswerError(
        f"{where} broke off in the middle of its answer", hint="try again")


def name_cause(error: BaseException) -> str | None:
    """The words for why there is no connection; None for what is not among
    the well-known causes."""
    names = class_names(error)
    return next((words for classes, words, _ in _CAUSES[:-1]
                 if names.intersection(classes)), None)


def was_unsent(error: BaseException) -> bool:
    """Whether a request never got to its server: no name, no connection,
    no address."""
    names = class_names(error)
    return not names.isdisjoint(_UNSENT) and names.isdisjoint(_UNDER_WAY)


def was_late(error: BaseException) -> bool:
    """Whether the answer did not come in time."""
    return not class_names(error).isdisjoint(_SLOW) and not was_unsent(error)


def has_route() -> bool:
    """Whether a packet for the internet would leave this machine; none is
    sent (192.0.2.1 and 2001:db8:: are nobody's, RFC 5737 and 3849)."""
    for family, address in ((socket.AF_INET, "192.0.2.1"),
                            (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, 9))
                return True
        except OSError:
            continue
    return False


def find_cause(error: BaseException) -> Cause | None:
    """Whose fault it is that there is no connection; None where that can't
    be told."""
    if was_refused(error) or not class_names(error).isdisjoint(_NO_ADDRESS):
        return "setting"
    for one in _walk(error):
        if isinstance(one, socket.gaierror):
            # Some systems say so too where they can't ask a name server.
            return "setting" if one.errno in _NO_NAME and has_route() \
                else "network"
        if isinstance(one, TimeoutError) or (
                isinstance(one, OSError) and one.errno in _NO_WAY):
            return "network"
    return None


def was_refused(error: BaseException) -> bool:
    """Whether the host is there and nothing listens at that port."""
    return any(isinstance(one, ConnectionRefusedError) or (
        # asyncio's, of a host with several addresses
        isinstance(one, OSError) and one.errno is None
        and f"[Errno {errno.ECONNREFUSED}]" in str(one))
        for one in _walk(error))


def class_names(error: BaseException) -> set[str]:
    """The class names along an exception's causes."""
    return {kind.__name__ for one in _walk(error)
            for kind in type(one).__mro__}


def _walk(error: BaseException) -> Iterator[BaseException]:
    """An exception and its causes."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
        waiting += [e for e in (current.__cause__, current.__context__) if e]


def extract_host(url: str) -> str:
    """Host and port of a URL, without user, password, path or query."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or "that address"
        return f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        return "that address"
