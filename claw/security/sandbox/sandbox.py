"""The sandbox around every child process: what is used, and how.

Strategies, best first: namespaces of our own (a file tree, a network and
a process table with nothing else in them), bubblewrap where the kernel
forbids those to us, else the machine's own tree (the fallback). Landlock, a
system-call filter and resource limits stand inside each. On macOS there is
sandbox-exec ("seatbelt"). What works is found out once
by a probe; from then on every step of it must succeed or nothing runs.
"""

import errno
import marshal
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from claw.core.errors import DeniedError, StorageError
from claw.core.value import Value, made
from claw.security.confine.view import counts_per_namespace
from claw.security.sandbox.bubblewrap import write_options
from claw.security.sandbox.environment import safe_environment
from claw.security.sandbox.launch_server import LaunchServer
from claw.security.sandbox.readable import command_path, readable_paths
from claw.security.sandbox.seatbelt import write_start
from claw.security.settings import ResourceSettings, SandboxSettings

Strategy: TypeAlias = Literal["namespaces", "bubblewrap", "tree",
                               "seatbelt", "off"]

_LARGEST_FILE = 1 << 30
_OPEN_FILES = 1024
_PROBE_SECONDS = 20
_LONGEST_WORD = 1 << 17  # the kernel's MAX_ARG_STRLEN
_SECURITY = Path(__file__).parents[1]  # confine/ is started from here
_BOOT = ("import sys; sys.path.append({!r}); "
         "from confine.{} import main; main()")
# Covered in the server's own tree: any folder that each machine has.
_SERVERS_ROOT = "/sys"
_INNER = ("landlock", "seccomp")


class Shelter(Value):
    """What a probe found. `missing` are sentences for the doctor."""

    strategy: Strategy
    steps: tuple[str, ...]
    active: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether files, own files, network and processes are all kept
        apart: what `required` asks for."""
        return (self.strategy in ("namespaces", "bubblewrap")
                and any(step in self.steps for step in _INNER))

    @property
    def is_fallback(self) -> bool:
        """Whether commands see the machine's own tree."""
        return self.strategy == "tree"


