"""The file tree of a command as options of bubblewrap's bwrap.

Later options win: the tree first, what is covered and kept from writing
after it.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from claw.security.confine.attachments import list_of_other_chats
from claw.security.confine.view import find_parents, list_inside


def write_options(plan: Mapping[str, Any], own: str) -> Iterator[str]:
    """The options for a launcher's plan, up to the command; the launcher
    lies in the folder `own`."""
    writable, hidden = plan["write"], plan["hidden"]
    yield from ("--unshare-all", "--die-with-parent", "--proc", "/proc",
                "--dev", "/dev", "--bind", plan["tmp"], "/tmp")
    if plan["network"]:
        yield "--share-net"
    yield from _bind_tree([*plan["read"], own, *writable], writable)
    outer = {path: shown for path in hidden
             if (shown := list_inside(writable, path))}
    for folder, shown in outer.items():
        yield from _cover(folder, "--bind", shown)
    yield from _pin(writable, plan["read_only"], hidden, outer)
    for path in hidden:
        if path in outer:
            continue
        if os.path.isdir(path):
            yield from _cover(path, "--bind", ())
        elif os.path.exists(path):
            yield from ("--ro-bind", "/dev/null", path)
    if plan["chat"] is not None:
        for folder, names, _ in list_of_other_chats(plan["workspace"],
                                                    plan["chat"]):
            paths = (f"{folder}/{name}" for name in names)
            yield from _cover(folder, "--ro-bind", [
                path for path in paths if not os.path.islink(path)])
    yield "--"


def _bind_tree(paths: Sequence[str], writable: Collection[str]
               ) -> Iterator[str]:
    for path in sorted(paths, key=lambda p: p.count("/")):
        if os.path.islink(path) and path.count("/") == 1:
            yield from ("--symlink", os.readlink(path), path)
        elif path in writable:
            yield from ("--bind", path, path)
        else:
            yield from ("--ro-bind-try", os.path.realpath(path), path)


def _cover(folder: str, bind: str, shown: Sequence[str]) -> Iterator[str]:
    """Nothing in the place of the folder but what is `shown` in it."""
    yield from ("--tmpfs", folder)
    for path in shown:
        yield from (bind, path, path)
    yield from ("--remount-ro", folder)


def _pin(writable: list[str], read_only: Sequence[str],
         hidden: Sequence[str], outer: Mapping[str, Sequence[str]]
         ) -> Iterator[str]:
    """Make paths read-only; the folders above them and above what is hidden
    become mounts, so that none is moved away."""
    pinned = [path for path in find_parents(writable,
                                            [*read_only, *hidden])
              if not any((path + "/").startswith(folder + "/")
                         and not path.startswith(
                             tuple(f"{each}/" for each in shown))
                         for folder, shown in outer.items())]
    for path in (*pinned, *read_only):
        # bwrap would follow a link.
        if os.path.exists(path) and os.path.realpath(path) == path:
            yield from ("--ro-bind" if path in read_only else "--bind",
                        path, path)
