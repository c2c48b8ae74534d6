"""Which settings of another agent may come unasked. Pure.

What is not named here waits for the owner's word: an address, a proxy, a
route, a fall-back, a program, a folder, who may write, what is recorded,
what runs by itself. A guard may come where it is at least as strict as
claw's. Tables of providers and channels are judged whole (belonging.py).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from claw.config.keys import Path, is_secret
from claw.security.redact.leaks import guard
from claw.wiring.setup.migrate.agents.channel_tables import REGIONS

# table -> keys that change neither where anything goes nor what is guarded.
_HARMLESS = """
: default_temperature provider_timeout_secs
agent: compact_context max_tool_iterations max_history_messages
agent: parallel_tools tool_dispatcher
agent.thinking: default_level
channels_config: message_timeout_secs ack_reactions debounce_ms
memory: min_relevance_score vector_weight keyword_weight
multimodal: max_images max_image_size_mb
pacing: step_timeout_secs message_timeout_scale_max
reliability: provider_retries provider_backoff_ms
reliability: channel_initial_backoff_secs channel_max_backoff_secs
runtime: reasoning_enabled reasoning_effort
transcription: language max_duration_secs
tts: default_format max_text_length
web_search: brave_api_key max_results timeout_secs
"""
# Those of tables that come with a key or a token of their own.
_TOP = {"api_key", "api_url", "api_path", "default_provider",
        "default_model"}
_PROVIDER = {"name", "base_url", "api_path", "api_key", "model", "wire_api",
             "native_tools", "vision", "num_ctx", "auth", "headers",
             "azure_openai_resource", "azure_openai_deployment",
             "azure_openai_api_version"}
_CHANNEL = """
access_token account allowed_users api_version app_id app_secret app_token
bot_token broker_url channel_access_token channel_id channel_secret channels
client_id client_secret debounce_ms default_subject device_id
draft_update_interval_ms encrypt_key flood_lines flood_secs from_address
group_id guild_id homeserver http_url idle_timeout_secs ignore_attachments
ignore_stories imap_folder imap_host imap_port interrupt_on_new_message
keep_alive_secs markdown mention_only mention_sender mode nickname
nickserv_password password phone_number_id poll_timeout_secs port qos realname
receive_mode robot_code room_id sasl_password sasl_username secret server
server_password smtp_host smtp_port stream_mode template template_language
thread_replies topics url user_id username verification_token
verify_token ack_reactions
"""
_SERVER = {"name", "transport", "command", "args", "url", "env", "headers",
           "tool_timeout_secs"}
EVERYBODY = "*"
SERVERS = ("mcp", "servers")
_LEVELS = ("readonly", "supervised", "full")
# Larger is stricter; a longer list is; true is; smaller is.
_LONGER = {("autonomy", "forbidden_paths"), ("autonomy", "always_ask"),
           ("agent", "excluded_tools"), ("web_fetch", "blocked_domains")}
_SHORTER = {("autonomy", "allowed_commands"), ("autonomy", "auto_approve"),
            ("autonomy", "allowed_roots"),
            ("autonomy", "shell_env_passthrough")}
_TRUE = {("autonomy", "workspace_only"),
         ("autonomy", "require_approval_for_medium_risk"),
         ("autonomy", "block_high_risk_commands"),
         ("gateway", "require_pairing"), ("secrets", "encrypt"),
         ("security", "estop", "enabled"), ("security", "otp", "enabled"),
         ("cost", "enabled"), ("security", "sandbox", "enabled"),
         ("agent", "receipts"), ("log", "enabled"),
         ("pacing", "loop_detection_enabled"),
         ("channels_config", "session_persistence")}
_TRUE_OF_CHANNELS = {"use_tls", "verify_tls", "imap_tls", "smtp_tls",
                     "require_authentication"}
_SMALLER = {("autonomy", "max_actions_per_hour"),
            ("autonomy", "max_cost_per_day_cents"),
            ("cost", "daily_limit_usd"), ("cost", "monthly_limit_usd"),
            ("shell_tool", "timeout_secs")}
_ITERATIONS = ("agent", "max_tool_iterations")
_MOST_ITERATIONS = 100  # of one turn; each asks the model once
# Why something waits: by the last part of its name, then by its table.
_BY_KEY = ((re.compile("proxy"), "what claw sends would go through it"),
           (re.compile(r"url|host|address|server|endpoint|api_path"),
            "what claw sends, its keys too, would go there"),
           (re.compile(r"command|binary|path"),
            "it names a program or a file that claw would use"),
           (re.compile(r"provider|fallback|backend"),
            "what claw sends would go to somebody else"))
_BY_TABLE = {
    "hooks": "it names programs that claw would run",
    "gateway": "it says who may reach the gateway",
    "autonomy": "it lets the agent do more unasked",
    "security": "it lowers a guard of claw",
    "cost": "it lets models cost more",
    "agents": "another model would be asked, with their words",
    "swarms": "another model would be asked, with their words",
    "model_routes": "what claw sends would go to somebody else",
    "model_aliases": "what claw sends would go to somebody else",
    "embedding_routes": "your memories would be sent there",
    "query_classification": "another model would be asked",
    "memory": "it changes what is kept of your memories, or who sees them",
    "storage": "your memories would be kept there",
    "cron": "it decides what runs by itself",
    "scheduler": "it decides what runs by itself",
    "heartbeat": "it decides what runs by itself",
    "log": "it changes what is recorded",
    "people": "it says who is who",
    "strangers": "it lets strangers do more",
    "channels_config": "it changes what the channel guards or shows"}
_SECRET_NAME = re.compile(
    r"(?i)(?:^|[-_/?&])(?:api[-_]?)?(?:key|token|secret|passw(?:or)?d|pwd|"
    r"auth|bearer|sig(?:nature)?)$")
_LOADER = re.compile(r"(?i)(?:LD|DYLD)_|PATH$|(?:PYTHON|NODE|PERL|RUBY|JAVA|"
                     r"BASH|GIT)\w*$|\w*_OPTIONS$|\w*OPT$")
KEPT_PLAIN = "a key in it would stand in config.toml in plain text"


def explain_hold(path: Path, value: Any, own: Any, *, is_set: bool) -> str:
    """Why a setting waits for the owner's word, "" where it does not. `own`
    is what holds in claw, `is_set`: its owner set that himself."""
    if _is_person_list(path):
        if isinstance(value, list) and EVERYBODY in value:
            return "everybody could write to the agent"
        return "more people could write to the agent" if is_set else ""
    if hides_key(path, value):
        return KEPT_PLAIN
    if path == _ITERATIONS and _is_number(value) \
            and value > _MOST_ITERATIONS:
        return "it lets models cost more"
    if _may_come(path, value) or value == own \
            or _is_stricter(path, value, own):
        return ""
    return _explain(path)


def explain_server(row: Any) -> str:
    """Why a row of [[mcp.servers]] waits, "" where it does not: nothing of
    it starts before its tools are accepted."""
    if not isinstance(row, Mapping):
        return ""
    wider = sorted(set(row) - _SERVER)
    if wider:
        return "it may do more than others: " + ", ".join(wider)[:80]
    env = row.get("env")
    loads = sorted(name for name in env if _LOADER.match(str(name))) \
        if isinstance(env, Mapping) else []
    if loads:
        return "it changes what the program loads: " + ", ".join(loads)[:80]
    return KEPT_PLAIN if hides_key(("url",), row.get("url")) \
        or _hide_key(row.get("args")) else ""


def hides_key(path: Path, value: Any) -> bool:
    """Whether an address or a header has a key in it, which would not be
    sealed as settings are that are called so."""
    texts = value if isinstance(value, list) else [value]
    if path[-2:-1] == ("headers",) and not is_secret(path):
        return any(guard(str(text)) != str(text) for text in texts)
    return any(isinstance(text, str) and "://" in text and _has_key(text)
               for text in texts)


def _has_key(address: str) -> bool:
    _, _, rest = address.partition("://")
    host, _, query = rest.partition("?")
    return "@" in re.split(r"[/#\\]", host)[0] or any(
        _SECRET_NAME.search(part.partition("=")[0])
        for part in re.split("[&;]", query) if "=" in part) \
        or guard(address.replace("/", " ")) != address.replace("/", " ")


def _hide_key(args: Any) -> bool:
    """Whether one of a program's arguments is a key."""
    before = ""
    for each in args if isinstance(args, list) else ():
        text = str(each)
        name, sign, rest = text.partition("=")
        if (sign and rest and _SECRET_NAME.search(name)) or hides_key(
                (), text) or guard(text) != text or (
                before.startswith("-") and _SECRET_NAME.search(before)
                and not text.startswith("-")) or re.match(
                r"(?i)(authorization|x-api-key)\s*:", text):
            return True
        before = text
    return False


