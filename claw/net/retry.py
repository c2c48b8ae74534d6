"""How long to wait before a request is sent again. Pure.

Servers say it in headers (RFC 9110, 10.2.3, and what vendors made of it)
or in the text of the error; where they say nothing it is full jitter.
Sources: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog,
2015; the vendors' pages on rate limits, read 2026-11.
"""

import json
import random
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import time

BASE_S = 0.05
CAP_S = 10.0
LONGEST_S = 30.0  # the most that is waited because a server asks for it
_ABSURD_S = 1e9
_EPOCH_S = 1.5e9  # a number from here on is a moment, not a time to wait
_BODY_CHARS = 20_000

_NUMBER = r"[+-]?\d{1,15}(?:\.\d{0,15})?"
_DATE = (r"(?:[A-Za-z]{3,9}, \d{1,2}[ -][A-Za-z]{3}[ -]\d{2,4} "
         r"\d\d?:\d\d:\d\d(?: [A-Za-z]{1,5}| [+-]\d{4})?"
         r"|[A-Za-z]{3} [A-Za-z]{3} +\d{1,2} \d\d?:\d\d:\d\d \d{4})")
_ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_UNIT = (r"(?:milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?"
         r"|mins?|m|hours?|hrs?|hr|h|days?|d)\b")
_LENGTH = r"\d{1,12}(?:\.\d{1,15})?"
_SPAN = rf"({_LENGTH})\s*({_UNIT}|[hms](?=\d))"
_SPANS = rf"(?:{_LENGTH}\s*(?:{_UNIT}|[hms](?=\d))[\s,]*(?:and\s+)?)+"
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

# "retry after: 3", "try again in 1m30.5s", "Please retry in 34.07s",
# "Please wait 30 seconds", "available again in 2 minutes".
_ASKED = (r"(?:(?:re)?try(?:\s+again)?\s+(?:in|after)|retry[-_ ]?after"
          r"|wait(?:\s+(?:for|at least|about|another))*"
          r"|again\s+(?:in|after)|resets?\s+(?:in|after)|retry\s+delay)"
          r"[^\w-]{0,4}(?:about\s+|approximately\s+|the next\s+|~)?")

# "30 秒后重试", "2 分钟后再试"
_LATER = rf"({_LENGTH})\s*(秒|分钟?|小时)钟?\s*[之以]?后"
_LATER_S = {"秒": 1.0, "分": 60.0, "小": 3600.0}


def backoff(attempt: int, *, base: float = 0.5, cap: float = CAP_S,
            rng: Callable[[], float] = random.random) -> float:
    """Seconds to wait before retry number `attempt` (0 = first retry).

    Uniform in [0, min(cap, base * 2**attempt)]: full jitter. `base` is
    0.05 s at least. Pure; pass `rng` in tests.
    """
    return rng() * min(cap, max(base, BASE_S) * float(2 ** min(attempt, 30)))


def to_wait(asked_s: float | None, backoff_s: float) -> float:
    """Seconds to wait: what the server asked for, 30 s at most, and never
    less than the back-off."""
    return backoff_s if asked_s is None \
        else max(min(asked_s, LONGEST_S), backoff_s)


def span(seconds: float) -> str:
    """A time to wait, for people: "0.3 s", "12 s", "3 days"."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f}".removesuffix(".0") + " s"
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"{round(seconds / size)} {name}s"
    return f"{round(seconds)} s"


def asked_wait(headers: Mapping[str, str], body: str = "",
               now: float | None = None) -> float | None:
    """Seconds that a refusal asks to wait, from the header made for it,
    else from its text, else from the limits that are used up."""
    for found in (retry_after(headers, now), body_wait(body),
                  limit_reset(headers, now)):
        if found is not None:
            return found
    return limit_reset(_told_headers(body), now)


def retry_after(headers: Mapping[str, str],
                now: float | None = None) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, or
    `retry-after` as seconds, a date or a span such as "1m30s". Of several
    values the largest counts. `headers` in lower case; `now` in unix
    seconds."""
    value = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(_NUMBER, value, re.ASCII):
        return _sane(float(value) / 1000)
    return _moment_or_span(headers.get("retry-after", ""), now)


def limit_reset(headers: Mapping[str, str],
                now: float | None = None) -> float | None:
    """Seconds until the limits that are used up are open again: the
    `...-reset` header of each whose `...-remaining` is 0. OpenAI writes
    "6m0s", Anthropic a date, others unix seconds or milliseconds."""
    waits = []
    for name, left in headers.items():
        if "ratelimit" not in name or "remaining" not in name \
                or not re.fullmatch(r"\s*(?:-\d+|0+)(?:\.\d+)?\s*", left,
                                    re.ASCII):
            continue
        reset = headers.get(name.replace("remaining", "reset"), "")
        waits.append(_moment_or_span(reset, now))
    return max((w for w in waits if w is not None), default=None)


