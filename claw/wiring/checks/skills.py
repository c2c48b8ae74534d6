"""Skills that lie there and are not used: new, changed, or unfit."""

from collections.abc import Iterator

from claw.config.tree import Tree
from claw.core.errors import ClawError
from claw.tools.skills.catalog import Skill
from claw.wiring.checks.check import Check, Group
from claw.wiring.tools.skills import build_skills

SKILLS = Group("skills")


@SKILLS.check
def check_skills(tree: Tree) -> Iterator[Check]:
    """Each skill is read and held to what was accepted; none is run."""
    for skill in build_skills(tree).catalog.find_all():
        yield _look(skill)


def _look(skill: Skill) -> Check:
    check_id, name = f"skills.{skill.name}", skill.name
    try:
        state = skill.state
        if state == "refused":
            skill.manifest  # noqa: B018  (says why)
    except ClawError as error:
        return Check(check_id, "warn", f"{skill.path} is not used: "
                     f"{error.message}", error.hint)
    if state == "hidden":
        return Check(f"{check_id}.hidden", "warn",
                     f"{skill.path} is not used: {skill.hidden_by} has the "
                     "same name", "rename one of them")
    if state == "changed":
        return Check(check_id, "warn", f"{skill.path} has changed since it "
                     "was accepted, so it is not used: "
                     + ", ".join(skill.list_changes()[:8]),
                     f"claw skill accept {name}")
    if state == "new":
        return Check(check_id, "skip", f"{skill.path} is not accepted, so "
                     "it is not used", f"claw skill accept {name}")
    granted = "; ".join(skill.record.pinned.render())
    return Check(check_id, "ok", "accepted, its scripts may reach "
                 + (granted or "nothing"))
