"""The raw settings: flags over environment over config.toml.

A tree of tables as TOML gives it. Plug-ins do not read it; wiring decodes
each plug-in's table into its struct. Where no config.toml exists and
no variable speaks, next to nothing is imported.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from claw.config.environment import overrides as environment_overrides
from claw.config.environment import parse_value
from claw.config.keys import (
    SEALED,
    Path,
    is_secret,
    join_key,
    split_key,
)
from claw.config.places import Places, refuse_links
from claw.core.errors import ConfigError, UsageError

T = TypeVar("T")
Dotted = str | Sequence[str]

_MISSING: Any = object()


def load(places: Places, env: Mapping[str, str] | None = None,
         overrides: Mapping[str, Any] | None = None) -> "Tree":
    """The settings at these places; `env` is ours when None.

    `overrides` are flags: dotted name -> value, None where the flag was
    not given. ConfigError for a file that can't be read or parsed.
    """
    refuse_links(places)
    tree = Tree(places)
    if os.path.lexists(places.config_file):
        tree._read_file()
    elif places.home.exists() and not places.home.is_dir():
        raise ConfigError(f"{places.home} is not a folder",
                          hint="choose another one with --config-dir or "
                               "CLAW_HOME")
    return lay_over(tree, env, overrides)


def lay_over(tree: "Tree", env: Mapping[str, str] | None = None,
             overrides: Mapping[str, Any] | None = None) -> "Tree":
    """The tree of a file with environment and flags over it, as `load`."""
    env = os.environ if env is None else env
    for row in environment_overrides(env, tree.raw, tree.warn):
        tree.override(row.path, row.value, "environment", row.variable,
                      row.text)
    for dotted, value in (overrides or {}).items():
        if value is not None:
            tree.override(split_key(dotted), value, "flag", dotted)
    if tree.raw:
        from claw.config.unknown import warn_unknown_tables
        warn_unknown_tables(tree)
    return tree


class SettingError(ConfigError):
    """One setting is wrong: `path` and `problem` without its place."""

    def __init__(self, path: Path, problem: str, where: str,
                 hint: str | None) -> None:
        named = f"{join_key(path)}: {problem}" if path else problem
        super().__init__(f"{where}: {named}" if where else named, hint=hint)
        self.path = path
        self.problem = problem


class Tree:
    """Settings by dotted name, each with its origin and its line.

    `warnings` grows as tables are decoded; each sentence comes once.
    `raw` holds the values as written: secrets still encrypted.
    """

    def __init__(self, places: Places, raw: dict[str, Any] | None = None,
                 text: str = "") -> None:
        self.places = places
        self.raw: dict[str, Any] = raw if raw is not None else {}
        self.warnings: list[str] = []
        self._text = text
        self._lines: dict[Path, int] | None = None
        self._overridden: dict[Path, tuple[str, str, str | None]] = {}
        self._renamed: dict[Path, Path] = {}
        self._key: bytes | None = None
        self._apply_aliases()

    # -- looking

    def get(self, dotted: Dotted, default: Any = None) -> Any:
        """The value there, secrets decrypted; `default` where unset."""
        path = split_key(dotted)
        value = self.node(path)
        return default if value is _MISSING else self.plain(path, value)

    def table(self, dotted: Dotted) -> dict[str, Any]:
        """The table there with secrets decrypted; {} where unset."""
        path = split_key(dotted)
        value = self.node(path)
        if value is _MISSING:
            return {}
        if not isinstance(value, dict):
            raise self.wrong(path, "expected a table, got another value")
        plain: dict[str, Any] = self.plain(path, value)
        return plain

    def names(self, dotted: Dotted) -> list[str]:
        """The sub-tables of the table there, in the file's order."""
        value = self.node(split_key(dotted))
        return ([] if not isinstance(value, dict) else
                [name for name, v in value.items() if isinstance(v, dict)])

    def has(self, dotted: Dotted) -> bool:
        """Whether anything, an empty table included, stands there."""
        return self.node(split_key(dotted)) is not _MISSING

    def decode(self, dotted: Dotted, struct: type[T]) -> T:
        """The table there as this struct; "" is the top level.

        An unknown key is a warning, or a ConfigError under [autonomy],
        [security] and [gateway]; a wrong value is a ConfigError that
        names key, line and what was expected.
        """
        path = split_key(dotted)
        section = self.raw.get(path[0]) if path else self.raw
        if not section and isinstance(struct, type):
            with suppress(TypeError):  # a key that must be given
                return struct()  # all that decode does takes 1.5 ms
        from claw.config.decode import decode  # msgspec
        decoded: T = decode(self, path, struct)
        return decoded

    def problems(self, dotted: Dotted, struct: Any) -> "list[SettingError]":
        """Every wrong value that `decode` would stop at; unknown keys
        are not among them."""
        from claw.config.decode import problems
        return problems(self, split_key(dotted), struct)

    # -- where a value comes from

    def origin(self, dotted: Dotted) -> str:
        """"flag", "environment", "config" or "default"."""
        path = split_key(dotted)
        override = self._find_override(path)
        if override is not None:
            return override[0]
        return "default" if self.node(path) is _MISSING else "config"

    def variable(self, dotted: Dotted) -> str | None:
        """The environment variable that set this, if one did."""
        override = self._find_override(split_key(dotted))
        return (override[1] if override and override[0] == "environment"
                else None)

    def line(self, dotted: Dotted) -> int | None:
        """The line of config.toml where this (or its table) stands."""
        path = split_key(dotted)
        return next(filter(None, (self._find_line(path[:length])
                                  for length in range(len(path), 0, -1))),
                    None)

    def _find_line(self, path: Path) -> int | None:
        """The line of just this."""
        if self._lines is None:
            from claw.config.lines import line_table
            self._lines = line_table(self._text) if self._text else {}
        return self._lines.get(self.spelling(path))

    def where(self, path: Path) -> str:
        """How errors name the place: "config.toml:12", a variable, ...;
        "" for a value that comes from the command line."""
        override = self._find_override(path)
        if override is not None:
            return ("" if override[0] == "flag"
                    else f"environment {override[1]}")
        line = self.line(path)
        return "config.toml" if line is None else f"config.toml:{line}"

    def variable_text(self, path: Path) -> str | None:
        """A variable's own text, before it was read as TOML."""
        override = self._overridden.get(path)
        return override[2] if override else None

    # -- for the decoder and its neighbours

    def node(self, path: Path) -> Any:
        """The raw value at a path, or MISSING."""
        node: Any = self.raw
        for part in path:
            if isinstance(node, dict) and part in node:
                node = node[part]
            elif isinstance(node, list) and part.isdigit() \
                    and int(part) < len(node):
                node = node[int(part)]
            else:
                return _MISSING
        return node

    def node_or(self, path: Path, default: Any = None) -> Any:
        """The raw value at a path, `default` where there is none."""
        value = self.node(path)
        return default if value is _MISSING else value

    def plain(self, path: Path, value: Any) -> Any:
        """A copy of a raw value with its secrets decrypted."""
        if isinstance(value, dict):
            return {key: self.plain((*path, key), v)
                    for key, v in value.items()}
        if isinstance(value, list):
            return [self.plain((*path, str(i)), v)
                    for i, v in enumerate(value)]
        if isinstance(value, str) and value.startswith(SEALED):
            return self._unseal(path, value)
        return value

    def warn(self, sentence: str) -> None:
        """Keep a warning, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def wrong(self, path: Path, problem: str,
              hint: str | None = None) -> "SettingError":
        """The error for a value: place, dotted name, problem."""
        return SettingError(path, problem, self.where(path), hint)

    def spelling(self, path: Path) -> Path:
        """The path as the file spells it, where that is an alias."""
        return self._renamed.get(path, path)

    # -- building

    def _read_file(self) -> None:
        from claw.config.parse import read_config  # tomllib
        self.raw, self._text, mode = read_config(self.places.config_file)
        self._apply_aliases()
        if not mode & 0o004:
            return
        from claw.config.display import find_open_secrets
        if find_open_secrets(self.raw):
            self.warn(f"{self.places.config_file} holds secrets and "
                      "everyone can read it: chmod 600 "
                      f"'{self.places.config_file}'")

    def _apply_aliases(self) -> None:
        if not self.raw:
            return
        from claw.config.known import ALIASES
        for table, other, real in ALIASES:
            node = self.node(table)
            if not isinstance(node, dict) or other not in node:
                continue
            path, spelled = (*table, real), (*table, other)
            if real in node:
                self.warn(f"{self.where(spelled)}: {join_key(spelled)} is "
                          f"ignored: {join_key(path)} is set too")
                del node[other]
                continue
            node[real] = node.pop(other)
            self._renamed[path] = spelled

    def override(self, path: Path, value: Any, origin: str, name: str,
                 text: str | None = None) -> None:
        """Lay a value over the file's. `origin` is "environment" or
        "flag", `name` the variable or flag, `text` a variable's text."""
        from claw.config.known import real_path
        from claw.config.nodes import put
        path = real_path(path)
        try:
            put(self.raw, path, value)
        except UsageError as error:
            if origin == "flag":
                raise
            raise ConfigError(f"{origin} {name}: {error.message}"
                              ) from error
        self._overridden[path] = (origin, name, text)

    def _find_override(self, path: Path) -> tuple[str, str, str | None] | None:
        """Who overrode this value or a table around it, or made the table
        that the file does not have."""
        inside = [found for found in self._overridden
                  if found[:len(path)] == path] if path else []
        around = (path[:length] for length in range(len(path), 0, -1))
        found = next((one for one in around if one in self._overridden), None)
        if found is None and inside and self._find_line(path) is None:
            found = inside[0]
        return self._overridden[found] if found else None

    def _unseal(self, path: Path, value: str) -> str:
        sealed = value.partition(":")[2]
        if value.startswith("enc:") and not is_secret(path) \
                and not all(c in "0123456789abcdefABCDEF" for c in sealed):
            return value  # prose that happens to start so
        from claw.config.secrets import read_key, unseal  # cryptography
        if self._key is None:
            try:
                self._key = read_key(self.places.key_file)
            except ConfigError as error:
                raise self.wrong(path, error.message, error.hint) from error
        try:
            return unseal(value, self._key)
        except ValueError as error:
            raise self.wrong(
                path, f"{error} (key file {self.places.key_file})",
                "put back the key file that belongs to it, or set it again "
                f"with: claw config set {join_key(path)}") from error


__all__ = ["Tree", "load", "parse_value"]
