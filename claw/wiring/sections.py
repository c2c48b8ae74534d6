"""Which room reads which table of config.toml.

The structs load when they are asked for. Here too: the type and default
of any setting, and whether a change may be written.
"""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

import msgspec

from claw.channels import REGISTRY as CHANNELS
from claw.config.decode import is_struct, members
from claw.config.keys import Path, join_key, split_key
from claw.config.known import is_array, is_known, names_below
from claw.config.tree import SettingError, Tree
from claw.config.validate import findings
from claw.core.registry import load_dotted, nearest
from claw.memory import REGISTRY as MEMORY

# table -> the struct that reads it; "" is the top level, "*" any name.
SECTIONS: dict[str, str] = {
    "": "claw.providers.settings:ProviderSettings",
    "model_providers.*": "claw.providers.settings:NamedProviderSettings",
    "memory": "claw.memory.settings:MemorySettings",
    "embedding_routes.*":
        "claw.memory.embeddings.settings:EmbeddingRouteSettings",
    "storage.provider.config":
        "claw.memory.postgres.settings:PostgresSettings",
    "agent": "claw.agent.settings:AgentSettings",
    "multimodal": "claw.agent.settings:MultimodalSettings",
    "pacing": "claw.agent.settings:PacingSettings",
    "query_classification":
        "claw.agent.settings:QueryClassificationSettings",
    "channels_config": "claw.runtime.settings:ChannelsSettings",
    "channels_config.telegram":
        "claw.channels.telegram.settings:TelegramSettings",
    "channels_config.webhook": "claw.channels.webhook:WebhookSettings",
    "reliability": "claw.providers.settings:ReliabilitySettings",
    "model_routes.*": "claw.providers.settings:RouteSettings",
    "runtime": "claw.providers.settings:ReasoningSettings",
    "cost": "claw.providers.settings:CostSettings",
    "hooks": "claw.agent.hook_settings:HooksSettings",
    "transcription": "claw.speech.settings:TranscriptionSettings",
    "media_pipeline": "claw.runtime.settings:MediaSettings",
    "link_enricher": "claw.runtime.settings:LinkEnricherSettings",
    "tts": "claw.speech.settings:TtsSettings",
    "shell_tool": "claw.tools.settings:ShellToolSettings",
    "autonomy": "claw.security.settings:AutonomySettings",
    "security.sandbox": "claw.security.settings:SandboxSettings",
    "security.resources": "claw.security.settings:ResourceSettings",
}

NOTHING: Any = object()


def struct_of(section: str) -> type[msgspec.Struct]:
    """The struct of a row of SECTIONS."""
    struct: type[msgspec.Struct] = load_dotted(SECTIONS[section])
    return struct


def sections(tree: Tree) -> Iterator[tuple[Path, type[msgspec.Struct]]]:
    """Every table that a room reads, names (or numbers) in place of "*".
    A channel reads its table only where there is one."""
    for section in SECTIONS:
        path = split_key(section)
        if path and path[-1] == "*":
            for name in _entries(tree, path[:-1]):
                yield (*path[:-1], name), struct_of(section)
        elif path[:1] != ("channels_config",) or len(path) == 1 \
                or tree.has(path):
            yield path, struct_of(section)


def _entries(tree: Tree, path: Path) -> list[str]:
    """The names of a map of tables, the numbers of an array of them."""
    if is_array(path):
        node = tree.node_or(path)
        return [str(i) for i in range(len(node))] \
            if isinstance(node, list) else []
    return tree.names(path)


def inert() -> frozenset[Path]:
    """Settings that the rooms accept and do not use yet."""
    modules = {dotted.partition(":")[0] for dotted in SECTIONS.values()}
    names = (name for module in sorted(modules) for name in
             getattr(importlib.import_module(module), "INERT", ()))
    return frozenset(split_key(name) for name in names)


def kind_at(path: Path) -> Any:
    """The type that a room gives this setting, None where none does."""
    for length in range(len(path), -1, -1):
        section = _section_at(path[:length])
        if section is not None:
            return _descend(struct_of(section), path[length:])
    return None


def default_at(path: Path) -> Any:
    """The default of this setting, NOTHING where no room reads it."""
    for length in range(len(path), -1, -1):
        section = _section_at(path[:length])
        if section is not None:
            return _default(struct_of(section), path[length:])
    return NOTHING


def is_meaningful(path: Path) -> bool:
    """Whether the name means anything to a room or to the reference."""
    if kind_at(path) is not None or is_known(path):
        return True
    return (len(path) > 1 and path[0] == "channels_config"
            and path[1] in CHANNELS.all_names())


def unknown(tree: Tree, path: Path) -> SettingError:
    """The error for a name that means nothing, with the nearest one."""
    for length in range(1, len(path) + 1):
        if not is_meaningful(path[:length]):
            break
    parent, name = path[:length - 1], path[length - 1]
    names = {*names_below(parent), *_fields_below(parent)}
    near = nearest(name, names)
    hint = (f'did you mean "{near}"?' if near
            else "see the names with: claw config schema")
    return tree.wrong(path[:length], "unknown key", hint)


def validate(before: Tree, after: Tree, path: Path) -> None:
    """Raise for a change of `path` that a room would refuse.

    What was wrong before does not stand in the way, nor do neighbours
    that are still missing while a table is being filled.
    """
    if not is_meaningful(path):
        raise unknown(after, path)
    told = {(e.path, e.problem) for e in all_wrong(before)}
    for error in all_wrong(after):
        if (error.path, error.problem) in told:
            continue
        unfinished = error.problem.startswith("is missing")
        if not unfinished or error.path == path:
            raise error


def all_wrong(tree: Tree) -> list[SettingError]:
    """Every value that its room would refuse, then every broken rule."""
    found = [error for path, struct in sections(tree)
             for error in tree.problems(path, struct)]
    told = {error.path for error in found}
    for rule in findings(tree, MEMORY.all_names()):
        path = split_key(rule.key)
        if path not in told:
            found.append(tree.wrong(path, rule.message, rule.hint))
    return found


def fields_of(struct: Any) -> dict[str, msgspec.structs.FieldInfo]:
    """The fields of a struct under their names in config.toml."""
    return {f.encode_name: f for f in msgspec.structs.fields(struct)}


def _section_at(path: Path) -> str | None:
    """The row of SECTIONS that describes exactly this table."""
    for section in (join_key(path), join_key((*path[:-1], "*"))
                    if path else ""):
        name = section.replace('"*"', "*")
        if name in SECTIONS:
            return name
    return None


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
        field = fields_of(kind).get(part)
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
        field = fields_of(value).get(part) if _has_fields(value) else None
        if field is None:
            return NOTHING
        value = (getattr(value, field.name)
                 if isinstance(value, msgspec.Struct)
                 else default_of(field))
    return NOTHING if is_struct(value) else msgspec.to_builtins(value)


def _has_fields(value: Any) -> bool:
    return is_struct(value) or isinstance(value, msgspec.Struct)


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    """The default of a field, NOTHING where it must be given."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return NOTHING if field.default is msgspec.NODEFAULT else field.default


def _fields_below(path: Path) -> list[str]:
    kind = kind_at(path)
    return [name for member in members(kind) if is_struct(member)
            for name in fields_of(member)]
