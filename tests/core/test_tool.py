"""What a tool must say of itself."""

import pytest

from claw.core.tool import Tool


@pytest.mark.parametrize("missing", ["name", "description"])
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_tool_without_a_name_or_a_description_can_not_be_defined(
        missing, value):
    fields = {"name": "x", "description": "does x",
              "parameters_schema": lambda self: {}}
    del fields[missing]
    if value is not None:
        fields[missing] = value

    with pytest.raises(TypeError, match=f"Theirs has no {missing}"):
        type("Theirs", (Tool,), fields)
