"""What is here already: claw's own settings, and other agents whose things
could be brought."""

import os
from collections.abc import Collection
from pathlib import Path

from claw.cli.commands.onboard.asking import Choice
from claw.cli.commands.onboard.steps.trouble import AGAIN, decide
from claw.cli.commands.onboard.wizard import Wizard
from claw.wiring.migrate import AGENTS, Fate, Part
from claw.wiring.migrate.carry import carry_out
from claw.wiring.migrate.find import find_installations, find_one
from claw.wiring.migrate.plan import Plan, plan

NONE = "none"
_WORDS: tuple[tuple[tuple[Fate, ...], str], ...] = (
    (("new", "aside"), "new"), (("same",), "here already"),
    (("left", "held"), "left out"))
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
        planned = plan(find_one(agent, None, home, os.environ), places,
                       notify=w.run.out.progress)
        _show(w, planned.parts)
        if planned.is_empty:
            w.say("There is nothing to bring, or all of it is here.")
            return
        if not w.confirm("import_now", "Bring this? What claw has stays.",
                         suggested=True, flag="--import-from NAME"):
            return
        if w.chosen.dry_run or _bring(w, planned):
            return


def _show(w: Wizard, parts: tuple[Part, ...]) -> None:
    """A line a part: how much is new, and what is left out."""
    for part in parts:
        if part.problem:
            w.mark("fail", f"{part.name}: {part.problem}", part.hint)
            continue
        counts = [f"{number:,} {word}" for fates, word in _WORDS
                  if (number := _count(part, fates))]
        if counts:
            w.mark("ok", f"{part.name}: {', '.join(counts)}")


def _count(part: Part, fates: Collection[Fate]) -> int:
    """How many; memories are told by category, with their number."""
    shown = [item.shown.replace(",", "") for item in part.items
             if item.fate in fates]
    return sum(int(text) if part.name == "memories" and text.isdecimal()
               else 1 for text in shown)


def _bring(w: Wizard, planned: Plan) -> bool:
    """Whether it is done; else the question is asked again."""
    report = carry_out(planned, notify=w.run.out.progress)
    if report.error is None:
        w.mark("ok", f"brought from {planned.found.agent}; to see it: claw "
               f"migrate {planned.found.agent} --dry-run")
        return True
    w.explain(report.error)
    if decide(w, report.error, [AGAIN, _LEAVE]) == _LEAVE.value:
        w.answers.give("import", NONE)
    return False
