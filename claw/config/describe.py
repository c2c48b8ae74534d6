"""What a setting may be, in words for error messages."""

import enum
import inspect
import re
import types
import typing
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin

import msgspec

_WORDS: dict[Any, tuple[str, str]] = {  # one, many
    str: ("text", "texts"),
    bool: ("true or false", "true or false values"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
}


def describe(kind: Any) -> str:
    """"a number from 0 to 1", "a list of texts", 'one of "a", "b"'."""
    return _one(kind, many=False)


def show(value: Any) -> str:
    """A value as TOML would write it, short."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = value if len(value) <= 60 else value[:59] + "…"
        return '"' + text.encode("unicode_escape").decode() + '"' if any(
            ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 for c in text
        ) else f'"{text}"'
    if isinstance(value, dict):
        return "a table"
    return "a list" if isinstance(value, list) else str(value)


def meanings(struct: type) -> dict[str, str]:
    """Field -> its meaning, from the lines "field: meaning" of a struct's
    docstring, and of those that it is made of; deeper lines go on."""
    lines = "\n".join(
        re.sub(r"\n +", " ", inspect.cleandoc(each.__dict__.get("__doc__")
                                              or ""))
        for each in reversed(struct.__mro__)
        if each not in (object, msgspec.Struct))
    fields = {field.name for field in msgspec.structs.fields(struct)}
    pairs = (line.partition(": ") for line in lines.split("\n"))
    return {name: text for name, _, text in pairs if name in fields}


def _one(kind: Any, many: bool) -> str:
    origin, args = get_origin(kind), get_args(kind)
    if origin is typing.Annotated:
        return _one(args[0], many) + "".join(
            _limits(m) for m in args[1:] if isinstance(m, msgspec.Meta))
    if origin in (Union, types.UnionType):
        parts = [_one(a, many) for a in args if a is not type(None)]
        return " or ".join(dict.fromkeys(parts))
    if origin is typing.Literal:
        return "one of " + ", ".join(show(a) for a in args)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "one of " + ", ".join(show(m.value) for m in kind)
    if kind in _WORDS:
        return _WORDS[kind][many]
    if origin in (list, tuple, set, frozenset):
        return ("lists of " if many else "a list of ") + _one(args[0], True)
    if origin in (dict, Mapping) or (
            isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return "tables" if many else "a table"
    return getattr(kind, "__name__", str(kind))


def _limits(meta: msgspec.Meta) -> str:
    if meta.ge is not None and meta.le is not None:
        return f" from {meta.ge} to {meta.le}"
    parts = [f" {word} {limit}" for word, limit in (
        ("of at least", meta.ge), ("above", meta.gt),
        ("of at most", meta.le), ("below", meta.lt)) if limit is not None]
    if meta.min_length:
        parts.append(" that is not empty" if meta.min_length == 1
                     else f" of at least {meta.min_length} characters")
    if meta.max_length is not None:
        parts.append(f" of at most {meta.max_length} characters")
    if meta.pattern is not None:
        parts.append(f" that matches {meta.pattern}")
    return "".join(parts)


def choices(kind: Any) -> list[str]:
    """The words a Literal or an Enum allows, [] for other types."""
    if get_origin(kind) is typing.Literal:
        return [c for c in get_args(kind) if isinstance(c, str)]
    return ([c.value for c in kind if isinstance(c.value, str)]
            if isinstance(kind, type) and issubclass(kind, enum.Enum) else [])
