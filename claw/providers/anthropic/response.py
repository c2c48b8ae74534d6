"""The Messages API: what is answered, whole or in a stream. Pure.

An answer is a list of blocks. Text blocks are what people read; thinking
and redacted_thinking are kept for the next request; tool_use are calls.
Blocks of tools that run at the vendor's, and kinds that are yet to come,
are passed over.
Source: the anthropic SDK's types and stream fixtures (2.12).
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from claw.core.errors import IncompleteAnswerError
from claw.core.provider import ChatResponse, TokenUsage, ToolCall
from claw.providers.anthropic.messages import BY, THOUGHTS
from claw.providers.wire.json import (
    Json,
    arguments_text,
    object_at,
    objects_in,
    string_at,
)
from claw.providers.wire.reader import (
    EventReader,
    VisibleText,
    clean_response,
    write_replay,
)
from claw.providers.wire.usage import read_count

FINISHED = {
    "end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls",
    "max_tokens": "length", "model_context_window_exceeded": "length",
    "pause_turn": "length", "refusal": "content_filter"}
# Kinds of deltas, the blocks that they add to, and where the text is.
_ADDED = (("text_delta", "text", "text"),
          ("input_json_delta", "tool_use", "partial_json"),
          ("thinking_delta", "thinking", "thinking"))
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens",
           "cache_creation_input_tokens")


class MessageReader(EventReader):
    """The events of one stream, put together.

    `take` gives the visible text of an event. `names` are the tools' own
    names by those they were sent under. `finished` says whether the last
    event came.
    """

    def __init__(self, who: str, names: Mapping[str, str] | None = None
                 ) -> None:
        super().__init__()
        self._shown: list[str] = []
        self._who = who
        self._names = names or {}
        self._ended = False
        self._text = _Text()
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._counts: dict[str, int] = {}
        self._details: Json = {}

    @property
    def finished(self) -> bool:
        """Whether the last event came."""
        return self._ended

    def take(self, data: Mapping[str, Any]) -> str:
        """One event; returns what may be shown of it."""
        kind = data.get("type")
        shown = ""
        if kind == "content_block_delta":
            shown = self._delta(data.get("index"), object_at(data, "delta"))
        elif kind == "content_block_start":
            shown = self._start(data.get("index"),
                                object_at(data, "content_block"))
        elif kind == "content_block_stop":
            if self._at(data.get("index")) is self._text.block:
                shown = self._text.stop()
        elif kind == "message_start":
            self._head(object_at(data, "message"))
        elif kind == "message_delta":
            self._head({**object_at(data, "delta"),
                        "usage": data.get("usage")})
        elif kind == "message_stop":
            self._ended = True
        if shown:
            self._shown.append(shown)
        return shown

    def take_whole(self, message: Mapping[str, Any]) -> str:
        """An answer in one piece. Raises ValueError for anything else."""
        content = message.get("content")
        if not isinstance(content, list):
            raise ValueError("no content in it")
        self._head(message)
        for index, block in enumerate(objects_in(content)):
            self._shown.append(self._start(index, block))
        self._shown.append(self._text.stop())
        self._ended = True
        return "".join(self._shown)

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer. Raises
        IncompleteAnswerError where a call is not whole."""
        rest = self._text.stop()
        self._calls += self._read_calls()
        self._shown.append(rest)
        self._usage = read_usage(self._counts)
        self._thoughts = ["\n\n".join(
            b.joined for b in self._blocks
            if b.kind == "thinking" and b.joined)]
        return rest, clean_response(self._response(
            "".join(self._shown) or None))

    def finish_reason(self) -> str | None:
        return FINISHED.get(self._finish or "", self._finish)

    def replay(self) -> str | None:
        blocks = [b.thought() for b in self._blocks if b.kind in THOUGHTS]
        return write_replay(BY, blocks=blocks) if blocks else None

    @property
    def refusal(self) -> str | None:
        """What is said about a refusal, "" where nothing is; None where
        the answer is none."""
        if self._finish != "refusal":
            return None
        return ": ".join(filter(None, (
            string_at(self._details, "category"),
            string_at(self._details, "explanation"))))

    def _head(self, message: Mapping[str, Any]) -> None:
        self._model = string_at(message, "model") or self._model
        self._finish = string_at(message, "stop_reason") or self._finish
        self._details = object_at(message, "stop_details") or self._details
        for key, count in object_at(message, "usage").items():
            if key in _COUNTS and read_count(count) is not None:
                self._counts[key] = count

    def _at(self, index: Any) -> "_Block | None":
        return self._by_index.get(index) if isinstance(index, int) else None

    def _start(self, index: Any, data: Mapping[str, Any]) -> str:
        block = _Block(data)
        self._blocks.append(block)
        if isinstance(index, int):
            self._by_index[index] = block
        if block.kind != "text":
            return ""
        return self._text.start(block) + self._text.feed(
            block, string_at(data, "text"))

    def _delta(self, index: Any, delta: Mapping[str, Any]) -> str:
        block = self._at(index)
        kind = delta.get("type")
        shown = ""
        if kind == "text_delta":
            if block is None:  # a server that skips content_block_start
                shown = self._start(index, {"type": "text"})
                block = self._blocks[-1]
            if block.kind == "text":
                shown += self._text.feed(block, string_at(delta, "text"))
        elif block is not None:
            block.add(delta)
        return shown

    def _read_calls(self) -> Iterator[ToolCall]:
        calls = [b for b in self._blocks if b.kind == "tool_use"
                 and string_at(b.data, "name").strip()]
        if calls and calls[-1] is self._blocks[-1] \
                and self.finish_reason() == "length":
            raise IncompleteAnswerError(
                f"{self._who} used up its tokens in the middle of a tool "
                "call", hint="allow more with --max-tokens")
        for block in calls:
            sent = string_at(block.data, "name").strip()
            yield ToolCall(
                string_at(block.data, "id") or f"toolu_{uuid.uuid4().hex}",
                self._names.get(sent, sent), arguments_text(
                    block.joined or block.data.get("input")))


