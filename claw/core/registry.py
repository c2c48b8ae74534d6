"""Plug-ins by name: a table of dotted paths, loaded when first asked for.

Names that are not built in are looked up among the installed entry points.
That scan costs about 35 ms, so built-in names never reach it.
"""

import functools
import importlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from claw.core.errors import (
    ClawError,
    ConfigError,
    MissingPartError,
    UnknownNameError,
)


@functools.cache
def load_dotted(path: str) -> Any:
    """The object at "package.module:Name"."""
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def nearest(word: str, known: Iterable[str],
            cutoff: float = 0.6) -> str | None:
    """The known word most like this one, None when none is as near as
    `cutoff` (0 to 1)."""
    from difflib import get_close_matches
    return next(iter(get_close_matches(word, list(known), n=1,
                                       cutoff=cutoff)), None)


def nearest_command(word: str, known: Iterable[str]) -> str | None:
    """The slash command that a word misspells, by a letter or two; None for
    paths and other text: /home, /tmp and /newer are less like one."""
    name = word.removeprefix("/")
    if name == word or not (name.isascii() and name.isalpha()):
        return None
    return nearest(word.lower(), [
        each for each in known if abs(len(each) - len(word)) < 2], 0.75)


class PlugInError(ConfigError):
    """The code of a third party's plug-in failed."""


_MOST_NAMED = 20  # names that an error lists


class Registry:
    """The plug-ins of one kind.

    `kind` is how errors call them ("memory backend"), `group` the entry
    point group of third parties, `builtins` name -> dotted path, `extras`
    name -> the extra to install when the plug-in's library is missing.
    """

    def __init__(self, kind: str, group: str, builtins: Mapping[str, str],
                 extras: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.group = group
        self._builtins = dict(builtins)
        self._extras = dict(extras or {})

    def names(self) -> list[str]:
        """Built-in names, in table order."""
        return list(self._builtins)

    def all_names(self) -> list[str]:
        """Built-in names and those of installed third parties."""
        return self.names() + self.foreign_names()

    def foreign_names(self) -> list[str]:
        """Names that installed third parties bring."""
        return sorted(self.brought_names() - set(self._builtins))

    def brought_names(self) -> set[str]:
        """All names that third parties bring; one that is built in too is
        never theirs."""
        return {point.name for point in self._entry_points()}

    def load(self, name: str) -> Any:
        """The plug-in's class. Raises ConfigError for an unknown name,
        MissingPartError when its library is not installed."""
        path = self._builtins.get(name)
        if path is None:
            return self._load_foreign(name)
        try:
            return load_dotted(path)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "claw":
                raise
            extra = self._extras.get(name)
            from claw.core.installed import install_command, package_command
            raise MissingPartError(
                f"{self.kind} {name!r} needs {error.name}, which is not "
                "installed",
                hint=install_command(extra) if extra
                else package_command(error.name or "")) from error

    def unknown(self, name: str, others: Collection[str] = ()) -> ConfigError:
        """The error for a name that no table has, nor `others`. It never
        suggests "none", which would switch off what was meant."""
        names = list(dict.fromkeys([*self._builtins, *others]))
        near = nearest(name, set(names) - {"none"}, 0.7)
        return UnknownNameError(
            f"unknown {self.kind}: {name!r}", name,
            hint=f'did you mean "{near}"?' if near
            else "one of: " + ", ".join(names) if len(names) <= _MOST_NAMED
            else f"claw {self.kind} list shows the {len(names)} there are")

    def build(self, name: str, *parts: Any) -> Any:
        """The plug-in `name` made of these parts. Raises as `load`, and
        PlugInError where a third party's class fails."""
        plug_in = self.load(name)
        if name in self._builtins:
            return plug_in(*parts)
        with self._naming(name):
            return plug_in(*parts)

    def _load_foreign(self, name: str) -> Any:
        for point in self._entry_points():
            if point.name == name:
                with self._naming(name, point):
                    return point.load()
        raise self.unknown(name, self.foreign_names())

    @contextmanager
    def _naming(self, name: str, point: Any = None) -> Iterator[None]:
        """Whatever a third party's code raises names it."""
        try:
            yield
        except ClawError:
            raise
        except Exception as error:
            package = getattr(getattr(point, "dist", None), "name", None)
            raise PlugInError(
                f"{self.kind} {name!r} of another package is broken: "
                f"{type(error).__name__}: {error}",
                hint=f"update or remove the package {package}" if package
                else "update or remove the package that brings it"
                ) from error

    def _entry_points(self) -> Iterable[Any]:
        metadata = importlib.import_module("importlib.metadata")
        found: Iterable[Any] = metadata.entry_points(group=self.group)
        return found
