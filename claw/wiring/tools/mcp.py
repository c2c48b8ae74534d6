"""Settings -> MCP servers, each with its sandbox, and their tools."""

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

from claw.config.tree import Tree
from claw.core.errors import ClawError, ConfigError, NotFoundError
from claw.core.folders import make_private
from claw.core.value import replace
from claw.security.files.paths import OWN_DIRECTORIES, OWN_FILES
from claw.security.policy import SecurityPolicy
from claw.security.sandbox.sandbox import Launch, Sandbox
from claw.security.settings import ResourceSettings, SandboxSettings
from claw.tools.mcp.accepted import AcceptedTools
from claw.tools.mcp.foreign import UnfitError
from claw.tools.mcp.names import name_tool
from claw.tools.mcp.pool import Server
from claw.tools.mcp.settings import McpServerSettings, McpSettings
from claw.tools.mcp.tool import McpTool

_SERVERS = ("mcp", "servers")


def read_servers(tree: Tree) -> list[McpServerSettings]:
    """[[mcp.servers]]. Raises ConfigError."""
    rows = tree.node_or(_SERVERS)
    return [tree.decode([*_SERVERS, str(i)], McpServerSettings)
            for i in range(len(rows) if isinstance(rows, list) else 0)]


def build_server(tree: Tree, settings: McpServerSettings,
                 env: Mapping[str, str] = os.environ) -> Server:
    """A server; nothing is started, and nothing made on the disk. Raises
    ConfigError for one that can't be used."""
    _check(settings)
    accepted = AcceptedTools(tree.places.home, settings)

    @cache
    def sandbox() -> Sandbox:
        make_private(accepted.folder)
        return _build_sandbox(tree, settings, accepted.folder, env)

    def prepare(stdin: int, chat: tuple[str, str] | None) -> Launch:
        launch = sandbox().prepare([settings.command, *settings.args],
                                   stdin=stdin, chat=chat)
        return replace(launch, env={**launch.env, **settings.env})
    return Server(settings, accepted, prepare,
                  in_workspace=_reaches_workspace(tree, settings))


def find_server(tree: Tree, name: str) -> Server:
    """The server of this name. Raises NotFoundError."""
    found = read_servers(tree)
    for settings in found:
        if settings.name == name:
            return build_server(tree, settings)
    known = ", ".join(each.name for each in found)
    raise NotFoundError(
        f"no MCP server is named {name!r}",
        hint=f"one of: {known}" if known
        else f"add it: claw mcp add {name} -- COMMAND")


def build_mcp_tools(tree: Tree, policy: SecurityPolicy, *,
                    names: Iterable[str] | None = None,
                    taken: Collection[str] = (),
                    notify: Callable[[str], None] = lambda _: None
                    ) -> list[McpTool]:
    """The accepted tools of all servers, or those of these names. `notify`
    hears of servers and tools that are left out."""
    if not tree.decode("mcp", McpSettings).enabled:
        return []
    wanted = None if names is None else set(names)
    tools: list[McpTool] = []
    for settings in read_servers(tree):
        try:
            server = build_server(tree, settings)
            found = server.accepted.load()
        except ClawError as error:
            notify(f"the MCP server {settings.name} is left out: "
                   f"{error.message} ({error.hint})")
            continue
        for listed in found.offered:
            name = name_tool(settings.name, listed.name,
                             {*taken, *(tool.name for tool in tools)})
            try:
                tools.append(McpTool(name, listed, server, policy))
            except UnfitError as error:
                notify(f"{name} is left out: {error}")
        if not found.tools and (wanted is None or any(
                name.startswith(name_tool(settings.name, ""))
                for name in wanted)):
            notify(f"the tools of the MCP server {settings.name} are not "
                   f"accepted yet: claw mcp accept {settings.name}")
    return [tool for tool in tools if wanted is None or tool.name in wanted]


def _check(settings: McpServerSettings) -> None:
    where = f"[[mcp.servers]] {settings.name!r}"
    if not settings.name.strip():
        raise ConfigError("an entry of [[mcp.servers]] has no name",
                          hint="give it one: name = \"...\"")
    if settings.transport == "sse":
        raise ConfigError(
            f"{where}: the transport sse was given up by MCP",
            hint='most such servers serve transport = "http" too')
    needed = "command" if settings.transport == "stdio" else "url"
    if not getattr(settings, needed):
        raise ConfigError(f"{where}: {needed} is missing",
                          hint=f"transport = {settings.transport!r} needs it")


def _build_sandbox(tree: Tree, settings: McpServerSettings, folder: Path,
                   env: Mapping[str, str]) -> Sandbox:
    """As that of commands, but for what is the server's own: it works in
    its folder, and sees of the workspace what it was granted."""
    own = tree.decode("security.sandbox", SandboxSettings)
    places = tree.places
    folders = [_grant(tree, settings, each) for each in settings.folders]
    program = shutil.which(settings.command,
                           path=env.get("PATH", os.defpath))
    if program is None:
        raise ConfigError(
            f"[[mcp.servers]] {settings.name!r}: there is no program "
            f"{settings.command!r}", hint="install it, or give its path")
    return Sandbox(
        folder, SandboxSettings(mode=own.mode, enabled=own.enabled,
                                backend=own.backend,
                                network=settings.network),
        tree.decode("security.resources", ResourceSettings), env,
        roots=folders,
        readable=[_grant(tree, settings, each)
                  for each in settings.readable],
        hidden=[places.workspace / name
                for name in (*OWN_DIRECTORIES, *OWN_FILES)],
        commands=[settings.command, *_interpreters(program)])


def _interpreters(program: str) -> list[str]:
    """A script of a virtual environment runs by the Python beside it,
    which may be a link to another installation."""
    return [str(Path(program).with_name(name))
            for name in ("python", "node")
            if Path(program).with_name(name).exists()]


def _reaches_workspace(tree: Tree, settings: McpServerSettings) -> bool:
    workspace = tree.places.workspace.resolve()
    granted = [tree.places.resolve_granted(each) for each in settings.folders]
    return any(path.is_relative_to(workspace)
               or workspace.is_relative_to(path) for path in granted)


def _grant(tree: Tree, settings: McpServerSettings, text: str) -> Path:
    """A folder of the server's table. claw's own settings can't be
    granted, nor can a folder that holds them. Raises ConfigError."""
    home, workspace = (each.resolve() for each in (
        tree.places.home, tree.places.workspace))
    path = tree.places.resolve_granted(text)
    if home.is_relative_to(path) or (path.is_relative_to(home)
                                     and not path.is_relative_to(workspace)):
        raise ConfigError(
            f"[[mcp.servers]] {settings.name!r}: {text} holds claw's own "
            "settings", hint="grant a folder beside them")
    if not path.exists():
        raise ConfigError(
            f"[[mcp.servers]] {settings.name!r}: there is no {path}",
            hint="make it, or take it out of folders and readable")
    return path
