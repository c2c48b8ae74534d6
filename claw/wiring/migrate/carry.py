"""Brings what a plan has counted.

Each part comes whole or not at all, and one that fails does not keep the
others away. Whatever is there already is left alone, so the same migration
can be run again: after an interruption it goes on where it stopped.
"""

from collections.abc import Callable
from datetime import datetime

from claw.config.edit import replace_text
from claw.config.tree import load
from claw.core.errors import ClawError
from claw.core.value import Value
from claw.wiring.channels.names import list_configured
from claw.wiring.migrate import (
    Part,
    files_part,
    jobs_part,
    memories_part,
    sessions_part,
    settings_part,
    skills_part,
)
from claw.wiring.migrate.plan import Notify, Plan


class Report(Value):
    """What came of a plan: its parts with what was done, and the first
    error (None: none)."""

    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    error: ClawError | None = None


def carry_out(plan: Plan, *, notify: Notify = lambda _: None,
              now: Callable[[], datetime] = jobs_part.utc_now) -> Report:
    """Bring the parts of the plan, in its order. `notify` hears which one
    is under way."""
    notes = list(plan.notes)
    parts: list[Part] = []
    first: ClawError | None = None
    for part in plan.parts:
        if part.problem or not part.count("new", "aside"):
            parts.append(part)
            continue
        notify(f"bringing {part.name}")
        try:
            parts.append(_carry(part.name, plan, notes, now()))
        except ClawError as error:
            first = first or error
            parts.append(Part(part.name, problem=error.message,
                              hint=error.hint))
    return Report(tuple(parts), tuple(notes), first)


def _carry(name: str, plan: Plan, notes: list[str], now: datetime) -> Part:
    agent, places, held = plan.found.agent, plan.places, plan.holdings
    if name == "settings":
        return _carry_settings(plan)
    if name == "files":
        return files_part.carry(agent, held.files, places)
    if name == "skills":
        return skills_part.carry(held.skills, places.home)
    tree = load(places)
    if name == "memories":
        return memories_part.carry(agent, held.memories, tree, notes)
    if name == "sessions":
        return sessions_part.carry(agent, held.sessions, tree, notes)
    return jobs_part.carry(held.jobs, places, set(list_configured(tree)),
                           now)


def _carry_settings(plan: Plan) -> Part:
    """One change to config.toml, secrets sealed."""
    places = plan.places
    decided = settings_part.compare(
        plan.holdings.settings, settings_part.read_own(places),
        loosening=plan.loosening)
    made = settings_part.make_candidate(decided, places)
    part = settings_part.build_part(decided)
    if made is None:
        return part
    replace_text(places, *made)
    return Part(part.name, part.items,
                undo=f"the settings as they were: {places.config_file}.bak"
                if made[1] is not None else f"remove {places.config_file}")
