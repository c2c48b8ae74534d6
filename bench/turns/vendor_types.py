"""What the vendors' SDKs say of a request body: TypedDicts and models, read
strictly, and no key that they do not have.

Loaded for the wire that is asked for alone. Chat, Responses and Messages are
TypedDicts that pydantic checks; Gemini's and Ollama's are pydantic models.
"""

import base64
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

Json = dict[str, Any]


def check_types(wire: str, body: Json) -> None:
    """Raises what the vendor's types refuse a body with."""
    for check in _checks(wire):
        check(body)


@cache
def _checks(wire: str) -> list[Callable[[Json], Any]]:
    return {"chat": _chat_types, "responses": _responses_types,
            "anthropic": _anthropic_types, "gemini": _gemini_types,
            "ollama": _ollama_types}[wire]()


def _each(adapter: Any, found: Callable[[Json], Any]
          ) -> Callable[[Json], Any]:
    def check(body: Json) -> None:
        made = adapter.validate_python(found(body), strict=True)
        if isinstance(made, Iterable) and not isinstance(made, dict):
            list(made)  # pydantic looks at an Iterable when it is read
    return check


def _known(params: Any, *more: str) -> Callable[[Json], None]:
    """Keys that the vendor's type does not have are refused."""
    known = {*params.__annotations__, *more}
    for base in getattr(params, "__orig_bases__", ()):
        known |= set(getattr(base, "__annotations__", {}))

    def check(body: Json) -> None:
        if strange := set(body) - known:
            raise ValueError(f"unknown keys: {strange}")
    return check


def _chat_types() -> list[Callable[[Json], Any]]:
    from openai.types import chat
    from openai.types.chat.completion_create_params import (
        CompletionCreateParamsStreaming as Params,
    )
    from pydantic import TypeAdapter
    return [_known(Params), _each(TypeAdapter(
                list[chat.ChatCompletionMessageParam]),
                lambda body: body["messages"]),
            _each(TypeAdapter(list[chat.ChatCompletionFunctionToolParam]),
                  lambda body: body.get("tools", []))]


def _responses_types() -> list[Callable[[Json], Any]]:
    from openai.types import responses
    from openai.types.responses.response_create_params import (
        ResponseCreateParamsStreaming as Params,
    )
    from pydantic import TypeAdapter
    return [_known(Params), _each(TypeAdapter(
                list[responses.ResponseInputItemParam]),
                lambda body: body["input"]),
            _each(TypeAdapter(list[responses.FunctionToolParam]),
                  lambda body: body.get("tools", []))]


def _anthropic_types() -> list[Callable[[Json], Any]]:
    from anthropic import types
    from anthropic.types.message_create_params import (
        MessageCreateParamsStreaming as Params,
    )
    from pydantic import TypeAdapter
    blocks = {kind: TypeAdapter(of) for kind, of in {
        "text": types.TextBlockParam, "image": types.ImageBlockParam,
        "tool_use": types.ToolUseBlockParam,
        "tool_result": types.ToolResultBlockParam,
        "thinking": types.ThinkingBlockParam}.items()}

    def messages(body: Json) -> None:
        for one in body["messages"]:
            if set(one) != {"role", "content"}:
                raise ValueError(f"keys of a message: {set(one)}")
            if one["role"] not in ("user", "assistant"):
                raise ValueError(f"role {one['role']}")
            for block in (one["content"] if isinstance(one["content"], list)
                          else [{"type": "text", "text": one["content"]}]):
                list(blocks[block["type"]].validate_python(block).values())
    return [_known(Params, "temperature"), messages,
            _each(TypeAdapter(list[types.ToolParam]),
                  lambda body: body.get("tools", []))]


def _gemini_types() -> list[Callable[[Json], Any]]:
    from google.genai import types
    known = {"contents", "systemInstruction", "tools", "toolConfig",
             "generationConfig", "safetySettings"}

    def check(body: Json) -> None:
        if strange := set(body) - known:
            raise ValueError(f"unknown keys: {strange}")
        for one in body["contents"]:
            types.Content.model_validate(one)
            if one["role"] not in ("user", "model") or not one["parts"]:
                raise ValueError(f"role or parts of {str(one)[:80]}")
        types.Content.model_validate(body.get("systemInstruction", {}))
        for tool in body.get("tools", []):
            types.Tool.model_validate(tool)
        types.GenerationConfig.model_validate(
            body.get("generationConfig", {}))
    return [check]


def _ollama_types() -> list[Callable[[Json], Any]]:
    from ollama import _types

    def check(body: Json) -> None:
        _types.ChatRequest.model_validate(body)
        for one in body["messages"]:
            _types.Message.model_validate({**one, "images": [
                _types.Image(value=base64.b64decode(image, validate=True))
                for image in one.get("images") or ()]}, strict=True)
            # The server has had ids for longer than its SDK.
            if strange := set(one) - {*_types.Message.model_fields,
                                      "tool_call_id"}:
                raise ValueError(f"unknown keys of a message: {strange}")
            if one["role"] not in ("system", "user", "assistant", "tool"):
                raise ValueError(f"role {one['role']}")
        if strange := set(body) - {*_types.ChatRequest.model_fields,
                                   "truncate"}:
            raise ValueError(f"unknown keys: {strange}")
    return [check]
