"""Errors in the shape and with the statuses of OpenAI's API. Pure.

Source: the openai SDK's exceptions and its rules of retrying, read 2026-11:
it asks again by itself at 408, 409, 429 and 5xx, unless the header
x-should-retry says false.
"""

import math
from typing import Any

from starlette.responses import Response

from claw.core.errors import (
    AuthError,
    BudgetError,
    ClawError,
    ConfigError,
    ContextOverflowError,
    DeniedError,
    IncompleteAnswerError,
    NotFoundError,
    OverloadedError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    TimeLimitError,
    UnavailableError,
    UsageError,
    describe,
)
from claw.core.value import Value
from claw.gateway.endpoint import reply

_TYPES = {401: "authentication_error", 403: "permission_error",
          404: "invalid_request_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
_NO_RETRY = {"x-should-retry": "false"}


class BadRequest(Exception):
    """What a client asks can't be; `param` is the key that says it."""

    def __init__(self, message: str, param: str | None = None,
                 code: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code
        self.status = status


class ApiError(Value):
    """An error on its way out. `again` is false where a client should not
    ask again by itself, `wait_s` how long it should wait."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    again: bool = True
    wait_s: float | None = None

    def to_json(self) -> dict[str, Any]:
        kind = _TYPES.get(self.status, "invalid_request_error"
                          if self.status < 500 else "server_error")
        if self.code == "insufficient_quota":
            kind = "insufficient_quota"
        return {"message": self.message, "type": kind, "param": self.param,
                "code": self.code or _CODES.get(self.status)}


# The first that fits: error -> status, code, whether to ask again.
_TABLE: tuple[tuple[type[ClawError], int, str | None, bool], ...] = (
    (QuotaError, 429, "insufficient_quota", False),
    (BudgetError, 429, "insufficient_quota", False),
    (RateLimitedError, 429, None, True),
    (ContextOverflowError, 400, "context_length_exceeded", False),
    (OverloadedError, 503, "overloaded", True),
    (TimeLimitError, 504, "timeout", True),
    (IncompleteAnswerError, 502, "incomplete_answer", True),
    (AuthError, 502, "upstream_auth", False),
    (UnavailableError, 503, "upstream_unavailable", True),
    (DeniedError, 403, "denied", False),
    (NotFoundError, 404, None, False),
    (UsageError, 400, None, False),
    (ConfigError, 503, "configuration", False),
)
# Refusals of a vendor that are the client's to mend.
_PASSED_ON = (400, 404, 413, 422)


def render_error(status: int, message: str, hint: str | None) -> Any:
    """A refusal of the gateway itself (Endpoint.render_error)."""
    return {"error": ApiError(status, _join(message, hint)).to_json()}


def translate(error: Exception) -> ApiError:
    """Any error as a client reads it; what it says of a fault is in the
    log alone."""
    if isinstance(error, BadRequest):
        return ApiError(error.status, error.message, error.code, error.param,
                        again=False)
    if not isinstance(error, ClawError):
        return ApiError(500, "a fault of claw; its log says more")
    message = _join(describe(error), error.hint)
    wait_s = getattr(error, "retry_after_s", None)
    if isinstance(error, RequestRefusedError) \
            and not isinstance(error, ContextOverflowError):
        status = error.status if error.status in _PASSED_ON else 502
        return ApiError(status, message, "model_not_found"
                        if status == 404 else None, again=False)
    status, code, again = next(
        (row[1:] for row in _TABLE if isinstance(error, row[0])),
        (500, None, True))
    return ApiError(status, message, code, again=again, wait_s=wait_s)


def reply_error(error: ApiError) -> Response:
    """The error as an answer of its own."""
    headers = {} if error.again else dict(_NO_RETRY)
    if error.wait_s is not None and math.isfinite(error.wait_s):
        headers["Retry-After"] = str(max(1, math.ceil(error.wait_s)))
    return reply({"error": error.to_json()}, error.status, headers)


def _join(message: str, hint: str | None) -> str:
    return f"{message} ({hint})" if hint else message
