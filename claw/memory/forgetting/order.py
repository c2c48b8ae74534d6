"""What is being forgotten, on the disk until nothing of it is left.

    state/forgetting.json  {"keys": [...], "people": [...],
                            "sessions": [...], "texts": [...]}

Written before the first thing is removed: whoever is killed has left in it
what is to be done, and the next one who forgets does it. It holds the texts
themselves, so it is overwritten before it is removed.
"""

import json
import os
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError
from claw.core.value import Value
from claw.security import nofollow

FILE = "state/forgetting.json"


class Order(Value):
    """Keys of memories, senders, conversations with them, and the texts
    that all these had."""

    keys: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    def join(self, other: "Order") -> "Order":
        """Both, nothing twice."""
        return Order(*(tuple(dict.fromkeys((*getattr(self, name),
                                            *getattr(other, name))))
                       for name in Order.__match_args__))


def read_order(workspace: Path) -> Order:
    """What an earlier run left to be done; nothing where it says no such
    thing. Raises StorageError."""
    try:
        value = json.loads(nofollow.read(workspace, FILE))
    except FileNotFoundError:
        return Order()
    except OSError as error:
        raise _explain(workspace, error) from error
    except (ValueError, RecursionError):
        return Order()  # cut off: nothing was removed yet
    rows: list[Any] = [value.get(name) for name in Order.__match_args__] \
        if isinstance(value, dict) else []
    if not all(isinstance(row, list) and all(
            isinstance(one, str) for one in row) for row in rows):
        return Order()
    return Order(*map(tuple, rows))


def write_order(workspace: Path, order: Order) -> None:
    """Keep it until it is done. Raises StorageError."""
    text = json.dumps({name: getattr(order, name)
                       for name in Order.__match_args__})
    try:
        nofollow.write(workspace, FILE, (text.encode(),))
    except OSError as error:
        raise _explain(workspace, error) from error


def drop_order(workspace: Path) -> None:
    """It is done: overwrite and remove it."""
    try:
        number = nofollow.open_file(workspace, FILE, os.O_WRONLY)
    except FileNotFoundError:
        return
    try:
        os.pwrite(number, bytes(os.fstat(number).st_size), 0)
        os.fsync(number)
    finally:
        os.close(number)
    nofollow.remove(workspace, FILE)


def _explain(workspace: Path, error: OSError) -> StorageError:
    return StorageError(f"{workspace / FILE}: {error.strerror}",
                        hint="check the permissions and the free space")