class Launch(Value):
    """A command ready to be started: by `server`, where there is one, with
    `plan` and `command`. `scratch` is to be removed after it."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    scratch: Path
    server: LaunchServer | None = None
    plan: dict[str, Any] = made(factory=dict)
    command: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """What the server's launcher reads. Raises ValueError and OSError
        for words that no command can have."""
        words = [os.fsencode(word) for word in self.command]
        if any(b"\0" in word for word in words):
            raise ValueError("embedded null byte")
        if max(map(len, words)) >= _LONGEST_WORD:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        return marshal.dumps((self.plan, words))


class Sandbox:
    """Builds the confined form of commands for one workspace.

    `roots` are writable as the workspace is. `own` are directories of the
    workspace that claw keeps for itself; they are made, so that a command
    can't make them first, and covered, as `hidden` paths are where they
    exist, but for a workspace or a root in those. `read_only` paths of the
    workspace may be read only, where they exist and are no links. `commands`
    are the names whose installation must be readable, but for the paths in
    `without`. `files` are texts that stand in the tree of the strategy
    "namespaces" alone. Where `programs` are given no others can be executed.
    """

    def __init__(self, workspace: Path, settings: SandboxSettings,
                 resources: ResourceSettings, env: Mapping[str, str], *,
                 roots: Sequence[Path] = (), own: Sequence[str] = (),
                 hidden: Sequence[Path] = (),
                 read_only: Sequence[Path] = (),
                 commands: Sequence[str] = (),
                 readable: Sequence[Path] = (),
                 passthrough: Sequence[str] = (),
                 without: Collection[str] = (),
                 files: Mapping[str, str] | None = None,
                 programs: Sequence[str] | None = None,
                 strategies: Sequence[Strategy] = (
                     "namespaces", "bubblewrap", "tree")) -> None:
        self.workspace = workspace
        self._settings = settings
        self._resources = resources
        self._roots = tuple(roots)
        self._own = tuple(workspace / name for name in own)
        self._hidden = (*self._own, *hidden)
        self._read_only = tuple(read_only)
        self._strategies = tuple(strategies)
        self._env = safe_environment(env, workspace, passthrough)
        self._env["PATH"] = command_path(
            env.get("PATH", os.defpath), (workspace, *roots))
        rustup = Path(env.get("RUSTUP_HOME")
                      or Path(env.get("HOME") or "/") / ".rustup")
        self._read = tuple(path for path in readable_paths(
            self._env["PATH"], commands, rustup,
            network=settings.network == "on", home=env.get("HOME"))
            if path not in without)
        self._files = dict(files or {})
        self._programs = None if programs is None else list(programs)
        self._read += tuple(str(path) for path in readable
                            if str(path) not in self._read)
        if str(rustup) in self._read:
            self._env["RUSTUP_HOME"] = str(rustup)
        self._found: Shelter | None = None
        self._launches = 0
        self._server: LaunchServer | None = None
        self._lock = threading.Lock()

    def prepare(self, command: Sequence[str], *,
                chat: tuple[str, str] | None = None,
                read_only: Sequence[Path] = (),
                hidden: Sequence[Path] = (),
                stdin: int | None = None, listener: int | None = None,
                heard: Sequence[str] = ()) -> Launch:
        """The confined form of `command`; makes a scratch directory.
        `read_only` and `hidden` come to those of the sandbox for this once.
        The command reads the descriptor `stdin`, which the process must
        inherit, or nothing; on the socket `listener`, inherited too, comes a
        listener of the system calls that are `heard`.

        What was sent in another chat than `chat` (channel, chat) is out of
        its reach; None sees all. Raises DeniedError where the mode is
        `required` and something is missing here, StorageError where a
        directory can't be made.
        """
        shelter = self.shelter()
        if (self._settings.effective_mode() == "required"
                and not shelter.complete):
            raise DeniedError(
                "the sandbox is required and not complete here: "
                + "; ".join(shelter.missing),
                hint='security.sandbox.mode = "auto" uses what there is')
        if shelter.is_fallback and "landlock" not in shelter.steps:
            raise DeniedError(
                "no command runs: nothing here would keep claw's own files "
                "from it (" + "; ".join(shelter.missing) + ")",
                hint="see: claw doctor")
        if shelter.strategy != "off":
            self._make_own()
        return self._launch(shelter.strategy, shelter.steps, command,
                            read_only, hidden, probe=False, chat=chat,
                            stdin=stdin, listener=listener, heard=heard)

    def shelter(self) -> Shelter:
        """What is active here, found out at the first call."""
        if self._found is None:
            self._found = self._look()
        return self._found

    def describe(self) -> list[tuple[bool, str]]:
        """For the doctor: (active, sentence) of each part."""
        shelter = self.shelter()
        lines = [(True, text) for text in shelter.active]
        lines += [(False, text) for text in shelter.missing]
        if os.getuid() == 0 and not (shelter.strategy == "namespaces"
                                     and counts_per_namespace()):
            lines.append((False, "the number of processes: the kernel does "
                                 "not limit root (Linux 6.14 can)"))
        backend = self._settings.backend
        if backend in ("firejail", "docker"):
            lines.append((False, f"backend {backend} is not used; claw "
                                 "confines commands itself"))
        return lines

    def _look(self) -> Shelter:
        if self._settings.effective_mode() == "off":
            return Shelter("off", ("limits",), (
                "limits on memory, CPU, files and processes",),
                           ("the sandbox is switched off",))
        missing: list[str] = []
        for strategy in self._candidates():
            found = self._probe(strategy)
            missing += found.missing
            if found.strategy == strategy != "tree":
                return found
        if "landlock" in found.steps:
            missing.append(
                "commands see the names of the machine's files and can "
                "make, move or remove nothing directly in the workspace, "
                "only in its folders")
        return Shelter("tree", found.steps, found.active,
                       tuple(dict.fromkeys(missing)))

    def _candidates(self) -> list[Strategy]:
        """The strategies to try, the plain tree last."""
        if sys.platform == "darwin":
            return ["seatbelt"]
        unwanted: set[Strategy] = {"tree"}
        if self._settings.backend == "landlock" or not self._find_bwrap():
            unwanted.add("bubblewrap")
        elif self._settings.backend == "bubblewrap":
            unwanted.add("namespaces")
        return [s for s in self._strategies if s not in unwanted] + ["tree"]

    def _find_bwrap(self) -> str | None:
        return shutil.which("bwrap", path=self._env["PATH"])

    def _probe(self, strategy: Strategy) -> Shelter:
        """Try everything in a child process; what failed is in `missing`."""
        if strategy == "seatbelt":
            return self._probe_seatbelt()
        first = ["namespaces"] if strategy == "namespaces" else []
        launch = self._launch(strategy, [*first, *_INNER, "limits"],
                              ["true"], probe=True)
        try:
            text = _output(launch)
        finally:
            shutil.rmtree(launch.scratch, ignore_errors=True)
        rows = [line.split("\t", 2) for line in text.splitlines()]
        active = {r[1]: r[2] for r in rows if r[0] == "active" and r[2:]}
        missing = [f"{r[1]}: {r[2]}" for r in rows
                   if r[0] == "missing" and r[2:]]
        if not active and not missing:
            missing = [f"{strategy}: {text.strip() or 'no answer'}"]
        if any(m.startswith("namespaces") for m in missing):
            active.pop("namespaces", None)
        works = (strategy == "bubblewrap" and active) or strategy in active
        label = ("bubblewrap",) if strategy == "bubblewrap" and active else ()
        return Shelter(strategy if works else "tree", tuple(active),
                       (*label, *active.values()), tuple(missing))

    def _probe_seatbelt(self) -> Shelter:
        launch = self._launch("seatbelt", (), ["echo", "works"], probe=True)
        try:
            said = _output(launch).strip()
        except OSError as error:
            said = str(error)
        finally:
            shutil.rmtree(launch.scratch, ignore_errors=True)
        if said != "works":
            return Shelter("tree", (), (), (f"sandbox-exec: {said}",))
        return Shelter("seatbelt", (), ("sandbox-exec profile",), (
            "macOS: untried (nobody has run claw's profile on a Mac yet); "
            "no limit on memory, processes and the disk",))

    def _launch(self, strategy: Strategy, steps: Sequence[str],
                command: Sequence[str], read_only: Sequence[Path] = (),
                hidden: Sequence[Path] = (), *, probe: bool,
                chat: tuple[str, str] | None = None,
                stdin: int | None = None, listener: int | None = None,
                heard: Sequence[str] = ()) -> Launch:
        scratch = _scratch()
        plan = self._plan(strategy, steps, scratch, probe=probe)
        plan.update(
            chat=chat, stdin=stdin, listener=listener, heard=list(heard),
            read_only=[str(path) for path in (*self._read_only, *read_only)],
            hidden=[str(path) for path in (*self._hidden, *hidden)])
        if probe and not self.workspace.is_dir():
            plan["workspace"] = "/"
        if strategy == "seatbelt":
            tmp = str(scratch.resolve() / "tmp")
            return Launch((*write_start(plan, tmp), *command),
                          {**self._env, "TMPDIR": tmp},
                          Path(plan["workspace"]), scratch)
        server = (self._find_server(plan) if strategy == "namespaces"
                  and not probe and stdin is None and listener is None
                  else None)
        argv: list[str] = []
        if server is not None:
            plan.update(served=True, root="")
        else:
            argv = [*_start_python("launch", plan), *command]
        if strategy == "bubblewrap":
            argv = [self._find_bwrap() or "bwrap",
                    *write_options(plan, str(_SECURITY)), *argv]
        return Launch(tuple(argv), dict(self._env), Path(plan["workspace"]),
                      scratch, server, plan, tuple(command))

    def _find_server(self, plan: dict[str, Any]) -> LaunchServer | None:
        """From the second command on: starting Python costs more than all
        the rest. Mounts of files that were replaced since are old."""
        self._launches += 1
        if self._launches < 2 or not os.path.isdir(_SERVERS_ROOT):
            return None
        key = [_identify(path) for path in (*plan["read"], *plan["write"])]
        with self._lock:
            if self._server is None or not self._server.is_usable(key):
                argv = _start_python("serve", {**plan, "root": _SERVERS_ROOT})
                try:
                    self._server = LaunchServer(argv, self._env, key)
                except OSError:
                    return None  # each command starts a Python then
            return self._server

    def _make_own(self) -> None:
        for path in self._own:
            try:
                path.mkdir(0o700, exist_ok=True)
                if path.is_symlink():
                    raise FileExistsError
            except OSError as error:
                reason = ("something else stands there"
                          if isinstance(error, FileExistsError)
                          else error.strerror)
                raise StorageError(
                    f"claw's own directory {path} can't be made: {reason}",
                    hint=f"look at: ls -ld '{path}' '{path.parent}'"
                    ) from error

    def _plan(self, strategy: Strategy, steps: Sequence[str], scratch: Path,
              *, probe: bool) -> dict[str, Any]:
        max_bytes = self._resources.max_disk_mb << 20
        limits = {"CPU": self._resources.max_cpu_time_seconds,
                  "FSIZE": min(_LARGEST_FILE, max_bytes),
                  "NOFILE": _OPEN_FILES, "CORE": 0,
                  "NPROC": self._resources.max_tasks}
        if self._resources.memory_monitoring:
            # Not the address space: node maps far more than it uses.
            limits["DATA"] = self._resources.max_memory_mb << 20
        writable = [str(self.workspace), *map(str, self._roots)]
        return {"steps": list(steps), "probe": probe, "limits": limits,
                "wrapped": strategy == "bubblewrap",
                "network": self._settings.network == "on",
                "workspace": str(self.workspace),
                "read": list(self._read),
                "write": writable,
                "watched": [p for p in writable if os.path.isdir(p)],
                "tmp": str(scratch / "tmp"), "root": str(scratch / "root"),
                "tasks": self._resources.max_tasks,
                "files": self._files, "programs": self._programs,
                "served": False, "max_bytes": max_bytes,
                "max_files": self._resources.max_files,
                # It is memory.
                "max_tmp": min(limits.get("DATA", max_bytes), max_bytes)}


def _start_python(module: str, plan: dict[str, Any]) -> list[str]:
    return [sys.executable, "-I", "-S", "-c",
            _BOOT.format(str(_SECURITY), module),
            marshal.dumps(plan).hex()]


def _identify(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _scratch() -> Path:
    """A new directory with what a launch needs in it."""
    try:
        scratch = Path(tempfile.mkdtemp(prefix="claw-"))
    except OSError as error:
        raise StorageError(
            f"no temporary directory can be made: {error.strerror}",
            hint="set TMPDIR to a directory that can be written") from error
    (scratch / "tmp").mkdir()
    (scratch / "root").mkdir()
    return scratch


def _output(launch: Launch) -> str:
    """What a probe printed. Its standard input stays open until then: an
    ended one tells the launcher to stop."""
    with subprocess.Popen(
            launch.argv, env=launch.env, cwd=launch.cwd,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            process.wait(_PROBE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        assert process.stdout is not None
        return process.stdout.read().decode(errors="replace")
