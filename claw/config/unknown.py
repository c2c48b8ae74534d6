"""What is said about keys that nobody knows."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from claw.config.keys import Path
from claw.config.known import STRICT, is_known, names_below
from claw.core.registry import nearest

if TYPE_CHECKING:
    from claw.config.tree import Tree


_MOST_TOLD = 20


def report(tree: "Tree", path: Path, mine: Collection[str] = ()) -> None:
    """Warn of one unknown key; ConfigError where the table is a guard.

    `mine` are names the table's own struct adds to the known ones.
    """
    near = nearest(path[-1], {*mine, *names_below(path[:-1])})
    hint = f'did you mean "{near}"?' if near else None
    if path[0] in STRICT and len(path) > 1:
        raise tree.wrong(path, "unknown key", hint or "remove it")
    message = tree.wrong(path, "unknown key").message
    tree.warn(f"{message}, {hint}" if hint else message)


def report_all(tree: "Tree", table: Path, keys: Sequence[str],
               mine: Collection[str] = ()) -> None:
    """Warn of a table's unknown keys: the first ones, and how many."""
    for key in keys[:_MOST_TOLD]:
        report(tree, (*table, key), mine)
    if more := keys[_MOST_TOLD:]:
        tree.warn(f"{tree.where((*table, more[0]))}: {len(more):,} more "
                  "unknown keys from here on")


def warn_unknown_tables(tree: "Tree") -> None:
    """Look at the top level once: a misspelt [table] is never decoded."""
    report_all(tree, (), [k for k in tree.raw if not is_known((k,))])


def unknown_paths(node: Any, path: Path = ()) -> Iterator[Path]:
    """Every unknown key below, the outermost of each branch only."""
    if isinstance(node, dict):
        children = list(node.items())
    elif isinstance(node, list):
        children = [(str(i), v) for i, v in enumerate(node)
                    if isinstance(v, dict)]
    else:
        return
    for key, value in children:
        below = (*path, key)
        if not is_known(below):
            yield below
        else:
            yield from unknown_paths(value, below)
