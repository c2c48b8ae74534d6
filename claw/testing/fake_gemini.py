"""A small real HTTP server that speaks Gemini's generateContent.

    with FakeGemini(["Hello.", call("shell", command="ls")]) as server:
        ...                           # point a client at server.url
        server.chats[0].body          # what it was asked

Replies are played in order, the last one repeats; without replies the last
text of the user is echoed. It is also the internal address of the Gemini
CLI (`server.internal_url`, with tokens) and the token endpoint
(`server.token_url`). Faults happen at the wire. Standard library only.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote

from claw.testing.model_server import (
    ModelHandler,
    ModelServer,
    WireReply,
    html_text,
    split_text,
    wire_headers,
)

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Reply(WireReply):
    """What the server says to one request.

    `parts` are those of the candidate, as the API has them; in a stream
    their texts come in pieces. `split` sends a stream's bytes cut anywhere,
    so many at a time. `extra` is merged into each answer.
    """

    parts: tuple[Json, ...] = ()
    finish_reason: str = "STOP"
    usage: Json | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    split: int | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it arrived; `body` is the parsed JSON, or None, out of
    the envelope of the internal address."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    raw: bytes = b""
    body: Any = None
    envelope: Any = None


Playable: TypeAlias = str | Reply | Callable[[Json], "str | Reply"]


def said(text: str, **more: Any) -> Reply:
    """An answer in words."""
    return Reply(({"text": text},), **more)


def call(name: str, /, **args: Any) -> Reply:
    """The model asks for one tool."""
    return Reply((call_part(name, args),))


def call_part(name: str, args: Json, *, signature: str | None = None,
              call_id: str | None = None) -> Json:
    """A part with a call, signed and numbered where that is given."""
    wire: Json = {"name": name, "args": args}
    if call_id is not None:
        wire["id"] = call_id
    part: Json = {"functionCall": wire}
    if signature is not None:
        part["thoughtSignature"] = signature
    return part


def failure(status: int, message: str, code: str = "INVALID_ARGUMENT",
            details: Sequence[Json] = (), **headers: str) -> Reply:
    """An error in Google's shape; header names with _ for -."""
    error = {"code": status, "message": message, "status": code}
    if details:
        error["details"] = list(details)
    return Reply(status=status, body=json.dumps({"error": error}),
                 headers=wire_headers(headers))


def bad_key() -> Reply:
    """What Google says to a key that is none: HTTP 400."""
    return failure(400, "API key not valid. Please pass a valid API key.",
                   details=[{
                       "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                       "reason": "API_KEY_INVALID",
                       "domain": "googleapis.com"}])


def over_quota(delay: str = "31s", quota: str = "PerMinute") -> Reply:
    """HTTP 429 with the details that Google gives."""
    kind = "type.googleapis.com/google.rpc."
    return failure(
        429, "You exceeded your current quota, please check your plan and "
        "billing details.", "RESOURCE_EXHAUSTED", [
            {"@type": f"{kind}QuotaFailure", "violations": [
                {"quotaId": f"GenerateRequests{quota}PerProjectPerModel"}]},
            {"@type": f"{kind}RetryInfo", "retryDelay": delay}])


def unknown_field(name: str) -> Reply:
    """What Google says to a field that an endpoint does not know."""
    return failure(400, "Invalid JSON payload received. Unknown name "
                        f'"{name}": Cannot find field.')


def html_page(status: int, title: str = "502 Bad Gateway") -> Reply:
    """What a reverse proxy says when nothing is behind it."""
    return Reply(status=status, content_type="text/html",
                 body=html_text(title))


def cut_off(text: str = "half an answer", after_chunks: int = 1) -> Reply:
    """The connection drops in the middle."""
    return said(text, fault="disconnect", after_chunks=after_chunks)


def stalled(text: str = "half an answer", after_chunks: int = 1) -> Reply:
    """Nothing more comes, and the connection stays open."""
    return said(text, fault="stall", after_chunks=after_chunks)


def malformed(text: str = "half an answer", after_chunks: int = 1) -> Reply:
    """Something that is no JSON comes instead of an answer."""
    return said(text, fault="malformed", after_chunks=after_chunks)


def endless(text: str = "half an answer") -> Reply:
    """A stream that closes cleanly, but without a finishReason."""
    return said(text, fault="no_end")


