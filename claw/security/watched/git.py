"""What git would run in the workspace: its settings and hooks, before a
command and after it.

A command may use git, and git writes its settings. But a setting that runs
a program, or a hook, would run outside the sandbox when the owner next
calls git there: those are put back, or taken out where they are new.

What is looked at has a role: "config", "hook" (info/attributes is treated
as one: git itself writes neither), "hooks" (their folder, or a link on the
way to it), "pointer" (a .git or commondir that leads elsewhere),
"unreadable" (a folder).
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from claw.security.visible import visible
from claw.security.watched.files import (
    Store,
    digest,
    is_folder,
    is_inside,
    look,
    open_below,
    open_parent,
    read,
    replace,
)
from claw.security.watched.gitconfig import Entry, decode, parse, remove
from claw.security.watched.repositories import LIMIT, Walk, judge_pointer

TOO_MANY = ("not every folder of the workspace could be searched for "
            f"planted git repositories (more than {LIMIT:,}, or not "
            "readable): before you use git in one that a command made, look "
            "at its .git/config and .git/hooks")
_CONFIGS = ("config", "config.worktree")
_DEEPEST = 10  # as far as git itself follows includes
_REMEMBERED = 10_000
_further: dict[str, list[Entry]] = {}
_MOUNTED = 20
_SHOWN, _SHOWN_CHARS = 5, 200


def look_at(roots: Sequence[Path], store: Store
            ) -> tuple[dict[str, str], bool]:
    """What each file that git minds is, by "role:path", and whether all
    repositories were found."""
    looking = _look(roots, store, lambda path: False)
    return looking.found, looking.walk.complete


def _look(roots: Sequence[Path], store: Store,
          is_new: Callable[[str], bool]) -> "_Looking":
    looking = _Looking(Walk(roots, is_new).run(), store)
    for gitdir in list(looking.walk.found):
        looking.look_into(gitdir)
    for path in looking.walk.pointers:
        looking.look_at_pointer(path)
    for path in looking.walk.unreadable:
        looking.found[f"unreadable:{path}"] = "folder"
    return looking


def list_hook_folders(found: Mapping[str, str]) -> list[Path]:
    """Those that are shown read-only; each costs three mounts."""
    folders = [Path(key.removeprefix("hooks:"))
               for key, what in found.items()
               if key.startswith("hooks:") and what == "folder"]
    return folders[:_MOUNTED]


def undo(before: Mapping[str, str], partly_since: int,
         roots: Sequence[Path], store: Store, refused: int) -> list[str]:
    """Take back what a command did to what git runs; sentences about it.
    `partly_since`: see record. Raises OSError where that can't be done."""
    looking = _look(roots, store, lambda path: (
        f"unreadable:{path}" not in before
        and not _is_older(path, partly_since)))
    after = looking.found
    gone = {(os.path.basename(key), what) for key, what in before.items()
            if key not in after}
    undone: list[str] = []
    left: list[str] = []
    for key, what in after.items():
        if what == before.get(key) or key.startswith("unreadable:") \
                or (os.path.basename(key), what) in gone:
            continue  # as it was, or only moved
        path = key.partition(":")[2]
        is_owners = key not in before and _is_older(path, partly_since)
        why = _undo(key, before.get(key, ""), roots, store,
                    None if is_owners else refused)
        if why:
            shown = visible(f"{os.path.relpath(path, roots[0])} ({why})")
            (left if is_owners else undone).append(shown)
    undone += [visible(f"{os.path.relpath(path, roots[0])} (unreadable)")
               for path in looking.walk.reopened]
    sentences = [] if looking.walk.complete else [TOO_MANY]
    if undone:
        sentences.append(f"git would run what was left in {_name(undone)}: "
                         "that was undone")
    if left:
        sentences.append(f"git will run what stands in {_name(left)}, where "
                         "claw had not looked before: look at it first")
    return sentences


def _name(found: Sequence[str]) -> str:
    more = len(found) - _SHOWN
    return ", ".join(found[:_SHOWN]) + (
        f" and {more} more" if more > 0 else "")


