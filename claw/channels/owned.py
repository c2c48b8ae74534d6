"""Channels of the owner's own: ~/.claw/channels/NAME.py holds the channel
NAME, one subclass of Channel. The file is code that runs as claw does: one
that others, or the agent, may write is not run.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claw.core.errors import ClawError
from claw.core.registry import PlugInError, Registry
from claw.security.owned import find_files, name_fault, run_file

if TYPE_CHECKING:
    from claw.core.channel import Channel


class Channels(Registry):
    """The registry of channels, with those of a folder."""

    _folder: Path | None = None
    _refuse: Callable[[Path], None]

    def look_in(self, folder: Path, refuse: Callable[[Path], None]) -> None:
        """From now on the files in `folder` are channels too. `refuse`
        raises PlugInError for one that somebody else may have written."""
        self._folder, self._refuse = folder, refuse
        self._classes: dict[str, type[Channel]] = {}

    def owned_names(self) -> list[str]:
        """The names of the owner's files; nothing is run for it."""
        return [] if self._folder is None else [
            path.stem for path in find_files(self._folder)
            if path.stem.isidentifier() and path.stem not in self._builtins]

    def _is_owned(self, name: str) -> bool:
        return name not in self._builtins and name in self.owned_names()

    def brought_names(self) -> set[str]:
        return super().brought_names() | set(self.owned_names())

    def load(self, name: str) -> Any:
        if not self._is_owned(name):
            return super().load(name)
        if name not in self._classes:
            self._classes[name] = self._run(name)
        return self._classes[name]

    def build(self, name: str, *parts: Any) -> Any:
        if not self._is_owned(name):
            return super().build(name, *parts)
        try:
            return self.load(name)(*parts)
        except ClawError:
            raise
        except Exception as error:  # the owner's code may raise anything
            raise name_fault(self._find_file(name), error) from error

    def _find_file(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{name}.py"

    def _run(self, name: str) -> "type[Channel]":
        from claw.core.channel import Channel
        path = self._find_file(name)
        self._refuse(path)
        module = run_file(path, "claw_channels")
        found = [value for value in vars(module).values()
                 if isinstance(value, type) and issubclass(value, Channel)
                 and value.__module__ == module.__name__]
        if len(found) != 1 or str(found[0].name) != name:
            raise PlugInError(
                f"{path} holds no channel {name!r}", hint="it needs one "
                f'subclass of claw.core.channel.Channel with name = "{name}"')
        return found[0]
