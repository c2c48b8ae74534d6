"""What is being forgotten, on the disk until nothing of it is left.

    <home>/workspaces/<hash of the workspace's path>.forgetting.json

    {"inode": 4711, "keys": [...], "people": [...], "sessions": [...],
     "texts": [...]}

Written before the first thing is removed: whoever is killed has left in it
what is to be done, and the next one who forgets does it. It lies outside of
the workspace, where no command of a model's can write one and none comes
with a foreign folder; `inode` is the workspace's. It holds the texts
themselves, so it is overwritten before it is removed.
"""

import json
import os
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError
from claw.core.folders import make_private
from claw.core.value import Value
from claw.security.files import nofollow
from claw.security.trust import name_file

_DRAFT = ".new"


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


def name_order(workspace: Path) -> str:
    """Where it is kept, below claw's home."""
    return name_file(workspace, ".forgetting.json")


def read_order(home: Path, workspace: Path) -> Order:
    """What an earlier run left to be done; nothing where it says no such
    thing. Raises StorageError."""
    try:
        value = json.loads(nofollow.read(home, name_order(workspace)))
        inode = os.stat(workspace).st_ino
    except (FileNotFoundError, NotADirectoryError):
        return Order()
    except OSError as error:
        raise _explain(home, workspace, error) from error
    except (ValueError, RecursionError):
        return Order()  # cut off: nothing was removed yet
    if not isinstance(value, dict) or value.get("inode") != inode:
        return Order()
    rows: list[Any] = [value.get(name) for name in Order.__match_args__]
    if not all(isinstance(row, list) and all(
            isinstance(one, str) for one in row) for row in rows):
        return Order()
    return Order(*map(tuple, rows))


def write_order(home: Path, workspace: Path, order: Order) -> None:
    """Keep it until it is done. Raises StorageError."""
    try:
        text = json.dumps({"inode": os.stat(workspace).st_ino} | {
            name: getattr(order, name) for name in Order.__match_args__})
        make_private(home)
        _replace(home, name_order(workspace), text.encode())
    except OSError as error:
        raise _explain(home, workspace, error) from error


def _replace(home: Path, name: str, data: bytes) -> None:
    """Whole or not at all; by way of one name, which a killed one leaves
    to the next."""
    number = nofollow.open_file(home, name + _DRAFT,
                                os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with open(number, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(number)
    nofollow.rename(home, name + _DRAFT, name)
    with nofollow.hold_folder(home, os.path.dirname(name)) as folder:
        os.fsync(folder)


def drop_order(home: Path, workspace: Path) -> None:
    """It is done: overwrite and remove it."""
    for name in (name_order(workspace) + _DRAFT, name_order(workspace)):
        try:
            number = nofollow.open_file(home, name, os.O_WRONLY)
        except FileNotFoundError:
            continue
        try:
            os.pwrite(number, bytes(os.fstat(number).st_size), 0)
            os.fsync(number)
        finally:
            os.close(number)
        nofollow.remove(home, name)


def _explain(home: Path, workspace: Path, error: OSError) -> StorageError:
    return StorageError(f"{home / name_order(workspace)}: {error.strerror}",
                        hint="check the permissions and the free space")
