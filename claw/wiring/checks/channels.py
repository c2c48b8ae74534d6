"""What is wrong with a channel: the probes behind `claw channel doctor`."""

import asyncio
from collections.abc import Iterator, Sequence

from claw.channels import REGISTRY
from claw.config.tree import Tree
from claw.core.abilities import ClosesChannel, Diagnoses, Finding
from claw.core.channel import Channel
from claw.core.errors import ClawError, ConfigError
from claw.core.log import silent
from claw.runtime.message.keys import read_named_key
from claw.runtime.settings import ChannelsSettings
from claw.storage.names import PeopleFile
from claw.wiring.channels.build import (
    explain_setup,
    list_entries,
    open_channel,
)
from claw.wiring.channels.names import (
    CONSOLE,
    SECTION,
    is_foreign,
    list_configured,
)
from claw.wiring.channels.states import build_state, read_parts
from claw.wiring.checks.check import Check
from claw.wiring.checks.traffic import check_traffic
from claw.wiring.workspace.place_names import people_path
from claw.wiring.workspace.sessions import open_sessions

HEALTH_S = 10.0


def channel_checks(tree: Tree, names: Sequence[str] = ()
                   ) -> Iterator[Check]:
    """Every step of every channel. Raises ConfigError for a name that is
    not configured."""
    known = list_configured(tree)
    console = tree.decode(SECTION, ChannelsSettings).cli
    for name in names:
        if name not in known and not is_foreign(name) \
                and not (name == CONSOLE and console):
            REGISTRY.load(name)
            raise ConfigError(
                f"channel {name!r} is not configured",
                hint=f"claw channel setup {name}")
    if not known and not names:
        yield Check("channels.none", "skip", "no channel is configured",
                    f"{explain_setup(REGISTRY.names()[0])}; other platforms: "
                    "claw channel setup; or try: claw listen --channel cli")
        return
    live = read_parts(tree.places)
    wanted = list(dict.fromkeys(names or known))
    findings = asyncio.run(_diagnose_all(
        tree, [name for name in wanted if name in known
               or name != CONSOLE]))
    for name in wanted:
        if name not in findings:
            yield Check(f"channels.{name}.console", "ok",
                        "it needs no settings",
                        f"to use it: claw listen --channel {name}")
            continue
        for found in findings[name]:
            yield Check(f"channels.{name}.{found.id}", found.status,
                        found.detail, found.hint, cause=found.cause)
        yield from _names(tree, name)
        yield from _names_of_before(tree, name)
        yield (check_traffic(build_state(name, True, live)) if live is not None
               else Check(f"channels.{name}.traffic", "skip",
                          "claw listen does not run here"))


async def _diagnose_all(tree: Tree, names: Sequence[str]
                        ) -> dict[str, list[Finding]]:
    """Of each channel; all are asked at once, HEALTH_S at most."""
    return dict(zip(names, await asyncio.gather(*(
        _diagnose(tree, name) for name in names)), strict=True))


def _names(tree: Tree, name: str) -> Iterator[Check]:
    """Whom the usernames of the allow-list belong to."""
    listed = list_entries(tree, name)
    for one in PeopleFile(people_path(tree.places)).list(name):
        if one.name not in listed or one.moved:
            continue
        check = f"channels.{name}.name.{one.name}"
        yield (Check(check, "ok", f"{one.name} is {one.id}" + (
            ", and so is what was kept under the name"
            if one.carried else ""))
               if one.refused is None else Check(
            check, "warn", f"{one.name} is {one.id}; {one.refused} has the "
            "name now and is refused",
            f"to let that one in add {one.refused} to {SECTION}.{name}."
            "allowed_users"))


def _names_of_before(tree: Tree, name: str) -> Iterator[Check]:
    """Conversations that an earlier claw kept under usernames."""
    known = {one.name for one in
             PeopleFile(people_path(tree.places)).list(name)}
    waiting = {found.name for info in open_sessions(tree.places).list()
               if (found := read_named_key(info.key, name)) is not None}
    if waiting - known and REGISTRY.load(name).capabilities.identity_change:
        yield Check(
            f"channels.{name}.carry_over", "warn", "conversations are kept "
            "under usernames, and nobody came whose these are: "
            + ", ".join(sorted(waiting - known)),
            f"start claw listen; a name in {SECTION}.{name}.allowed_users "
            "gets them when its person writes")


async def _diagnose(tree: Tree, name: str) -> list[Finding]:
    """What is wrong with one channel; whatever it raises hides no other."""
    try:
        channel = open_channel(tree, name, silent).channel
        try:
            async with asyncio.timeout(HEALTH_S):
                return await _ask(channel)
        finally:
            if isinstance(channel, ClosesChannel):
                await channel.aclose()
    except TimeoutError:
        return [Finding("health", "fail", f"timed out (>{HEALTH_S:g}s)",
                        "check the network and the address of its server")]
    except ClawError as error:
        return [Finding(error.kind, "fail", error.message, error.hint,
                        error.cause)]
    except Exception as error:  # a fault in the channel's own code
        return [Finding("fault", "fail", f"{type(error).__name__}: {error}",
                        "report it to who wrote the channel")]


async def _ask(channel: Channel) -> list[Finding]:
    if isinstance(channel, Diagnoses):
        return await channel.diagnose()
    return [Finding("health", "ok", "healthy")
            if await channel.health_check() else
            Finding("health", "fail", "unhealthy (auth/config/network)",
                    "check its settings with: claw config show")]
