"""Files of `claw send` that nobody will send any more: they go.

`outgoing/` holds a folder of copies for each send, until it is out. One
that a part names which waits or failed (it can be retried) stays; so does
a young one, whose send may be in the making.
"""

import asyncio
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from claw.config.places import Places
from claw.core.errors import StorageError
from claw.security.files import nofollow
from claw.storage.queue.model import Queue
from claw.wiring.workspace.place_names import outgoing_path

YOUNG_S = 3600.0
AT_ONCE = 200  # folders of one round
_NAMED = re.compile(r"/outgoing/([0-9a-f]{32})/")
_FOLDER = re.compile(r"[0-9a-f]{32}")


async def tidy_outgoing(places: Places, queue: Queue) -> int:
    """How many folders were removed."""
    folder = outgoing_path(places)
    if not folder.exists():
        return 0
    named = {found for part in await queue.unsent_parts("/outgoing/")
             for found in _NAMED.findall(part)}
    return await asyncio.to_thread(_remove_unnamed, places.workspace, folder,
                                   named, time.time())


def _remove_unnamed(workspace: Path, folder: Path, named: Collection[str],
                    now: float) -> int:
    with suppress(OSError, StorageError), \
            nofollow.hold_folder(workspace, folder) as held:
        old = list(islice(_list_old(held, named, now), AT_ONCE))
        for name in old:
            shutil.rmtree(name, ignore_errors=True, dir_fd=held)
        return len(old)
    return 0


def _list_old(held: int, named: Collection[str], now: float
              ) -> Iterator[str]:
    with os.scandir(held) as entries:
        for entry in entries:
            if _FOLDER.fullmatch(entry.name) and entry.name not in named \
                    and entry.is_dir(follow_symlinks=False) \
                    and now - entry.stat(follow_symlinks=False).st_mtime \
                    > YOUNG_S:
                yield entry.name
