"""The sandbox around every child process: what is used, and how.

Strategies, best first: namespaces of our own (a file tree, a network and
a process table with nothing else in them), bubblewrap where the kernel
forbids those to us, else the machine's own tree. Landlock, a system-call
filter and resource limits stand inside each. What works is found out once
by a probe; from then on every step of it must succeed or nothing runs.
"""

import marshal
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from claw.core.errors import DeniedError, StorageError
from claw.core.value import Value
from claw.security.confine.view import counts_per_namespace, find_parents
from claw.security.readable import command_path, readable_paths
from claw.security.settings import ResourceSettings, SandboxSettings

Strategy: TypeAlias = Literal["namespaces", "bubblewrap", "tree", "off"]

# Names that a command may see; keys and secrets are never among them.
SAFE_VARIABLES = ("PATH", "HOME", "TERM", "LANG", "LC_ALL", "LC_CTYPE",
                  "USER", "SHELL", "TMPDIR")
_LARGEST_FILE = 1 << 30
_OPEN_FILES = 1024
_PROBE_SECONDS = 20
_BOOT = ("import sys; sys.path.append({!r}); "
         "from confine.launch import main; main()")
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


class Launch(Value):
    """A command ready to be started. `scratch` is to be removed after it."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    scratch: Path


class Sandbox:
    """Builds the confined form of commands for one workspace.

    `roots` are writable as the workspace is. `own` are directories of the
    workspace that claw keeps for itself; they are made, so that a command
    can't make them first, and covered, as `hidden` paths are where they
    exist. `read_only` paths of the workspace may be read only, where they
    exist and are no links. `commands` are the names whose installation
    must be readable.
    """

    def __init__(self, workspace: Path, settings: SandboxSettings,
                 resources: ResourceSettings, env: Mapping[str, str], *,
                 roots: Sequence[Path] = (), own: Sequence[str] = (),
                 hidden: Sequence[Path] = (),
                 read_only: Sequence[Path] = (),
                 commands: Sequence[str] = (),
                 passthrough: Sequence[str] = (),
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
        self._read = readable_paths(
            self._env["PATH"], commands, rustup,
            network=settings.network == "on", home=env.get("HOME"))
        if str(rustup) in self._read:
            self._env["RUSTUP_HOME"] = str(rustup)
        self._found: Shelter | None = None

    def prepare(self, command: Sequence[str], *,
                read_only: Sequence[Path] = ()) -> Launch:
        """The confined form of `command`; makes a scratch directory.
        `read_only` come to those of the sandbox for this once.

        Raises DeniedError where the mode is `required` and something is
        missing here, StorageError where a directory can't be made.
        """
        shelter = self.shelter()
        if (self._settings.effective_mode() == "required"
                and not shelter.complete):
            raise DeniedError(
                "the sandbox is required and not complete here: "
                + "; ".join(shelter.missing),
                hint='security.sandbox.mode = "auto" uses what there is')
        if shelter.strategy != "off":
            self._make_own()
        return self._launch(shelter.strategy, shelter.steps, command,
                            read_only, probe=False)

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
        return Shelter("tree", found.steps, found.active, (
            *dict.fromkeys(missing), "commands see the machine's file names "
            "and processes, and can write claw's own files in the "
            "workspace (memory, sessions, state)"))

    def _candidates(self) -> list[Strategy]:
        """The strategies to try, the plain tree last."""
        unwanted: set[Strategy] = {"tree"}
        bwrap = shutil.which("bwrap", path=self._env["PATH"])
        if self._settings.backend == "landlock" or not bwrap:
            unwanted.add("bubblewrap")
        elif self._settings.backend == "bubblewrap":
            unwanted.add("namespaces")
        return [s for s in self._strategies if s not in unwanted] + ["tree"]

    def _probe(self, strategy: Strategy) -> Shelter:
        """Try everything in a child process; what failed is in `missing`."""
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

    def _launch(self, strategy: Strategy, steps: Sequence[str],
                command: Sequence[str], read_only: Sequence[Path] = (), *,
                probe: bool) -> Launch:
        scratch = _scratch()
        read_only = (*self._read_only, *read_only)
        plan = self._plan(strategy, steps, scratch, probe=probe)
        plan["read_only"] = [str(path) for path in read_only]
        if probe and not self.workspace.is_dir():
            plan["workspace"] = "/"
        argv = [sys.executable, "-I", "-S", "-c",
                _BOOT.format(str(Path(__file__).parent)),
                marshal.dumps(plan).hex(), *command]
        if strategy == "bubblewrap":
            argv = self._bubblewrap(scratch, read_only) + argv
        return Launch(tuple(argv), dict(self._env), Path(plan["workspace"]),
                      scratch)

    def _make_own(self) -> None:
        for path in self._own:
            try:
                path.mkdir(exist_ok=True)
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
        limits = {"CPU": self._resources.max_cpu_time_seconds,
                  "FSIZE": _LARGEST_FILE, "NOFILE": _OPEN_FILES, "CORE": 0,
                  "NPROC": self._resources.max_tasks}
        if self._resources.memory_monitoring:
            # Not the address space: node maps far more than it uses.
            limits["DATA"] = self._resources.max_memory_mb << 20
        return {"steps": list(steps), "probe": probe, "limits": limits,
                "wrapped": strategy == "bubblewrap",
                "network": self._settings.network == "on",
                "workspace": str(self.workspace),
                "read": list(self._read),
                "write": [str(self.workspace), *map(str, self._roots)],
                "hidden": [str(p) for p in self._hidden],
                "tmp": str(scratch / "tmp"), "root": str(scratch / "root"),
                "tasks": self._resources.max_tasks}

    def _bubblewrap(self, scratch: Path, read_only: Sequence[Path]
                    ) -> list[str]:
        """bwrap's options for the same tree."""
        args = [shutil.which("bwrap", path=self._env["PATH"]) or "bwrap",
                "--unshare-all", "--die-with-parent", "--proc", "/proc",
                "--dev", "/dev", "--bind", str(scratch / "tmp"), "/tmp"]
        if self._settings.network == "on":
            args.append("--share-net")
        own = [str(Path(__file__).parent)]
        writable = [str(self.workspace), *map(str, self._roots)]
        for path in sorted([*self._read, *own, *writable],
                           key=lambda p: p.count("/")):
            if os.path.islink(path) and path.count("/") == 1:
                args += ["--symlink", os.readlink(path), path]
            elif path in writable:
                args += ["--bind", path, path]
            else:
                args += ["--ro-bind-try", os.path.realpath(path), path]
        kept = [str(path) for path in read_only]
        pinned = find_parents(writable, [*kept, *map(str, self._hidden)])
        for path in (*pinned, *kept):
            # bwrap would follow a link.
            if os.path.exists(path) and os.path.realpath(path) == path:
                how = "--ro-bind" if path in kept else "--bind"
                args += [how, path, path]
        for hidden in self._hidden:
            if hidden.is_dir():
                args += ["--tmpfs", str(hidden), "--remount-ro", str(hidden)]
            elif hidden.exists():
                args += ["--ro-bind", "/dev/null", str(hidden)]
        return [*args, "--"]


def safe_environment(env: Mapping[str, str], workspace: Path,
                     passthrough: Sequence[str]) -> dict[str, str]:
    """What a command's environment holds: the safe names and those the
    owner lets through. HOME is the workspace; nothing asks on a terminal.
    """
    kept = {n: env[n] for n in (*SAFE_VARIABLES, *passthrough) if n in env}
    kept.update(HOME=str(workspace), GIT_CONFIG_NOSYSTEM="1",
                GIT_TERMINAL_PROMPT="0", GIT_TEMPLATE_DIR="")
    return kept


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
