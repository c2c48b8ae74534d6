"""Chat Completions: requests out, answers in. Pure.

Shapes of the `openai` SDK's types (tests hold requests against them), and
of the servers that copy them: calls with missing ids, arguments as objects,
deltas without index, thoughts in `reasoning_content`, `reasoning` or
`reasoning_details` or in <think> tags, content as a list of parts, usage
inside a choice.
"""

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatResponse,
    TokenUsage,
    ToolCall,
    decode_tool_calls,
    decode_tool_result,
    replay_of,
)
from claw.core.tool import ToolSpec
from claw.core.value import Value, replace
from claw.providers.visible import VisibleText
from claw.text.segment import clean

Json = dict[str, Any]

_IMAGE = re.compile(r"\[IMAGE:(data:image/[\w.+-]+;base64,[\w+/=-]+)\]")
_THINK = re.compile(r"<think>.*?(?:</think>|\Z)", re.S)
_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.S)


# Who writes `ChatResponse.replay` here.
DETAILS = "openrouter"


class WireRules(Value):
    """How messages look to one server.

    `replay` and `thoughts` as in Vendor; `fill`: calls whose thoughts are
    not at hand get a blank, for servers that insist. `images` off leaves
    them out.
    """

    replay: str = "with_calls"
    thoughts: str = "reasoning_content"
    fill: bool = False
    images: bool = True


PLAIN = WireRules()


def wire_messages(messages: Sequence[ChatMessage],
                  rules: WireRules = PLAIN) -> list[Json]:
    """Messages as the API takes them, with native calls and results."""
    return [_wire_message(m, rules) for m in messages]


def _wire_message(message: ChatMessage, rules: WireRules) -> Json:
    if message.role == "tool":
        result = decode_tool_result(message)
        return {"role": "tool", "tool_call_id": result.tool_call_id,
                "content": result.content}
    calls = decode_tool_calls(message)
    if calls is not None and (calls.tool_calls or calls.reasoning_content):
        return _wire_calls(calls, rules)
    if message.role == "user" and "[IMAGE:data:" in message.content:
        return {"role": "user", "content": parts(message.content)
                if rules.images else without_images(message.content)}
    return {"role": message.role, "content": message.content}


def _wire_calls(calls: AssistantToolCalls, rules: WireRules) -> Json:
    wire: Json = {"role": "assistant", "content": calls.text or None}
    if calls.tool_calls:
        wire["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {
                "name": c.name, "arguments": c.arguments}}
            for c in calls.tool_calls]
    else:
        wire["content"] = calls.text or ""
    if rules.replay == "always" or (
            rules.replay == "with_calls" and calls.tool_calls):
        _add_thoughts(wire, calls, rules)
    return wire


def _add_thoughts(wire: Json, calls: AssistantToolCalls,
                  rules: WireRules) -> None:
    """Thoughts, in the field where this server looks for them."""
    found = calls.reasoning_content
    replay = replay_of(calls, DETAILS)
    if rules.thoughts == "reasoning_details":
        if replay is not None and replay.get("details"):
            wire["reasoning_details"] = replay["details"]
        elif found is not None:
            wire["reasoning"] = found
    elif rules.thoughts == "think":
        if found:
            wire["content"] = in_tags(found, calls.text)
    elif found is not None or (rules.fill and calls.tool_calls):
        wire[rules.thoughts] = found or (" " if rules.fill else "")


def in_tags(thoughts: str, text: str | None) -> str:
    """Thoughts in <think> tags before the text."""
    return f"<think>\n{thoughts}\n</think>\n\n{text or ''}"


def parts(content: str) -> list[Json]:
    """Text and `[IMAGE:data:...]` markers as content parts, in order."""
    found: list[Json] = []
    for index, piece in enumerate(_IMAGE.split(content)):
        if index % 2:
            found.append({"type": "image_url", "image_url": {"url": piece}})
        elif piece.strip():
            found.append({"type": "text", "text": piece.strip()})
    return found


def without_images(content: str) -> str:
    """Text with "[image]" in place of each image."""
    return _IMAGE.sub("[image]", content)


