"""What a client asks of a vendor, in that vendor's own words. Pure.

A request goes to a provider as a ChatRequest; what that has no field for
goes as options of the vendor (claw/providers/wire/options.py). What a
vendor has no word for is refused: to leave it out would change what was
asked.
Source: the vendors' API references and the openai SDK's types, read
2026-11.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from claw.core.errors import UsageError
from claw.core.provider import ChatRequest
from claw.core.value import Value
from claw.gateway.openai.call import ModelCall
from claw.gateway.openai.errors import BadRequest
from claw.providers.wire.options import add_options, check_options

# "chat" and "responses" are OpenAI's two, which many vendors speak.
Dialect: TypeAlias = Literal["chat", "responses", "anthropic", "gemini",
                             "ollama", "other"]
Json: TypeAlias = dict[str, Any]

# OpenAI's name -> the vendor's, by dialect.
_NAMES: dict[str, dict[str, str]] = {
    "chat": {name: name for name in (
        "top_p", "seed", "stop", "frequency_penalty", "presence_penalty",
        "logit_bias", "reasoning_effort", "verbosity")},
    "responses": {"top_p": "top_p", "reasoning_effort": "reasoning.effort",
                  "verbosity": "text.verbosity"},
    "anthropic": {"top_p": "top_p", "stop": "stop_sequences",
                  "reasoning_effort": "output_config.effort"},
    "gemini": {"top_p": "topP", "seed": "seed", "stop": "stopSequences",
               "frequency_penalty": "frequencyPenalty",
               "presence_penalty": "presencePenalty"},
    "ollama": {name: name for name in (
        "top_p", "seed", "stop", "frequency_penalty", "presence_penalty")},
    "other": {},
}


class Target(Value):
    """Who is asked. `native`: the model calls tools by itself; `own`: it is
    OpenAI itself, or Azure, and takes whatever its API says."""

    dialect: Dialect
    native: bool = True
    own: bool = False


def build_chat_request(call: ModelCall, target: Target) -> ChatRequest:
    """The request for a provider. Raises BadRequest for what this vendor
    can't be asked."""
    options: Json = {}
    for name, value in call.sampling.items():
        path = _NAMES[target.dialect].get(name)
        if path is None:
            raise _cannot(name)
        options = add_options(options, _nest(path, value))
    schema = call.answer.schema
    if call.answer.kind == "json_object":
        schema = _CHECK_JSON[target.dialect](options)
    elif call.answer.kind == "json_schema" and target.own:
        options = add_options(options, _name_schema(call, target))
    tools = call.tools
    specs = tools.specs or None
    if specs and (tools.choice != "auto" or tools.is_choice_named
                  or not tools.parallel):
        choice = _choose_tool(call, target)
        specs = specs if choice is not None else None
        options = add_options(options, choice or {})
    if specs and tools.wants_strict and target.native \
            and target.dialect == "chat":
        options["tools"] = list(tools.raw)
    if call.extra:
        options = add_options(options, _check_extra(call.extra, target))
    return ChatRequest(call.messages, specs, max_tokens=call.max_tokens,
                       response_schema=schema, options=options)


def _cannot(name: str) -> BadRequest:
    return BadRequest(f"{name}: this vendor's API does not have it", name,
                      "unsupported_parameter")


def _nest(path: str, value: Any) -> Json:
    table, dot, key = path.partition(".")
    return {table: {key: value}} if dot else {path: value}


def _check_extra(extra: Mapping[str, Any], target: Target) -> Json:
    """Keys that OpenAI's API does not have are the vendor's business, where
    it speaks that API and they cost nothing more."""
    if target.dialect not in ("chat", "responses"):
        raise BadRequest(f"{next(iter(extra))} is not known", next(
            iter(extra)), "unknown_parameter")
    for key, value in extra.items():
        try:
            check_options({key: value})
        except UsageError as error:
            raise BadRequest(f"{key} is not passed on: " + (
                error.hint or error.message), key,
                "unsupported_parameter") from error
    return dict(extra)


# -- the form of the answer

def _ask_chat(options: Json) -> None:
    options["response_format"] = {"type": "json_object"}


def _ask_responses(options: Json) -> None:
    options.update(add_options(options, {"text": {"format": {
        "type": "json_object"}}}))


def _ask_gemini(options: Json) -> None:
    options["responseMimeType"] = "application/json"


def _ask_ollama(options: Json) -> Json:
    return {"type": "object"}


def _ask_in_vain(options: Json) -> None:
    raise BadRequest("response_format: this vendor's API takes a schema "
                     "alone: json_schema", "response_format",
                     "unsupported_parameter")


_CHECK_JSON: dict[str, Callable[[Json], Json | None]] = {
    "chat": _ask_chat, "responses": _ask_responses, "gemini": _ask_gemini,
    "ollama": _ask_ollama, "anthropic": _ask_in_vain, "other": _ask_in_vain}


def _name_schema(call: ModelCall, target: Target) -> Json:
    """The schema's own name, and whether it is kept to strictly."""
    own: Json = {"name": call.answer.name}
    if call.answer.strict is not None:
        own["strict"] = call.answer.strict
    return {"response_format": {"json_schema": own}} \
        if target.dialect == "chat" else {"text": {"format": own}}


# -- the choice of a tool

def _choose_tool(call: ModelCall, target: Target) -> Json | None:
    """What says which tool is to be called; None where none may be, and
    they are better left out."""
    tools = call.tools
    named, is_forced = tools.is_choice_named, tools.choice == "required"
    if tools.choice == "none" and not named:
        return {"tool_choice": "none"} if target.native \
            and target.dialect in ("chat", "responses") else None
    if not target.native and (named or is_forced):
        raise BadRequest("tool_choice: this model calls no tools by itself",
                         "tool_choice", "unsupported_parameter")
    if target.dialect == "anthropic":
        kind = "tool" if named else "any" if is_forced else "auto"
        return {"tool_choice": {
            "type": kind, **({"name": tools.choice} if named else {}),
            **({} if tools.parallel else
               {"disable_parallel_tool_use": True})}}
    found: Json = {}
    if not tools.parallel and target.native:
        if target.dialect not in ("chat", "responses"):
            raise _cannot("parallel_tool_calls")
        found["parallel_tool_calls"] = False
    if not (named or is_forced):
        return found
    if target.dialect == "gemini":
        return {**found, "toolConfig": {"functionCallingConfig": {
            "mode": "ANY", **({"allowedFunctionNames": [tools.choice]}
                              if named else {})}}}
    if target.dialect not in ("chat", "responses"):
        raise _cannot("tool_choice")
    function = {"name": tools.choice}
    return {**found, "tool_choice": "required" if not named
            else {"type": "function", "function": function}
            if target.dialect == "chat"
            else {"type": "function", **function}}
