"""claw skill install: bring one in; nothing of it counts yet."""

from typing import Annotated

import typer

from claw.cli.commands.skill.common import finding_json, render_findings
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import RefusedError
from claw.tools import REGISTRY
from claw.tools.skills.install import install as put
from claw.tools.skills.install import read_source
from claw.tools.skills.scan import scan


@examples("claw skill install ./pdf-forms",
          "claw skill install pdf-forms.zip",
          "claw skill install https://github.com/anthropics/skills "
          "--name pdf")
def install(context: typer.Context,
            source: Annotated[str, typer.Argument(
                metavar="PATH|ARCHIVE|URL",
                help="A folder, a zip or tar file, or a git address.")],
            name: Annotated[str | None, typer.Option(
                "--name", metavar="NAME",
                help="Which skill, where there are several.")] = None,
            replace: Annotated[bool, typer.Option(
                "--replace", help="Put it in the place of the one that is "
                "there.")] = False) -> None:
    """Copy a skill into claw's folder and scan it; it is not used yet.

    At most 50 MiB and 2,000 files, no links and no devices. What a scan
    refuses is not installed. Then: claw skill accept NAME.
    """
    run = Invocation.of(context)
    with run.out.waiting(f"reading {source}"):
        own, inside = read_source(source, name)
    findings = scan(inside, own, REGISTRY.names())
    for line in render_findings(findings):
        run.out.note(line)
    if any(each.forbids for each in findings):
        raise RefusedError(f"{own} was not installed",
                           hint="the lines above say why")
    path = put(run.places.home, own, inside, replace=replace)
    run.print_result({"name": own, "path": str(path),
                      "findings": [finding_json(each) for each in findings]},
                     own)
    run.out.note("read it, then let it be used: "
                 f"claw skill accept {own}")
