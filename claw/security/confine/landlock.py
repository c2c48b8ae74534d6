"""Landlock: the paths, ports and processes that a process may reach.

Rights by version of the interface (ABI): 1 files, 2 rename across
directories, 3 truncate, 4 TCP, 5 ioctl on devices, 6 signals and
abstract sockets. A right that the kernel does not know is left out.
Source: landlock(7), uapi/linux/landlock.h.
"""

import os
import stat
import struct

from . import kernel

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_EXECUTE, _WRITE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ_FILE | _TRUNCATE | _IOCTL
_BITS = {1: 13, 2: 14, 3: 15, 4: 15}  # of file rights; 16 from ABI 5


def abi() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    try:
        return kernel.syscall(_CREATE, None, 0, 1, what="landlock")
    except OSError:
        return 0


def restrict(read: list[str], write: list[str], *, network: bool,
             hidden: frozenset[str] = frozenset(),
             read_only: frozenset[str] = frozenset(),
             programs: list[str] | None = None) -> str:
    """Confine this process and its children; needs no_new_privs.

    `read` may be read and executed, `write` used in every way (missing
    paths are skipped) but for `hidden` and `read_only` in them, all else is
    out of reach. Where `programs` are given, nothing but these (files, and
    what lies in folders) can be executed. Returns what is active. Raises
    OSError.
    """
    version = abi()
    if version < 1:
        raise OSError("this kernel has no Landlock")
    every = (1 << _BITS.get(version, 16)) - 1
    net = 3 if version >= 4 and not network else 0
    scope = 3 if version >= 6 else 0
    attributes = struct.pack("QQQ", every, net, scope)
    # Older kernels know a shorter structure.
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = kernel.syscall(_CREATE, attributes[:size], size, 0,
                             what="landlock_create_ruleset")
    rules = _Rules(ruleset, hidden, read_only)
    usual = every if programs is None else every & ~_EXECUTE
    try:
        for path in read:
            rules.allow(path, _READ & usual)
        for path in write:
            rules.allow_beneath(path, usual)
        for path in programs or ():
            rules.allow(path, _READ & every)
        kernel.syscall(_RESTRICT, ruleset, 0, what="landlock_restrict_self")
    finally:
        os.close(ruleset)
    return f"Landlock (ABI {version})"


class _Rules:
    """Adds rules to a ruleset; a path that is not there needs none."""

    def __init__(self, ruleset: int, hidden: frozenset[str],
                 read_only: frozenset[str]) -> None:
        self._ruleset = ruleset
        self._hidden, self._read_only = hidden, read_only
        self._above_hidden = _find_above(hidden)
        self._above_read_only = _find_above(read_only)

    def allow_beneath(self, path: str, rights: int,
                      folder: int | None = None) -> None:
        """Rights in `path` but for what is kept from commands.

        A right holds for all that lies beneath and none can be taken away
        again: where something beneath is kept, the rights are given to each
        entry that is there now, and in the folder itself nothing can be
        made, moved or removed. `folder` is a handle on the one that `path`
        lies in.
        """
        if path in self._hidden:
            return
        if path in self._read_only:
            rights &= _READ
        name = path if folder is None else os.path.basename(path)
        if path not in self._above_hidden and (
                path in self._read_only or path not in self._above_read_only):
            self.allow(name, rights, folder)
            return
        try:
            # A link, put here by a command, leads anywhere.
            top = os.open(name, os.O_DIRECTORY | os.O_CLOEXEC | (
                0 if folder is None else os.O_NOFOLLOW), dir_fd=folder)
        except OSError:
            return
        try:
            hides = path in self._above_hidden
            self.allow(".", rights & (_READ_DIR if hides else _READ), top)
            for entry in os.listdir(top):
                self.allow_beneath(f"{path}/{entry}", rights, top)
        finally:
            os.close(top)

    def allow(self, path: str, rights: int, folder: int | None = None
              ) -> None:
        """`path` in `folder` is not followed if it is a link."""
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC | (
                0 if folder is None else os.O_NOFOLLOW), dir_fd=folder)
        except OSError:
            return
        try:
            mode = os.fstat(handle).st_mode
            if stat.S_ISLNK(mode):
                return
            if not stat.S_ISDIR(mode):
                rights &= _FILE_RIGHTS
            rule = struct.pack("=Qi", rights, handle)
            kernel.syscall(_ADD_RULE, self._ruleset, 1, rule, 0,
                           what=f"landlock rule for {path}")
        finally:
            os.close(handle)


def _find_above(paths: frozenset[str]) -> frozenset[str]:
    """All folders that hold one of the paths."""
    found = set()
    for path in paths:
        while (path := os.path.dirname(path)) not in found and path != "/":
            found.add(path)
    return frozenset(found)
