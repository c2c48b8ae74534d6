"""Which paths the agent may name: a lexical check.

What a path then leads to is checked when it is opened (beneath.py). Only
where claw's own settings and key lead to is looked at here.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from claw.core.errors import DeniedError
from claw.core.value import Value

_ENCODED_PARENT = re.compile(
    r"(?:\.|%2e){2}(?:%2f|%5c)|(?:%2f|%5c)(?:\.|%2e){2}|%2e(?:%2e|\.)|"
    r"\.%2e", re.IGNORECASE)
_CONFIG_FILES = re.compile(
    r"config\.toml(?:\..*)?|active_workspace\.toml|\.secret_key.*|"
    r"\.config\.toml\..*|\.active_workspace\.toml\..*")
# What claw keeps in the workspace for itself, by first path part. What every
# person said stands in them: a tool would read it to another one.
OWN_DIRECTORIES = ("memory", "state", "sessions")
# No system opens a longer one, and its parents are many.
_MOST_CHARS = 4_096
TRUST_FOLDER = "workspaces"  # beside config.toml, see trust.py
OWN_FILES = ("MEMORY_SNAPSHOT.md",)
# Its tasks run later, with the owner's rights and nobody to ask: what a chat
# writes there waits for the owner at his machine.
TASKS_FILE = "HEARTBEAT.md"
# What of the workspace stands in prompts or memories of later turns, by
# the names that are read: where a disk knows no case they find every
# spelling. A change by a command waits for the owner (watched/).
WATCHED_FILES = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md",
                 "USER.md", TASKS_FILE, "BOOTSTRAP.md", "MEMORY.md",
                 *OWN_FILES)
_SNAPSHOT = re.compile(r"\.?MEMORY_SNAPSHOT\.md(?:\..*)?", re.IGNORECASE)


class PathRules(Value):
    """What [autonomy] says of paths.

    `roots` are the workspace and allowed_roots, absolute and resolved;
    `forbidden` is expanded; `home` is the person's, for ~; `config_dir`
    holds config.toml and the key.
    """

    roots: tuple[Path, ...]
    forbidden: tuple[Path, ...]
    workspace_only: bool
    home: Path
    config_dir: Path | None = None

    @property
    def workspace(self) -> Path:
        return self.roots[0]

    def locate(self, path: str) -> tuple[Path, str]:
        """The root to open beneath, and the path relative to it.

        Raises DeniedError ("Path not allowed ...") for what may not be
        named. Reading `relative` with links is the opener's matter.
        """
        target = self._target(path)
        if target is None:
            raise refuse_path(path)
        for root in self.roots:
            if target.is_relative_to(root):
                if self._is_forbidden(target, root):
                    raise refuse_path(path)
                return root, str(target.relative_to(root))
        if self.workspace_only or self._is_forbidden(target):
            raise refuse_path(path)
        return Path("/"), str(target.relative_to("/"))

    def allows(self, path: str) -> bool:
        """Whether a path may be named; an empty one may."""
        try:
            self.locate(path)
        except DeniedError:
            return False
        return True

    def reaches(self, real: Path) -> bool:
        """Whether a file at this resolved path may be used at all."""
        if self.is_own(real):
            return False
        for root in self.roots:
            if real.is_relative_to(root):
                return not self._is_forbidden(real, root)
        return not self.workspace_only and not self._is_forbidden(real)

    def is_own(self, real: Path) -> bool:
        """Whether claw keeps this file for itself: memories, session files
        and state, and what lies beside its configuration (keys, templates,
        tools, and what a restore put aside), but for a workspace or a root
        in there."""
        if self.config_dir is not None \
                and real.is_relative_to(self.config_dir) \
                and not any(real.is_relative_to(root) for root in self.roots
                            if self.config_dir in root.parents):
            return True
        configs = {self.workspace.parent, self.config_dir}
        if (real.parent in configs and _CONFIG_FILES.fullmatch(real.name)) \
                or real in find_linked(self.config_dir):
            return True
        if any(config is not None
               and real.is_relative_to(config / TRUST_FOLDER)
               for config in configs):
            return True
        if self.config_dir is not None and _first_part(
                real, self.config_dir.parent).startswith(
                    f"{self.config_dir.name}.before-"):
            return True
        first = _first_part(real, self.workspace)
        return (first in OWN_DIRECTORIES
                or _SNAPSHOT.fullmatch(first) is not None)

    @property
    def holds_home(self) -> bool:
        """Whether a root holds claw's home, as with -w ~ or ~ among the
        allowed roots."""
        return self.config_dir is not None and not {
            self.config_dir, *self.config_dir.parents}.isdisjoint(self.roots)

    def _target(self, path: str) -> Path | None:
        if (len(path) > _MOST_CHARS or "\0" in path
                or _ENCODED_PARENT.search(path)
                or ".." in re.split(r"[/\\]", path)
                or path.startswith("\\\\")):
            return None
        if path == "~" or path.startswith("~/"):
            return Path(str(self.home) + path[1:])
        if path.startswith("~"):
            return None
        if path.startswith("/"):
            return Path("/" + path.lstrip("/"))
        # A model may drop the leading slash of a path it was shown.
        again = Path("/" + path)
        return (again if self.workspace in again.parents
                else self.workspace / path)

    def _is_forbidden(self, target: Path, root: Path | None = None) -> bool:
        """Whether a forbidden path holds `target`. Within a root only
        those count that lie inside it: the home may be the workspace, but
        ~/.ssh stays closed."""
        return any(target.is_relative_to(f) for f in self.forbidden
                   if root is None or root in f.parents)

    def forbidden_inside(self) -> list[Path]:
        """Forbidden paths that lie in a root, for the sandbox to cover."""
        return [f for f in self.forbidden
                if any(root in f.parents for root in self.roots)]


def find_linked(config_dir: Path | None) -> list[Path]:
    """Where settings and key really lie, should they be links, as in a
    folder of dotfiles; writing to them would change what is allowed."""
    return [] if config_dir is None else [
        Path(os.path.realpath(link)) for link in (
            config_dir / name for name in ("config.toml", ".secret_key"))
        if link.is_symlink()]


def _first_part(path: Path, folder: Path) -> str:
    """The name in `folder` under which `path` lies; "" where it does not."""
    inside = path.is_relative_to(folder)
    return "".join(path.parts[len(folder.parts):][:1]) if inside else ""


def expand(path: str, home: Path) -> Path:
    """An absolute path of a configured one; ~ is `home`."""
    if path == "~" or path.startswith("~/"):
        path = str(home) + path[1:]
    return Path(path)


def expand_all(paths: Iterable[str], home: Path) -> tuple[Path, ...]:
    return tuple(expand(p, home) for p in paths)


def refuse_path(path: str) -> DeniedError:
    """The error for a path that policy refuses."""
    shown = path if len(path) <= 500 else path[:500] + "..."
    return DeniedError(f"Path not allowed by security policy: {shown}",
                       hint="allowed: the workspace and "
                            "autonomy.allowed_roots")