@dataclass
class FakeGemini(ModelServer):
    """The server, running inside a `with` block.

    With `api_key` set, another key gets Google's refusal of it. `tokens`
    are the access tokens that the internal address takes, `spent` those of
    them whose quota is used up; `grants` maps refresh tokens to what the
    token endpoint answers. `refuse` are fields
    (of a body or its generationConfig) that it does not know. Models not in
    `models` get 404 when `strict_models` is on; `page_size` cuts their
    list.
    """

    replies: Sequence[Playable] = ()
    models: Sequence[str] = ("fake-model",)
    api_key: str | None = None
    tokens: Sequence[str] = ()
    spent: Sequence[str] = ()
    grants: Mapping[str, Json] = field(default_factory=dict)
    project: str | None = "fake-project"
    refuse: Sequence[str] = ()
    strict_models: bool = False
    page_size: int = 1000
    requests: list[Recorded] = field(default_factory=list)
    port: int = 0

    reply = staticmethod(said)

    @property
    def internal_url(self) -> str:
        return f"{self.url}/v1internal"

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    @property
    def chats(self) -> list[Recorded]:
        """The recorded requests for an answer only."""
        return [r for r in self.requests
                if r.path.endswith(("generateContent",
                                    "streamGenerateContent"))]

    def _choose(self, request: Recorded) -> Reply:
        return (self._grant(request) if request.path == "/token"
                else self._stranger(request) or self._reply(request))

    def _stranger(self, request: Recorded) -> Reply | None:
        """The refusal of who has no key or token."""
        if request.path.startswith("/v1internal"):
            sent = request.headers.get("authorization", "")
            if sent.removeprefix("Bearer ") not in self.tokens:
                return failure(401, "Request had invalid authentication "
                                    "credentials.", "UNAUTHENTICATED")
            if request in self.chats \
                    and sent.removeprefix("Bearer ") in self.spent:
                return replace(over_quota(), delay_s=0.1)
            return None
        sent = request.query.get("key", [
            request.headers.get("x-goog-api-key", "")])[0]
        return bad_key() if self.api_key not in (None, sent) else None

    def _reply(self, request: Recorded) -> Reply:
        if request.path.endswith(":loadCodeAssist"):
            return Reply(body=json.dumps(
                {"currentTier": {"id": "free-tier"},
                 "cloudaicompanionProject": self.project}))
        if request.method == "GET":
            return self._model_list(request)
        if request not in self.chats:
            return failure(404, "no such path", "NOT_FOUND")
        return self._refusal(request) or self._next(
            request.body, last_user_text(request.body))

    def _refusal(self, request: Recorded) -> Reply | None:
        body = request.body
        if not isinstance(body, dict):
            return failure(400, "could not parse the JSON body")
        for name in self.refuse:
            if name in body or name in body.get("generationConfig", {}):
                return unknown_field(name)
        if not body.get("contents"):
            return failure(400, "contents is not specified")
        model = unquote(request.path.rpartition("/")[2].partition(":")[0])
        if self.strict_models and model not in self.models:
            return failure(404, f"models/{model} is not found for API "
                                "version v1beta", "NOT_FOUND")
        return None

    def _grant(self, request: Recorded) -> Reply:
        form = parse_qs(request.raw.decode())
        found = self.grants.get(form.get("refresh_token", [""])[0])
        if found is None:
            return Reply(status=400, body=json.dumps({
                "error": "invalid_grant",
                "error_description": "Token has been expired or revoked."}))
        return Reply(body=json.dumps(found))

    def _model_list(self, request: Recorded) -> Reply:
        start = int(request.query.get("pageToken", ["0"])[0])
        end = start + self.page_size
        rows: list[Json] = [
            {"name": f"models/{m}", "supportedGenerationMethods": [
                "embedContent" if "embedding" in m else "generateContent"]}
            for m in self.models[start:end]]
        page: Json = {"models": rows}
        if end < len(self.models):
            page["nextPageToken"] = str(end)
        return Reply(body=json.dumps(page))


def last_user_text(body: Json) -> str:
    """The text of the last content of the user."""
    for content in reversed(body.get("contents", [])):
        if content.get("role") == "user":
            return "".join(p.get("text", "") for p in content["parts"]) \
                or "noted"
    return "noted"


def answers(reply: Reply, body: Any, *, stream: bool) -> list[Json]:
    """The answer objects of a reply: one, or those of a stream."""
    pieces = [[p] for part in reply.parts
              for p in _pieces(part, reply.chunk_size)] \
        if stream else [list(reply.parts)]
    found: list[Json] = []
    for parts in pieces or [[]]:
        candidate = {"content": {"role": "model", "parts": parts},
                     "index": 0}
        found.append({"candidates": [candidate],
                      "modelVersion": "fake-model-001",
                      "responseId": "fake", **reply.extra})
    if reply.fault != "no_end":
        last = found[-1].get("candidates") or [{}]
        last[0]["finishReason"] = reply.finish_reason
    found[-1]["usageMetadata"] = reply.usage or usage(reply, body)
    return found


def usage(reply: Reply, body: Any) -> Json:
    """Words, in place of tokens."""
    asked = len(json.dumps(body.get("contents", [])).split())
    words = sum(len(p.get("text", "").split()) for p in reply.parts)
    return {"promptTokenCount": asked, "candidatesTokenCount": words,
            "totalTokenCount": asked + words}


def _pieces(part: Json, size: int) -> list[Json]:
    text = part.get("text")
    return ([part] if not isinstance(text, str) or len(text) <= size
            else [{**part, "text": piece} for piece in split_text(text, size)])


class _Handler(ModelHandler):
    """The API of FakeGemini."""

    def read_request(self) -> Recorded:
        headers, raw, body = self.read()
        path, _, query = self.path.partition("?")
        envelope = None
        if path.endswith("enerateContent") and "v1internal" in path \
                and isinstance(body, dict):
            envelope, body = body, body.get("request")
        self._enveloped = envelope is not None
        return Recorded(self.command, path, parse_qs(query), headers, raw,
                        body, envelope)

    def wants_stream(self, body: Any) -> bool:
        return "alt=sse" in self.path

    def whole(self, reply: Reply, body: Any) -> Json:
        (answer,) = answers(reply, body, stream=False)
        return {"response": answer} if self._enveloped else answer

    def pieces(self, reply: Reply, body: Any) -> Iterator[str]:
        for answer in answers(reply, body, stream=True):
            text = json.dumps({"response": answer} if self._enveloped
                              else answer, ensure_ascii=False)
            yield f"data: {text}\r\n\r\n"

    def garbage(self, reply: Reply) -> str:
        return "data: {not json\r\n\r\n"

    def write(self, reply: Reply, piece: str) -> None:
        data = piece.encode()
        size = reply.split or len(data)
        for at in range(0, len(data), size):
            self.chunk(data[at:at + size])


FakeGemini.handler = _Handler