class _Looking:
    """Collects what the files of repositories are."""

    def __init__(self, walk: Walk, store: Store) -> None:
        self.found: dict[str, str] = {}
        self.walk = walk
        self._roots = walk.roots
        self._store = store

    def look_into(self, gitdir: str) -> None:
        for name in _CONFIGS:
            self._look_at_config(f"{gitdir}/{name}", gitdir, 0)
        self._look_at_hook(f"{gitdir}/info/attributes")
        self._look_at_hooks(f"{gitdir}/hooks")

    def look_at_pointer(self, path: str) -> None:
        what = self._keep(path)
        if what:
            self.found[f"pointer:{path}"] = what

    def _look_at_config(self, path: str, gitdir: str, depth: int) -> None:
        if f"config:{path}" in self.found or depth > _DEEPEST:
            return
        what = self._keep(path)
        if what:
            self.found[f"config:{path}"] = what
            if digest(what):
                self._look_further(path, gitdir, what, depth + 1)

    def _look_further(self, path: str, gitdir: str, what: str, depth: int
                      ) -> None:
        """What the settings themselves name in the workspace."""
        if what not in _further:
            if len(_further) > _REMEMBERED:
                _further.clear()
            _further[what] = [
                entry for entry in _parse(self._store.get(what))
                if entry.name == "core.hookspath"
                or entry.section in ("include", "includeif")]
        for entry in _further[what]:
            if entry.section == "core":
                base = (os.path.dirname(gitdir)
                        if gitdir.endswith("/.git") else gitdir)
                self._look_at_hooks(_resolve(base, entry))
            else:
                self._look_at_config(
                    _resolve(os.path.dirname(path), entry), gitdir, depth)

    def _look_at_hooks(self, path: str, *, again: bool = True) -> None:
        hooks: list[str] | None = None
        with open_parent(path, self._roots) as parent:
            if parent is not None:
                name = os.path.basename(path)
                what = look(parent, name)
                if what:
                    self.found[f"hooks:{path}"] = (
                        "folder" if is_folder(what) else what)
                if not is_folder(what):
                    return
                with open_below(parent, name) as folder:
                    hooks = None if folder is None else os.listdir(folder)
        if parent is None:
            self._look_at_way(path)
        elif hooks is None and again and self.walk.reopen(path):
            self._look_at_hooks(path, again=False)
        for name in hooks or ():
            if not name.endswith(".sample"):
                self._look_at_hook(f"{path}/{name}")

    def _look_at_way(self, path: str) -> None:
        """Note the first link on the way to a path in a root."""
        root = max((root for root in self._roots if is_inside(path, root)),
                   key=len, default=None)
        if root is None:
            return
        way = root.rstrip("/")
        for part in path[len(way):].strip("/").split("/"):
            way = f"{way}/{part}"
            if os.path.islink(way):
                self.found[f"hooks:{way}"] = self._keep(way)
                return

    def _look_at_hook(self, path: str) -> None:
        what = self._keep(path)
        if what and not is_folder(what):
            self.found[f"hook:{path}"] = what

    def _keep(self, path: str) -> str:
        if not os.path.lexists(path):  # the usual case, and cheaper
            return ""
        with open_parent(path, self._roots) as parent:
            if parent is not None:
                return self._store.keep(parent, os.path.basename(path))
        self._look_at_way(path)
        return ""


def _is_older(path: str, since: int) -> bool:
    try:
        return bool(since) and os.lstat(path).st_ctime_ns < since
    except OSError:
        return False


def _resolve(base: str, entry: Entry) -> str:
    value = (entry.value or "").encode("latin-1", "replace")
    return os.path.normpath(os.path.join(base, os.fsdecode(value)))


def _undo(key: str, was: str, roots: Sequence[Path], store: Store,
          refused: int | None) -> str | None:
    """Undo one change where it must not stay; why. With nowhere to put
    what is refused it is left as it is."""
    role, _, path = key.partition(":")
    with open_parent(path, roots) as parent:
        if parent is None:
            return None
        name, old = os.path.basename(path), store.get(was)
        what, data = read(parent, name)
        why: str | None = "a link" if role == "hooks" else "a program"
        if role == "pointer":
            why = judge_pointer(path)
        elif role == "config" and digest(what):
            why, clean = _judge(data, old, _build_test(path, roots))
            old = clean if old is None else old
        if not what or is_folder(what) or why is None:
            return None
        if refused is not None:
            replace(parent, name, old, refused,
                    0o755 if was.startswith("program:") else 0o644)
        return why


def _judge(data: bytes, old: bytes | None, bad: Callable[[Entry], bool]
           ) -> tuple[str | None, bytes | None]:
    """Which new settings must not stay, and the file without them."""
    text = decode(data)
    try:
        entries = parse(text)
        clean = remove(text, bad)
    except ValueError as error:
        return f"can't be read: {error}", None
    known = {(entry.name, entry.value) for entry in _parse(old)}
    names = dict.fromkeys(entry.name for entry in entries if bad(entry)
                          and (entry.name, entry.value) not in known)
    return ", ".join(names)[:_SHOWN_CHARS] or None, clean.encode("latin-1")


def _parse(data: bytes | None) -> list[Entry]:
    """The settings; none of what git itself would not read."""
    try:
        return parse(decode(data or b""))
    except ValueError:
        return []


def _build_test(path: str, roots: Sequence[Path]) -> Callable[[Entry], bool]:
    """What must not stay in the settings at `path`."""
    def is_bad(entry: Entry) -> bool:
        if entry.name != "core.worktree":
            return entry.runs_program()
        # Elsewhere git would write over the owner's own files.
        real = os.path.realpath(_resolve(os.path.dirname(path), entry))
        return not any(is_inside(real, root) for root in roots)
    return is_bad
