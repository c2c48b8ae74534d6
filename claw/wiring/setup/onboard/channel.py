"""A channel: which keys it wants, whether they are good, and who may
write."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from claw.channels import REGISTRY
from claw.config.display import to_toml
from claw.config.keys import Path, is_secret
from claw.config.tree import Tree
from claw.core.installed import install_command, list_missing
from claw.core.value import Value
from claw.wiring.channels.build import list_entries
from claw.wiring.channels.manual import Manual, list_manuals, read_manual
from claw.wiring.channels.names import SECTION
from claw.wiring.checks.channels import channel_checks
from claw.wiring.checks.check import Check

ALLOWED = "allowed_users"


class Wanted(Value):
    """A setting that a newcomer is asked for. `default` is what is in
    force without an answer, masked where it is a secret."""

    key: str
    meaning: str
    is_secret: bool
    is_first: bool
    default: str


def list_channels() -> list[Manual]:
    """Those that can be set up here, in the order of the registry."""
    return [found for found in list_manuals()
            if isinstance(found, Manual) and found.is_listed]


def find_missing_packages(name: str) -> str | None:
    """The command that installs what a channel lacks here, None where it
    lacks nothing."""
    missing = list_missing(name) if name in REGISTRY.names() else []
    return install_command(name) if missing else None


def read_steps(name: str) -> str:
    """The setup text of a channel up to the end of its numbered steps; all
    of it where it has none."""
    parts = read_manual(name).setup.strip().split("\n\n")
    steps = [number for number, part in enumerate(parts)
             if re.match(r"\d+\. ", part)]
    if not steps:
        return "\n\n".join(parts)
    end = steps[-1] + 1
    while end < len(parts) and parts[end].startswith((" ", "```")):
        end += 1
    return "\n\n".join(parts[:end])


# Lines of the steps that the wizard spares a person.
_SPARED = (r"(:?)\n*(?:\n[ `]*(?:printf.*\| )?claw (?:config set "
           rf"{SECTION}\..*|channel doctor \S+|listen)`?$)+")


def spare_commands(steps: str) -> str:
    """The steps without the commands that the wizard does itself."""
    left = re.sub(_SPARED, lambda found: "." if found[1] else "", steps,
                  flags=re.MULTILINE)
    return re.sub(r"\n+```sh\n```", "", left)


def list_wanted(tree: Tree, name: str) -> list[Wanted]:
    """The settings that the channel's own setup text tells to set, in its
    order; who may write is asked apart."""
    return list(_list_wanted(tree, read_manual(name)))


def _list_wanted(tree: Tree, manual: Manual) -> Iterator[Wanted]:
    known = {setting.key: setting for setting in manual.settings}
    first = REGISTRY.load(manual.name).first_setting.partition(" ")[0]
    named = re.findall(rf"{SECTION}\.{re.escape(manual.name)}\.(\w+)",
                       read_steps(manual.name))
    for key in dict.fromkeys([*named, *filter(None, [first])]):
        if key == ALLOWED or key not in known:
            continue
        setting = known[key]
        path = (SECTION, manual.name, key)
        is_set = tree.get(path) not in (None, "", [])
        secret = is_secret((key,))
        value = tree.get(path) if is_set else setting.default
        yield Wanted(key, " ".join(setting.meaning.split()), secret,
                     key == first, ("********" if is_set else "") if secret
                     else "" if value in (None, (), [])
                     else value if isinstance(value, str)
                     else to_toml(value))


def has_allow_list(name: str) -> bool:
    """Whether somebody has to be let in before anybody can write."""
    struct = REGISTRY.load(name).Settings
    return struct is not None and ALLOWED in struct.__struct_fields__


def list_people(tree: Tree, name: str) -> list[str]:
    """Who may write."""
    return list_entries(tree, name)


def diagnose(tree: Tree, name: str) -> list[Check]:
    """The rows of `claw channel doctor NAME` under these settings, but for
    those that only a running claw listen can tell."""
    return [check for check in channel_checks(tree, [name])
            if not check.id.endswith((".traffic", ".allow_list"))]


def build_values(name: str, settings: Mapping[str, Any]) -> dict[Path, Any]:
    """The settings of these answers."""
    return {(SECTION, name, key): value for key, value in settings.items()}


