"""What the owner has said yes to: JSON files below claw's home, out of
every command's reach."""

from pathlib import Path
from typing import TypeVar

import msgspec

from claw.core.errors import StorageError
from claw.security.files import nofollow

T = TypeVar("T", bound=msgspec.Struct)


def read_accepted(home: Path, name: str, kind: type[T], *, hint: str
                  ) -> T | None:
    """What stands in a file; None where there is none. Raises StorageError
    with this hint for one that can't be read."""
    try:
        return msgspec.json.decode(nofollow.read(home, name), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StorageError(f"{home / name} can't be read: {error}",
                           hint=hint) from error


def write_accepted(home: Path, name: str, value: msgspec.Struct) -> None:
    """Raises StorageError."""
    try:
        nofollow.write(home, name, [msgspec.json.encode(value)])
    except OSError as error:
        raise StorageError(f"{home / name} can't be written: "
                           f"{error.strerror}") from error
