"""A system-call filter: no sockets to the outside, no new namespaces, no
set-uid files, and none of the calls that only an exploit wants.

A filter sees the arguments of a call but nothing they point to: clone3 and
openat2, which keep flags and mode in memory, answer ENOSYS, whereupon
programs use clone and openat.

Source: seccomp(2), uapi/linux/{seccomp,filter,audit}.h; call numbers of
x86-64 and of the generic table (arm64, riscv64).
"""

from __future__ import annotations

import ctypes
import os
import struct

from . import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    _Code: TypeAlias = list[tuple[int, int, int, int]]

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7,
               "riscv64": 0xC00000F3}
_SOCKET = {"x86_64": 41, "aarch64": 198, "riscv64": 198}
_SOCKETPAIR = {"x86_64": 53, "aarch64": 199, "riscv64": 199}
_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
# mount umount2 pivot_root unshare setns keyctl add_key request_key bpf
# perf_event_open userfaultfd open_by_handle_at kexec_load init_module
# finit_module delete_module ptrace process_vm_readv process_vm_writev
_DENIED = {
    "x86_64": (165, 166, 155, 272, 308, 250, 248, 249, 321, 298, 323, 304,
               246, 175, 313, 176, 101, 310, 311),
    "aarch64": (40, 39, 41, 97, 268, 219, 217, 218, 280, 241, 282, 265,
                104, 105, 273, 106, 117, 270, 271)}
_DENIED["riscv64"] = _DENIED["aarch64"]
# Which argument is the mode. x86-64: creat chmod fchmod mknod mknodat
# fchmodat fchmodat2; generic: mknodat fchmod fchmodat fchmodat2. (mkdir
# drops the bits by itself.)
_MODE = {"x86_64": {85: 1, 90: 1, 91: 1, 133: 1, 259: 2, 268: 2, 452: 2},
         "aarch64": {33: 2, 52: 1, 53: 2, 452: 2}}
_MODE["riscv64"] = _MODE["aarch64"]
# Which argument are the flags, with the mode after it: open openat
_OPEN = {"x86_64": {2: 1, 257: 2}, "aarch64": {56: 2}, "riscv64": {56: 2}}
# It takes any room at once, before a watcher looks; libc then writes.
_FALLOCATE = {"x86_64": 285, "aarch64": 47, "riscv64": 47}
_CLONE3, _OPENAT2 = 435, 437  # everywhere
# io_uring_setup (it opens sockets unseen), the new mount calls
_DENIED_EVERYWHERE = (425, 428, 429, 430, 431, 432, 433, 442)

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
_EOPNOTSUPP = 0x0005005F
_NEW_NAMESPACE = 0x7E020000  # CLONE_NEW: NS CGROUP UTS IPC USER PID NET
_MAKES_FILE = os.O_CREAT | 0o20000000  # __O_TMPFILE
_SET_ID = 0o6000
_X32 = 0x40000000
_PROGRAMS: dict[tuple[int, ...], bytes] = {}  # compiled before a fork


def restrict(families: tuple[int, ...]) -> str:
    """Filter this process and its children; needs no_new_privs.

    Only sockets of `families` can be made. Raises OSError where the
    machine is of another kind or the kernel refuses.
    """
    program = prepare(families)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack(
        "HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer)))
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.addressof(header))
    return "system-call filter"


def prepare(families: tuple[int, ...]) -> bytes:
    """The filter: wrong architecture or a denied call -> EPERM."""
    if families not in _PROGRAMS:
        _PROGRAMS[families] = _compile(os.uname().machine, families)
    return _PROGRAMS[families]


def _compile(machine: str, families: tuple[int, ...]) -> bytes:
    if machine not in _SOCKET:
        raise OSError(f"no system-call filter for {machine}")
    code = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
            (_RETURN, 0, 0, _EPERM), (_LOAD, 0, 0, 0)]
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _EPERM)]
    for number in _DENIED[machine] + _DENIED_EVERYWHERE:
        code += _rule(number, _answer(_EPERM))
    for number in (_CLONE3, _OPENAT2):
        code += _rule(number, _answer(_ENOSYS))
    code += _rule(_FALLOCATE[machine], _answer(_EOPNOTSUPP))
    code += _rule(_CLONE[machine], _refuse_bits(0, _NEW_NAMESPACE))
    for number, mode in _MODE[machine].items():
        code += _rule(number, _refuse_bits(mode, _SET_ID))
    for number, flags in _OPEN[machine].items():
        # Without these flags the mode's register may hold anything.
        code += _rule(number, [_load(flags), (_ANY_BIT, 1, 0, _MAKES_FILE),
                               *_answer(_ALLOW),
                               *_refuse_bits(flags + 1, _SET_ID)])
    code += _rule(_SOCKETPAIR[machine], _only_sockets((AF_UNIX,)))
    code += _rule(_SOCKET[machine], _only_sockets(families))
    code += _answer(_ALLOW)
    return b"".join(struct.pack("=HBBI", *line) for line in code)


def _rule(number: int, body: _Code) -> _Code:
    """`body`, which ends in an answer, for this call alone."""
    return [(_EQUAL, 0, len(body), number), *body]


def _answer(value: int) -> _Code:
    return [(_RETURN, 0, 0, value)]


def _load(argument: int) -> tuple[int, int, int, int]:
    """The low half of an argument (0 to 5)."""
    return (_LOAD, 0, 0, 16 + 8 * argument)


def _refuse_bits(argument: int, bits: int) -> _Code:
    return [_load(argument), (_ANY_BIT, 0, 1, bits), *_answer(_EPERM),
            *_answer(_ALLOW)]


def _only_sockets(families: tuple[int, ...]) -> _Code:
    """Of netlink only its routes (protocol 0): who asks for his addresses
    needs them, and the others reach far into the kernel."""
    code: _Code = [_load(0)]
    for family in families:
        if family == AF_NETLINK:
            code += [(_EQUAL, 0, 4, family), _load(2), (_EQUAL, 0, 1, 0),
                     *_answer(_ALLOW), *_answer(_EPERM)]
        else:
            code += [(_EQUAL, 0, 1, family), *_answer(_ALLOW)]
    return [*code, *_answer(_EPERM)]
