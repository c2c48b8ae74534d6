"""The values of each kind, with a word on each. Each function gives rows for
the line; those that do not begin with its prefix may be among them. What
questions are asked with stands in asking.py.

What lies in a workspace that does not count is not looked at.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from claw.cli.complete.asking import read_rows
from claw.cli.complete.line import Line

Rows = Iterator[tuple[str, str]]

_SETTINGS = Path(__file__).with_name("settings.txt")
_MANY = 40
_MOST_KEYS = 1000


def list_providers(line: Line) -> Rows:
    """Those of config.toml first, then all that claw knows."""
    from claw.providers.catalog.vendors import vendors
    for name in line.table("model_providers"):
        yield name, "config.toml"
    for vendor in vendors():
        yield vendor.name, vendor.title
    yield "offline", "no model: answers from memory and from what is piped"
    yield "custom:", "a server that speaks OpenAI's format, by its address"
    for vendor in vendors():
        for alias in vendor.aliases:
            if line.prefix and alias.startswith(line.prefix):
                yield alias, vendor.title


def list_aliases(line: Line) -> Rows:
    """The owner's short names for models."""
    for name, row in line.table("model_aliases").items():
        if isinstance(row, dict):
            yield name, f"short for {row.get('model')}"


def list_mcp_servers(line: Line) -> Rows:
    """Those of config.toml."""
    servers = line.table("mcp").get("servers")
    for row in servers if isinstance(servers, list) else ():
        if isinstance(row, dict) and isinstance(row.get("name"), str):
            yield row["name"], str(row.get("command") or row.get("url"))


def list_skills(line: Line) -> Rows:
    """The folders of skills, those in the workspace where it counts."""
    places = line.places
    folders = [places.home / "skills", Path.home() / ".agents/skills"]
    if places.trusted:
        folders += [places.workspace / "skills",
                    places.workspace / ".agents/skills"]
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            for name in sorted(os.listdir(folder)):
                if not name.startswith("."):
                    yield name, str(folder)


def list_models(line: Line) -> Rows:
    """Short names, the models of config.toml, then the lists that `claw
    provider models` has kept, of the provider on the line where it has one;
    nobody is asked."""
    from claw.providers.catalog.models import FILE, read_lists
    from claw.providers.catalog.vendors import (
        display_name,
        find_vendor,
        vendors,
    )
    yield from list_aliases(line)
    named = line.option("-p", "--provider")
    usual = os.environ.get("CLAW_DEFAULT_PROVIDER") \
        or line.settings.get("default_provider")
    chosen = named or usual
    vendor = find_vendor(str(chosen)) if chosen else None
    wanted = vendor.name if vendor else chosen and display_name(str(chosen))
    default = line.settings.get("default_model")
    if isinstance(default, str) and named in (None, usual):
        yield default, "default_model"
    for name, row in line.table("model_providers").items():
        if isinstance(row, dict) and isinstance(row.get("model"), str) \
                and named in (None, name):
            yield row["model"], f"model of {name}"
    routes = line.settings.get("model_routes")
    for route in routes if isinstance(routes, list) and not named else []:
        if isinstance(route, dict) and isinstance(route.get("hint"), str):
            yield f"hint:{route['hint']}", f"route to {route.get('model')}"
    for own in vendors() if wanted is None else [vendor] if vendor else []:
        if own.model:
            yield own.model, f"default of {own.title}"
    if line.places.trusted:
        lists = read_lists(line.places.workspace / "state" / FILE)
        for name in [wanted] if wanted in lists else lists if not named \
                else []:
            for model in lists[str(name)]:
                yield model, str(name)


def list_memory_keys(line: Line) -> Rows:
    """Keys with category and day. What a memory says is not shown: Tab is
    pressed where others look on."""
    for key, category, updated_at in _ask_memory(
            line, "SELECT key, category, updated_at FROM memories WHERE"
            " key >= ? AND key < ? ORDER BY key LIMIT ?",
            (line.prefix, line.prefix + "\U0010ffff", _MOST_KEYS)):
        yield key, f"{category}, {updated_at[:10]}"


def list_categories(line: Line) -> Rows:
    """Those that everybody has, then those that are in use."""
    yield "core", "what stays"
    yield "daily", "what is of a day"
    yield "conversation", "what was said in a chat"
    for (category,) in _ask_memory(
            line, "SELECT DISTINCT category FROM memories LIMIT ?",
            (_MOST_KEYS,)):
        yield category, "in use"


def _ask_memory(line: Line, query: str, values: tuple[object, ...]
                ) -> Iterable[tuple[str, ...]]:
    return read_rows(line, line.places.workspace / "memory" / "brain.db",
                     query, values)


