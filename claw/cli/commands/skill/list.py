"""claw skill list: the skills of these places, and whether they count."""

import typer

from claw.cli.commands.skill.common import open_skills
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import join_lines
from claw.core.errors import ClawError
from claw.tools.skills.catalog import Skill


@examples("claw skill list", "claw skill list --json | jq '.skills[].name'")
def list_(context: typer.Context) -> None:
    """List the skills and how they stand; only accepted ones are used."""
    run = Invocation.of(context)
    rows = [_describe(skill)
            for skill in open_skills(run).catalog.find_all()]
    if run.print_json_rows("skills", rows):
        return
    run.out.table([[join_lines(row["name"] or ""), row["state"] or "",
                    join_lines(row["why"] or row["description"] or "")]
                   for row in rows])
    if not rows:
        run.out.note("there are no skills; add one: claw skill install PATH")


def _describe(skill: Skill) -> dict[str, str | None]:
    row = {"name": skill.name, "path": str(skill.path), "state": skill.state,
           "description": "", "why": None}
    try:
        row["description"] = skill.manifest.description
    except ClawError as error:
        row["why"] = error.message
    if skill.hidden_by is not None:
        row["why"] = f"{skill.hidden_by} has this name and counts"
    elif row["state"] == "changed":
        row["why"] = f"look at it: claw skill accept {skill.name}"
    return row
