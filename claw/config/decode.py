"""A table of the tree as a room's frozen msgspec struct.

msgspec drops unknown keys silently and stops at the first wrong value
without its line, so the tables are walked here and msgspec converts one
value at a time.
"""

import enum
import math
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

import msgspec

from claw.config.describe import describe, show
from claw.config.keys import Path, is_secret, join_key
from claw.config.known import STRICT, is_known
from claw.config.unknown import report, unknown_paths
from claw.core.errors import ClawError
from claw.core.registry import nearest

if TYPE_CHECKING:
    from claw.config.tree import Tree

_SEQUENCES = {list: list, tuple: tuple, set: set, frozenset: frozenset}


def decode(tree: "Tree", path: Path, kind: Any) -> Any:
    """The value at this path as `kind`, a Struct or any type of msgspec.

    A path that is not there gives the struct's defaults.
    """
    value = tree.node(path)
    if path and path[0] in STRICT:
        _check_guard(tree, path[0], path, kind)
    if _is_struct(kind):
        there = value if _is_there(tree, path) else {}
        return _struct(tree, path, there, kind)
    if not _is_there(tree, path):
        value = {} if get_origin(kind) in (dict, Mapping) else []
    return _value(tree, path, value, kind)


def _is_there(tree: "Tree", path: Path) -> bool:
    return not path or tree.has(path)


def _check_guard(tree: "Tree", root: str, path: Path, kind: Any) -> None:
    """A misspelt key anywhere in a guarding section is an error, also
    beside the table that is asked for."""
    mine = ({field.encode_name for field in msgspec.structs.fields(kind)}
            if _is_struct(kind) else set())
    for unknown in unknown_paths(tree.raw.get(root), (root,)):
        if not (unknown[:-1] == path and unknown[-1] in mine):
            report(tree, unknown)


def _struct(tree: "Tree", path: Path, table: Any, kind: Any) -> Any:
    if not isinstance(table, dict):
        raise tree.wrong(path, f"expected a table, got {show(table)}")
    fields = {f.encode_name: f for f in msgspec.structs.fields(kind)}
    for key in table:
        if key not in fields and not is_known((*path, key)):
            report(tree, (*path, key), fields)
    values = {}
    for key, field in fields.items():
        if key in table:
            values[field.name] = _value(tree, (*path, key), table[key],
                                        field.type)
        elif field.required:
            raise tree.wrong((*path, key), "is missing",
                             f"expected {describe(field.type)}")
    return _built(tree, path, kind, values)


def _built(tree: "Tree", path: Path, kind: Any, values: dict[str, Any]
           ) -> Any:
    """The struct; what its own __post_init__ refuses is a ConfigError."""
    try:
        return kind(**values)
    except ClawError:
        raise
    except (ValueError, TypeError) as error:
        raise tree.wrong(path or ("",), str(error)) from error


def _value(tree: "Tree", path: Path, value: Any, kind: Any) -> Any:
    for member in _members(kind):
        if _is_struct(member) and isinstance(value, dict):
            return _struct(tree, path, value, member)
        if not _holds_struct(member):
            continue
        if isinstance(value, list) and get_origin(member) in _SEQUENCES:
            item = get_args(member)[0]
            return _SEQUENCES[get_origin(member)](
                _value(tree, (*path, str(i)), v, item)
                for i, v in enumerate(value))
        if isinstance(value, dict) and get_origin(member) in (dict, Mapping):
            item = get_args(member)[1]
            return {k: _value(tree, (*path, k), v, item)
                    for k, v in value.items()}
    return _leaf(tree, path, value, kind)


def _leaf(tree: "Tree", path: Path, value: Any, kind: Any) -> Any:
    value = tree.plain(path, value)
    text = tree.text_of(path)
    if text is not None and not isinstance(value, str) \
            and _wants_text(kind):
        value = text  # a variable's 0123 or 1e5 meant as text
    try:
        if isinstance(value, float) and math.isnan(value):
            raise msgspec.ValidationError("not a number")
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _wrong_value(tree, path, value, kind) from error


def _wrong_value(tree: "Tree", path: Path, value: Any, kind: Any
                 ) -> ClawError:
    shown = "a secret of another kind" if is_secret(path) else show(value)
    hint = None
    choices = [c for m in _members(kind) for c in _choices(m)]
    if choices and isinstance(value, str):
        near = nearest(value.lower(), choices)
        hint = f'did you mean "{near}"?' if near else None
    elif tree.variable(path) and isinstance(value, str):
        hint = ("write lists as [\"a\", \"b\"], tables as {a = 1}, numbers "
                "and true/false bare")
    elif not tree.variable(path):
        hint = f"correct it, or: claw config unset {join_key(path)}"
    return tree.wrong(path, f"expected {describe(kind)}, got {shown}", hint)


def _members(kind: Any) -> tuple[Any, ...]:
    """The types of a union, Annotated unwrapped."""
    if get_origin(kind) is typing.Annotated:
        return _members(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(m for arg in get_args(kind) for m in _members(arg))
    return (kind,)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _holds_struct(kind: Any) -> bool:
    return any(_is_struct(m) or _holds_struct(m)
               for arg in get_args(kind) for m in _members(arg))


def _wants_text(kind: Any) -> bool:
    members = _members(kind)
    others = {int, float, bool} & set(members)
    return not others and any(m is str or _choices(m) for m in members)


def _choices(kind: Any) -> list[str]:
    if get_origin(kind) is typing.Literal:
        return [c for c in get_args(kind) if isinstance(c, str)]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [c.value for c in kind if isinstance(c.value, str)]
    return []
