"""Which migration is under way: the next one tells of one that was killed.
"""

from contextlib import suppress

from claw.config.places import Places
from claw.core.errors import StorageError
from claw.core.folders import make_private
from claw.security.files import nofollow
from claw.wiring.setup.migrate import Found

_MOST = 1 << 16


def begin(found: Found, places: Places) -> None:
    """Note from where things are brought. Raises StorageError."""
    try:
        make_private(places.home)
        nofollow.write(places.home, _name(found),
                       (str(found.home).encode(errors="replace"),))
    except OSError as error:
        raise StorageError(f"{places.home}: {error.strerror}; nothing was "
                           "brought", hint="check the folder and the free "
                           "space") from error


def end(found: Found, places: Places) -> None:
    """All was tried, and what failed is told."""
    with suppress(OSError, StorageError):
        nofollow.remove(places.home, _name(found))


def describe_unfinished(found: Found, places: Places) -> str:
    """What to say of a migration that did not come to its end, "" where
    there is none."""
    try:
        text = nofollow.read(places.home, _name(found), _MOST)
    except (OSError, StorageError):
        return ""
    return (f"a migration from {text.decode(errors='replace')} was "
            "interrupted: what it brought is counted as there already, the "
            "rest comes now")


def _name(found: Found) -> str:
    return f".migrating-{found.agent}"
