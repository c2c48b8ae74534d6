"""A file tree of its own: only what a command may see exists in it.

Built in new user and mount namespaces on a tmpfs that then becomes the
root: system directories and tools read-only, the workspace writable,
claw's own files covered, an empty /tmp, a small /dev.
Source: namespaces(7), pivot_root(2), user_namespaces(7).
"""

from __future__ import annotations

import os

from . import kernel
from .attachments import list_of_other_chats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEVICES = ("null", "zero", "full", "random", "urandom")
_RDONLY, _REMOUNT = 1, 32
_TMPFS = kernel.MS_NOSUID | kernel.MS_NODEV


def enter(plan: dict[str, Any]) -> str:
    """New namespaces with the plan's tree in `root` ("": it is the root
    already); `finish` does the rest. Returns what is active."""
    flags = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC
    if plan["served"]:
        kernel.unshare(flags)
    else:
        unshare(plan, kernel.CLONE_NEWUSER | flags)
        build(plan)
    _cover_all(plan)
    return "own file tree, network and process table"


def serve(plan: dict[str, Any]) -> None:
    """Be in a tree that commands can start from, each in namespaces of its
    own but for users and network (which has nothing in it)."""
    unshare(plan, kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
    build(plan)
    # A new /proc can be mounted only where an old one can be seen.
    _bind("/proc", plan["root"] + "/proc")
    kernel.enter_root(plan["root"])


def unshare(plan: dict[str, Any], flags: int) -> None:
    """New namespaces, that of users among them and (without the plan's
    network) that of the network. The user stays who he is: an unmapped one
    is nobody."""
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(flags | (0 if plan["network"] else kernel.CLONE_NEWNET))
    _put("/proc/self/setgroups", "deny")
    _put("/proc/self/uid_map", f"{uid} {uid} 1")
    _put("/proc/self/gid_map", f"{gid} {gid} 1")


def build(plan: dict[str, Any]) -> None:
    """What is the same for every command, in the plan's `root` (any
    directory), which is read-only then."""
    root, write = plan["root"], plan["write"]
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", root, "tmpfs", _TMPFS, "mode=755,size=4m")
    os.mkdir(root + "/proc")
    os.mkdir(root + "/tmp")
    _devices(root + "/dev")
    # Shallow first, so that what lies deeper covers it.
    for path in _sort([*plan["read"], *write]):
        _show(root, path, writable=path in write)
    for path, text in plan["files"].items():
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        _put(root + path, text)
    kernel.mount("none", root, flags=_TMPFS | _REMOUNT | kernel.MS_BIND
                 | _RDONLY)


def _cover_all(plan: dict[str, Any]) -> None:
    """What belongs to one command: its /tmp, and what is kept from it."""
    root, write, hidden = plan["root"], plan["write"], plan["hidden"]
    kernel.mount("tmpfs", root + "/dev/shm", "tmpfs", _TMPFS,
                 "mode=1777,size=64m,nr_inodes=1024")
    _mount_tmp(plan)
    for path in find_parents(write, [*plan["read_only"], *hidden]):
        _cover(root, path, read_only=False)
    for path in plan["read_only"]:
        _cover(root, path, read_only=True)
    for path in hidden:
        _hide(root, path, list_inside(write, path))
    if plan["chat"] is not None:
        for folder, shown, _ in list_of_other_chats(
                root + plan["workspace"], plan["chat"]):
            _show_only(folder, shown)


def _mount_tmp(plan: dict[str, Any]) -> None:
    """An empty /tmp, with the paths in it that a command may see."""
    root = plan["root"]
    seen = [(path, os.open(root + path, os.O_PATH | os.O_CLOEXEC))
            for path in _sort([*plan["read"], *plan["write"]])
            if path.startswith("/tmp/") and os.path.exists(root + path)]
    kernel.mount("tmpfs", root + "/tmp", "tmpfs", _TMPFS,
                 f"mode=1777,size={plan['max_tmp']},"
                 f"nr_inodes={plan['max_files']}")
    for path, handle in seen:
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            os.makedirs(root + path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            os.mknod(root + path)
        there = os.open(root + path, os.O_PATH | os.O_CLOEXEC)
        kernel.cover(there, handle)
        os.close(there)
        os.close(handle)


def finish(plan: dict[str, Any]) -> None:
    """The part that the first process of the new process namespace does:
    its own /proc, then the tree becomes the root."""
    root = plan["root"]
    kernel.mount("proc", root + "/proc", "proc",
                 _TMPFS | kernel.MS_NOEXEC)
    if counts_per_namespace():
        # For root RLIMIT_NPROC does not count; 301 is the least allowed.
        _put(root + "/proc/sys/kernel/pid_max",
             str(max(plan["tasks"], 301)))
    kernel.make_read_only(root + "/proc")
    if root:
        kernel.enter_root(root)


def counts_per_namespace() -> bool:
    """Whether pid_max belongs to the namespace (Linux 6.14). Before, it
    is the whole machine's and must not be touched."""
    major, minor = os.uname().release.split(".")[:2]
    digits = "".join(c for c in minor if c.isdigit()) or "0"
    return (int(major), int(digits)) >= (6, 14)


def _put(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _bind(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    kernel.mount(source, target, flags=kernel.MS_BIND | kernel.MS_REC)


def _sort(paths: list[str]) -> list[str]:
    return sorted(paths, key=lambda path: path.count("/"))


def _show(root: str, path: str, *, writable: bool) -> None:
    if not os.path.exists(path):
        return
    if os.path.islink(path) and path.count("/") == 1:
        os.symlink(os.readlink(path), root + path)  # /bin -> usr/bin
        return
    _bind(os.path.realpath(path), root + path)
    if not writable:
        kernel.make_read_only(root + path)


def find_parents(write: list[str], kept: list[str]) -> list[str]:
    """Folders between a writable one and a path in it that is kept from
    commands, outermost first: moved away with it, they could be made anew.
    """
    found = set()
    for path in kept:
        above = os.path.dirname(path)
        while any(above.startswith(root + "/") for root in write):
            found.add(above)
            above = os.path.dirname(above)
    return sorted(found - set(write), key=len)


def _cover(root: str, path: str, *, read_only: bool) -> None:
    """Pin `path`, or show it read-only, where it is there. A link stays a
    link: where it leads, only what a command may see exists."""
    try:
        handle = kernel.open_beneath(root or "/", path)
    except OSError:
        return
    try:
        kernel.cover(handle, handle, read_only=read_only)
    finally:
        os.close(handle)


def list_inside(write: list[str], hidden: str) -> list[str]:
    """What a command may write although it lies in a hidden folder: the
    default workspace in claw's home, where ~ may be written too."""
    return [path for path in _sort(write) if path.startswith(hidden + "/")]


def _hide(root: str, path: str, shown: list[str]) -> None:
    if os.path.isdir(root + path):
        seen = [(each, kernel.open_beneath(root or "/", each))
                for each in shown if os.path.isdir(root + each)]
        kernel.mount("tmpfs", root + path, "tmpfs", _TMPFS,
                     "mode=755,size=64k")
        for each, handle in seen:
            os.makedirs(root + each, exist_ok=True)
            there = os.open(root + each, os.O_PATH | os.O_CLOEXEC)
            kernel.cover(there, handle)
            os.close(there)
            os.close(handle)
        kernel.mount("none", root + path, flags=_TMPFS | _REMOUNT
                     | kernel.MS_BIND | _RDONLY)
    elif os.path.exists(root + path):
        _bind("/dev/null", root + path)
        kernel.make_read_only(root + path)


def _show_only(folder: str, names: list[str]) -> None:
    """Cover a folder but for these files in it. Links stay hidden."""
    seen = []
    for name in names:
        try:
            seen.append((name, kernel.open_beneath(folder, name)))
        except OSError:
            continue
    kernel.mount("tmpfs", folder, "tmpfs", _TMPFS, "mode=700,size=1m")
    for name, handle in seen:
        target = f"{folder}/{name}"
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            os.mkdir(target)
        else:
            os.mknod(target)
        there = os.open(target, os.O_PATH | os.O_CLOEXEC)
        kernel.cover(there, handle)
        os.close(there)
        os.close(handle)
    kernel.make_read_only(folder)


def _devices(folder: str) -> None:
    os.mkdir(folder)
    for name in DEVICES:
        _bind(f"/dev/{name}", f"{folder}/{name}")
    os.mkdir(folder + "/shm")
    for name, target in (("fd", "/proc/self/fd"),
                         ("stdin", "/proc/self/fd/0"),
                         ("stdout", "/proc/self/fd/1"),
                         ("stderr", "/proc/self/fd/2")):
        os.symlink(target, f"{folder}/{name}")
