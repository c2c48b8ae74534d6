"""-T, -P and --save of claw ask."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from claw.cli.commands.ask.schema import check_schema
from claw.cli.invocation import Invocation
from claw.core.errors import ConfigError, UsageError
from claw.core.value import replace

if TYPE_CHECKING:
    from claw.wiring.templates import Template

# What --save keeps, or needs; other options of a line are told.
_KEPT = {"prompt", "model", "provider", "temperature", "system", "tools",
         "schema", "template", "parameter", "option", "save", "force"}


def read_template(name: str, run: Invocation) -> "Template":
    """The template of -T, its schema checked."""
    from claw.wiring.templates import load_template
    template = load_template(run.places, name)
    if template.schema is not None:
        return replace(template, schema=check_schema(
            json.dumps(template.schema), run))
    if template.short_schema is not None:
        return replace(template, short_schema=None, schema=check_schema(
            template.short_schema, run))
    return template


def parse_parameters(given: Iterable[str]) -> dict[str, str]:
    """The values of -P key=value. Raises UsageError."""
    values: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"-P {text}: no key=value",
                             hint="for example: -P lang=German")
        if key in values:
            raise UsageError(f"-P {key} is given twice")
        values[key] = value
    return values


def save_kept(run: Invocation, context: typer.Context, kept: "Template", *,
              force: bool) -> None:
    """Keep what a line says as a template; nothing is asked."""
    from claw.cli.commands.template.keep import keep_template
    from claw.wiring.templates.write import write_template
    if not (kept.body or kept.system):
        raise UsageError(
            "there is nothing to save: no prompt and no -s", hint="to keep "
            f"a file: claw template save {kept.name} < FILE")
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "")
        if given is not None and given.name == "COMMANDLINE" \
                and parameter.expose_value and parameter.name not in _KEPT:
            run.out.warn(f"{parameter.opts[-1]} is not kept in a template")
    try:
        keep_template(run, kept.name, write_template(kept), force=force)
    except ConfigError as error:
        raise UsageError(error.message.partition(": ")[2],
                         hint=error.hint) from error
