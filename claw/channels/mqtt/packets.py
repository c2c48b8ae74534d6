"""MQTT 5 packets as bytes, and back. Pure.

What a stranger can put into a message never breaks the connection: a
PUBLISH whose topic and number can be read is a PUBLISH, whatever the rest
of it is; text that is not UTF-8 is read with U+FFFD in it.
Source: MQTT 5.0, sections 1.5, 2 and 3.
"""

import struct
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from claw.core.value import Value, hidden, made

CONNECT, CONNACK, PUBLISH, PUBACK = 1, 2, 3, 4
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK = 8, 9, 10, 11
PINGREQ, PINGRESP, DISCONNECT = 12, 13, 14
PING = bytes((PINGREQ << 4, 0))
TEXT_BYTES = 65_535  # the longest string of the wire

PAYLOAD_FORMAT, EXPIRY, CONTENT_TYPE = 0x01, 0x02, 0x03
RESPONSE_TOPIC, CORRELATION, USER = 0x08, 0x09, 0x26
SESSION_EXPIRY, RECEIVE_MAXIMUM, MAX_PACKET = 0x11, 0x21, 0x27
SERVER_KEEP_ALIVE, SERVER_REFERENCE, REASON = 0x13, 0x1C, 0x1F
MAX_QOS, WILDCARDS, SHARED = 0x24, 0x28, 0x2A
ASSIGNED_ID = 0x12
_FORMS = {  # "1", "2", "4" bytes, "v"ariable, "s"tring, "b"inary, "p"air
    PAYLOAD_FORMAT: "1", EXPIRY: "4", CONTENT_TYPE: "s",
    RESPONSE_TOPIC: "s", CORRELATION: "b", 0x0B: "v", SESSION_EXPIRY: "4",
    ASSIGNED_ID: "s", SERVER_KEEP_ALIVE: "2", 0x15: "s", 0x16: "b",
    0x17: "1", 0x18: "4", 0x19: "1", 0x1A: "s", SERVER_REFERENCE: "s",
    REASON: "s", RECEIVE_MAXIMUM: "2", 0x22: "2", 0x23: "2", MAX_QOS: "1",
    0x25: "1", USER: "p", MAX_PACKET: "4", WILDCARDS: "1", 0x29: "1",
    SHARED: "1"}
_SIZES = {"1": ">B", "2": ">H", "4": ">I"}

# By number; a user property is a list of pairs, the others are one value.
Properties = Mapping[int, Any]


class PacketError(ValueError):
    """Bytes that are no packet."""


class Publish(Value):
    """A message as it came. `readable` is false where its properties are
    not."""

    topic: str
    payload: bytes
    qos: int = 0
    number: int = 0
    dup: bool = False
    retain: bool = False
    properties: Properties = made(factory=dict)
    readable: bool = True

    @property
    def user(self) -> Sequence[tuple[str, str]]:
        pairs: Sequence[tuple[str, str]] = self.properties.get(USER, ())
        return pairs


class Reply(Value):
    """Any other packet of a server: the reason codes it gives (one, but
    for SUBACK and UNSUBACK) and the number of what it answers."""

    kind: int
    reasons: tuple[int, ...] = ()
    number: int = 0
    session_present: bool = False
    properties: Properties = made(factory=dict)


class Login(Value):
    """What CONNECT says. `session_s` is how long the server keeps what we
    subscribed to, 0: a session that ends with the connection."""

    client_id: str
    username: str = ""
    password: str = hidden(default="")
    keep_alive_s: int = 30
    session_s: int = 0
    receive_maximum: int = 20
    max_packet: int = 1 << 18


# -- out

def connect(login: Login) -> bytes:
    flags = (0x02 if login.session_s == 0 else 0) \
        | (0x80 if login.username else 0) | (0x40 if login.password else 0)
    body = _string("MQTT") + struct.pack(">BBH", 5, flags,
                                         login.keep_alive_s)
    body += _properties({SESSION_EXPIRY: login.session_s,
                         RECEIVE_MAXIMUM: login.receive_maximum,
                         MAX_PACKET: login.max_packet})
    body += _string(login.client_id)
    if login.username:
        body += _string(login.username)
    if login.password:
        body += _string(login.password)
    return _packet(CONNECT << 4, body)


def subscribe(number: int, filters: Iterable[tuple[str, int]]) -> bytes:
    """`filters` with their options. Retained messages are not asked for
    (0x20)."""
    body = struct.pack(">H", number) + _properties({})
    for name, options in filters:
        body += _string(name) + bytes((options | 0x20,))
    return _packet(SUBSCRIBE << 4 | 2, body)


def unsubscribe(number: int, filters: Iterable[str]) -> bytes:
    return _packet(UNSUBSCRIBE << 4 | 2, struct.pack(">H", number)
                   + _properties({}) + b"".join(map(_string, filters)))


