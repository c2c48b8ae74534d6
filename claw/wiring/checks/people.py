"""What `claw doctor` says of [people] and of ids that changed."""

from collections.abc import Iterator

from claw.channels import REGISTRY
from claw.config.tree import Tree
from claw.storage.names import PeopleFile
from claw.wiring.channels.names import CONSOLE, SECTION, list_configured
from claw.wiring.channels.people import PEOPLE, list_entries, read_people
from claw.wiring.checks.check import Check, Group
from claw.wiring.workspace.place_names import people_path

PEOPLE_CHECKS = Group(PEOPLE)


@PEOPLE_CHECKS.check
def check_people(tree: Tree) -> Iterator[Check]:
    """Whom the tables name, and whether he can write there."""
    known = [*list_configured(tree), CONSOLE]
    for name, table in read_people(tree).items():
        check = f"{PEOPLE}.{name}"
        if not any(table.values()):
            yield Check(check, "warn", f"{name} has an id in no channel",
                        f"claw config set {PEOPLE}.{name}.CHANNEL ID")
            continue
        yield Check(check, "ok", f"{name} is " + ", ".join(
            f"{channel} {one}" for channel, ids in table.items()
            for one in ids))
        for channel in table:
            if channel not in known:
                yield Check(
                    f"{check}.{channel}", "warn", f"{name} has an id on "
                    f"{channel}, which is not configured",
                    f"claw channel setup {channel}")
            elif not _has_allow_list(channel):
                yield Check(
                    f"{check}.{channel}", "ok", f"{channel} has no "
                    "allow-list: the id says only who writes")


@PEOPLE_CHECKS.check
def check_moves(tree: Tree) -> Iterator[Check]:
    """Ids that became others, as platforms said."""
    file = PeopleFile(people_path(tree.places))
    for channel in list_configured(tree):
        for one in file.list(channel):
            if not one.moved:
                continue
            check = f"{PEOPLE}.{channel}.{one.name}"
            if one.name in list_entries(tree).get(channel, ()):
                yield Check(
                    check, "warn", f"{one.name} is {one.id} since "
                    f"{one.since}, and config.toml still names {one.name}",
                    f"put {one.id} in its place in {SECTION}.{channel}."
                    f"allowed_users or {PEOPLE}")
            elif not one.carried:
                yield Check(
                    check, "warn", f"{one.name} is {one.id} since "
                    f"{one.since}; what was kept has not all followed",
                    "start claw listen: it goes on with the next message")
            else:
                yield Check(check, "ok", f"{one.name} is {one.id} since "
                            f"{one.since}, and so is what was kept")


def _has_allow_list(channel: str) -> bool:
    struct = REGISTRY.load(channel).Settings
    return "allowed_users" in getattr(struct, "__struct_fields__", ())
