"""A small real HTTP server that speaks the Messages API on 127.0.0.1.

    with FakeAnthropic(["Hello.", tool_use("shell", command="ls")]) as server:
        ...                           # point a client at server.url
        server.requests[0].body       # what it was asked

Replies are played in order, the last one repeats; without replies the last
user message is echoed. Requests that the API would refuse are refused, in
its words. Faults happen at the wire: a status, an error event in
mid-stream, an HTML page, a dropped connection, silence, garbage. Standard
library only.
Source: the anthropic SDK's types and stream fixtures (2.12).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from claw.testing.fake_anthropic_answers import (
    Json,
    Reply,
    error_body,
    events,
    failure,
    last_user_text,
    message,
    refused,
)
from claw.testing.fake_anthropic_rules import complaint
from claw.testing.model_server import ModelHandler, ModelServer, Recorded

Playable: TypeAlias = str | Reply | Callable[[Json], "str | Reply"]


@dataclass
class FakeAnthropic(ModelServer):
    """The server, running inside a `with` block.

    With `api_key` set, any other x-api-key or bearer gets 401. `refuse`
    gives, for a body, the sentence of a refusal or None: what a model does
    not take. `rules` off lets requests through that the API would refuse.
    `models` come `page` at a time.
    """

    replies: Sequence[Playable] = ()
    models: Sequence[str] = ("fake-model",)
    api_key: str | None = None
    refuse: Callable[[Json], str | None] | None = None
    rules: bool = True
    page: int = 20
    requests: list[Recorded] = field(default_factory=list)
    port: int = 0

    reply = Reply

    @property
    def chats(self) -> list[Recorded]:
        """The recorded requests for messages only."""
        return [r for r in self.requests
                if urlsplit(r.path).path.endswith("/messages")]

    def _refusal(self, request: Recorded) -> Reply | None:
        sent = request.headers.get("x-api-key") or request.headers.get(
            "authorization", "").removeprefix("Bearer ")
        if self.api_key is not None and sent != self.api_key:
            return failure(401, "authentication_error", "invalid x-api-key")
        if not request.headers.get("anthropic-version"):
            return refused("anthropic-version: header is required")
        if request.method != "POST":
            return None
        found = complaint(request.body) if self.rules else None
        if found is None and self.refuse is not None:
            found = self.refuse(request.body)
        return None if found is None else refused(found)

    def _choose(self, request: Recorded) -> Reply:
        if refusal := self._refusal(request):
            return refusal
        address = urlsplit(request.path)
        if request.method == "GET" and address.path.endswith("/v1/models"):
            return self._model_list(parse_qs(address.query))
        if not address.path.endswith("/v1/messages"):
            return failure(404, "not_found_error", "Not found")
        reply: Reply = self._next(request.body, last_user_text(request.body))
        return reply

    def _model_list(self, query: dict[str, list[str]]) -> Reply:
        size = min(int(query.get("limit", ["20"])[0]), self.page)
        after = query.get("after_id", [""])[0]
        names = list(self.models)
        start = names.index(after) + 1 if after in names else 0
        page = names[start:start + size]
        return Reply(body=json.dumps({
            "data": [{"type": "model", "id": name, "display_name": name,
                      "created_at": "2026-01-01T00:00:00Z",
                      "lifecycle": "active"} for name in page],
            "has_more": start + size < len(names),
            "first_id": page[0] if page else None,
            "last_id": page[-1] if page else None}))


class _Handler(ModelHandler):
    """The API of FakeAnthropic."""

    stream_type = "text/event-stream; charset=utf-8"

    def whole(self, reply: Reply, body: Any) -> Json:
        return message(reply, body)

    def pieces(self, reply: Reply, body: Any) -> list[str]:
        found = [_event(event["type"], json.dumps(event, ensure_ascii=False))
                 for event in events(reply, body)]
        return found[:-1] if reply.fault == "no_end" else found

    def garbage(self, reply: Reply) -> str:
        if reply.fault == "malformed":
            return _event("content_block_delta", "{not json")
        return _event("error", error_body(
            reply.error, reply.error.removesuffix("_error").replace(
                "_", " ").capitalize()))


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"


FakeAnthropic.handler = _Handler
