"""claw skill show, claw skill audit: what a skill says, what it hides."""

from typing import Annotated

import typer

from claw.cli.commands.skill.common import (
    NAME_HELP,
    describe,
    finding_json,
    open_skills,
    render_findings,
    scan,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import join_lines, visible
from claw.core.errors import ClawError, ExitCode
from claw.tools.skills.catalog import Skill
from claw.tools.skills.scan import Finding


@examples("claw skill show pdf-forms", "claw skill show pdf-forms --json")
def show(context: typer.Context,
         name: Annotated[str, typer.Argument(metavar="NAME", help=NAME_HELP)]
         ) -> None:
    """Print what a skill says, its files, and what its scripts may reach."""
    run = Invocation.of(context)
    skill = open_skills(run).catalog.find(name)
    manifest, record = skill.manifest, skill.record
    run.print_result(
        {"name": skill.name, "path": str(skill.path), "state": skill.state,
         "description": manifest.description, "license": manifest.license,
         "compatibility": manifest.compatibility,
         "metadata": dict(manifest.metadata),
         "allowed_tools": manifest.allowed_tools, "text": manifest.body,
         "files": list(skill.files), "granted": record.pinned.to_json(),
         "findings": [finding_json(each) for each in scan(skill)]},
        "\n".join([f"state: {skill.state}", *describe(skill),
                   *(f"granted: {visible(line)}"
                     for line in record.pinned.render()),
                   *render_findings(scan(skill))]))


@examples("claw skill audit", "claw skill audit pdf-forms")
def audit(context: typer.Context,
          names: Annotated[list[str] | None, typer.Argument(
              metavar="[NAME]...", show_default=False,
              help="Which ones; default all.")] = None) -> None:
    """Scan skills for what is hidden or dangerous. Exits 1 for a finding.

    A scan proves nothing: read what you accept. "refused" can't be
    accepted at all, "careful" is for you to judge.
    """
    run = Invocation.of(context)
    catalog = open_skills(run).catalog
    found = [(skill, _scan(skill)) for skill in (
        [catalog.find(name) for name in names] if names
        else catalog.find_all())]
    if not run.print_json_rows("skills", [
            {"name": skill.name, "path": str(skill.path),
             "findings": [finding_json(each) for each in findings]}
            for skill, findings in found]):
        for skill, findings in found:
            run.out.result("\n".join(
                [join_lines(skill.name) + (
                    ":" if findings else ": nothing found"),
                 *(f"  {line}" for line in render_findings(findings))]))
    if any(findings for _, findings in found):
        raise typer.Exit(ExitCode.NEGATIVE)


def _scan(skill: Skill) -> list[Finding]:
    try:
        findings = scan(skill)
        skill.manifest  # noqa: B018  (one that can't be read is a finding)
    except ClawError as error:
        return [Finding("can't be used", skill.name, excerpt=error.message,
                        forbids=True)]
    return findings
