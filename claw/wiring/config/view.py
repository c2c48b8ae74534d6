"""Settings as `claw config show`, `get` and `schema` give them."""

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import msgspec

from claw.config.decode import is_struct, members
from claw.config.describe import meanings
from claw.config.display import mask
from claw.config.keys import Path, join_key, split_key
from claw.config.known import is_array
from claw.config.tree import Tree
from claw.core.value import Value
from claw.wiring.config.sections import (
    NOTHING,
    SECTIONS,
    default_at,
    inert,
    list_fields,
    load_struct,
    read_default,
    sections,
)

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
# custom:http://host/v1?key=...
_KEY_IN_ADDRESS = re.compile(
    r"([?&][^=&#\s]*(?:key|token|secret|password|sig)[^=&#\s]*=)[^&#\s]+",
    re.IGNORECASE)


class Row(Value):
    """One setting. `value` is masked where it is a secret; None = unset.

    `origin`: flag, environment, config or default; `line` in config.toml,
    `variable` of the environment.
    """

    path: Path
    value: Any
    origin: str
    line: int | None = None
    variable: str | None = None

    @property
    def key(self) -> str:
        return join_key(self.path)

    @property
    def source(self) -> str:
        """"config.toml:12", "environment CLAW_...", "default"."""
        if self.variable:
            return f"environment {self.variable}"
        if self.origin == "config":
            return f"config.toml:{self.line}" if self.line else "config.toml"
        return self.origin

    def to_json(self) -> dict[str, Any]:
        return {"key": self.key, "value": self.value, "origin": self.origin,
                "line": self.line, "variable": self.variable}


def rows(tree: Tree, below: Path = ()) -> list[Row]:
    """What is in force at or below a path: defaults and what is set.

    Section by section as claw reads them, then what only stands in the
    file. Defaults that mean "unset" are left out.
    """
    described = (path for section, struct in sections(tree)
                 for path in _fields(tree, section, struct))
    paths = dict.fromkeys([*described, *_leaves(tree.raw)])
    found = (row(tree, path) for path in paths
             if path[:len(below)] == below)
    return [r for r in found if r.value is not None]


def row(tree: Tree, path: Path) -> Row:
    """One setting, set or not."""
    if not tree.has(path):
        default = default_at(path)
        return Row(path, None if default is NOTHING
                   else hidden(path, default), "default")
    return Row(path, hidden(path, tree.node_or(path)), tree.origin(path),
               tree.line(path) if tree.origin(path) == "config" else None,
               tree.variable(path))


def hidden(path: Path, value: Any) -> Any:
    """The value as it may be shown: secrets masked, also those that stand
    in the query of an address."""
    return _without_keys(mask(path, value))


def _without_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_keys(below) for name, below in value.items()}
    if isinstance(value, list):
        return [_without_keys(below) for below in value]
    return (_KEY_IN_ADDRESS.sub(r"\1********", value)
            if isinstance(value, str) and "://" in value else value)


class Setting(Value):
    """One setting as a manual tells of it; `default` None = unset,
    `choices` the words that it may be where those are all."""

    key: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()


def manual() -> list[Setting]:
    """Every setting that has an effect, `<name>` for names of one's own."""
    unused = inert()
    return [setting for section in SECTIONS for setting in
            _told(split_key(section.replace("*", '"<name>"')),
                                 load_struct(section))
            if not any(split_key(setting.key)[:n] in unused
                       for n in range(1, setting.key.count(".") + 2))]


def list_settings(struct: Any) -> Iterator[Setting]:
    """The settings of one table, by their keys in it."""
    return _told((), struct)


def _told(path: Path, struct: Any) -> Iterator[Setting]:
    meaning = meanings(struct)
    for name, field in list_fields(struct).items():
        inner = next((m for m in members(field.type) if is_struct(m)), None)
        if inner is not None:
            yield from _told((*path, name), inner)
        else:
            default = read_default(field)
            yield Setting(".".join((*path, name)),
                          None if default is NOTHING else
                          msgspec.to_builtins(default),
                          meaning.get(field.name, ""),
                          tuple(_list_choices(field.type)))


def _list_choices(kind: Any) -> Iterator[str]:
    """The words that a value of this type may be."""
    for member in members(kind):
        if member is bool:
            yield from ("true", "false")
        elif get_origin(member) is Literal:
            yield from map(str, get_args(member))


def schema() -> dict[str, Any]:
    """One JSON Schema of everything that plug-ins read from config.toml.

    Other keys are allowed: those of the reference that claw knows and
    does not use.
    """
    structs = {section: load_struct(section) for section in SECTIONS}
    parts, components = msgspec.json.schema_components(
        structs.values(), ref_template="#/$defs/{name}")
    by_section = dict(zip(structs, parts, strict=True))
    root = dict(components.pop(structs[""].__name__))
    root["properties"] = dict(root["properties"])
    for section in filter(None, by_section):
        names = section.split(".")
        part = by_section[section]
        if names[-1] == "*" and is_array(names[:-1]):
            names, part = names[:-1], {"type": "array", "items": part}
        _place(root, names, part)
    for struct in structs.values():
        _explain(components.get(struct.__name__, root), struct)
    return {"$schema": _DIALECT, **root, "title": "config.toml of claw",
            "description": "Every key is optional.", "$defs": components}


def _explain(node: dict[str, Any], struct: Any) -> None:
    """Put the meanings of a struct beside its properties."""
    encoded = {f.name: key for key, f in list_fields(struct).items()}
    for name, text in meanings(struct).items():
        key = encoded[name]
        node["properties"][key] = {**node["properties"][key],
                                   "description": text}


def _place(node: dict[str, Any], names: list[str], part: Any) -> None:
    name, *rest = names
    if name == "*":
        node["additionalProperties"] = part
        return
    properties = node.setdefault("properties", {})
    if rest:
        _place(properties.setdefault(name, {"type": "object"}), rest, part)
    else:
        properties[name] = part


def _fields(tree: Tree, path: Path, struct: Any) -> Iterator[Path]:
    """The paths of every field that the plug-in of a table reads."""
    for name, field in list_fields(struct).items():
        inner = next((m for m in members(field.type) if is_struct(m)), None)
        below = (*path, name)
        if inner is not None and (field.default is not None
                                  or tree.has(below)):
            yield from _fields(tree, below, inner)
        else:
            yield from _leaves(tree.node_or(below, ""), below)


def _leaves(node: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of plain values; lists of plain values count as one."""
    if isinstance(node, dict) and node:
        for name, value in node.items():
            yield from _leaves(value, (*path, name))
    elif isinstance(node, list) and any(isinstance(v, dict) for v in node):
        for index, value in enumerate(node):
            yield from _leaves(value, (*path, str(index)))
    elif path and node != {}:
        yield path
