"""Which calls really left this process, so that a kill leaves no doubt
about those that did not.

Between the commit that a part is being sent and the first byte on the wire
lie milliseconds. A line in a file beside the queue is written right before
that byte, without waiting for any disk: it outlives a killed process and
not a power cut. So the file says whose it is and for which term of the lease
it holds: it is believed of a process that has died under the same boot. One
that only stands still may yet send.
"""

import json
import os
from pathlib import Path

from claw.core.errors import ClawError
from claw.core.value import Value
from claw.security.files import nofollow
from claw.storage.queue import codec
from claw.storage.queue.model import Lease
from claw.storage.queue.owner import Owner, alive

_MOST_BYTES = 256 * 1024


class Left(Value):
    """What one term noted: (seq, attempt) of the calls that left."""

    lease: str
    fence: int
    calls: frozenset[tuple[int, int]]


class Departures:
    """The file of one queue. Raises nothing: a file that can't be written
    is emptied, and then all that was under way is in doubt."""

    def __init__(self, path: Path, here: Owner) -> None:
        self._path = Path(f"{path}-left")
        self._here = here
        self._file: int | None = None
        self._size = 0
        self._head = b""
        self._open: dict[int, int] = {}

    def read(self) -> Left | None:
        """What the term before noted; None where nothing can be said."""
        try:
            head, *lines = nofollow.read(*nofollow.split(
                self._path)).decode().splitlines()
            found = json.loads(head)
            owner = codec.decode_known(Owner, codec.decode(
                found["owner"], "owner"), "owner")
            if not owner.boot or owner.boot != self._here.boot \
                    or alive(owner, self._here) is not False:
                return None
            calls = (line.split() for line in lines)
            return Left(found["lease"], found["fence"], frozenset(
                (int(seq), int(attempt)) for seq, attempt in calls))
        except (OSError, ValueError, LookupError, TypeError, ClawError):
            return None

    def begin(self, lease: Lease) -> None:
        """A new term; what was noted before is forgotten."""
        self._open.clear()
        self._head = json.dumps({"owner": lease.owner, "lease": lease.name,
                                 "fence": lease.fence}).encode() + b"\n"
        try:
            if self._file is None:
                self._file = nofollow.open_file(
                    *nofollow.split(self._path),
                    os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        except (OSError, ClawError):
            return  # an old file is of another term
        self._rewrite()

    def note(self, seq: int, attempt: int) -> None:
        """This call leaves now."""
        self._open[seq] = attempt
        if self._size > _MOST_BYTES:
            self._rewrite()
        else:
            self._write(b"%d %d\n" % (seq, attempt))

    def settle(self, seq: int) -> None:
        """What became of it is committed."""
        self._open.pop(seq, None)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _rewrite(self) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            self._size = 0
            self._write(self._head + b"".join(
                b"%d %d\n" % call for call in self._open.items()))

    def _write(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            written = os.write(self._file, data)
        except OSError:
            written = 0
        self._size += written
        if written != len(data):  # a full disk: it must not look whole
            os.ftruncate(self._file, 0)
            self.close()
