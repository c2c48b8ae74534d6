"""HTTP/1.1 for a client: a request as bytes, bytes as an answer. Pure.

Lenient where it does no harm (a bare newline, a folded header), strict
where two readers could see two answers: lengths that disagree, a length
that is no number, another coding than chunked. Source: RFC 9112.
"""

from collections.abc import Mapping

from claw.core.value import Value
from claw.net.carrier import BadHeader

HEAD_BYTES = 64 * 1024
_LINE_BYTES = 4 * 1024  # a chunk's size with its extensions, a trailer
_NAME = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                  b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HEX = frozenset(b"0123456789abcdefABCDEF")
_MOST_DIGITS = 15


class ProtocolError(Exception):
    """What came is no HTTP."""


class Head(Value):
    """Status and headers of an answer, names in lower case; those that
    come twice are joined. `keeps` says that the connection can stay."""

    status: int
    headers: Mapping[str, str]
    keeps: bool


def write_request(method: str, target: str, headers: Mapping[str, str],
                  content: bytes | None) -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {target} HTTP/1.1"]
    if content is not None or method in ("POST", "PUT", "PATCH"):
        headers = {**headers, "content-length": str(len(content or b""))}
    for name, value in headers.items():
        if not name or not _NAME.issuperset(name.encode()) \
                or not value.isascii() or any(c in value for c in "\r\n\0"):
            raise BadHeader(name)
        lines.append(f"{name}: {value.strip()}")
    return "\r\n".join([*lines, "\r\n"]).encode() + (content or b"")


class AnswerParser:
    """Feed it what arrives, cut anywhere; an empty piece says that the
    connection was closed. Every method raises ProtocolError."""

    def __init__(self, method: str = "GET") -> None:
        self.head: Head | None = None
        self.done = False
        self._method = method
        self._data = bytearray()
        self._closed = False
        self._chunked = False
        # "body", or the line that is next: "size", "gap" (behind a chunk)
        # or "trailer".
        self._next = "body"
        self._left: int | None = None  # None: until the connection ends

    @property
    def reusable(self) -> bool:
        """Whether the connection can carry one more request."""
        return self.done and self.head is not None and self.head.keeps \
            and not self._closed and not self._data

    def receive(self, piece: bytes) -> None:
        self._data += piece
        self._closed = self._closed or not piece

    def read_head(self) -> Head | None:
        """The head of the answer; None while it is not there. Interim
        answers (100, 103) are passed over."""
        while self.head is None:
            lines = self._take_head()
            if lines is None:
                return None
            status, newer = _read_status(lines[0])
            if status == 101:
                raise ProtocolError("a switch that nobody asked for")
            if status >= 200:
                self._begin(status, newer, _read_headers(lines[1:]))
        return self.head

    def read_body(self) -> bytes:
        """The next piece of the body; none where more has to come, or
        where it is `done`."""
        while not self.done:
            if self._next == "body":
                return self._take_piece()
            line = self._take_line()
            if line is None:
                break
            self._go_on(line)
        return b""

    def _take_head(self) -> list[bytes] | None:
        """The lines of a head, once it is whole."""
        data = self._data
        if not data.startswith(b"HTTP/1."[:len(data)]):
            raise ProtocolError("no status line")
        ends = [end for end in (data.find(b"\n\r\n"), data.find(b"\n\n"))
                if end >= 0]
        if min(ends, default=len(data)) > HEAD_BYTES:
            raise ProtocolError("too long a head")
        if not ends:
            if self._closed:
                raise ProtocolError("closed before an answer")
            return None
        head = bytes(data[:min(ends)])
        del data[:len(head) + (3 if data[len(head) + 1] == 13 else 2)]
        return [line.removesuffix(b"\r") for line in head.split(b"\n")]

    def _begin(self, status: int, newer: bool,
               headers: dict[str, str]) -> None:
        """What the head says of the body."""
        coding = headers.get("transfer-encoding", "").strip().lower()
        if coding not in ("", "chunked"):
            raise ProtocolError("a coding that is not known")
        lengths = {n.strip() for n in headers["content-length"].split(",")} \
            if "content-length" in headers else set()
        if len(lengths) > 1:
            raise ProtocolError("two lengths")
        if self._method == "HEAD" or status in (204, 304):
            self._left, self.done = 0, True
        elif coding:
            self._chunked, self._next, self._left = True, "size", 0
        elif lengths:
            self._left = _read_length(lengths.pop())
            self.done = not self._left
        words = {w.strip() for w in
                 headers.get("connection", "").lower().split(",")}
        self.head = Head(status, headers, newer and "close" not in words
                         and self._left is not None)

    def _take_piece(self) -> bytes:
        """What is there of the body or the chunk."""
        piece = bytes(self._data[:self._left])
        del self._data[:len(piece)]
        if self._left is None:
            self.done = self._closed and not piece
            return piece
        self._left -= len(piece)
        if not self._left and self._chunked:
            self._next = "gap"
        elif not self._left:
            self.done = True
        elif not piece and self._closed:
            raise ProtocolError("closed in the middle of the body")
        return piece

    def _take_line(self) -> bytes | None:
        end = self._data.find(b"\n")
        if max(end, len(self._data) if end < 0 else 0) > _LINE_BYTES:
            raise ProtocolError("too long a line")
        if end < 0:
            if self._closed:
                raise ProtocolError("closed in the middle of the body")
            return None
        line = bytes(self._data[:end]).removesuffix(b"\r")
        del self._data[:end + 1]
        return line

    def _go_on(self, line: bytes) -> None:
        """One line between the chunks."""
        if self._next == "size":
            self._left = _read_size(line)
            self._next = "body" if self._left else "trailer"
        elif self._next == "trailer":
            self.done = not line
        elif line:
            raise ProtocolError("a chunk is longer than it said")
        else:
            self._next = "size"


def _read_status(line: bytes) -> tuple[int, bool]:
    """The status, and whether it is HTTP/1.1."""
    version, _, rest = line.partition(b" ")
    status = rest[:3]
    if version not in (b"HTTP/1.1", b"HTTP/1.0") or len(status) != 3 \
            or not status.isdigit() or rest[3:4].strip():
        raise ProtocolError("no status line")
    return int(status), version.endswith(b"1")


def _read_headers(lines: list[bytes]) -> dict[str, str]:
    found: dict[str, str] = {}
    last = ""
    for line in lines:
        name, colon, value = line.partition(b":")
        if line[:1] in (b" ", b"\t") and last:  # folded, as of old
            found[last] += " " + _decode(line)
            continue
        if not colon or not name or not _NAME.issuperset(name):
            raise ProtocolError("no header")
        last = name.decode().lower()
        text = _decode(value)
        found[last] = f"{found[last]}, {text}" if last in found else text
    return found


def _decode(value: bytes) -> str:
    if b"\0" in value or b"\r" in value:
        raise ProtocolError("no header")
    try:
        return value.strip(b" \t").decode()
    except UnicodeDecodeError:
        return value.strip(b" \t").decode("latin-1")


def _read_length(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise ProtocolError("no length")
    return int(text)


def _read_size(line: bytes) -> int:
    """The size of a chunk; extensions behind it mean nothing here."""
    size = line.partition(b";")[0].strip(b" \t")
    if not size or not _HEX.issuperset(size) or len(size) > _MOST_DIGITS:
        raise ProtocolError("no size of a chunk")
    return int(size, 16)
