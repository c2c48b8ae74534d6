"""Programs of the owner's that run outside of any sandbox: his tools, his
channels, his hooks. None of them lies where the agent may write, and nobody
else may have written it.
"""

import os
import stat
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from types import ModuleType

from claw.core.registry import PlugInError
from claw.core.streams import give_stdout_away

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def refuse_foreign(path: Path, roots: Iterable[Path], home: Path) -> None:
    """Nobody but the owner may have written the file, or the link to it,
    nor put the folders there that it lies in, up to his `home`; the agent
    and MCP servers may write in the `roots`. Raises PlugInError."""
    real, folder = path.resolve(), path.parent.resolve()
    for root in roots:
        if real.is_relative_to(root) or folder.is_relative_to(root):
            raise PlugInError(
                f"{path} lies in {root}, where tools may write",
                hint="move it out, or take the folder out of "
                     "autonomy.allowed_roots or the folders of "
                     "[[mcp.servers]]")
    places = (real, *real.parents, folder, *path.absolute().parents)
    above = home.resolve().parents
    for place in dict.fromkeys(place for place in places
                               if place not in above):
        try:
            found = place.stat()
        except OSError as error:
            raise PlugInError(f"{place}: {error.strerror}",
                              hint="look at it with: ls -l") from error
        if found.st_uid not in (os.geteuid(), 0):
            raise PlugInError(f"{place} belongs to another user",
                              hint=f"chown {os.geteuid()} {place}")
        # In a folder such as /tmp nobody can replace what is another's.
        if found.st_mode & _OTHERS and not found.st_mode & stat.S_ISVTX:
            raise PlugInError(f"{place} can be written by others",
                              hint=f"chmod go-w {place}")


def find_files(folder: Path) -> list[Path]:
    """The Python files that count; none where there is no folder."""
    return sorted(path for path in folder.glob("[!_.]*.py"))


def run_file(path: Path, package: str) -> ModuleType:
    """The module. What it prints goes to stderr: stdout is the result's.
    Raises PlugInError."""
    import importlib.util
    name = f"{package}_{path.stem}"
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
        raise name_fault(path, error) from error
    return module


def name_fault(path: Path, error: BaseException) -> PlugInError:
    """The error with the line of the file where it was raised."""
    import traceback
    lines = [frame.lineno for frame in traceback.extract_tb(
        error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines = [error.lineno]
    place = f"{path}:{lines[-1]}" if lines else str(path)
    return PlugInError(f"{place}: {type(error).__name__}: {error}",
                       hint="fix the file, or move it away")
