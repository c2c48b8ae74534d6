"""Piped text: read when stdin is no terminal, with a limit.

UTF-8; bytes that are none become U+FFFD, NUL stays as it is.
"""

import sys
import threading
from collections.abc import Callable
from typing import BinaryIO

from claw.core.errors import UsageError

LIMIT_BYTES = 1 << 20
_PATIENCE_S = 2.0
_PIECE_BYTES = 1 << 20


def is_piped() -> bool:
    """Whether something other than a terminal or nothing is on stdin."""
    try:
        return sys.stdin is not None and not sys.stdin.isatty()
    except ValueError:  # closed
        return False


def read_text(limit_bytes: int = LIMIT_BYTES, *,
              say: Callable[[str], None] = lambda _: None) -> str:
    """All of stdin as text. Raises UsageError past the limit.

    Says so when nothing has come for two seconds: a program may hold the
    other end open.
    """
    timer = threading.Timer(_PATIENCE_S, say, [
        "waiting for text on standard input (end it with Ctrl-D, "
        "or use </dev/null)"])
    timer.daemon = True
    timer.start()
    try:
        return decode(sys.stdin.buffer, limit_bytes)
    finally:
        timer.cancel()


def decode(stream: BinaryIO, limit_bytes: int) -> str:
    """At most `limit_bytes` of UTF-8 from a stream."""
    data = read_past(stream, limit_bytes)
    if len(data) > limit_bytes:
        raise UsageError(
            f"standard input is longer than {limit_bytes:,} bytes",
            hint="raise it with --stdin-limit, or send less")
    return data.decode("utf-8-sig", "replace")


def read_past(stream: BinaryIO, limit_bytes: int) -> bytes:
    """All of a stream, or a little more than the limit of one that is
    longer. Takes room for what comes, not for what may come."""
    data = bytearray()
    while len(data) <= limit_bytes and (piece := stream.read(
            min(_PIECE_BYTES, limit_bytes + 1 - len(data)))):
        data += piece
    return bytes(data)
