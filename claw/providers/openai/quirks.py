"""What one vendor wants different, done to messages and bodies. Pure.

Which vendor wants what is data (Vendor); here is only what it means. Facts:
Mistral's "Tool call id ... must be a-z, A-Z, 0-9, with a length of 9" and
"Unexpected role 'user' after role 'tool'", Perplexity's "user or tool
message(s) should alternate with assistant message(s)", Moonshot's "must not
be empty"; names of tools after OpenAI and OpenRouter.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from claw.core.provider import ChatResponse, ToolCall
from claw.core.value import replace
from claw.providers.catalog.vendors import Vendor
from claw.providers.wire.json import Json

# Patterns are compiled where they are used: a local model without tools
# never needs them.
_BAD_IN_NAMES = r"[^A-Za-z0-9_-]"
_NAME_CHARS = 64
_ALPHABET = ("0123456789abcdefghijklmnopqrstuvwxyz"
             "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
# Models that take reasoning_effort: gpt-5 and later, codex, the o-series.
_EFFORT = r"gpt-[5-9]|o[1-9](?:-|$)|.*codex"


class ToolNames:
    """Names of tools as every server takes them ([A-Za-z0-9_-], at most
    64), and back. Good names stay."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._sent: dict[str, str] = {}
        self._given: dict[str, str] = {}
        for name in sorted(names, key=lambda n: n != _safe(n)):
            self.to_wire(name)

    def to_wire(self, name: str) -> str:
        """The name to send."""
        if name not in self._sent:
            safe = _safe(name)
            if not safe or safe in self._given:
                safe = f"{safe[:_NAME_CHARS - 9]}_{_digest(name, 8)}"
            self._sent[name] = safe
            self._given[safe] = name
        return self._sent[name]

    def from_wire(self, name: str) -> str:
        """The tool's own name for one that was sent."""
        return self._given.get(name, name)

    def restore(self, response: ChatResponse) -> ChatResponse:
        """The answer with the tools' own names."""
        if all(self.from_wire(c.name) == c.name for c in response.tool_calls):
            return response
        return replace(response, tool_calls=tuple(
            ToolCall(c.id, self.from_wire(c.name), c.arguments)
            for c in response.tool_calls))


def _safe(name: str) -> str:
    return re.sub(_BAD_IN_NAMES, "_", name)[:_NAME_CHARS]


def _digest(text: str, size: int) -> str:
    """Letters and digits that are the same for the same text."""
    import hashlib
    number = int.from_bytes(hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    found = ""
    for _ in range(size):
        number, at = divmod(number, len(_ALPHABET))
        found += _ALPHABET[at]
    return found


def call_id(given: str, length: int | None) -> str:
    """An id of exactly `length` letters and digits, always the same for
    the same id; those that fit already stay."""
    if length is None or (len(given) == length and given.isalnum()
                          and given.isascii()):
        return given
    return _digest(given, length)


def fit_messages(messages: Sequence[Json], vendor: Vendor,
                 names: ToolNames) -> list[Json]:
    """Messages of Chat Completions as this vendor takes them."""
    found = [_fit_calls(m, vendor, names) for m in messages]
    if vendor.no_empty:
        found = [m for m in found if not _is_empty(m)]
    if vendor.alternate:
        found = list(_alternate(found))
    if not vendor.tool_then_user:
        found = list(_bridge(found))
    return found


def _fit_calls(message: Json, vendor: Vendor, names: ToolNames) -> Json:
    size = vendor.tool_id_length
    if "tool_call_id" in message:
        return {**message, "tool_call_id": call_id(
            message["tool_call_id"], size)}
    if "tool_calls" not in message:
        return message
    return {**message, "tool_calls": [
        {**c, "id": call_id(c["id"], size), "function": {
            **c["function"], "name": names.to_wire(c["function"]["name"])}}
        for c in message["tool_calls"]]}


def _is_empty(message: Mapping[str, object]) -> bool:
    content = message.get("content")
    return message["role"] in ("user", "assistant", "system") \
        and "tool_calls" not in message \
        and (not content or (isinstance(content, str)
                             and not content.strip()))


def _alternate(messages: Sequence[Json]) -> Iterator[Json]:
    """System first, then neighbours of one role as one message."""
    waiting: Json | None = None
    for message in [*(m for m in messages if m["role"] == "system"),
                    *(m for m in messages if m["role"] != "system")]:
        if waiting is not None and _joins(waiting, message):
            first, second = waiting["content"], message["content"]
            waiting = {**waiting, "content": f"{first}\n\n{second}"
                       if isinstance(first, str) and isinstance(second, str)
                       else [*_as_parts(first), *_as_parts(second)]}
            continue
        if waiting is not None:
            yield waiting
        waiting = message
    if waiting is not None:
        yield waiting


def _joins(first: Json, second: Json) -> bool:
    return first["role"] == second["role"] != "tool" \
        and "tool_calls" not in first and "tool_calls" not in second


def _as_parts(content: object) -> list[object]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _bridge(messages: Sequence[Json]) -> Iterator[Json]:
    """A word of the assistant between a tool's result and a question."""
    before = ""
    for message in messages:
        if before == "tool" and message["role"] in ("user", "system"):
            yield {"role": "assistant", "content": "(interrupted)"}
        before = message["role"]
        yield message


def bare_model(model: str) -> str:
    """A model's name in lower case without the maker before it."""
    return model.rpartition("/")[2].lower()


def takes_effort(model: str) -> bool:
    """Whether a model takes reasoning_effort."""
    return re.match(_EFFORT, bare_model(model)) is not None


def thinking_fields(vendor: Vendor, enabled: bool | None) -> Json:
    """The fields of a body that switch thinking on or off."""
    if enabled is None or vendor.thinking is None:
        return {}
    fields: dict[str, Json] = {
        "type": {"thinking": {"type": "enabled" if enabled else "disabled"}},
        "enable": {"enable_thinking": enabled},
        "reasoning": {"reasoning": {"enabled": enabled}}}
    return fields.get(vendor.thinking, {
        "chat_template_kwargs": {"enable_thinking": enabled}})
