"""Servers of the other side, and what stands between."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from claw.core.turn import TurnContext, current_turn
from claw.core.value import replace
from claw.security.policy import SecurityPolicy
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import (
    AutonomySettings,
    ResourceSettings,
    SandboxSettings,
)
from claw.tools.mcp.accepted import AcceptedTools
from claw.tools.mcp.pool import Server
from claw.tools.mcp.settings import McpServerSettings
from claw.tools.mcp.tool import McpTool

HERE = Path(__file__).resolve().parent


class Approver:
    """A person who says the same to everything."""

    def __init__(self, decision):
        self.decision = decision
        self.asked = []

    def can_ask(self):
        return True

    async def approve(self, request):
        self.asked.append(request)
        return self.decision


class Desk:
    """A home, a policy, and servers."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.now = 1000.0
        workspace = home / "workspace"
        workspace.mkdir(parents=True)
        self.policy = SecurityPolicy(
            AutonomySettings(max_actions_per_hour=1000), workspace,
            home=home)

    def server(self, *words, network="off", folders=(), readable=(),
               python=("-I",), **settings) -> Server:
        """A server on stdio: `words` after the name of its script."""
        settings.setdefault("name", "demo")
        script, *rest = words
        found = McpServerSettings(
            command=sys.executable, args=[*python, str(HERE / script), *rest],
            **settings)
        accepted = AcceptedTools(self.home, found, lambda: self.now)
        accepted.folder.mkdir(parents=True, exist_ok=True)

        def prepare(stdin, chat):
            sandbox = Sandbox(
                accepted.folder, SandboxSettings(network=network),
                ResourceSettings(), os.environ, roots=folders,
                readable=[HERE, *readable],
                commands=[sys.executable])
            launch = sandbox.prepare([found.command, *found.args],
                                     stdin=stdin)
            return replace(launch, env={**launch.env, **found.env})
        return Server(found, accepted, prepare)

    def demo(self, *words, **settings) -> Server:
        """The package's own server."""
        return self.server("demo_server.py", *words, python=(),
                           readable=package_folders(), **settings)

    def at(self, url, **settings) -> Server:
        found = McpServerSettings(name="demo", transport="http", url=url,
                                  **settings)
        return Server(found, AcceptedTools(self.home, found,
                                           lambda: self.now), refuse)

    def accept(self, server) -> dict[str, McpTool]:
        """Look, say yes, and give the tools."""
        found, self.listing = asyncio.run(server.look())
        found.accept()
        server.accepted.save(found)
        return self.tools(server)

    def tools(self, server) -> dict[str, McpTool]:
        return {each.name: McpTool(f"demo__{each.name}", each, server,
                                   self.policy)
                for each in server.accepted.load().offered}

    def call(self, tool, turn=None, **args):
        """Call a tool once, in a loop of its own."""
        return self.call_all((tool, args), turn=turn)[0]

    def call_all(self, *calls, turn=None):
        """Call one after the other in one loop; then all is closed."""
        async def execute():
            current_turn.set(turn or TurnContext("agent"))
            try:
                return [await tool.execute(args) for tool, args in calls]
            finally:
                await close(calls[0][0]._server)
        return asyncio.run(execute())


async def close(server):
    for held in server._held.values():
        await held.session.close()


def refuse(stdin, chat):
    raise AssertionError("no program is started for an address")


def package_folders():
    """Where Python finds packages outside its own installation."""
    return [Path(path) for path in sys.path
            if path.startswith("/") and os.path.isdir(path)
            and not Path(path).is_relative_to(sys.prefix)]


@contextmanager
def http_server(*words):
    """The package's server on 127.0.0.1; gives its url."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(HERE / "demo_server.py"), "--http", str(port),
         *words])
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)
