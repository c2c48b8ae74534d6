"""claw template list, show."""

from typing import Annotated, Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import join_lines
from claw.config.parse import decode_text, read_file
from claw.wiring.templates import (
    Found,
    Template,
    find_template,
    list_templates,
    load_template,
)


@examples("claw template list",
          "claw template list --json | jq -r '.templates[].name'")
def list_(context: typer.Context) -> None:
    """List the templates: claw's own and yours.

    A line each: name, yours or claw's, what it is for and the parameters
    that -P may give. Yours lie in templates/ beside config.toml, and go
    before one of claw's with the same name.
    """
    run = Invocation.of(context)
    found = list(list_templates(run.places))
    for one in found:
        if one.problem is not None:
            run.out.warn(one.problem.message)
    if run.print_json_rows("templates", map(_found_json, found)):
        return
    run.out.table([(join_lines(one.name),
                    "claw's" if one.is_shipped else "yours", _describe(one))
                   for one in found])


@examples("claw template show commit", "claw template show ./review.md",
          "claw template show commit --json | jq -r .system")
def show(context: typer.Context,
         name: Annotated[str, typer.Argument(
             metavar="NAME", help="A template, or a file with a / in its "
                                  "name.")]) -> None:
    """Print a template as it stands in its file."""
    run = Invocation.of(context)
    path = find_template(run.places, name)
    if run.as_json:
        run.out.document({"path": str(path), **_template_json(
            load_template(run.places, name))})
    else:
        run.out.result(decode_text(read_file(path)[0], path))


def _describe(found: Found) -> str:
    template = found.template
    if template is None:
        return "(can't be read)"
    names = ", ".join(template.parameters)
    return join_lines(template.description + (f" [{names}]" if names else ""))


def _found_json(found: Found) -> dict[str, Any]:
    row: dict[str, Any] = {"name": found.name, "path": str(found.path),
                           "shipped": found.is_shipped}
    if found.template is not None:
        return {**row, **_template_json(found.template)}
    return {**row, "problem": found.problem and found.problem.message}


def _template_json(template: Template) -> dict[str, Any]:
    return {
        "name": template.name, "description": template.description,
        "model": template.model, "provider": template.provider,
        "system": template.system,
        "tools": None if template.tools is None else list(template.tools),
        "schema": template.schema or template.short_schema,
        "temperature": template.temperature,
        "options": dict(template.options),
        "parameters": dict(template.parameters), "prompt": template.body}
