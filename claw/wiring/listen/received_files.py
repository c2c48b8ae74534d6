"""Files that people sent, and spoken answers: they go when they are old.

A channel saves them in `<channel>_files` as `<channel>_<chat>_<message>_
<name>`, an answer is spoken into `voice_files`. Only files of such names
go, by the day they were last changed; what its owner put there, a link or
a folder stays.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from claw.core.errors import StorageError, describe
from claw.core.log import Log
from claw.security.files import nofollow

AT_ONCE = 1000  # files of a folder and round
_DAY_S = 86_400
_DRAFT = r"\.[0-9a-f]{16}\.part"  # save_bytes, killed
_SPOKEN = r"voice(-[0-9a-f]{8})?\.[a-z0-9]+"


def tidy_received(workspace: Path, channels: Iterable[str], keep_days: int,
                  now: float, log: Log) -> int:
    """How many files were removed; none with `keep_days` 0. A folder that
    can't be tidied is logged, and the others are."""
    if not keep_days:
        return 0
    oldest, removed = now - keep_days * _DAY_S, 0
    for name, ours in [("voice", _SPOKEN), *(
            (name, rf"{re.escape(name)}_.+_.+_.+") for name in channels)]:
        folder = f"{name}_files"
        try:
            removed += _remove_old(workspace, folder, re.compile(
                f"{_DRAFT}|{ours}", re.DOTALL), oldest)
        except FileNotFoundError:
            continue
        except (OSError, StorageError) as error:
            log("files.kept", folder=folder, error=describe(error))
    return removed


def _remove_old(workspace: Path, folder: str, ours: re.Pattern[str],
                oldest: float) -> int:
    with nofollow.hold_folder(workspace, folder) as held:
        old = list(islice(_list_old(held, ours, oldest), AT_ONCE))
        for name in old:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=held)
        return len(old)


def _list_old(held: int, ours: re.Pattern[str], oldest: float
              ) -> Iterator[str]:
    with os.scandir(held) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name):
                with suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    if nofollow.is_plain(found) and found.st_mtime < oldest:
                        yield entry.name