def list_sessions(line: Line) -> Rows:
    """Kept conversations, the latest first."""
    if not line.places.trusted:
        return
    from claw.storage.sessions import SessionStore
    store = SessionStore(line.places.workspace / "sessions")
    for info in store.list():
        count = "1 message" if info.messages == 1 \
            else f"{info.messages} messages"
        yield info.key, f"{count}, {info.updated_at[:10]}"


def list_documents(line: Line) -> Rows:
    """What `claw memory index` has made findable."""
    if line.places.trusted:
        from claw.memory.documents.names import list_names
        for name in list_names(line.places.workspace):
            yield name, "documents"


def list_channels(line: Line) -> Rows:
    """Those that are set up first."""
    from claw.channels import REGISTRY
    configured = line.table("channels_config")
    names = [*(name for name, table in configured.items()
               if isinstance(table, dict)), *REGISTRY.names()]
    for name in _list_owned_channels(line):
        yield name, "a channel of your own"
    for name in names:
        yield name, "set up" if name in configured else "not set up"


def list_targets(line: Line) -> Rows:
    """The beginning of an address of `claw send`, with an example."""
    from claw.channels import REGISTRY
    built_in = REGISTRY.names()
    for name, table in line.table("channels_config").items():
        if isinstance(table, dict):
            example = (REGISTRY.load(name).example_recipient
                       if name in built_in else "")
            yield f"{name}:", (f"e.g. {name}:{example}" if example
                               else "a chat of this channel")
    for name in _list_owned_channels(line):
        yield f"{name}:", "a channel of your own"


def _list_owned_channels(line: Line) -> list[str]:
    """The names of the owner's files, which are not run."""
    return [path.stem for path in sorted(
        (line.places.home / "channels").glob("[!_.]*.py"))]


def list_tools(line: Line) -> Rows:
    """The tools that are built in, and the functions of the owner's files,
    which are read and not run."""
    from claw.tools import REGISTRY
    for name in REGISTRY.names():
        yield name, "tool"
    for path in sorted((line.places.home / "tools").glob("[!_.]*.py")):
        for name in _find_functions(path):
            yield name, f"tool of {path.name}"


def _find_functions(path: Path) -> Iterator[str]:
    """The functions of a file that are tools, by their names."""
    import ast
    try:
        module = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # claw doctor says what is wrong with it
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) \
                and not node.name.startswith("_") and ast.get_docstring(node):
            yield node.name


def list_several_tools(line: Line) -> Rows:
    """The last of names by comma."""
    before, mark, _ = line.prefix.rpartition(",")
    chosen = before.split(",")
    for name, meaning in list_tools(line):
        if name not in chosen:
            yield before + mark + name, meaning


def list_config_keys(line: Line) -> Rows:
    """Settings: level by level while there are many."""
    keys = {key: meaning for key, _, meaning in _read_settings(line)}
    for key in _list_leaves(line.settings):
        keys.setdefault(key, "config.toml")
    fitting = [key for key in keys if key.startswith(line.prefix)]
    if len(fitting) <= _MANY:
        yield from ((key, keys[key]) for key in fitting)
        return
    for key in fitting:
        rest = key[len(line.prefix):]
        if "." in rest:
            yield line.prefix + rest.split(".")[0] + ".", "settings"
        else:
            yield key, keys[key]


def list_config_values(line: Line) -> Rows:
    """What a setting may be, where that is a choice of words; the key is the
    last word of the line that is no option."""
    key = next((word for word in reversed(line.words)
                if not word.startswith("-")), "")
    kind = {"default_provider": list_providers, "default_model": list_models}
    if key in kind:
        yield from kind[key](line)
        return
    for known, choices, _ in _read_settings(line):
        if known == key:
            yield from ((choice, "") for choice in choices.split())


def _read_settings(line: Line) -> Iterator[tuple[str, str, str]]:
    """Key, choices, meaning of every setting that has an effect, as
    claw.cli.docs wrote them; <name> stands for the names in config.toml."""
    from claw.config.keys import join_key
    for row in _SETTINGS.read_text(encoding="utf-8").splitlines():
        key, choices, meaning = row.split("\t")
        section, own, _ = key.partition(".<name>")
        for name in line.table(section) if own else [""]:
            yield (key.replace("<name>", join_key([name])), choices, meaning)


def _list_leaves(table: dict[str, object], above: str = "") -> Iterable[str]:
    """The dotted names of what stands in config.toml."""
    from claw.config.keys import join_key
    for name, value in table.items():
        key = above + join_key([name])
        if isinstance(value, dict):
            yield from _list_leaves(value, key + ".")
        else:
            yield key


def list_zones(line: Line) -> Rows:
    """Time zones, area by area."""
    from zoneinfo import available_timezones
    yield "local", "that of this machine"
    for name in sorted(available_timezones()):
        area, mark, rest = name.partition("/")
        if mark and "/" not in line.prefix:
            yield area + mark, "time zones"
        elif rest or not mark:
            yield name, "time zone"
