"""What the page asks and does, as rows of the route table.

    GET  /page/api/memory?q=tea      a question: `read(parameters)` -> JSON
    POST /page/api/memory/undo {..}  an action: `act(body)` -> JSON

Both run on a thread, and both must come from our script: its header is one
that no other page can send, beside the Origin that the gateway checks.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from starlette.responses import Response

from claw.gateway.endpoint import (
    Call,
    Endpoint,
    Refused,
    Schema,
    objects_with,
    reply,
)
from claw.gateway.page.session import BASE, SENDER, check_owner, check_sender

Read: TypeAlias = Callable[[Mapping[str, str]], Any]
Act: TypeAlias = Callable[[Mapping[str, Any]], Any]
Clean: TypeAlias = Callable[[Any], Any]
ANY_OBJECT = objects_with({})
# For an answer that a page of another origin asks for: it gets nothing.
UNREADABLE = {"X-Content-Type-Options": "nosniff",
              "Cross-Origin-Resource-Policy": "same-origin"}


def build_question(name: str, read: Read, clean: Clean,
                   query: tuple[Schema, ...] = (), *,
                   timeout_s: float = 0.0) -> Endpoint:
    """GET /page/api/NAME; `clean` takes the secrets out of the answer,
    `query` are OpenAPI's parameters."""
    async def answer(call: Call) -> Response:
        check_caller(call)
        found = await asyncio.to_thread(
            read, dict(call.request.query_params))
        return reply(clean(found), headers=UNREADABLE)
    return Endpoint(f"{BASE}/api/{name}", answer, timeout_s=timeout_s,
                    parameters=(*SENDER, *query))


def build_action(name: str, act: Act, clean: Clean,
                 body: Schema = ANY_OBJECT, *,
                 timeout_s: float = 0.0) -> Endpoint:
    """POST /page/api/NAME with a JSON object."""
    async def answer(call: Call) -> Response:
        body = await read_object(call)
        return reply(clean(await asyncio.to_thread(act, body)),
                     headers=UNREADABLE)
    return Endpoint(f"{BASE}/api/{name}", answer, methods=("POST",),
                    timeout_s=timeout_s, parameters=SENDER, body=body)


def check_caller(call: Call) -> None:
    """Raises Refused unless the owner's page calls."""
    check_owner(call)
    check_sender(call)


async def read_object(call: Call) -> Mapping[str, Any]:
    """The body of an action of the owner's. Raises Refused."""
    check_caller(call)
    body = await call.json()
    if not isinstance(body, dict):
        raise Refused(400, "the body is no JSON object")
    return body
