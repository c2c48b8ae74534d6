"""Files that strangers name: a safe name, and saving without surprises.

Channels keep what people send. The name comes from outside (case: a photo
called `../../.bashrc`), and the folder may lie where tools can write, so
neither is trusted: names are cleaned, links are never followed, nothing
that is there is written over.
"""

import contextlib
import os
import secrets
import unicodedata
from pathlib import Path

from claw.core.errors import StorageError
from claw.core.folders import make_private

NAME_CHARS = 128
NAME_BYTES = 200
_SUFFIX_CHARS = 16
_TRIES = 8

# Control, format (bidi overrides, zero width), surrogates, private use,
# unassigned, line and paragraph separators.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
# What no Windows file may hold; brackets would end a marker such as
# [IMAGE:path].
_REPLACED = str.maketrans({**dict.fromkeys('<>:"|?*', "_"),
                           "[": "(", "]": ")"})
_DEVICES = frozenset((
    "con", "prn", "aux", "nul", "conin$", "conout$",
    *(f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³")))


def safe_name(name: str, fallback: str) -> str:
    """A file name without a folder, that is nothing but a name.

    At most 128 characters and 200 bytes of UTF-8, the suffix is kept; no
    control or bidi characters, no leading dot or dash, no brackets, no
    name of a Windows device. `fallback` where nothing is left.
    """
    return _cleaned(name) or _cleaned(fallback) or "file"


def _cleaned(name: str) -> str:
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    seen = "".join(c for c in last
                   if unicodedata.category(c) not in _UNSEEN)
    bare = _shortened(seen.translate(_REPLACED).lstrip(" .-").rstrip(" ."))
    if bare.partition(".")[0].rstrip().lower() in _DEVICES:
        bare = _shortened("_" + bare)
    return bare


def _shortened(name: str) -> str:
    stem, suffix = _split(name)
    room = NAME_BYTES - len(suffix.encode())
    stem = stem[:NAME_CHARS - len(suffix)]
    # Cutting bytes may leave a piece of a character; it is dropped.
    stem = stem.encode()[:room].decode("utf-8", "ignore")
    return stem.rstrip(" .") + suffix


def _split(name: str) -> tuple[str, str]:
    """Stem and suffix (with its dot); a long "suffix" is none."""
    stem, dot, suffix = name.rpartition(".")
    if not dot or not stem or len(suffix) > _SUFFIX_CHARS:
        return name, ""
    return stem, dot + suffix


def save_bytes(folder: Path, name: str, data: bytes) -> Path:
    """Save a new file (mode 0600) in `folder`, which is made where it is
    missing (0700); where it is.

    On the disk when this returns. A name that is taken gets a random
    ending. Raises StorageError, also where `folder` itself is a link.
    """
    name = safe_name(name, "file")
    try:
        make_private(folder)
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY
                         | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            return folder / _write(inside, name, data)
        finally:
            os.close(inside)
    except OSError as error:
        raise StorageError(
            f"{name} can't be saved in {folder}: {error.strerror}",
            hint="is the disk full, may claw write there, and is it a "
                 "folder and no link?") from error


def _write(folder: int, name: str, data: bytes) -> str:
    """The whole file under a draft's name, then under its own, which is
    reserved first: a hard link would do both, but not every disk has
    them."""
    draft = f".{secrets.token_hex(8)}.part"
    handle = _create(folder, draft)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        final = _reserve(folder, name)
        os.rename(draft, final, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
    os.fsync(folder)
    return final


def _reserve(folder: int, name: str) -> str:
    stem, suffix = _split(name)
    wanted = name
    for _ in range(_TRIES):
        try:
            os.close(_create(folder, wanted))
        except FileExistsError:
            wanted = f"{stem}-{secrets.token_hex(4)}{suffix}"
        else:
            return wanted
    raise FileExistsError(17, "every name is taken")


def _create(folder: int, name: str) -> int:
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL
                   | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
