"""Settings -> policy, sandbox, the agent's tools with approvals in front of
each call, and what the prompt says of all that.

Loaded only for turns that have tools or an identity.
"""

import os
import platform
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any

import msgspec

from claw.agent.identity import read_identity
from claw.agent.prompt import COMPACT_FILE_CHARS, FILE_CHARS, PromptContext
from claw.agent.rounds.execute import Gate
from claw.agent.settings import AgentSettings
from claw.agent.turn import Agent
from claw.config.edit import set_table
from claw.config.places import Places
from claw.config.tree import Tree
from claw.core.folders import make_private
from claw.core.memory import Memory
from claw.core.tool import Tool, ToolDeps
from claw.core.turn import (
    Approves,
    Asks,
    Reacts,
    RunsTasks,
    SendsText,
    TakesTasks,
    TurnContext,
)
from claw.net.guarded import GuardedClient
from claw.security.approval import ApprovalManager, NoApprover, SaysYes
from claw.security.egress import check_url, is_public
from claw.security.estop import FILE as ESTOP
from claw.security.files.paths import (
    OWN_DIRECTORIES,
    OWN_FILES,
    TRUST_FOLDER,
    find_linked,
)
from claw.security.permissions import PermissionSettings
from claw.security.policy import SecurityPolicy
from claw.security.redact.redaction import scrub
from claw.security.sandbox.readable import find_own_code
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import (
    UTILITIES,
    AutonomySettings,
    ResourceSettings,
    SandboxSettings,
)
from claw.security.watched.watch import recover
from claw.tools import REGISTRY
from claw.tools.hardware.boards import Boards
from claw.tools.hardware.settings import PeripheralsSettings
from claw.tools.mcp.settings import McpSettings
from claw.tools.offer.assemble import all_tools
from claw.tools.offer.shelf import ToolSearch
from claw.tools.settings import ShellToolSettings, SwarmSettings
from claw.tools.web import settings as web
from claw.wiring.config.sections import find_unknown_policy, validate
from claw.wiring.tools.jobs import open_jobs
from claw.wiring.workspace.secrets import build_redactor
from claw.wiring.workspace.sessions import KeptSessions

__all__ = ["build_gate", "build_policy", "build_prompt_context",
           "build_sandbox", "build_served", "build_tools", "recover", "scrub"]

# tool -> its table of settings and the struct that reads it. What has
# `enabled` false is offered only where somebody names it, and refuses.
TABLES: dict[str, tuple[str, Any]] = {
    "shell": ("shell_tool", ShellToolSettings),
    "web_search_tool": ("web_search", web.WebSearchSettings),
    "web_fetch": ("web_fetch", web.WebFetchSettings),
    "http_request": ("http_request", web.HttpRequestSettings),
    "pushover": ("pushover", web.PushoverSettings),
    "browser": ("browser", web.BrowserSettings),
    "browser_open": ("browser", web.BrowserSettings),
}

# Those that share the boards.
BOARD_TOOLS = ("gpio_read", "gpio_write", "hardware_board_info",
               "hardware_capabilities")

# Those that start a command of the model's.
COMMAND_TOOLS = ("shell", "git_operations")
# People whose "always" is remembered.
MANAGERS = 1_000
NO_AGENTS: Mapping[str, TakesTasks] = {}


def build_policy(tree: Tree, env: Mapping[str, str] = os.environ
                 ) -> SecurityPolicy:
    """The policy of this process, with the sandbox for its commands.

    Nothing is created and no process started. Raises ConfigError.
    """
    autonomy = tree.decode("autonomy", AutonomySettings)
    if unknown := find_unknown_policy(tree):
        raise unknown
    places = tree.places
    home = Path(env.get("HOME") or places.home.parent)
    policy = SecurityPolicy(autonomy, places.workspace, home=home,
                            config_dir=places.home)
    policy.own_code = tuple(find_own_code(policy.paths.roots))
    policy.sandbox = build_sandbox(tree, policy, env)
    policy.granted = tuple(_list_granted(tree))
    return policy


def _list_granted(tree: Tree) -> Iterator[Path]:
    """Where MCP servers may write, used or not, right or wrong."""
    rows = tree.node_or(("mcp", "servers"), [])
    if rows:
        yield tree.places.resolve_granted(str(tree.places.home / "mcp"))
    for row in rows if isinstance(rows, list) else ():
        folders = row.get("folders") if isinstance(row, dict) else None
        for each in folders if isinstance(folders, list) else ():
            yield tree.places.resolve_granted(str(each))


