"""Image files of the workspace: those of conversations, those that came
through a channel, those that the owner names.

What a kept conversation shows lies once in <workspace>/sessions/images,
under the hash of its bytes: a text that names it knows the image already,
and one that was changed is not shown. Tools do not reach that folder. What
nobody looked at for 30 days goes when the next one is kept.

Everything here blocks and is opened beneath the workspace: no link leads
out of it, and pipes and devices are refused.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from claw.core.errors import (
    ClawError,
    DeniedError,
    StorageError,
    UsageError,
)
from claw.core.images import EXTENSIONS, image_type
from claw.security.files import beneath, nofollow
from claw.security.files.paths import PathRules

FOLDER = "sessions/images"
KEPT_DAYS = 30
_KEPT = re.compile(FOLDER + r"/([0-9a-f]{64})\.(?:"
                   + "|".join(EXTENSIONS.values()) + r")\Z")


def kept_ref(data: bytes, kind: str) -> str:
    """The reference of an image: what its marker holds."""
    return f"{FOLDER}/{hashlib.sha256(data).hexdigest()}.{EXTENSIONS[kind]}"


def is_kept(ref: str) -> bool:
    """Whether this is a reference that `kept_ref` gave."""
    return _KEPT.match(ref) is not None


class ImageStore:
    """The images of one workspace. `rules` say which of its files may be
    read; `now` is unix seconds."""

    def __init__(self, rules: PathRules,
                 now: Callable[[], float] = time.time) -> None:
        self._rules = rules
        self._now = now

    def read_kept(self, ref: str, max_bytes: int) -> bytes:
        """An image of a kept conversation. Raises NotFoundError,
        UsageError, DeniedError and StorageError."""
        root = self._rules.workspace
        data = beneath.read(root, ref, lambda real: real == root / ref,
                            max_bytes)
        known = _KEPT.match(ref)
        if known is None or hashlib.sha256(data).hexdigest() != known[1]:
            raise UsageError("it is not what was kept")
        with suppress(OSError), \
                nofollow.hold_folder(root, FOLDER) as folder:
            # seen today, so it stays
            os.utime(Path(ref).name, (self._now(), self._now()),
                     dir_fd=folder, follow_symlinks=False)
        return data

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """A file of the workspace, absolute or from there. Raises as
        read_kept."""
        root, relative = self._rules.locate(path)
        return beneath.read(root, relative, self._rules.reaches, max_bytes)

    def was_sent(self, path: str, channel: str, chat: str) -> bool:
        """Whether this was sent in this chat: it lies in <channel>_files,
        as <channel>_<chat>_<message>_<name>."""
        try:
            _, relative = self._rules.locate(path)
        except DeniedError:
            return False
        start = f"{channel}_files/{channel}_{chat}_"
        return bool(channel and chat) and relative.startswith(start) \
            and "/" not in relative[len(start):]

    def keep(self, ref: str, data: bytes) -> None:
        """Put an image where `read_kept` finds it, with the mode 0600.
        Raises StorageError."""
        root = self._rules.workspace
        with suppress(OSError):
            self._forget_old()
        with suppress(ClawError):  # none, or another: it is written anew
            self.read_kept(ref, len(data))
            return
        try:
            nofollow.remove(root, ref)
            nofollow.write(root, ref, (data,))
        except OSError as error:
            raise StorageError(f"{root / ref} can't be written: "
                               f"{error.strerror}",
                               hint="check the disk and its free space"
                               ) from error

    def _forget_old(self) -> None:
        oldest = self._now() - KEPT_DAYS * 86_400
        with nofollow.hold_folder(self._rules.workspace, FOLDER) as folder, \
                os.scandir(folder) as files:
            for file in files:
                # Only what was put here: the folder may be another's.
                if is_kept(f"{FOLDER}/{file.name}") and file.stat(
                        follow_symlinks=False).st_mtime < oldest:
                    with suppress(OSError):
                        os.unlink(file.name, dir_fd=folder)


def check_type(data: bytes) -> str:
    """The type of an image. Raises UsageError for what is none."""
    kind = image_type(data)
    if kind is None:
        raise UsageError("it is no PNG, JPEG, WebP, GIF or BMP image")
    return kind
