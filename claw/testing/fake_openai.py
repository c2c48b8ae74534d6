"""A small real HTTP server that speaks OpenAI's APIs on 127.0.0.1: Chat
Completions and Responses.

    with FakeOpenAI(["Hello.", tool_call("shell", command="ls")]) as server:
        ...                           # point a client at server.url
        server.requests[0].body       # what it was asked

Replies are played in order, the last one repeats; without replies the last
user message is echoed. Faults happen at the wire: a status, an HTML page, a
dropped connection, silence, garbage. Standard library only.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from claw.testing import fake_responses
from claw.testing.model_server import (
    ModelHandler,
    ModelServer,
    Recorded,
    WireReply,
    html_text,
    split_text,
    wire_headers,
)


@dataclass(frozen=True)
class Reply(WireReply):
    """What the server says to one request.

    `tool_calls` holds (name, arguments as JSON text).
    """

    text: str | None = None
    tool_calls: tuple[tuple[str, str], ...] = ()
    reasoning: str | None = None
    refusal: str | None = None
    finish_reason: str | None = None


Playable: TypeAlias = str | Reply | Callable[[dict[str, Any]], "str | Reply"]


def tool_call(tool: str, /, **arguments: Any) -> Reply:
    """The model asks for one tool."""
    return Reply(tool_calls=((tool, json.dumps(arguments)),))


def failure(status: int, message: str, **headers: str) -> Reply:
    """An error in OpenAI's shape; header names with _ for -."""
    body = json.dumps({"error": {"message": message, "type": "error",
                                 "code": None, "param": None}})
    return Reply(status=status, body=body, headers=wire_headers(headers))


def html_page(status: int, title: str = "502 Bad Gateway") -> Reply:
    """What a reverse proxy says when nothing is behind it."""
    return Reply(status=status, content_type="text/html",
                 body=html_text(title))


def cut_off(text: str = "half an answer", after_chunks: int = 1) -> Reply:
    """The connection drops in the middle."""
    return Reply(text, fault="disconnect", after_chunks=after_chunks)


def stalled(text: str = "half an answer", after_chunks: int = 1) -> Reply:
    """Nothing more comes, and the connection stays open."""
    return Reply(text, fault="stall", after_chunks=after_chunks)


def malformed(text: str = "half an answer", after_chunks: int = 1) -> Reply:
    """Something that is no JSON comes instead of a chunk."""
    return Reply(text, fault="malformed", after_chunks=after_chunks)


def endless(text: str = "half an answer") -> Reply:
    """A stream that closes cleanly, but without its terminal event."""
    return Reply(text, fault="no_end", after_chunks=1000)


def slow(text: str, delay_s: float) -> Reply:
    """An answer that takes its time."""
    return Reply(text, delay_s=delay_s)


@dataclass
class FakeOpenAI(ModelServer):
    """The server, running inside a `with` block.

    `refuse_tools` answers requests that carry tools with HTTP 400 "unknown
    parameter: tools"; `refuse_keys` does the same for any other top-level
    keys of a body. With `api_key` set, any other key gets 401. Models not in
    `models` get 404 when `strict_models` is on. `apis` are those it has:
    the others get 404.
    """

    replies: Sequence[Playable] = ()
    models: Sequence[str] = ("fake-model",)
    api_key: str | None = None
    refuse_tools: bool = False
    refuse_keys: Sequence[str] = ()
    strict_models: bool = False
    apis: Sequence[str] = ("chat", "responses")
    requests: list[Recorded] = field(default_factory=list)
    port: int = 0

    reply = Reply
    path = "/v1"

    @property
    def chats(self) -> list[Recorded]:
        """The recorded chat requests only."""
        return [r for r in self.requests if find_api(r.path) == "chat"]

    def _refusal(self, request: Recorded) -> Reply | None:
        sent = request.headers.get("authorization", "")
        if self.api_key is not None and sent != f"Bearer {self.api_key}":
            return failure(401, "Incorrect API key provided")
        if request.method != "POST":
            return None
        if find_api(request.path) not in self.apis:
            return failure(404, "no such path")
        if not isinstance(request.body, dict):
            return failure(400, "could not parse the JSON body")
        refused = (["tools"] if self.refuse_tools else []) \
            + list(self.refuse_keys)
        for key in refused:
            if key in request.body:
                return failure(400, f"unknown parameter: {key}")
        model = request.body.get("model")
        return (failure(404, f"The model `{model}` does not exist")
                if self.strict_models and model not in self.models else None)

    def _choose(self, request: Recorded) -> Reply:
        if refusal := self._refusal(request):
            return refusal
        path = request.path.partition("?")[0]
        if request.method == "GET" and path.endswith("/models"):
            data = [{"id": m, "object": "model", "created": 0,
                     "owned_by": "fake"} for m in self.models]
            return Reply(body=json.dumps({"object": "list", "data": data}))
        if request.method != "POST":
            return failure(404, "no such path")
        last = last_user_text if find_api(path) == "chat" \
            else fake_responses.last_text
        reply: Reply = self._next(request.body, last(request.body))
        return reply


