"""Whether what the settings name can be built: provider, channels, hooks,
gateway. Nothing is started and no server is asked."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing

from claw.config.tree import Tree
from claw.core.abilities import ClosesChannel
from claw.core.errors import AuthError, ClawError
from claw.core.log import silent
from claw.gateway.settings import GatewaySettings, check_exposure
from claw.wiring.channels.build import open_channel
from claw.wiring.channels.names import list_configured
from claw.wiring.checks.check import Check
from claw.wiring.models.providers import build_providers
from claw.wiring.tools.build import build_policy
from claw.wiring.tools.hooks import build_hooks


def run_part_checks(tree: Tree) -> Iterator[Check]:
    """One failed check for each part that can't be built. A provider's
    missing key is a warning: it may stand in the environment of another
    process."""
    steps: list[tuple[str, Callable[[Tree], None]]] = [
        ("providers.built", _build_provider), ("gateway.built", _gateway),
        ("sandbox.built", lambda tree: void(build_policy(tree))),
        ("plug_ins.built", lambda tree: void(build_hooks(tree, silent)))]
    steps += [(f"channels.{name}.built", _channel(name))
              for name in list_configured(tree)]
    for check_id, build in steps:
        try:
            build(tree)
        except ClawError as error:
            keyless = build is _build_provider and isinstance(error, AuthError)
            yield Check(check_id, "warn" if keyless else "fail",
                        error.message, error.hint)


def void(_: object) -> None:
    """Only whether it could be made counts."""


def _build_provider(tree: Tree) -> None:
    providers = build_providers(tree)
    if not (tree.get("default_provider") or "").strip():
        return  # chosen when it is needed

    async def build() -> None:
        async with aclosing(providers.create(
                providers.choose().provider_name)):
            pass
    asyncio.run(build())


def _gateway(tree: Tree) -> None:
    gateway = tree.decode("gateway", GatewaySettings)
    if gateway.enabled:
        check_exposure(gateway)


def _channel(name: str) -> Callable[[Tree], None]:
    def build(tree: Tree) -> None:
        channel = open_channel(tree, name, silent).channel
        if isinstance(channel, ClosesChannel):
            asyncio.run(channel.aclose())
    return build
