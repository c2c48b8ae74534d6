"""Tool: the contract of everything the agent can do.

A tool is a small class: name, description, schema, execute. Handed to the
agent it is offered to the model with no further step. Security comes in
through the constructor (ToolDeps) and is checked inside `execute`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Protocol,
    TypeAlias,
    runtime_checkable,
)

from claw.core.value import Value, made

if TYPE_CHECKING:
    from claw.core.turn import TurnContext

Schema: TypeAlias = dict[str, Any]
JSON_TYPES = frozenset(("object", "array", "string", "number", "integer",
                        "boolean", "null"))
# What schemas that follow no standard call these.
_OTHER_NAMES = {
    "dict": "object", "map": "object", "hashmap": "object",
    "float": "number", "double": "number", "int": "integer",
    "long": "integer", "bool": "boolean", "str": "string",
    "char": "string", "list": "array", "tuple": "array", "set": "array",
    "none": "null"}
Arguments: TypeAlias = Mapping[str, Any]


def standard_type(name: str) -> str:
    """The JSON Schema type that is meant ("dict": "object"); "" where it
    is none of them ("any")."""
    name = name.lower()
    name = _OTHER_NAMES.get(name, name)
    return name if name in JSON_TYPES else ""


class ToolSpec(Value):
    """What a model is told of a tool; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: Schema


class ToolResult(Value):
    """What a tool returned; `output` is what the model reads.

    An expected failure (no such file, denied, HTTP error) is a value with
    success=False and `error`, so the model can go on from it. Only faults
    raise.
    """

    output: str = ""
    success: bool = True
    error: str | None = None

    @classmethod
    def failure(cls, error: str, output: str = "") -> "ToolResult":
        return cls(output=output, success=False, error=error)


class Tool(ABC):
    """One thing the agent can do. One that only `reads` runs unasked,
    unless a setting says otherwise; one that `asks` does so before every
    call, whatever settings allow; one that changes nothing at all, or
    nothing twice for the same `current_call`, is `repeatable` besides: a
    call is simply made again when a killed turn is taken up. What a tool
    returns is foreign text, labelled "tool" (labels.py), unless it
    `labels_itself`: adds to TurnContext.labels what it has read."""

    name: str
    description: str
    reads: bool = False
    asks: bool = False
    repeatable: bool = False
    labels_itself: bool = False

    def __init_subclass__(cls, **settings: Any) -> None:
        """A tool that says its parameters says what it is, too: without a
        name or a description no model could call it."""
        super().__init_subclass__(**settings)
        if "parameters_schema" not in cls.__dict__:
            return
        for field in ("name", "description"):
            value = getattr(cls, field, "")
            if isinstance(value, str) and not value.strip():
                raise TypeError(f"the tool {cls.__name__} has no {field}")

    @abstractmethod
    def parameters_schema(self) -> Schema:
        """JSON Schema of the arguments: an object."""

    @abstractmethod
    async def execute(self, args: Arguments) -> ToolResult:
        """Do it. Arguments come from a model: check them."""

    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.parameters_schema())


@runtime_checkable
class FindsTools(Protocol):
    """A tool that knows others, which are not offered until they are
    found; called by their names they run nevertheless."""

    def find_tool(self, name: str) -> Tool | None: ...


@runtime_checkable
class HidesArguments(Protocol):
    """A tool whose arguments may hold keys. What is shown and logged of a
    call is what `hide` leaves; it takes arguments of any kind."""

    def hide(self, args: Arguments) -> Arguments: ...


def hide_arguments(tool: object, args: Arguments) -> Arguments:
    """The arguments of a call as people and logs see them."""
    return tool.hide(args) if isinstance(tool, HidesArguments) else args


@runtime_checkable
class EndsWithTurn(Protocol):
    """A tool that keeps something open between the calls of a turn."""

    async def end_turn(self, turn: "TurnContext") -> None:
        """Let go of what the calls of this turn have opened."""
        ...


async def end_turn(tools: Iterable[object], turn: "TurnContext") -> None:
    """The turn is over, however it ended: tools let go of what is open."""
    for tool in tools:
        if isinstance(tool, EndsWithTurn):
            await tool.end_turn(turn)


@runtime_checkable
class OfServer(Protocol):
    """A tool that another program serves (MCP). One that has been
    `withdrawn` is not offered any more."""

    withdrawn: bool


class ToolDeps(Value):
    """What a tool is given at construction.

    `policy` is security.policy.SecurityPolicy, `memory` core.memory.Memory,
    `jobs` the cron store, `http` the guarded client of tools, `send` is
    core.turn.SendsText, `asks` core.turn.Asks, `sessions` reads kept
    conversations (core/sessions.py); None where there is no such part now.
    `agents` are core.turn.TakesTasks by name, `tasks` is
    core.turn.RunsTasks, `reacts` core.turn.Reacts, `skills`
    tools.skills.tool.Skills.
    """

    workspace: Path
    policy: Any
    memory: Any = None
    jobs: Any = None
    http: Any = None
    send: Any = None
    asks: Any = None
    sessions: Any = None
    skills: Any = None
    agents: Mapping[str, Any] = made(factory=dict)
    tasks: Any = None
    reacts: Any = None


def closed_object(**properties: Schema) -> Schema:
    """An object schema; a property is required unless it has a default
    or is marked with `optional`."""
    required = [name for name, schema in properties.items()
                if "default" not in schema and not schema.get("x-optional")]
    clean = {name: {k: v for k, v in schema.items() if k != "x-optional"}
             for name, schema in properties.items()}
    schema: Schema = {"type": "object", "properties": clean}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def optional(schema: Schema) -> Schema:
    """The schema of a property that may be left out."""
    return {**schema, "x-optional": True}


def _typed(kind: str, description: str, extra: Schema) -> Schema:
    return {"type": kind, "description": description, **extra}


def string(description: str, **extra: Any) -> Schema:
    return _typed("string", description, extra)


def integer(description: str, **extra: Any) -> Schema:
    return _typed("integer", description, extra)


def number(description: str, **extra: Any) -> Schema:
    return _typed("number", description, extra)


def boolean(description: str, **extra: Any) -> Schema:
    return _typed("boolean", description, extra)
