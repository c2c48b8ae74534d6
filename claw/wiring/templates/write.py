"""Writing a template as the text of its file."""

from typing import Any

from claw.config.display import to_toml
from claw.core.errors import UsageError
from claw.wiring.templates.head import FENCE
from claw.wiring.templates.template import Template


def write_template(template: Template) -> str:
    """The file that says what the template says. Raises UsageError for
    what TOML can't say."""
    values = {"description": template.description,
              "model": template.model, "provider": template.provider,
              "system": template.system, "tools": template.tools,
              "schema": template.schema or template.short_schema,
              "temperature": template.temperature}
    defaults = {name: value for name, value in template.parameters.items()
                if value is not None}
    try:
        lines = [f"{key} = {_write_value(value)}"
                 for key, value in values.items() if value not in (None, "")]
        for key, table in (("options", template.options),
                           ("parameters", defaults)):
            if table:
                lines += ["", f"[{key}]"]
                lines += [to_toml({name: value})[2:-2]
                          for name, value in table.items()]
    except ValueError as error:
        raise UsageError(f"this can't be kept in a template: {error}"
                         ) from error
    return "\n".join([FENCE, *lines, FENCE, template.body, ""])


def _write_value(value: Any) -> str:
    """A value in TOML, a text of several lines as such."""
    if isinstance(value, str) and "\n" in value:
        lines = [to_toml(line)[1:-1] for line in value.split("\n")]
        return '"""\n' + "\n".join(lines) + '"""'
    return to_toml(value)
