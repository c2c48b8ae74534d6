"""Brings a skill in from a folder, an archive or a git repository.

Nothing of it is run, and nothing is written but plain files below
<home>/skills. git only fetches: what it got comes out as a tar file, so that
no link is made and no filter or hook of a repository starts.
"""

import contextlib
import fcntl
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from claw.core.errors import (
    MissingPartError,
    StorageError,
    UnavailableError,
    UsageError,
)
from claw.core.failpoint import reach
from claw.core.folders import make_private
from claw.tools.skills.archive import ENDINGS, read_archive, unpack
from claw.tools.skills.folder import (
    MOST_BYTES,
    Files,
    read_folder,
    write_folder,
)
from claw.tools.skills.manifest import SKILL_MD, SKILL_TOML, read_manifest

_GIT = re.compile(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:")
_GIT_S = 180
_CLONE_BYTES = 4 * MOST_BYTES
_SAFE = ("protocol.ext.allow=never", "core.hooksPath=/dev/null",
         "core.fsmonitor=false", "transfer.fsckObjects=true",
         "gc.auto=0", "fetch.recurseSubmodules=false")


def read_source(source: str, name: str | None) -> tuple[str, Files]:
    """The one skill of a source, or that of this name, and its files.
    Raises as `fetch` and `choose`."""
    folder = Path(source.rstrip("/")).expanduser().absolute().name
    return choose(fetch(source), name, folder)


def fetch(source: str) -> Files:
    """All files of a source. Raises UsageError, RefusedError,
    UnavailableError, MissingPartError."""
    if not source.strip() or source.startswith("-"):
        raise UsageError(f"{source!r:.80} is no path and no address")
    if _GIT.match(source):
        return _clone(source)
    path = Path(source).expanduser()
    if path.is_dir():
        folder = path.resolve()
        try:
            return read_folder(folder.parent, folder.name)
        except OSError as error:
            raise UsageError(f"{path} can't be read: {error.strerror}"
                             ) from error
    if path.name.lower().endswith(ENDINGS) and path.exists():
        return read_archive(path)
    raise UsageError(
        f"{source!r:.200} is no folder, archive or git address",
        hint="archives: " + ", ".join(ENDINGS)
        if path.exists() else "there is no such file")


def choose(files: Files, name: str | None, folder: str = "") -> tuple[
           str, Files]:
    """The one skill in there, or that of this name, and its files.
    `folder` is what it is called where its manifest lies at the top. Raises
    UsageError, RefusedError."""
    found = _find_skills(files)
    if not found:
        raise UsageError(f"there is no {SKILL_MD} in {folder or 'it'}",
                         hint="a skill is a folder with that file: "
                         "docs/skills.md shows one")
    if name is None and len(found) > 1:
        names = sorted(os.path.basename(above.rstrip("/")) for above in found)
        raise UsageError("there are several skills in it",
                         hint="choose one with --name: "
                         + ", ".join(names[:40]))
    for above in found:
        own = _name_top(files, folder) if not above \
            else os.path.basename(above.rstrip("/"))
        if name in (None, own):
            inside = {path.removeprefix(above): data
                      for path, data in files.items()
                      if path.startswith(above)}
            read_manifest(inside, own)
            return own, inside
    raise UsageError(f"there is no skill {name!r:.80} in it")


def install(home: Path, name: str, files: Files, *, replace: bool) -> Path:
    """Put it into <home>/skills, whole or not at all. Raises UsageError,
    StorageError."""
    target = home / "skills" / name
    draft = target.with_name(f".draft-{name}")
    old = target.with_name(f".old-{name}")
    try:
        with _hold(target.parent):
            # One that was killed may have left either.
            if os.path.lexists(old) and not os.path.lexists(target):
                old.rename(target)
            if os.path.lexists(target) and not replace:
                raise UsageError(f"there is a skill {name} already: {target}",
                                 hint="--replace puts this one in its place")
            try:
                for folder in (draft, old):
                    shutil.rmtree(folder, ignore_errors=True)
                write_folder(draft, files)
                if os.path.lexists(target):
                    target.rename(old)
                    reach("skill aside")
                draft.rename(target)
                reach("skill placed")
            finally:
                for folder in (draft, old):
                    shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise StorageError(f"{target} can't be made: {error.strerror}"
                           ) from error
    return target


@contextlib.contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Make the folder, and keep others from installing there."""
    make_private(folder)
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # a disk without locks
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def _find_skills(files: Files) -> list[str]:
    """The folders with a manifest, "" for the top, as "a/b/"."""
    found = {path[:len(path) - len(os.path.basename(path))]
             for path in files
             if os.path.basename(path) in (SKILL_MD, SKILL_TOML)}
    return [""] if "" in found else sorted(found)


def _name_top(files: Files, folder: str) -> str:
    """At the top of a repository the manifest says the name: what holds it
    may be called otherwise."""
    match = re.search(rb"(?m)^name\s*[:=]\s*[\"']?([A-Za-z0-9_-]{1,64})",
                      files.get(SKILL_TOML) or files[SKILL_MD][:65_536])
    return match[1].decode() if match else folder


def _clone(url: str) -> Files:
    git = shutil.which("git")
    if git is None:
        raise MissingPartError("git is not installed",
                               hint="give a folder or an archive")
    with tempfile.TemporaryDirectory(prefix="claw-clone-") as folder:
        options = [word for each in _SAFE for word in ("-c", each)]
        _run_git([git, *options, "clone", "--quiet", "--bare", "--depth=1",
                  "--single-branch", "--no-tags", "--", url, folder], url)
        # Into a file, which has a limit: a small repository can say much.
        packed = Path(folder, "claw-skill.tar")
        _run_git([git, *options, f"--git-dir={folder}", "archive",
                  "--format=tar", f"--output={packed}", "HEAD"], url)
        return unpack(packed.read_bytes(), url)


def _run_git(command: list[str], url: str) -> None:
    env: Mapping[str, str] = {
        **{name: value for name, value in os.environ.items()
           if not name.startswith("GIT_") or name == "GIT_SSH_COMMAND"},
        "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, timeout=_GIT_S,
            stdin=subprocess.DEVNULL, check=False, preexec_fn=_limit)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{url} did not answer within {_GIT_S} s"
                               ) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise UnavailableError(f"git could not fetch {url}: " + (said or [
            f"it is larger than {_CLONE_BYTES >> 20} MiB, or gave no reason"
            ])[-1])


def _limit() -> None:
    """No file of it grows past what a skill could need."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (_CLONE_BYTES, _CLONE_BYTES))
