"""A system-call filter: no sockets to the outside, and none of the calls
that only an exploit wants in a command.

Source: seccomp(2), uapi/linux/{seccomp,filter,audit}.h; call numbers of
x86-64 and of the generic table (arm64, riscv64).
"""

import ctypes
import os
import struct

from . import kernel

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7,
               "riscv64": 0xC00000F3}
_SOCKET = {"x86_64": 41, "aarch64": 198, "riscv64": 198}
# mount umount2 pivot_root unshare setns keyctl add_key request_key bpf
# perf_event_open userfaultfd open_by_handle_at kexec_load init_module
# finit_module delete_module ptrace process_vm_readv process_vm_writev
_DENIED = {
    "x86_64": (165, 166, 155, 272, 308, 250, 248, 249, 321, 298, 323, 304,
               246, 175, 313, 176, 101, 310, 311),
    "aarch64": (40, 39, 41, 97, 268, 219, 217, 218, 280, 241, 282, 265,
                104, 105, 273, 106, 117, 270, 271)}
_DENIED["riscv64"] = _DENIED["aarch64"]
# io_uring_setup (it opens sockets unseen), the new mount calls
_DENIED_EVERYWHERE = (425, 428, 429, 430, 431, 432, 433, 442)

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _EPERM = 0x7FFF0000, 0x00050001
_X32 = 0x40000000


def restrict(families: tuple[int, ...]) -> str:
    """Filter this process and its children; needs no_new_privs.

    Only sockets of `families` can be made. Raises OSError where the
    machine is of another kind or the kernel refuses.
    """
    program = _program(os.uname().machine, families)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack(
        "HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer)))
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.addressof(header))
    return "system-call filter"


def _program(machine: str, families: tuple[int, ...]) -> bytes:
    """The filter: wrong architecture or a denied call -> EPERM."""
    if machine not in _SOCKET:
        raise OSError(f"no system-call filter for {machine}")
    denied = _DENIED[machine] + _DENIED_EVERYWHERE
    code = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
            (_RETURN, 0, 0, _EPERM), (_LOAD, 0, 0, 0)]
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _EPERM)]
    for number in denied:
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _EPERM)]
    code += [(_EQUAL, 1, 0, _SOCKET[machine]), (_RETURN, 0, 0, _ALLOW),
             (_LOAD, 0, 0, 16)]  # the low half of the first argument
    for family in families:
        code += [(_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    code += [(_RETURN, 0, 0, _EPERM)]
    return b"".join(struct.pack("=HBBI", *line) for line in code)
