"""What documents may be called, and which there are: the index of a name is
workspace/memory/docs-<name>.db. A Tab loads this, so it loads little."""

import os
import re
import unicodedata
from pathlib import Path

from claw.core.errors import UsageError
from claw.security.files import nofollow

_START, _END = "docs-", ".db"
_MOST_NAME = 64
_name = re.compile(r"\w[\w.-]*")


def find_file(name: str) -> Path:
    """Where the index of a name lies in a workspace. Raises UsageError for
    what can be none."""
    if not _is_name(name):
        raise UsageError(
            f"{name!r} can't be the name of documents",
            hint="use small letters, digits, - and _"
            + (f', e.g. "{clean_name(name)}"' if clean_name(name) else ""))
    return Path("memory", f"{_START}{name}{_END}")


def _is_name(name: str) -> bool:
    return _name.fullmatch(name) is not None and name == clean_name(name)


def clean_name(text: str) -> str:
    """A name made of a folder's; "" where nothing is left of it."""
    plain = unicodedata.normalize("NFC", text).lower()
    return re.sub(r"[^\w.-]+", "-", plain).strip("-.")[:_MOST_NAME]


def list_names(workspace: Path) -> list[str]:
    """The names of the indexes of a workspace, in order."""
    try:
        with nofollow.hold_folder(workspace, "memory") as folder:
            found = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(
        name for file in found
        if file.startswith(_START) and file.endswith(_END)
        and _is_name(name := file[len(_START):-len(_END)]))
