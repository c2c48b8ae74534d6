"""The counted dry run: what each part would bring. Nothing is written."""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime

from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.core.errors import ClawError, UsageError
from claw.core.value import Value, hidden
from claw.wiring.channels.names import list_configured
from claw.wiring.setup.migrate import PARTS, Found, Holdings, Part
from claw.wiring.setup.migrate.agents import (
    hermes,
    nanobot,
    openclaw,
    zeroclaw,
)
from claw.wiring.setup.migrate.parts import (
    files,
    jobs,
    memories,
    sessions,
    settings,
    skills,
)
from claw.wiring.setup.migrate.reading.source import keeping_copies
from claw.wiring.setup.migrate.unfinished import describe_unfinished

Notify = Callable[[str], None]
READERS: dict[str, Callable[[Found], Holdings]] = {
    "zeroclaw": zeroclaw.read, "openclaw": openclaw.read,
    "nanobot": nanobot.read, "hermes": hermes.read}


class Plan(Value):
    """What would be brought from `found`, part by part; `notes` say what
    could not be read. `holdings` is what was read, and is what `carry_out`
    brings; `loosening`: guards may be lowered."""

    found: Found
    places: Places
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    loosening: bool = False
    holdings: Holdings = hidden(default=Holdings())

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be brought."""
        return not any(part.count("new", "aside") for part in self.parts)


def plan(found: Found, places: Places, *, only: Collection[str] = PARTS,
         loosening: bool = False, notify: Notify = lambda _: None,
         now: Callable[[], datetime] = jobs.utc_now) -> Plan:
    """What would come of an agent. `notify` hears which part is looked at.

    A part that can't be read says so (`problem`) and does not keep the
    others from it. Raises UsageError for an agent or a part that there is
    not.
    """
    check_parts(only)
    with keeping_copies():
        holdings = read_holdings(found)
        notes = list(holdings.notes)
        if unfinished := describe_unfinished(found, places):
            notes.insert(0, unfinished)
        tree = load(places)
        parts = []
        for name in PARTS:
            if name in only:
                notify(f"looking at {name}")
                parts.append(_look(name, found, holdings, tree, notes,
                                   loosening, now()))
    return Plan(found, places, tuple(parts), tuple(notes), loosening,
                holdings)


def read_holdings(found: Found) -> Holdings:
    """All that an agent's folder holds."""
    reader = READERS.get(found.agent)
    if reader is None:
        raise UsageError(f"claw can't take over from {found.agent!r:.40}",
                         hint="it can from: " + ", ".join(READERS))
    return reader(found)


def check_parts(only: Collection[str]) -> None:
    """Raise UsageError for a name that is no part."""
    for name in only:
        if name not in PARTS:
            raise UsageError(f"there is no part {name!r:.40}",
                             hint="the parts are: " + ", ".join(PARTS))


def list_channels(tree: Tree, holdings: Holdings, *, settings: bool
                  ) -> Iterator[str]:
    """The channels that are set up, with `settings` those that come too."""
    yield from list_configured(tree)
    if settings:
        for setting in holdings.settings:
            if setting.key and setting.key[0] == "channels_config" \
                    and len(setting.key) == 3:
                yield setting.key[1]


def _look(name: str, found: Found, holdings: Holdings, tree: Tree,
          notes: list[str], loosening: bool, now: datetime) -> Part:
    agent, places = found.agent, tree.places
    try:
        if name == "settings":
            over = len(holdings.settings) - settings.MOST
            if over > 0:
                notes.append(f"{over:,} settings past the first "
                             f"{settings.MOST:,} were not looked at")
            return settings.build_part(settings.compare(
                holdings.settings, settings.read_own(places),
                loosening=loosening))
        if name == "files":
            return files.look(agent, holdings.files, places)
        if name == "memories":
            return memories.look(agent, holdings.memories, tree, notes)
        if name == "skills":
            return skills.look(holdings.skills, places.home)
        if name == "sessions":
            return sessions.look(agent, holdings.sessions, tree, notes)
        return jobs.look(holdings.jobs, places, set(list_channels(
            tree, holdings, settings=True)), now)
    except ClawError as error:
        return Part(name, problem=error.message, hint=error.hint)