def build_sandbox(tree: Tree, policy: SecurityPolicy,
                  env: Mapping[str, str]) -> Sandbox:
    """What stands around every command; the doctor asks it `describe`."""
    workspace, *roots = policy.paths.roots
    return Sandbox(
        workspace, tree.decode("security.sandbox", SandboxSettings),
        tree.decode("security.resources", ResourceSettings), env,
        roots=roots, commands=[c for c in policy.settings.allowed_commands
                               if c not in UTILITIES],
        own=OWN_DIRECTORIES, read_only=policy.own_code,
        hidden=[*_config_files(workspace.parent, tree.places.home.resolve()),
                *find_linked(tree.places.home.resolve()),
                *(workspace / name for name in OWN_FILES),
                *_list_earlier(tree.places.home.resolve()),
                *([tree.places.home.resolve()]
                  if policy.paths.holds_home else []),
                *policy.paths.forbidden_inside()],
        passthrough=policy.settings.shell_env_passthrough)


def _list_earlier(home: Path) -> Iterator[Path]:
    """What a restore put aside, keys and all."""
    return home.parent.glob(f"{escape(home.name)}.before-*")


def _config_files(*folders: Path) -> list[Path]:
    """Settings and key, should they lie in what a command can see."""
    return [folder / name for folder in dict.fromkeys(folders)
            for name in ("config.toml", "config.toml.bak", "config.history",
                         ".config.apply", ".secret_key",
                         "active_workspace.toml", TRUST_FOLDER, ESTOP)]


def build_tools(tree: Tree, policy: SecurityPolicy, *,
                memory: Memory | None = None,
                names: Iterable[str] | None = None,
                http: Any = None,
                send: SendsText | None = None, asks: Asks | None = None,
                agents: Mapping[str, TakesTasks] = NO_AGENTS,
                tasks: RunsTasks | None = None, reacts: Reacts | None = None,
                notify: Callable[[str], None] | None = None,
                excluded: Iterable[str] = ()) -> list[Tool]:
    """The agent's tools by name (None: those of every prompt, where they
    have what they need; tool_search finds the rest, but for `excluded`,
    agent.excluded_tools and what is not switched on).

    Raises ConfigError for an unknown name, and for a broken one of another
    package, unless `notify` is to hear of it.
    """
    deps = ToolDeps(policy.workspace, policy, memory=memory,
                    jobs=open_jobs(tree),
                    http=http or GuardedClient(check_url, is_public),
                    send=send, asks=asks, agents=agents, tasks=tasks,
                    reacts=reacts, skills=_build_skills(tree),
                    sessions=KeptSessions(tree.places,
                                          partial(build_redactor, tree))
                    if tree.places.trusted else None)
    settings: dict[str, Any] = {
        name: tree.decode(table, struct)
        for name, (table, struct) in TABLES.items()}
    settings["swarm"] = _read_swarms(tree, agents)
    boards = Boards(tree.decode("peripherals", PeripheralsSettings),
                    policy.notify)
    settings |= dict.fromkeys(BOARD_TOOLS, boards)
    agent = tree.decode("agent", AgentSettings)
    out = {*excluded, *agent.excluded_tools}
    off = {name for name, own in settings.items()
           if not getattr(own, "enabled", own)}
    names = None if names is None else list(names)
    served = build_served(tree, policy, names, notify)
    if names is None:
        served = [tool for tool in served if tool.name not in out]
    else:
        known = {tool.name for tool in served}
        if len(names) > 1:
            out |= {*REGISTRY.names()}  # tool_search finds these names alone
        names = [name for name in names if name not in known]
    own = all_tools(deps, names, settings, notify, out | off,
                    agent.offered_tools, tree.places.home / "tools")
    search = next((tool for tool in own if isinstance(tool, ToolSearch)),
                  None)
    served = _leave_out_same_names(served, own, notify or policy.notify)
    if names is None and search is not None \
            and tree.decode("mcp", McpSettings).deferred_loading:
        search.add(tool for tool in served
                   if tool.name not in agent.offered_tools)
        served = [tool for tool in served
                  if tool.name in agent.offered_tools]
    return [*own, *served]


