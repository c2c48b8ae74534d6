"""Settings -> hooks. Loaded only where there are any."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from claw.agent.hooks.builtin import build_hooks as build_runner
from claw.agent.hooks.commands.hook import CommandHook, Surroundings
from claw.agent.hooks.runner import HookRunner
from claw.agent.hooks.settings import HooksSettings
from claw.config.tree import Tree
from claw.core.errors import ConfigError
from claw.core.log import Log
from claw.net.errors import Peer
from claw.net.http import HttpClient
from claw.security.estop import EmergencyStop
from claw.security.sandbox.environment import SAFE_VARIABLES
from claw.wiring.tools.build import build_policy

POST_S = 5.0
# What a program needs to show something on the owner's desktop.
_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR",
            "DBUS_SESSION_BUS_ADDRESS", "TZ", "LOGNAME")
# Set for programs of hooks: a claw that one starts has none, or they would
# call each other without end.
IN_HOOK = "CLAW_IN_HOOK"


def build_hooks(tree: Tree, log: Log, env: Mapping[str, str] = os.environ
                ) -> HookRunner:
    """The hooks of these settings. Raises ConfigError, PlugInError."""
    settings = tree.decode("hooks", HooksSettings)
    if env.get(IN_HOOK):
        return HookRunner((), log)
    return build_runner(settings, log, _post,
                        _build_commands(tree, settings, env))


def _build_commands(tree: Tree, settings: HooksSettings,
                    env: Mapping[str, str]) -> list[CommandHook]:
    if not settings.command or not settings.enabled:
        return []
    for number in range(len(settings.command)):
        path = ("hooks", "command", str(number), "command")
        if tree.origin(path) != "config":
            raise ConfigError(
                "hooks.command: a program outside of the sandbox is named "
                f"in config.toml alone, not by {tree.variable(path)}",
                hint="claw config edit")
    policy = build_policy(tree, env)
    roots = (*policy.paths.roots, *policy.granted)
    home = tree.places.home.absolute()
    around = Surroundings(
        roots, home, Path(env.get("HOME") or home.parent),
        _clean_environment(tree, env, roots), EmergencyStop(home))
    return [CommandHook(one, around, tree.where(
        ("hooks", "command", str(number))) + f": hooks.command.{number}")
        for number, one in enumerate(settings.command)]


def _clean_environment(tree: Tree, env: Mapping[str, str],
                       roots: tuple[Path, ...]) -> dict[str, str]:
    """No keys and tokens, and no folder to find programs in where the agent
    may write."""
    kept = {name: env[name] for name in (*SAFE_VARIABLES, *_DESKTOP)
            if name in env}
    kept["PATH"] = os.pathsep.join(
        folder for folder in (env.get("PATH") or os.defpath).split(os.pathsep)
        if os.path.isabs(folder) and not any(
            Path(folder).resolve().is_relative_to(root) for root in roots))
    kept.update({IN_HOOK: "1", "CLAW_HOME": str(tree.places.home.absolute()),
                 "CLAW_WORKSPACE": str(tree.places.workspace.absolute())})
    return kept


def tell(notify: Callable[[str], None]) -> Log:
    """A log for a terminal: what a person should know."""
    return partial(_tell, notify)


def _tell(notify: Callable[[str], None], event: str, /, **fields: Any
          ) -> None:
    said = " ".join(f"{name}={value}" for name, value in fields.items()
                    if value is not None)
    notify(f"{event.replace('_', ' ')}: {said}")


async def _post(url: str, body: Mapping[str, Any]) -> None:
    client = HttpClient(Peer("the audit webhook"), timeout_s=POST_S)
    try:
        await client.request("POST", url, json=body)
    finally:
        await client.aclose()
