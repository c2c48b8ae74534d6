"""What kind of failure a refusal is, and whether to ask again. Pure.

`classify` looks at the HTTP status and at what the server says; the first
rule that fits wins:

 1. the request is longer than the model can take
 2. the model made a tool call that does not fit
 3. a model that the server does not have
 4. no credit, no quota, not in the plan: also as a 429
 5. too much to do on the server's side
 6. too many requests: 429, or words that say so (but never with a 401)
 7. the key: 401, words that say so; 403 unless it is about something else
 8. other 4xx: the request is wrong; asking again is no use
 9. 5xx, and for errors without a status what their words say

A word counts only where it is what the server says: not in an echo of the
request, not inside another word (the "rate" of "generate"), and a number
is a status only where it stands like one.
Sources: the vendors' pages on errors and their own texts as people quote
them in issues, read 2026-11.
"""

import json
import re
from collections.abc import Iterator

from claw.core.errors import (
    AuthError,
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
from claw.net import failure_words as say
from claw.net.failure_words import Kind

_BODY_CHARS = 64 * 1024
_WORDS_CHARS = 8000


class Failure(Value):
    """Why a request failed.

    `retryable`: the same request may succeed on the same server.
    `rotates_key`: another key may do better at once.
    """

    kind: Kind
    retryable: bool = False
    rotates_key: bool = False


_RETRYABLE = frozenset({"rate", "overload", "network", "timeout", "server",
                        "incomplete", "tool_schema"})

_SAYS = frozenset({
    "message", "msg", "detail", "details", "error", "errors", "reason",
    "error_description", "error_message", "error_msg", "errormessage",
    "status_msg", "description", "title", "raw", "cause", "fault",
    "faultstring", "response", "body", "base_resp", "metadata", "data",
    "violations", "exception", "inner_error", "innererror", "messages"})
_NAMES = frozenset({
    "code", "type", "status", "error_code", "status_code", "__type",
    "errorcode", "error_type", "reason", "quotaid", "quotametric",
    "quota_limit", "name", "param"})


def classify(status: int | None, text: str,
             code: str | None = None) -> Failure:
    """What a failure is. `status` is the HTTP status, None where there was
    none; `text` the body or the words of the error; `code` the vendor's
    own code where it is known apart."""
    words, codes = read_words(text)
    if code is not None and str(code).strip():
        codes = [*codes, str(code).strip().lower()]
        words = f"{words} {codes[-1]}"
    if status is None or not 300 <= status <= 599:
        status = _status_in(words, codes)
    kind = _kind(status, words, codes)
    client = status is not None and 400 <= status < 500 and status != 429
    return Failure(
        kind,
        retryable=kind in _RETRYABLE and (
            not client or kind in ("rate", "tool_schema", "network",
                                   "incomplete")),
        rotates_key=kind == "rate" or (kind == "overload" and status == 429))


def classify_error(error: BaseException) -> Failure:
    """What an error is that was raised instead of an answer."""
    if isinstance(error, AuthError):
        return Failure("auth")
    if isinstance(error, QuotaError):
        return Failure("quota")
    if isinstance(error, RateLimitedError):
        return Failure("rate", True, True)
    if isinstance(error, OverloadedError):
        return Failure("overload", error.status is None
                       or error.status >= 500 or error.status == 429,
                       error.status == 429)
    if isinstance(error, ContextOverflowError):
        return Failure("context_overflow")
    if isinstance(error, IncompleteAnswerError):
        final = _has(say.FINAL_ANSWER, error.message.lower())
        return Failure("incomplete", not final)
    if isinstance(error, RequestRefusedError):
        found = classify(error.status or 400, error.message)
        return found if found.kind in ("tool_schema", "model_not_found") \
            else Failure("bad_request")
    if isinstance(error, UnavailableError):
        return classify(error.status, error.message)
    if isinstance(error, ClawError):
        return Failure("bad_request")
    if isinstance(error, TimeoutError):
        return Failure("timeout", True)
    if isinstance(error, OSError):
        return Failure("network", True)
    return classify(None, str(error))


def read_words(text: str) -> tuple[str, list[str]]:
    """What a body says, in lower case and in one line, and the codes in
    it. Of JSON only what a server says counts, not what it echoes; of a
    web page its title."""
    text = text[:_BODY_CHARS].strip()
    data = _json(text)
    if data is not None:
        pieces = list(_pieces(data, "", 0))
        codes = [piece.lower() for is_code, piece in pieces if is_code]
        words = " ".join(piece for _, piece in pieces)
        if not words.strip():
            words = text[:2000]
    else:
        codes, words = [], text
        if text[:1] == "<":
            title = find_title(text)
            words = "an html page" if title is None else title
    return " ".join(words[:_WORDS_CHARS].lower().split()), codes


def _json(text: str) -> object:
    """An object or list of JSON, also after "data:"; else None."""
    text = text.removeprefix("data:").strip()
    if text[:1] not in ("{", "["):
        return None
    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data


def _pieces(data: object, name: str, depth: int
            ) -> Iterator[tuple[bool, str]]:
    """(is a code, text) of what an error says, outermost first."""
    if depth > 8:
        return
    if isinstance(data, str):
        inner = _json(data.strip()) if depth else None
        if inner is not None:
            yield from _pieces(inner, "", depth + 1)
        else:
            yield name in _NAMES, data[:4000]
    elif isinstance(data, int) and not isinstance(data, bool):
        if name in _NAMES:
            yield True, str(data)
    elif isinstance(data, list):
        for item in data[:20]:
            yield from _pieces(item, name, depth + 1)
    elif isinstance(data, dict):
        for key, value in data.items():
            key = str(key).lower()
            if key == "retrydelay":
                yield False, "retrydelay"
            elif key == "base_resp" and isinstance(value, dict):
                yield True, f"minimax:{value.get('status_code')}"
                yield False, str(value.get("status_msg") or "")
            elif key in _SAYS or key in _NAMES:
                yield from _pieces(value, key, depth + 1)


def find_title(page: str) -> str | None:
    """The text of a page's title, None where it has none. Only the first
    tag counts: where it is not closed, no later one is."""
    tag = re.search("<title", page, re.I)
    start = page.find(">", tag.end()) + 1 if tag else 0
    end = re.compile("</title>", re.I).search(page, start) if start else None
    return page[start:end.start()] if end else None


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def _kind(status: int | None, words: str, codes: list[str]) -> Kind:
    """The first rule that fits; see the top of the file."""
    known = next((say.CODES[c] for c in codes if c in say.CODES), None)
    if _is_overflow(status, words, known):
        return "context_overflow"
    if known == "tool_schema" or _has(say.TOOL, words):
        return "tool_schema"
    if _is_model(status, words, known):
        return "model_not_found"
    if status != 404 and _is_quota(status, words, known):
        return "quota"
    if status == 401:
        return "auth"
    if status in (522, 524):  # Cloudflare, whatever its page guesses
        return "timeout"
    if status not in (404, 422) and (
            known == "overload" or _has(say.OVERLOAD, words)) \
            and not (status in (400, 403) and _has(say.KEY, words)):
        return "overload"
    if _is_rate(status, words, known):
        return "rate"
    if status is not None and 400 <= status < 500:
        return _kind_of_4xx(status, words, known)
    return _kind_of_rest(status, words, known)


def _is_overflow(status: int | None, words: str, known: Kind | None) -> bool:
    if known == "context_overflow" or status == 413:
        return True
    if _has(say.OVERFLOW, words):
        return status not in (401, 402) and not (
            status == 429 and not _has(
                r"context|request too large|must be reduced"
                r"|reduce your|length", words))
    return status != 429 and _has(say.OVERFLOW_IF_NO_RATE, words) \
        and not _has(say.PER_TIME, words)


def _is_model(status: int | None, words: str, known: Kind | None) -> bool:
    if status in (401, 402, 408, 429):
        return False
    if known is not None:
        return known == "model_not_found"
    if _has(r"not_found_error", words) and _has(r"\bmodel: ?\S", words):
        return True
    return _has(say.MODEL, words) and not _has(say.PARAM_NOT_MODEL, words)


def _is_quota(status: int | None, words: str, known: Kind | None) -> bool:
    if status == 402 or known == "quota":
        return True
    if known in ("rate", "overload", "auth"):
        return False
    if _has(say.QUOTA, words):
        return not (status == 429 and _has(say.RATE, words)
                    and not _has(say.NO_CREDIT, words)
                    and _has(say.OPENS_AGAIN + r"|try again in", words))
    if status in (None, 200, 402, 403, 429) and _has(say.PLAN, words):
        return status is not None or "plan" in words
    return _has(say.OVER_QUOTA, words) and (
        not _has(say.OPENS_AGAIN, words) or _has(say.FOR_LONG, words))


def _is_rate(status: int | None, words: str, known: Kind | None) -> bool:
    if status == 429 or known == "rate":
        return True
    if status in (404, 422) or _has(r"unknown parameter|unrecognized",
                                    words):
        return False
    if status in (503, 529):
        return _has(r"rate[ _-]?limit", words)
    return _has(say.RATE, words)


def _kind_of_4xx(status: int, words: str, known: Kind | None) -> Kind:
    if known == "bad_request":
        return "bad_request"
    if known == "auth" or status == 407:
        return "auth" if status != 407 else "bad_request"
    if status == 403:
        about = _has(say.POLICY, words) and not _has(say.KEY, words)
        return "bad_request" if about else "auth"
    if status == 408:
        return "timeout"
    if _has(say.KEY, words) and not _has(say.PARAM_NOT_MODEL, words):
        return "auth"
    return "bad_request"


def _kind_of_rest(status: int | None, words: str,
                  known: Kind | None) -> Kind:
    """5xx, redirects, and what has no status."""
    if known is not None:
        return known
    if status is not None and status < 400:
        return "bad_request"
    if _has(say.BAD, words) and status is None:
        return "auth" if _has(say.KEY, words) else "bad_request"
    if _has(say.AUTH, words):
        return "auth"
    if status is not None:
        return _kind_of_5xx(status, words)
    for kind, pattern in _BY_WORDS:
        if _has(pattern, words):
            return kind
    return "bad_request" if "model" in words and _has(say.MODEL_WORDS, words) \
        else "server"


_BY_WORDS: tuple[tuple[Kind, str], ...] = (
    ("incomplete", say.INCOMPLETE), ("timeout", say.TIMEOUT),
    ("network", say.NETWORK))


def _kind_of_5xx(status: int, words: str) -> Kind:
    if status in (503, 529):
        return "overload"
    if status in (504, 522, 524, 598):
        return "timeout"
    if _has(r"network connection lost|connection (?:reset|refused)", words):
        return "network"
    return "server"


def _status_in(words: str, codes: list[str]) -> int | None:
    """The HTTP status that an error without one tells of."""
    for code in codes:
        if re.fullmatch(r"[45]\d\d", code):
            return int(code)
    found = re.findall(say.STATUS, words[:2000]) or re.findall(
        r"(?:http|status|code|error)[\s:=/_(\"']{1,4}([45]\d\d)(?!\w)",
        words[:2000])
    # The first 4xx decides, also behind a 5xx (spec 2.9).
    refused = [code for code in found if code[0] == "4"]
    return int((refused or found)[0]) if found else None
