"""The Messages API: what is answered, whole or in a stream. Pure.

An answer is a list of blocks. Text blocks are what people read; thinking
and redacted_thinking are kept for the next request; tool_use are calls.
Blocks of tools that run at the vendor's, and kinds that are yet to come,
are passed over.
Source: the anthropic SDK's types and stream fixtures (2.12).
"""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from claw.core.errors import IncompleteAnswerError
from claw.core.provider import ChatResponse, TokenUsage, ToolCall
from claw.providers.anthropic_messages import BY, THOUGHTS, Json
from claw.providers.usage import counted
from claw.providers.visible import VisibleText
from claw.providers.wire import parsed, tidy, told_calls
from claw.text.segment import clean

FINISHED = {
    "end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls",
    "max_tokens": "length", "model_context_window_exceeded": "length",
    "pause_turn": "length", "refusal": "content_filter"}
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens",
           "cache_creation_input_tokens")


class AnswerReader:
    """The events of one stream, put together.

    `take` gives the visible text of an event. `names` are the tools' own
    names by those they were sent under. With `hold_calls` calls stand in
    the text, which is kept back from a <tool_call> tag on. `finished` says
    whether the last event came.
    """

    def __init__(self, who: str, names: Mapping[str, str] | None = None, *,
                 hold_calls: bool = False) -> None:
        self.finished = False
        self._who = who
        self._names = names or {}
        self._hold_calls = hold_calls
        self._text = _Text(hold_calls)
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._shown: list[str] = []
        self._counts: dict[str, int] = {}
        self._model: str | None = None
        self._stop: str | None = None
        self._details: Json = {}

    def take(self, data: Mapping[str, Any]) -> str:
        """One event; returns what may be shown of it."""
        kind = data.get("type")
        shown = ""
        if kind == "content_block_delta":
            shown = self._delta(data.get("index"), _object(data, "delta"))
        elif kind == "content_block_start":
            shown = self._start(data.get("index"),
                                _object(data, "content_block"))
        elif kind == "content_block_stop":
            if self._at(data.get("index")) is self._text.block:
                shown = self._text.stop()
        elif kind == "message_start":
            self._head(_object(data, "message"))
        elif kind == "message_delta":
            self._head({**_object(data, "delta"),
                        "usage": data.get("usage")})
        elif kind == "message_stop":
            self.finished = True
        if shown:
            self._shown.append(shown)
        return shown

    def take_whole(self, message: Mapping[str, Any]) -> str:
        """An answer in one piece. Raises ValueError for anything else."""
        content = message.get("content")
        if not isinstance(content, list):
            raise ValueError("no content in it")
        self._head(message)
        for index, block in enumerate(content):
            if isinstance(block, dict):
                self._shown.append(self._start(index, block))
        self._shown.append(self._text.stop())
        self.finished = True
        return "".join(self._shown)

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer. Raises
        IncompleteAnswerError where a call is not whole."""
        rest = self._text.stop()
        calls = self._calls()
        if self._hold_calls:
            told = self._told()
            calls += told
            rest = rest if told else self._unshown()
        self._shown.append(rest)
        thoughts = [b for b in self._blocks if b.kind == "thinking"]
        return rest, tidy(ChatResponse(
            text="".join(self._shown) or None, tool_calls=calls,
            usage=read_usage(self._counts),
            reasoning_content=clean("\n\n".join(
                t.joined for t in thoughts if t.joined)) or None,
            model=self._model,
            finish_reason=FINISHED.get(self._stop or "", self._stop),
            replay=self._replay() if calls else None))

    @property
    def refusal(self) -> str | None:
        """What is said about a refusal, "" where nothing is; None where
        the answer is none."""
        if self._stop != "refusal":
            return None
        said = [self._details.get(key) for key in ("category",
                                                   "explanation")]
        return ": ".join(s for s in said if isinstance(s, str) and s)

    def _head(self, message: Mapping[str, Any]) -> None:
        if isinstance(message.get("model"), str):
            self._model = message["model"]
        if isinstance(message.get("stop_reason"), str):
            self._stop = message["stop_reason"]
        self._details = _object(message, "stop_details") or self._details
        for key, count in _object(message, "usage").items():
            if key in _COUNTS and counted(count) is not None:
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
            block, _string(data, "text"))

    def _delta(self, index: Any, delta: Mapping[str, Any]) -> str:
        block = self._at(index)
        kind = delta.get("type")
        shown = ""
        if kind == "text_delta":
            if block is None:  # a server that skips content_block_start
                shown = self._start(index, {"type": "text"})
                block = self._blocks[-1]
            if block.kind == "text":
                if self._hold_calls:
                    block.add(delta)
                shown += self._text.feed(block, _string(delta, "text"))
        elif block is not None:
            block.add(delta)
        return shown

    def _calls(self) -> tuple[ToolCall, ...]:
        calls = [b for b in self._blocks if b.kind == "tool_use"
                 and _string(b.data, "name").strip()]
        if calls and calls[-1] is self._blocks[-1] and FINISHED.get(
                self._stop or "") == "length":
            raise IncompleteAnswerError(
                f"{self._who} used up its tokens in the middle of a tool "
                "call", hint="allow more with --max-tokens")
        return tuple(self._call(block) for block in calls)

    def _call(self, block: "_Block") -> ToolCall:
        sent = _string(block.data, "name").strip()
        arguments = block.arguments()
        if arguments is None:
            raise IncompleteAnswerError(
                f"{self._who} asked for {sent} with arguments that are no "
                "JSON", hint="try again")
        return ToolCall(
            _string(block.data, "id") or f"toolu_{uuid.uuid4().hex}",
            self._names.get(sent, sent), arguments)

    def _told(self) -> tuple[ToolCall, ...]:
        """The calls that stand in the text."""
        return told_calls(self._whole_text())[1]

    def _unshown(self) -> str:
        """What was kept back as a call and is none."""
        return self._whole_text()[len("".join(self._shown)):]

    def _whole_text(self) -> str:
        whole = _Text(hold_calls=False)
        texts = [b for b in self._blocks if b.kind == "text"]
        shown = [whole.feed(b, b.joined) for b in texts]
        return "".join((*shown, whole.stop()))

    def _replay(self) -> str | None:
        blocks = [b.thought() for b in self._blocks
                  if b.kind in THOUGHTS]
        if not blocks:
            return None
        return json.dumps({"by": BY, "blocks": blocks}, ensure_ascii=False)


class _Block:
    """One block: what it began with and what was added to it."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.kind = _string(data, "type")
        self.data = dict(data)
        self._added: list[str] = []
        if self.kind in ("thinking", "text"):
            self._added.append(_string(data, self.kind))

    def add(self, delta: Mapping[str, Any]) -> None:
        kind = delta.get("type")
        if kind == "text_delta" and self.kind == "text":
            self._added.append(_string(delta, "text"))
        elif kind == "input_json_delta" and self.kind == "tool_use":
            self._added.append(_string(delta, "partial_json"))
        elif kind == "thinking_delta" and self.kind == "thinking":
            self._added.append(_string(delta, "thinking"))
        elif kind == "signature_delta" and self.kind == "thinking":
            self.data["signature"] = _string(delta, "signature")

    @property
    def joined(self) -> str:
        return "".join(self._added)

    def arguments(self) -> str | None:
        """Arguments as JSON text of an object; None for broken JSON."""
        text = self.joined
        if not text.strip():
            given = self.data.get("input")
            return json.dumps(given, ensure_ascii=False) \
                if isinstance(given, dict) else "{}"
        try:
            value = parsed(text)
        except ValueError:
            return None
        return text if isinstance(value, dict) else "{}"

    def thought(self) -> Json:
        if self.kind == "redacted_thinking":
            return {"type": self.kind, "data": _string(self.data, "data")}
        return {"type": self.kind, "thinking": self.joined,
                "signature": _string(self.data, "signature")}


class _Text:
    """What is shown of the text blocks: each without the blanks around it
    and without <think> blocks, one under the other."""

    def __init__(self, hold_calls: bool) -> None:
        self.block: _Block | None = None
        self._hold_calls = hold_calls
        self._visible = VisibleText(hold_calls)
        self._blanks: list[str] = []
        self._begun = False
        self._any = False

    def start(self, block: _Block) -> str:
        rest = self.stop()
        self.block = block
        return rest

    def feed(self, block: _Block, text: str) -> str:
        if self.block is not block:  # interleaved, or after its end
            rest = self.start(block)
            return rest + self._show(self._visible.feed(text))
        return self._show(self._visible.feed(text))

    def stop(self) -> str:
        if self.block is None:
            return ""
        rest = self._show(self._visible.end())
        self.block = None
        self._visible = VisibleText(self._hold_calls)
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


def read_answer(message: Mapping[str, Any], who: str = "the server",
                names: Mapping[str, str] | None = None) -> ChatResponse:
    """A message object. Raises ValueError for anything else,
    IncompleteAnswerError where a call is not whole."""
    reader = AnswerReader(who, names)
    reader.take_whole(message)
    return reader.end()[1]


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


def _object(data: Mapping[str, Any], key: str) -> Json:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _string(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
