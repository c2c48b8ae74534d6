"""Settings -> policy, sandbox and the agent's tools."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from claw.config.tree import Tree
from claw.core.memory import Memory
from claw.core.tool import Tool, ToolDeps
from claw.security.paths import OWN_DIRECTORIES, expand_all
from claw.security.policy import SecurityPolicy
from claw.security.sandbox import Sandbox
from claw.security.settings import (
    AutonomySettings,
    ResourceSettings,
    SandboxSettings,
)
from claw.tools.assemble import all_tools
from claw.tools.settings import ShellToolSettings


def policy_of(tree: Tree, env: Mapping[str, str] = os.environ
              ) -> SecurityPolicy:
    """The policy of this process, with the sandbox for its commands.

    Nothing is created and no process started. Raises ConfigError.
    """
    autonomy = tree.decode("autonomy", AutonomySettings)
    places = tree.places
    home = Path(env.get("HOME") or places.home.parent)
    return SecurityPolicy(
        autonomy, places.workspace, home=home, config_dir=places.home,
        sandbox=sandbox_of(tree, autonomy, home, env))


def sandbox_of(tree: Tree, autonomy: AutonomySettings, home: Path,
               env: Mapping[str, str]) -> Sandbox:
    """What stands around every command; the doctor asks it `describe`."""
    workspace = tree.places.workspace.resolve()
    roots = tuple(p.resolve()
                  for p in expand_all(autonomy.allowed_roots, home))
    return Sandbox(
        workspace, tree.decode("security.sandbox", SandboxSettings),
        tree.decode("security.resources", ResourceSettings), env,
        roots=roots, commands=autonomy.allowed_commands,
        hidden=_hidden(workspace, tree.places.home.resolve()),
        passthrough=autonomy.shell_env_passthrough)


def _hidden(workspace: Path, config_dir: Path) -> list[Path]:
    """claw's own places, should they lie in what a command can see."""
    own = [workspace / name for name in ("memory", *OWN_DIRECTORIES)]
    for folder in dict.fromkeys((config_dir, workspace.parent)):
        own += [folder / name for name in (
            "config.toml", "config.toml.bak", ".secret_key",
            "active_workspace.toml")]
    return own


def tools_of(tree: Tree, policy: SecurityPolicy, *,
             memory: Memory | None = None,
             names: Iterable[str] | None = None,
             http: Any = None, jobs: Any = None,
             send: Callable[..., Any] | None = None) -> list[Tool]:
    """The agent's tools by name (None: all that have what they need).

    Raises ConfigError for an unknown name.
    """
    deps = ToolDeps(policy.workspace, policy, memory=memory, jobs=jobs,
                    http=http, send=send)
    return all_tools(deps, names, {
        "shell": tree.decode("shell_tool", ShellToolSettings)})
