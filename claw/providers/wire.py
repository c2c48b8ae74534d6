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
from collections.abc import Mapping, Sequence
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
from claw.providers.usage import usage_in
from claw.text.segment import clean

Json = dict[str, Any]
MOST_DEEP = 200

# Compiled where they are used (1.5 ms): a short question needs none.
_IMAGE = r"\[IMAGE:(data:image/[\w.+-]+;base64,[\w+/=-]+)\]"
_THINK = r"(?s)<think>.*?(?:</think>|\Z)"
_CALL = r"(?s)<tool_call>\s*(.*?)\s*</tool_call>"


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
    for index, piece in enumerate(re.split(_IMAGE, content)):
        if index % 2:
            found.append({"type": "image_url", "image_url": {"url": piece}})
        elif piece.strip():
            found.append({"type": "text", "text": piece.strip()})
    return found


def without_images(content: str) -> str:
    """Text with "[image]" in place of each image."""
    return re.sub(_IMAGE, "[image]", content)


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
    rest = re.sub(_CALL, take, text)
    return (rest.strip() if calls else text), tuple(calls)


def strip_think(text: str) -> str:
    """Text without <think> blocks; an open one runs to the end."""
    return re.sub(_THINK, "", text).strip() if "<think>" in text else text


def read_answer(data: Any) -> ChatResponse:
    """A chat.completion object. Raises ValueError for anything else."""
    try:
        choice = data["choices"][0]
        message = choice["message"]
    except (LookupError, TypeError) as error:
        raise ValueError("no choice in it") from error
    if not isinstance(message, dict):
        raise ValueError("no message in it")
    refusal = text_of(message.get("refusal"))
    details = message.get("reasoning_details")
    finish = choice.get("finish_reason")
    return build_response(
        content=text_of(message.get("content")) or refusal,
        reasoning=thoughts_of(message),
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
    return tidy(ChatResponse(
        text=text if text.strip() else None, tool_calls=calls, usage=usage,
        reasoning_content=reasoning or None,
        model=model if isinstance(model, str) else None,
        finish_reason=finish if isinstance(finish, str) else None,
        replay=replay))


def tidy(response: ChatResponse) -> ChatResponse:
    """The answer as UTF-8 can carry it: a lone surrogate, which JSON may
    hold, is one that no file and no terminal takes."""
    texts = (response.text, response.reasoning_content, response.model,
             response.finish_reason, response.replay)
    parts = [t for c in response.tool_calls
             for t in (c.id, c.name, c.arguments)]
    try:
        "".join([*(t or "" for t in texts), *parts]).encode()
    except UnicodeEncodeError:
        text, thoughts, model, finish, replay = (t and clean(t)
                                                 for t in texts)
        return replace(
            response, text=text, reasoning_content=thoughts, model=model,
            finish_reason=finish, replay=replay, tool_calls=tuple(
                ToolCall(clean(c.id), clean(c.name), clean(c.arguments))
                for c in response.tool_calls))
    return response


def parsed(text: str) -> Any:
    """JSON. Raises ValueError for anything else, and for what is nested so
    deep that it could be read but not be written again."""
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if text.count("{") + text.count("[") > MOST_DEEP and _is_deep(data):
        raise ValueError("nested too deep")
    return data


def _is_deep(data: Any) -> bool:
    level = [data]
    for _ in range(MOST_DEEP):
        level = [v for found in level if isinstance(found, dict | list)
                 for v in (found.values() if isinstance(found, dict)
                           else found)]
        if not level:
            return False
    return True


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(p["text"] for p in content if isinstance(p, dict)
                       and isinstance(p.get("text"), str))
    return ""


def thoughts_of(message: Mapping[str, Any]) -> str:
    """Thoughts under any of their names; Mistral's are parts of the
    content."""
    found = text_of(message.get("reasoning_content")) or text_of(
        message.get("reasoning"))
    content = message.get("content")
    if not found and isinstance(content, list):
        found = "".join(text_of(p.get("thinking")) for p in content
                        if isinstance(p, dict))
    details = message.get("reasoning_details")
    if not found and isinstance(details, list):
        found = "".join(text_of(p.get("text")) or text_of(p.get("summary"))
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
        value = parsed(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _object(text: str) -> Json:
    return _object_or_none(text) or {}
