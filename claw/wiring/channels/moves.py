"""An id that became another one, as the platform says: written down at once,
and put into config.toml once all that was kept has followed.
"""

from collections.abc import Iterator

from claw.config.edit import set_value
from claw.config.keys import Path, join_key
from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.core.errors import ClawError
from claw.core.log import Log
from claw.storage.names import PeopleFile
from claw.wiring.channels.names import SECTION
from claw.wiring.channels.people import (
    PEOPLE,
    as_list,
    list_entries,
    open_people,
    spell_ids,
)
from claw.wiring.config.sections import validate
from claw.wiring.workspace.place_names import people_path


def announce_change(tree: Tree, file: PeopleFile, channel: str, log: Log,
                    old: str, new: str) -> None:
    """core.channel.ChannelDeps.carry_over: write down that a person's id
    became another one. Never where the new one is somebody already: what
    two people said must not become one."""
    people = open_people(tree)
    others = people.find_bearers(new, [channel]) - {
        people.find(channel, old)}
    if others:
        log("identity.refused", channel=channel, old=old, new=new,
            person=", ".join(sorted(others)), hint="if they are one person, "
            f"name both ids in one table: claw config set {PEOPLE}.NAME."
            f"{channel} '[...]'")
    elif file.move(channel, old, new):
        log("identity.changed", channel=channel, old=old, new=new,
            person=people.find(channel, new))


def relist(places: Places, log: Log, channel: str, old: str, new: str
           ) -> bool:
    """Put an id in the place of another one wherever config.toml lists
    people of a channel, or sends to one. Whether the old one is nowhere
    there any more."""
    try:
        tree = load(places)
        for path in ((SECTION, channel, "allowed_users"),
                     *((PEOPLE, name, channel)
                       for name in tree.names(PEOPLE))):
            value = tree.get(path)
            if value is None or old not in spell_ids(channel, value):
                continue
            ids = [new if listed == old else one for listed, one in zip(
                spell_ids(channel, value), as_list(value), strict=True)]
            set_value(places, path, list(dict.fromkeys(ids))
                      if isinstance(value, list) else new, validate)
        for target in _list_targets(tree, channel, old):
            set_value(places, target, new, validate)
            log("identity.target", setting=join_key(target), old=old,
                new=new)
    except (ClawError, OSError) as error:
        log("identity.unsaved", channel=channel, old=old, new=new,
            error=str(error), hint=f"put {new} in the place of {old} in "
            "config.toml; until then one stands for the other")
        return False
    return True


def _list_targets(tree: Tree, channel: str, id: str) -> Iterator[Path]:
    """The settings that have what comes of jobs sent to this id."""
    if (tree.get("heartbeat.target"), tree.get("heartbeat.to")) == (
            channel, id):
        yield "heartbeat", "to"
    for number, row in enumerate(tree.get("cron.jobs") or ()):
        told = row.get("delivery", {})
        if (told.get("channel"), told.get("to")) == (channel, id):
            yield "cron", "jobs", str(number), "delivery", "to"


def release_ids(tree: Tree, log: Log) -> None:
    """Ids that somebody left, and that the owner names anew."""
    file = PeopleFile(people_path(tree.places), log)
    for channel, entries in list_entries(tree).items():
        for one in file.release(channel, entries):
            log("identity.released", channel=channel, id=one)
