"""A raw server and every wire, for the tests of nonsense and of keys.

`Raw` hands each connection to a script that writes whatever bytes it likes.
`WIRES` builds each provider against it, and knows what a good answer looks
like there, whole and streamed.
"""

import asyncio
import gc
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from claw.core.errors import ClawError
from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Provider,
)
from claw.net.lean import httpx
from claw.providers.catalog.vendors import find_vendor
from claw.providers.connection import Connection
from claw.providers.factory import create_provider
from claw.providers.gemini.auth import Login
from claw.providers.gemini.provider import GeminiProvider
from claw.providers.settings import NamedProviderSettings, ProviderSettings

T = TypeVar("T")
Json = dict[str, Any]
Build = Callable[..., Provider]
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes, bytes],
                  Awaitable[Any]]

TEXT = "Grüße, 世界 🦀!"
HELLO = ChatRequest([ChatMessage.user("hello")])
KEY = "sk-canary-0123456789/+abcdefghijklmnop"


class Raw:
    """Runs `script(reader, writer, head, body)` for each request."""

    def __init__(self, script: Script, *, ssl: Any = None,
                 host: str = "127.0.0.1", read_first: bool = True) -> None:
        self.script = script
        self.ssl = ssl
        self.host = host
        self.read_first = read_first
        self.heard: list[bytes] = []
        self.open = 0

    async def __aenter__(self) -> "Raw":
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server = await asyncio.start_server(
            self._serve, self.host, 0, ssl=self.ssl)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def left(self) -> bool:
        """Wait until every client has hung up."""
        for _ in range(200):
            if not self.open:
                return True
            await asyncio.sleep(0.01)
        return False

    async def _serve(self, reader: asyncio.StreamReader,
                     writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        try:
            while True:
                head, body = b"", b""
                if self.read_first:
                    head = await reader.readuntil(b"\r\n\r\n")
                    body = await reader.readexactly(length_of(head))
                self.heard.append(head + body)
                keep = await self.script(reader, writer, head, body)
                await writer.drain()
                if not keep:
                    break
        except (OSError, asyncio.IncompleteReadError,
                asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            writer.close()
            try:
                await writer.wait_closed()
            except (OSError, asyncio.CancelledError):
                pass


def length_of(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


def head(status: int = 200, kind: str = "application/json",
         length: int | None = None, *more: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    else:
        lines.append("Connection: close")
    return ("\r\n".join([*lines, *more]) + "\r\n\r\n").encode()


def dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def event(value: Any) -> bytes:
    return b"data: " + (
        value if isinstance(value, bytes) else dump(value)) + b"\n\n"


def line(value: Any) -> bytes:
    return dump(value) + b"\n"


def _halves(text: str) -> tuple[str, str]:
    return text[:9], text[9:]


# Each: the whole answer, and the events of a stream (JSON values).

def chat_whole(text: str = TEXT) -> Json:
    return {"id": "c", "object": "chat.completion", "created": 1,
            "model": "m", "choices": [
                {"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": text,
                             "reasoning_content": "hm",
                             "tool_calls": None}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 5,
                      "total_tokens": 8,
                      "prompt_tokens_details": {"cached_tokens": 1},
                      "completion_tokens_details": {"reasoning_tokens": 0}}}


def chat_events(text: str = TEXT) -> list[Json]:
    def chunk(delta: Json, finish: str | None = None,
              **more: Any) -> Json:
        return {"id": "c", "object": "chat.completion.chunk", "created": 1,
                "model": "m", "choices": [
                    {"index": 0, "delta": delta, "finish_reason": finish}],
                **more}
    one, two = _halves(text)
    return [chunk({"role": "assistant", "content": one}),
            chunk({"content": two}),
            chunk({}, "stop", usage=chat_whole()["usage"])]


def responses_whole(text: str = TEXT) -> Json:
    return {"id": "r", "object": "response", "created_at": 1, "model": "m",
            "status": "completed", "error": None, "output": [
                {"type": "message", "id": "m1", "role": "assistant",
                 "status": "completed", "content": [
                     {"type": "output_text", "text": text,
                      "annotations": []}]}],
            "usage": {"input_tokens": 3, "output_tokens": 5,
                      "total_tokens": 8,
                      "input_tokens_details": {"cached_tokens": 1},
                      "output_tokens_details": {"reasoning_tokens": 0}}}


def responses_events(text: str = TEXT) -> list[Json]:
    one, two = _halves(text)
    whole = responses_whole(text)
    return [{"type": "response.created", "response": {
                **whole, "output": [], "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0,
             "item": {"type": "message", "id": "m1", "content": []}},
            {"type": "response.output_text.delta", "output_index": 0,
             "delta": one},
            {"type": "response.output_text.delta", "output_index": 0,
             "delta": two},
            {"type": "response.output_item.done", "output_index": 0,
             "item": whole["output"][0]},
            {"type": "response.completed", "response": whole}]


def messages_whole(text: str = TEXT) -> Json:
    return {"id": "a", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 5,
                      "cache_read_input_tokens": 1,
                      "cache_creation_input_tokens": 0}}


def messages_events(text: str = TEXT) -> list[Json]:
    one, two = _halves(text)

    def delta(piece: str) -> Json:
        return {"type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": piece}}
    return [{"type": "message_start", "message": {
                **messages_whole(), "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0,
             "content_block": {"type": "text", "text": ""}},
            delta(one), delta(two),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
             "usage": {"output_tokens": 5}},
            {"type": "message_stop"}]


def gemini_whole(text: str = TEXT) -> Json:
    return {"candidates": [{"index": 0, "finishReason": "STOP", "content": {
                "role": "model", "parts": [{"text": text}]}}],
            "usageMetadata": {"promptTokenCount": 3,
                              "candidatesTokenCount": 5,
                              "thoughtsTokenCount": 0,
                              "cachedContentTokenCount": 1},
            "modelVersion": "m"}


def gemini_events(text: str = TEXT) -> list[Json]:
    one, two = _halves(text)
    first = gemini_whole(one)
    del first["candidates"][0]["finishReason"]
    return [first, gemini_whole(two)]


def ollama_whole(text: str = TEXT) -> Json:
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": text},
            "done": True, "done_reason": "stop", "total_duration": 1,
            "prompt_eval_count": 3, "eval_count": 5}


def ollama_events(text: str = TEXT) -> list[Json]:
    one, two = _halves(text)

    def piece(text: str) -> Json:
        return {"model": "m", "done": False,
                "message": {"role": "assistant", "content": text}}
    return [piece(one), piece(two), ollama_whole("")]


@dataclass
class Wire:
    """One wire: `build(root, key, **more)`, its answers, what ends a stream
    (`tail`), and how it writes an error into one (`broken`)."""

    build: Build
    whole: Callable[..., Json]
    events: Callable[..., list[Json]]
    broken: Json
    frame: Callable[[Any], bytes] = event
    tail: bytes = b""
    kind: str = "text/event-stream"
    last: int = 1  # how many events are the end of the answer

    def body(self, stream: bool) -> bytes:
        if not stream:
            return dump(self.whole())
        return b"".join(self.frame(e) for e in self.events()) + self.tail

    def cut_body(self) -> bytes:
        """A stream without its end."""
        return b"".join(self.frame(e) for e in self.events()[:-self.last])

    def content_type(self, stream: bool) -> str:
        return self.kind if stream else "application/json"


def _settings(**more: Any) -> ProviderSettings:
    return ProviderSettings(provider_timeout_secs=more.pop("timeout_s", 20.0),
                            extra_headers=more.pop("extra_headers", {}))


def _named(name: str, **settings: Any) -> Build:
    def build(root: str, key: str | None = KEY, transport: Any = None,
              env: Any = None, **more: Any) -> Provider:
        given: Json = {k: v.replace("ROOT", root) if isinstance(v, str) else v
                 for k, v in settings.items()}
        return create_provider(
            name, key, settings=_settings(**more), env=env or {},
            named={name: NamedProviderSettings(**given)},
            transport=transport)
    return build


def _by_address(prefix: str, path: str = "") -> Build:
    def build(root: str, key: str | None = KEY, transport: Any = None,
              env: Any = None, **more: Any) -> Provider:
        return create_provider(f"{prefix}{root}{path}", key, env=env or {},
                               settings=_settings(**more),
                               transport=transport)
    return build


def _over_httpx(root: str, key: str | None = KEY, **more: Any) -> Provider:
    more.setdefault("transport", httpx.AsyncHTTPTransport(verify=False))
    return _by_address("custom:", "/v1")(root, key, **more)


def _gemini_login(folder: Path) -> Build:
    def build(root: str, key: str | None = KEY, transport: Any = None,
              env: Any = None, **more: Any) -> Provider:
        assert key is not None
        vendor = find_vendor("gemini")
        assert vendor is not None
        file = folder / "oauth_creds.json"
        file.write_text(json.dumps({
            "access_token": key, "refresh_token": key + "-refresh",
            "expiry_date": 9e15, "client_id": "ours",
            "client_secret": key + "-client"}))
        login = Login([file], {}, internal_url=f"{root}/v1internal",
                      token_url=f"{root}/token", transport=transport,
                      timeout_s=more.get("timeout_s", 20.0))
        return GeminiProvider(Connection(
            vendor, timeout_s=more.get("timeout_s", 20.0),
            transport=transport,
            extra_headers=more.get("extra_headers") or {}), login)
    return build


_CHAT: dict[str, Any] = {"whole": chat_whole, "events": chat_events,
         "tail": b"data: [DONE]\n\n",
         "broken": {"error": {"message": "it broke", "code": 500}}}
_GEMINI: dict[str, Any] = {
    "whole": gemini_whole, "events": gemini_events, "broken": {"error": {
        "code": 500, "message": "it broke",
        "status": "INTERNAL"}}}


def wires(folder: Path) -> dict[str, Wire]:
    """Every wire by its name."""
    return {
        "loopback": Wire(_by_address("custom:", "/v1"), **_CHAT),
        "httpx": Wire(_over_httpx, **_CHAT),
        "openai": Wire(_named("openai", base_url="ROOT/v1"), **_CHAT),
        "sdk": Wire(_named("openai", base_url="ROOT/v1", client="sdk"),
                    **_CHAT),
        "responses": Wire(
            _named("mine", base_url="ROOT/v1", wire_api="responses"),
            responses_whole, responses_events,
            {"type": "error", "code": "server_error",
             "message": "it broke"}),
        "anthropic": Wire(
            _by_address("anthropic-custom:"), messages_whole,
            messages_events, {"type": "error", "error": {
                "type": "api_error", "message": "it broke"}}),
        "gemini": Wire(_named("gemini", base_url="ROOT"), **_GEMINI),
        "login": Wire(_gemini_login(folder), **_GEMINI),
        "ollama": Wire(
            _named("ollama", base_url="ROOT"), ollama_whole, ollama_events,
            {"error": "it broke"}, frame=line,
            kind="application/x-ndjson"),
    }


NAMES = tuple(wires(Path()))


class Outcome:
    """How a question ended: an answer, or an error and what was shown."""

    def __init__(self) -> None:
        self.shown = ""
        self.response: ChatResponse | None = None
        self.error: ClawError | None = None
        self.heard: list[bytes] = []

    @property
    def text(self) -> str | None:
        return self.response.text if self.response else None

    def __repr__(self) -> str:
        return f"<{self.shown!r} {self.response} {self.error!r} " \
               f"hint={getattr(self.error, 'hint', None)!r}>"


async def ask(provider: Provider, stream: bool,
              request: ChatRequest = HELLO) -> Outcome:
    """One question; only answers and ClawErrors are let through."""
    found = Outcome()
    try:
        if stream:
            async for chunk in provider.stream_chat(request, "m", 0.5):
                found.shown += chunk.delta
                found.response = chunk.response
        else:
            found.response = await provider.chat(request, "m", 0.5)
    except ClawError as error:
        found.error = error
    if found.response is not None and stream:
        assert found.shown == (found.response.text or "")
    return found


def is_side(head: bytes) -> bool:
    """Questions beside the chat: about the project, the model."""
    target = head.split(b" ")[1]
    return any(word in target for word in (b"loadCodeAssist", b"/api/show",
                                           b"/api/ps"))


def reply(script: Script) -> Script:
    """A script for the chat alone; what is asked beside it gets `{}`."""
    async def serve(reader: asyncio.StreamReader,
                    writer: asyncio.StreamWriter, top: bytes,
                    body: bytes) -> Any:
        if top and is_side(top):
            writer.write(head(200, "application/json", 2,
                              "Connection: close") + b"{}")
            return False
        return await script(reader, writer, top, body)
    return serve


def saying(data: bytes) -> Script:
    """A script that says these bytes and hangs up."""
    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter,
                     *rest: bytes) -> None:
        writer.write(data)
    return reply(script)


def reset(writer: asyncio.StreamWriter) -> None:
    """End it with RST, as a crashed host or a firewall does."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    writer.transport.abort()


def in_pieces(top: bytes, pieces: Iterable[bytes]) -> Script:
    """A script that sends a chunked body, one write for each piece."""
    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter,
                     *rest: bytes) -> None:
        writer.write(top)
        for piece in pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    return reply(script)


def settle(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run it in a loop that complains of whatever is left behind."""
    complaints: list[Any] = []

    async def go() -> T:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: complaints.append(context))
        return await work()
    gc.freeze()  # only what is made here is looked through afterwards
    try:
        return asyncio.run(go())
    finally:
        gc.collect()
        gc.unfreeze()
        assert not complaints


def meet(wire: Wire, stream: bool, script: Script, *,
         read_first: bool = True, key: str | None = KEY,
         **more: Any) -> Outcome:
    """Ask through a wire at a server with this script."""
    async def go() -> Outcome:
        async with Raw(script, read_first=read_first) as raw:
            provider = wire.build(f"http://127.0.0.1:{raw.port}", key,
                                  **more)
            try:
                async with asyncio.timeout(60):
                    found = await ask(provider, stream)
            finally:
                await provider.aclose()
                await provider.aclose()
            assert await raw.left(), "a connection was left open"
            found.heard = raw.heard
            return found
    return settle(go)