def publish(topic: str, payload: bytes, *, qos: int = 1, number: int = 0,
            properties: Properties | None = None) -> bytes:
    body = _string(topic)
    if qos:
        body += struct.pack(">H", number)
    return _packet(PUBLISH << 4 | qos << 1,
                   body + _properties(properties or {}) + payload)


def puback(number: int) -> bytes:
    return _packet(PUBACK << 4, struct.pack(">H", number))


def disconnect(*, forget: bool = False) -> bytes:
    """A normal end; the session stays, or is forgotten."""
    return _packet(DISCONNECT << 4, b"\0" + _properties(
        {SESSION_EXPIRY: 0}) if forget else b"")


def is_odd(letter: str) -> bool:
    """A character that a broker may hang up on in a topic or a property:
    controls, halves and what Unicode has no character for."""
    return letter == "\ufeff" or unicodedata.category(letter) in (
        "Cc", "Cs", "Cn")


def _packet(first: int, body: bytes) -> bytes:
    return bytes((first,)) + _varint(len(body)) + body


def _properties(properties: Properties) -> bytes:
    found = b""
    for key, value in properties.items():
        for one in (value if key == USER else (value,)):
            found += bytes((key,)) + _value(_FORMS[key], one)
    return _varint(len(found)) + found


def _value(form: str, value: Any) -> bytes:
    if form in _SIZES:
        return struct.pack(_SIZES[form], value)
    if form == "v":
        return _varint(value)
    if form == "p":
        return _string(value[0]) + _string(value[1])
    return _string(value) if form == "s" else _binary(value)


def _string(text: str) -> bytes:
    return _binary(text.encode("utf-8", "replace"))


def _binary(data: bytes) -> bytes:
    if len(data) > TEXT_BYTES:
        raise PacketError(f"a string of {len(data)} bytes does not fit")
    return struct.pack(">H", len(data)) + data


def _varint(number: int) -> bytes:
    found = bytearray()
    while True:
        number, low = divmod(number, 128)
        found.append(low | (0x80 if number else 0))
        if not number:
            return bytes(found)


# -- in

def read(first: int, body: bytes) -> Publish | Reply:
    """A packet of a server. Raises PacketError."""
    kind, reader = first >> 4, _Reader(body)
    if kind == PUBLISH:
        return _read_publish(first, reader)
    if kind == CONNACK:
        present = bool(reader.number(1) & 1)
        return Reply(kind, (reader.number(1),), session_present=present,
                     properties=reader.properties())
    if kind in (SUBACK, UNSUBACK):
        number, properties = reader.number(2), reader.properties()
        return Reply(kind, tuple(reader.rest()), number,
                     properties=properties)
    if kind == PUBACK:
        number = reader.number(2)
        return Reply(kind, *_reason(reader, number))
    if kind == DISCONNECT:
        return Reply(kind, *_reason(reader, 0))
    if kind == PINGRESP:
        return Reply(kind)
    raise PacketError(f"a packet of kind {kind} is not for a client")


def _reason(reader: "_Reader", number: int
            ) -> tuple[tuple[int], int, bool, Properties]:
    """A reason code and properties that may be left out."""
    reason = reader.number(1) if reader.left else 0
    return (reason,), number, False, (
        reader.properties() if reader.left else {})


def _read_publish(first: int, reader: "_Reader") -> Publish:
    qos = first >> 1 & 3
    if qos > 1:
        raise PacketError(f"a message of QoS {qos}: 1 was granted at most")
    topic = reader.string()
    number = reader.number(2) if qos else 0
    readable, properties = True, {}
    try:
        properties = reader.properties()
    except PacketError:
        readable = False
    return Publish(topic, reader.rest(), qos, number, bool(first & 8),
                   bool(first & 1), properties, readable)


class _Reader:
    """A walk through the body of a packet."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise PacketError("a packet ends too early")
        self._at += count
        return self._data[self._at - count:self._at]

    def rest(self) -> bytes:
        return self.take(self.left)

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def varint(self) -> int:
        found = 0
        for shift in (0, 7, 14, 21):
            byte = self.number(1)
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
        raise PacketError("a length of more than four bytes")

    def binary(self) -> bytes:
        return self.take(self.number(2))

    def string(self) -> str:
        return self.binary().decode("utf-8", "replace")

    def properties(self) -> dict[int, Any]:
        inside = _Reader(self.take(self.varint()))
        found: dict[int, Any] = {}
        while inside.left:
            key = inside.number(1)
            if key not in _FORMS:
                raise PacketError(f"no property has the number {key}")
            value = inside._value(_FORMS[key])
            if key == USER:
                found.setdefault(USER, []).append(value)
            else:
                found[key] = value
        return found

    def _value(self, form: str) -> Any:
        if form in "124":
            return self.number(int(form))
        if form == "p":
            return self.string(), self.string()
        if form == "v":
            return self.varint()
        return self.string() if form == "s" else self.binary()
