"""Slips in a channel's table: what a reload must not switch off.

A key or table that is misspelt reads like one that was taken away. Where
something of nearly its name has come, or what stands there is no table, or
what the channel can't do without is gone, nobody meant that.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from claw.channels import REGISTRY
from claw.config.tree import Tree
from claw.core.registry import nearest
from claw.wiring.channels.names import SECTION


def find_slips(tree: Tree, gone: Iterable[str]) -> list[str]:
    """Those of the channels without a table that nobody took away."""
    return [name for name in gone if tree.has((SECTION, name))
            or _find_misspelt(tree, name) is not None]


def check_change(tree: Tree, name: str, old: Any, new: Any) -> None:
    """Raises ConfigError where the settings of a channel that runs have
    become others by a slip."""
    misspelt = _find_misspelt(tree, name)
    if not tree.has((SECTION, name)) and misspelt is not None:
        raise tree.wrong((SECTION, misspelt), "unknown table",
                         f'did you mean "{name}"?')
    if new is None:
        return
    fields = {f.encode_name: f.name for f in msgspec.structs.fields(new)}
    for key in tree.table((SECTION, name)):
        near = None if key in fields else nearest(key, fields)
        if near is not None and _differs(fields[near], old, new):
            raise tree.wrong((SECTION, name, key), "unknown key",
                             f'did you mean "{near}"?')
    setting = REGISTRY.load(name).first_setting
    needed = setting.partition(" ")[0]
    if needed in fields and not getattr(new, fields[needed]) \
            and _differs(fields[needed], old, new):
        raise tree.wrong((SECTION, name, needed), "missing",
                         f"claw config set {SECTION}.{name}.{setting}")


def _differs(field: str, old: Any, new: Any) -> bool:
    return bool(getattr(old, field, None) != getattr(new, field))


def _find_misspelt(tree: Tree, name: str) -> str | None:
    """A table that no channel reads, of nearly this name."""
    return next((other for other in tree.names(SECTION)
                 if other not in REGISTRY.names()
                 and nearest(other, REGISTRY.names()) == name), None)