def told_messages(messages: Sequence[ChatMessage],
                  thoughts: bool = False) -> list[ChatMessage]:
    """The same conversation without native calls: calls in <tool_call>
    tags, results as a user message, as the prompt guide promises. With
    `thoughts` these stand before them, in tags too."""
    told: list[ChatMessage] = []
    for message in messages:
        calls = decode_tool_calls(message)
        if message.role == "tool":
            result = decode_tool_result(message)
            told.append(ChatMessage.user(
                f'<tool_result id="{result.tool_call_id}">\n'
                f"{result.content}\n</tool_result>"))
        elif calls is not None:
            text = _tell(calls)
            if thoughts and calls.reasoning_content:
                text = in_tags(calls.reasoning_content, text)
            told.append(ChatMessage.assistant(text))
        else:
            told.append(message)
    return told


def _tell(calls: AssistantToolCalls) -> str:
    lines = [calls.text] if calls.text else []
    for call in calls.tool_calls:
        body = json.dumps({"name": call.name,
                           "arguments": _object(call.arguments)},
                          ensure_ascii=False)
        lines.append(f"<tool_call>\n{body}\n</tool_call>")
    return "\n".join(lines)


def merge_system(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """System messages at the head of the first user message, for servers
    that know no system role."""
    system = "\n\n".join(m.content for m in messages if m.role == "system")
    rest = [m for m in messages if m.role != "system"]
    if not system:
        return rest
    for index, message in enumerate(rest):
        if message.role == "user":
            rest[index] = ChatMessage.user(f"{system}\n\n{message.content}")
            return rest
    return [ChatMessage.user(system), *rest]


def wire_tools(tools: Sequence[ToolSpec]) -> tuple[Json, ...]:
    """Tools as the API takes them."""
    return tuple({"type": "function", "function": {
        "name": t.name, "description": t.description,
        "parameters": t.parameters}} for t in tools)


def told_calls(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Text and the calls that stand in it in <tool_call> tags. What does
    not parse as a call stays text."""
    calls: list[ToolCall] = []

    def take(match: re.Match[str]) -> str:
        call = _call(_object_or_none(match[1]) or {})
        if call is None:
            return match[0]
        calls.append(call)
        return ""
    rest = _CALL.sub(take, text)
    return (rest.strip() if calls else text), tuple(calls)


def strip_think(text: str) -> str:
    """Text without <think> blocks; an open one runs to the end."""
    return _THINK.sub("", text).strip() if "<think>" in text else text


def read_answer(data: Any) -> ChatResponse:
    """A chat.completion object. Raises ValueError for anything else."""
    try:
        choice = data["choices"][0]
        message = choice["message"]
    except (LookupError, TypeError) as error:
        raise ValueError("no choice in it") from error
    if not isinstance(message, dict):
        raise ValueError("no message in it")
    refusal = _text(message.get("refusal"))
    details = message.get("reasoning_details")
    finish = choice.get("finish_reason")
    return build_response(
        content=_text(message.get("content")) or refusal,
        reasoning=_reasoning(message),
        details=details if isinstance(details, list) else [],
        calls=_calls(message, finish), usage=usage_in(data),
        model=data.get("model"),
        finish="refusal" if refusal else finish)


def build_response(*, content: str, reasoning: str,
                   calls: tuple[ToolCall, ...], usage: TokenUsage | None,
                   model: Any, finish: Any, details: Sequence[Any] = (),
                   replay: str | None = None) -> ChatResponse:
    """One answer. Thoughts stand for a text that is missing, save where
    there was no room left for it; details are kept beside calls."""
    text = strip_think(content)
    if not text.strip() and not calls and finish != "length":
        text = strip_think(reasoning).strip()
    if details and calls:
        replay = json.dumps({"by": DETAILS, "details": list(details)},
                            ensure_ascii=False)
    return ChatResponse(
        text=text if text.strip() else None, tool_calls=calls, usage=usage,
        reasoning_content=reasoning or None,
        model=model if isinstance(model, str) else None,
        finish_reason=finish if isinstance(finish, str) else None,
        replay=replay)


def usage_in(data: Mapping[str, Any]) -> TokenUsage | None:
    """The usage of an answer or a chunk, wherever it stands: Moonshot puts
    it into the last choice of a stream, Groq into `x_groq`."""
    found = read_usage(data.get("usage"))
    if found is None and "x_groq" in data:
        found = read_usage(_at(data["x_groq"], "usage"))
    if found is None:
        choices = data.get("choices")
        if isinstance(choices, list) and choices:
            found = read_usage(_at(choices[0], "usage"))
    return found


def read_usage(usage: Any) -> TokenUsage | None:
    """Token counts. Cached input under the names of OpenAI, DeepSeek or
    Moonshot; where thoughts are counted apart (xAI) they are added."""
    if not isinstance(usage, dict):
        return None
    asked = _count(usage, "prompt_tokens")
    said = _count(usage, "completion_tokens")
    details = usage.get("prompt_tokens_details")
    cached = next((n for n in (
        _count(details, "cached_tokens"),
        _count(usage, "prompt_cache_hit_tokens"),
        _count(usage, "cached_tokens")) if n is not None), None)
    if asked is None and said is None and cached is None:
        return None
    thought = _count(usage.get("completion_tokens_details"),
                     "reasoning_tokens")
    if asked is not None and said is not None and thought and \
            _count(usage, "total_tokens") == asked + said + thought:
        said += thought
    return TokenUsage(asked, said, cached,
                      _count(details, "cache_write_tokens"))


def _count(place: Any, key: str) -> int | None:
    found = _at(place, key)
    return found if isinstance(found, int) and not isinstance(
        found, bool) else None


def _at(place: Any, key: str) -> Any:
    return place.get(key) if isinstance(place, dict) else None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(p["text"] for p in content if isinstance(p, dict)
                       and isinstance(p.get("text"), str))
    return ""


def _reasoning(message: Mapping[str, Any]) -> str:
    """Thoughts under any of their names; Mistral's are parts of the
    content."""
    found = _text(message.get("reasoning_content")) or _text(
        message.get("reasoning"))
    content = message.get("content")
    if not found and isinstance(content, list):
        found = "".join(_text(p.get("thinking")) for p in content
                        if isinstance(p, dict))
    details = message.get("reasoning_details")
    if not found and isinstance(details, list):
        found = "".join(_text(p.get("text")) or _text(p.get("summary"))
                        for p in details if isinstance(p, dict))
    return found


def _calls(message: Mapping[str, Any], finish: Any
           ) -> tuple[ToolCall, ...]:
    found = message.get("tool_calls")
    given = [c for c in found if isinstance(c, dict)] \
        if isinstance(found, list) else []
    old = message.get("function_call")
    if not given and isinstance(old, dict):
        given = [old]
    calls = [_call(c) for c in given if finish != "length"
             or not truncated(_inner(c).get("arguments"))]
    return tuple(c for c in calls if c is not None)


def truncated(arguments: Any) -> bool:
    """Whether arguments were cut off in the middle: a call that nobody
    may run."""
    return isinstance(arguments, str) and bool(arguments.strip()) \
        and _object_or_none(arguments) is None


def _inner(data: Mapping[str, Any]) -> Mapping[str, Any]:
    function = data.get("function")
    return function if isinstance(function, dict) else data


def _call(data: Mapping[str, Any]) -> ToolCall | None:
    """A call in any of the accepted shapes; None without a name."""
    inner = _inner(data)
    name = inner.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    given = inner.get("arguments", inner.get("parameters"))
    return ToolCall(_id(data, inner), name.strip(), arguments_text(given))


def _id(*places: Mapping[str, Any]) -> str:
    for place in places:
        for key in ("id", "tool_call_id", "call_id"):
            value = place.get(key)
            if isinstance(value, str) and value:
                return value
    return f"call_{uuid.uuid4().hex}"


def arguments_text(given: Any) -> str:
    """Arguments as JSON text of an object; `{}` where they are none."""
    if isinstance(given, dict):
        return json.dumps(given, ensure_ascii=False)
    found = _object_or_none(given) if isinstance(given, str) else None
    return given if found is not None and isinstance(given, str) else "{}"


def _object_or_none(text: str) -> Json | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _object(text: str) -> Json:
    return _object_or_none(text) or {}


def add_details(found: list[Json], pieces: Any) -> None:
    """Put streamed reasoning_details together: pieces of one index and
    type are one detail."""
    for piece in pieces if isinstance(pieces, list) else []:
        if not isinstance(piece, dict):
            continue
        last = found[-1] if found else None
        if last is None or any(last.get(k) != piece.get(k)
                               for k in ("type", "index")):
            found.append(dict(piece))
            continue
        for key, value in piece.items():
            grows = key in ("text", "summary", "data") and isinstance(
                last.get(key), str) and isinstance(value, str)
            if grows:
                last[key] += value
            elif value is not None:
                last[key] = value


class _PartialCall:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


class StreamReader:
    """The chunks of one stream, put together.

    `take` gives the visible text of a chunk: thoughts are kept apart, half
    a tag and half a character wait for the rest. With `hold_calls` text
    from a <tool_call> tag on is kept back too. `finished` says whether a
    finish reason came.
    """

    def __init__(self, *, hold_calls: bool = False) -> None:
        self._hold_calls = hold_calls
        self._content: list[str] = []
        self._shown: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_PartialCall] = []
        self._by_index: dict[int, _PartialCall] = {}
        self._usage: TokenUsage | None = None
        self._model: str | None = None
        self._finish: str | None = None
        self._refused = False
        self._details: list[Json] = []
        self._visible = VisibleText(hold_calls)

    @property
    def finished(self) -> bool:
        return self._finish is not None

    def take(self, data: Mapping[str, Any]) -> str:
        """One chunk object; returns what may be shown of it."""
        self._usage = usage_in(data) or self._usage
        if isinstance(data.get("model"), str):
            self._model = data["model"]
        shown = ""
        choices = data.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and not choice.get("index"):
                shown += self._choice(choice)
        return shown

    def take_whole(self, data: Mapping[str, Any]) -> str:
        """An answer in one piece, from a server that does not stream."""
        shown = self.take(data)
        self._finish = self._finish or "stop"
        return shown

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer; its text is
        what was shown."""
        rest = self._visible.end()
        self._shown.append(rest)
        content = clean("".join(self._content))
        response = build_response(
            content=content, calls=tuple(self._whole_calls()),
            usage=self._usage, reasoning=clean("".join(self._reasoning)),
            details=self._details, model=self._model,
            finish="refusal" if self._refused else self._finish)
        if not strip_think(content).strip():
            return (response.text or "").lstrip(), response
        if not self._hold_calls:
            response = replace(response, text="".join(self._shown))
        return rest, response

    def _whole_calls(self) -> Iterator[ToolCall]:
        for call in self._calls:
            given = "".join(call.arguments)
            if call.name and not (self._finish == "length"
                                  and truncated(given)):
                yield ToolCall(call.id or f"call_{uuid.uuid4().hex}",
                               call.name, arguments_text(given))

    def _choice(self, choice: Mapping[str, Any]) -> str:
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")
        if not isinstance(delta, dict):
            return ""
        self._reasoning.append(_reasoning(delta))
        if "reasoning_details" in delta:
            add_details(self._details, delta["reasoning_details"])
        calls = delta.get("tool_calls")
        for position, call in enumerate(calls if isinstance(calls, list)
                                        else []):
            if isinstance(call, dict):
                self._call(call, position)
        text = _text(delta.get("content"))
        if not text and delta.get("refusal"):
            text = _text(delta["refusal"])
            self._refused = True
        self._content.append(text)
        self._shown.append(self._visible.feed(text))
        return self._shown[-1]

    def _call(self, delta: Mapping[str, Any], position: int) -> None:
        inner = delta.get("function")
        inner = inner if isinstance(inner, dict) else delta
        call = self._slot(delta, inner, position)
        if isinstance(delta.get("id"), str) and delta["id"]:
            call.id = delta["id"]
        name = inner.get("name")
        if isinstance(name, str) and name and call.name != name:
            call.name += name
        given = inner.get("arguments", inner.get("parameters"))
        if isinstance(given, dict):
            given = json.dumps(given, ensure_ascii=False)
        if isinstance(given, str):
            call.arguments.append(given)

    def _slot(self, delta: Mapping[str, Any], inner: Mapping[str, Any],
              position: int) -> _PartialCall:
        """The call a delta belongs to: by index; without one a new id or
        a name starts a call, anything else goes on with the last."""
        index = delta.get("index")
        same_id = delta.get("id") in (None, "") or any(
            c.id == delta["id"] for c in self._calls)
        if isinstance(index, int):
            known = self._by_index.get(index)
            if known is not None and (same_id or not known.id):
                return known
        elif self._calls and same_id and not inner.get("name"):
            return self._calls[-1]
        elif self._calls and delta.get("id") and same_id:
            return next(c for c in self._calls if c.id == delta["id"])
        call = _PartialCall()
        self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call
