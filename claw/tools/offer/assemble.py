"""Puts tools together, explicitly and by name."""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from claw.core.registry import PlugInError
from claw.core.tool import Tool, ToolDeps
from claw.tools import OFFERED, REGISTRY
from claw.tools.offer.shelf import Shelf

_MINIMAL = ("shell", "file_read", "file_write")
# What a tool can't do without: a field of ToolDeps.
_NEEDS = {"delegate": "agents", "message": "send", "ask_user": "asks",
          "schedule": "jobs", "swarm": "agents", "llm_task": "tasks",
          "poll": "send", "reaction": "reacts", "read_skill": "skills",
          "run_skill": "skills"}
_GROUPS = {"memory_": "memory", "cron_": "jobs"}
_NO_SETTINGS: Mapping[str, Any] = {}


def default_tools(deps: ToolDeps,
                  settings: Mapping[str, Any] = _NO_SETTINGS) -> list[Tool]:
    """The minimal set: shell, file_read, file_write."""
    return all_tools(deps, _MINIMAL, settings)


def all_tools(deps: ToolDeps, names: Iterable[str] | None = None,
              settings: Mapping[str, Any] = _NO_SETTINGS,
              notify: Callable[[str], None] | None = None,
              excluded: Collection[str] = (),
              offered: Collection[str] = (),
              owned: Path | None = None) -> list[Tool]:
    """The tools of these names, in that order; else those that stand in
    every prompt: OFFERED, `offered`, those of installed packages and those
    of the files in the folder `owned`, but for `excluded`. The rest of the
    built-in ones tool_search finds, and so it does where it is the only one
    named; beside other names it finds none.

    `settings` holds a tool's own settings struct by its name. Those whose
    parts there are not (a memory, agents to ask) are left out, unless they
    are named. Raises
    ConfigError for an unknown name, PlugInError for a broken one of
    another package or file; with `notify` that is told and left out.
    """
    known = REGISTRY.names()
    brought = REGISTRY.brought_names() if names is None else set()
    usable = [name for name in (*known, *sorted(brought - {*known}))
              if name not in excluded and has_parts(name, deps)]
    wanted = list(dict.fromkeys(names or ()))
    files, faults = _load_files(owned, deps, None if names is None else wanted)
    faults += map(_describe_hidden, sorted(brought & {*known}))
    for fault in faults:
        if notify is not None:
            notify(f"{fault.message} ({fault.hint})")
        elif names is None or set(wanted) - {*files, *known}:
            raise fault
    if names is None:
        wanted = list(dict.fromkeys(
            [*(name for name in usable if name not in known
               or name in OFFERED or name in offered),
             *(name for name in files if name not in excluded)]))

    def build(name: str) -> Tool:
        if name in files:
            return files[name]
        own = [settings[name]] if name in settings else []
        tool: Tool = REGISTRY.build(name, deps, *own)
        return tool
    finds = names is None or wanted == ["tool_search"]
    settings = {**settings, "tool_search": Shelf(
        [name for name in usable if name in known and name not in wanted]
        if finds else (), build)}
    for name in wanted:
        if name not in {*files, *known} \
                and name not in REGISTRY.foreign_names():
            raise REGISTRY.unknown(name, files)
    return _build_each(wanted, build, notify)


def _build_each(names: Iterable[str], build: Callable[[str], Tool],
                notify: Callable[[str], None] | None) -> list[Tool]:
    """The tools of these names; no two call themselves the same."""
    tools: list[Tool] = []
    for name in names:
        try:
            tool = build(name)
            if any(other.name == tool.name for other in tools) or (
                    tool.name != name and tool.name in REGISTRY.names()):
                raise PlugInError(
                    f"tool {name!r} of another package calls itself "
                    f"{tool.name!r}, as another tool does", hint="leave it "
                    f'out: claw config set agent.excluded_tools \'["{name}"]'
                    "\'")
            tools.append(tool)
        except PlugInError as error:
            if notify is None:
                raise
            notify(f"{error.message} ({error.hint})")
    return tools


def _describe_hidden(name: str) -> PlugInError:
    return PlugInError(
        f"the tool {name!r} of another package is left out: claw has one of "
        "this name", hint="its author has to give it another name")


def has_parts(name: str, deps: ToolDeps) -> bool:
    """Whether there is what a tool can't do without."""
    needed = _NEEDS.get(name) or next(
        (part for start, part in _GROUPS.items() if name.startswith(start)),
        None)
    found = None if needed is None else getattr(deps, needed)
    return needed is None or not (found is None or found == {})


def _load_files(folder: Path | None, deps: ToolDeps,
                wanted: Collection[str] | None
                ) -> tuple[dict[str, Tool], list[PlugInError]]:
    """The owner's tools by name, where one of them may be wanted, and what
    is wrong with his files. None takes the place of a built-in tool."""
    taken = REGISTRY.names()
    if folder is None or (wanted is not None and not set(wanted) - set(taken)):
        return {}, []
    from claw.tools.offer.owned import load_owned
    tools, faults = load_owned(folder, deps, taken)
    return {tool.name: tool for tool in tools}, faults
