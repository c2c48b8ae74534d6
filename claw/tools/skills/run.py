"""Runs a script of a skill in a sandbox of its own.

In its tree are the system's programs, the skill (read-only) and what the
owner has pinned: nothing else is there to be reached, no other program can
be executed, and the network is empty but for pinned hosts. A dry run may
execute the system's programs, changes and connects to nothing, pinned or
not, and notes what was wanted.
"""

import asyncio
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from claw.core.errors import (
    DeniedError,
    NotFoundError,
    UnavailableError,
    UsageError,
)
from claw.core.value import Value, replace
from claw.security.files.paths import OWN_DIRECTORIES, OWN_FILES
from claw.security.sandbox import children
from claw.security.sandbox.readable import command_path, readable_paths
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import ResourceSettings, SandboxSettings
from claw.tools.skills.access import Access
from claw.tools.skills.folder import Files, write_folder
from claw.tools.skills.manifest import list_scripts
from claw.tools.skills.names import HOSTS, NSSWITCH_CONF, RESOLV_CONF
from claw.tools.skills.recorder import Recorder
from claw.tools.skills.watcher import ALL, GUARDED, Watcher

_KEYS = (".ssh", ".gnupg", ".aws", ".config", ".netrc", ".kube", ".docker")
_INTERPRETERS = {".py": "python3", ".sh": "sh", ".bash": "bash",
                 ".js": "node", ".mjs": "node", ".rb": "ruby",
                 ".pl": "perl"}
# Of /etc what programs need to start at all, and what names nobody.
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
        "localtime", "timezone", "terminfo", "locale.alias", "mime.types",
        "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs",
        "pki/ca-trust/extracted", "ca-certificates", "crypto-policies")
# What programs look for by habit; it is not there, or claw's own.
_HARMLESS = ("/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/hosts",
             "/etc/host.conf", "/etc/gai.conf", "/etc/ld.so.preload",
             "/etc/inputrc", "/etc/ssl", "/sys")
_LOADERS = ("/lib*/ld-linux*.so*", "/lib/*/ld-linux*.so*", "/lib/ld-musl*",
            "/usr/bin/env")


class Finished(Value):
    """How a script ended, and what a dry run of it saw."""

    done: children.Finished
    seen: Access


class Runner:
    """Runs scripts for one home and workspace. `settings` say which sandbox
    the owner has; switched off it is on all the same."""

    def __init__(self, home: Path, workspace: Path,
                 settings: SandboxSettings, resources: ResourceSettings,
                 env: Mapping[str, str]) -> None:
        self._home = home
        self._workspace = workspace
        self._settings = settings
        self._resources = resources
        self._env = env

    async def run(self, files: Files, script: str, args: Sequence[str],
                  pinned: Access, timeout_s: float, *, dry: bool = False,
                  chat: tuple[str, str] | None = None,
                  read_only: Sequence[Path] = ()) -> Finished:
        """Run it to its end or the time limit; `chat` and `read_only` are
        those of Sandbox.prepare. Raises NotFoundError, UsageError,
        DeniedError, UnavailableError, StorageError."""
        self._check(pinned)
        if dry:
            pinned = Access(reads=pinned.reads | pinned.writes,
                            programs=pinned.programs)
        command = find_command(files, script, self._path())
        with ExitStack() as stack:
            folder = Path(stack.enter_context(
                tempfile.TemporaryDirectory(prefix="claw-skill-")))
            skill, work = folder / "skill", folder / "work"
            work.mkdir()
            write_folder(skill, files)
            box, usual = self._build(skill, work, pinned, command, dry=dry)
            await asyncio.to_thread(_check_shelter, box)
            recorder = Recorder(usual, [str(folder)], work,
                                self._workspace) if dry else None
            watcher = self._watch(stack, pinned, recorder)
            launch = box.prepare(
                [*command, str(skill / script), *args], chat=chat,
                read_only=read_only if self._workspace == box.workspace
                else (), listener=watcher.descriptor,
                heard=watcher.heard)
            # What a home holds is code too (usercustomize.py, .curlrc),
            # and a granted workspace is not what was accepted.
            launch = replace(launch, env={**launch.env, "HOME": str(work)})
            try:
                done = await children.run(launch, timeout_s,
                                          [watcher.descriptor])
            except (OSError, ValueError) as error:
                raise UsageError(f"the script can't be started: {error}"
                                 ) from error
        if done.failure:
            raise UnavailableError(f"the script was not run: {done.failure}")
        return Finished(done, recorder.access - _implied(command)
                        if recorder else Access())

    def _check(self, pinned: Access) -> None:
        """Raises DeniedError for what no skill is granted, or what has
        become something else since."""
        for path in sorted(pinned.reads | pinned.writes | pinned.programs):
            if reason := forbid(path, self._home, self._workspace):
                raise DeniedError(f"{path} can't be granted to a skill: "
                                  f"{reason}", hint="claw skill accept "
                                  "grants what may be")

    def _path(self) -> str:
        return command_path(self._env.get("PATH", os.defpath),
                            (self._workspace,))

    def _watch(self, stack: ExitStack, pinned: Access,
               recorder: Recorder | None) -> Watcher:
        try:
            return stack.enter_context(Watcher(
                ALL if recorder else GUARDED, pinned.hosts,
                recorder.note if recorder else None))
        except OSError as error:
            raise UnavailableError(
                f"what a script reaches can't be seen here: {error}",
                hint="that needs Linux 5.9 or later") from error

    def _build(self, skill: Path, work: Path, pinned: Access,
               command: Sequence[str], *, dry: bool
               ) -> tuple[Sandbox, tuple[str, ...]]:
        """The sandbox, and what everything may read in it."""
        workspace = str(self._workspace)
        may_read = workspace in pinned.reads | pinned.writes
        read_only = [self._workspace] \
            if may_read and workspace not in pinned.writes else []
        usual = readable_paths(self._path(), [command[0]], Path(os.devnull),
                               network=False, home=self._env.get("HOME"))
        without = [path for path in usual if path.startswith("/etc/")
                   and path.removeprefix("/etc/") not in _ETC]
        outside = [Path(path) for path in sorted(
            pinned.reads | pinned.programs) if path != workspace]
        return Sandbox(
            self._workspace if may_read else work,
            SandboxSettings(backend=self._settings.backend
                            if self._settings.backend == "bubblewrap"
                            else "auto"),
            self._resources, self._env,
            roots=[*([work] if may_read else []),
                   *(Path(path) for path in sorted(pinned.writes)
                     if path != workspace)],
            own=OWN_DIRECTORIES if may_read and not read_only else (),
            hidden=[*(self._workspace / name
                      for name in (*OWN_DIRECTORIES, *OWN_FILES)),
                    *(path for path in (self._home, *_list_keys())
                      if self._workspace in path.parents)]
            if may_read else (),
            read_only=read_only, commands=[command[0]],
            readable=[skill, *outside], without=without,
            files={"/etc/resolv.conf": RESOLV_CONF,
                   "/etc/nsswitch.conf": NSSWITCH_CONF,
                   "/etc/hosts": HOSTS},
            programs=None if dry else [
                *_find_programs(command), *sorted(pinned.programs),
                str(skill)]), (*(path for path in usual
                                 if path not in without), *_HARMLESS)


