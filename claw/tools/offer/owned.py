"""Tools of the owner's own: Python files in one folder, ~/.claw/tools.

Each typed function with a docstring is a tool (function.py), and so is each
subclass of Tool. The files are code that runs as claw does, outside of any
sandbox: the folder is never one that the agent may write in, and a file that
others may write is not run.
"""

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from claw.core.errors import ClawError
from claw.core.registry import PlugInError
from claw.core.streams import give_stdout_away
from claw.core.tool import Tool, ToolDeps
from claw.security.owned import refuse_foreign
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
            found = list(_build_tools(_run_file(path), path, deps))
            _refuse_same_names(path, found, {*taken, *(t.name for t in tools)})
            tools += found
        except PlugInError as fault:
            faults.append(fault)
    return tools, faults


def find_files(folder: Path) -> list[Path]:
    """The files that hold tools; none where there is no folder."""
    return sorted(path for path in folder.glob("[!_.]*.py"))


def _refuse_same_names(path: Path, tools: Iterable[Tool],
                       taken: Collection[str]) -> None:
    for tool in tools:
        if tool.name in taken:
            raise PlugInError(f"{path}: there is a tool {tool.name!r} "
                              "already", hint="give it another name")


def _run_file(path: Path) -> ModuleType:
    """The module. What it prints goes to stderr: stdout is the result's."""
    name = f"claw_tools_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PlugInError(f"{path} is no Python file", hint="name it .py")
    module = importlib.util.module_from_spec(spec)
    module.__dict__["print"] = partial(print, file=sys.stderr)
    sys.modules[name] = module  # dataclasses look their module up
    give_stdout_away()
    try:
        # Never from __pycache__, which others may be let write.
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True),
             module.__dict__)
    except (Exception, SystemExit) as error:  # any code may raise anything
        del sys.modules[name]
        raise _name_fault(path, error) from error
    return module


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
        raise _name_fault(path, error) from error
    return None


def _name_fault(path: Path, error: BaseException) -> PlugInError:
    """The error with the line of the file where it was raised."""
    lines = [frame.lineno for frame in traceback.extract_tb(
        error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines = [error.lineno]
    place = f"{path}:{lines[-1]}" if lines else str(path)
    return PlugInError(f"{place}: {type(error).__name__}: {error}",
                       hint="fix the file, or move it away")
