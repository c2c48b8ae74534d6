"""claw skill test: a dry run of a skill's scripts, and what they wanted."""

import asyncio
from typing import Annotated

import typer

from claw.cli.commands.skill.common import NAME_HELP, open_skills
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import visible
from claw.core.errors import ExitCode, UsageError
from claw.tools.skills.access import Access
from claw.tools.skills.catalog import Skill
from claw.tools.skills.manifest import list_scripts
from claw.tools.skills.run import Finished
from claw.tools.skills.tool import Skills


@examples("claw skill test pdf-forms",
          "claw skill test pdf-forms scripts/fill.py form.pdf")
def probe(context: typer.Context,
          name: Annotated[str, typer.Argument(metavar="NAME",
                                              help=NAME_HELP)],
          script: Annotated[str | None, typer.Argument(
              metavar="[SCRIPT]", show_default=False,
              help="One of its scripts; default each of them.")] = None,
          args: Annotated[list[str] | None, typer.Argument(
              metavar="[ARG]...", show_default=False,
              help="Words for the script.")] = None) -> None:
    """Run a skill's scripts dry, and show what they want to reach.

    They run in the sandbox, read what the skill was granted, and change
    and connect to nothing, so what is shown had no effect. It is kept: claw
    skill accept NAME grants it. Exits 1 where that is more than before.
    """
    run = Invocation.of(context)
    skills = open_skills(run)
    skill = skills.catalog.find(name)
    scripts = [script] if script else list_scripts(skill.files)
    if not scripts:
        raise UsageError(f"the skill {name} has no scripts",
                         hint="nothing of it would be run")
    seen, rows = Access(), []
    for each in scripts:
        with run.out.waiting(f"running {each}"):
            finished = _run(skills, skill, each, args or [])
        seen |= finished.seen
        rows.append({"script": each, "exit_code": finished.done.code})
        if not run.as_json:
            _show(run, each, finished)
    skill.note(seen)
    new = seen - skill.record.pinned
    if run.as_json:
        run.out.document({"name": name, "scripts": rows,
                          "wanted": seen.to_json(), "new": new.to_json(),
                          "granted": skill.record.pinned.to_json()})
    else:
        known = seen - new
        run.out.result("\n".join([
            *(f"+ {visible(line)}" for line in new.render()),
            *(f"  {visible(line)}" for line in known.render())])
            or "it reaches nothing outside of itself")
    if new:
        run.out.note("+ was not granted yet; to grant it: "
                     f"claw skill accept {name}")
        raise typer.Exit(ExitCode.NEGATIVE)


def _run(skills: Skills, skill: Skill, script: str, args: list[str]
         ) -> Finished:
    return asyncio.run(skills.runner.run(
        skill.files, script, args, skill.record.pinned, skills.timeout_s,
        dry=True))


def _show(run: Invocation, script: str, finished: Finished) -> None:
    """Its own words go to stderr: they are no result of claw's."""
    done = finished.done
    said = (done.stdout + done.stderr).decode(errors="replace").strip()
    how = done.excess or ("stopped: it took too long" if done.code is None
                          else f"exit {done.code}")
    run.out.note(visible(f"{script}: {how}"))
    for line in said.splitlines()[-20:]:
        run.out.note(f"  {visible(line)[:200]}")
