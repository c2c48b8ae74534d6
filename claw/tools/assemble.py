"""Puts tools together, explicitly and by name."""

from collections.abc import Iterable, Mapping
from typing import Any

from claw.core.tool import Tool, ToolDeps
from claw.tools import REGISTRY

_MINIMAL = ("shell", "file_read", "file_write")
_NO_SETTINGS: Mapping[str, Any] = {}


def default_tools(deps: ToolDeps,
                  settings: Mapping[str, Any] = _NO_SETTINGS) -> list[Tool]:
    """The minimal set: shell, file_read, file_write."""
    return all_tools(deps, _MINIMAL, settings)


def all_tools(deps: ToolDeps, names: Iterable[str] | None = None,
              settings: Mapping[str, Any] = _NO_SETTINGS) -> list[Tool]:
    """The tools of these names, or every built-in one, in that order.

    `settings` holds a tool's own settings struct by its name. Without a
    memory its tools are left out, unless they are named. Raises
    ConfigError for an unknown name.
    """
    wanted = list(dict.fromkeys(REGISTRY.names() if names is None
                                else names))
    if names is None and deps.memory is None:
        wanted = [n for n in wanted if not n.startswith("memory_")]
    return [REGISTRY.load(name)(deps, *(
        [settings[name]] if name in settings else [])) for name in wanted]
