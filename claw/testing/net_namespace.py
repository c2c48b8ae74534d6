"""A network of its own for this process: one interface, one address that is
not the loopback's.

For a process without threads. Needs what unshare(2) needs: root, or user
namespaces that anybody may make. Source: netdevice(7), user_namespaces(7).
"""

import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

from claw.security.confine import kernel

ADDRESS = "10.83.0.1"
_GET_FLAGS, _SET_FLAGS, _SET_ADDRESS = 0x8913, 0x8914, 0x8916
_IFF_UP = 1


def enter() -> None:
    """Leave the machine's network for a new one. Raises OSError."""
    if sys.platform != "linux":
        raise OSError(f"{sys.platform} has no network namespaces")
    user, group = os.getuid(), os.getgid()
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET)
    for name, text in (("setgroups", "deny"),
                       ("uid_map", f"{user} {user} 1"),
                       ("gid_map", f"{group} {group} 1")):
        Path(f"/proc/self/{name}").write_text(text, "ascii")
    set_link(up=True)
    with _control() as control:
        fcntl.ioctl(control, _SET_ADDRESS, struct.pack(
            "16sHH4s8x", b"lo:1", socket.AF_INET, 0,
            socket.inet_aton(ADDRESS)))


def set_link(*, up: bool) -> None:
    """Plug the interface in or pull it out: what is under way then hears
    nothing at all. Raises OSError."""
    with _control() as control:
        asked = fcntl.ioctl(control, _GET_FLAGS, struct.pack("16sH14x", b"lo",
                                                             0))
        (flags,) = struct.unpack_from("H", asked, 16)
        fcntl.ioctl(control, _SET_FLAGS, struct.pack(
            "16sH14x", b"lo", flags | _IFF_UP if up else flags & ~_IFF_UP))


def _control() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
