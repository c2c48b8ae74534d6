"""What the daemon handed over and is not in the inbox yet, as lines of a
file: it forgets what it gave, so this is the only copy.

Written the moment it is read, without waiting for the disk: a SIGKILL takes
nothing of it, a power cut may. The file is emptied whenever all is done; what
is read again after a crash is known by its id.
"""

import contextlib
import json
import os
from collections import deque
from pathlib import Path

from claw.core.errors import StorageError
from claw.core.log import Log
from claw.security.files import nofollow

_MOST_BYTES = 64 * 1024 * 1024


class Journal:
    """The events of one listener, oldest first. Where the disk takes
    nothing they are held in memory, and the log says so."""

    def __init__(self, root: Path, name: str, log: Log) -> None:
        self._root = root
        self._name = name
        self._log = log
        self._waiting: deque[str] = deque()
        self.chars = 0  # of all that wait
        self._size = 0
        self._loaded = self._complained = False

    def __len__(self) -> int:
        return len(self._waiting)

    def load(self) -> None:
        """What a process before this one left, once."""
        if self._loaded:
            return
        self._loaded = True
        try:
            raw = nofollow.read(self._root, self._name, _MOST_BYTES)
        except FileNotFoundError:
            return
        except (OSError, StorageError) as error:
            self._complain(error)
            return
        self._size = len(raw)
        for line in raw.splitlines():
            with contextlib.suppress(ValueError):  # half a line
                if isinstance(event := json.loads(line), str):
                    self._waiting.append(event)
                    self.chars += len(event)

    def add(self, event: str) -> None:
        self._waiting.append(event)
        self.chars += len(event)
        # A line begins with its end: half a line, of a full disk or a kill,
        # does not swallow the next one.
        line = b"\n" + json.dumps(event).encode()
        try:
            number = nofollow.open_file(
                self._root, self._name,
                os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                os.write(number, line)
            finally:
                os.close(number)
        except (OSError, StorageError) as error:
            self._complain(error)
        else:
            self._size += len(line)

    def first(self) -> str:
        return self._waiting[0]

    def done(self) -> None:
        """The first one is in the inbox, or for nobody."""
        self.chars -= len(self._waiting.popleft())
        if self._waiting or not self._size:
            return
        try:
            number = nofollow.open_file(self._root, self._name, os.O_WRONLY)
            try:
                os.ftruncate(number, 0)
            finally:
                os.close(number)
        except (OSError, StorageError) as error:
            self._complain(error)
        else:
            self._size, self._complained = 0, False

    def _complain(self, error: Exception) -> None:
        if not self._complained:
            self._log("journal_failed", error=str(error), hint="what comes "
                      "while claw is killed would be lost; is the disk full?")
        self._complained = True
