"""The frame of the long connection: protobuf, read and written by hand.

    1 SeqID uint64   2 LogID uint64   3 service int32   4 method int32
    5 headers {1 key, 2 value}, repeated   6 payload_encoding string
    7 payload_type string   8 payload bytes   9 LogIDNew string

Fields 1 to 4 are required: they are written even where they are 0. Other
fields are skipped. Pure.
Source: pbbp2.proto of lark-oapi; protobuf.dev/programming-guides/encoding.
"""

from claw.core.value import Value

CONTROL, DATA = 0, 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_U64 = (1 << 64) - 1
_TEXTS = {6: "payload_encoding", 7: "payload_type", 9: "log_id_new"}
_NUMBERS = {1: "seq_id", 2: "log_id", 3: "service", 4: "method"}

Headers = tuple[tuple[str, str], ...]


class Frame(Value):
    """One frame; `method` is CONTROL or DATA."""

    seq_id: int = 0
    log_id: int = 0
    service: int = 0
    method: int = CONTROL
    headers: Headers = ()
    payload_encoding: str = ""
    payload_type: str = ""
    payload: bytes = b""
    log_id_new: str = ""

    def header(self, name: str) -> str:
        """The first header of this name, "" where there is none."""
        return next((v for k, v in self.headers if k == name), "")


def encode(frame: Frame) -> bytes:
    """The bytes of a frame."""
    parts = [_number(n, getattr(frame, name)) for n, name in _NUMBERS.items()]
    for key, value in frame.headers:
        parts.append(_field(5, _field(1, key.encode())
                            + _field(2, value.encode())))
    for n, text in ((6, frame.payload_encoding), (7, frame.payload_type)):
        if text:
            parts.append(_field(n, text.encode()))
    if frame.payload:
        parts.append(_field(8, frame.payload))
    if frame.log_id_new:
        parts.append(_field(9, frame.log_id_new.encode()))
    return b"".join(parts)


def decode(data: bytes) -> Frame:
    """The frame of some bytes. Raises ValueError for what is none."""
    found: dict[str, object] = {}
    headers: list[tuple[str, str]] = []
    for number, value in _fields(data):
        if number in _NUMBERS and isinstance(value, int):
            found[_NUMBERS[number]] = (
                value if number < 3 else _signed32(value))
        elif number in _TEXTS and isinstance(value, bytes):
            found[_TEXTS[number]] = value.decode("utf-8", "replace")
        elif number == 8 and isinstance(value, bytes):
            found["payload"] = value
        elif number == 5 and isinstance(value, bytes):
            headers.append(_header(value))
    return Frame(headers=tuple(headers), **found)  # type: ignore[arg-type]


def _header(data: bytes) -> tuple[str, str]:
    found = {number: value.decode("utf-8", "replace")
             for number, value in _fields(data) if isinstance(value, bytes)}
    return found.get(1, ""), found.get(2, "")


def _fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """(number, value) of each field that holds a number or bytes."""
    found: list[tuple[int, int | bytes]] = []
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise ValueError("a field without a number")
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            found.append((number, value))
            continue
        if kind == _BYTES:
            size, at = _read_varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"a field of wire type {kind}")
        if size > len(data) - at:
            raise ValueError("a field that is cut off")
        if kind == _BYTES:
            found.append((number, data[at:at + size]))
        at += size
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("a number that is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _U64, at
    raise ValueError("a number that is too long")


def _signed32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _varint(value: int) -> bytes:
    value &= _U64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value