class _Block:
    """One block: what it began with and what was added to it."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.kind = string_at(data, "type")
        self.data = dict(data)
        self._added: list[str] = []
        if self.kind in ("thinking", "text"):
            self._added.append(string_at(data, self.kind))

    def add(self, delta: Mapping[str, Any]) -> None:
        kind = (delta.get("type"), self.kind)
        for row in _ADDED:
            if kind == row[:2]:
                self._added.append(string_at(delta, row[2]))
        if kind == ("signature_delta", "thinking"):
            self.data["signature"] = string_at(delta, "signature")

    @property
    def joined(self) -> str:
        return "".join(self._added)

    def thought(self) -> Json:
        if self.kind == "redacted_thinking":
            return {"type": self.kind, "data": string_at(self.data, "data")}
        return {"type": self.kind, "thinking": self.joined,
                "signature": string_at(self.data, "signature")}


class _Text:
    """What is shown of the text blocks: each without the blanks around it
    and without thoughts, one under the other."""

    def __init__(self) -> None:
        self.block: _Block | None = None
        self._visible = VisibleText()
        self._blanks: list[str] = []
        self._begun = False
        self._any = False

    def start(self, block: _Block) -> str:
        rest = self.stop()
        self.block = block
        return rest

    def feed(self, block: _Block, text: str) -> str:
        rest = "" if self.block is block \
            else self.start(block)  # interleaved, or after its end
        return rest + self._show(self._visible.feed(text))

    def stop(self) -> str:
        if self.block is None:
            return ""
        rest = self._show(self._visible.finish())
        self.block = None
        self._visible = VisibleText()
        self._blanks, self._begun = [], False
        return rest

    def _show(self, text: str) -> str:
        bare = text.rstrip()
        if not bare:
            if self._begun:
                self._blanks.append(text)
            return ""
        shown = "".join((*self._blanks, bare))
        if not self._begun:
            shown = ("\n" if self._any else "") + shown.lstrip()
        self._blanks = [text[len(bare):]]
        self._begun = self._any = True
        return shown


def read_usage(counts: Mapping[str, int]) -> TokenUsage | None:
    """Token counts; the vendor counts what the cache took or gave apart
    from the rest of the prompt."""
    if not counts:
        return None
    read = counts.get("cache_read_input_tokens")
    written = counts.get("cache_creation_input_tokens")
    fresh = counts.get("input_tokens")
    asked = None if fresh is None else fresh + (read or 0) + (written or 0)
    return TokenUsage(asked, counts.get("output_tokens"), read, written)