def body_wait(body: str) -> float | None:
    """Seconds that the text of an error asks to wait."""
    text = body[:_BODY_CHARS]
    found = _told(text)
    if found is not None:
        return found
    match = re.search(rf"{_ASKED}({_SPANS})", text, re.I | re.A)
    if match:
        return _sane(_span(match[1]))
    match = re.search(rf"retry[-_]after([-_]ms)?\W{{1,4}}({_NUMBER})"
                      r"(?![\de])", text, re.I | re.A)
    if match:
        return _sane(float(match[2]) * (0.001 if match[1] else 1.0))
    match = re.search(_LATER, text)
    if match:
        return _sane(float(match[1]) * _LATER_S[match[2][0]])
    match = re.search(rf"{_ASKED}({_NUMBER})(?=\s*(?:[.,;)\"'}}\]]|$))",
                      text, re.I | re.A | re.M)
    return _sane(float(match[1])) if match else None


def _told(body: str) -> float | None:
    """The fields that some vendors have for it."""
    return _field(_json(body), 0) \
        if re.search(r"retry|estimated_time|resets?_in", body, re.I) else None


def _json(body: str) -> object:
    try:
        data: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return data


def _told_headers(body: str) -> dict[str, str]:
    """OpenRouter tells the headers of a limit in the body, under
    error.metadata.headers."""
    if "ratelimit" not in body[:_BODY_CHARS].lower():
        return {}
    found = _json(body[:_BODY_CHARS])
    for name in ("error", "metadata", "headers"):
        found = found.get(name) if isinstance(found, dict) else None
    return {str(name).lower(): str(value) for name, value in found.items()} \
        if isinstance(found, dict) else {}


def _field(data: object, depth: int) -> float | None:
    if depth > 8:
        return None
    if isinstance(data, str) and data[:1] in ("{", "["):
        data = _json(data)  # a gateway quotes what the server said
    if isinstance(data, list):
        found = [_field(item, depth + 1) for item in data[:50]]
        return max((f for f in found if f is not None), default=None)
    if not isinstance(data, dict):
        return None
    for name, value in data.items():
        key = str(name).lower().replace("_", "").replace("-", "")
        if key in _FIELDS:
            seconds = _seconds(value, _FIELDS[key])
            if seconds is not None:
                return seconds
    found = [_field(value, depth + 1) for value in data.values()]
    return max((f for f in found if f is not None), default=None)


# Names without their - and _, and what one of a plain number is in seconds.
_FIELDS = {"retryafter": 1.0, "retryafterseconds": 1.0, "retryafters": 1.0,
           "retryaftersecs": 1.0, "retryafterms": 0.001, "retrydelay": 1.0,
           "retryin": 1.0, "resetinseconds": 1.0, "resetsinseconds": 1.0,
           "estimatedtime": 1.0}


def _seconds(value: object, one: float) -> float | None:
    """A field's value: a number, "34.07s", {"seconds": 34}."""
    if isinstance(value, dict):
        value = value.get("seconds")
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _sane(min(value, _ABSURD_S * 1000) * one)
    if not isinstance(value, str):
        return None
    if re.fullmatch(_NUMBER, value.strip(), re.ASCII):
        return _sane(float(value) * one)
    if re.fullmatch(_SPANS, value.strip(), re.I | re.A):
        return _sane(_span(value))
    return None


def _moment_or_span(value: str, now: float | None) -> float | None:
    """Seconds until what a header names; of several values the latest."""
    value = value.strip()[:500]
    moment = time() if now is None else now
    dates = re.findall(rf"{_DATE}|{_ISO}", value, re.A)
    rest = re.sub(rf"{_DATE}|{_ISO}", "", value, flags=re.A)
    waits = [_until(date, moment) for date in dates]
    waits += [_one(piece.strip(), moment) for piece in rest.split(",")
              if piece.strip()]
    return None if not waits or None in waits \
        else max(w for w in waits if w is not None)


def _one(value: str, now: float) -> float | None:
    if re.fullmatch(_NUMBER, value, re.ASCII):
        number = float(value)
        if number >= _EPOCH_S * 1000:
            number /= 1000
        return _sane(number - now if number >= _EPOCH_S else number)
    if re.fullmatch(_SPANS, value, re.I | re.A):
        return _sane(_span(value))
    return None


def _until(date: str, now: float) -> float | None:
    """Seconds until a date; one without a zone is in UTC."""
    from email.utils import parsedate_to_datetime
    try:
        at = datetime.fromisoformat(date) if date[0].isdigit() \
            else parsedate_to_datetime(date)
        if at.tzinfo is None:
            at = at.replace(tzinfo=UTC)
        return _sane(at.timestamp() - now)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def _span(text: str) -> float:
    """Seconds of "1m30.5s", "2 hours and 5 minutes", "547ms"."""
    total = 0.0
    for number, unit in re.findall(_SPAN, text, re.I | re.A):
        low = unit.lower()
        one = 0.001 if low.startswith(("ms", "mil")) else _SECONDS[low[0]]
        total += float(number) * one
    return total


def _sane(seconds: float) -> float | None:
    """Not before now, and no nonsense."""
    return None if not seconds < _ABSURD_S else max(0.0, seconds)
