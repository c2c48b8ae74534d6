"""The inputs of a map: lines of stdin as they come, or files.

Lines end with a line feed (a carriage return before it is none of theirs),
with -0 with NUL. Text is UTF-8, or UTF-16 and UTF-32 by their mark; bytes
that are none become U+FFFD. stdin is read by a thread, some ahead, so that
a pipe may be slow and a list long.
"""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from claw.cli.attachments.read import read_attachments
from claw.cli.terminal.stdin import LIMIT_BYTES, NAME, is_piped
from claw.config.tree import Tree
from claw.core.errors import UsageError
from claw.text.encoding import count_bad, find_binary, open_decoder
from claw.wiring.map.task import Input, Material

_PIECE_BYTES = 1 << 16
_AHEAD = 256  # pieces that are read and not asked about yet


class Inputs:
    """What is asked about. `total` is None until all of it was read; `bad`
    are bytes of stdin so far that are no text."""

    def __init__(self, names: Sequence[str], *, nul: bool = False,
                 are_files: bool = False,
                 limit_bytes: int = LIMIT_BYTES) -> None:
        self._names = names
        self._end = "\0" if nul else "\n"
        self._are_files = are_files or bool(names)
        self._limit = limit_bytes
        self.total: int | None = len(names) or None
        self.bad = 0

    @property
    def are_files(self) -> bool:
        return self._are_files

    def open(self) -> AsyncIterator[Input]:
        """All of them. Raises UsageError for what is no text, or for a line
        past the limit."""
        return self._list_files() if self._names else self._read_lines()

    async def _list_files(self) -> AsyncIterator[Input]:
        for number, name in enumerate(self._names, 1):
            yield Input(number, file=name)

    async def _read_lines(self) -> AsyncIterator[Input]:
        number = 0
        async for lines in _read_ahead(self._split):
            for line in lines:
                number += 1
                yield (Input(number, file=line)
                       if self._are_files and line.strip()
                       else Input(number, line))

    def _split(self) -> Iterator[list[str]]:
        """The lines of each piece of stdin."""
        decode: Callable[[bytes, bool], str] | None = None
        piece = b""
        rest: list[str] = []
        size = count = 0
        while decode is None or piece:
            piece = os.read(sys.stdin.fileno(), _PIECE_BYTES)
            if decode is None:
                _refuse_binary(piece, self._end)
                decode = open_decoder(piece).decode
            text = decode(piece, not piece)
            self.bad += max(0, count_bad(piece, text))
            *lines, last = text.split(self._end)
            if lines:
                lines[0] = "".join([*rest, lines[0]])
                rest, size = [], 0
            rest.append(last)
            size += len(last)
            if not piece and size:
                lines.append("".join(rest))
            if max(size, *map(len, lines), 0) > self._limit:
                raise UsageError(
                    f"an input after number {count:,} of {NAME} is longer "
                    f"than {self._limit:,} characters",
                    hint="raise it with --stdin-limit, or give files")
            count += len(lines)
            yield [line.removesuffix("\r") for line in lines] \
                if self._end == "\n" else lines
        self.total = count


def _refuse_binary(piece: bytes, end: str) -> None:
    found = find_binary(piece.replace(b"\0", b"\n") if end == "\0"
                        else piece)
    if found is not None:
        raise UsageError(f"{NAME} is no text: it is {found.what}",
                         hint="name files as arguments: claw map PROMPT "
                              "FILE...")


async def _read_ahead(read: Callable[[], Iterator[list[str]]]
                      ) -> AsyncIterator[list[str]]:
    """What an iterator gives that blocks. Its thread ends with the
    process: nothing else ends a read of a terminal or a pipe."""
    loop = asyncio.get_running_loop()
    found: asyncio.Queue[list[str] | Exception | None] = asyncio.Queue()
    room = threading.Semaphore(_AHEAD)

    def tell(what: list[str] | Exception | None) -> bool:
        room.acquire()
        try:
            loop.call_soon_threadsafe(found.put_nowait, what)
        except RuntimeError:  # closed: nobody waits any more
            return False
        return True

    def work() -> None:
        try:
            if all(map(tell, read())):
                tell(None)
        except Exception as error:  # raised where it is awaited
            tell(error)

    threading.Thread(target=work, daemon=True).start()
    while (piece := await found.get()) is not None:
        room.release()
        if isinstance(piece, Exception):
            raise piece
        yield piece


def read_material(one: Input, tree: Tree, limit_bytes: int,
                  warn: Callable[[str], None], *, dry_run: bool = False,
                  paid: bool = True) -> Material:
    """What a file holds: its text, what is said in it (not where it is not
    to be `paid` for), or an image; `warn` hears of bytes that are no text.
    Raises UsageError, UnavailableError."""
    found = read_attachments([one.file or ""], limit_bytes, tree, say=warn,
                             dry_run=dry_run, paid=paid)
    return Material("\n\n".join(passage.text for passage in found.passages),
                    found.images)


def require_piped() -> None:
    """Raises UsageError where stdin is the terminal."""
    if not is_piped():
        raise UsageError(
            "nothing to map: no files, and nothing is piped in",
            hint='try: cat names.txt | claw map "translate to German"')
