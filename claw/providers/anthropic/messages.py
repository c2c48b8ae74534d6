"""A conversation as the Messages API takes it. Pure.

The API is strict where others are lenient: the first message is the user's,
no text is blank, each tool_use has its tool_result at the head of the next
message, ids are unique and of letters, digits, _ and -. One breach makes
every later turn of a conversation fail, so what would be refused is put in
a form that is not: nothing is left out but blank text.
Source: the anthropic SDK's types (2.12), the API's own error texts.
"""

import re
from binascii import a2b_base64
from collections.abc import Callable, Sequence

from claw.core.images import MARK, find_images, image_type
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ToolCall,
    decode_tool_calls,
    decode_tool_result,
    find_replay,
)
from claw.core.value import replace
from claw.providers.wire.json import (
    Json,
    as_text,
    finite_object,
    objects_in,
)
from claw.providers.wire.messages import drop_images

BY = "anthropic"
THOUGHTS = ("thinking", "redacted_thinking")
IMAGE_ONLY = "[image]"
NO_RESULT = "(no result)"
EMPTY = "(empty message)"
_EARLIER = "(the conversation goes on)"

# How claw.agent.rounds.execute begins what a failed call said.
_FAILED = ("Error: ", "Error executing ")

_KINDS = ("image/jpeg", "image/png", "image/gif", "image/webp")
_NO_ID = re.compile(r"[^A-Za-z0-9_-]")


def system_text(messages: Sequence[ChatMessage]) -> str:
    """Every system message, in order."""
    return "\n\n".join(m.content for m in messages
                       if m.role == "system" and m.content.strip())


def wire_messages(messages: Sequence[ChatMessage],
                  wire_name: Callable[[str], str] = str, *,
                  replayed: bool = True, vision: bool = True) -> list[Json]:
    """All but the system messages. `wire_name` gives the name under which
    a tool is known to the API; with `replayed` off thoughts are left out,
    without `vision` a word stands for each image.
    """
    if not vision:
        messages = [replace(m, content=drop_images(m.content))
                    if m.role != "assistant" else m for m in messages]
    found = _Conversation(wire_name, replayed)
    for message in messages:
        if message.role == "tool":
            found.result(message)
        elif message.role == "user":
            found.add("user", content_blocks(message.content, urls=vision))
        elif message.role == "assistant":
            found.assistant(message)
    return found.end()


class _Conversation:
    """Messages so far; `_open` are the calls that wait for a result, as
    pairs of the id they came with and the id they are sent with."""

    def __init__(self, wire_name: Callable[[str], str],
                 replayed: bool) -> None:
        self._wire_name = wire_name
        self._replayed = replayed
        self._said: list[Json] = []
        self._open: list[tuple[str, str]] = []
        self._used: set[str] = set()

    def add(self, role: str, blocks: list[Json]) -> None:
        if not blocks:
            return
        if self._said and self._said[-1]["role"] == role:
            self._said[-1]["content"] += blocks
        else:
            self._said.append({"role": role, "content": blocks})

    def result(self, message: ChatMessage) -> None:
        result = decode_tool_result(message)
        given, text = str(result.tool_call_id), as_text(result.content)
        found = next((pair for pair in self._open if pair[0] == given), None)
        if found is None:
            self.add("user", [text_block(
                f'<tool_result id="{given}">\n{text}\n</tool_result>')])
            return
        self._open.remove(found)
        self.add("user", [result_block(found[1], text)])

    def assistant(self, message: ChatMessage) -> None:
        self._close()
        calls = decode_tool_calls(message)
        if calls is None or not calls.tool_calls:
            text = message.content if calls is None else calls.text
            self.add("assistant", text_blocks(text or ""))
            return
        blocks = kept_thoughts(calls) if self._replayed else []
        blocks += text_blocks(as_text(calls.text or ""))
        blocks += [self._call(call) for call in calls.tool_calls]
        self.add("assistant", blocks)

    def end(self) -> list[Json]:
        self._close()
        said = self._said
        if not said or said[0]["role"] != "user":
            said.insert(0, {"role": "user", "content": [
                text_block(_EARLIER if said else EMPTY)]})
        for message in said:
            if message["role"] == "user":  # results stand first
                message["content"].sort(
                    key=lambda block: block["type"] != "tool_result")
        last = said[-1]["content"][-1]
        if said[-1]["role"] == "assistant" and last["type"] == "text":
            # what the model is to go on from must not end in white space
            said[-1]["content"][-1] = text_block(last["text"].rstrip())
        return said

    def _close(self) -> None:
        """Calls without a result get one that says so."""
        for _, wire_id in self._open:
            self.add("user", [result_block(wire_id, NO_RESULT, failed=True)])
        self._open = []

    def _call(self, call: ToolCall) -> Json:
        given = str(call.id)
        base = wire_id = _NO_ID.sub("_", given) or "call"
        number = 2
        while wire_id in self._used:
            wire_id, number = f"{base}_{number}", number + 1
        self._used.add(wire_id)
        self._open.append((given, wire_id))
        return {"type": "tool_use", "id": wire_id,
                "name": self._wire_name(str(call.name)),
                "input": finite_object(call.arguments)}


def kept_thoughts(calls: AssistantToolCalls) -> list[Json]:
    """The signed thoughts that came with the calls, as they came."""
    replay = find_replay(calls, BY) or {}
    return [block for block in objects_in(replay.get("blocks"))
            if _is_thought(block)]


def _is_thought(block: Json) -> bool:
    needed = {"thinking": ("thinking", "signature"),
              "redacted_thinking": ("data",)}.get(str(block.get("type")))
    return needed is not None and all(
        isinstance(block.get(key), str) for key in needed)


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def text_blocks(text: str) -> list[Json]:
    """One block, none for blank text: the API refuses it."""
    return [text_block(text)] if text.strip() else []


def result_block(wire_id: str, text: str, failed: bool = False) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": wire_id}
    found = content_blocks(text, urls=False)
    if len(found) == 1 and found[0]["type"] == "text":
        block["content"] = found[0]["text"]
    elif found:
        block["content"] = found
    if failed or text.startswith(_FAILED):
        block["is_error"] = True
    return block


def content_blocks(content: str, *, urls: bool) -> list[Json]:
    """Text and `[IMAGE:...]` markers as blocks, in order. Markers with an
    address count with `urls` only: the vendor fetches it, and what a tool
    read must not make it do so."""
    if MARK not in content:
        return text_blocks(content)
    found: list[Json] = []
    at = 0
    for marker in find_images(content):
        if marker.ref.startswith("data:") or (urls and marker.ref.startswith(
                ("https://", "http://"))):
            found += [*text_blocks(content[at:marker.start].strip()),
                      image_block(marker.ref)]
            at = marker.end
    found += text_blocks(content[at:].strip() if at else content)
    if found and all(block["type"] == "image" for block in found):
        found.append(text_block(IMAGE_ONLY))
    return found


def image_block(url: str) -> Json:
    """An image by its address or its data. What the API would refuse as
    none is told in words."""
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    head, _, data = url.partition(";base64,")
    data = data.rstrip("=").replace("-", "+").replace("_", "/")
    data += "=" * (-len(data) % 4)
    try:
        start = a2b_base64(data, strict_mode=True)[:12]
    except ValueError:
        return text_block("(an image that came damaged)")
    said = head.removeprefix("data:").replace("image/jpg", "image/jpeg")
    kind = image_type(start) or said
    if kind not in _KINDS:
        return text_block(f"(an image of a kind that can't be shown: {kind})")
    return {"type": "image", "source": {
        "type": "base64", "media_type": kind, "data": data}}
