"""System calls that another process hears of before they are done.

A seccomp filter hands the named calls to a listener, a descriptor. A call
that an earlier filter refuses stays refused: the strictest answer counts.
Source: seccomp_unotify(2), uapi/linux/{seccomp,audit}.h; call numbers of
x86-64 and of the generic table (arm64, riscv64).
"""

from __future__ import annotations

import ctypes
import os
import struct

from . import kernel

_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
_SECCOMP = {"x86_64": 317, "aarch64": 277, "riscv64": 277}
_GENERIC = {
    "pwrite64": 68, "fsync": 82, "fdatasync": 83, "ftruncate": 46,
    "truncate": 45, "unlinkat": 35, "openat": 56, "execve": 221,
    "execveat": 281, "connect": 203, "sendto": 206, "mkdirat": 34,
    "linkat": 37, "symlinkat": 36, "renameat": 38, "renameat2": 276,
    "fchmodat": 53, "memfd_create": 279}
_NUMBERS = {"x86_64": {
    "pwrite64": 18, "fsync": 74, "fdatasync": 75, "ftruncate": 77,
    "truncate": 76, "unlink": 87, "unlinkat": 263, "open": 2, "creat": 85,
    "openat": 257, "execve": 59, "execveat": 322, "connect": 42,
    "sendto": 44, "mkdir": 83, "mkdirat": 258, "rmdir": 84, "link": 86,
    "linkat": 265, "symlink": 88, "symlinkat": 266, "rename": 82,
    "renameat": 264, "renameat2": 316, "chmod": 90, "fchmodat": 268,
    "memfd_create": 319},
    "aarch64": _GENERIC, "riscv64": _GENERIC}
_SET_FILTER, _NEW_LISTENER = 1, 8
_ALLOW, _NOTIFY, _ENOSYS = 0x7FFF0000, 0x7FC00000, 0x00050026


def find_numbers(names: tuple[str, ...]) -> dict[str, int]:
    """The numbers of these calls, of those that this machine has. Raises
    OSError for a machine of another kind."""
    known = _NUMBERS.get(os.uname().machine)
    if known is None:
        raise OSError(f"system calls of {os.uname().machine} are not known "
                      "here")
    return {name: known[name] for name in names if name in known}


def listen(names: tuple[str, ...], absent: tuple[str, ...] = ()) -> int:
    """Filter this process and its children; the listener of these calls.
    Those that are `absent` do as if the kernel knew none. Raises OSError."""
    numbers = find_numbers(names).values()
    machine = os.uname().machine
    code = [(0x20, 0, 0, 4), (0x15, 1, 0, _ARCH[machine]),
            (0x06, 0, 0, _ALLOW), (0x20, 0, 0, 0)]
    for number in numbers:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, _NOTIFY)]
    for number in find_numbers(absent).values():
        code += [(0x15, 0, 1, number), (0x06, 0, 0, _ENOSYS)]
    code.append((0x06, 0, 0, _ALLOW))
    program = b"".join(struct.pack("=HBBI", *line) for line in code)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack(
        "HxxxxxxQ", len(code), ctypes.addressof(buffer)))
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    return kernel.syscall(
        _SECCOMP[machine], ctypes.c_ulong(_SET_FILTER),
        ctypes.c_ulong(_NEW_LISTENER),
        ctypes.c_ulong(ctypes.addressof(header)), what="seccomp")
