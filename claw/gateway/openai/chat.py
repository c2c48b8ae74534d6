"""/v1/chat/completions: what is asked, and the answer. Pure.

Source: the openai SDK's types, read 2026-11. A stream is chunks of one id,
the first with the role, the last with the reason of the end, then one
without choices for the usage where stream_options asks for it, then [DONE].
"""

import time
from collections.abc import Iterator
from typing import Any

from claw.core.provider import ChatMessage, ChatResponse, TokenUsage
from claw.gateway.openai.call import (
    FUNCTION_KEYS,
    MAX_TOOLS,
    NAMED_SCHEMA,
    Format,
    ModelCall,
    Tools,
    build_tools,
    read_schema,
    read_tool,
    refuse_priced,
)
from claw.gateway.openai.content import (
    CONTENT,
    WITH_IMAGES,
    build_assistant,
    build_result,
    check_order,
    read_call,
    read_text,
)
from claw.gateway.openai.errors import ApiError, BadRequest
from claw.gateway.openai.fields import COUNT, MOST_OBJECTS, Fields, optional

# Says nothing about the answer itself, or nothing that a client could miss.
_SKIPPED = ("user", "max_tokens", "metadata", "store", "safety_identifier",
            "prediction", "prompt_cache_key", "prompt_cache_retention",
            "stream_options")
_SAMPLING: dict[str, tuple[type, Any]] = {  # name -> type, usual value
    "top_p": (float, 1.0), "seed": (int, None),
    "frequency_penalty": (float, 0.0), "presence_penalty": (float, 0.0),
    "logit_bias": (dict, {}), "reasoning_effort": (str, None),
    "verbosity": (str, None)}
_CALL = {"type": "object", "required": ["id", "type", "function"],
         "properties": {
             "id": {"type": "string", "minLength": 1},
             "type": {"const": "function"},
             "function": {"type": "object", "required": ["name"],
                          "properties": {"name": {"type": "string"},
                                         "arguments": optional(str)}}}}
_MESSAGE = {"type": "object", "required": ["role"], "anyOf": [
    {"properties": {"role": {"enum": ["system", "developer"]},
                    "content": CONTENT}},
    {"properties": {"role": {"const": "user"}, "content": WITH_IMAGES}},
    {"required": ["tool_call_id"], "properties": {
        "role": {"const": "tool"}, "content": CONTENT,
        "tool_call_id": {"type": "string"}}},
    {"properties": {"role": {"const": "assistant"}, "content": CONTENT,
                    "tool_calls": optional(list, items=_CALL),
                    "refusal": optional(str),
                    "reasoning_content": optional(str)}}]}
SCHEMA = {
    "type": "object", "required": ["model", "messages"], "properties": {
        "model": {"type": "string"},
        "messages": {"type": "array", "minItems": 1, "items": _MESSAGE,
                     "maxItems": MOST_OBJECTS, "contains": {
                         "properties": {"role": {"enum": [
                             "user", "assistant", "tool"]}}}},
        "stream": optional(bool),
        "temperature": optional(float, minimum=0, maximum=2),
        "max_completion_tokens": COUNT,
        "stop": {"type": ["string", "array", "null"],
                 "items": {"type": "string", "minLength": 1}},
        "tools": optional(list, maxItems=MAX_TOOLS, items={
            "type": "object", "required": ["type", "function"],
            "properties": {
                "type": {"const": "function"},
                "function": {"type": "object", "required": ["name"],
                             "properties": FUNCTION_KEYS}}}),
        "tool_choice": {"anyOf": [
            {"enum": ["auto", "none", "required", None]},
            {"type": "object", "required": ["type", "function"],
             "properties": {"type": {"const": "function"},
                            "function": {
                                "type": "object", "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"}}}}}]},
        "parallel_tool_calls": optional(bool),
        "response_format": {
            "type": ["object", "null"], "required": ["type"],
            "properties": {"type": {"enum": ["text", "json_object",
                                             "json_schema"]}},
            "if": {"properties": {"type": {"const": "json_schema"}}},
            "then": {"required": ["json_schema"],
                     "properties": {"json_schema": NAMED_SCHEMA}}},
        "n": {"enum": [1, None]},
        "service_tier": {"enum": ["auto", "default", None]},
        **{name: optional(kind) for name, (kind, _) in _SAMPLING.items()}}}


def parse_chat(body: Any) -> ModelCall:
    """The request. Raises BadRequest."""
    fields = Fields(body)
    model = fields.need("model", str)
    messages = tuple(_read_message(one)
                     for one in _need_messages(fields))
    check_order(messages, "messages")
    fields.refuse({"n": 1}, "claw gives one answer")
    fields.refuse({"logprobs": False, "top_logprobs": 0},
                  "claw does not know the probabilities of words")
    fields.refuse({"modalities": ["text"], "audio": {}},
                  "claw answers in text")
    fields.refuse({"functions": [], "function_call": "none"},
                  "use tools and tool_choice")
    refuse_priced(fields)
    stream = fields.get("stream", bool) or False
    usage = fields.data.get("stream_options")
    fields.skip(_SKIPPED)
    return ModelCall(
        model, messages, _read_tools(fields), _read_format(fields),
        fields.number("temperature", 0, 2),
        fields.count("max_completion_tokens") or fields.count("max_tokens"),
        _read_sampling(fields), fields.rest(), stream,
        isinstance(usage, dict) and usage.get("include_usage") is True,
        any(one.role == "tool" for one in messages))


