"""Errors that come with HTTP 200: in a body, or in the middle of a stream.
Pure.

OpenRouter ends a stream with `error` beside a choice whose finish_reason is
"error"; MiniMax answers with `base_resp`, Z.AI with `success` false, vLLM
with `object` "error", the Responses API with an `error` event or a failed
response. Each becomes an HTTP status, for the one table of errors.
"""

from collections.abc import Mapping
from typing import Any

from claw.core.value import Value
from claw.providers.wire.json import objects_in


class ErrorInAnswer(Value):
    """An error as an HTTP status, and the text to tell it from."""

    status: int
    text: str


# Codes and types of errors that are words. A part of the word is enough.
_WORDS = (
    ("insufficient_quota", 429), ("rate_limit", 429),
    ("too_many_requests", 429), ("overloaded", 503), ("unavailable", 503),
    ("server_is_overloaded", 503), ("slow_down", 503),
    ("context_length", 400), ("authentication", 401), ("api_key", 401),
    ("permission", 403), ("insufficient", 402), ("billing", 402),
    ("invalid_request", 400), ("invalid_prompt", 400),
    ("bad_request", 400), ("content_policy", 400), ("not_found", 404),
    ("server_error", 500), ("timeout", 504),
)
# MiniMax's base_resp.status_code (platform.minimax.io, error codes).
_MINIMAX = {1000: 500, 1001: 504, 1002: 429, 1004: 401, 1008: 402,
            1013: 500, 1024: 500, 1026: 400, 1027: 400, 1033: 500,
            1039: 400, 2013: 400, 2049: 401}


def find_error(data: Mapping[str, Any]) -> ErrorInAnswer | None:
    """The error that an answer or a chunk is, or None."""
    error = data.get("error")
    if not error and data.get("type") == "error":
        error = data
    response = data.get("response")
    if not error and isinstance(response, Mapping) and (
            response.get("status") == "failed" or response.get("error")):
        error = response.get("error") or "the response failed"
    if not error:
        error = _error_in_choice(data.get("choices"))
    if error:
        return ErrorInAnswer(read_status(error), _text(error))
    if data.get("choices") or "output" in data or str(
            data.get("type")).startswith("response."):
        return None
    return _vendor_error(data)


def _error_in_choice(choices: Any) -> Any:
    for choice in objects_in(choices):
        if choice.get("error"):
            return choice["error"]
        if choice.get("finish_reason") == "error":
            return "the model broke off with an error"
    return None


def _vendor_error(data: Mapping[str, Any]) -> ErrorInAnswer | None:
    """The shapes that only one vendor has."""
    base = data.get("base_resp")
    if isinstance(base, Mapping) and base.get("status_code"):
        code = base["status_code"]
        return ErrorInAnswer(_MINIMAX.get(code, 502) if isinstance(code, int)
                     else 502, _text(base.get("status_msg") or base))
    if data.get("object") == "error" or data.get("success") is False:
        return ErrorInAnswer(read_status(data), _text(data))
    return None


def read_status(error: Any) -> int:
    """The HTTP status that an error's code, status or type stands for; 502
    where it tells nothing."""
    if not isinstance(error, Mapping):
        return 502
    for key in ("code", "status", "status_code", "http_code"):
        number = _number(error.get(key))
        if number is not None and 400 <= number <= 599:
            return number
    for key in ("code", "type"):
        word = error.get(key)
        for part, status in _WORDS:
            if isinstance(word, str) and part in word.lower():
                return status
    return 502


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() \
            and len(value) < 5:
        return int(value)
    return value if isinstance(value, int) else None


def _text(error: Any) -> str:
    """What it says; what OpenRouter had from the provider behind it comes
    with it."""
    if not isinstance(error, Mapping):
        return str(error)
    found = next((error[k] for k in ("message", "msg", "detail",
                                     "status_msg", "code")
                  if error.get(k)), None)
    text = str(found if found is not None else dict(error))
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f"{text}: {raw}" if isinstance(raw, str) and raw else text
