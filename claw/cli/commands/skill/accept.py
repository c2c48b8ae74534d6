"""claw skill accept, claw skill remove: the owner's yes, and taking it
back."""

import shutil
import time
from typing import Annotated

import msgspec
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
from claw.cli.show.output import visible
from claw.cli.terminal.prompt import confirm, may_ask
from claw.core.errors import DeniedError, RefusedError
from claw.tools.skills.access import Access
from claw.tools.skills.catalog import Skill
from claw.tools.skills.run import forbid


@examples("claw skill accept pdf-forms", "claw skill accept pdf-forms --yes",
          "claw skill accept pdf-forms --no-grants")
def accept(context: typer.Context,
           name: Annotated[str, typer.Argument(metavar="NAME",
                                               help=NAME_HELP)],
           yes: Annotated[bool, typer.Option(
               "--yes", help="Accept what is shown.")] = False,
           no_grants: Annotated[bool, typer.Option(
               "--no-grants", help="Its scripts may reach nothing.")] = False
           ) -> None:
    """Show a skill whole, and let it be used as it is now.

    The yes holds for these very files: where one changes, the skill is not
    used until the next one. It grants its scripts what the last dry run
    (claw skill test) wanted, as it is shown. Exits 6 when nobody says yes.
    """
    run = Invocation.of(context)
    run.out.show_for_approval()
    skill = open_skills(run).catalog.find(name)
    findings = scan(skill)
    grants, refused = _find_grants(run, skill)
    if no_grants:
        grants = Access()
    is_new = skill.state != "accepted" or grants != skill.record.pinned
    if not run.as_json and is_new:
        changes = skill.list_changes() if skill.record.digest else []
        run.out.result("\n".join([
            *describe(skill), *map(visible, changes),
            *render_findings(findings),
            *(f"never granted: {visible(line)}"
              for line in refused.render()),
            *(f"grants: {visible(line)}" for line in grants.render())]))
    if any(each.forbids for each in findings):
        raise RefusedError(f"{name} can't be accepted: "
                           + findings[0].render(),
                           hint=f"see: claw skill audit {name}")
    if is_new and not yes and (
            run.as_json or not may_ask() or not confirm(
                run.out, f"Use {name} as it is shown?", default=False)):
        raise DeniedError(f"{name} was not accepted",
                          hint=f"claw skill accept {name} --yes")
    skill.accept(grants, time.time())
    if run.as_json:
        run.out.document({
            "name": name, "accepted": True, "granted": grants.to_json(),
            "findings": [finding_json(each) for each in findings]})
    else:
        run.out.note(f"{name} is accepted" if is_new
                     else f"nothing is new: {name} stays accepted")


def _find_grants(run: Invocation, skill: Skill) -> tuple[Access, Access]:
    """What its scripts would be granted, and what they never are."""
    record = skill.record
    wanted = record.pinned | (record.seen if record.seen_digest
                              == skill.digest else Access())
    def never(paths: frozenset[str]) -> frozenset[str]:
        return frozenset(path for path in paths if forbid(
            path, run.places.home, run.places.workspace))
    refused = Access(never(wanted.reads), never(wanted.writes), wanted.lists)
    return msgspec.structs.replace(
        wanted, reads=wanted.reads - refused.reads,
        writes=wanted.writes - refused.writes, lists=frozenset()), refused


@examples("claw skill remove pdf-forms")
def remove(context: typer.Context,
           name: Annotated[str, typer.Argument(metavar="NAME",
                                               help=NAME_HELP)]) -> None:
    """Take back the yes to a skill, and remove it where claw installed it.

    A folder in the workspace or in ~/.agents stays where it is.
    """
    run = Invocation.of(context)
    skill = open_skills(run).catalog.find(name)
    skill.forget()
    is_own = skill.path.parent == run.places.home / "skills"
    if is_own:
        shutil.rmtree(skill.path)
    run.print_result({"name": name, "path": str(skill.path),
                      "removed": is_own}, name)
    if not is_own:
        run.out.note(f"it is not used any more; its folder stays: "
                     f"{visible(str(skill.path))}")
