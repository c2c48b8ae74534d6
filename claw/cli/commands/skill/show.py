"""claw skill show, claw skill audit: what a skill says, what it hides."""

from pathlib import Path
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
from claw.tools import REGISTRY
from claw.tools.skills.catalog import Skill
from claw.tools.skills.install import read_source
from claw.tools.skills.scan import Finding
from claw.tools.skills.scan import scan as scan_files


@examples("claw skill show pdf-forms", "claw skill show pdf-forms --json")
def show(context: typer.Context,
         name: Annotated[str, typer.Argument(metavar="NAME", help=NAME_HELP)]
         ) -> None:
    """Print what a skill says, its files, and what its scripts may reach."""
    run = Invocation.of(context)
    run.out.show_for_approval()
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


@examples("claw skill audit", "claw skill audit pdf-forms",
          "claw skill audit ./pdf-forms")
def audit(context: typer.Context,
          names: Annotated[list[str] | None, typer.Argument(
              metavar="[NAME]...", show_default=False,
              help="Which ones; default all. With a / in it: a folder or an "
                   "archive, looked at before it is installed.")] = None
          ) -> None:
    """Scan skills for what is hidden or dangerous. Exits 1 for a finding.

    A scan proves nothing: read what you accept. "refused" can't be
    accepted at all, "careful" is for you to judge.
    """
    run = Invocation.of(context)
    catalog = open_skills(run).catalog
    found = [(skill.name, str(skill.path), _scan(skill))
             for skill in catalog.find_all()] if not names else [
        _scan_source(name) if "/" in name and Path(name).exists() else
        (name, str(catalog.find(name).path), _scan(catalog.find(name)))
        for name in names]
    if not run.print_json_rows("skills", [
            {"name": name, "path": path,
             "findings": [finding_json(each) for each in findings]}
            for name, path, findings in found]):
        for name, _, findings in found:
            run.out.result("\n".join(
                [join_lines(name) + (
                    ":" if findings else ": nothing found"),
                 *(f"  {line}" for line in render_findings(findings))]))
    if any(findings for _, _, findings in found):
        raise typer.Exit(ExitCode.NEGATIVE)


def _scan_source(source: str) -> tuple[str, str, list[Finding]]:
    """Name, place and findings of one that is not installed. Raises
    UsageError, RefusedError."""
    name, files = read_source(source, None)
    return name, source, scan_files(files, name, REGISTRY.names())


def _scan(skill: Skill) -> list[Finding]:
    try:
        findings = scan(skill)
        skill.manifest  # noqa: B018  (one that can't be read is a finding)
    except ClawError as error:
        return [Finding("can't be used", skill.name, excerpt=error.message,
                        forbids=True)]
    return findings
