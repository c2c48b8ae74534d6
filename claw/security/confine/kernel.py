"""The system calls that Python has no name for, through ctypes.

Source: the Linux man pages of each call; numbers from the kernel's
unified table (the same on x86-64 and arm64 from 424 on).
"""

import ctypes
import os
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 4, 36
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 24, 38, 22

_SYS_OPEN_TREE, _SYS_MOVE_MOUNT, _SYS_OPENAT2 = 428, 429, 437
_SYS_MOUNT_SETATTR = 442
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}
_AT_EMPTY_PATH, _AT_RECURSIVE = 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_FROM_AND_TO_HANDLES = 1, 0x44
_BENEATH_WITHOUT_LINKS = 0x0C  # RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS
_IN_ROOT = 0x10
_ATTR_RDONLY, _ATTR_NOSUID = 1, 2

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def syscall(number: int, *args: object, what: str) -> int:
    return _check(_libc.syscall(ctypes.c_long(number), *args), what)


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def prctl(option: int, *args: int) -> None:
    padded = [*args, 0, 0, 0, 0][:4]
    _check(_libc.prctl(option, *map(ctypes.c_ulong, padded)),
             f"prctl {option}")


def mount(source: str, target: str, kind: str = "", flags: int = 0,
          data: str = "") -> None:
    _check(_libc.mount(
        os.fsencode(source), os.fsencode(target), os.fsencode(kind),
        ctypes.c_ulong(flags), os.fsencode(data) or None),
        f"mount {target}")


def make_read_only(target: str) -> None:
    """Read-only and nosuid from here down (Linux 5.12)."""
    _set_read_only(-100, os.fsencode(target), 0, target)


def _set_read_only(folder: int, path: bytes, flags: int, what: str) -> None:
    attributes = struct.pack("QQQQ", _ATTR_RDONLY | _ATTR_NOSUID, 0, 0, 0)
    syscall(_SYS_MOUNT_SETATTR, folder, path, _AT_RECURSIVE | flags,
            attributes, ctypes.c_size_t(len(attributes)),
            what=f"mount_setattr {what}")


def open_beneath(root: str, path: str) -> int:
    """A handle (O_PATH) on `path` under `root`, no link on the way.

    Raises OSError, which a link is too."""
    return _open_below(root, path, os.O_PATH, _BENEATH_WITHOUT_LINKS)


def open_in_root(root: str, path: str) -> int:
    """A descriptor to read `path` as a process with this root finds it.

    Raises OSError."""
    return _open_below(root, path, os.O_RDONLY | os.O_NONBLOCK, _IN_ROOT)


def _open_below(root: str, path: str, flags: int, how_found: int) -> int:
    top = os.open(root, os.O_PATH | os.O_CLOEXEC)
    try:
        how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, how_found)
        return syscall(_SYS_OPENAT2, top, os.fsencode(path.lstrip("/")), how,
                       ctypes.c_size_t(len(how)), what=f"open {path}")
    finally:
        os.close(top)


def cover(handle: int, source: int, *, read_only: bool = False) -> None:
    """Mount a file or folder over another or itself; what is a mount can't
    be moved or removed. By handles alone, so that a name that is swapped
    meanwhile changes nothing (Linux 5.12)."""
    tree = syscall(_SYS_OPEN_TREE, source, b"", _OPEN_TREE_CLONE
                   | os.O_CLOEXEC | _AT_EMPTY_PATH | _AT_RECURSIVE,
                   what="open_tree")
    try:
        if read_only:
            _set_read_only(tree, b"", _AT_EMPTY_PATH, "a covered path")
        syscall(_SYS_MOVE_MOUNT, tree, b"", handle, b"",
                _MOVE_FROM_AND_TO_HANDLES, what="move_mount")
    finally:
        os.close(tree)


def enter_root(new_root: str) -> None:
    """Make `new_root` (a mount) the root; the old one is gone."""
    os.chdir(new_root)
    syscall(_SYS_PIVOT_ROOT[os.uname().machine], b".", b".",
            what="pivot_root")
    _check(_libc.umount2(b".", MNT_DETACH), "umount old root")
    os.chdir("/")


def drop_capabilities() -> None:
    """Nothing that is executed from here on gains a capability, not even
    as root. What the process may not drop it never had."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            return  # past the last one, or not permitted
