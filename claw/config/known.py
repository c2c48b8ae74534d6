"""The keys that mean something: the reference's, claw's own, plug-ins'.

A known key is silent even where claw does not use it yet, an unknown one is
reported with the nearest known name. A plug-in's keys are asked of it when
somebody looks below its table.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from claw.config.reference_keys import REFERENCE, SPELLINGS

# Tables in which an unknown key is an error: a typing mistake there would
# leave a guard down.
STRICT = frozenset({"autonomy", "security", "gateway"})

# Other spellings the reference reads: (table, spelling, real key).
ALIASES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    ((), "model_provider", "default_provider"),
    ((), "model", "default_model"),
    (("mcp",), "mcpServers", "servers"),
    (("storage", "provider", "config"), "dbURL", "db_url"),
    (("storage", "provider", "config"), "database_url", "db_url"),
    (("storage", "provider", "config"), "databaseUrl", "db_url"),
    (("heartbeat",), "channel", "target"),
    (("heartbeat",), "recipient", "to"),
    (("channels_config", "email"), "poll_interval_secs",
     "idle_timeout_secs"),
    (("channels_config", "email"), "allowed_senders", "allowed_users"),
    (("channels_config", "signal"), "allowed_from", "allowed_users"),
    *((("channels_config", channel), other, real)
      for channel, other, real in SPELLINGS),
    (("channels_config", "imessage"), "allowed_contacts", "allowed_users"),
)

# claw's own settings, which the reference does not have.
_OURS = """
model_providers.*: api_key model client native_tools vision num_ctx auth
model_providers.*: headers.*
model_aliases.*: model provider
cost: per_call_limit_usd
cost.prices.*: input output cached_input cache_write per_minute per_character
security.sandbox: mode network
security.resources: max_disk_mb max_files
security.prompt_guard: action sensitivity
people.*: *
strangers: messages_per_hour tokens_per_day cost_per_day_cents
strangers: all_messages_per_hour all_tokens_per_day all_cost_per_day_cents
channels_config: debounce_ms files_keep_days
autonomy.permissions.*: tool until workspace command channel arguments.*
autonomy.channels.*: level tools excluded_tools allowed_commands auto_approve
autonomy.channels.*: always_ask max_actions_per_hour max_cost_per_turn_cents
cron.jobs.*: missed precheck max_silence_s timeout_s monthly_cents
cron.jobs.*.policy: level tools excluded_tools allowed_commands always_ask
cron.jobs.*.policy: max_actions_per_hour max_cost_per_turn_cents
hooks: use
hooks.command.*: event command matcher timeout_secs on_failure
log: enabled keep_days max_mb
agent: excluded_tools offered_tools receipts
web_fetch: allowed_private_hosts
browser: allowed_private_hosts timeout_secs
pushover: token user_key
gateway: enabled public_url allowed_hosts rate_limit_per_minute
gateway: request_timeout_secs daily_limit_usd
mcp.servers.*: network folders readable reads private
media_pipeline: enabled transcribe_audio describe_images summarize_video
transcription: command
transcription.openai: api_key model api_url
transcription.deepgram: api_key model api_url
transcription.assemblyai: api_key models api_url
transcription.google: api_key language_code api_url
transcription.local_whisper: url bearer_token model max_audio_bytes
transcription.local_whisper: timeout_secs
tts: command
tts.openai: api_key model speed api_url
tts.elevenlabs: api_key model_id stability similarity_boost api_url
tts.google: api_key language_code api_url
tts.edge: binary_path
tts.piper: api_url
"""

# Arrays of tables; a number stands for the entry in the path.
_ARRAYS = frozenset({
    ("mcp", "servers"), ("agent", "tool_filter_groups"), ("model_routes",),
    ("embedding_routes",), ("query_classification", "rules"),
    ("cron", "jobs"), ("hooks", "command"),
})

Tables = dict[str, Any]


def known_tables() -> Tables:
    """The nested names; a leaf is {}, "*" stands for any name.

    Built once, from the data above.
    """
    if not _tables:
        for line in (REFERENCE + _OURS).strip().splitlines():
            table, _, keys = line.partition(":")
            for key in keys.split():
                node = _tables
                for part in filter(None, f"{table}.{key}".split(".")):
                    node = node.setdefault(part, {})
    return _tables


_tables: Tables = {}
# table -> the names of the plug-ins below it, and the keys of one.
_plugins: dict[str, tuple[Callable[[], Sequence[str]],
                          Callable[[str], Iterable[str] | None]]] = {}
_asked: set[tuple[str, str]] = set()


def add_plugins(table: str, names: Callable[[], Sequence[str]],
                keys: Callable[[str], Iterable[str] | None]) -> None:
    """Let plug-ins say what stands below `table`: `names` are those that
    are built in, `keys` the keys that one reads, None where there is no
    such plug-in."""
    _plugins[table] = (names, keys)


def _ask_plugin(table: str, name: str, node: Tables) -> None:
    """Put the keys of a plug-in's table among the known ones, once.
    Others than those built in are looked for where nothing else is known:
    that costs a look at what is installed."""
    if table not in _plugins or (table, name) in _asked \
            or node.get(name) == {}:  # a value of the table itself
        return
    names, keys = _plugins[table]
    if name in names() or name not in node:
        _asked.add((table, name))
        found = keys(name)
        if found is not None:
            node[name] = {**node.get(name, {}), **{k: {} for k in found}}


def real_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """The path with the reference's other spellings replaced."""
    for table, other, real in ALIASES:
        if path == (*table, other):
            return (*table, real)
    return path


def is_known(path: Sequence[str]) -> bool:
    """Whether the key or table at this path means anything to us."""
    return _descend(path) is not None


def names_below(path: Sequence[str]) -> list[str]:
    """The known keys of the table at this path."""
    node = _descend(path) or {}
    built = _plugins[path[0]][0]() if len(path) == 1 \
        and path[0] in _plugins else ()
    return [name for name in dict.fromkeys([*node, *built]) if name != "*"]


def is_array(path: Sequence[str]) -> bool:
    """Whether an array of tables stands at this path."""
    return tuple(path) in _ARRAYS


def _descend(path: Sequence[str]) -> Tables | None:
    node = known_tables()
    for place, part in enumerate(path):
        if place == 1:
            _ask_plugin(path[0], part, node)
        if part not in node and "*" not in node:
            return None
        below = node.get(part, node.get("*"))
        if below == {} and part not in node:
            return {"*": {}}  # a free map: anything goes from here
        node = below or {}
    return node
