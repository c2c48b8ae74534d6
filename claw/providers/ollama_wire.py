"""Ollama's own chat API: requests out, answers and lines of streams in.
Pure.

Differs from Chat Completions in its calls (arguments are an object, results
name their tool), images (base64 apart from the text), thoughts (`thinking`)
and streams (a JSON object a line, the last one with `done`).
Source: docs.ollama.com/api/chat and the `ollama` SDK's types, read 2026-11.
"""

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from claw.core.errors import UnavailableError
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatResponse,
    TokenUsage,
    ToolCall,
    decode_tool_calls,
    decode_tool_result,
)
from claw.providers.usage import counted
from claw.providers.visible import VisibleText
from claw.providers.wire import (
    Json,
    arguments_text,
    parts,
    strip_think,
    tidy,
    told_calls,
)
from claw.text.segment import clean

DEFAULT = "http://localhost:11434"
LINE_BYTES = 8 * 1024 * 1024
_PATHS = ("/api/chat", "/api", "/v1")


def root_of(url: str, env: Mapping[str, str], *, by_name: bool) -> str:
    """The server's address without a path of the API.

    `by_name`: it was asked for as "ollama", so ZEROCLAW_PROVIDER_URL wins,
    and OLLAMA_HOST (which ollama itself reads) stands in for the default.
    """
    told = env.get("ZEROCLAW_PROVIDER_URL", "").strip()
    host = env.get("OLLAMA_HOST", "").strip()
    if by_name and told:
        return stripped(told)
    if stripped(url) == DEFAULT and host:
        return host_url(host)
    return stripped(url)


def stripped(url: str) -> str:
    """An address without /, /v1, /api and /api/chat at its end."""
    url = url.strip().partition("?")[0].partition("#")[0].rstrip("/")
    for path in _PATHS:
        if url.endswith(path):
            return url.removesuffix(path).rstrip("/")
    return url


def host_url(host: str) -> str:
    """OLLAMA_HOST as an address: scheme and port may be left out, and what
    a server binds to in order to be everywhere (0.0.0.0) is this machine.
    """
    scheme, mark, rest = host.partition("://")
    if not mark:
        scheme, rest = "http", host
    try:
        split = urlsplit(f"{scheme}://{rest}")
        name = split.hostname or "127.0.0.1"
        port = split.port or (
            (443 if scheme == "https" else 80) if mark else 11434)
    except ValueError:
        return stripped(host)  # the request will say that it is no address
    try:
        address = ip_address(name)
        if address.is_unspecified:
            name = "[::1]" if isinstance(address, IPv6Address) \
                else "127.0.0.1"
        elif isinstance(address, IPv6Address):
            name = f"[{name}]"
    except ValueError:
        pass  # a name, not a number
    return stripped(f"{scheme}://{name}:{port}{split.path}")


def wire_messages(messages: Sequence[ChatMessage], *,
                  sees: bool = True) -> list[Json]:
    """Messages as the API takes them. Without `sees` the images of the
    past are only mentioned."""
    names: dict[str, str] = {}
    found: list[Json] = []
    for message in messages:
        calls = decode_tool_calls(message)
        if message.role == "tool":
            result = decode_tool_result(message)
            wire: Json = {"role": "tool", "content": _said(result.content),
                          "tool_call_id": _said(result.tool_call_id)}
            if wire["tool_call_id"] in names:
                wire["tool_name"] = names[wire["tool_call_id"]]
        elif calls is not None and calls.tool_calls:
            names.update((c.id, c.name) for c in calls.tool_calls)
            wire = _wire_calls(calls)
        else:
            wire = _wire_text(message, sees)
        found.append(wire)
    return found


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _wire_calls(calls: AssistantToolCalls) -> Json:
    wire: Json = {
        "role": "assistant", "content": calls.text or "",
        "tool_calls": [{"id": c.id, "function": {
            "name": c.name,
            "arguments": json.loads(arguments_text(c.arguments))}}
            for c in calls.tool_calls]}
    if calls.reasoning_content:
        wire["thinking"] = calls.reasoning_content
    return wire


def _wire_text(message: ChatMessage, sees: bool) -> Json:
    if message.role != "user" or "[IMAGE:data:" not in message.content:
        return {"role": message.role, "content": message.content}
    texts: list[str] = []
    images: list[str] = []
    for part in parts(message.content):
        if part["type"] == "text":
            texts.append(part["text"])
        elif sees:
            images.append(part["image_url"]["url"].partition("base64,")[2])
        else:
            texts.append("[image]")
    wire: Json = {"role": "user", "content": "\n".join(texts)}
    if images:
        wire["images"] = images
    return wire


def has_image(message: ChatMessage) -> bool:
    """Whether a message carries a picture that would be sent."""
    return message.role == "user" and any(
        p["type"] == "image_url" for p in parts(message.content))


def read_calls(message: Mapping[str, Any],
               known: Collection[str] = ()) -> tuple[ToolCall, ...]:
    """The calls of a message. A model that wraps a call in another
    ("tool_call" with the real one as its arguments, "tool.NAME",
    "tool_call>NAME") is understood; `known` names are taken as they are."""
    found = message.get("tool_calls")
    calls = [_call(c, known) for c in found if isinstance(c, dict)] \
        if isinstance(found, list) else []
    return tuple(c for c in calls if c is not None)


