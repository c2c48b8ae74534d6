"""Arguments come from a model: they are held against the tool's schema.

Covers what claw's own schemas use: types, required, enum, minimum,
maximum, minLength, the type of an array's items and no further properties.
"""

import json
import math
from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

from claw.core.errors import ClawError, DeniedError, FaultError, UsageError
from claw.core.tool import Arguments, Schema, Tool, ToolResult


class Denial(ToolResult):
    """A failure because the policy or the owner said no."""

    __slots__ = ()


class CheckedTool(Tool):
    """A tool whose `run` gets complete, well-typed arguments, and whose
    expected errors become results."""

    async def execute(self, args: Arguments) -> ToolResult:
        try:
            return await self.run(
                check_arguments(self.parameters_schema(), args))
        except FaultError:
            raise
        except DeniedError as error:
            return Denial.failure(error.message)
        except ClawError as error:
            return ToolResult.failure(error.message)

    def problem(self, args: Arguments) -> str | None:
        """What is wrong with the arguments, before anyone is asked."""
        try:
            check_arguments(self.parameters_schema(), args)
        except UsageError as error:
            return error.message
        return None

    @abstractmethod
    async def run(self, args: Arguments) -> ToolResult:
        """Do it; may raise ClawError for an expected failure."""


def check_arguments(schema: Schema, args: Any) -> dict[str, Any]:
    """The arguments with defaults filled in. Raises UsageError."""
    if not isinstance(args, Mapping):
        raise UsageError("the arguments must be a JSON object")
    properties = schema.get("properties", {})
    extra = [str(name) for name in args if name not in properties]
    if extra:
        known = ", ".join(properties) or "none"
        raise UsageError(f"Unknown parameter '{extra[0][:80]}'; known: "
                         f"{known}")
    clean: dict[str, Any] = {}
    for name, wanted in properties.items():
        value = args.get(name)
        if value is None:  # models write null for what they leave out
            if name in schema.get("required", ()):
                raise UsageError(f"Missing '{name}' parameter")
            if "default" in wanted:
                clean[name] = wanted["default"]
        else:
            clean[name] = _check_value(name, wanted, value)
    return clean


def read_objects(args: Any, names: Collection[str]) -> Any:
    """The arguments, with objects that came as their JSON text read."""
    if not isinstance(args, Mapping):
        return args
    read = dict(args)
    for name in names:
        if isinstance(text := args.get(name), str):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                continue  # the schema refuses it
            if isinstance(value, dict):
                read[name] = value
    return read


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "array": (list,), "object": (dict,)}


def _check_value(name: str, wanted: Schema, value: Any) -> Any:
    kind = wanted.get("type", "string")
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    is_truth = isinstance(value, bool) and kind != "boolean"
    if is_truth or not isinstance(value, _TYPES[kind]):
        article = "an" if kind[0] in "aeio" else "a"
        raise UsageError(f"Parameter '{name}' must be {article} {kind}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"Parameter '{name}' must be a finite number")
    if isinstance(value, list) and "items" in wanted:
        value = [_check_value(f"{name}[{index}]", wanted["items"], item)
                 for index, item in enumerate(value)]
    if "enum" in wanted and value not in wanted["enum"]:
        raise UsageError(f"Parameter '{name}' must be one of: "
                         + ", ".join(map(str, wanted["enum"])))
    if "minimum" in wanted and value < wanted["minimum"]:
        raise UsageError(f"Parameter '{name}' must be at least "
                         f"{wanted['minimum']}")
    if "maximum" in wanted and value > wanted["maximum"]:
        raise UsageError(f"Parameter '{name}' must be at most "
                         f"{wanted['maximum']}")
    if isinstance(value, str) and len(value) < wanted.get("minLength", 0):
        raise UsageError(f"Parameter '{name}' must not be empty")
    return value
