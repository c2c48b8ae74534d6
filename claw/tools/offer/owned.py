"""Tools of the owner's own: Python files in one folder, ~/.claw/tools.

Each typed function with a docstring is a tool (function.py), and so is each
subclass of Tool. The files are code that runs as claw does, outside of any
sandbox: the folder is never one that the agent may write in, and a file that
others may write is not run.
"""

import inspect
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from claw.core.errors import ClawError
from claw.core.registry import PlugInError
from claw.core.tool import Tool, ToolDeps
from claw.security.owned import (
    find_files,
    name_fault,
    refuse_foreign,
    run_file,
)
from claw.tools.offer.function import FunctionTool


def load_owned(folder: Path, deps: ToolDeps, taken: Collection[str] = ()
               ) -> tuple[list[Tool], list[PlugInError]]:
    """The tools of every file in the folder, by file name and then in the
    order they stand in, and what is wrong with the files that are left out.
    None is called as one that is `taken`."""
    tools: list[Tool] = []
    faults: list[PlugInError] = []
    for path in find_files(folder):
        try:
            policy = deps.policy
            refuse_foreign(path, (*policy.paths.roots, *policy.granted),
                           policy.paths.home)
            module = run_file(path, "claw_tools")
            found = list(_build_tools(module, path, deps))
            _refuse_same_names(path, found, {*taken, *(t.name for t in tools)})
            tools += found
        except PlugInError as fault:
            faults.append(fault)
    return tools, faults


def _refuse_same_names(path: Path, tools: Iterable[Tool],
                       taken: Collection[str]) -> None:
    for tool in tools:
        if tool.name in taken:
            raise PlugInError(f"{path}: there is a tool {tool.name!r} "
                              "already", hint="give it another name")


def _build_tools(module: ModuleType, path: Path, deps: ToolDeps
                 ) -> Iterator[Tool]:
    count = 0
    for name, value in list(vars(module).items()):
        if name.startswith("_") or getattr(
                value, "__module__", None) != module.__name__:
            continue
        tool = _make_tool(value, path, deps)
        if tool is not None:
            count += 1
            yield tool
    if not count:
        raise PlugInError(f"{path} holds no tool", hint="a tool is a "
                          "function with types and a docstring")


def _make_tool(value: Any, path: Path, deps: ToolDeps) -> Tool | None:
    try:
        if inspect.isfunction(value) and value.__doc__:
            return FunctionTool(value, deps)
        if inspect.isclass(value) and issubclass(value, Tool) \
                and not inspect.isabstract(value):
            return value(deps)  # type: ignore[call-arg]
    except ClawError as error:
        raise PlugInError(f"{path}: {error.message}",
                          hint=error.hint) from error
    except Exception as error:  # the owner's code may raise anything
        raise name_fault(path, error) from error
    return None