def _call(data: Mapping[str, Any], known: Collection[str]) -> ToolCall | None:
    function = data.get("function")
    inner = function if isinstance(function, dict) else data
    name = inner.get("name")
    arguments = inner.get("arguments", inner.get("parameters"))
    if not isinstance(name, str):
        return None
    name = name.strip()
    if name not in known:
        name, arguments = _unwrapped(name, arguments)
    if not name:
        return None
    given = data.get("id") or inner.get("id")
    return ToolCall(given if isinstance(given, str) and given
                    else f"call_{uuid.uuid4().hex}",
                    name, arguments_text(arguments))


def _unwrapped(name: str, arguments: Any) -> tuple[str, Any]:
    for prefix in ("tool_call>", "tool_call<", "tool_call.", "tool."):
        if name.startswith(prefix):
            name = name.removeprefix(prefix).strip(" <>") or "tool_call"
            break
    if name in ("tool_call", "tool"):
        body = json.loads(arguments_text(arguments))
        inner = body.get("name")
        if isinstance(inner, str) and inner.strip():
            return _unwrapped(inner.strip(), body.get(
                "arguments", body.get("parameters", {})))
    return name, arguments


def read_usage(data: Mapping[str, Any]) -> TokenUsage | None:
    """Token counts; a count that is left out stands for a prompt that was
    in the cache."""
    found = [counted(data.get("prompt_eval_count")),
             counted(data.get("eval_count"))]
    return None if found == [None, None] else TokenUsage(*found)


class Lines:
    """Bytes in, lines of JSON out, cut anywhere. A line of more than
    `line_bytes` raises UnavailableError that names `who`."""

    def __init__(self, who: str, line_bytes: int = LINE_BYTES) -> None:
        self._who = who
        self._limit = line_bytes
        self._waiting: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that this chunk completes, without blank ones."""
        *ended, rest = chunk.split(b"\n")
        found: list[str] = []
        for piece in ended:
            self._keep(piece)
            found += self.end()
        self._keep(rest)
        return found

    def end(self) -> list[str]:
        """The line that was left open, if it says anything."""
        line = b"".join(self._waiting).strip()
        self._waiting, self._size = [], 0
        return [line.decode("utf-8", "replace")] if line else []

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._waiting.append(piece)
            self._size += len(piece)
        if self._size > self._limit:
            raise UnavailableError(
                f"{self._who} sent a line of more than {self._limit} bytes",
                hint="is that the right server? check the base URL")


class Reader:
    """The objects of one answer, put together; a plain answer is one.

    `take` gives the visible text of one: thoughts are kept apart, half a
    tag waits for the rest. With `hold_calls` text from a <tool_call> tag on
    is kept back too. `finished` says whether `done` came. `known` are the
    names of the tools on offer.
    """

    def __init__(self, *, hold_calls: bool = False,
                 known: Collection[str] = ()) -> None:
        self._hold_calls = hold_calls
        self._known = known
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._shown: list[str] = []
        self._calls: list[ToolCall] = []
        self._usage: TokenUsage | None = None
        self._model: str | None = None
        self._reason: str | None = None
        self._visible = VisibleText(hold_calls)
        self.finished = False

    def take(self, data: Mapping[str, Any]) -> str:
        """One object; returns what may be shown of it."""
        self._usage = read_usage(data) or self._usage
        if isinstance(data.get("model"), str):
            self._model = data["model"]
        if data.get("done") is True:
            self.finished = True
            reason = data.get("done_reason")
            self._reason = reason if isinstance(reason, str) else "stop"
        message = data.get("message")
        if not isinstance(message, dict):
            return ""
        self._thinking.append(_text(message.get("thinking")))
        self._calls += read_calls(message, self._known)
        text = _text(message.get("content"))
        self._content.append(text)
        self._shown.append(self._visible.feed(text))
        return self._shown[-1]

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer; its text is what
        was shown. Calls that stand in the text are taken out of it; where
        nothing was said, the thoughts are the answer."""
        rest, told = self._visible.end(), self._told()
        calls = tuple(self._calls)
        if told is not None:
            rest, found = told
            calls += found
        text = "".join([*self._shown, rest])
        thinking = clean("".join(self._thinking))
        if not text.strip() and not calls:
            rest = text = strip_think(thinking).strip()
        return rest if text.strip() else "", tidy(ChatResponse(
            text=text if text.strip() else None, tool_calls=calls,
            usage=self._usage, reasoning_content=thinking or None,
            model=self._model, finish_reason=self._reason))

    def _told(self) -> tuple[str, tuple[ToolCall, ...]] | None:
        """What was held back from the first <tool_call> on, and the calls
        in it."""
        if not self._hold_calls:
            return None
        said = strip_think(clean("".join(self._content)))
        at = said.find("<tool_call>")
        return told_calls(said[at:]) if at >= 0 else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