def _read_sampling(fields: Fields) -> dict[str, Any]:
    """How words are chosen, where it is said otherwise than usual."""
    found = {name: value for name, (kind, usual) in _SAMPLING.items()
             if (value := fields.get(name, kind)) is not None
             and value != usual}
    stop = fields.any("stop")
    if stop not in (None, "", []):
        stop = [stop] if isinstance(stop, str) else stop
        if not isinstance(stop, list) or not all(
                isinstance(one, str) and one for one in stop):
            raise BadRequest("stop must be a string or a list of strings",
                             "stop")
        found["stop"] = stop
    return found


def _need_messages(fields: Fields) -> list[Fields]:
    fields.need("messages", list)
    return fields.objects("messages")


def _read_message(message: Fields) -> ChatMessage:
    role = message.need("role", str)
    if role in ("system", "developer"):
        return ChatMessage.system(read_text(message))
    if role == "user":
        return ChatMessage.user(read_text(message, images=True))
    if role == "tool":
        return build_result(message.need("tool_call_id", str),
                            read_text(message))
    if role != "assistant":
        raise BadRequest(f"{message.name('role')}: {role[:40]!r} is none of "
                         "system, developer, user, assistant and tool",
                         message.name("role"))
    calls = []
    for call in message.objects("tool_calls"):
        if call.need("type", str) != "function":
            raise BadRequest(f"{call.name('type')}: only functions are "
                             "called", call.name("type"))
        calls.append(read_call(call.any("id"), Fields(
            call.any("function"), call.name("function"))))
    return build_assistant(
        read_text(message) or message.get("refusal", str) or "", calls,
        message.get("reasoning_content", str))


def _read_tools(fields: Fields) -> Tools:
    found = []
    for tool in fields.objects("tools"):
        if tool.need("type", str) != "function":
            raise BadRequest(f"{tool.name('type')}: only functions are "
                             "taken", tool.name("type"),
                             "unsupported_parameter")
        found.append(read_tool(Fields(tool.any("function"),
                                      tool.name("function"))))
    choice = fields.any("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function" \
            and isinstance(choice.get("function"), dict):
        named = (str(choice["function"].get("name")), True)
    elif choice is None or choice in ("auto", "none", "required"):
        named = (choice or "auto", False)
    else:
        raise BadRequest("tool_choice must be auto, none, required or a "
                         "function by its name", "tool_choice")
    return build_tools(found, named, fields.get("parallel_tool_calls", bool))


def _read_format(fields: Fields) -> Format:
    given = fields.any("response_format")
    if given is None:
        return Format()
    table = Fields(given, "response_format")
    kind = table.need("type", str)
    if kind == "json_schema":
        return read_schema(Fields(table.any("json_schema"),
                                  "response_format.json_schema"))
    if kind not in ("text", "json_object"):
        raise BadRequest("response_format.type must be text, json_object or "
                         "json_schema", "response_format.type")
    return Format(kind)


# -- the answer

_REASONS = {"length": "length", "max_tokens": "length",
            "content_filter": "content_filter", "refusal": "content_filter"}


class ChatWriter:
    """One answer: whole, or as the chunks of a stream. `model` is how the
    client called it."""

    def __init__(self, answer_id: str, call: ModelCall) -> None:
        self._head = {"id": f"chatcmpl-{answer_id}",
                      "created": int(time.time())}
        self._call = call

    def whole(self, response: ChatResponse) -> dict[str, Any]:
        message: dict[str, Any] = {
            "role": "assistant", "content": response.text, "refusal": None}
        if response.reasoning_content:
            message["reasoning_content"] = response.reasoning_content
        if response.tool_calls:
            message["tool_calls"] = [_call_json(call)
                                     for call in response.tool_calls]
        elif message["content"] is None:
            message["content"] = ""
        return {**self._head, "object": "chat.completion",
                "model": response.model or self._call.model,
                "choices": [{"index": 0, "message": message,
                             "logprobs": None,
                             "finish_reason": find_reason(response)}],
                "usage": usage_json(response.usage)}

    def begin(self) -> Iterator[dict[str, Any]]:
        yield self._chunk({"role": "assistant", "content": ""})

    def delta(self, text: str) -> Iterator[dict[str, Any]]:
        yield self._chunk({"content": text})

    def end(self, response: ChatResponse) -> Iterator[dict[str, Any]]:
        if response.tool_calls:
            yield self._chunk({"tool_calls": [
                {"index": number, **_call_json(call)}
                for number, call in enumerate(response.tool_calls)]})
        yield self._chunk({}, find_reason(response))
        if self._call.with_usage:
            yield {**self._chunk({}), "choices": [],
                   "usage": usage_json(response.usage)}

    def fail(self, error: ApiError) -> Iterator[dict[str, Any]]:
        yield {"error": error.to_json()}

    def _chunk(self, delta: dict[str, Any], reason: str | None = None
               ) -> dict[str, Any]:
        chunk = {**self._head, "object": "chat.completion.chunk",
                 "model": self._call.model,
                 "choices": [{"index": 0, "delta": delta, "logprobs": None,
                              "finish_reason": reason}]}
        return {**chunk, "usage": None} if self._call.with_usage else chunk


def find_reason(response: ChatResponse) -> str:
    """Why the answer ended, in OpenAI's words."""
    if response.tool_calls:
        return "tool_calls"
    return _REASONS.get(response.finish_reason or "", "stop")


def usage_json(usage: TokenUsage | None) -> dict[str, Any] | None:
    """Tokens as Chat counts them; None where nobody did."""
    if usage is None or (usage.input_tokens is None
                         and usage.output_tokens is None):
        return None
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    return {"prompt_tokens": read, "completion_tokens": written,
            "total_tokens": read + written, "prompt_tokens_details": {
                "cached_tokens": usage.cached_input_tokens or 0}}


def _call_json(call: Any) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {
        "name": call.name, "arguments": call.arguments}}
