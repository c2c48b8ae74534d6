"""`claw doctor`: every group of checks, and those of providers and sandbox.

A check is a function with `@GROUP.check` above it in the module of its
group; nothing else names it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from typing import TypeAlias

from claw.agent.hooks.builtin import REGISTRY as HOOK_NAMES
from claw.channels import REGISTRY as CHANNEL_NAMES
from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.core.errors import ClawError, ConfigError, RequestRefusedError
from claw.core.log import silent
from claw.core.provider import Provider
from claw.core.tool import ToolDeps
from claw.memory import REGISTRY as MEMORY_NAMES
from claw.memory.embeddings import REGISTRY as EMBEDDER_NAMES
from claw.net.errors import is_page
from claw.providers import REGISTRY as PROVIDER_NAMES
from claw.providers.catalog.choice import Choice, no_answer
from claw.providers.check import Check as Probed
from claw.providers.check import (
    check_provider,
    explain_failure,
    explain_unbuilt,
)
from claw.providers.connection import ignore_notice
from claw.providers.factory import LIST_S, OFFLINE, Providers
from claw.providers.offline import WAYS
from claw.security.sandbox.setup_steps import list_steps, read_system
from claw.text.plural import plural
from claw.tools import REGISTRY as TOOL_NAMES
from claw.tools.offer.owned import load_owned
from claw.wiring.checks.channels import channel_checks
from claw.wiring.checks.check import (
    Check,
    Group,
    run,
    run_groups,
)
from claw.wiring.checks.config import run_settings_checks
from claw.wiring.checks.disk import check_disk_use
from claw.wiring.checks.gateway import GATEWAY
from claw.wiring.checks.log import check_log, check_map
from claw.wiring.checks.mcp import MCP
from claw.wiring.checks.memory import MEMORY
from claw.wiring.checks.people import PEOPLE_CHECKS
from claw.wiring.checks.places import CONFIG, DISK, PYTHON, WORKSPACE
from claw.wiring.checks.repairs import (
    add_repair,
    check_drafts,
    check_home_modes,
    check_restore,
    check_unfinished,
)
from claw.wiring.checks.schedule import SCHEDULE
from claw.wiring.checks.skills import SKILLS
from claw.wiring.models.ledger import open_ledger
from claw.wiring.models.providers import build_providers
from claw.wiring.tools.build import build_policy
from claw.wiring.tools.hooks import build_hooks

_ASK = "ask it a real question: claw doctor --deep, or: claw provider test"
PROVIDERS = Group("providers")
ASKED_PROVIDERS = Group("providers")
CHANNELS = Group("channels")
CHANNELS.check(channel_checks)
SANDBOX = Group("sandbox")
PLUG_INS = Group("plug_ins")
CONFIG.check(check_home_modes)
CONFIG.check(check_drafts)
DISK.check(check_disk_use)
DISK.check(check_log)
DISK.check(check_map)
# In the order of the report, after the settings themselves.
GROUPS = (WORKSPACE, MEMORY, PROVIDERS, CHANNELS, PEOPLE_CHECKS, GATEWAY,
          SCHEDULE, SANDBOX, PLUG_INS, MCP, SKILLS, DISK, PYTHON)


def run_checks(places: Places, *, asks: bool = False) -> Iterator[Check]:
    """Every check, group by group. Nothing is changed, nothing created
    but what `claw provider test` would do; it costs nothing, unless it
    `asks` the model real questions."""
    trees: list[Tree] = []

    def read_config() -> Iterator[Check]:
        yield from check_restore(places)
        yield from check_unfinished(places)
        trees.append(load(places))
        yield from CONFIG.run(places)
        yield from (add_repair(trees[0], check)
                    for check in run_settings_checks(trees[0]))
    yield from run("config", read_config)
    yield from run_groups(
        [ASKED_PROVIDERS if asks and group is PROVIDERS else group
         for group in GROUPS], places, trees[0] if trees else None)


@PROVIDERS.check
def check_providers(tree: Tree) -> Iterator[Check]:
    """What would answer a question now, and whether it is there: its list
    of models is asked for, which costs nothing."""
    yield from _check_choice(tree, _list_models)


@ASKED_PROVIDERS.check
def ask_providers(tree: Tree) -> Iterator[Check]:
    """The same by real questions, as `claw provider test` asks them."""
    yield from _check_choice(tree, _ask_model)


_Probe: TypeAlias = Callable[[Provider, Choice, bool],
                             Awaitable[list[Check]]]


def _check_choice(tree: Tree, probe: _Probe) -> Iterator[Check]:
    with closing(open_ledger(tree, ignore_notice)) as ledger:
        providers = build_providers(tree, around=ledger.meter)
        choice = providers.choose()
        if choice.provider_name == OFFLINE:
            yield Check("providers.choice", "warn", f"{choice.reason}: claw "
                        "answers from your text and memory alone",
                        f"to add a model: {WAYS}")
            return
        yield Check("providers.choice", "ok",
                    f"{choice.shown} ({choice.reason})")
        yield from asyncio.run(_open_and_probe(providers, probe))


async def _open_and_probe(providers: Providers, probe: _Probe
                          ) -> list[Check]:
    try:
        provider, settled = await providers.open(
            bare=True, limit_s=LIST_S)
    except ConfigError:
        raise
    except ClawError as error:
        return _as_checks([explain_unbuilt(error)])
    try:
        key = providers.key(settled.provider_name)
        return await probe(provider, settled, key.value is not None)
    finally:
        await provider.aclose()


async def _ask_model(provider: Provider, choice: Choice, has_key: bool
                     ) -> list[Check]:
    return _as_checks(await check_provider(provider, choice.model or "",
                                           has_key=has_key,
                                           look_s=LIST_S))


async def _list_models(provider: Provider, choice: Choice, has_key: bool
                       ) -> list[Check]:
    """Whether it can be reached. That a key is good, and that a model
    answers, shows in a real question alone."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(LIST_S):
            names = await provider.models()
    except TimeoutError:
        return _as_checks(explain_failure(no_answer(LIST_S), "", 0))
    except ClawError as error:
        if not isinstance(error, RequestRefusedError) or is_page(error):
            return _as_checks(explain_failure(
                error, choice.model or "",
                round((time.monotonic() - started) * 1000)))
        return [Check("providers.reach", "skip", "its list of models can't "
                      f"be had: {error.message}", _ASK)]
    if not names:
        return [Check("providers.reach", "skip", "it has no list of models; "
                      "nothing was asked", _ASK)]
    return [Check("providers.reach", "ok", "it lists "
                  f"{plural(len(names), 'model')}; no question was asked "
                  "(claw doctor --deep does)")]


def _as_checks(seen: Sequence[Probed]) -> list[Check]:
    return [Check(f"providers.{c.id}", c.status, c.detail, c.hint,
                  cause=c.cause) for c in seen]


@PLUG_INS.check
def check_hooks(tree: Tree) -> Iterator[Check]:
    """Whether the hooks of the settings can run."""
    if tree.has("hooks"):
        try:
            count = len(build_hooks(tree, silent).hooks)
        except ClawError as error:
            yield Check("plug_ins.hooks", "fail", error.message, error.hint)
        else:
            yield Check("plug_ins.hooks", "ok", f"{count} set")


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


@PLUG_INS.check
def check_owned_tools(tree: Tree) -> Iterator[Check]:
    """Whether the owner's own tools can be used."""
    policy = build_policy(tree)
    tools, faults = load_owned(tree.places.home / "tools", ToolDeps(
        policy.workspace, policy), TOOL_NAMES.names())
    for number, fault in enumerate(faults, 1):
        yield Check(f"plug_ins.file_{number}", "fail", fault.message,
                    fault.hint)
    if tools:
        yield Check("plug_ins.files", "ok", "tools of your own: "
                    + ", ".join(tool.name for tool in tools))


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
