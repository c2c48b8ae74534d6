"""The sandbox, layer by layer: each denial is tried in a real command.

The command runs in a scratch workspace under the settings of the real one;
what it must not reach is planted beside it, and the owner's own settings,
key and memories are among what it tries to open.
"""

import asyncio
import contextlib
import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claw.config.tree import Tree
from claw.core.errors import UnavailableError
from claw.security.files.paths import OWN_DIRECTORIES
from claw.security.policy import SecurityPolicy
from claw.security.sandbox import children
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import (
    AutonomySettings,
    ResourceSettings,
    SandboxSettings,
)
from claw.wiring.checks.audit import tries
from claw.wiring.checks.check import Check, Group
from claw.wiring.tools.build import build_sandbox
from claw.wiring.workspace.place_names import queue_path

SANDBOX = Group("sandbox")
_SECONDS = 60
_SUN_PATH = 100  # a little less than a socket's name may have
_LEAST_PIDS = 301  # the kernel allows no lower pid_max

# what is tried -> what it says where it holds
_HOLDS = {
    "network": "nothing leaves a command over the network",
    "services": "the machine's own sockets are out of reach",
    "outside": "files outside the workspace are out of reach",
    "own": "claw's own memory, state and sessions are out of reach",
    "links": "a link leads nowhere outside",
    "environment": "no key of the environment reaches a command",
    "processes": "other processes are neither seen nor signalled",
    "set_uid": "programs gain no powers, and no set-uid file can be left",
    "namespaces": "clone and unshare make no namespaces",
    "kernel": "mount, ptrace and io_uring are refused",
    "memory": "memory is limited",
    "files": "the size of a file is limited",
    "cpu": "processor time is limited",
    "tasks": "the number of processes is limited",
}


@SANDBOX.check
def check_layers(tree: Tree) -> Iterator[Check]:
    """What the sandbox says of itself, and every denial tried."""
    with tempfile.TemporaryDirectory(prefix="claw-audit-") as scratch:
        bench = _Bench(tree, Path(scratch))
        shelter = bench.sandbox.shelter()
        yield Check("sandbox.layers", "ok" if shelter.complete else "fail",
                    f"{shelter.strategy}: " + "; ".join(
                        (*shelter.active, *shelter.missing)),
                    "see what is missing with: claw doctor; none but a "
                    'complete one: claw config set security.sandbox.mode '
                    "required")
        found = bench.run()
    settings = tree.decode("security.sandbox", SandboxSettings)
    for name, holds in _HOLDS.items():
        if name not in found:
            yield Check(f"sandbox.{name}", "warn", "not tried on this system",
                        "try it by hand")
        elif (passed := found[name]) is None:
            yield Check(f"sandbox.{name}", "ok", holds)
        else:
            yield Check(f"sandbox.{name}", "fail", passed,
                        _explain(name, settings))


def _explain(name: str, settings: SandboxSettings) -> str:
    """How the owner closes what was found open."""
    if settings.effective_mode() == "off":
        return "claw config set security.sandbox.mode auto"
    if name == "network" and settings.network == "on":
        return "claw config set security.sandbox.network off"
    if name == "tasks" and os.getuid() == 0:
        return "run claw as another user: this kernel does not limit root"
    return ("claw doctor says what this system lacks; until then: claw "
            "config set security.sandbox.mode required")


class _Bench:
    """A scratch workspace with what must not be reached beside it."""

    def __init__(self, tree: Tree, scratch: Path) -> None:
        self.workspace = scratch / "workspace"
        self.secret = secrets.token_hex(16)
        self.outside = scratch / "outside"
        self.outside.write_text(self.secret)
        self.own = [self.workspace / name / "probe"
                    for name in OWN_DIRECTORIES]
        for path in self.own:
            path.parent.mkdir(parents=True)
            path.write_text(self.secret)
        self.places = tree.places
        home = Path(os.environ.get("HOME") or self.places.home.parent)
        self.home = home
        self.resources = tree.decode("security.resources", ResourceSettings)
        self.sandbox: Sandbox = build_sandbox(
            tree, SecurityPolicy(
                tree.decode("autonomy", AutonomySettings),
                self.workspace, home=home, config_dir=self.places.home),
            {**os.environ, "CLAW_AUDIT_API_KEY": self.secret})

    def run(self) -> Mapping[str, str | None]:
        """What got through, by try. Raises UnavailableError where the
        command did not run to its end."""
        with contextlib.ExitStack() as stack:
            plan = json.dumps(self._plan(stack))
            launch = self.sandbox.prepare([
                sys.executable, "-I", "-S", "-c",
                Path(tries.__file__).read_text(encoding="utf-8"), plan])
            done = asyncio.run(children.run(launch, _SECONDS))
        if done.code != 0:
            raise UnavailableError(
                "the command that tries the sandbox failed: "
                + done.stderr.decode(errors="replace").strip()[-300:],
                hint="see what works here with: claw doctor")
        found: dict[str, str | None] = json.loads(done.stdout)
        return found

    def _plan(self, stack: contextlib.ExitStack) -> dict[str, Any]:
        """Beside what is planted: a port and sockets that would answer."""
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        names = [name for name in (
            f"\0claw-audit-{self.secret}",
            str(self.outside.with_name("socket"))) if len(name) < _SUN_PATH]
        for name in names:
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(name)
            server.listen()
        places = self.places
        private = [places.config_file, places.key_file,
                   places.workspace / "memory" / "brain.db",
                   queue_path(places), self.home / ".ssh"]
        return {
            "port": port.getsockname()[1], "sockets": names,
            "outside": [str(self.outside), *map(str, private)],
            "own": [str(path) for path in self.own],
            "secret": self.secret, "pid": os.getpid(),
            "cmdline": Path("/proc/self/cmdline").read_bytes().hex()
            if os.path.exists("/proc/self/cmdline") else "",
            "memory_bytes": self.resources.max_memory_mb << 20,
            "cpu_s": self.resources.max_cpu_time_seconds,
            "tasks": max(self.resources.max_tasks, _LEAST_PIDS)}
