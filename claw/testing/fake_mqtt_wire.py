"""MQTT 5 packets as a broker reads and writes them.

Knows nothing of claw's own codec: the two are held against each other, and
both against real brokers and clients. Strict where the standard is: what a
client must not send is a Wrong.
"""

import asyncio
import struct
from dataclasses import dataclass, field
from typing import Any

# property number -> reader: bytes of a number, "utf", "bin", "pair", "var"
_KINDS: dict[int, int | str] = {
    1: 1, 2: 4, 3: "utf", 8: "utf", 9: "bin", 11: "var", 17: 4, 18: "utf",
    19: 2, 21: "utf", 22: "bin", 23: 1, 24: 4, 25: 1, 26: "utf", 28: "utf",
    31: "utf", 33: 2, 34: 2, 35: 2, 36: 1, 37: 1, 38: "pair", 39: 4, 40: 1,
    41: 1, 42: 1}
PAIRS = 38


class Wrong(Exception):
    """What a client did that the standard forbids."""


@dataclass
class Packet:
    """What a client sent; `kind` is the number of the standard."""

    kind: int
    flags: int
    body: bytes


async def read_packet(reader: asyncio.StreamReader) -> Packet:
    head = (await reader.readexactly(1))[0]
    size = shift = 0
    while True:
        byte = (await reader.readexactly(1))[0]
        size += (byte & 127) << shift
        shift += 7
        if not byte & 128:
            break
        if shift > 21:
            raise Wrong("a length of more than four bytes")
    return Packet(head >> 4, head & 15, await reader.readexactly(size))


def packet(kind: int, flags: int, body: bytes) -> bytes:
    size, length = len(body), b""
    while True:
        size, low = size // 128, size % 128
        length += bytes([low + 128 if size else low])
        if not size:
            return bytes([kind * 16 + flags]) + length + body


def utf(text: str) -> bytes:
    data = text.encode()
    return struct.pack("!H", len(data)) + data


def props(values: dict[int, Any]) -> bytes:
    out = b""
    for number, value in values.items():
        kind = _KINDS[number]
        for one in value if number == PAIRS else [value]:
            out += bytes([number])
            if isinstance(kind, int):
                out += one.to_bytes(kind, "big")
            elif kind == "utf":
                out += utf(one)
            elif kind == "bin":
                out += struct.pack("!H", len(one)) + one
            else:
                out += utf(one[0]) + utf(one[1])
    size = len(out)
    return (bytes([size]) if size < 128
            else bytes([size % 128 + 128, size // 128])) + out


@dataclass
class Scan:
    """A walk through a body."""

    data: bytes
    at: int = 0

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise Wrong("a packet that ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")

    def utf(self) -> str:
        try:
            text = self.take(self.number(2)).decode()
        except UnicodeDecodeError as error:
            raise Wrong("a string that is not UTF-8") from error
        if "\0" in text:
            raise Wrong("a string with a NUL")
        return text

    def rest(self) -> bytes:
        return self.take(len(self.data) - self.at)

    def props(self) -> dict[int, Any]:
        size = self.number(1)
        if size & 128:
            size = (size & 127) + self.number(1) * 128
        inside, found = Scan(self.take(size)), {}  # type: Scan, dict[int, Any]
        while inside.at < size:
            number = inside.number(1)
            if number not in _KINDS:
                raise Wrong(f"property {number}")
            kind = _KINDS[number]
            if isinstance(kind, int):
                value: Any = inside.number(kind)
            elif kind == "utf":
                value = inside.utf()
            elif kind == "bin":
                value = inside.take(inside.number(2))
            else:
                value = inside.utf(), inside.utf()
            if number == PAIRS:
                found.setdefault(PAIRS, []).append(value)
            elif number in found:
                raise Wrong(f"property {number} twice")
            else:
                found[number] = value
        return found


@dataclass
class Hello:
    """CONNECT."""

    client_id: str
    clean: bool
    keep_alive_s: int
    username: str | None
    password: str | None
    properties: dict[int, Any] = field(default_factory=dict)


def read_hello(found: Packet) -> Hello:
    scan = Scan(found.body)
    if (scan.utf(), scan.number(1)) != ("MQTT", 5):
        raise Wrong("another protocol than MQTT 5")
    flags = scan.number(1)
    if flags & 1:
        raise Wrong("the reserved flag of CONNECT")
    keep_alive_s, properties = scan.number(2), scan.props()
    hello = Hello(scan.utf(), bool(flags & 2), keep_alive_s, None, None,
                  properties)
    if flags & 0x80:
        hello.username = scan.utf()
    if flags & 0x40:
        hello.password = scan.take(scan.number(2)).decode()
    if scan.rest():
        raise Wrong("something behind CONNECT")
    return hello
