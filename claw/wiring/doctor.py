"""The groups of `claw doctor`, each a generator of checks."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.config.validate import Finding
from claw.core.errors import ClawError, ConfigError
from claw.providers.check import check_provider, not_built
from claw.wiring.channel_checks import channel_checks
from claw.wiring.checks import Check, run
from claw.wiring.config_check import check_settings
from claw.wiring.memory_checks import memory_checks
from claw.wiring.place_checks import (
    config_checks,
    disk_checks,
    python_checks,
    workspace_checks,
)
from claw.wiring.providers import providers_of
from claw.wiring.tools import policy_of


def examine(places: Places) -> Iterator[Check]:
    """Every check, group by group. Nothing is changed, nothing created
    but what `claw provider test` would do."""
    trees: list[Tree] = []

    def read_config() -> Iterator[Check]:
        trees.append(load(places))
        yield from config_checks(places, trees[0])
        for finding in check_settings(trees[0]):
            if not finding.key.endswith((".toml", ".secret_key")):
                yield _setting(finding)

    yield from run("config", read_config)
    yield from run("workspace", partial(workspace_checks, places))
    for group, probe in _rooms():
        if trees:
            yield from run(group, partial(probe, trees[0]))
        else:
            yield Check(f"{group}.skipped", "skip",
                        "not looked at: config.toml can't be read")
    yield from run("disk", partial(disk_checks, places))
    yield from run("python", python_checks)


def _rooms() -> Iterator[tuple[str, Callable[[Tree], Iterator[Check]]]]:
    yield "memory", memory_checks
    yield "providers", provider_checks
    yield "channels", channel_checks
    yield "sandbox", sandbox_checks


def _setting(finding: Finding) -> Check:
    status = {"error": "fail", "warning": "warn", "note": "ok"}
    return Check(f"config.{finding.key}", status[finding.level],  # type: ignore[arg-type]
                 finding.text,
                 finding.hint or f"claw config get {finding.key}")


def provider_checks(tree: Tree) -> Iterator[Check]:
    """What would answer a question now, and whether it does."""
    providers = providers_of(tree)
    choice = providers.choose()
    if choice.provider_name == "offline":
        yield Check("providers.choice", "warn", f"{choice.reason}: claw "
                    "answers from your text and memory alone",
                    "export OPENAI_API_KEY=..., start Ollama, or: claw "
                    "config set default_provider custom:http://HOST/v1")
        return
    yield Check("providers.choice", "ok",
                f"{choice.shown} ({choice.reason})")

    async def probe() -> list[Check]:
        try:
            provider, settled = await providers.open(bare=True)
        except ConfigError:
            raise
        except ClawError as error:
            seen = [not_built(error)]
        else:
            try:
                seen = await check_provider(provider, settled.model or "")
            finally:
                await provider.aclose()
        return [Check(f"providers.{c.id}", "ok" if c.ok else "fail",
                      c.detail, c.hint) for c in seen]

    yield from asyncio.run(probe())


def sandbox_checks(tree: Tree) -> Iterator[Check]:
    """What stands around the agent's commands here."""
    sandbox = policy_of(tree).sandbox
    if sandbox is None:
        return
    seen = sandbox.describe()
    active = [sentence for ok, sentence in seen if ok]
    missing = [sentence for ok, sentence in seen if not ok]
    if active:
        yield Check("sandbox.active", "ok", "; ".join(active))
    if missing:
        required = tree.get("security.sandbox.mode") == "required"
        yield Check("sandbox.missing", "fail" if required else "warn",
                    "; ".join(missing),
                    "the agent's commands are less confined; "
                    'security.sandbox.mode = "required" refuses them')
