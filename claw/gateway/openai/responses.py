"""/v1/responses: what is asked. Pure.

Nothing is kept for a later call: a client sends the conversation whole.
Source: the openai SDK's types, read 2026-11.
"""

from typing import Any

from claw.core.provider import ChatMessage
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
from claw.gateway.openai.content import check_order
from claw.gateway.openai.errors import BadRequest
from claw.gateway.openai.fields import COUNT, Fields, optional
from claw.gateway.openai.items import INPUT, read_input

_SKIPPED = ("user", "store", "safety_identifier", "prompt_cache_key",
            "prompt_cache_retention", "stream_options", "include",
            "max_tool_calls")
# What a Response repeats of its request, and what holds without it.
_REPEATED: dict[str, Any] = {
    "instructions": None, "metadata": {}, "parallel_tool_calls": True,
    "temperature": None, "tool_choice": "auto", "tools": [], "top_p": None,
    "max_output_tokens": None, "text": {"format": {"type": "text"}},
    "reasoning": None, "truncation": "disabled", "user": None}

SCHEMA = {
    "type": "object", "required": ["model", "input"], "properties": {
        "model": {"type": "string"}, "input": INPUT,
        "instructions": optional(str), "stream": optional(bool),
        "temperature": optional(float, minimum=0, maximum=2),
        "top_p": optional(float, minimum=0, maximum=1),
        "max_output_tokens": COUNT,
        "reasoning": optional(dict, properties={"effort": optional(str)}),
        "text": optional(dict, properties={
            "verbosity": optional(str),
            "format": {
                "type": ["object", "null"], "required": ["type"],
                "properties": {"type": {"enum": ["text", "json_object",
                                                 "json_schema"]}},
                "if": {"properties": {"type": {"const": "json_schema"}}},
                "then": {"required": ["schema"],
                         "properties": NAMED_SCHEMA["properties"]}}}),
        "tools": optional(list, maxItems=MAX_TOOLS, items={
            "type": "object", "required": ["type", "name"],
            "properties": {"type": {"const": "function"},
                           **FUNCTION_KEYS}}),
        "tool_choice": {"anyOf": [
            {"enum": ["auto", "none", "required", None]},
            {"type": "object", "required": ["type", "name"],
             "properties": {"type": {"const": "function"},
                            "name": {"type": "string"}}}]},
        "parallel_tool_calls": optional(bool),
        "previous_response_id": {"type": "null"},
        "background": {"enum": [False, None]},
        "truncation": {"enum": ["disabled", None]},
        "service_tier": {"enum": ["auto", "default", None]}}}


def parse_responses(body: Any) -> ModelCall:
    """The request. Raises BadRequest."""
    fields = Fields(body)
    model = fields.need("model", str)
    messages = read_input(fields)
    instructions = fields.get("instructions", str)
    if instructions:
        messages.insert(0, ChatMessage.system(instructions))
    check_order(messages, "input")
    fields.refuse(dict.fromkeys(("previous_response_id", "conversation",
                                 "prompt")),
                  "claw keeps no responses; send the conversation in input")
    fields.refuse({"background": False}, "claw answers at once")
    fields.refuse({"truncation": "disabled"}, "nothing is cut off here")
    fields.refuse({"top_logprobs": 0},
                  "claw does not know the probabilities of words")
    refuse_priced(fields)
    fields.skip((*_SKIPPED, "metadata"))
    sampling: dict[str, Any] = {}
    answer = _read_text_table(fields, sampling)
    top_p = fields.number("top_p", 0, 1)
    if top_p not in (None, 1.0):
        sampling["top_p"] = top_p
    effort = Fields(fields.get("reasoning", dict) or {}, "reasoning").get(
        "effort", str)
    if effort is not None:
        sampling["reasoning_effort"] = effort
    return ModelCall(
        model, tuple(messages), _read_tools(fields), answer,
        fields.number("temperature", 0, 2),
        fields.count("max_output_tokens"), sampling,
        stream=fields.get("stream", bool) or False, extra=fields.rest(),
        has_tool_messages=any(one.role == "tool" for one in messages),
        shown={key: usual if (value := fields.data.get(key)) is None
               else value for key, usual in _REPEATED.items()})


def _read_text_table(fields: Fields, sampling: dict[str, Any]) -> Format:
    if fields.any("text") is None:
        return Format()
    text = Fields(fields.any("text"), "text")
    verbosity = text.get("verbosity", str)
    if verbosity is not None:
        sampling["verbosity"] = verbosity
    if text.any("format") is None:
        return Format()
    table = Fields(text.any("format"), "text.format")
    kind = table.need("type", str)
    if kind == "json_schema":
        return read_schema(table)
    if kind not in ("text", "json_object"):
        raise BadRequest("text.format.type must be text, json_object or "
                         "json_schema", "text.format.type")
    return Format(kind)


def _read_tools(fields: Fields) -> Tools:
    found = []
    for tool in fields.objects("tools"):
        if tool.need("type", str) != "function":
            raise BadRequest(f"{tool.name('type')}: only functions are "
                             "taken", tool.name("type"),
                             "unsupported_parameter")
        found.append(read_tool(tool))
    choice = fields.any("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function":
        named = (str(choice.get("name")), True)
    elif choice is None or choice in ("auto", "none", "required"):
        named = (choice or "auto", False)
    else:
        raise BadRequest("tool_choice must be auto, none, required or a "
                         "function by its name", "tool_choice")
    return build_tools(found, named, fields.get("parallel_tool_calls", bool))
