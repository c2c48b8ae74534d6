"""A small real HTTP server that speaks Ollama's own API on 127.0.0.1.

    with FakeOllama(["Hello."], [Model("qwen3", tools=True)]) as server:
        ...                           # point a client at server.url
        server.chats[0].body          # what it was asked

It does what makes Ollama different: it gives models a small context of its
own choice and silently forgets the beginning of what is longer (`forgot`
counts that), it loads a model anew when another context is asked for
(`loads`), and it refuses tools and thoughts to models that have none.
Streams are lines of JSON; `write_bytes` cuts them anywhere. Replies and
faults are those of fake_openai; "error" is one more: a line that says that
the model broke down. Standard library only.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from claw.testing.fake_openai import Recorded, Reply
from claw.testing.model_server import ModelHandler, ModelServer, split_text

Playable: TypeAlias = str | Reply | Callable[[dict[str, Any]], "str | Reply"]
BROKEN = "an error was encountered while running the model"


@dataclass(frozen=True, slots=True)
class Model:
    """A model that was pulled. `num_ctx` is what its Modelfile sets,
    `levels` are the values that `think` may have; `tells` off is a server
    too old to know capabilities."""

    name: str
    tools: bool = False
    vision: bool = False
    thinking: bool = False
    levels: tuple[str | bool, ...] = ()
    context_length: int = 32768
    num_ctx: int | None = None
    tells: bool = True

    @property
    def capabilities(self) -> list[str]:
        return ["completion", *(
            name for name in ("tools", "vision", "thinking")
            if getattr(self, name))]


def failure(status: int, message: str) -> Reply:
    """An error in Ollama's shape."""
    return Reply(status=status, body=json.dumps({"error": message}))


def broken_down(text: str = "half an answer", after_chunks: int = 1) -> Reply:
    """The model breaks down in mid-stream and the server says so."""
    return Reply(text, fault="error", after_chunks=after_chunks)


@dataclass
class FakeOllama(ModelServer):
    """The server, running inside a `with` block.

    Without replies the last user message is echoed. `context` is what it
    gives to models that nobody asks more for. With `api_key` set, any other
    key gets 401. `knows_truncate` off is a server from before `truncate`.
    """

    replies: Sequence[Playable] = ()
    models: Sequence[Model] = (Model("fake-model"),)
    context: int = 4096
    api_key: str | None = None
    knows_truncate: bool = True
    write_bytes: int | None = None
    requests: list[Recorded] = field(default_factory=list)
    loads: list[tuple[str, int]] = field(default_factory=list)
    forgot: int = 0
    port: int = 0

    reply = Reply

    @property
    def chats(self) -> list[Recorded]:
        """The recorded chat requests only."""
        return [r for r in self.requests if r.path == "/api/chat"]

    def _choose(self, request: Recorded) -> Reply:
        sent = request.headers.get("authorization", "")
        if self.api_key is not None and sent != f"Bearer {self.api_key}":
            return failure(401, "unauthorized")
        if request.method == "GET":
            return self._get(request.path)
        if not isinstance(request.body, dict):
            return failure(400, "invalid character 'x' looking for "
                                "beginning of value")
        return self._post(request.path, request.body)

    def _get(self, path: str) -> Reply:
        rows = [{"name": m.name, "model": m.name, "size": 1,
                 "digest": "0" * 64, "details": {"family": "fake"},
                 "modified_at": "2026-11-20T10:00:00Z"} for m in self.models]
        pages: dict[str, Any] = {
            "/api/version": {"version": "0.12.3"},
            "/api/tags": {"models": rows},
            "/api/ps": {"models": [
                {"name": _tagged(name), "model": _tagged(name),
                 "context_length": size}
                for name, size in dict(self.loads).items()]},
            "/v1/models": {"object": "list", "data": [
                {"id": m.name, "object": "model"} for m in self.models]}}
        if path == "/":
            return Reply(body="Ollama is running", content_type="text/plain")
        return (Reply(status=404, body="404 page not found",
                      content_type="text/plain")
                if path not in pages else Reply(body=json.dumps(pages[path])))

    def _post(self, path: str, body: dict[str, Any]) -> Reply:
        name = body.get("model") or body.get("name") or ""
        model = next((m for m in self.models
                      if _tagged(m.name) == _tagged(str(name))), None)
        if path not in ("/api/chat", "/api/show"):
            return Reply(status=404, body="404 page not found",
                         content_type="text/plain")
        if model is None:
            return failure(404, f"model '{name}' not found")
        if path == "/api/show":
            return Reply(body=json.dumps(_shown(model)))
        return self._refusal(model, body) \
            or self._next(body, last_user_text(body))

    def _refusal(self, model: Model, body: dict[str, Any]) -> Reply | None:
        if body.get("tools") and not model.tools:
            return failure(400, "registry.ollama.ai/library/"
                                f"{model.name} does not support tools")
        if body.get("think") and not model.thinking:
            return failure(400, f'"{model.name}" does not support thinking')
        asked = (body.get("options") or {}).get("num_ctx")
        context = min(asked or model.num_ctx or self.context,
                      model.context_length)
        if dict(self.loads).get(model.name) != context:
            self.loads.append((model.name, context))
        tokens = prompt_size(body)
        if tokens > context:
            if body.get("truncate") is False and self.knows_truncate:
                inner = {"error": {
                    "code": 400, "type": "exceed_context_size_error",
                    "message": f"request ({tokens} tokens) exceeds the "
                               f"available context size ({context} tokens), "
                               "try increasing it",
                    "n_prompt_tokens": tokens, "n_ctx": context}}
                return failure(400, json.dumps(inner))
            self.forgot += 1
        return None


