"""A request of Chat Completions or Responses, in one form. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from claw.core.provider import ChatMessage
from claw.core.tool import ToolSpec
from claw.core.value import Value, made
from claw.gateway.openai.errors import BadRequest
from claw.gateway.openai.fields import Fields, optional

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MAX_TOOLS = 512


class Tools(Value):
    """The client's own tools. `raw` are they as they came (Chat's form),
    `choice` is "auto", "none", "required" or the name of one."""

    specs: tuple[ToolSpec, ...] = ()
    raw: tuple[dict[str, Any], ...] = ()
    choice: str = "auto"
    is_choice_named: bool = False
    parallel: bool = True

    @property
    def wants_strict(self) -> bool:
        return any(one["function"].get("strict") for one in self.raw)


class Format(Value):
    """What the answer should look like: `kind` is "text", "json_object" or
    "json_schema"."""

    kind: str = "text"
    schema: dict[str, Any] | None = None
    name: str = "answer"
    strict: bool | None = None


class ModelCall(Value):
    """What a client asks of a model.

    `sampling` holds what was said of how words are chosen, by Chat's names;
    `extra` are keys that the API does not have. `has_tool_messages`: the
    conversation holds calls or results of tools. `shown` is what a Response
    repeats of its request.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    tools: Tools = Tools()
    answer: Format = Format()
    temperature: float | None = None
    max_tokens: int | None = None
    sampling: Mapping[str, Any] = made(factory=dict)
    extra: Mapping[str, Any] = made(factory=dict)
    stream: bool = False
    with_usage: bool = False
    has_tool_messages: bool = False
    shown: Mapping[str, Any] = made(factory=dict)


# Schemas of what is read here: a function, and the schema of an answer.
FUNCTION_KEYS = {
    "name": {"type": "string", "pattern": f"^{_TOOL_NAME.pattern}$"},
    "description": optional(str), "parameters": optional(dict),
    "strict": optional(bool)}
NAMED_SCHEMA: dict[str, Any] = {
    "type": "object", "required": ["schema"], "properties": {
        "schema": {"type": "object"}, "name": optional(str),
        "strict": optional(bool)}}


def read_tool(function: Fields) -> tuple[ToolSpec, dict[str, Any]]:
    """A function that a client offers, and its raw form."""
    name = function.need("name", str)
    if not _TOOL_NAME.fullmatch(name):
        raise BadRequest(f"{function.name('name')}: {name[:80]!r} is no name "
                         "of a function", function.name("name"))
    text = function.get("description", str) or ""
    schema = function.get("parameters", dict) or {
        "type": "object", "properties": {}}
    strict = function.get("strict", bool)
    raw: dict[str, Any] = {"name": name, "description": text,
                           "parameters": schema}
    if strict is not None:
        raw["strict"] = strict
    return ToolSpec(name, text, schema), {"type": "function", "function": raw}


def build_tools(found: Sequence[tuple[ToolSpec, dict[str, Any]]],
                choice: tuple[str, bool], parallel: bool | None) -> Tools:
    """The tools of a call. Raises BadRequest for a choice that is none."""
    if len(found) > MAX_TOOLS:
        raise BadRequest(f"more than {MAX_TOOLS} tools", "tools")
    names = [spec.name for spec, _ in found]
    if choice[1] and choice[0] not in names:
        raise BadRequest(f"tool_choice: no tool is called {choice[0]!r}",
                         "tool_choice")
    if choice == ("required", False) and not names:
        raise BadRequest("tool_choice: there are no tools", "tool_choice")
    return Tools(tuple(spec for spec, _ in found),
                 tuple(raw for _, raw in found), choice[0], choice[1],
                 parallel is not False)


def read_schema(table: Fields) -> Format:
    """A JSON schema with its name."""
    return Format("json_schema", table.need("schema", dict),
                  table.get("name", str) or "answer",
                  table.get("strict", bool))


def refuse_priced(fields: Fields) -> None:
    """Raise BadRequest for what the ledger can't know the price of."""
    if fields.data.get("service_tier") == "default":
        fields.skip(("service_tier",))
    fields.refuse({"service_tier": "auto", "web_search_options": None},
                  "the ledger does not know its price")
