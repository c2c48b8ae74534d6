"""Settings -> channels."""

import os
from collections.abc import Mapping, MutableMapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import msgspec

from claw.channels import REGISTRY
from claw.config.edit import set_value
from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.core.channel import Channel, ChannelDeps
from claw.core.errors import ClawError, ConfigError
from claw.core.log import Log
from claw.runtime.live import LiveChannel
from claw.runtime.settings import ChannelOptions, ChannelsSettings
from claw.security.files.paths import PathRules, expand_all
from claw.security.settings import AutonomySettings
from claw.storage.marks import MarksFile
from claw.storage.names import PeopleFile
from claw.wiring.channels.moves import announce_change
from claw.wiring.channels.names import (
    CONSOLE,
    SECTION,
    is_foreign,
    list_configured,
)
from claw.wiring.channels.people import list_entries as list_all_entries
from claw.wiring.channels.people import list_people
from claw.wiring.channels.slips import check_change, find_slips
from claw.wiring.config.sections import validate
from claw.wiring.workspace.place_names import marks_path, people_path


def read_settings(tree: Tree, name: str) -> Any:
    """The decoded table of a channel; None where its plug-in reads none. The
    console has no table: `cli` there says whether it may run."""
    struct = REGISTRY.load(name).Settings
    if struct is None:
        return None
    if name == CONSOLE:
        return struct()
    settings = tree.decode([SECTION, name], struct)
    people = list_people(tree, name)
    if people and "allowed_users" in struct.__struct_fields__:
        settings = msgspec.structs.replace(settings, allowed_users=(
            *settings.allowed_users, *people))
    return settings


def open_channel(tree: Tree, name: str, log: Log,
                 paired: list[str] | None = None,
                 **changes: Any) -> LiveChannel:
    """One channel with its settings. `changes` replace some of them, and
    whom the channel lets in stands in `paired`.

    Raises ConfigError, AuthError or MissingPartError.
    """
    settings = read_settings(tree, name)
    if settings is None:
        channel: Channel = REGISTRY.build(name)
    else:
        settings = msgspec.structs.replace(settings, **changes)
        channel = REGISTRY.build(name, settings,
                                 build_deps(tree, name, log, paired))
    return LiveChannel(channel, ChannelOptions.of(settings))


def build_deps(tree: Tree, name: str, log: Log,
               paired: list[str] | None = None) -> ChannelDeps:
    """What a channel is given; `paired` takes whom it lets in."""
    places = tree.places
    people = PeopleFile(people_path(places), log)
    return ChannelDeps(
        places.workspace, places.workspace / f"{name}_files",
        log=partial(log, channel=name),
        remember=partial(remember, places, name, log,
                         [] if paired is None else paired),
        names=people.of(name),
        marks=MarksFile(marks_path(places, name), log),
        carry_over=partial(announce_change, tree, people, name, log),
        may_send=_build_rules(tree).reaches)


def _build_rules(tree: Tree, env: Mapping[str, str] = os.environ) -> PathRules:
    """Which files of the workspace an answer may carry away: those that
    the agent's tools may read."""
    places = tree.places
    home = FilePath(env.get("HOME") or places.home.parent)
    forbidden = tree.decode("autonomy", AutonomySettings).forbidden_paths
    return PathRules(
        roots=(places.workspace.resolve(),),
        forbidden=expand_all(forbidden, home), workspace_only=True,
        home=home, config_dir=places.home.resolve())


def remember(places: Places, name: str, log: Log, paired: list[str],
             sender: str) -> bool:
    """Put a paired sender into the channel's allow-list in config.toml, and
    into `paired` before that is seen there."""
    path = (SECTION, name, "allowed_users")
    try:
        allowed = list(load(places).get(path) or ())
        if sender not in allowed:
            paired.append(sender)
            set_value(places, path, [*allowed, sender], validate)
    except (ClawError, OSError) as error:
        log("pairing.unsaved", channel=name, error=str(error))
        return False
    return True


def list_entries(tree: Tree, name: str) -> list[str]:
    """The entries of a channel's allow-list, without their "@"."""
    return list_all_entries(tree).get(name, [])


def select_channels(tree: Tree, only: Sequence[str], *,
                    alone: bool = False) -> list[str]:
    """The channels to run: those named, else all that are configured.

    None where something else runs `alone`. Raises ConfigError where a name
    is unknown, not configured, or where there is nothing to run.
    """
    names = list_configured(tree)
    for name in only:
        if name == CONSOLE and tree.decode(SECTION, ChannelsSettings).cli:
            continue
        if name not in names and not is_foreign(name):
            REGISTRY.load(name)  # says "did you mean"
            raise ConfigError(f"channel {name!r} is not configured",
                              hint=explain_setup(name))
    if only:
        return list(dict.fromkeys(only))
    if not names and not alone:
        raise ConfigError(
            "no channel is configured, and no job",
            hint=f"{explain_setup(REGISTRY.names()[0])}, other platforms: "
                 "claw channel setup, or try it here: claw listen --channel "
                 "cli, or give it something to do: claw cron add")
    return names


def explain_setup(name: str) -> str:
    """How a channel is set up."""
    first = REGISTRY.load(name).first_setting
    return (f"claw config set {SECTION}.{name}.{first}" if first
            else f"add [{SECTION}.{name}] to config.toml")


class Opened(NamedTuple):
    """A channel that runs, by `settings`; it let in the `paired` since it
    has them. `rejected` says why those that config.toml has now are not in
    force."""

    settings: Any
    live: LiveChannel
    paired: list[str]
    rejected: str | None = None


def open_channels(tree: Tree, names: Sequence[str], log: Log,
                  changes: Mapping[str, Mapping[str, Any]],
                  keep: Mapping[str, Opened] | None = None, *,
                  unusable: MutableMapping[str, ClawError] | None = None
                  ) -> dict[str, Opened]:
    """Channels by name. One that can't be opened is told and left out (and
    stands in `unusable` then), unless none can. `keep` are channels to go
    on with where their settings have not changed, or can't be used."""
    keep = keep or {}
    names = [*names, *find_slips(tree, [n for n in keep if n not in names])]
    opened: dict[str, Opened] = {}
    failures: list[ClawError] = []
    for name in names:
        old = keep.get(name)
        try:
            opened[name] = _open_or_keep(tree, name, log,
                                         changes.get(name, {}), old)
        except ClawError as error:
            failures.append(error)
            if old is not None:
                opened[name] = old._replace(rejected=error.message)
            elif unusable is not None:
                unusable[name] = error
            log("channel.unusable" if old is None else "channel.rejected",
                channel=name, error=error.message, hint=error.hint)
    if failures and len(failures) == len(names):
        raise failures[0]
    return opened


def _open_or_keep(tree: Tree, name: str, log: Log,
                  changes: Mapping[str, Any], old: Opened | None) -> Opened:
    settings = read_settings(tree, name)
    if old is not None:
        check_change(tree, name, old.settings, settings)
        if old.settings == settings:
            return old._replace(rejected=None)
        if _has_only_paired(old, settings):  # it needs no new start
            return Opened(settings, old.live, old.paired)
    paired: list[str] = []
    return Opened(settings, open_channel(tree, name, log, paired, **changes),
                  paired)


def _has_only_paired(old: Opened, settings: Any) -> bool:
    """Whether those alone are new whom the channel has let in itself; then
    none of them is waited for any more."""
    if not old.paired or settings != msgspec.structs.replace(
            old.settings, allowed_users=(
                *old.settings.allowed_users, *old.paired)):
        return False
    old.paired.clear()
    return True
