"""Which plug-in reads which table of config.toml.

The structs load when they are asked for. Here too: the type and default
of any setting, and whether a change may be written.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

import msgspec

from claw.channels import REGISTRY as CHANNELS
from claw.config.decode import is_struct, members
from claw.config.keys import Path, join_key, split_key
from claw.config.known import is_array, is_known, names_below
from claw.config.tree import SettingError, Tree
from claw.config.validate import BACKEND_KEYS, findings
from claw.core.registry import load_dotted, nearest
from claw.memory import REGISTRY as MEMORY
from claw.providers.catalog.vendors import find_vendor
from claw.wiring.channels.names import (
    CONSOLE,
    GATEWAY,
    SECTION,
    is_channel,
    is_foreign,
    list_configured,
)
from claw.wiring.channels.people import find_wrong_people

# table -> the struct that reads it; "" is the top level, "*" any name. A
# channel's struct is the `Settings` of its class: None.
SECTIONS: dict[str, str | None] = {
    "": "claw.providers.settings:ProviderSettings",
    "model_providers.*": "claw.providers.settings:NamedProviderSettings",
    "memory": "claw.memory.settings:MemorySettings",
    "embedding_routes.*":
        "claw.memory.embeddings.settings:EmbeddingRouteSettings",
    "storage.provider.config":
        "claw.memory.postgres.settings:PostgresSettings",
    "agent": "claw.agent.settings:AgentSettings",
    "agents.*": "claw.agent.settings:NamedAgentSettings",
    "delegate": "claw.agent.settings:DelegateSettings",
    "swarms.*": "claw.tools.settings:SwarmSettings",
    "multimodal": "claw.agent.settings:MultimodalSettings",
    "pacing": "claw.agent.settings:PacingSettings",
    "query_classification":
        "claw.agent.settings:QueryClassificationSettings",
    "channels_config": "claw.runtime.settings:ChannelsSettings",
    **{f"{SECTION}.{name}": None
       for name in CHANNELS.names() if name != CONSOLE},
    "strangers": "claw.runtime.settings:StrangersSettings",
    "reliability": "claw.providers.settings:ReliabilitySettings",
    "model_routes.*": "claw.providers.settings:RouteSettings",
    "model_aliases.*": "claw.providers.settings:ModelAliasSettings",
    "runtime": "claw.providers.settings:ReasoningSettings",
    "cost": "claw.providers.settings:CostSettings",
    "log": "claw.storage.log.settings:LogSettings",
    "hooks": "claw.agent.hooks.settings:HooksSettings",
    "transcription": "claw.speech.settings:TranscriptionSettings",
    "media_pipeline": "claw.runtime.settings:MediaSettings",
    "link_enricher": "claw.runtime.settings:LinkEnricherSettings",
    "gateway": "claw.gateway.settings:GatewaySettings",
    "heartbeat": "claw.runtime.settings:HeartbeatSettings",
    "tts": "claw.speech.settings:TtsSettings",
    "mcp": "claw.tools.mcp.settings:McpSettings",
    "mcp.servers.*": "claw.tools.mcp.settings:McpServerSettings",
    "cron": "claw.storage.jobs.settings:CronSettings",
    "cron.jobs.*": "claw.storage.jobs.settings:DeclaredJob",
    "scheduler": "claw.storage.jobs.settings:SchedulerSettings",
    "shell_tool": "claw.tools.settings:ShellToolSettings",
    "web_search": "claw.tools.web.settings:WebSearchSettings",
    "web_fetch": "claw.tools.web.settings:WebFetchSettings",
    "http_request": "claw.tools.web.settings:HttpRequestSettings",
    "pushover": "claw.tools.web.settings:PushoverSettings",
    "browser": "claw.tools.web.settings:BrowserSettings",
    "peripherals": "claw.tools.hardware.settings:PeripheralsSettings",
    "autonomy": "claw.security.settings:AutonomySettings",
    "security.sandbox": "claw.security.settings:SandboxSettings",
    "security.resources": "claw.security.settings:ResourceSettings",
    "security.prompt_guard": "claw.security.settings:PromptGuardSettings",
}

NOTHING: Any = object()


def load_struct(section: str) -> type[msgspec.Struct]:
    """The struct of a row of SECTIONS, or of a foreign channel."""
    dotted = SECTIONS.get(section)
    struct: type[msgspec.Struct] = (
        load_dotted(dotted) if dotted is not None
        else CHANNELS.load(split_key(section)[1]).Settings)
    return struct


def sections(tree: Tree, near: Path | None = None
             ) -> Iterator[tuple[Path, type[msgspec.Struct]]]:
    """Every table that a plug-in reads, names (or numbers) in place of "*";
    with `near` those alone that a change there touches. A channel reads
    its table only where there is one."""
    for section in SECTIONS if near is None else _find_touched(near):
        path = split_key(section)
        if path and path[-1] == "*":
            for name in _entries(tree, path[:-1]):
                yield (*path[:-1], name), load_struct(section)
        elif path[:1] != (SECTION,) or len(path) == 1 or tree.has(path):
            yield path, load_struct(section)
    if near is not None and near[0] != SECTION:
        return
    for name in list_configured(tree):
        if name not in CHANNELS.names() \
                and (near is None or near[1:2] in ((), (name,))) \
                and (struct := CHANNELS.load(name).Settings) is not None:
            yield (SECTION, name), struct


def _entries(tree: Tree, path: Path) -> list[str]:
    """The names of a map of tables, the numbers of an array of them."""
    if is_array(path):
        node = tree.node_or(path)
        return [str(i) for i in range(len(node))] \
            if isinstance(node, list) else []
    return tree.names(path)


def inert() -> frozenset[Path]:
    """Settings that plug-ins accept and do not use yet."""
    modules = {load_struct(section).__module__ for section in SECTIONS}
    names = (name for module in sorted(modules) for name in
             getattr(sys.modules[module], "INERT", ()))
    return frozenset(split_key(name) for name in names)


def kind_at(path: Path) -> Any:
    """The type that a plug-in gives this setting, None where none does."""
    section, inside = _find_section(path)
    return _descend(load_struct(section), inside)


def default_at(path: Path) -> Any:
    """The default of this setting, NOTHING where no plug-in reads it."""
    section, inside = _find_section(path)
    return _default(load_struct(section), inside)


def is_meaningful(path: Path) -> bool:
    """Whether the name means anything to a plug-in or to the reference."""
    if kind_at(path) is not None or is_known(path):
        return True
    return (len(path) == 2 and path[0] == SECTION
            and path[1] in CHANNELS.all_names())


def unknown(tree: Tree, path: Path) -> SettingError:
    """The error for a name that means nothing, with the nearest one."""
    for length in range(1, len(path) + 1):
        if not is_meaningful(path[:length]):
            break
    parent, name = path[:length - 1], path[length - 1]
    near = nearest(name, list_names(parent))
    hint = (f'did you mean "{near}"?' if near
            else "see the names with: claw config schema")
    return tree.wrong(path[:length], "unknown key", hint)


def list_names(parent: Path) -> set[str]:
    """The names that mean something in this table."""
    fields = (field for kind in members(kind_at(parent)) if is_struct(kind)
              for field in list_fields(kind))
    return {*names_below(parent), *fields}


def validate(before: Tree, after: Tree, path: Path) -> None:
    """Raise for a change of `path` that its plug-in would refuse.

    What was wrong beside it before does not stand in the way, nor do
    neighbours that are still missing while a table is being filled.
    """
    if not is_meaningful(path):
        raise unknown(after, path)
    told = {(e.path, e.problem) for e in find_problems(before, path)}
    for error in find_problems(after, path):
        given = error.path[:len(path)] == path
        unfinished = error.problem.startswith("is missing")
        if given or (not unfinished and (error.path,
                                        error.problem) not in told):
            raise error


def find_problems(tree: Tree, near: Path | None = None
                  ) -> list[SettingError]:
    """Every value that its plug-in would refuse, then every broken rule;
    with `near` those alone that a change there can make or mend."""
    found = [error for path, struct in sections(tree, near)
             for error in tree.problems(path, struct)]
    if unknown := find_unknown_policy(tree):
        found.append(unknown)
    found += find_wrong_people(tree)
    told = {error.path for error in found}
    head = near[0] if near else None
    backends = _find_backends(tree) if head in (
        None, "memory", "storage") else ()
    for rule in findings(tree, backends, head):
        path = split_key(rule.key)
        if len(path) == 2 and path[0] == "model_providers" \
                and find_vendor(path[1]) is not None:
            continue  # a known vendor has an address
        if path not in told:
            found.append(tree.wrong(path, rule.message, rule.hint))
    return found


def find_unknown_policy(tree: Tree) -> SettingError | None:
    """An [autonomy.channels.NAME] of no channel: what is misspelt would
    leave a guard down."""
    for name in tree.names("autonomy.channels"):
        if name != GATEWAY and not is_channel(name):
            return tree.wrong(("autonomy", "channels", name),
                              "there is no such channel",
                              "one of: " + ", ".join(CHANNELS.all_names()))
    return None


def _find_backends(tree: Tree) -> list[str]:
    """The memory backends; those of other packages only where a name asks
    for one, as the look costs 35 ms."""
    asked = [tree.node_or(split_key(key)) for key in BACKEND_KEYS]
    built_in = MEMORY.names()
    if all(not isinstance(name, str) or name.strip().lower()
           in ("", *built_in) for name in asked):
        return built_in
    return MEMORY.all_names()


def list_fields(struct: Any) -> dict[str, msgspec.structs.FieldInfo]:
    """The fields of a struct under their names in config.toml."""
    return {f.encode_name: f for f in msgspec.structs.fields(struct)}


def _find_section(path: Path) -> tuple[str, Path]:
    """The row of SECTIONS that describes this setting, and the path inside
    its struct. The top level describes what no other row does."""
    for length in range(len(path), 0, -1):
        for last in (path[length - 1], "*"):
            name = join_key((*path[:length - 1], last)).replace('"*"', "*")
            if name in SECTIONS:
                return name, path[length:]
        if length == 2 and path[0] == SECTION and names_below(path[:2]) \
                and is_foreign(path[1]):
            return join_key(path[:2]), path[2:]
    return "", path


def _find_touched(path: Path) -> list[str]:
    """The rows of SECTIONS that a change at this path touches: the one that
    describes it, and those below it."""
    below = [section for section in SECTIONS
             if split_key(section)[:len(path)] == path
             and len(split_key(section)) > len(path)]
    own = _find_section(path)[0]
    return [own, *below] if own in SECTIONS else below


def _descend(kind: Any, path: Path) -> Any:
    """The type at a path inside a type, None where there is none."""
    for part in path:
        kind = next(filter(None, (_child(m, part) for m in members(kind))),
                    None)
        if kind is None:
            return None
    return kind


def _child(kind: Any, part: str) -> Any:
    if is_struct(kind):
        field = list_fields(kind).get(part)
        return field.type if field else None
    origin, args = get_origin(kind), get_args(kind)
    if origin in (dict, Mapping):
        return args[1]
    if origin in (list, tuple, set, frozenset) and part.isdigit():
        return args[0]
    return None


def _default(struct: Any, path: Path) -> Any:
    value: Any = struct
    for part in path:
        has_fields = is_struct(value) or isinstance(value, msgspec.Struct)
        field = list_fields(value).get(part) if has_fields else None
        if field is None:
            return NOTHING
        value = (getattr(value, field.name)
                 if isinstance(value, msgspec.Struct)
                 else read_default(field))
    return NOTHING if is_struct(value) else msgspec.to_builtins(value)


def read_default(field: msgspec.structs.FieldInfo) -> Any:
    """The default of a field, NOTHING where it must be given."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return NOTHING if field.default is msgspec.NODEFAULT else field.default
