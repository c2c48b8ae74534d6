"""A line on the terminal while something takes longer than a second."""

import threading
import time
from typing import TextIO

from claw.cli.show.bars import count_columns, cut

_AFTER_S = 1.0
_EVERY_S = 1.0


class Waiting:
    """Shows `text` and the seconds so far, until `stop`.

    Runs on a thread of its own, so that it goes on during blocking work.
    `stop` may be called any number of times.
    """

    def __init__(self, text: str, stream: TextIO) -> None:
        self._text = text
        self._stream = stream
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._shown = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def update(self, text: str) -> None:
        """Say something else from the next second on."""
        self._text = text

    def stop(self) -> None:
        """Remove the line."""
        with self._lock:
            self._over.set()
            if self._shown:
                self._stream.write("\r\x1b[K")
                self._stream.flush()
                self._shown = False

    def _run(self) -> None:
        started = time.monotonic()
        wait = _AFTER_S
        while not self._over.wait(wait):
            wait = _EVERY_S
            seconds = time.monotonic() - started
            with self._lock:
                if self._over.is_set():
                    return
                took = f" ({seconds:.0f} s)"
                room = count_columns(self._stream) - len(took) - 1
                self._stream.write(f"\r\x1b[K{cut(self._text, room)}{took}")
                self._stream.flush()
                self._shown = True
