"""Making folders that are the owner's alone."""

from pathlib import Path


def make_private(folder: Path) -> None:
    """The folder and all that is missing above it, mode 0700 each: what
    pathlib makes on the way would be readable by others. Raises OSError."""
    if not folder.is_dir():
        for path in reversed(folder.parents):
            if not path.exists():
                path.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
