"""[people.NAME] of config.toml: one person on several channels.

    [people.mina]
    chat = 123456789
    phone = ["4917012345678", "DE.13491208655302741918"]

Keys are channels, values an id or several, as the channel's allow-list holds
them.
"""

from collections.abc import Iterator

from claw.channels import REGISTRY
from claw.channels.access import AccessSettings
from claw.config.tree import SettingError, Tree
from claw.core.errors import UsageError
from claw.core.log import Log, silent
from claw.core.registry import nearest
from claw.runtime.people.identities import People
from claw.storage.marks import MarksFile
from claw.storage.names import PeopleFile
from claw.wiring.channels.names import SECTION, is_channel
from claw.wiring.workspace.place_names import people_path, private_chats_path

PEOPLE = "people"


def read_people(tree: Tree) -> dict[str, dict[str, list[str]]]:
    """The tables: person -> channel -> ids. Raises ConfigError for the
    first that is wrong."""
    if not tree.has(PEOPLE):
        return {}
    for error in find_wrong_people(tree):
        raise error
    return {name: {channel: spell_ids(channel, value) for channel, value
                   in tree.table((PEOPLE, name)).items()}
            for name in tree.names(PEOPLE)}


def list_people(tree: Tree, channel: str) -> list[str]:
    """The ids of all people on a channel."""
    return [one for table in read_people(tree).values()
            for one in table.get(channel, ())]


def list_ids_of(tree: Tree, name: str) -> list[str]:
    """The ids of a person on all channels; none where no table is of that
    name. Raises UsageError for an id that is somebody else's elsewhere: what
    is kept does not always say of which channel it is."""
    if name not in read_people(tree):
        return []
    people = open_people(tree)
    ids = [sender for _, sender in people.list_ids(name)]
    for one in ids:
        if others := people.find_bearers(one) - {name}:
            raise UsageError(
                f"{one} is {name}, and on another channel "
                f"{', '.join(sorted(others))}",
                hint="name keys: claw memory list --json")
    return list(dict.fromkeys(form for one in ids
                              for form in (one, f"@{one}")))


def list_entries(tree: Tree) -> dict[str, list[str]]:
    """Channel -> the entries of its allow-list, those of people among
    them."""
    people = read_people(tree).values()
    names = [*tree.names(SECTION), *(name for table in people
                                     for name in table)]
    return {name: [*spell_ids(name, tree.get((SECTION, name,
                                              "allowed_users"))),
                   *(one for table in people for one in table.get(name, ()))]
            for name in dict.fromkeys(names)}


def open_people(tree: Tree, log: Log = silent) -> People:
    """Who is who by these settings, and by what is known of names."""
    places = tree.places
    return People(
        read_people(tree), list_entries(tree),
        find_holder=PeopleFile(people_path(places), log).find_person,
        chats=MarksFile(private_chats_path(places), log))


def find_wrong_people(tree: Tree) -> Iterator[SettingError]:
    """Names, channels and ids that can't be, and an id that two people
    claim."""
    claimed: dict[tuple[str, str], str] = {}
    people = tree.node_or((PEOPLE,))
    for name, table in people.items() if isinstance(people, dict) else ():
        path = (PEOPLE, name)
        if not isinstance(table, dict):
            yield tree.wrong(path, "expected a table of channels and ids")
            continue
        if not name.strip() or ":" in name:
            yield tree.wrong(path, 'no name of a person: it is empty, or has '
                             'a ":" in it', "choose another one")
        for channel, value in table.items():
            if not is_channel(channel):
                near = nearest(channel, REGISTRY.names())
                yield tree.wrong(
                    (*path, channel), "there is no such channel",
                    f'did you mean "{near}"?' if near else
                    "one of: " + ", ".join(REGISTRY.all_names()))
                continue
            for one in spell_ids(channel, value):
                other = claimed.setdefault((channel, one), name)
                if not one or one == "*":
                    yield tree.wrong((*path, channel),
                                     f"{one!r} is nobody's id")
                elif other != name:
                    yield tree.wrong(
                        (*path, channel), f"{one} is {other}'s and {name}'s",
                        f"take it out of {PEOPLE}.{other} or {PEOPLE}.{name}")


def as_list(value: object) -> list[object]:
    """One entry, or several."""
    return [] if value is None else list(value) \
        if isinstance(value, list | tuple) else [value]


def spell_ids(channel: str, value: object) -> list[str]:
    """Entries as the channel's ids are written: +49 170 12 is +4917012."""
    entries = [str(one).strip().removeprefix("@") for one in as_list(value)]
    if not entries or not is_channel(channel):
        return entries
    settings = REGISTRY.load(channel).Settings
    return [settings.spell(one) for one in entries] if isinstance(
        settings, type) and issubclass(settings, AccessSettings) else entries
