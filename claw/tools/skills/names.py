"""Names for a command that has no network: each gets an address of its own.

The command asks for a name over a connection that claw answers itself, and
connects to what it was told, whereupon claw knows the name it means. The
addresses are those for tests of networks (RFC 2544), which lead nowhere.
Source: RFC 1035 4.1 and 4.2.2; resolv.conf(5), use-vc.
"""

import struct
from collections.abc import Callable

NAMESERVER = "198.18.0.53"
RESOLV_CONF = (f"nameserver {NAMESERVER}\n"
               "options use-vc timeout:2 attempts:1\n")
NSSWITCH_CONF = "passwd: files\ngroup: files\nhosts: files dns\n"
HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
_NO_SUCH_NAME, _A = 3, 1
_MOST = 200


class Names:
    """The names that were asked for; `knows` says which of them exist."""

    def __init__(self, knows: Callable[[str], bool]) -> None:
        self._knows = knows
        self._names: list[str] = []

    @property
    def asked(self) -> list[str]:
        return list(self._names)

    def find(self, address: str) -> str:
        """The name that an address stands for, else the address."""
        parts = address.removeprefix("::ffff:").split(".")
        if parts[:2] != ["198", "18"] or len(parts) != 4:
            return address
        number = (int(parts[2]) - 1) * 256 + int(parts[3])
        return self._names[number] if 0 <= number < len(self._names) \
            else address

    def answer(self, query: bytes) -> bytes:
        """The answer to one question. Raises ValueError, IndexError and
        struct.error for what is none."""
        id_, _, questions, *_ = struct.unpack_from(">6H", query)
        if questions != 1:
            raise ValueError("not one question")
        name, end = _read_name(query, 12)
        kind, _ = struct.unpack_from(">2H", query, end)
        known = self._knows(name) and (name in self._names
                                       or len(self._names) < _MOST)
        found = self._address(name) if known and kind == _A else b""
        head = struct.pack(">6H", id_, 0x8180 | (0 if known else
                                                 _NO_SUCH_NAME),
                           1, 1 if found else 0, 0, 0)
        record = struct.pack(">3HIH", 0xC00C, _A, 1, 60, 4) + found \
            if found else b""
        return head + query[12:end + 4] + record

    def _address(self, name: str) -> bytes:
        if name not in self._names:
            self._names.append(name)
        high, low = divmod(self._names.index(name), 256)
        return bytes((198, 18, high + 1, low))


def _read_name(query: bytes, at: int) -> tuple[str, int]:
    labels = []
    while size := query[at]:
        if size > 63:
            raise ValueError("a compressed name in a question")
        labels.append(query[at + 1:at + 1 + size].decode("ascii"))
        at += size + 1
    return ".".join(labels).lower(), at + 1