def find_api(path: str) -> str:
    """The API that a path belongs to: "chat", "responses" or ""."""
    path = path.partition("?")[0]
    if path.endswith("/chat/completions"):
        return "chat"
    return "responses" if path.endswith("/responses") else ""


def last_user_text(body: dict[str, Any]) -> str:
    """The text of the last user message of a request body."""
    for message in reversed(body.get("messages", [])):
        if message.get("role") == "user":
            content = message.get("content")
            return (content if isinstance(content, str)
                    else "".join(p.get("text", "") for p in content or []))
    return ""


class _Handler(ModelHandler):
    """The API of FakeOpenAI."""

    def whole(self, reply: Reply, body: Any) -> dict[str, Any]:
        return completion(reply, body) if find_api(self.path) == "chat" \
            else fake_responses.response(reply, body)

    def pieces(self, reply: Reply, body: Any) -> list[str]:
        if find_api(self.path) == "chat":
            return [f"data: {event}\n\n" for event in events(reply, body)]
        return [f"{event}\n\n"
                for event in fake_responses.events(reply, body)]

    def garbage(self, reply: Reply) -> str:
        return "data: {not json\n\n"


def completion(reply: Reply, body: Any) -> dict[str, Any]:
    """A chat.completion object."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text,
                               "refusal": reply.refusal}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = _wire_calls(reply)
    choice = {"index": 0, "message": message, "logprobs": None,
              "finish_reason": _finish(reply)}
    return {**_head(body, "chat.completion"), "choices": [choice],
            "usage": usage(reply, body)}


def events(reply: Reply, body: Any) -> list[str]:
    """The data of a stream's events, `[DONE]` last."""
    head = _head(body, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return json.dumps({**head, "choices": [choice]}, ensure_ascii=False)

    found = [chunk({"role": "assistant", "content": ""})]
    for key, text in (("reasoning_content", reply.reasoning),
                      ("content", reply.text), ("refusal", reply.refusal)):
        found += [chunk({key: piece})
                  for piece in split_text(text or "", reply.chunk_size)]
    for index, call in enumerate(_wire_calls(reply)):
        found += [chunk({"tool_calls": [piece]})
                  for piece in _call_pieces(index, call, reply.chunk_size)]
    if reply.fault == "no_end":
        return found
    found.append(chunk({}, _finish(reply)))
    if (body.get("stream_options") or {}).get("include_usage"):
        found.append(json.dumps(
            {**head, "choices": [], "usage": usage(reply, body)}))
    return [*found, "[DONE]"]


def usage(reply: Reply, body: Any) -> dict[str, int]:
    """Words, in place of tokens."""
    asked = len(json.dumps(body.get("messages", [])).split())
    said = len((reply.text or "").split()) + 5 * len(reply.tool_calls)
    return {"prompt_tokens": asked, "completion_tokens": said,
            "total_tokens": asked + said}


def _head(body: Any, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-fake", "object": kind, "created": 0,
            "model": body.get("model") or "fake-model"}


def _finish(reply: Reply) -> str:
    return reply.finish_reason or (
        "tool_calls" if reply.tool_calls else "stop")


def _wire_calls(reply: Reply) -> list[dict[str, Any]]:
    return [{"id": f"call_{n}", "type": "function",
             "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(reply.tool_calls, 1)]


def _call_pieces(index: int, call: dict[str, Any],
                 size: int) -> list[dict[str, Any]]:
    """Streamed deltas of a call: its head, then its arguments in pieces."""
    function = call["function"]
    head = {"index": index, "id": call["id"], "type": "function",
            "function": {"name": function["name"], "arguments": ""}}
    return [head, *({"index": index, "function": {"arguments": piece}}
                    for piece in split_text(function["arguments"], size))]


__all__ = ["FakeOpenAI", "Recorded", "Reply", "cut_off", "endless", "failure",
           "html_page", "malformed", "slow", "stalled", "tool_call"]


FakeOpenAI.handler = _Handler
