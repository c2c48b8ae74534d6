"""What every tool promises; `check_tool` tries it.

For our own tests and for those who bring a tool of their own:

    def test_my_tool(tmp_path):
        check_tool(MyTool(deps))
"""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

from claw.core.tool import Tool, ToolResult, ToolSpec

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_NONSENSE: tuple[Any, ...] = (
    None, True, -1, 10**30, 1.5, float("nan"), "", "\0", "\ud800",
    "x" * 70_000, "../../etc/passwd", [], [[]], {}, {"a": {"b": []}})


def check_tool(tool: Tool) -> None:
    """Raise AssertionError for a broken promise.

    Runs the tool with nonsense: give it a policy that may be tried.
    """
    check_spec(tool)
    check_schema(tool)
    asyncio.run(check_nonsense(tool))


def check_spec(tool: Tool) -> None:
    """Name, description and spec() fit every provider's rules."""
    spec = tool.spec()
    assert isinstance(spec, ToolSpec)
    assert _NAME.match(tool.name), f"name: {tool.name!r}"
    assert spec.name == tool.name
    assert spec.description == tool.description
    assert tool.description.strip(), "the description is empty"
    assert len(tool.description) <= 1024, "the description is too long"
    assert spec.parameters == tool.parameters_schema()


def check_schema(tool: Tool) -> None:
    """The schema is an object's, is JSON, and is made anew each time."""
    schema = tool.parameters_schema()
    assert schema.get("type") == "object"
    properties = schema.get("properties")
    assert isinstance(properties, dict)
    assert set(schema.get("required", ())) <= set(properties)
    for name, wanted in properties.items():
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name), name
        assert wanted.get("description", "").strip(), f"{name} says nothing"
    assert json.loads(json.dumps(schema)) == schema
    schema["properties"] = None
    assert tool.parameters_schema()["properties"] is not None, (
        "callers can change the tool's schema")


async def check_nonsense(tool: Tool) -> None:
    """Arguments of any kind give a result: a sentence, no exception."""
    for args in nonsense(tool):
        result = await tool.execute(args)
        assert isinstance(result, ToolResult), args
        assert isinstance(result.output, str)
        if not result.success:
            assert result.error, f"a failure without a sentence: {args!r}"


def nonsense(tool: Tool) -> Iterator[dict[str, Any]]:
    """Missing, wrong, extra and huge arguments for this tool's schema."""
    properties = tool.parameters_schema()["properties"]
    yield {}
    yield {"no-such-parameter": 1}
    yield {"": {}}
    for value in _NONSENSE:
        yield dict.fromkeys(properties, value)
    for name in properties:
        for value in _NONSENSE:
            others = {other: "x" for other in properties if other != name}
            yield {**others, name: value}
