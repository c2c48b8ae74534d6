"""Piped text: read when stdin is no terminal, with a limit.

What counts as text, and what becomes of bytes that are none:
claw.text.encoding.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from claw.core.errors import UsageError
from claw.text.encoding import count_bad, decode_text, find_binary

NAME = "standard input"
LIMIT_BYTES = 1 << 20
RAISE_LIMIT = "raise it with --stdin-limit, or send less"
_PATIENCE_S = 2.0
_PIECE_BYTES = 1 << 20


def is_piped() -> bool:
    """Whether something other than a terminal or nothing is on stdin."""
    try:
        return sys.stdin is not None and not sys.stdin.isatty()
    except ValueError:  # closed
        return False


def read_text(limit_bytes: int = LIMIT_BYTES, *,
              way_out: str = "send less",
              say: Callable[[str], None] = lambda _: None) -> str:
    """All of stdin as text. Raises UsageError past the limit, where
    `way_out` is what to do, and for what is no text."""
    with note_wait(say):
        data = read_past(sys.stdin.buffer, limit_bytes)
    if len(data) > limit_bytes:
        raise UsageError(f"{NAME} is longer than {limit_bytes:,} bytes",
                         hint=way_out)
    return read_words(NAME, data, say)


@contextmanager
def note_wait(say: Callable[[str], None]) -> Iterator[None]:
    """Say so when nothing has come for two seconds: a program may hold the
    other end open."""
    timer = threading.Timer(_PATIENCE_S, say, [
        "waiting for text on standard input (end it with Ctrl-D, "
        "or use </dev/null)"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def read_words(name: str, data: bytes,
               say: Callable[[str], None] = lambda _: None) -> str:
    """The text of some bytes; bytes that are none of it are told. Raises
    UsageError, with what they are, for what is no text."""
    binary = find_binary(data)
    if binary is not None:
        raise UsageError(f"{name} is no text: it is {binary.what}",
                         hint=binary.hint)
    text = decode_text(data)
    bad = count_bad(data, text)
    if bad:
        say(describe_bad(name, bad))
    return text


def describe_bad(name: str, bad: int) -> str:
    """What is said of so many bytes that are no text."""
    return (f"{name}: {bad:,} {'bytes are' if bad > 1 else 'byte is'} no "
            "UTF-8 and became U+FFFD (text in another encoding: iconv -f "
            "LATIN1 -t UTF-8)")


def read_past(stream: BinaryIO, limit_bytes: int) -> bytes:
    """All of a stream, or a little more than the limit of one that is
    longer. Takes room for what comes, not for what may come."""
    data = bytearray()
    while len(data) <= limit_bytes and (piece := stream.read(
            min(_PIECE_BYTES, limit_bytes + 1 - len(data)))):
        data += piece
    return bytes(data)
