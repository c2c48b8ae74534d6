"""Settings -> policy, sandbox and the agent's tools."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from claw.config.tree import Tree
from claw.core.memory import Memory
from claw.core.tool import Tool, ToolDeps
from claw.security.paths import OWN_DIRECTORIES, OWN_FILES
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
    policy = SecurityPolicy(autonomy, places.workspace, home=home,
                            config_dir=places.home)
    policy.sandbox = sandbox_of(tree, policy, env)
    return policy


def sandbox_of(tree: Tree, policy: SecurityPolicy,
               env: Mapping[str, str]) -> Sandbox:
    """What stands around every command; the doctor asks it `describe`."""
    workspace, *roots = policy.paths.roots
    return Sandbox(
        workspace, tree.decode("security.sandbox", SandboxSettings),
        tree.decode("security.resources", ResourceSettings), env,
        roots=roots, commands=policy.settings.allowed_commands,
        own=OWN_DIRECTORIES,
        hidden=[*_config_files(workspace.parent, tree.places.home.resolve()),
                *(workspace / name for name in OWN_FILES),
                *policy.paths.forbidden_inside()],
        passthrough=policy.settings.shell_env_passthrough)


def _config_files(*folders: Path) -> list[Path]:
    """Settings and key, should they lie in what a command can see."""
    return [folder / name for folder in dict.fromkeys(folders)
            for name in ("config.toml", "config.toml.bak", ".secret_key",
                         "active_workspace.toml")]


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
