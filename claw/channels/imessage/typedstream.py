"""The text of an attributedBody; pure.

The column holds an NSAttributedString as NSArchiver writes it, a
"typedstream": a header, then values, each behind the string of its type.
Strings and classes are written once and named by number after that. The
first value of an attributed string is the NSString that it is about; what
follows (the attributes) is not read.

    04 0B "streamtyped" 81 E8 03      version 4, system 1000
    84 01 "@"                         a new type: an object
    84                                a new object, and its class:
    84 84 12 "NSAttributedString" 00  a new class of a new name, version 0
    84 84 08 "NSObject" 00 85         the class above it, and none above that
    92                                a known type, the first: an object
    84 84 84 08 "NSString" 01 94      an NSString, below the third object
    84 01 "+" 06 "Hello!" 86          a new type: bytes; end of the NSString

A number is one byte, or 81 and two, or 82 and four bytes, little endian.
Source: crabstep's and pytypedstream's descriptions of the format.
"""

from typing import TypeVar

T = TypeVar("T")
MOST_BYTES = 1 << 20
_INT16, _INT32, _NEW, _NIL = 0x81, 0x82, 0x84, 0x85
_FIRST_NUMBER = -110  # 0x92: what names the first string or object
_TAGS = range(-128, _FIRST_NUMBER)
_ATTRIBUTED = frozenset((b"NSAttributedString", b"NSMutableAttributedString"))
_STRINGS = frozenset((b"NSString", b"NSMutableString"))


def read_text(blob: bytes) -> str:
    """The characters of an archived (attributed) string. Raises ValueError
    for anything else; what is no UTF-8 in it is replaced."""
    if len(blob) > MOST_BYTES:
        raise ValueError("the typedstream is too large")
    reader = _Reader(blob)
    reader.skip_header()
    reader.expect_type(b"@")
    names = reader.open_object()
    if names & _ATTRIBUTED:
        reader.expect_type(b"@")
        names = reader.open_object()
    if not names & _STRINGS:
        raise ValueError("the typedstream holds no string")
    reader.expect_type(b"+")
    return reader.take_bytes().decode("utf-8", "replace")


class _Reader:
    """A walk through the bytes, with what was named on the way. An object
    that is no class has no names."""

    def __init__(self, blob: bytes) -> None:
        self._blob = blob
        self._at = 0
        self._strings: list[bytes] = []
        self._objects: list[frozenset[bytes]] = []

    def skip_header(self) -> None:
        if self._number() != 4 or self.take_bytes() != b"streamtyped":
            raise ValueError("that is no typedstream")
        self._number()  # the system's version

    def expect_type(self, wanted: bytes) -> None:
        found = self._string()
        if found != wanted:
            raise ValueError("a value of another type")

    def open_object(self) -> frozenset[bytes]:
        """Enter a new object; the names of its classes."""
        if self._byte() != _NEW:
            raise ValueError("no new object")
        self._objects.append(frozenset())
        return self._classes()

    def take_bytes(self) -> bytes:
        return self._take(self._number())

    def _classes(self) -> frozenset[bytes]:
        """A class and those above it, until one that is known, or none."""
        names: list[bytes] = []
        first = len(self._objects)
        while (tag := self._byte()) == _NEW:
            names.append(self._string())
            self._number()  # the class's version
            self._objects.append(frozenset())
        above = frozenset[bytes]() if tag == _NIL \
            else _find(self._objects, self._signed(tag))
        for number, _ in enumerate(names):
            self._objects[first + number] = above.union(names[number:])
        return above.union(names)

    def _string(self) -> bytes:
        tag = self._byte()
        if tag == _NEW:
            self._strings.append(self.take_bytes())
            return self._strings[-1]
        return _find(self._strings, self._signed(tag))

    def _number(self) -> int:
        return self._signed(self._byte())

    def _signed(self, head: int) -> int:
        """The number that begins with this byte. Lengths of two and four
        bytes have no sign."""
        if head in (_INT16, _INT32):
            return int.from_bytes(self._take(2 if head == _INT16 else 4),
                                  "little")
        value = head - 256 if head > 127 else head
        if value in _TAGS:
            raise ValueError("no number where one should be")
        return value

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        piece = self._blob[self._at:self._at + count] if count >= 0 else b""
        if len(piece) != count:
            raise ValueError("the typedstream breaks off")
        self._at += count
        return piece


def _find(known: list[T], number: int) -> T:
    place = number - _FIRST_NUMBER
    if not 0 <= place < len(known):
        raise ValueError("a number that nothing has")
    return known[place]
