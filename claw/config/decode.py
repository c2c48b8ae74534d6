"""A table of the tree as a plug-in's frozen msgspec struct.

msgspec drops unknown keys silently and stops at the first wrong value
without its line, so the tables are walked here and msgspec converts one
value at a time.
"""

import math
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

import msgspec

from claw.config.describe import choices, describe, show
from claw.config.environment import BOOLEANS
from claw.config.keys import Path, is_secret, join_key
from claw.config.known import STRICT, is_known, names_below
from claw.config.unknown import report, report_all, unknown_paths
from claw.core.errors import ClawError
from claw.core.registry import nearest

if TYPE_CHECKING:
    from claw.config.tree import SettingError, Tree

_SEQUENCES = {list: list, tuple: tuple, set: set, frozenset: frozenset}
_MAPS = (dict, Mapping)


def decode(tree: "Tree", path: Path, kind: Any) -> Any:
    """The value at this path as `kind`, a Struct or any type of msgspec.

    A path that is not there gives the struct's defaults, an empty list or
    an empty map. Raises SettingError for the first wrong value.
    """
    if path and path[0] in STRICT:
        _check_guard(tree, path, kind)
    return _Decoder(tree, None).start(path, kind)


def problems(tree: "Tree", path: Path, kind: Any) -> list["SettingError"]:
    """Everything that `decode` would raise for, unknown keys left out."""
    found: list[SettingError] = []
    _Decoder(tree, found).start(path, kind)
    return found


def is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def members(kind: Any) -> tuple[Any, ...]:
    """The types of a union, Annotated unwrapped."""
    if get_origin(kind) is typing.Annotated:
        return members(get_args(kind)[0])
    return (tuple(m for arg in get_args(kind) for m in members(arg))
            if get_origin(kind) in (Union, types.UnionType) else (kind,))


def _check_guard(tree: "Tree", path: Path, kind: Any) -> None:
    """A misspelt key anywhere in a guarding section is an error, also
    beside the table that is asked for."""
    mine = ({field.encode_name for field in msgspec.structs.fields(kind)}
            if is_struct(kind) else set())
    for unknown in unknown_paths(tree.raw.get(path[0]), path[:1]):
        if not (unknown[:-1] == path and unknown[-1] in mine):
            report(tree, unknown)


class _Wrong(Exception):
    """A collected error: this value is left out."""


class _Decoder:
    """Walks values and types side by side.

    With a list for `found` errors are kept there instead of raised.
    """

    def __init__(self, tree: "Tree", found: "list[SettingError] | None"
                 ) -> None:
        self._tree = tree
        self._found = found

    def start(self, path: Path, kind: Any) -> Any:
        value = self._tree.node(path) if self._tree.has(path) else None
        if value is None:
            is_map = is_struct(kind) or get_origin(kind) in _MAPS
            value = {} if is_map else []
        try:
            return self._value(path, value, kind)
        except _Wrong:
            return None

    def _value(self, path: Path, value: Any, kind: Any) -> Any:
        for member in members(kind):
            origin, args = get_origin(member), get_args(member)
            if is_struct(member) and isinstance(value, dict):
                return self._struct(path, value, member)
            if not _holds_struct(member):
                continue
            if isinstance(value, list) and origin in _SEQUENCES:
                return _SEQUENCES[origin](self._items(
                    path, enumerate(value), args[0]).values())
            if isinstance(value, dict) and origin in _MAPS:
                return self._items(path, value.items(), args[1])
        return self._leaf(path, value, kind)

    def _items(self, path: Path, items: Any, kind: Any) -> dict[Any, Any]:
        kept = {}
        for key, value in items:
            try:
                kept[key] = self._value((*path, str(key)), value, kind)
            except _Wrong:
                continue
        return kept

    def _struct(self, path: Path, table: dict[str, Any], kind: Any) -> Any:
        fields = {f.encode_name: f for f in msgspec.structs.fields(kind)}
        if self._found is None:
            known = {*fields, *names_below(path)}
            report_all(self._tree, path,
                       [key for key in table if key not in known
                        and not is_known((*path, key))], fields)
        values = {}
        for key, field in fields.items():
            below = (*path, key)
            try:
                if key in table:
                    values[field.name] = self._value(
                        below, table[key], field.type)
                elif field.required:
                    self._fail(self._tree.wrong(
                        below, "is missing",
                        f"expected {describe(field.type)}"))
            except _Wrong:
                if field.required:
                    raise  # no default to go on with
        return self._build(path, kind, values, set(fields))

    def _build(self, path: Path, kind: Any, values: dict[str, Any],
               keys: set[str]) -> Any:
        """The struct; what its own __post_init__ refuses is an error of
        the key that the message starts with."""
        try:
            return kind(**values)
        except ClawError:
            raise
        except (ValueError, TypeError) as error:
            first, _, rest = str(error).partition(" ")
            if first.rstrip(":") in keys:
                path, message = (*path, first.rstrip(":")), rest
            else:
                message = str(error)
            return self._fail(self._tree.wrong(
                path, message, self._way_out(path)), error)

    def _leaf(self, path: Path, value: Any, kind: Any) -> Any:
        try:
            value = self._tree.plain(path, value)
        except ClawError as error:
            return self._fail(error)
        text = self._tree.variable_text(path)
        if text is not None:
            value = _from_variable(value, text, kind)
        try:
            if isinstance(value, float) and math.isnan(value):
                raise msgspec.ValidationError("not a number")
            return msgspec.convert(value, kind)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            shown = ("a secret of another kind" if is_secret(path)
                     else show(value))
            return self._fail(self._tree.wrong(
                path, f"expected {describe(kind)}, got {shown}",
                self._advise(path, value, kind)), error)

    def _fail(self, error: Any, cause: Exception | None = None) -> Any:
        if self._found is None:
            raise error from cause
        self._found.append(error)
        raise _Wrong

    def _advise(self, path: Path, value: Any, kind: Any) -> str | None:
        words = [c for m in members(kind) for c in choices(m)]
        if words and isinstance(value, str):
            near = nearest(value.lower(), words)
            if near:
                return f'did you mean "{near}"?'
        elif isinstance(value, str) and self._tree.origin(path) != "config":
            return ('lists are written ["a", "b"], tables {a = 1}, numbers '
                    "and true/false bare")
        return self._way_out(path)

    def _way_out(self, path: Path) -> str | None:
        if self._tree.origin(path) == "config":
            return f"correct it, or: claw config unset {join_key(path)}"
        variable = self._tree.variable(path)
        return f"correct it, or: unset {variable}" if variable else None


def _holds_struct(kind: Any) -> bool:
    return any(is_struct(m) or _holds_struct(m)
               for arg in get_args(kind) for m in members(arg))


def _from_variable(value: Any, text: str, kind: Any) -> Any:
    """What a variable's text means for this type: 0123 or 1e5 may be
    text, 0 and off may be false."""
    kinds = set(members(kind))
    if kinds & {int, float}:
        return value
    if bool in kinds:
        return BOOLEANS.get(text.strip().lower(), value)
    wants_text = any(m is str or choices(m) for m in kinds)
    return text if wants_text and not isinstance(value, str) else value
