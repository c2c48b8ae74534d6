"""Who may replace config.toml: one writer at a time, and first what a
killed one left is taken back."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from claw.config.parse import read_file
from claw.config.places import Places, refuse_links
from claw.config.trial import take_back
from claw.config.write import translate_os_errors
from claw.core.errors import StorageError
from claw.core.folders import make_private

_PATIENCE_S = 10.0
_PAUSE_S = 0.02


@contextmanager
def lock_settings(places: Places, *, patience_s: float = _PATIENCE_S,
           sleep: Callable[[float], None] = time.sleep,
           recovers: bool = True) -> Iterator[str | None]:
    """Hold the only right to write the settings; makes the home (0700).

    A change whose writer was killed while it was on trial is taken back
    first (not with `recovers` false); gives what was done about it.
    StorageError when another writer
    holds it for `patience_s`, or when the folder can't be written.
    """
    refuse_links(places)
    with translate_os_errors(places.home):
        make_private(places.home)
        path = places.home / ".config.lock"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        waited = 0.0
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if waited >= patience_s:
                raise StorageError(
                    f"another process is writing {places.config_file}",
                    hint="try again when it is done")
            sleep(_PAUSE_S)
            waited += _PAUSE_S
        yield take_back(places) if recovers else None
    finally:
        os.close(fd)


def current(places: Places) -> bytes | None:
    """The bytes of config.toml; None where there is none."""
    return (read_file(places.config_file)[0]
            if os.path.exists(places.config_file) else None)
