"""One row of the route table, and what a handler is given.

    ENDPOINTS = (
        Endpoint("/v1/models", list_models),
        Endpoint("/v1/chat/completions", complete, methods=("POST",),
                 body_bytes=8 << 20, timeout_s=None, keeps_answers=True),
    )

    async def list_models(call: Call) -> Response:
        return reply({"data": [...]})

A handler gets a `Call` and returns a starlette Response, plain or
streaming. It raises `Refused` (or a ClawError) for what is not to be had.
"""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from claw.core.value import Record, Value, made
from claw.gateway.keys import Key

__all__ = ["Access", "Call", "Endpoint", "Handler", "Key", "Refused",
           "Schema", "objects_with", "parameter", "render_plain", "reply"]

# Who may call: "open" anyone, "key" who shows a key, "local" also a program
# on this machine without one, "signed" anyone, since the handler verifies
# what came (a platform's webhook: its Host and Origin say nothing).
Access: TypeAlias = Literal["open", "key", "local", "signed"]
DEFAULT_BODY_BYTES = 65_536
# A body is read on the loop: 32 MiB of "{}," would hold it up for a minute.
# Text with more of these signs than this is none that a model reads.
_MOST_SIGNS = {b",": 2_000_000, b"[": 250_000, b"{": 250_000}


class Refused(Exception):
    """Ends a call with this status and message."""

    def __init__(self, status: int, message: str,
                 headers: Mapping[str, str] | None = None,
                 hint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})
        self.hint = hint


class Call(Record):
    """A request with what is known of it. `key` is None where none was
    shown; `is_local`: a program on this machine itself; `closing` is set
    when the gateway ends: streams end then."""

    request: Request
    peer: str
    key: Key | None = None
    is_local: bool = False
    closing: asyncio.Event = made(factory=asyncio.Event)

    async def json(self) -> Any:
        """The body as JSON. Raises Refused (400, 413)."""
        body = await self.request.body()
        if any(body.count(sign) > most
               for sign, most in _MOST_SIGNS.items()):
            raise Refused(413, "the body holds too many values")
        try:
            return json.loads(body, parse_constant=_read_number,
                              parse_float=_read_number)
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"the body is not JSON: {error}") from error


def _read_number(text: str) -> float:
    """Raises ValueError for what is none in JSON: NaN, and too large."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is no number")
    return value


Handler: TypeAlias = Callable[[Call], Awaitable[Response]]
Schema: TypeAlias = Mapping[str, Any]
RenderError: TypeAlias = Callable[[int, str, str | None], Any]


def render_plain(status: int, message: str, hint: str | None) -> Any:
    """{"error": "...", "hint": "..."}"""
    return {"error": message, **({"hint": hint} if hint else {})}


class Endpoint(Value):
    """A path (starlette's syntax: "/x/{id}"), its methods and its bounds.

    `window` names the sliding window that a call without a key counts in.
    `timeout_s` is for the making of the answer: 0 the setting's, None no
    limit (streams). `keeps_answers`: a repeated Idempotency-Key gets the
    answer of before, once there is one. `render_error` makes the JSON of a
    refusal. For /openapi.json: `body` is the schema of a JSON body,
    `parameters` are OpenAPI's, of query and headers.
    """

    path: str
    handle: Handler
    methods: tuple[str, ...] = ("GET",)
    access: Access = "key"
    window: Literal["call", "pair", "webhook"] = "call"
    body_bytes: int = DEFAULT_BODY_BYTES
    timeout_s: float | None = 0.0
    keeps_answers: bool = False
    render_error: RenderError = render_plain
    body: Schema | None = None
    parameters: tuple[Schema, ...] = ()


def objects_with(required: Mapping[str, Schema],
                 optional: Mapping[str, Schema] | None = None) -> Schema:
    """The schema of an object; it may hold other keys too."""
    return {"type": "object", "required": list(required),
            "properties": {**required, **(optional or {})}}


def parameter(name: str, schema: Schema, *, place: str = "query",
              required: bool = False) -> Schema:
    """A parameter as OpenAPI describes it."""
    return {"name": name, "in": place, "required": required,
            "schema": schema}


def reply(body: Any, status: int = 200,
          headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer; nothing keeps a copy of it."""
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    return Response(data + b"\n", status,
                    {"Cache-Control": "no-store", **(headers or {})},
                    "application/json")
