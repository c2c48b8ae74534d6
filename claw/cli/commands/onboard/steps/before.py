"""What is here already: claw's own settings, and other agents whose things
could be brought."""

import os
from pathlib import Path

from claw.cli.commands.migrate.view import list_undo, render
from claw.cli.commands.onboard.asking import Choice
from claw.cli.commands.onboard.steps.trouble import AGAIN, decide
from claw.cli.commands.onboard.wizard import Wizard
from claw.wiring.setup.migrate import AGENTS
from claw.wiring.setup.migrate.carry import carry_out
from claw.wiring.setup.migrate.find import find_installations, find_one
from claw.wiring.setup.migrate.plan import Plan, plan

NONE = "none"
_LEAVE = Choice("leave", "bring nothing")


def ask_before(w: Wizard) -> None:
    """Count what another agent keeps, and bring it where that is
    wanted."""
    places = w.run.places
    if w.answers.before:
        w.say(f"{places.config_file} is there: what you answer is put into "
              "it, the rest stays.")
    home = Path(os.path.expanduser("~"))
    while True:
        found = [one for one in find_installations(home, os.environ)
                 if one.agent in AGENTS]
        if not found and w.answers.get("import") is None:
            return
        agent = w.select(
            "import", "Bring what another agent keeps?", [
                *(Choice(one.agent, one.agent, str(one.home))
                  for one in found), Choice(NONE, "no")],
            suggested=found[0].agent if found and w.asks
            and not w.chosen.takes_suggestions else NONE,
            flag="--import-from NAME")
        if agent == NONE:
            return
        with w.refusing("import"):
            planned = plan(find_one(agent, None, home, os.environ), places,
                           notify=w.run.out.progress)
        for line in render(planned.found, planned.parts, planned.notes):
            w.say(line, "  ")
        if any(part.count("held") for part in planned.parts):
            w.say("What is held back (!) does not come here: see "
                  f"claw migrate {agent} --loosen --dry-run")
        if planned.is_empty:
            w.say("There is nothing to bring, or all of it is here.")
            return
        if not w.confirm("import_now", "Bring this? What claw has stays.",
                         suggested=True, flag="--import-from NAME"):
            return
        if w.chosen.dry_run or _bring(w, planned):
            return


def _bring(w: Wizard, planned: Plan) -> bool:
    """Whether it is done; else the question is asked again."""
    report = carry_out(planned, notify=w.run.out.progress)
    if report.error is None:
        w.mark("ok", f"brought from {planned.found.agent}")
        for line in list_undo(report.parts):
            w.say(f"to take it back: {line}", "       ")
        return True
    with w.refusing("import"):
        way = decide(w, report.error, [AGAIN, _LEAVE])
    if way == _LEAVE.value:
        w.answers.give("import", NONE)
    return False