def _leave_out_same_names(served: Iterable[Tool], own: Iterable[Tool],
                          notify: Callable[[str], None]) -> list[Tool]:
    """The tools of servers but for those that would hide one of the
    owner's or of a package."""
    names, kept = {tool.name for tool in own}, []
    for tool in served:
        if tool.name in names:
            notify(f"the MCP tool {tool.name} is left out: there is another "
                   "tool of this name")
        else:
            kept.append(tool)
    return kept


def _read_swarms(tree: Tree, agents: Mapping[str, TakesTasks]
                 ) -> dict[str, SwarmSettings]:
    """[swarms.NAME], where there are agents. Raises ConfigError."""
    return {name: tree.decode(["swarms", name], SwarmSettings)
            for name in tree.names("swarms")} if agents else {}


def _build_skills(tree: Tree) -> Any:
    """None where none was ever accepted: one look at the disk."""
    if not (tree.places.home / "accepted_skills").is_dir():
        return None
    from claw.wiring.tools.skills import build_skills
    return build_skills(tree)


def _write_skills(tree: Tree, tools: Iterable[Tool]) -> tuple[str, ...]:
    """The prompt's section of skills, where they can be read."""
    if not any(tool.name == "read_skill" for tool in tools):
        return ()
    from claw.tools.skills.tool import write_section
    from claw.wiring.tools.skills import build_skills
    return (write_section(build_skills(tree)),)


def build_served(tree: Tree, policy: SecurityPolicy,
                 names: Iterable[str] | None = None,
                 notify: Callable[[str], None] | None = None) -> list[Tool]:
    """The tools of MCP servers, all of them or those of these names."""
    if not tree.has("mcp.servers") or not (
            names is None or any("__" in name for name in names)):
        return []
    from claw.wiring.tools.mcp import build_mcp_tools
    return list(build_mcp_tools(tree, policy, names=names,
                                taken=REGISTRY.names(),
                                notify=notify or policy.notify))


def build_gate(policy: SecurityPolicy, approver: Approves | None, *,
               approve_all: bool,
               keep: Callable[[PermissionSettings], None] | None = None
               ) -> Gate:
    """Approvals in front of every tool call. An "always" holds for the
    person who said it; `keep` writes down what is allowed for a week."""
    asked: Approves = SaysYes() if approve_all else approver or NoApprover()
    policy.approver = asked
    managers: OrderedDict[tuple[str | None, ...],
                          ApprovalManager] = OrderedDict()

    def find_manager(context: TurnContext) -> ApprovalManager:
        who = ((context.channel, context.sender) if context.person is None
               else (context.person,))
        if who not in managers:
            managers[who] = ApprovalManager(
                policy, asked, channel=context.channel or "cli",
                interactive=not isinstance(asked, NoApprover),
                keep=None if context.channel else keep)
            while len(managers) > MANAGERS:
                managers.popitem(last=False)
        return managers[who]

    async def gate(tool: Tool, args: Mapping[str, Any],
                   context: TurnContext) -> str | None:
        refusal = await find_manager(context).gate(tool, args, context)
        if refusal is None and policy.level != "readonly":
            make_private(policy.workspace)
        return refusal
    return gate


def keep_permission(places: Places, made: PermissionSettings) -> None:
    """Write it into config.toml. Raises ConfigError, StorageError."""
    set_table(places, ("autonomy", "permissions", made.id), {
        name: dict(value) if isinstance(value, dict) else value
        for name, value in msgspec.structs.asdict(made).items() if value},
        validate)


def build_prompt_context(tree: Tree, policy: SecurityPolicy, agent: Agent,
              custom: str = "", notify: Callable[[str], None] = lambda _: None
              ) -> PromptContext:
    """Identity files, policy and machine; `custom` stands first. `notify`
    hears of an identity file that does not count."""
    workspace = tree.places.workspace
    return PromptContext(
        custom=custom,
        identity=(read_identity(workspace, notify=notify)
                  if tree.places.trusted else {}),
        autonomy=policy.level, policy=policy.prompt_summary(),
        workspace=str(workspace), model=agent.model,
        extra=_write_skills(tree, agent.tools),
        host=platform.node(), system=platform.system(),
        file_chars=(COMPACT_FILE_CHARS if agent.settings.compact_context
                    else FILE_CHARS))