def _check_shelter(box: Sandbox) -> None:
    shelter = box.shelter()
    if not shelter.complete or "landlock" not in shelter.steps:
        raise DeniedError(
            "a skill's scripts run in a whole sandbox only, and here is "
            "missing: " + "; ".join(shelter.missing),
            hint="see: claw doctor")


def find_command(files: Files, script: str, path: str) -> list[str]:
    """The interpreter of a script, by its first line or its ending. Raises
    NotFoundError, UsageError."""
    scripts = list_scripts(files)
    if script not in scripts:
        raise NotFoundError(f"the skill has no script {script!r:.200}",
                            hint="one of: " + (", ".join(scripts[:20])
                                               or "it has none"))
    first = files[script].split(b"\n", 1)[0][:200].decode(errors="replace")
    words = first[2:].split() if first.startswith("#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:]
                 if not word.startswith("-") and "=" not in word]
    name = os.path.basename(words[0]) if words \
        else _INTERPRETERS.get(os.path.splitext(script)[1])
    if name is None:
        raise UsageError(f"nothing says what runs {script}",
                         hint="its first line does: #!/usr/bin/env python3")
    found = shutil.which(name, path=path)
    if name.startswith("python") and (found is None or _is_script(found)):
        found = sys.executable  # a version manager's script starts more
    if found is None:
        raise UsageError(f"{script} needs {name}, which is not installed")
    return [found]


def _is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def forbid(path: str, home: Path, workspace: Path) -> str:
    """Why a path is never granted; "" where it may be."""
    real = Path(os.path.realpath(path))
    own = Path(os.path.realpath(home))
    if real == Path(os.path.realpath(workspace)):
        return ""
    if own.is_relative_to(real) or real.is_relative_to(own):
        return "it holds claw's own settings"
    for kept in _list_keys():
        if real.is_relative_to(kept) or kept.is_relative_to(real):
            return f"~/{kept.name} holds keys"
    # What is named as a file must not stand for all that lies in it, nor
    # for who listens there.
    return "it is no plain file" if real.exists() and not real.is_file() \
        else ""


def _list_keys() -> list[Path]:
    """Where the owner's keys lie, links resolved."""
    user = Path(os.path.expanduser("~"))
    return [Path(os.path.realpath(user / name)) for name in _KEYS]


def _implied(command: Sequence[str]) -> Access:
    """What a script's own interpreter is, which needs no grant."""
    return Access(programs=frozenset(map(os.path.realpath, command)))


def _find_programs(command: Sequence[str]) -> list[str]:
    """The interpreter, and what the kernel loads to start a program."""
    return [os.path.realpath(command[0]),
            *(path for pattern in _LOADERS for path in glob.glob(pattern))]