def _is_person_list(path: Path) -> bool:
    return path[:1] == ("channels_config",) and path[2:] == (
        "allowed_users",)


def _may_come(path: Path, value: Any) -> bool:
    """Whether it is harmless, or belongs to a table that is judged whole."""
    if len(path) == 1:
        return path[0] in _TOP or path in _harmless
    if path[0] == "model_providers":
        return path[2:3] != () and path[2] in _PROVIDER
    if path[0] == "channels_config" and len(path) == 3:
        return path[2] in _channel or (
            path[2] in _TRUE_OF_CHANNELS and value is True)
    return path in _harmless


def _list_harmless() -> Iterator[Path]:
    for line in _HARMLESS.strip().splitlines():
        table, _, keys = line.partition(":")
        for key in keys.split():
            yield (*filter(None, table.split(".")), key)


_harmless = frozenset(_list_harmless())
_channel = frozenset((*_CHANNEL.split(), *REGIONS))


def _is_stricter(path: Path, value: Any, own: Any) -> bool:
    lists = isinstance(value, list) and isinstance(own, list | tuple)
    if path in _LONGER and lists:
        return set(map(str, value)) >= set(map(str, own))
    if path in _SHORTER and lists:
        return set(map(str, value)) <= set(map(str, own))
    if path in _TRUE:
        return value is True
    if path in _SMALLER and _is_number(value) and _is_number(own):
        return bool(0 < value <= own)
    if path == ("autonomy", "level") and value in _LEVELS \
            and own in _LEVELS:
        return _LEVELS.index(value) <= _LEVELS.index(own)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _explain(path: Path) -> str:
    if path in _TRUE:
        return _BY_TABLE.get(path[0], "") if path[0] in (
            "autonomy", "security", "gateway", "cost") \
            else "it turns a record or a guard off"
    by_key = next((why for pattern, why in _BY_KEY
                   if pattern.search(path[-1])), "")
    by_table = _BY_TABLE.get(path[0], "")
    first, second = (by_table, by_key) if path[0] != "channels_config" \
        else (by_key, by_table)
    return first or second or "claw does not take it unasked"
