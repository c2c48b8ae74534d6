"""Puts tools together, explicitly and by name."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from claw.core.registry import PlugInError
from claw.core.tool import Tool, ToolDeps
from claw.tools import REGISTRY

_MINIMAL = ("shell", "file_read", "file_write")
_NO_SETTINGS: Mapping[str, Any] = {}


def default_tools(deps: ToolDeps,
                  settings: Mapping[str, Any] = _NO_SETTINGS) -> list[Tool]:
    """The minimal set: shell, file_read, file_write."""
    return all_tools(deps, _MINIMAL, settings)


def all_tools(deps: ToolDeps, names: Iterable[str] | None = None,
              settings: Mapping[str, Any] = _NO_SETTINGS,
              notify: Callable[[str], None] | None = None) -> list[Tool]:
    """The tools of these names, or every built-in one, in that order.

    `settings` holds a tool's own settings struct by its name. Without a
    memory its tools are left out, unless they are named. Raises
    ConfigError for an unknown name, PlugInError for a broken one of
    another package; with `notify` that is told and left out.
    """
    wanted = list(dict.fromkeys(REGISTRY.names() if names is None
                                else names))
    if names is None and deps.memory is None:
        wanted = [n for n in wanted if not n.startswith("memory_")]
    tools: list[Tool] = []
    for name in wanted:
        own = [settings[name]] if name in settings else []
        try:
            tools.append(REGISTRY.build(name, deps, *own))
        except PlugInError as error:
            if notify is None:
                raise
            notify(f"{error.message} ({error.hint})")
    return tools
