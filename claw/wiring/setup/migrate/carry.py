"""Brings what a plan has counted.

Each part comes whole or not at all (a kill may leave some of its files,
skills or sessions, each of them whole), and one that fails does not keep the
others away. Whatever is there already is left alone, so the same migration
can be run again: after an interruption it says so, and goes on where it
stopped.
"""

from collections.abc import Callable
from datetime import datetime

from claw.config.tree import load
from claw.core.errors import ClawError
from claw.core.value import Value
from claw.wiring.channels.names import list_configured
from claw.wiring.config.apply import apply_text
from claw.wiring.setup.migrate import Part
from claw.wiring.setup.migrate.parts import (
    files,
    jobs,
    memories,
    sessions,
    settings,
    skills,
)
from claw.wiring.setup.migrate.plan import Notify, Plan
from claw.wiring.setup.migrate.reading.source import keeping_copies
from claw.wiring.setup.migrate.unfinished import begin, end


class Report(Value):
    """What came of a plan: its parts with what was done, and the first
    error (None: none)."""

    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    error: ClawError | None = None


def carry_out(plan: Plan, *, notify: Notify = lambda _: None,
              now: Callable[[], datetime] = jobs.utc_now) -> Report:
    """Bring the parts of the plan, in its order. `notify` hears which one
    is under way. Raises StorageError where nothing can be written."""
    notes = list(plan.notes)
    parts: list[Part] = []
    begin(plan.found, plan.places)
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
    end(plan.found, plan.places)
    return Report(tuple(parts), tuple(notes), first)


def _carry(name: str, plan: Plan, notes: list[str], now: datetime) -> Part:
    agent, places, held = plan.found.agent, plan.places, plan.holdings
    if name == "settings":
        return _carry_settings(plan)
    if name == "files":
        return files.carry(agent, held.files, places)
    if name == "skills":
        return skills.carry(held.skills, places.home)
    tree = load(places)
    if name == "memories":
        return memories.carry(agent, held.memories, tree, notes)
    if name == "sessions":
        with keeping_copies():
            return sessions.carry(agent, held.sessions, tree, notes)
    return jobs.carry(held.jobs, places, set(list_configured(tree)),
                           now)


def _carry_settings(plan: Plan) -> Part:
    """One change to config.toml, secrets sealed, taken back where it does
    not hold."""
    places = plan.places
    decided = settings.compare(
        plan.holdings.settings, settings.read_own(places),
        loosening=plan.loosening)
    made = settings.make_candidate(decided, places)
    part = settings.build_part(decided)
    if made is None:
        return part
    data, before = made
    applied = apply_text(places, data, expected=before)
    return Part(part.name, part.items, undo="claw config undo"
                if applied.version else f"remove {places.config_file}")
