"""-T, -P and --save of claw ask."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from claw.cli.commands.ask.schema import check_schema
from claw.cli.invocation import Invocation
from claw.config.keys import is_secret
from claw.core.errors import ConfigError, UsageError
from claw.core.value import replace

if TYPE_CHECKING:
    from claw.wiring.templates import Template

# What --save keeps, or needs; other options of a line are told.
_KEPT = {"prompt", "model", "provider", "temperature", "system", "tools",
         "schema", "template", "parameter", "option", "save", "force"}


def read_template(name: str, run: Invocation) -> "Template":
    """The template of -T, its schema checked. The file of somebody else
    chooses no provider, model, tools or options; what it wanted is told."""
    from claw.wiring.templates import is_own, load_template
    template = load_template(run.places, name)
    if template.path and not is_own(run.places, template.path):
        template = _leave_out_choices(template, run)
    origin = f"template {template.name}: schema"
    if template.schema is not None:
        return replace(template, schema=check_schema(
            json.dumps(template.schema), origin, run))
    if template.short_schema is not None:
        return replace(template, short_schema=None, schema=check_schema(
            template.short_schema, origin, run))
    return template


def _leave_out_choices(template: "Template", run: Invocation
                       ) -> "Template":
    """The template without what decides where a text goes, what it costs
    and what is done with it."""
    wanted = [f"{key} {json.dumps(value, ensure_ascii=False, default=list)}"
              for key, value in (("provider", template.provider),
                                 ("model", template.model),
                                 ("tools", template.tools),
                                 ("options", template.options)) if value]
    if wanted:
        run.out.warn(
            f"{template.path} is none of your own templates; left out: "
            f"{', '.join(wanted)} (say it in the line with -p, -m, --tools "
            "or -o, or make it yours: claw template save "
            f"{shlex.quote(template.name)} {shlex.quote(str(template.path))}"
            ")")
    return replace(template, provider=None, model=None, tools=None,
                   options={})


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


def _list_keys(options: Mapping[str, Any]) -> Iterator[str]:
    for key, value in options.items():
        yield key
        if isinstance(value, dict):
            yield from _list_keys(value)


def save_kept(run: Invocation, context: typer.Context, kept: "Template", *,
              force: bool) -> None:
    """Keep what a line says as a template; nothing is asked."""
    from claw.cli.commands.template.keep import keep_template
    from claw.wiring.templates.write import write_template
    if not (kept.body or kept.system):
        raise UsageError(
            "there is nothing to save: no prompt and no -s", hint="to keep "
            f"a file: claw template save {kept.name} < FILE")
    secret = next((key for key in _list_keys(kept.options)
                   if is_secret((key,))), None)
    if secret is not None:
        raise UsageError(f"-o {secret} looks like a key or password, and a "
                         "template keeps none",
                         hint="give it with each question")
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