def last_user_text(body: dict[str, Any]) -> str:
    """The text of the last user message of a request body."""
    return next((str(m.get("content"))
                 for m in reversed(body.get("messages", []))
                 if m.get("role") == "user"), "")


def prompt_size(body: dict[str, Any]) -> int:
    """Tokens of a prompt: one for four characters."""
    texts = [str(m.get("content")) for m in body.get("messages", [])]
    return len("".join(texts)) // 4 + len(json.dumps(
        body.get("tools") or "")) // 4


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def _shown(model: Model) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "modelfile": f"FROM {model.name}", "template": "{{ .Prompt }}",
        "parameters": 'stop                           "<|im_end|>"\n'
                      "temperature                    0.6",
        "details": {"family": "fake", "format": "gguf"},
        "model_info": {"general.architecture": "fake",
                       "fake.context_length": model.context_length}}
    if model.num_ctx is not None:
        shown["parameters"] += ("\nnum_ctx                        "
                                f"{model.num_ctx}")
    if model.tells:
        shown["capabilities"] = model.capabilities
    if model.levels:
        shown["thinking"] = {"values": list(model.levels),
                             "default": model.levels[0]}
    return shown


class _Handler(ModelHandler):
    """The API of FakeOllama."""

    stream_type = "application/x-ndjson"

    def wants_stream(self, body: Any) -> bool:
        return isinstance(body, dict) and bool(body.get("stream", True))

    def whole(self, reply: Reply, body: Any) -> dict[str, Any]:
        return whole(reply, body)

    def plain(self, reply: Reply, text: str) -> None:
        if reply.fault == "error":
            self.send(Reply(status=500), json.dumps({"error": BROKEN}))
            return
        super().plain(reply, text)

    def pieces(self, reply: Reply, body: Any) -> Iterator[str]:
        for line in lines(reply, body):
            yield json.dumps(line, ensure_ascii=False) + "\n"

    def garbage(self, reply: Reply) -> str:
        return "{not json\n" if reply.fault == "malformed" \
            else json.dumps({"error": BROKEN}) + "\n"

    def write(self, reply: Reply, piece: str) -> None:
        data = piece.encode()
        size = self.fake.write_bytes or len(data)
        for at in range(0, len(data), size):
            self.chunk(data[at:at + size])


def whole(reply: Reply, body: Any) -> dict[str, Any]:
    """An answer in one piece."""
    message: dict[str, Any] = {"role": "assistant",
                               "content": reply.text or ""}
    if reply.reasoning is not None:
        message["thinking"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = _wire_calls(reply)
    return {**_head(body), "message": message, **_end(reply, body)}


def lines(reply: Reply, body: Any) -> list[dict[str, Any]]:
    """The objects of a stream, the one with `done` last."""
    def line(**message: Any) -> dict[str, Any]:
        return {**_head(body), "message": {
            "role": "assistant", "content": "", **message}, "done": False}
    found = [line(thinking=piece)
             for piece in split_text(reply.reasoning or "", reply.chunk_size)]
    found += [line(content=piece)
              for piece in split_text(reply.text or "", reply.chunk_size)]
    found += [line(tool_calls=[call]) for call in _wire_calls(reply)]
    if reply.fault != "no_end":
        found.append({**line(), **_end(reply, body)})
    return found


def _head(body: Any) -> dict[str, Any]:
    return {"model": body.get("model") or "fake-model",
            "created_at": "2026-11-20T10:00:00.123456Z"}


def _end(reply: Reply, body: Any) -> dict[str, Any]:
    said = len((reply.text or "").split()) + 5 * len(reply.tool_calls)
    return {"done": True, "done_reason": reply.finish_reason or "stop",
            "total_duration": 5_000_000, "load_duration": 1_000_000,
            "prompt_eval_count": prompt_size(body) or 1,
            "prompt_eval_duration": 1_000_000,
            "eval_count": said or 1, "eval_duration": 3_000_000}


def _wire_calls(reply: Reply) -> list[dict[str, Any]]:
    return [{"function": {"name": name, "arguments": _arguments(arguments)}}
            for name, arguments in reply.tool_calls]


def _arguments(text: str) -> Any:
    """An object, as Ollama sends it; what is none stays text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


FakeOllama.handler = _Handler
