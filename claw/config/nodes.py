"""Changes to a tree of plain dictionaries and lists."""

from typing import Any

from claw.config.keys import Path, join_key
from claw.config.known import is_array
from claw.core.errors import UsageError


def put(raw: Any, path: Path, value: Any) -> None:
    """Put a value there, making the tables around it.

    Entries of an array go by number, the next number adds one. Raises
    UsageError where the path runs through a value or past an array.
    """
    node = raw
    for depth, part in enumerate(path[:-1], 1):
        empty: Any = [] if is_array(path[:depth]) else {}
        if isinstance(node, dict):
            node = node.setdefault(part, empty)
        elif isinstance(node, list):
            node = _entry(node, part, path[:depth], empty)
        else:
            raise _no_table(path[:depth - 1])
    if isinstance(node, list):
        _entry(node, path[-1], path, value)
        node[int(path[-1])] = value
    elif isinstance(node, dict):
        node[path[-1]] = value
    else:
        raise _no_table(path[:-1])


def _entry(node: list[Any], part: str, path: Path, new: Any) -> Any:
    """An entry of a list by number; the next number adds one."""
    if not part.isdigit() or int(part) > len(node):
        raise UsageError(
            f"{join_key(path)}: no such entry",
            hint=f"numbers go from 0 to {len(node)}, the last adds one")
    if int(part) == len(node):
        node.append(new)
    return node[int(part)]


def find(raw: Any, path: Path) -> Any:
    """What stands there. Raises LookupError where nothing does."""
    for part in path:
        raw = raw[int(part)] if isinstance(raw, list) else raw[part]
    return raw


def drop(raw: Any, path: Path) -> None:
    """Remove what stands there. Raises LookupError where nothing is."""
    node = find(raw, path[:-1])
    del node[int(path[-1]) if isinstance(node, list) else path[-1]]


def _no_table(path: Path) -> UsageError:
    return UsageError(f"{join_key(path)} is a value, not a table",
                      hint=f"claw config unset {join_key(path)}")
