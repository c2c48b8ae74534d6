"""`claw doctor`: every group of checks, and those of providers and sandbox.

A check is a function with `@GROUP.check` above it in the module of its
group; nothing else names it.
"""

import asyncio
from collections.abc import Iterator

from claw.agent.hooks.builtin import REGISTRY as HOOK_NAMES
from claw.channels import REGISTRY as CHANNEL_NAMES
from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.core.errors import ClawError, ConfigError
from claw.memory import REGISTRY as MEMORY_NAMES
from claw.memory.embeddings import REGISTRY as EMBEDDER_NAMES
from claw.providers import REGISTRY as PROVIDER_NAMES
from claw.providers.check import check_provider, explain_unbuilt
from claw.security.setup_steps import list_steps, read_system
from claw.tools import REGISTRY as TOOL_NAMES
from claw.wiring.checks.channels import channel_checks
from claw.wiring.checks.check import (
    Check,
    Group,
    Status,
    run,
    run_groups,
)
from claw.wiring.checks.config import check_settings
from claw.wiring.checks.memory import MEMORY
from claw.wiring.checks.places import CONFIG, DISK, PYTHON, WORKSPACE
from claw.wiring.providers import build_providers
from claw.wiring.tools import build_policy

PROVIDERS = Group("providers")
CHANNELS = Group("channels")
CHANNELS.check(channel_checks)
SANDBOX = Group("sandbox")
PLUG_INS = Group("plug_ins")
# In the order of the report, after the settings themselves.
GROUPS = (WORKSPACE, MEMORY, PROVIDERS, CHANNELS, SANDBOX, PLUG_INS, DISK,
          PYTHON)


def run_checks(places: Places) -> Iterator[Check]:
    """Every check, group by group. Nothing is changed, nothing created
    but what `claw provider test` would do."""
    trees: list[Tree] = []

    def read_config() -> Iterator[Check]:
        trees.append(load(places))
        yield from CONFIG.run(places)
        for finding in check_settings(trees[0]):
            if not finding.key.endswith((".toml", ".secret_key")):
                yield Check(
                    f"config.{finding.key}", _STATUS[finding.level],
                    finding.text,
                    finding.hint or f"claw config get {finding.key}")
    yield from run("config", read_config)
    yield from run_groups(GROUPS, places, trees[0] if trees else None)


_STATUS: dict[str, Status] = {"error": "fail", "warning": "warn",
                              "note": "ok"}


@PROVIDERS.check
def check_providers(tree: Tree) -> Iterator[Check]:
    """What would answer a question now, and whether it does."""
    providers = build_providers(tree)
    choice = providers.choose()
    if choice.provider_name == "offline":
        yield Check("providers.choice", "warn", f"{choice.reason}: claw "
                    "answers from your text and memory alone",
                    "export ANTHROPIC_API_KEY=... (or that of another), "
                    "start Ollama, or: claw config set default_provider "
                    "custom:http://HOST/v1")
        return
    yield Check("providers.choice", "ok",
                f"{choice.shown} ({choice.reason})")

    async def probe() -> list[Check]:
        try:
            provider, settled = await providers.open(bare=True)
        except ConfigError:
            raise
        except ClawError as error:
            seen = [explain_unbuilt(error)]
        else:
            try:
                seen = await check_provider(provider, settled.model or "")
            finally:
                await provider.aclose()
        return [Check(f"providers.{c.id}", "ok" if c.ok else "fail",
                      c.detail, c.hint) for c in seen]

    yield from asyncio.run(probe())


@PLUG_INS.check
def check_plug_ins(tree: Tree) -> Iterator[Check]:
    """Whether what other packages bring can be loaded."""
    for registry in (CHANNEL_NAMES, PROVIDER_NAMES, TOOL_NAMES, MEMORY_NAMES,
                     EMBEDDER_NAMES, HOOK_NAMES):
        for name in registry.foreign_names():
            try:
                registry.load(name)
            except ClawError as error:
                yield Check(f"plug_ins.{name}", "fail", error.message,
                            error.hint)
            else:
                yield Check(f"plug_ins.{name}", "ok",
                            f"{registry.kind} {name!r} can be loaded")


@SANDBOX.check
def check_sandbox(tree: Tree) -> Iterator[Check]:
    """What stands around the agent's commands here."""
    sandbox = build_policy(tree).sandbox
    if sandbox is None:
        return
    seen = sandbox.describe()
    active = [sentence for ok, sentence in seen if ok]
    missing = [sentence for ok, sentence in seen if not ok]
    if active:
        yield Check("sandbox.active", "ok", "; ".join(active))
    if missing:
        if sandbox.shelter().is_fallback:
            yield Check("sandbox.fallback", "warn",
                        "claw listen runs without command tools here", None)
            for number, (cause, step) in enumerate(
                    list_steps(read_system()), 1):
                yield Check(f"sandbox.step_{number}", "warn", cause, step)
        required = tree.get("security.sandbox.mode") == "required"
        yield Check("sandbox.missing", "fail" if required else "warn",
                    "; ".join(missing),
                    "the agent's commands are less confined; "
                    'security.sandbox.mode = "required" refuses them')
