"""A file tree of its own: only what a command may see exists in it.

Built in new user and mount namespaces on a tmpfs that then becomes the
root: system directories and tools read-only, the workspace writable,
claw's own files covered, an empty /tmp, a small /dev.
Source: namespaces(7), pivot_root(2), user_namespaces(7).
"""

import os

from . import kernel

DEVICES = ("null", "zero", "full", "random", "urandom")
_RDONLY = 1
_TMPFS = kernel.MS_NOSUID | kernel.MS_NODEV


def unshare(*, network: bool) -> None:
    """New user, mount, process, IPC and (unless `network`) network
    namespaces. The user stays who he is: an unmapped one is nobody."""
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS
                   | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC
                   | (0 if network else kernel.CLONE_NEWNET))
    _put("/proc/self/setgroups", "deny")
    _put("/proc/self/uid_map", f"{uid} {uid} 1")
    _put("/proc/self/gid_map", f"{gid} {gid} 1")


def build(root: str, tmp: str, read: list[str], write: list[str],
          hidden: list[str], read_only: list[str]) -> None:
    """Fill `root` (an empty directory) with the tree; `tmp` becomes /tmp.
    `read_only` are paths in what is writable."""
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", root, "tmpfs", _TMPFS, "mode=755,size=4m")
    os.mkdir(root + "/proc")
    _devices(root + "/dev")
    _bind(tmp, root + "/tmp")
    # Shallow first, so that what lies deeper covers it.
    for path, writable in sorted(
            [(p, False) for p in read] + [(p, True) for p in write],
            key=lambda item: item[0].count("/")):
        _show(root, path, writable=writable)
    for path in find_parents(write, [*read_only, *hidden]):
        _cover(root, path, read_only=False)
    for path in read_only:
        _cover(root, path, read_only=True)
    for path in hidden:
        _hide(root, path)


def finish(root: str, max_tasks: int) -> None:
    """The part that the first process of the new process namespace does:
    its own /proc, then the tree becomes the root."""
    kernel.mount("proc", root + "/proc", "proc",
                 _TMPFS | kernel.MS_NOEXEC)
    if counts_per_namespace():
        # For root RLIMIT_NPROC does not count; 301 is the least allowed.
        _put(root + "/proc/sys/kernel/pid_max", str(max(max_tasks, 301)))
    kernel.make_read_only(root + "/proc")
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
        handle = kernel.open_beneath(root, path)
    except OSError:
        return
    try:
        kernel.cover(handle, read_only=read_only)
    finally:
        os.close(handle)


def _hide(root: str, path: str) -> None:
    if os.path.isdir(root + path):
        kernel.mount("tmpfs", root + path, "tmpfs", _TMPFS | _RDONLY,
                     "mode=755,size=4k")
    elif os.path.exists(root + path):
        _bind("/dev/null", root + path)
        kernel.make_read_only(root + path)


def _devices(folder: str) -> None:
    os.mkdir(folder)
    for name in DEVICES:
        _bind(f"/dev/{name}", f"{folder}/{name}")
    os.mkdir(folder + "/shm")
    kernel.mount("tmpfs", folder + "/shm", "tmpfs", _TMPFS,
                 "mode=1777,size=64m")
    for name, target in (("fd", "/proc/self/fd"),
                         ("stdin", "/proc/self/fd/0"),
                         ("stdout", "/proc/self/fd/1"),
                         ("stderr", "/proc/self/fd/2")):
        os.symlink(target, f"{folder}/{name}")
